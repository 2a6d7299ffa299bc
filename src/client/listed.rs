//! What a list says.

/// What a list says of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// It is there.
    Yes,
    /// It may not be there, in words for the caller; the list is not sure.
    Unsure(String),
    /// Nobody knows, or there is nothing to look up.
    Unknown,
}

impl Listed {
    /// What the caller is warned of: nothing, unless the list is not sure.
    pub fn doubt(self) -> Option<String> {
        match self {
            Self::Unsure(words) => Some(words),
            Self::Yes | Self::Unknown => None,
        }
    }

    /// What lists say of several names: that they are there only where all of them are.
    pub(super) fn together(every: impl IntoIterator<Item = Self>) -> Self {
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
