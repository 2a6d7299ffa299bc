//! Prediction markets in the listing (service.md 2.4): prices of the source, volumes and traders of the positions that the
//! analytics tell, so that the two agree.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::clock::SECOND;
use crate::market::MarketError;
use crate::market::analytics::{Position, PositionTable, PredictionEvent};
use crate::market::listing::{Face, wants};
use crate::market::source::Source;
use crate::protocol::{Market, MarketsQuery, Timestamp};

/// The one exchange of prediction markets.
pub(in crate::market) const VENUE: &str = "PREDICTION_VENUE";
const DAY: i64 = 86_400;
/// Hourly prices told in `prices`.
const HISTORY: i64 = 24;

/// A prediction market at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictionState {
    /// Unix seconds of the opening.
    pub opened: i64,
    /// Unix seconds of the expiry.
    pub ends: i64,
    /// Whether the market has resolved.
    pub closed: bool,
    /// Price of the first outcome, 0 to 1.
    pub price: f64,
    /// Price step of an order.
    pub tick: f64,
}

/// `PredictionMarket` of section 2.4; what is zero or empty is left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    slug: String,
    question: &'a str,
    #[serde(skip_serializing_if = "nothing")]
    group_item_title: String,
    outcomes: Vec<&'a str>,
    #[serde(skip_serializing_if = "nothing")]
    last_price: f64,
    #[serde(skip_serializing_if = "nothing")]
    one_day_price_change: f64,
    prices: Vec<f64>,
    #[serde(skip_serializing_if = "nothing")]
    total_volume: f64,
    #[serde(rename = "buyVolume24H", skip_serializing_if = "nothing")]
    buy_volume: f64,
    #[serde(rename = "sellVolume24H", skip_serializing_if = "nothing")]
    sell_volume: f64,
    #[serde(rename = "volumeChange24H", skip_serializing_if = "nothing")]
    volume_change: f64,
    #[serde(skip_serializing_if = "nothing")]
    open_interest: f64,
    #[serde(rename = "oneDayOIChange", skip_serializing_if = "nothing")]
    one_day_oi_change: f64,
    #[serde(skip_serializing_if = "nothing")]
    unique_traders: f64,
    order_price_min_tick_size: f64,
    condition_id: &'a str,
    #[serde(skip_serializing_if = "nothing")]
    closed: bool,
    available_since: Timestamp,
    available_to: Timestamp,
}

fn nothing<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The prediction markets that fit a query of `/v1/markets`, as of `now` (Unix nanoseconds), each with what was traded in
/// 24 hours, USD. One that opens later is not told.
///
/// # Errors
/// [`MarketError::Internal`] where an entry cannot be written as JSON.
pub(in crate::market) fn prediction_entries(
    source: &dyn Source,
    query: &MarketsQuery,
    now: i64,
) -> Result<Vec<(f64, Market)>, MarketError> {
    let Some(table) = source.positions() else { return Ok(Vec::new()) };
    let second = now.div_euclid(SECOND);
    let mut entries = Vec::new();
    for (place, event) in table.events().iter().enumerate() {
        let texts = [&event.condition_id, &event.market_name];
        let face = Face { exchange: VENUE, coin: "", category: "", texts: &texts.map(|text| text.to_lowercase()) };
        // None of them serves a data type: there are positions, not trades.
        if !wants(query, &face, |_| false) {
            continue;
        }
        if let Some(state) = source.prediction(place, second) {
            entries.push(entry(source, table, place, &state, second)?);
        }
    }
    Ok(entries)
}

fn entry(
    source: &dyn Source,
    table: &PositionTable,
    place: usize,
    state: &PredictionState,
    now: i64,
) -> Result<(f64, Market), MarketError> {
    let event = &table.events()[place];
    let outcomes = table.outcomes_of(place);
    let rows = table.held(&outcomes);
    let price_at = |at: i64| source.prediction(place, at).map(|state| state.price);
    let day_ago = price_at(now - DAY).unwrap_or(state.price);
    let (today, yesterday) = (Traded::between(&rows, now - DAY, now), Traded::between(&rows, now - 2 * DAY, now - DAY));
    let change = percent(yesterday.bought + yesterday.sold, today.bought + today.sold);
    let interest = held_at(&rows, now);
    let begun = || rows.iter().filter(|row| entered(row) <= now);
    let since = Timestamp { s: state.opened, ns: 0 };
    let entry = Entry {
        slug: slug(&event.market_name),
        question: &event.market_name,
        group_item_title: group_item_title(table, event),
        outcomes: outcomes.iter().map(|&outcome| &*table.outcomes()[outcome].name).collect(),
        last_price: state.price,
        one_day_price_change: state.price - day_ago,
        prices: (0..HISTORY).rev().filter_map(|hour| price_at(now - 3_600 * hour)).collect(),
        total_volume: begun().map(|row| row.size()).sum(),
        buy_volume: today.bought,
        sell_volume: today.sold,
        volume_change: change,
        open_interest: interest,
        one_day_oi_change: interest - held_at(&rows, now - DAY),
        unique_traders: begun().map(|row| row.wallet).collect::<HashSet<_>>().len() as f64,
        order_price_min_tick_size: state.tick,
        condition_id: &event.condition_id,
        closed: state.closed,
        available_since: since,
        available_to: Timestamp { s: state.ends, ns: 0 },
    };
    let entry = serde_json::to_value([entry]).map_err(|error| MarketError::Internal(error.to_string()))?;
    let tags = [event.category.trim(), event.sub_category.trim()].map(|label| {
        let slug = slug(label);
        json!({ "id": slug, "label": label, "slug": slug })
    });
    let mut extra = Map::new();
    extra.insert("predictionMarkets".to_owned(), entry);
    extra.insert("title".to_owned(), Value::from(event.market_name.clone()));
    extra.insert("tags".to_owned(), Value::from(tags.to_vec()));
    let market = Market {
        exchange: VENUE.to_owned(),
        raw_symbol: event.condition_id.clone(),
        full_name: event.market_name.clone(),
        last_price: state.price,
        volume_24h: today.bought + today.sold,
        volume_change_24h: change,
        price_change_24h: percent(day_ago, state.price),
        available_since: Some(since),
        extra,
        ..Market::default()
    };
    Ok((today.worth, market))
}

/// When a position was entered, Unix seconds.
fn entered(row: &Position) -> i64 {
    if row.is_open() { row.latest_open_ts } else { row.last_trade - row.prev_hold_duration }
}

/// Tokens held at a second.
fn held_at(rows: &[&Position], at: i64) -> f64 {
    let begun = rows.iter().filter(|row| entered(row) <= at);
    begun.map(|row| if row.last_trade <= at { row.unrealized_size } else { row.size() }).sum()
}

/// What the positions bought and sold, in tokens, and what that was worth. What came by transfer was not bought, what was
/// redeemed or merged was not sold.
struct Traded {
    bought: f64,
    sold: f64,
    worth: f64,
}

impl Traded {
    /// After `from`, and not after `to`.
    fn between(rows: &[&Position], from: i64, to: i64) -> Self {
        let within = |at: i64| from < at && at <= to;
        let mut traded = Self { bought: 0.0, sold: 0.0, worth: 0.0 };
        for row in rows {
            if row.counts.buy > 0 && within(entered(row)) {
                traded.bought += row.size();
                traded.worth += row.size() * row.avg_price;
            }
            if row.counts.sell > 0 && within(row.last_trade) {
                traded.sold += row.realized_size;
                traded.worth += row.realized_size * row.avg_exit_price;
            }
        }
        traded
    }
}

fn percent(before: f64, after: f64) -> f64 {
    if before > 0.0 { (after / before - 1.0) * 100.0 } else { 0.0 }
}

/// Lower-case words with hyphens between them.
fn slug(title: &str) -> String {
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

/// What tells a question from the others of its event: the words that they do not share at the beginning or the end;
/// nothing for a question that stands alone.
fn group_item_title(table: &PositionTable, event: &PredictionEvent) -> String {
    let words = |event: &'_ PredictionEvent| event.market_name.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mine = words(event);
    let (mut start, mut end) = (mine.len(), mine.len());
    let others = table.events().iter().filter(|other| other.event_id == event.event_id && *other != event);
    let mut alone = true;
    for other in others.map(words) {
        alone = false;
        start = start.min(mine.iter().zip(&other).take_while(|(one, two)| one == two).count());
        end = end.min(mine.iter().rev().zip(other.iter().rev()).take_while(|(one, two)| one == two).count());
    }
    if alone { String::new() } else { mine[start..(mine.len() - end).max(start)].join(" ") }
}
