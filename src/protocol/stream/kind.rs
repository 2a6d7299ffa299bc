//! The one table of channels (supplement 7).

use crate::clock::SECOND;
use crate::protocol::data_type::DataType;
use crate::protocol::suggest::hint;

/// The two families of channels; each has a path of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Order books.
    Book,
    /// All else.
    Nonbook,
}

impl Family {
    /// Both, in the order of the supplement.
    pub const ALL: [Self; 2] = [Self::Book, Self::Nonbook];

    /// The path of its WebSocket.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Book => "/ws",
            Self::Nonbook => "/nonbook/ws",
        }
    }

    /// The family of a channel type by name. A type that the table does not know is of the books when it says so.
    pub fn of(kind: &str) -> Self {
        match ChannelKind::find(kind) {
            Some(known) => known.spec().family,
            None if kind.contains("BOOK") => Self::Book,
            None => Self::Nonbook,
        }
    }
}

/// A known channel type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChannelKind {
    /// Single trades.
    Trade,
    /// Trades of a short interval and one side, added up.
    TradeAgg,
    /// States of the order book in price blocks.
    BlockBookSnapshot,
    /// Single forced orders.
    Liquidation,
    /// Funding rates as they were read.
    FundingRate,
    /// Open interest as it was read.
    OpenInterest,
    /// Volume by price of the minute under way.
    VolumeProfileAgg,
}

/// Values of a channel's parameter. On the wire all are texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepts {
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A decimal number above 0.
    Price,
    /// A whole number above 0.
    Count,
    /// Anything: its words are not published.
    Text,
}

/// A parameter of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelParameter {
    /// Name on the wire.
    pub name: &'static str,
    /// Its values.
    pub accepts: Accepts,
    /// Whether the channel needs it.
    pub required: bool,
}

/// One row of the table of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelSpec {
    /// The channel type.
    pub kind: ChannelKind,
    /// Its name on the wire.
    pub name: &'static str,
    /// Which path serves it.
    pub family: Family,
    /// Key of its payload in a data frame.
    pub payload: &'static str,
    /// The data type of `/v1/points` that is made of the same raw data: its lists hold the markets of the channel.
    pub data_type: DataType,
    /// Parameters beside type, exchange, symbol and category.
    pub parameters: &'static [ChannelParameter],
}

const fn optional(name: &'static str, accepts: Accepts) -> ChannelParameter {
    ChannelParameter { name, accepts, required: false }
}

const fn row(
    kind: ChannelKind,
    name: &'static str,
    family: Family,
    payload: &'static str,
    data_type: DataType,
    parameters: &'static [ChannelParameter],
) -> ChannelSpec {
    ChannelSpec { kind, name, family, payload, data_type, parameters }
}

const UPDATE_FREQUENCY: ChannelParameter = optional("updateFrequency", Accepts::OneOf(&["500ms", "1s"]));
const GROUP_BY_TYPE: ChannelParameter = optional("groupByType", Accepts::OneOf(&["0", "1"]));

/// The channels of supplement 7; a channel's place is `kind as usize`.
pub const CHANNELS: [ChannelSpec; 7] = [
    row(ChannelKind::Trade, "TRADE", Family::Nonbook, "trade", DataType::TradeAgg, &[]),
    row(
        ChannelKind::TradeAgg,
        "TRADE_AGG",
        Family::Nonbook,
        "tradeAggregation",
        DataType::TradeAgg,
        &[optional("batchInterval", Accepts::OneOf(&["200ms", "1s", "5s"]))],
    ),
    row(
        ChannelKind::BlockBookSnapshot,
        "BLOCK_BOOK_SNAPSHOT",
        Family::Book,
        "blockBookSnapshot",
        DataType::BlockBookSnapshotAgg,
        &[
            ChannelParameter { name: "blockSize", accepts: Accepts::Price, required: true },
            optional("maxDepth", Accepts::Count),
            UPDATE_FREQUENCY,
            GROUP_BY_TYPE,
        ],
    ),
    row(ChannelKind::Liquidation, "LIQUIDATION", Family::Nonbook, "liquidation", DataType::LiquidationAgg, &[]),
    row(ChannelKind::FundingRate, "FUNDING_RATE", Family::Nonbook, "fundingRate", DataType::FundingRateAgg, &[]),
    row(ChannelKind::OpenInterest, "OPEN_INTEREST", Family::Nonbook, "openInterest", DataType::OpenInterestAgg, &[]),
    row(
        ChannelKind::VolumeProfileAgg,
        "VOLUME_PROFILE_AGG",
        Family::Nonbook,
        "volumeProfileAggregation",
        DataType::VolumeProfileAgg,
        &[GROUP_BY_TYPE, UPDATE_FREQUENCY, optional("quote", Accepts::Text)],
    ),
];

impl ChannelKind {
    /// The type's row.
    pub const fn spec(self) -> &'static ChannelSpec {
        &CHANNELS[self as usize]
    }

    /// Looks a type up by its wire name.
    pub fn find(name: &str) -> Option<Self> {
        CHANNELS.iter().find(|row| row.name == name).map(|row| row.kind)
    }

    /// The message for a name that is no type of the table: the known names, and the likeliest one.
    pub fn unknown(name: &str) -> String {
        let names = || CHANNELS.iter().map(|row| row.name);
        let all = names().collect::<Vec<_>>().join(", ");
        format!("{name:?} is no channel type (known are {all}){}", hint(name, names()))
    }
}

/// Nanoseconds of a spelling such as `200ms` or `1s`; `None` for another spelling.
pub fn duration(text: &str) -> Option<i64> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, SECOND / 1_000),
        None => (text.strip_suffix('s')?, SECOND),
    };
    number.parse::<i64>().ok()?.checked_mul(unit).filter(|duration| *duration > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_supplement_7() {
        let rows: Vec<_> = CHANNELS.iter().map(|row| (row.name, row.family.path(), row.payload)).collect();
        assert_eq!(
            rows,
            [
                ("TRADE", "/nonbook/ws", "trade"),
                ("TRADE_AGG", "/nonbook/ws", "tradeAggregation"),
                ("BLOCK_BOOK_SNAPSHOT", "/ws", "blockBookSnapshot"),
                ("LIQUIDATION", "/nonbook/ws", "liquidation"),
                ("FUNDING_RATE", "/nonbook/ws", "fundingRate"),
                ("OPEN_INTEREST", "/nonbook/ws", "openInterest"),
                ("VOLUME_PROFILE_AGG", "/nonbook/ws", "volumeProfileAggregation"),
            ]
        );
        for row in &CHANNELS {
            assert_eq!(row.kind.spec(), row);
            assert_eq!(ChannelKind::find(row.name), Some(row.kind));
        }
        let required: Vec<_> =
            CHANNELS.iter().flat_map(|row| row.parameters).filter(|one| one.required).map(|one| one.name).collect();
        assert_eq!(required, ["blockSize"]);
    }

    #[test]
    fn families_of_unknown_types_go_by_their_name() {
        assert_eq!(Family::of("BOOK_TICKER"), Family::Book);
        assert_eq!(Family::of("OPTION_TRADE"), Family::Nonbook);
        assert_eq!(Family::of("BLOCK_BOOK_SNAPSHOT"), Family::Book);
    }

    #[test]
    fn durations_are_read_in_both_units() {
        assert_eq!(
            ["200ms", "500ms", "1s", "5s"].map(duration),
            [200, 500, 1_000, 5_000].map(|ms| Some(ms * 1_000_000))
        );
        assert_eq!(["", "s", "ms", "0s", "-1s", "1", "1m", "99999999999s"].map(duration), [None; 8]);
    }
}
