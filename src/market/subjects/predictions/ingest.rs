//! Tables of prediction markets and of positions on them.

use std::collections::{HashMap, HashSet};

use super::store::{MarketRow, PREDICTION_MARKETS, PREDICTION_POSITIONS, PositionRow};
use crate::clock::{UnixNanos, UnixSecond};
use crate::columns::NO_TIME;
use crate::market::ingest::csv_table::{CsvColumns, CsvRecord, Range};
use crate::market::ingest::fault::RowFault;
use crate::market::ingest::rows::shown;
use crate::market::ingest::task::IngestTask;
use crate::market::query::error::MarketError;
use crate::market::raw::{Position, PositionCounts, PredictionEvent, PredictionFigures};

const MARKET_COLUMNS: CsvColumns = CsvColumns {
    needed: &["condition_id", "question", "outcomes", "asset_ids", "available_since"],
    others: &[
        "timestamp",
        "event_id",
        "category",
        "sub_category",
        "slug",
        "group_item_title",
        "last_price",
        "one_day_price_change",
        "prices",
        "total_volume",
        "buy_volume_24h",
        "sell_volume_24h",
        "volume_change_24h",
        "open_interest",
        "one_day_oi_change",
        "unique_traders",
        "liquidity",
        "order_price_min_tick_size",
        "closed",
        "resolved_prices",
        "available_to",
        "sports_market_type",
        "line",
    ],
};

const POSITION_COLUMNS: CsvColumns = CsvColumns {
    needed: &["wallet_address", "asset_id", "condition_id", "unrealized_size", "realized_size", "avg_price"],
    others: &[
        "avg_exit_price",
        "realized_pnl",
        "resolved_price",
        "latest_open_ts",
        "prev_hold_duration",
        "last_trade_ts",
        "buy_count",
        "sell_count",
        "split_count",
        "merge_count",
        "transfer_in_count",
        "transfer_out_count",
        "conversion_in_count",
        "conversion_out_count",
        "market_name",
        "outcome_name",
        "category",
        "sub_category",
        "event_id",
    ],
};

/// Most digits of a token: it is a number below 2^256.
const MOST_DIGITS: usize = 78;

/// Reads a file of markets into the store, unless the store holds it already.
pub(in crate::market) fn ingest_markets(source: &str, task: &mut IngestTask<'_>) -> Result<(), MarketError> {
    let Some(hash) = task.fingerprint() else { return Ok(()) };
    if !task.is_new(PREDICTION_MARKETS.read_origin(task.store, source), &hash) {
        return Ok(());
    }
    let (mut lines, mut rows, mut owners) = (Vec::new(), HashSet::new(), HashMap::new());
    let whole = task.each_record(&MARKET_COLUMNS, |record| {
        let line = market(record)?;
        let condition = &line.event.condition_id;
        for asset in record.list("asset_ids")? {
            own(&mut owners, "asset_ids", asset, condition)?;
        }
        if !rows.insert((condition.clone(), line.time)) {
            return Err(RowFault::new("timestamp", "a second row of the market at this time; keep one of them"));
        }
        lines.push(line);
        Ok(())
    });
    if whole {
        PREDICTION_MARKETS.write(task.store, source, lines, &task.origin(&hash))?;
    }
    Ok(())
}

/// Reads a file of positions into the store, unless the store holds it already.
pub(in crate::market) fn ingest_positions(source: &str, task: &mut IngestTask<'_>) -> Result<(), MarketError> {
    let Some(hash) = task.fingerprint() else { return Ok(()) };
    if !task.is_new(PREDICTION_POSITIONS.read_origin(task.store, source), &hash) {
        return Ok(());
    }
    let (mut lines, mut rows, mut owners) = (Vec::new(), HashSet::new(), HashMap::new());
    let whole = task.each_record(&POSITION_COLUMNS, |record| {
        let line = position(record)?;
        own(&mut owners, "asset_id", &line.asset_id, &line.event.condition_id)?;
        if !rows.insert((line.wallet.clone(), line.asset_id.clone())) {
            let what = "a second row of the wallet and outcome; a position is one row, so add them up or keep one";
            return Err(RowFault::new("asset_id", what));
        }
        lines.push(line);
        Ok(())
    });
    if whole {
        PREDICTION_POSITIONS.write(task.store, source, lines, &task.origin(&hash))?;
    }
    Ok(())
}

/// A token belongs to one market.
fn own(owners: &mut HashMap<String, String>, column: &str, asset: &str, condition: &str) -> Result<(), RowFault> {
    let owner = owners.entry(asset.to_owned()).or_insert_with(|| condition.to_owned());
    if owner == condition {
        return Ok(());
    }
    Err(RowFault::new(column, format!("{asset} is an outcome of {owner} in an earlier row; one of the two is wrong")))
}

fn market(record: &CsvRecord<'_>) -> Result<MarketRow, RowFault> {
    let assets = record.list("asset_ids")?;
    let outcomes = record.list("outcomes")?;
    if outcomes.is_empty() || assets.len() != outcomes.len() {
        let what = format!("{} tokens for {} outcomes; give one each, with | between", assets.len(), outcomes.len());
        return Err(RowFault::new("asset_ids", what));
    }
    assets.iter().try_for_each(|asset| token("asset_ids", asset))?;
    let mut known = HashSet::new();
    if let Some(twice) = assets.iter().find(|asset| !known.insert(**asset)) {
        let what = format!("{} is there twice; each outcome has its own", shown(twice.as_bytes()));
        return Err(RowFault::new("asset_ids", what));
    }
    let paid = record.numbers("resolved_prices")?;
    if !paid.is_empty() && paid.len() != outcomes.len() {
        let what = format!("{} prices for {} outcomes; give one each, with | between", paid.len(), outcomes.len());
        return Err(RowFault::new("resolved_prices", what));
    }
    record.numbers("prices")?;
    record.needed("available_since")?;
    let amount = |column| record.number(column, Range::NotNegative);
    let change = |column| record.number(column, Range::Any);
    Ok(MarketRow {
        time: record.time("timestamp")?.unwrap_or(UnixNanos(NO_TIME)),
        event: PredictionEvent {
            event_id: record.text("event_id")?.to_owned(),
            condition_id: condition(record)?,
            market_name: record.needed("question")?.to_owned(),
            category: record.text("category")?.to_owned(),
            sub_category: record.text("sub_category")?.to_owned(),
        },
        outcomes: record.text("outcomes")?.to_owned(),
        asset_ids: record.text("asset_ids")?.to_owned(),
        resolved_prices: record.text("resolved_prices")?.to_owned(),
        opened: record.seconds("available_since")?,
        ends: record.seconds("available_to")?,
        closed: i64::from(record.flag("closed")?),
        price: record.number("last_price", Range::Probability)?,
        tick: record.number("order_price_min_tick_size", Range::Probability)?,
        prices: record.text("prices")?.to_owned(),
        figures: PredictionFigures {
            slug: record.text("slug")?.to_owned(),
            group_item_title: record.text("group_item_title")?.to_owned(),
            sports_market_type: record.text("sports_market_type")?.to_owned(),
            prices: Vec::new(), // read from the text when the store is opened
            one_day_price_change: change("one_day_price_change")?,
            total_volume: amount("total_volume")?,
            buy_volume: amount("buy_volume_24h")?,
            sell_volume: amount("sell_volume_24h")?,
            volume_change: change("volume_change_24h")?,
            open_interest: amount("open_interest")?,
            one_day_oi_change: change("one_day_oi_change")?,
            unique_traders: amount("unique_traders")?,
            liquidity: amount("liquidity")?,
            line: change("line")?,
        },
    })
}

fn position(record: &CsvRecord<'_>) -> Result<PositionRow, RowFault> {
    let zero = |value: f64| if value.is_nan() { 0.0 } else { value };
    let asset_id = record.needed("asset_id")?;
    token("asset_id", asset_id)?;
    let mut position = Position {
        unrealized_size: zero(record.number("unrealized_size", Range::NotNegative)?),
        realized_size: zero(record.number("realized_size", Range::NotNegative)?),
        avg_price: zero(record.number("avg_price", Range::Probability)?),
        avg_exit_price: zero(record.number("avg_exit_price", Range::Probability)?),
        realized_pnl: zero(record.number("realized_pnl", Range::Any)?),
        latest_open_ts: record.seconds("latest_open_ts")?,
        prev_hold_duration: record.whole("prev_hold_duration")?,
        last_trade: record.seconds("last_trade_ts")?,
        counts: PositionCounts {
            buy: record.count("buy_count")?,
            sell: record.count("sell_count")?,
            split: record.count("split_count")?,
            merge: record.count("merge_count")?,
            transfer_in: record.count("transfer_in_count")?,
            transfer_out: record.count("transfer_out_count")?,
            conversion_in: record.count("conversion_in_count")?,
            conversion_out: record.count("conversion_out_count")?,
        },
        ..Position::default()
    };
    if position.last_trade == UnixSecond(0) && position.latest_open_ts > UnixSecond(0) {
        // The last trade is not on the wire: a closed position ended with its holding time.
        let held = if position.is_open() { 0 } else { position.prev_hold_duration };
        position.last_trade = UnixSecond(position.latest_open_ts.0.saturating_add(held));
    }
    Ok(PositionRow {
        wallet: record.needed("wallet_address")?.to_owned(),
        event: PredictionEvent {
            event_id: record.text("event_id")?.to_owned(),
            condition_id: condition(record)?,
            market_name: record.text("market_name")?.to_owned(),
            category: record.text("category")?.to_owned(),
            sub_category: record.text("sub_category")?.to_owned(),
        },
        asset_id: asset_id.to_owned(),
        outcome: record.text("outcome_name")?.to_owned(),
        resolved_price: record.number("resolved_price", Range::Probability)?,
        position,
    })
}

fn condition(record: &CsvRecord<'_>) -> Result<String, RowFault> {
    let text = record.needed("condition_id")?;
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 64);
    if digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit())) {
        return Ok(text.to_owned());
    }
    Err(RowFault::new("condition_id", format!("{} is not 0x and 64 hexadecimal digits", shown(text.as_bytes()))))
}

/// Refuses anything but a token: spreadsheets and data frames write tokens with an exponent, which loses their digits.
fn token(column: &str, text: &str) -> Result<(), RowFault> {
    if !text.is_empty() && text.len() <= MOST_DIGITS && text.bytes().all(|digit| digit.is_ascii_digit()) {
        return Ok(());
    }
    let what = format!(
        "{} is not a token: up to {MOST_DIGITS} decimal digits; keep the column as text when exporting",
        shown(text.as_bytes())
    );
    Err(RowFault::new(column, what))
}
