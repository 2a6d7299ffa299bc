//! Which raw data a market has, and which data types are made of it.

use crate::protocol::DataType;

/// A kind of raw data of a market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Feed {
    /// Trades.
    Trades,
    /// Order books.
    Books,
    /// Forced orders.
    Liquidations,
    /// Funding rates, present or predicted.
    FundingRates,
    /// Open interest.
    OpenInterest,
}

impl Feed {
    /// Every feed; a feed's place is `feed as usize`.
    pub const ALL: [Self; 5] = [Self::Trades, Self::Books, Self::Liquidations, Self::FundingRates, Self::OpenInterest];

    /// The feed that a data type of section 2.3 is made of; `None` for a type that is not made of a market's raw data.
    pub fn of(data_type: DataType) -> Option<Self> {
        FEEDS.iter().find(|(known, _)| *known == data_type).map(|(_, feed)| *feed)
    }
}

/// What each served type is made of. The listing's `type` filter reads it; a new type is a new row.
const FEEDS: [(DataType, Feed); 9] = [
    (DataType::TradeSideAgnosticAgg, Feed::Trades),
    (DataType::TradeAgg, Feed::Trades),
    (DataType::VolumeProfileAgg, Feed::Trades),
    (DataType::TpoAgg, Feed::Trades),
    (DataType::BlockBookSnapshotAgg, Feed::Books),
    (DataType::LiquidationAgg, Feed::Liquidations),
    (DataType::VenueLiquidationAgg, Feed::Liquidations),
    (DataType::FundingRateAgg, Feed::FundingRates),
    (DataType::OpenInterestAgg, Feed::OpenInterest),
];

/// The feeds of one market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Feeds(u8);

impl Feeds {
    /// These feeds and one more.
    #[must_use]
    pub const fn with(self, feed: Feed) -> Self {
        Self(self.0 | 1 << feed as u8)
    }

    /// Whether the market has the feed.
    pub const fn has(self, feed: Feed) -> bool {
        self.0 & (1 << feed as u8) != 0
    }

    /// Whether the market serves a data type.
    pub fn serve(self, data_type: DataType) -> bool {
        Feed::of(data_type).is_some_and(|feed| self.has(feed))
    }
}

impl FromIterator<Feed> for Feeds {
    fn from_iter<I: IntoIterator<Item = Feed>>(feeds: I) -> Self {
        feeds.into_iter().fold(Self::default(), Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_are_a_set() {
        let feeds: Feeds = [Feed::Books, Feed::FundingRates, Feed::Books].into_iter().collect();
        assert_eq!(Feed::ALL.map(|feed| feeds.has(feed)), [false, true, false, true, false]);
        assert!(feeds.serve(DataType::FundingRateAgg) && !feeds.serve(DataType::OpenInterestAgg));
        assert!(!feeds.serve(DataType::LiquidationAgg) && !feeds.serve(DataType::TokenSupplyAgg));
        assert!(Feed::ALL.iter().enumerate().all(|(place, feed)| *feed as usize == place));
    }
}
