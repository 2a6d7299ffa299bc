//! Prediction markets in the listing (service.md 2.4): prices and volumes of their trades, open interest and traders of the
//! positions of the analytics.

use std::collections::{HashMap, HashSet};

use crate::clock::{SECONDS_PER_DAY as DAY, UnixNanos, UnixSecond, Window};
use crate::market::instruments::availability::Availability;
use crate::market::instruments::filter::{InstrumentView, OrderedEntry, asked, wants};
use crate::market::query::error::MarketError;
use crate::market::raw::{
    Bar, BookFeed, PREDICTION_VENUE, Position, PositionTable, PredictionEvent, PredictionFeed, PredictionFigures,
    PredictionState, Source, TradeFeed,
};
use crate::protocol::{MarketListing, MarketsQuery, PredictionMarket, Tag, Timestamp};

/// Hourly prices listed in `prices`.
const HISTORY: i64 = 24;

/// The prediction markets that fit a query of `/v1/markets`, as of `now`. One that opens later is not
/// listed.
///
/// # Errors
/// [`MarketError::Internal`] when the data cannot be read.
pub(in crate::market) fn prediction_entries(
    source: &dyn Source,
    query: &MarketsQuery,
    now: UnixNanos,
) -> Result<Vec<OrderedEntry>, MarketError> {
    let feed = source.of::<dyn PredictionFeed>()?;
    let Some(table) = feed.positions(now) else { return Ok(Vec::new()) };
    let venue =
        source.instruments().iter().enumerate().filter(|(_, instrument)| instrument.exchange == PREDICTION_VENUE);
    let markets: HashMap<&str, usize> = venue.map(|(market, instrument)| (&*instrument.raw_symbol, market)).collect();
    let mut rows = Vec::new();
    for (place, event) in table.events().iter().enumerate() {
        let texts = [&event.condition_id, &event.market_name].map(|text| text.to_lowercase());
        if !wants(query, &InstrumentView { exchange: PREDICTION_VENUE, coin: "", category: "", texts: &texts }) {
            continue;
        }
        let market = markets.get(&*event.condition_id).copied();
        let available = market.and_then(|market| Availability::of(source, market, now));
        let serves = |data_type| available.as_ref().is_some_and(|available| available.serves(data_type));
        if !asked(query, serves) {
            continue;
        }
        if let Some(state) = feed.prediction(place, now.second()) {
            let view = PredictionView {
                source,
                feed,
                table: &table,
                place,
                state,
                now,
                market: market.filter(|_| available.is_some()),
            };
            rows.push(view.row()?);
        }
    }
    Ok(rows)
}

/// A prediction market as of a moment.
struct PredictionView<'a> {
    source: &'a dyn Source,
    feed: &'a dyn PredictionFeed,
    table: &'a PositionTable,
    /// Place among the positions' events.
    place: usize,
    state: PredictionState,
    now: UnixNanos,
    /// Place among the source's markets, where its trades are.
    market: Option<usize>,
}

impl PredictionView<'_> {
    fn row(&self) -> Result<OrderedEntry, MarketError> {
        let (event, state) = (&self.table.events()[self.place], &self.state);
        let at = self.now.second();
        let second = at.0;
        let outcomes = self.table.outcomes_of(self.place);
        let held = self.table.held(&outcomes);
        let price_at = |at: UnixSecond| {
            self.feed.prediction(self.place, at).map(|state| state.price).filter(|price| !price.is_nan())
        };
        let day_ago = price_at(UnixSecond(second - DAY)).unwrap_or(state.price);
        let today = self.traded(&held, UnixSecond(second - DAY), at)?;
        let yesterday = self.traded(&held, UnixSecond(second - 2 * DAY), UnixSecond(second - DAY))?;
        let change = percent(yesterday.bought + yesterday.sold, today.bought + today.sold);
        let interest = held_at(&held, at);
        let begun = || held.iter().filter(|row| row.entered() <= at);
        let tracked = || begun().map(|row| row.size()).sum();
        let since = Timestamp { s: state.opened.0, ns: 0 };
        let names = outcomes.iter().map(|&outcome| self.table.outcomes()[outcome].name.clone());
        let price = known(state.price);
        let mut inner = PredictionMarket {
            slug: slug(&event.market_name),
            question: event.market_name.clone(),
            group_item_title: group_item_title(self.table, event),
            outcomes: names.collect(),
            last_price: price,
            one_day_price_change: known(state.price - day_ago),
            prices: (0..HISTORY).rev().filter_map(|hour| price_at(UnixSecond(second - 3_600 * hour))).collect(),
            total_volume: self.feed.prediction_volume(self.place, at).unwrap_or_else(tracked),
            buy_volume_24h: today.bought,
            sell_volume_24h: today.sold,
            volume_change_24h: change,
            open_interest: interest,
            one_day_oi_change: interest - held_at(&held, UnixSecond(second - DAY)),
            unique_traders: begun().map(|row| row.wallet).collect::<HashSet<_>>().len() as f64,
            order_price_min_tick_size: known(state.tick),
            condition_id: event.condition_id.clone(),
            closed: state.closed,
            available_since: Some(since),
            available_to: (state.ends > UnixSecond(0)).then_some(Timestamp { s: state.ends.0, ns: 0 }),
            ..PredictionMarket::default()
        };
        let (mut worth, mut liquidity) = (today.worth, self.liquidity()?);
        if let Some(figures) = self.feed.prediction_figures(self.place, at) {
            overlay(&mut inner, figures);
            if figures.buy_volume >= 0.0 || figures.sell_volume >= 0.0 {
                worth = (inner.buy_volume_24h + inner.sell_volume_24h) * price;
            }
            if figures.liquidity > 0.0 {
                liquidity = figures.liquidity;
            }
        }
        let price_change = (day_ago > 0.0 && !state.price.is_nan()).then(|| percent(day_ago, state.price));
        let entry = MarketListing {
            exchange: PREDICTION_VENUE.to_owned(),
            raw_symbol: event.condition_id.clone(),
            full_name: event.market_name.clone(),
            last_price: price,
            volume_24h: inner.buy_volume_24h + inner.sell_volume_24h,
            volume_24h_usd: worth,
            volume_change_24h: inner.volume_change_24h,
            price_change_24h: price_change.unwrap_or(0.0),
            available_since: Some(since),
            icon_url: self.market.map_or_else(String::new, |market| self.source.icon_url(market)),
            title: event.market_name.clone(),
            liquidity,
            tags: [&event.category, &event.sub_category].into_iter().filter_map(|label| tag(label)).collect(),
            prediction_markets: vec![inner],
            ..MarketListing::default()
        };
        Ok(OrderedEntry { entry, market: self.market, volume: Some(worth), price_change })
    }

    /// Volume after `from` and not after `to`; with trades, of the minutes that start then.
    fn traded(&self, held: &[&Position], from: UnixSecond, to: UnixSecond) -> Result<TradedTokens, MarketError> {
        let Some(market) = self.market else { return Ok(TradedTokens::between(held, from, to)) };
        let mut traded = TradedTokens { bought: 0.0, sold: 0.0, worth: 0.0 };
        // The last minute is that of `now`, as in the 24 hours of other markets.
        let to = if to == self.now.second() { to.0 + 1 } else { to.0 };
        let mut add = |bar: &Bar| {
            traded.bought += bar.buy;
            traded.sold += bar.sell;
            traded.worth += bar.buy_quote + bar.sell_quote;
        };
        self.source.each::<dyn TradeFeed>(Window { from: from.0, to }, |trades, window| {
            trades.bars(market, window, self.now, &mut add)
        })?;
        Ok(traded)
    }

    /// Worth of the book now, USD.
    fn liquidity(&self) -> Result<f64, MarketError> {
        let Some(market) = self.market else { return Ok(0.0) };
        let minute = self.now.minute().second().0;
        let books = self.source.of::<dyn BookFeed>()?;
        let book = books.last_book(market, Window { from: minute, to: minute + 60 }, self.now)?.unwrap_or_default();
        Ok(book.bids.iter().chain(&book.asks).map(|(price, amount)| price * amount).sum())
    }
}

/// Figures that the source has count, the rest is as computed.
fn overlay(entry: &mut PredictionMarket, figures: &PredictionFigures) {
    for (figure, value) in [
        (&mut entry.one_day_price_change, figures.one_day_price_change),
        (&mut entry.total_volume, figures.total_volume),
        (&mut entry.buy_volume_24h, figures.buy_volume),
        (&mut entry.sell_volume_24h, figures.sell_volume),
        (&mut entry.volume_change_24h, figures.volume_change),
        (&mut entry.open_interest, figures.open_interest),
        (&mut entry.one_day_oi_change, figures.one_day_oi_change),
        (&mut entry.unique_traders, figures.unique_traders),
        (&mut entry.line, figures.line),
    ] {
        if !value.is_nan() {
            *figure = value;
        }
    }
    for (text, value) in [
        (&mut entry.slug, &figures.slug),
        (&mut entry.group_item_title, &figures.group_item_title),
        (&mut entry.sports_market_type, &figures.sports_market_type),
    ] {
        if !value.is_empty() {
            text.clone_from(value);
        }
    }
    let prices: Vec<f64> = figures.prices.iter().copied().filter(|price| !price.is_nan()).collect();
    if !prices.is_empty() {
        entry.prices = prices;
    }
}

/// The value, or 0 if unknown: the wire leaves out a 0.
fn known(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

/// A tag by its label; none without.
fn tag(label: &str) -> Option<Tag> {
    let (label, slug) = (label.trim(), slug(label));
    (!slug.is_empty()).then(|| Tag { id: slug.clone(), label: label.to_owned(), slug, ..Tag::default() })
}

/// Tokens held at a second.
fn held_at(rows: &[&Position], at: UnixSecond) -> f64 {
    let begun = rows.iter().filter(|row| row.entered() <= at);
    begun.map(|row| if row.last_trade <= at { row.unrealized_size } else { row.size() }).sum()
}

/// Tokens that positions bought and sold, and their worth. Transfers are no buys; redemptions and merges are no sales.
struct TradedTokens {
    bought: f64,
    sold: f64,
    worth: f64,
}

impl TradedTokens {
    /// After `from`, and not after `to`.
    fn between(rows: &[&Position], from: UnixSecond, to: UnixSecond) -> Self {
        let within = |at: UnixSecond| from < at && at <= to;
        let mut traded = Self { bought: 0.0, sold: 0.0, worth: 0.0 };
        for row in rows {
            if row.counts.buy > 0 && within(row.entered()) {
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

/// Words that distinguish a question from the others of its event: those that they do not share at the beginning or the
/// end. Empty for a single question.
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
