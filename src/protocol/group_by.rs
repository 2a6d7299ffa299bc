//! Sums and means over exchanges (service.md 4.1).

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
