//! Points of a data frame (supplement 7). No field is left out: recorded frames have `false` values too.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::kind::ChannelKind;
use crate::clock::{SECOND, UnixNanos};

/// A time as the stream writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StreamTime {
    /// Unix seconds.
    pub seconds: i64,
    /// Nanoseconds beyond them.
    pub nanoseconds: i64,
}

impl From<UnixNanos> for StreamTime {
    fn from(time: UnixNanos) -> Self {
        Self { seconds: time.second().0, nanoseconds: time.0.rem_euclid(SECOND) }
    }
}

/// Identity of a point's series.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamSeries {
    /// Channel type.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Exchange-native symbol.
    pub symbol: String,
    /// Exchange identifier.
    pub exchange: String,
    /// Symbol in BASE-QUOTE form.
    pub normalized_symbol: String,
    /// `SPOT` or `PERPETUAL`.
    pub category: String,
    /// `BUY` or `SELL`: the side of the taker; absent for what has no side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<&'static str>,
    /// Base asset.
    pub coin: String,
    /// Whether the contract is settled in the coin.
    pub inverse: bool,
    /// Width of a price block, in quote; absent for what has no blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_size: Option<f64>,
}

/// Values of a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Payload {
    /// A trade.
    Trade {
        /// Identifier; unique within the exchange.
        id: String,
        /// Price in quote.
        price: f64,
        /// Amount in coin.
        amount: f64,
        /// When it happened.
        timestamp: StreamTime,
    },
    /// A forced order; the fields are those of a trade.
    Liquidation {
        /// Identifier; unique within the exchange.
        id: String,
        /// Price in quote.
        price: f64,
        /// Amount in coin.
        amount: f64,
        /// When it happened.
        timestamp: StreamTime,
    },
    /// Trades of one side and a short interval.
    TradeAgg {
        /// First price.
        open: f64,
        /// Highest price.
        high: f64,
        /// Lowest price.
        low: f64,
        /// Last price.
        close: f64,
        /// Sum of amounts in coin.
        volume: f64,
        /// Start of the interval.
        timestamp: StreamTime,
        /// First trade.
        first_timestamp: StreamTime,
        /// Last trade.
        last_timestamp: StreamTime,
    },
    /// A reading of the funding rate; fractions per the venue's own interval.
    FundingRate {
        /// The rate; absent where the reading does not have it.
        #[serde(skip_serializing_if = "Option::is_none")]
        funding_rate: Option<f64>,
        /// The rate predicted for the next settlement.
        #[serde(skip_serializing_if = "Option::is_none")]
        predicted_funding_rate: Option<f64>,
        /// When it was read.
        timestamp: StreamTime,
    },
    /// A reading of the open interest.
    OpenInterest {
        /// Open interest in coin.
        open_interest: f64,
        /// When it was read.
        timestamp: StreamTime,
    },
    /// A state of the book.
    BlockBookSnapshot {
        /// Flat price, volume pairs from the best down.
        bids: Vec<f64>,
        /// Flat price, volume pairs from the best up.
        asks: Vec<f64>,
        /// The moment; everything before it is in.
        timestamp: StreamTime,
    },
    /// Volume by price of the minute under way.
    VolumeProfileAgg {
        /// Flat price, bought, sold triplets, ascending.
        profile: Vec<f64>,
        /// Start of the minute.
        timestamp: StreamTime,
    },
}

impl Payload {
    /// The channel that sends such.
    pub const fn kind(&self) -> ChannelKind {
        match self {
            Self::Trade { .. } => ChannelKind::Trade,
            Self::Liquidation { .. } => ChannelKind::Liquidation,
            Self::TradeAgg { .. } => ChannelKind::TradeAgg,
            Self::FundingRate { .. } => ChannelKind::FundingRate,
            Self::OpenInterest { .. } => ChannelKind::OpenInterest,
            Self::BlockBookSnapshot { .. } => ChannelKind::BlockBookSnapshot,
            Self::VolumeProfileAgg { .. } => ChannelKind::VolumeProfileAgg,
        }
    }
}

impl Payload {
    /// How many numbers it holds, about.
    pub fn numbers(&self) -> usize {
        match self {
            Self::BlockBookSnapshot { bids, asks, .. } => bids.len() + asks.len(),
            Self::VolumeProfileAgg { profile, .. } => profile.len(),
            _ => 1,
        }
    }
}

/// One point of a data frame.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamPoint {
    /// Its series.
    pub series: StreamSeries,
    /// Its values.
    pub payload: Payload,
}

impl Serialize for StreamPoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("series", &self.series)?;
        map.serialize_entry(self.payload.kind().spec().payload, &self.payload)?;
        map.end()
    }
}

/// A data frame.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Frame<'a> {
    /// Its points, in the order in which they happened.
    pub points: &'a [StreamPoint],
}
