//! The listing of the demo market, against computations of its own from the demo's bars.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use super::page::page;
use crate::clock::{SECOND, UnixNanos, UnixSecond, Window};
use crate::market::raw::{Bar, LiquidationFeed, PREDICTION_VENUE, RawData, Source, TickerFeed, TickerField, TradeFeed};
use crate::market::sources::demo::Demo;
use crate::protocol::{DataType, MarketListing, MarketsPage, MarketsQuery};

const NOW: i64 = 1_776_880_830 * SECOND;
const DAY: i64 = 86_400;

static DEMO: LazyLock<Demo> = LazyLock::new(|| Demo::new(0));

fn list(query: &str) -> MarketsPage {
    page(&*DEMO, &MarketsQuery::parse(query).unwrap(), UnixNanos(NOW)).unwrap()
}

fn name(market: &MarketListing) -> String {
    format!("{} {}{}", market.exchange, market.raw_symbol, market.tenor)
}

fn names(query: &str) -> Vec<String> {
    list(query).symbols.iter().map(name).collect()
}

#[test]
fn pages_follow_each_other_by_cursor_and_by_row_number() {
    let all = names("pageSize=1000");
    assert!(all.len() >= 40);
    let (mut offset, mut paged) = (0, Vec::new());
    loop {
        let page = list(&format!("pageSize=37&pageOffset={offset}"));
        let rows = page.symbols.len() as i64;
        paged.extend(page.symbols.iter().map(name));
        if page.next_offset == offset + rows {
            break; // section 4.2: that is how the last page is told
        }
        assert!(page.next_offset > offset);
        offset = page.next_offset;
    }
    assert_eq!(paged, all);
    assert_eq!(list("pageSize=7&pageOffset=14").symbols.iter().map(name).collect::<Vec<_>>(), all[14..21]);
    assert_eq!(list("").symbols.len(), 10);
    assert!(list("pageOffset=5000").symbols.is_empty());
}

#[test]
fn the_demo_is_as_large_as_it_says() {
    let all = list("pageSize=1000").symbols;
    let count = |field: fn(&MarketListing) -> &String| {
        let mut names: Vec<&String> = all.iter().map(field).filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    };
    assert!(count(|row| &row.exchange) >= 8 && count(|row| &row.coin) == 10 && count(|row| &row.category) == 3);
    let traded = all.iter().filter(|row| matches!(&*row.category, "SPOT" | "PERPETUAL")).count();
    assert!(traded >= 40, "{traded}");
    let options: Vec<&MarketListing> = all.iter().filter(|row| row.exchange == "DERIBIT").collect();
    assert!(["BTC_25", "BTC_ATM"].iter().all(|symbol| options.iter().any(|row| row.raw_symbol == *symbol)));
    assert_eq!(all.iter().filter(|row| row.exchange == PREDICTION_VENUE).count(), 38);
}

#[test]
fn filters_are_or_within_and_and_between() {
    assert_eq!(names("exchange=BYBIT&coin=BTC"), ["BYBIT BTCUSDT"]);
    assert_eq!(names("exchange=BYBIT&exchange=COINBASE&coin=BTC").len(), 2);
    assert_eq!(names("symbolFilter=dogeCOIN&category=SPOT&pageSize=100").len(), 4);
    assert!(names("type=TOKEN_SUPPLY_AGG").is_empty());
    assert!(names("type=TRADE_AGG&coin=ETH&pageSize=100").len() >= 4);
    assert!(list("exchange=NOWHERE").symbols.is_empty());
    // Symbols, coin names and the titles of prediction markets, in any case.
    for (text, found) in [("xrp-usdt-swap", "OKEX_SWAP XRP-USDT-SWAP"), ("link-usd", "COINBASE LINK-USD")] {
        assert!(names(&format!("pageSize=100&symbolFilter={text}")).contains(&found.to_owned()), "{text}");
    }
    let cut = list("symbolFilter=RATES be cut in mar").symbols;
    let mut titles: Vec<&str> = cut.iter().map(|row| &*row.title).collect();
    titles.sort_unstable();
    assert_eq!(titles, ["Will rates be cut in March?", "Will rates be cut in March? (2026)"]);
}

#[test]
fn types_are_served_by_the_markets_that_have_their_data() {
    let traded = "pageSize=100&category=SPOT&category=PERPETUAL";
    let all = names(traded);
    let perpetual = names("pageSize=100&category=PERPETUAL");
    assert!(!perpetual.is_empty() && perpetual.len() < all.len());
    let funding = names("pageSize=100&type=FUNDING_RATE_AGG");
    assert_eq!(funding, perpetual);
    for kind in ["LIQUIDATION_AGG", "OPEN_INTEREST_AGG"] {
        assert_eq!(names(&format!("{traded}&type={kind}")), perpetual, "{kind}");
        assert_eq!(names(&format!("{traded}&type={kind}&type=TRADE_AGG")), all, "{kind}");
    }
    assert_eq!(names("pageSize=200&type=BLOCK_BOOK_SNAPSHOT_AGG").len(), all.len() + 38);
    for market in list(traded).symbols {
        assert_eq!(market.oi_change_24h != 0.0, market.category == "PERPETUAL", "{}", market.full_name);
    }
}

#[test]
fn a_market_is_listed_from_its_first_event_on_and_by_a_type_from_the_types_first() {
    let demo = &*DEMO;
    let listed =
        |query: &str, now: i64| page(demo, &MarketsQuery::parse(query).unwrap(), UnixNanos(now)).unwrap().symbols;
    let bybit = "exchange=BYBIT&coin=BTC";
    let market = demo.instruments().iter().position(|row| row.exchange == "BYBIT" && row.coin == "BTC").unwrap();
    let first = |kind: DataType| demo.first_event(market, kind).unwrap().unwrap();
    let (traded, forced) = (first(DataType::TradeAgg), first(DataType::LiquidationAgg));
    // First events by the bars, looked up from the beginning of 2015.
    let (begin, mut bars) = (1_420_070_400, Vec::new());
    demo.markets
        .bars(market, Window { from: 0, to: begin + 60 }, UnixNanos(i64::MAX), &mut |bar| bars.push(*bar))
        .unwrap();
    assert_eq!(bars[0].first, traded);
    let mut liquidated = None;
    demo.markets
        .liquidation_bars(market, Window { from: 0, to: begin + 60 * DAY }, UnixNanos(i64::MAX), &mut |bar| {
            liquidated.get_or_insert(bar.first);
        })
        .unwrap();
    assert_eq!(liquidated, Some(forced));
    // Funding is told from the first second on, trades later, liquidations later still.
    let at = |now: i64, kind: &str| listed(&format!("{bybit}&type={kind}"), now).len();
    assert!(begin * SECOND < traded.0 && traded < forced);
    assert!(listed(bybit, begin * SECOND - 1).is_empty());
    assert_eq!(
        (at(traded.0 - 1, "FUNDING_RATE_AGG"), at(traded.0 - 1, "TRADE_AGG"), at(traded.0, "TRADE_AGG")),
        (1, 0, 1)
    );
    assert_eq!((at(forced.0 - 1, "LIQUIDATION_AGG"), at(forced.0, "LIQUIDATION_AGG")), (0, 1));
    assert_eq!(listed(bybit, forced.0)[0].available_since, Some(crate::protocol::Timestamp { s: begin, ns: 0 }));
    // A spot market has nothing but its trades and its book.
    let coinbase = demo.instruments().iter().position(|row| row.exchange == "COINBASE" && row.coin == "BTC").unwrap();
    let opened = demo.first_event(coinbase, DataType::TradeAgg).unwrap().unwrap();
    assert!(listed("exchange=COINBASE&coin=BTC", opened.0 - 1).is_empty());
    let entry = &listed("exchange=COINBASE&coin=BTC", opened.0)[0];
    let since = entry.available_since.unwrap();
    assert_eq!(UnixNanos(since.s * SECOND + since.ns), opened);
}

/// The figures of each coin market that rows are ordered by, from the demo's bars and fields.
fn figures(demo: &Demo) -> HashMap<String, BTreeMap<&'static str, f64>> {
    let now = NOW / SECOND;
    let mut all = HashMap::new();
    for (market, instrument) in
        demo.instruments().iter().enumerate().filter(|(_, row)| row.coin == "BTC" || row.coin == "LTC")
    {
        let bars = |from: i64, to: i64| {
            let mut bars: Vec<Bar> = Vec::new();
            demo.markets.bars(market, Window { from, to }, UnixNanos(NOW), &mut |bar| bars.push(*bar)).unwrap();
            bars
        };
        let day = bars(now - DAY, now + 1);
        let last = day.last().unwrap().close;
        let mut figures = BTreeMap::new();
        figures.insert("VOLUME_24H", day.iter().map(|bar| bar.buy_quote + bar.sell_quote).sum());
        figures.insert("PRICE_CHANGE_24H", (last / day[0].open - 1.0) * 100.0);
        // True ranges of the 14 whole hours before 18:00.
        let hours: Vec<Vec<Bar>> =
            (3..18).map(|hour| bars(now / DAY * DAY + hour * 3_600, now / DAY * DAY + (hour + 1) * 3_600)).collect();
        let ranges = hours.windows(2).map(|two| {
            let before = two[0].last().unwrap().close;
            let high = two[1].iter().map(|bar| bar.high).fold(f64::MIN, f64::max);
            let low = two[1].iter().map(|bar| bar.low).fold(f64::MAX, f64::min);
            (high - low).max((high - before).abs()).max((low - before).abs())
        });
        figures.insert("MARKET_SYMBOL_ATR_PERCENT", ranges.sum::<f64>() / 14.0 / last * 100.0);
        if instrument.raw_data.has(RawData::OpenInterest) {
            let interest = |at: i64| {
                demo.markets
                    .ticker_before(market, TickerField::OpenInterest, UnixSecond(at + 1), UnixNanos(NOW))
                    .unwrap()
                    .unwrap()
                    .close
            };
            figures.insert("MARKET_SYMBOL_OI_CHANGE_24H", (interest(now) / interest(now - DAY) - 1.0) * 100.0);
        }
        all.insert(format!("{} {}", instrument.exchange, instrument.raw_symbol), figures);
    }
    all
}

#[test]
fn rows_go_by_every_field_in_either_direction() {
    let demo = &*DEMO;
    let figures = figures(demo);
    let listed = |query: &str| -> Vec<String> {
        let query = MarketsQuery::parse(&format!("pageSize=100&coin=BTC&coin=LTC&{query}")).unwrap();
        let rows = page(demo, &query, UnixNanos(NOW)).unwrap().symbols;
        rows.iter().filter(|row| row.category != "OPTION").map(name).collect()
    };
    for field in ["VOLUME_24H", "PRICE_CHANGE_24H", "MARKET_SYMBOL_ATR_PERCENT", "MARKET_SYMBOL_OI_CHANGE_24H"] {
        let mut expected: Vec<&String> = figures.keys().collect();
        let value = |name: &String| figures[name].get(field).copied();
        expected.sort_by(|one, other| match (value(one), value(other)) {
            (Some(one), Some(other)) => other.partial_cmp(&one).unwrap(),
            (None, None) => one.cmp(other),
            (one, _) => {
                if one.is_some() {
                    std::cmp::Ordering::Less
                } else {
                    std::cmp::Ordering::Greater
                }
            }
        });
        let known = expected.iter().filter(|name| value(name).is_some()).count();
        assert_eq!(listed(&format!("sortCriteria.field={field}")).iter().collect::<Vec<_>>(), expected, "{field}");
        assert_eq!(
            listed(&format!("sortCriteria.field={field}&sortCriteria.direction=2")).iter().collect::<Vec<_>>(),
            expected
        );
        expected[..known].reverse(); // what is unknown stays last
        let ascending = listed(&format!("sortCriteria.field={field}&sortCriteria.direction=SORT_DIRECTION_ASC"));
        assert_eq!(ascending.iter().collect::<Vec<_>>(), expected, "{field}");
        assert_eq!(listed(&format!("sort_criteria.field={field}&sortCriteria.direction=1")), ascending);
    }
    assert_eq!(listed(""), listed("sortCriteria.field=VOLUME_24H"));
    // Bitcoin is worth more than Litecoin, and the summaries' capitalization is not told.
    let query =
        MarketsQuery::parse("pageSize=100&coin=BTC&coin=LTC&sortCriteria.field=MARKET_SYMBOL_MARKETCAP").unwrap();
    let coins: Vec<String> = page(demo, &query, UnixNanos(NOW))
        .unwrap()
        .symbols
        .iter()
        .map(|row| format!("{}{}", row.coin, row.category == "OPTION"))
        .collect();
    let expected = [["BTCfalse"; 8].as_slice(), &["LTCfalse"; 8], &["BTCtrue"; 8]].concat();
    assert_eq!(coins, expected);
    // The venue of 2025 is younger than the markets of 2015.
    let since = |direction: u8| {
        list(&format!("sortCriteria.field=AVAILABLE_SINCE&sortCriteria.direction={direction}&pageSize=1000")).symbols
    };
    let times: Vec<f64> = since(1)
        .iter()
        .map(|row| row.available_since.map(|time| time.s as f64 + time.ns as f64 / 1e9).unwrap())
        .collect();
    assert!(times.is_sorted() && since(2)[0].exchange == PREDICTION_VENUE);
}

#[test]
fn the_distance_to_the_peak_is_to_the_highest_trade_of_a_year() {
    let demo = &*DEMO;
    let now = NOW / SECOND;
    let btc = |exchange: &str| {
        demo.instruments().iter().position(|row| row.exchange == exchange && row.coin == "BTC").unwrap()
    };
    // Over a month, the search for the peak finds what looking at every minute finds.
    for (market, days) in [(btc("BYBIT"), 30), (btc("BITSTAMP"), 7)] {
        let mut highest = f64::MIN;
        demo.markets
            .bars(market, Window { from: now - days * DAY, to: now + 1 }, UnixNanos(NOW), &mut |bar| {
                highest = highest.max(bar.high);
            })
            .unwrap();
        assert_eq!(
            demo.markets.highest(market, Window { from: now - days * DAY, to: now + 1 }, UnixNanos(NOW)).unwrap(),
            Some(highest)
        );
        assert_eq!(demo.markets.highest(market, Window { from: now, to: now }, UnixNanos(NOW)).unwrap(), None);
    }
    let row = &list("exchange=BYBIT&coin=BTC").symbols[0];
    let highest = demo
        .markets
        .highest(btc("BYBIT"), Window { from: now - 365 * DAY, to: now + 1 }, UnixNanos(NOW))
        .unwrap()
        .unwrap();
    assert_eq!(row.pct_from_ath, (row.last_price / highest - 1.0) * 100.0);
    assert!((-90.0..=0.0).contains(&row.pct_from_ath) && highest > row.last_price);
    let rows =
        list("coin=BTC&category=SPOT&category=PERPETUAL&sortCriteria.field=PCT_FROM_ATH&sortCriteria.direction=1")
            .symbols;
    assert!(rows.len() == 8 && rows.is_sorted_by(|one, other| one.pct_from_ath <= other.pct_from_ath));
}

#[test]
fn nothing_that_rows_go_by_comes_from_after_now() {
    // One moment in a running market and in one with a stopped clock: the source is asked as of `now`.
    let demo = &*DEMO;
    let query = MarketsQuery::parse("coin=LTC&pageSize=100&sortCriteria.field=PCT_FROM_ATH").unwrap();
    let (then, later) =
        (page(demo, &query, UnixNanos(NOW - 400 * DAY * SECOND)).unwrap(), page(demo, &query, UnixNanos(NOW)).unwrap());
    assert_ne!(then.symbols, later.symbols);
    assert_eq!(then, page(&Demo::new(0), &query, UnixNanos(NOW - 400 * DAY * SECOND)).unwrap());
    assert!(then.symbols.iter().all(|row| row.pct_from_ath <= 0.0));
}

#[test]
fn distinct_keeps_the_exchange_that_trades_most() {
    let all = list("pageSize=1000").symbols;
    let mut traded: HashMap<&str, f64> = HashMap::new();
    for row in &all {
        *traded.entry(&row.exchange).or_default() += row.volume_24h_usd;
    }
    let mut best: HashMap<&str, &MarketListing> = HashMap::new();
    for row in all.iter().filter(|row| !row.normalized_symbol.is_empty()) {
        let known = best.entry(&row.normalized_symbol).or_insert(row);
        if traded[&*row.exchange] > traded[&*known.exchange] {
            *known = row;
        }
    }
    let distinct = list("pageSize=1000&distinct=true").symbols;
    let kept: Vec<&MarketListing> = distinct.iter().filter(|row| row.exchange != PREDICTION_VENUE).collect();
    assert_eq!(kept.len(), best.len());
    assert!(kept.iter().all(|row| name(best[&*row.normalized_symbol]) == name(row)));
    assert_eq!(distinct.len() - kept.len(), 38, "what has no normalized symbol stays");
    // In the order of the rows that stay, also on pages, and by the whole exchange where a filter leaves little of it.
    let order: Vec<String> = all.iter().map(name).filter(|one| distinct.iter().any(|row| name(row) == *one)).collect();
    assert_eq!(distinct.iter().map(name).collect::<Vec<_>>(), order);
    assert_eq!(names("distinct=true&pageSize=3&pageOffset=2"), order[2..5]);
    assert_eq!(names("distinct=true&coin=BTC&category=SPOT&exchange=OKEX&exchange=BINANCE"), ["BINANCE BTCUSDT"]);
}

#[test]
fn the_most_traded_come_first_and_changes_are_listed() {
    let rows = list("pageSize=80").symbols;
    assert!(rows.is_sorted_by(|left, right| left.volume_24h_usd >= right.volume_24h_usd));
    let demo = &*DEMO;
    let row = &rows[0];
    let market = demo
        .instruments()
        .iter()
        .position(|one| one.exchange == row.exchange && one.raw_symbol == row.raw_symbol)
        .unwrap();
    let volume = |from: i64, to: i64| {
        let mut sum = 0.0;
        demo.markets.bars(market, Window { from, to }, UnixNanos(NOW), &mut |bar| sum += bar.volume()).unwrap();
        sum
    };
    let now = NOW / SECOND;
    let change = (volume(now - DAY, now + 1) / volume(now - 2 * DAY, now - DAY) - 1.0) * 100.0;
    assert!((row.volume_change_24h - change).abs() < 1e-9);
}
