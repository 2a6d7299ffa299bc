//! In which order points are sent (service.md 4.1).

/// Order of points in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortDirection {
    /// Oldest first.
    #[default]
    Ascending,
    /// Newest first.
    Descending,
}

impl SortDirection {
    /// Name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ascending => "SORT_DIRECTION_ASC",
            Self::Descending => "SORT_DIRECTION_DESC",
        }
    }

    /// Reads the wire name or its numeric form (1 ascending, 2 descending; supplement 1).
    pub fn find(text: &str) -> Option<Self> {
        match text {
            "SORT_DIRECTION_ASC" | "1" => Some(Self::Ascending),
            "SORT_DIRECTION_DESC" | "2" => Some(Self::Descending),
            _ => None,
        }
    }

    /// As [`SortDirection::find`], and the short words `asc` and `desc`, in any case.
    pub fn find_loosely(text: &str) -> Option<Self> {
        let upper = text.to_ascii_uppercase();
        Self::find(&upper).or_else(|| Self::find(&format!("SORT_DIRECTION_{upper}")))
    }
}
