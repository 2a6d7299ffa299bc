//! Results of looking names up in the service's lists.

/// Whether a name is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// It is listed.
    Yes,
    /// It may not exist, with a message for the caller: the list may be incomplete.
    Unsure(String),
    /// Not known, or there is nothing to look up.
    Unknown,
}

impl Listed {
    /// The warning for the caller, if unsure.
    pub fn warning(self) -> Option<String> {
        match self {
            Self::Unsure(words) => Some(words),
            Self::Yes | Self::Unknown => None,
        }
    }

    /// The result for several names: `Yes` only if all are listed.
    pub(super) fn combine(every: impl IntoIterator<Item = Self>) -> Self {
        let (mut all, mut doubts) = (true, Vec::new());
        for one in every {
            all &= one == Self::Yes;
            if let Self::Unsure(words) = one {
                doubts.push(words);
            }
        }
        match doubts.is_empty() {
            _ if all => Self::Yes,
            true => Self::Unknown,
            false => Self::Unsure(doubts.join("; ")),
        }
    }
}
