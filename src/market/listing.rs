//! The market listing (service.md 2.4 and 4.2, supplement 5).

use serde_json::{Map, Value};

use super::MarketError;
use super::derivatives::Gauge;
use super::feed::Feed;
use super::source::{Listing, Source};
use super::summaries::{Marketcaps, option_entries, prediction_entries};
use crate::clock::SECOND;
use crate::protocol::query::{MARKETS_PARAMETERS, refuse_unknown};
use crate::protocol::{DataType, Market, MarketsPage, MarketsQuery, Timestamp};

/// Rows of a page when `pageSize` is absent.
const DEFAULT_PAGE: u32 = 10;
/// `nextOffset` tells "no more" by being offset plus rows (section 4.2), so while there is more it must be something
/// else: a cursor that adds this to the row number. A plain row number is taken as well.
const CURSOR: u32 = 1 << 20;
const DAY: i64 = 86_400;

/// One page of the listing.
pub(super) fn page(source: &dyn Source, query: &MarketsQuery, now: i64) -> Result<MarketsPage, MarketError> {
    refuse_unknown(&query.extra, &MARKETS_PARAMETERS)?;
    let mut rows = prediction_entries(source, query, now)?;
    rows.extend(option_entries(source, query, now).into_iter().map(|entry| (0.0, entry)));
    let mut marketcaps = Marketcaps::new(source, now);
    for (market, listing) in source.listings().iter().enumerate() {
        if listing.available_since.saturating_mul(SECOND) <= now && fits(listing, query) {
            let (usd, mut entry) = entry(source, market, listing, now)?;
            entry.marketcap = marketcaps.of(&listing.coin)?;
            rows.push((usd, entry));
        }
    }
    rows.sort_by(|(left_usd, left), (right_usd, right)| {
        let names = |market: &Market| (market.exchange.clone(), market.raw_symbol.clone());
        // Tenors of one summary stay in their order: the sort is stable.
        right_usd.total_cmp(left_usd).then_with(|| names(left).cmp(&names(right)))
    });
    let offset = query.page_offset.unwrap_or(0);
    let start = offset % CURSOR;
    let size = query.page_size.unwrap_or(DEFAULT_PAGE) as usize;
    let total = rows.len();
    let symbols: Vec<Market> = rows.into_iter().skip(start as usize).take(size).map(|(_, market)| market).collect();
    let end = offset.saturating_add(symbols.len() as u32);
    let more = (start as usize).saturating_add(symbols.len()) < total;
    let next = if more { end.saturating_add(CURSOR) } else { end };
    Ok(MarketsPage { symbols, next_offset: i64::from(next) })
}

fn fits(listing: &Listing, query: &MarketsQuery) -> bool {
    let texts = [&listing.raw_symbol, &listing.normalized_symbol(), &listing.coin_name, &full_name(listing)]
        .map(|text| text.to_lowercase());
    let face = Face { exchange: &listing.exchange, coin: &listing.coin, category: &listing.category, texts: &texts };
    wants(query, &face, |data_type| listing.feeds.serve(data_type))
}

/// What the filters look at.
pub(super) struct Face<'a> {
    pub exchange: &'a str,
    pub coin: &'a str,
    pub category: &'a str,
    /// What `symbolFilter` searches, in lower case.
    pub texts: &'a [String],
}

/// Whether a query asks for an entry that serves these types.
pub(super) fn wants(query: &MarketsQuery, face: &Face<'_>, serves: impl Fn(DataType) -> bool) -> bool {
    let among = |values: &[String], value: &str| values.is_empty() || values.iter().any(|known| known == value);
    let wanted = query.symbol_filter.as_deref().unwrap_or_default().to_lowercase();
    among(&query.exchanges, face.exchange)
        && among(&query.coins, face.coin)
        && among(&query.categories, face.category)
        && (query.types.is_empty() || query.types.iter().any(|name| DataType::find(name).is_some_and(&serves)))
        && face.texts.iter().any(|text| text.contains(&wanted))
}

fn full_name(listing: &Listing) -> String {
    format!("{} {} {}", listing.exchange, listing.normalized_symbol(), listing.category)
}

/// A market's entry as of now, and its USD turnover of 24 hours where the quote is USD-like.
fn entry(source: &dyn Source, market: usize, listing: &Listing, now: i64) -> Result<(f64, Market), MarketError> {
    let second = now.div_euclid(SECOND);
    let (mut first, mut last, mut amount, mut turnover) = (None, None, 0.0, 0.0);
    if listing.feeds.has(Feed::Trades) {
        source.bars(market, second - DAY, second + 1, now, &mut |bar| {
            first.get_or_insert(bar.open);
            last = Some(bar.close);
            amount += bar.volume();
            turnover += bar.buy_quote + bar.sell_quote;
        })?;
        if last.is_none() {
            last = source.bar_before(market, second + 1, now)?.map(|bar| bar.close);
        }
    }
    let interest = |at: i64| -> Result<Option<f64>, MarketError> {
        let bar = source.gauge_before(market, Gauge::OpenInterest, at + 1, now)?;
        Ok(bar.map(|bar| bar.close).filter(|interest| *interest > 0.0))
    };
    let oi_change = if listing.feeds.has(Feed::OpenInterest) {
        interest(second - DAY)?.zip(interest(second)?).map_or(0.0, |(then, now)| (now / then - 1.0) * 100.0)
    } else {
        0.0
    };
    let change = first.zip(last).map_or(0.0, |(open, close)| (close / open - 1.0) * 100.0);
    let usd = if listing.is_usd_like() { turnover } else { 0.0 };
    let mut extra = Map::new();
    if usd > 0.0 {
        extra.insert("volume24hUsd".to_owned(), Value::from(usd));
    }
    let entry = Market {
        exchange: listing.exchange.clone(),
        raw_symbol: listing.raw_symbol.clone(),
        normalized_symbol: listing.normalized_symbol(),
        coin: listing.coin.clone(),
        category: listing.category.clone(),
        coin_name: listing.coin_name.clone(),
        quote_coin_name: listing.quote.clone(),
        full_name: full_name(listing),
        last_price: last.unwrap_or(0.0),
        volume_24h: amount,
        price_change_24h: change,
        oi_change_24h: oi_change,
        available_since: Some(Timestamp { s: listing.available_since, ns: 0 }),
        extra,
        ..Market::default()
    };
    Ok((usd, entry))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::Demo;

    const NOW: i64 = 1_776_880_830 * SECOND;

    fn list(query: &str) -> MarketsPage {
        page(&Demo::new(0), &MarketsQuery::parse(query).unwrap(), NOW).unwrap()
    }

    fn names(query: &str) -> Vec<String> {
        list(query).symbols.into_iter().map(|market| format!("{} {}", market.exchange, market.raw_symbol)).collect()
    }

    #[test]
    fn pages_follow_each_other_by_cursor_and_by_row_number() {
        let all = names("pageSize=1000");
        assert!(all.len() >= 40);
        let (mut offset, mut paged) = (0, Vec::new());
        loop {
            let page = list(&format!("pageSize=7&pageOffset={offset}"));
            let rows = page.symbols.len() as i64;
            paged.extend(page.symbols.into_iter().map(|market| format!("{} {}", market.exchange, market.raw_symbol)));
            if page.next_offset == offset + rows {
                break; // section 4.2: that is how the last page is told
            }
            assert!(page.next_offset > offset);
            offset = page.next_offset;
        }
        assert_eq!(paged, all);
        assert_eq!(names("pageSize=7&pageOffset=14"), all[14..21]);
        assert_eq!(list("").symbols.len(), 10);
        assert!(list("pageOffset=5000").symbols.is_empty());
    }

    #[test]
    fn filters_are_or_within_and_and_between() {
        assert_eq!(names("exchange=BYBIT&coin=BTC"), ["BYBIT BTCUSDT"]);
        assert_eq!(names("exchange=BYBIT&exchange=COINBASE&coin=BTC").len(), 2);
        assert_eq!(names("symbolFilter=dogeCOIN&category=SPOT&pageSize=100").len(), 4);
        assert!(names("type=TOKEN_SUPPLY_AGG").is_empty());
        assert!(names("type=TRADE_AGG&coin=ETH&pageSize=100").len() >= 4);
        assert!(list("exchange=NOWHERE").symbols.is_empty());
    }

    #[test]
    fn types_are_served_by_the_markets_that_have_their_data() {
        let traded = "pageSize=100&category=SPOT&category=PERPETUAL";
        let all = names(traded);
        let perpetual = names("pageSize=100&category=PERPETUAL");
        assert!(!perpetual.is_empty() && perpetual.len() < all.len());
        for name in ["LIQUIDATION_AGG", "FUNDING_RATE_AGG", "OPEN_INTEREST_AGG"] {
            assert_eq!(names(&format!("pageSize=100&type={name}")), perpetual, "{name}");
            assert_eq!(names(&format!("pageSize=100&type={name}&type=TRADE_AGG")), all, "{name}");
        }
        assert_eq!(names("pageSize=100&type=BLOCK_BOOK_SNAPSHOT_AGG"), all);
        for market in list(traded).symbols {
            assert_eq!(market.oi_change_24h != 0.0, market.category == "PERPETUAL", "{}", market.full_name);
        }
    }

    #[test]
    fn the_most_traded_come_first() {
        let volumes: Vec<f64> =
            list("pageSize=64").symbols.iter().map(|row| row.extra["volume24hUsd"].as_f64().unwrap()).collect();
        assert!(volumes.is_sorted_by(|left, right| left >= right));
    }
}
