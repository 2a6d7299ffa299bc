//! The one table of data types. Weight, planner, client, decoder, service, pictures and docs read it.
//!
//! Longer than other files, because it is one table: a type's variant, row and fields are read, and added, together.
//!
//! Sources: service.md 2.3 (payloads), 4.1 (selection and capabilities), 5 (tiers), 8.3 (cost, maximum points) and
//! 8.4 (included depth); supplement 4 (volume profile).

use super::field::{Field, FieldKind, Fold, Shape, TIMESTAMP, field, open};
use super::group_by::GroupBy;
use super::panel::{Panel, PanelUnit, Role, panel};
use super::suggest::closest;
use super::tier::Tier;
use super::units::Points;

/// A data type of section 2.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the wire names in `DATA_TYPES` say it
pub enum DataType {
    TradeSideAgnosticAgg,
    TradeAgg,
    LiquidationAgg,
    FundingRateAgg,
    OpenInterestAgg,
    VolumeProfileAgg,
    TpoAgg,
    BlockBookSnapshotAgg,
    VenueLiquidationAgg,
    SkewOptionSummaryAgg,
    ImpliedVolatilityOptionSummaryAgg,
    TokenSupplyAgg,
}

/// A kind of raw data of a market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RawData {
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

impl RawData {
    /// Every kind; a kind's place is `kind as usize`.
    pub const ALL: [Self; 5] = [Self::Trades, Self::Books, Self::Liquidations, Self::FundingRates, Self::OpenInterest];
}

/// Which parameters name the market or coin of a query of the type (section 4.1, "Selection").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// One exchange with rawSymbol, or exchanges with coin.
    SymbolOrCoin,
    /// Coin only; no rawSymbol, exchange optional.
    CoinOnly,
    /// Exchange, coin, rawSymbol and tenor, all of them.
    OptionSummary,
    /// Coin (with tokenName); not keyed by exchange.
    Token,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct TypeSpec {
    /// The type.
    pub data_type: DataType,
    /// Name on the wire.
    pub name: &'static str,
    /// Name of the method of the Python client that asks for it.
    pub method: &'static str,
    /// Name in titles of pictures.
    pub title: &'static str,
    /// How it is drawn.
    pub role: Role,
    /// Its amounts in words, such as traded volume; the empty text where it has none.
    pub amount: &'static str,
    /// Whether the amounts are of events in the bucket, so that those of several buckets add up. A book's do not.
    pub adds_up: bool,
    /// The panels of its columns, for bars and lines. Columns in none of them get a panel each.
    pub panels: &'static [Panel],
    /// The raw data of a market that it is made of; `None` where it is not made of a market's.
    pub made_of: Option<RawData>,
    /// Whether it is computed from single trades or forced orders, which takes longer than from sums by the minute.
    pub of_events: bool,
    /// Weight per started thousand points (section 8.3).
    pub cost: u32,
    /// Most points of one request (section 8.3).
    pub max_points: Points,
    /// Bytes of a bucket of one market in an archive's files, measured on the demo market: of a minute, an hour, a day.
    pub file_bytes: [f64; 3],
    /// Depth that costs nothing extra, for heatmaps (section 8.4); also the default of `maxDepth`.
    pub included_depth: Option<u32>,
    /// How a query selects.
    pub selection: Selection,
    /// Whether a coin without exchanges, which means all of them, may be asked of a type that also goes by symbol.
    pub by_coin_alone: bool,
    /// Whether a query may go by normalizedSymbol (supplement 4).
    pub normalized_symbol: bool,
    /// Whether a time has one row. Token supply has one for each token of the coin.
    pub unique_times: bool,
    /// Whether the client asks for the flat form, which is shorter for levels without sides.
    pub flat: bool,
    /// Parameters that it reads and not every type does, by their names in a URL (section 4.1).
    pub parameters: &'static [&'static str],
    /// Whether `blockSize` is required.
    pub needs_block_size: bool,
    /// Whether there is one series per side.
    pub per_side: bool,
    /// Whether values can be asked in USD.
    pub usd: bool,
    /// The aggregation over exchanges that the type allows.
    pub group_by: Option<GroupBy>,
    /// Whether missing intervals can be filled.
    pub gapfill: bool,
    /// Lowest tier that may ask.
    pub lowest_tier: Tier,
    /// Shape of a point.
    pub shape: Shape,
    /// Fields of the payload, in the order in which the live service writes them.
    pub fields: &'static [Field],
}

impl TypeSpec {
    /// Whether the type reads a parameter, by its name in a URL, that not every type does.
    pub fn reads(&self, parameter: &str) -> bool {
        self.parameters.contains(&parameter)
    }

    /// Whether it is candles: prices and volume of trades, one row a bucket.
    pub fn is_candles(&self) -> bool {
        self.role == Role::Candles
    }
}

/// Fields of a point of an unknown type: it may have a timestamp.
pub const UNKNOWN_TYPE: &[Field] = &[Field { kind: FieldKind::OptionalTime, open: true, ..TIMESTAMP }];

const CANDLE: &[Field] = &[
    field("open", "open", FieldKind::Price).by(Fold::First),
    field("high", "high", FieldKind::Price).by(Fold::Most),
    field("low", "low", FieldKind::Price).by(Fold::Least),
    field("close", "close", FieldKind::Price).by(Fold::Last),
    field("volume", "volume", FieldKind::Number).by(Fold::Sum),
    TIMESTAMP,
    field("firstTimestamp", "first_timestamp", FieldKind::OptionalTime).by(Fold::First),
    field("lastTimestamp", "last_timestamp", FieldKind::OptionalTime).by(Fold::Last),
];
const LIQUIDATION: &[Field] = &[field("liquidations", "liquidations", FieldKind::Number).by(Fold::Sum), TIMESTAMP];
const FUNDING: &[Field] = &[
    field("rateOpen", "rate_open", FieldKind::Optional).by(Fold::First),
    field("rateHigh", "rate_high", FieldKind::Optional).by(Fold::Most),
    field("rateLow", "rate_low", FieldKind::Optional).by(Fold::Least),
    field("rateClose", "rate_close", FieldKind::Optional).by(Fold::Last),
    field("predictedOpen", "predicted_open", FieldKind::Optional),
    field("predictedHigh", "predicted_high", FieldKind::Optional),
    field("predictedLow", "predicted_low", FieldKind::Optional),
    field("predictedClose", "predicted_close", FieldKind::Optional),
    TIMESTAMP,
];
const OPEN_INTEREST: &[Field] = &[
    field("open", "open", FieldKind::Optional).by(Fold::First),
    field("high", "high", FieldKind::Optional).by(Fold::Most),
    field("low", "low", FieldKind::Optional).by(Fold::Least),
    field("close", "close", FieldKind::Optional).by(Fold::Last),
    TIMESTAMP,
];
const PROFILE: &[Field] = &[field("profile", "profile", FieldKind::List), TIMESTAMP];
const BOOK: &[Field] = &[field("bids", "bids", FieldKind::List), field("asks", "asks", FieldKind::List), TIMESTAMP];
const LEVELS: &[Field] = &[field("levels", "levels", FieldKind::List), TIMESTAMP];
const SKEW: &[Field] = &[field("skew", "skew", FieldKind::Number), TIMESTAMP];
const VOLATILITY: &[Field] = &[field("impliedVolatility", "implied_volatility", FieldKind::Number), TIMESTAMP];
const TOKEN_SUPPLY: &[Field] = &[
    field("marketcap", "marketcap", FieldKind::Number),
    field("firstMarketcap", "first_marketcap", FieldKind::Number),
    field("marketcapDominancePercent", "marketcap_dominance_percent", FieldKind::Optional),
    field("circulatingSupply", "circulating_supply", FieldKind::Optional),
    field("totalSupply", "total_supply", FieldKind::Optional),
    field("maxSupply", "max_supply", FieldKind::Optional),
    field("totalValueLocked", "total_value_locked", FieldKind::Optional),
    field("fullyDilutedValuation", "fully_diluted_valuation", FieldKind::Optional),
    field("chain", "chain", FieldKind::Text),
    field("contractAddress", "contract_address", FieldKind::Text),
    field("srcMarketcapRank", "src_marketcap_rank", FieldKind::Optional),
    field("totalVolume", "total_volume", FieldKind::Optional),
    field("usdPrice", "usd_price", FieldKind::Optional),
    TIMESTAMP,
];
const TPO_LEVEL: &[Field] = &[
    field("price", "price", FieldKind::Price),
    field("block_ids", "block_ids", FieldKind::List),
    field("buy_volume", "buy_volume", FieldKind::Number),
    field("sell_volume", "sell_volume", FieldKind::Number),
    open("tpo_count", FieldKind::Optional),
    open("volume", FieldKind::Optional),
    open("first_touch_block", FieldKind::Optional),
    open("last_touch_block", FieldKind::Optional),
];
const TPO: &[Field] = &[
    TIMESTAMP,
    field("period_start", "period_start", FieldKind::OptionalTime),
    field("period_end", "period_end", FieldKind::OptionalTime),
    field("levels", "levels", FieldKind::Rows(TPO_LEVEL)),
    open("block_size_minutes", FieldKind::Optional),
    open("poc_price", FieldKind::Optional),
    open("vah_price", FieldKind::Optional),
    open("val_price", FieldKind::Optional),
    open("profile_high", FieldKind::Optional),
    open("profile_low", FieldKind::Optional),
    open("opening_price", FieldKind::Optional),
    open("closing_price", FieldKind::Optional),
    open("ibr_high", FieldKind::Optional),
    open("ibr_low", FieldKind::Optional),
    open("total_tpo_count", FieldKind::Optional),
    open("value_area_percentage", FieldKind::Optional),
    open("poor_highs", FieldKind::List),
    open("poor_lows", FieldKind::List),
    open("total_volume", FieldKind::Optional),
    open("single_prints", FieldKind::List),
];

const LIQUIDATED: &str = "liquidated volume";

const LIQUIDATION_PANELS: &[Panel] = &[panel(LIQUIDATED, &[&["liquidations"]], PanelUnit::Amount)];
const FUNDING_PANELS: &[Panel] = &[Panel {
    band: Some(("rate_low", "rate_high")),
    steps: true, // a rate holds until the next settlement; a predicted one moves all the time
    ..panel(
        "funding rate",
        &[
            &["rate_close", "rate_open", "rate_high", "rate_low"],
            &["predicted_close", "predicted_open", "predicted_high", "predicted_low"],
        ],
        PanelUnit::Fraction,
    )
}];
const OPEN_INTEREST_PANELS: &[Panel] = &[Panel {
    band: Some(("low", "high")),
    ..panel("open interest", &[&["close", "open", "high", "low"]], PanelUnit::Amount)
}];
const SKEW_PANELS: &[Panel] = &[panel("skew", &[&["skew"]], PanelUnit::PercentagePoints)];
const VOLATILITY_PANELS: &[Panel] = &[panel("implied volatility", &[&["implied_volatility"]], PanelUnit::Percent)];
const TOKEN_SUPPLY_PANELS: &[Panel] = &[
    panel(
        "value",
        &[&["marketcap"], &["first_marketcap"], &["fully_diluted_valuation"], &["total_value_locked"]],
        PanelUnit::Usd,
    ),
    panel("dominance", &[&["marketcap_dominance_percent"]], PanelUnit::Percent),
    panel("supply", &[&["circulating_supply"], &["total_supply"], &["max_supply"]], PanelUnit::Coin),
    panel("volume", &[&["total_volume"]], PanelUnit::Usd),
    panel("price", &[&["usd_price"]], PanelUnit::Usd),
    panel("rank", &[&["src_marketcap_rank"]], PanelUnit::Rank),
];

/// A plain 1x type keyed by exchange and symbol or by coin; the rows below change what differs.
const BASE: TypeSpec = TypeSpec {
    data_type: DataType::TradeSideAgnosticAgg,
    name: "TRADE_SIDE_AGNOSTIC_AGG",
    method: "candles",
    title: "candles",
    role: Role::Candles,
    amount: "traded volume",
    adds_up: true,
    panels: &[],
    made_of: Some(RawData::Trades),
    of_events: false,
    cost: 1,
    max_points: Points(100_000),
    file_bytes: [25.0, 38.0, 46.0],
    included_depth: None,
    selection: Selection::SymbolOrCoin,
    by_coin_alone: false,
    normalized_symbol: false,
    unique_times: true,
    flat: false,
    parameters: &[],
    needs_block_size: false,
    per_side: false,
    usd: true,
    group_by: Some(GroupBy::Sum),
    gapfill: false,
    lowest_tier: Tier::Free,
    shape: Shape::Table,
    fields: CANDLE,
};

/// Every data type, in the order of service.md 2.3.
pub static DATA_TYPES: [TypeSpec; 12] = [
    TypeSpec { gapfill: true, ..BASE },
    TypeSpec {
        data_type: DataType::TradeAgg,
        name: "TRADE_AGG",
        method: "side_candles",
        title: "candles by side",
        file_bytes: [41.0, 60.0, 73.0],
        gapfill: true,
        per_side: true,
        ..BASE
    },
    TypeSpec {
        data_type: DataType::LiquidationAgg,
        name: "LIQUIDATION_AGG",
        method: "liquidations",
        title: "liquidations",
        role: Role::Bars,
        amount: LIQUIDATED,
        panels: LIQUIDATION_PANELS,
        file_bytes: [1.5, 19.0, 26.0],
        made_of: Some(RawData::Liquidations),
        per_side: true,
        fields: LIQUIDATION,
        ..BASE
    },
    TypeSpec {
        data_type: DataType::FundingRateAgg,
        name: "FUNDING_RATE_AGG",
        method: "funding_rate",
        title: "funding rate",
        role: Role::Lines,
        amount: "",
        adds_up: false,
        panels: FUNDING_PANELS,
        file_bytes: [24.0, 45.0, 78.0],
        made_of: Some(RawData::FundingRates),
        parameters: &["transform.normalize.fundingInterval"],
        usd: false,
        group_by: Some(GroupBy::OpenInterestWeighted),
        fields: FUNDING,
        ..BASE
    },
    TypeSpec {
        data_type: DataType::OpenInterestAgg,
        name: "OPEN_INTEREST_AGG",
        method: "open_interest",
        title: "open interest",
        role: Role::Lines,
        amount: "open interest",
        adds_up: false,
        panels: OPEN_INTEREST_PANELS,
        file_bytes: [17.0, 34.0, 40.0],
        made_of: Some(RawData::OpenInterest),
        fields: OPEN_INTEREST,
        ..BASE
    },
    TypeSpec {
        data_type: DataType::VolumeProfileAgg,
        name: "VOLUME_PROFILE_AGG",
        method: "volume_profile",
        title: "volume profile",
        role: Role::Profile,
        file_bytes: [24.0, 370.0, 810.0],
        of_events: true,
        normalized_symbol: true,
        cost: 2,
        max_points: Points(20_000),
        shape: Shape::Profile,
        fields: PROFILE,
        ..BASE
    },
    TypeSpec {
        data_type: DataType::TpoAgg,
        name: "TPO_AGG",
        method: "tpo",
        title: "market profile",
        role: Role::Sessions,
        file_bytes: [74.0, 860.0, 2_000.0],
        of_events: true,
        by_coin_alone: true,
        cost: 5,
        max_points: Points(20_000),
        parameters: &["blockSize", "tpoSession", "tpoBlockSizeMinutes"],
        shape: Shape::Tpo,
        fields: TPO,
        ..BASE
    },
    TypeSpec {
        data_type: DataType::BlockBookSnapshotAgg,
        name: "BLOCK_BOOK_SNAPSHOT_AGG",
        method: "orderbook_heatmap",
        title: "order book",
        role: Role::Heatmap,
        amount: "resting volume",
        adds_up: false,
        file_bytes: [900.0, 1_400.0, 1_250.0],
        made_of: Some(RawData::Books),
        cost: 10,
        max_points: Points(4_000),
        included_depth: Some(3_500),
        parameters: &["blockSize", "maxDepth"],
        needs_block_size: true,
        shape: Shape::Heatmap,
        fields: BOOK,
        ..BASE
    },
    TypeSpec {
        data_type: DataType::VenueLiquidationAgg,
        name: "VENUE_LIQUIDATION_AGG",
        method: "liquidation_heatmap",
        title: "liquidation heatmap",
        role: Role::Heatmap,
        amount: LIQUIDATED,
        file_bytes: [6.0, 230.0, 360.0],
        made_of: Some(RawData::Liquidations),
        of_events: true,
        cost: 5,
        max_points: Points(5_000),
        included_depth: Some(1_500),
        selection: Selection::CoinOnly,
        flat: true,
        parameters: &["maxDepth"],
        lowest_tier: Tier::Advanced,
        shape: Shape::Heatmap,
        fields: LEVELS,
        ..BASE
    },
    TypeSpec {
        data_type: DataType::SkewOptionSummaryAgg,
        name: "SKEW_OPTION_SUMMARY_AGG",
        method: "skew",
        title: "skew",
        role: Role::Lines,
        amount: "",
        adds_up: false,
        panels: SKEW_PANELS,
        file_bytes: [3.5, 14.0, 20.0],
        made_of: None,
        selection: Selection::OptionSummary,
        parameters: &["tenor"],
        usd: false,
        group_by: None,
        lowest_tier: Tier::Advanced,
        fields: SKEW,
        ..BASE
    },
    TypeSpec {
        data_type: DataType::ImpliedVolatilityOptionSummaryAgg,
        name: "IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG",
        method: "implied_volatility",
        title: "implied volatility",
        role: Role::Lines,
        amount: "",
        adds_up: false,
        panels: VOLATILITY_PANELS,
        file_bytes: [3.8, 14.5, 21.0],
        made_of: None,
        selection: Selection::OptionSummary,
        parameters: &["tenor"],
        usd: false,
        group_by: None,
        lowest_tier: Tier::Advanced,
        fields: VOLATILITY,
        ..BASE
    },
    TypeSpec {
        data_type: DataType::TokenSupplyAgg,
        name: "TOKEN_SUPPLY_AGG",
        method: "token_supply",
        title: "token supply",
        role: Role::Lines,
        amount: "",
        adds_up: false,
        panels: TOKEN_SUPPLY_PANELS,
        file_bytes: [0.5, 16.5, 72.0],
        made_of: None,
        selection: Selection::Token,
        unique_times: false,
        parameters: &["tokenName"],
        usd: false,
        group_by: None,
        lowest_tier: Tier::Advanced,
        fields: TOKEN_SUPPLY,
        ..BASE
    },
];

impl DataType {
    /// The type's row.
    pub fn spec(self) -> &'static TypeSpec {
        &DATA_TYPES[self as usize]
    }

    /// Looks a type up by wire name; `None` for one this table does not know (it passes through as an open string).
    ///
    /// ```
    /// use marketpoints::protocol::DataType;
    ///
    /// let books = DataType::find("BLOCK_BOOK_SNAPSHOT_AGG").unwrap().spec();
    /// assert_eq!((books.cost, books.included_depth), (10, Some(3_500))); // sections 8.2 and 8.4
    /// assert!(DataType::find("A_TYPE_OF_TOMORROW").is_none());
    /// ```
    pub fn find(name: &str) -> Option<Self> {
        DATA_TYPES.iter().find(|row| row.name == name).map(|row| row.data_type)
    }

    /// The known type nearest in spelling, for error messages.
    pub fn suggest(name: &str) -> Option<&'static str> {
        closest(name, DATA_TYPES.iter().map(|row| row.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_enum_indexes_the_table() {
        for row in &DATA_TYPES {
            assert_eq!(row.data_type.spec().name, row.name);
            assert_eq!(DataType::find(row.name), Some(row.data_type));
        }
    }

    #[test]
    fn every_type_has_exactly_one_time_field() {
        for row in &DATA_TYPES {
            let times = row.fields.iter().filter(|field| field.kind == FieldKind::Time).count();
            assert_eq!(times, 1, "{}", row.name);
        }
    }

    #[test]
    fn a_picture_fits_its_points() {
        for row in &DATA_TYPES {
            let of_rows = matches!(row.role, Role::Candles | Role::Bars | Role::Lines);
            assert_eq!(of_rows, row.shape == Shape::Table, "{}", row.name);
            assert_eq!(row.role == Role::Heatmap, row.shape == Shape::Heatmap, "{}", row.name);
            assert_eq!(!row.panels.is_empty(), matches!(row.role, Role::Bars | Role::Lines), "{}", row.name);
            let columns = || row.fields.iter().map(|field| field.column);
            for panel in row.panels {
                let band = panel.band.into_iter().flat_map(|(low, high)| [low, high]);
                for name in panel.columns.iter().copied().flatten().copied().chain(band) {
                    assert!(columns().any(|column| column == name), "{}: {name}", row.name);
                }
            }
            assert_eq!(DATA_TYPES.iter().filter(|other| other.title == row.title).count(), 1, "{}", row.title);
        }
    }

    #[test]
    fn costs_and_limits_are_section_8_3_and_8_4() {
        let of = |name: &str| {
            let row = DataType::find(name).unwrap().spec();
            (row.cost, row.max_points.0, row.included_depth)
        };
        assert_eq!(of("VOLUME_PROFILE_AGG"), (2, 20_000, None));
        assert_eq!(of("TPO_AGG"), (5, 20_000, None));
        assert_eq!(of("VENUE_LIQUIDATION_AGG"), (5, 5_000, Some(1_500)));
        assert_eq!(of("BLOCK_BOOK_SNAPSHOT_AGG"), (10, 4_000, Some(3_500)));
        let plain = DATA_TYPES.iter().filter(|row| (row.cost, row.max_points.0) == (1, 100_000)).count();
        assert_eq!(plain, 8);
    }
}
