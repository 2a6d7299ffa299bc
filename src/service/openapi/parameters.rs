//! Schemas of the parameters. Which endpoint takes which parameters is in the protocol's tables.

use serde_json::{Value, json};

use crate::protocol::analytics::{ANALYTICS, MAX_LIMIT, MAX_OFFSET};
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::discovery::TENORS;
use crate::protocol::grid::{BLOCK_MINUTES, SESSIONS};
use crate::protocol::interval::INTERVALS;
use crate::protocol::query::{LeaderboardSort, MAX_PAGE_SIZE, MarketSort, PARAMETERS, ParameterKind};
use crate::protocol::symbol::Category;
use crate::protocol::wire::{MARKETS_PATH, POINTS_PATH};
use crate::protocol::{GroupBy, LISTS, SortDirection};

/// A parameter of an endpoint. One without a schema here is described by its kind in the table of the points query, or
/// as a string.
pub(super) fn parameter(path: &str, name: &str) -> Value {
    let row = PARAMETERS.iter().find(|row| path == POINTS_PATH && row.wire == name);
    let by_kind = || (of_kind(row.map_or(ParameterKind::Text, |row| row.kind)), "");
    let (schema, text) = schema(name).unwrap_or_else(by_kind);
    let text = row.map_or(text, |row| row.about);
    let discovery = path == MARKETS_PATH || LISTS.iter().any(|row| row.path == path);
    let filter = ["type", "exchange", "category", "coin", "rawSymbol", "normalizedSymbol"].contains(&name);
    let repeatable = discovery && filter || row.is_some_and(|row| row.kind == ParameterKind::Texts);
    let schema = if repeatable { json!({ "type": "array", "items": schema }) } else { schema };
    let mut parameter = json!({ "name": name, "in": "query", "required": required(path, name), "schema": schema });
    if repeatable {
        parameter["style"] = json!("form");
        parameter["explode"] = json!(true);
    }
    if !text.is_empty() {
        parameter["description"] = json!(text);
    }
    parameter
}

/// Whether the endpoint requires it.
fn required(path: &str, name: &str) -> bool {
    match name {
        "type" => path == POINTS_PATH || LISTS.iter().any(|row| row.path == path && row.needs_type),
        "interval" => path == POINTS_PATH,
        "userWallet" => ANALYTICS.iter().any(|row| row.path == path && row.parameters == ["userWallet"]),
        _ => false,
    }
}

/// A string; the names are examples.
fn open(names: &[&str]) -> Value {
    json!({ "type": "string", "examples": names })
}

/// A string that must be one of these names.
fn closed(names: &[&str]) -> Value {
    json!({ "type": "string", "enum": names })
}

fn whole(minimum: i64, maximum: i64) -> Value {
    json!({ "type": "integer", "minimum": minimum, "maximum": maximum })
}

fn any_whole() -> Value {
    json!({ "type": "integer", "format": "int64" })
}

/// Any value of a kind.
fn of_kind(kind: ParameterKind) -> Value {
    match kind {
        ParameterKind::Text | ParameterKind::Texts => json!({ "type": "string" }),
        ParameterKind::Flag => json!({ "type": "boolean" }),
        ParameterKind::Whole => any_whole(),
        ParameterKind::Number => json!({ "type": "number" }),
    }
}

/// A parameter's schema, with a description where the table of the points query has none; `None` where its kind is
/// enough.
fn schema(name: &str) -> Option<(Value, &'static str)> {
    Some(match name {
        "type" => (open(&DATA_TYPES.each_ref().map(|row| row.name)), "data type"),
        "exchange" => (open(&["BINANCE_FUTURES", "BYBIT", "COINBASE"]), "venue, case-sensitive"),
        "coin" => (open(&["BTC", "ETH"]), "base asset"),
        "category" => (open(&Category::ALL.map(Category::name)), "kind of market"),
        "rawSymbol" => (open(&["BTCUSDT", "BTC-USDT-SWAP"]), "exchange-native symbol"),
        "normalizedSymbol" => (open(&["BTC-USDT"]), "symbol in BASE-QUOTE form"),
        "interval" => (open(&INTERVALS.map(|row| row.name)), ""),
        "period" => (whole(0, i64::MAX), ""),
        "sortDirection" => (
            open(&[SortDirection::Ascending.name(), SortDirection::Descending.name()]),
            "order; the numbers 1 (ascending) and 2 (descending) are taken as well",
        ),
        "transform.groupBy.type" => (open(&[GroupBy::Sum.name(), GroupBy::OpenInterestWeighted.name()]), ""),
        "transform.normalize.quote" => (open(&["USD"]), ""),
        "from" | "transform.normalize.fundingInterval" => (any_whole(), ""),
        "distinct" => (
            json!({ "type": "boolean" }),
            "one result per normalized symbol, that of the exchange with the largest 24-hour USD volume",
        ),
        "blockSize" => (json!({ "type": "number", "exclusiveMinimum": 0 }), ""),
        "maxDepth" => (whole(1, i64::from(u32::MAX)), ""),
        "tpoBlockSizeMinutes" => {
            (json!({ "type": "integer", "format": "int32", "minimum": 0, "examples": BLOCK_MINUTES }), "")
        }
        "tpoSession" => (open(&SESSIONS), ""),
        "tenor" => (open(&TENORS), ""),
        "tokenName" => (open(&["Bitcoin"]), ""),
        "symbolFilter" => (open(&["btc"]), "search in symbols, coin names and titles, in any case"),
        "sortCriteria.field" => {
            (closed(&MarketSort::NAMES.map(|(name, _)| name)), "what rows go by; absent: 24-hour USD volume")
        }
        "sortCriteria.direction" => (
            open(&[SortDirection::Ascending.name(), SortDirection::Descending.name()]),
            "order of the rows, absent: descending; the numbers 1 (ascending) and 2 (descending) are taken as well",
        ),
        "pageSize" => (whole(1, i64::from(MAX_PAGE_SIZE)), "rows; absent: 10"),
        "pageOffset" => (whole(0, i64::from(i32::MAX)), "a row number from 0, or the nextOffset of the page before"),
        "limit" => (whole(1, MAX_LIMIT), "rows"),
        "offset" => (whole(0, MAX_OFFSET), "rows to skip"),
        "roiPercentage" => (any_whole(), "least return, percent"),
        "openPositionCount" => (any_whole(), "least number of open positions"),
        "timeSinceLastTrade" => (any_whole(), "least seconds since the latest trade"),
        "avgHoldingTime" => (any_whole(), "least mean holding duration, seconds"),
        "minTotalTradeCount" | "maxTotalTradeCount" | "winRate" | "avgPositionSize" | "totalVolume" => {
            (json!({ "type": "number" }), "bound, inclusive")
        }
        "sortBy" => (open(&LeaderboardSort::NAMES.map(|(name, _)| name)), "default: realized profit and loss"),
        _ => return None,
    })
}
