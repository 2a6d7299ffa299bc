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
    /// Unix seconds of the expiry; 0 where it is unknown.
    pub ends: i64,
    /// Whether the market has resolved.
    pub closed: bool,
    /// Price of the first outcome, 0 to 1; NaN where it is unknown.
    pub price: f64,
    /// Price step of an order; NaN where it is unknown.
    pub tick: f64,
}

/// Figures of a prediction market that a source was told and need not compute (section 2.4); NaN or empty where it was
/// not. Volumes and open interest count outcome tokens.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PredictionTold {
    /// Market URL slug.
    pub slug: String,
    /// Title within a grouped market.
    pub group_item_title: String,
    /// Sports market type.
    pub sports_market_type: String,
    /// Recent prices, the newest last.
    pub prices: Vec<f64>,
    /// Change of the price in 24 hours.
    pub one_day_price_change: f64,
    /// Volume from the beginning.
    pub total_volume: f64,
    /// Bought in 24 hours.
    pub buy_volume: f64,
    /// Sold in 24 hours.
    pub sell_volume: f64,
    /// Change of the 24-hour volume, percent.
    pub volume_change: f64,
    /// Open interest.
    pub open_interest: f64,
    /// Change of the open interest in 24 hours.
    pub one_day_oi_change: f64,
    /// Wallets that traded.
    pub unique_traders: f64,
    /// Liquidity, USD.
    pub liquidity: f64,
    /// Line of a sports market.
    pub line: f64,
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
    #[serde(skip_serializing_if = "nothing")]
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
    #[serde(skip_serializing_if = "nothing")]
    order_price_min_tick_size: f64,
    condition_id: &'a str,
    #[serde(skip_serializing_if = "nothing")]
    closed: bool,
    available_since: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    available_to: Option<Timestamp>,
    #[serde(skip_serializing_if = "nothing")]
    sports_market_type: String,
    #[serde(skip_serializing_if = "nothing")]
    line: f64,
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
    let price_at = |at: i64| source.prediction(place, at).map(|state| state.price).filter(|price| !price.is_nan());
    let day_ago = price_at(now - DAY).unwrap_or(state.price);
    let (today, yesterday) = (Traded::between(&rows, now - DAY, now), Traded::between(&rows, now - 2 * DAY, now - DAY));
    let change = percent(yesterday.bought + yesterday.sold, today.bought + today.sold);
    let interest = held_at(&rows, now);
    let begun = || rows.iter().filter(|row| entered(row) <= now);
    let since = Timestamp { s: state.opened, ns: 0 };
    let price = known(state.price);
    let mut entry = Entry {
        slug: slug(&event.market_name),
        question: &event.market_name,
        group_item_title: group_item_title(table, event),
        outcomes: outcomes.iter().map(|&outcome| &*table.outcomes()[outcome].name).collect(),
        last_price: price,
        one_day_price_change: known(state.price - day_ago),
        prices: (0..HISTORY).rev().filter_map(|hour| price_at(now - 3_600 * hour)).collect(),
        total_volume: begun().map(|row| row.size()).sum(),
        buy_volume: today.bought,
        sell_volume: today.sold,
        volume_change: change,
        open_interest: interest,
        one_day_oi_change: interest - held_at(&rows, now - DAY),
        unique_traders: begun().map(|row| row.wallet).collect::<HashSet<_>>().len() as f64,
        order_price_min_tick_size: known(state.tick),
        condition_id: &event.condition_id,
        closed: state.closed,
        available_since: since,
        available_to: (state.ends > 0).then_some(Timestamp { s: state.ends, ns: 0 }),
        sports_market_type: String::new(),
        line: 0.0,
    };
    let told = source.prediction_told(place, now);
    let mut worth = today.worth;
    if let Some(told) = told {
        entry.hear(told);
        if told.buy_volume >= 0.0 || told.sell_volume >= 0.0 {
            worth = (entry.buy_volume + entry.sell_volume) * price;
        }
    }
    let (volume, change) = (entry.buy_volume + entry.sell_volume, entry.volume_change);
    let entry = serde_json::to_value([entry]).map_err(|error| MarketError::Internal(error.to_string()))?;
    let labels = [event.category.trim(), event.sub_category.trim()].into_iter().filter(|label| !label.is_empty());
    let tags: Vec<Value> = labels
        .map(|label| {
            let slug = slug(label);
            json!({ "id": slug, "label": label, "slug": slug })
        })
        .collect();
    let mut extra = Map::new();
    extra.insert("predictionMarkets".to_owned(), entry);
    extra.insert("title".to_owned(), Value::from(event.market_name.clone()));
    if !tags.is_empty() {
        extra.insert("tags".to_owned(), Value::from(tags));
    }
    if let Some(liquidity) = told.map(|told| told.liquidity).filter(|liquidity| *liquidity > 0.0) {
        extra.insert("liquidity".to_owned(), Value::from(liquidity));
    }
    let market = Market {
        exchange: VENUE.to_owned(),
        raw_symbol: event.condition_id.clone(),
        full_name: event.market_name.clone(),
        last_price: price,
        volume_24h: volume,
        volume_change_24h: change,
        price_change_24h: known(percent(day_ago, state.price)),
        available_since: Some(since),
        extra,
        ..Market::default()
    };
    Ok((worth, market))
}

impl Entry<'_> {
    /// What was told counts, the rest is as computed.
    fn hear(&mut self, told: &PredictionTold) {
        for (figure, told) in [
            (&mut self.one_day_price_change, told.one_day_price_change),
            (&mut self.total_volume, told.total_volume),
            (&mut self.buy_volume, told.buy_volume),
            (&mut self.sell_volume, told.sell_volume),
            (&mut self.volume_change, told.volume_change),
            (&mut self.open_interest, told.open_interest),
            (&mut self.one_day_oi_change, told.one_day_oi_change),
            (&mut self.unique_traders, told.unique_traders),
            (&mut self.line, told.line),
        ] {
            if !told.is_nan() {
                *figure = told;
            }
        }
        for (text, told) in [
            (&mut self.slug, &told.slug),
            (&mut self.group_item_title, &told.group_item_title),
            (&mut self.sports_market_type, &told.sports_market_type),
        ] {
            if !told.is_empty() {
                text.clone_from(told);
            }
        }
        let prices: Vec<f64> = told.prices.iter().copied().filter(|price| !price.is_nan()).collect();
        if !prices.is_empty() {
            self.prices = prices;
        }
    }
}

/// 0, which the wire leaves out, for what is unknown.
fn known(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
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
