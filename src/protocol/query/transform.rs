//! Words that change what an answer holds or how it is ordered (service.md 4.1).

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

/// Aggregation over exchanges (`transform.groupBy.type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupBy {
    /// Sum across exchanges.
    Sum,
    /// Mean of funding rates weighted by open interest.
    OpenInterestWeighted,
}

impl GroupBy {
    /// Every aggregation.
    pub const ALL: [Self; 2] = [Self::Sum, Self::OpenInterestWeighted];

    /// Name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "GROUP_BY_TYPE_SUM",
            Self::OpenInterestWeighted => "GROUP_BY_TYPE_OPEN_INTEREST_WEIGHTED_AVG",
        }
    }

    /// Name as the client's argument.
    pub const fn argument(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::OpenInterestWeighted => "oi_weighted",
        }
    }

    /// Reads the wire name.
    pub fn find(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == text)
    }
}
