//! Listings whose order moves between two pages.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use marketpoints::client::{Client, Config, Registry};
use marketpoints::clock::{ManualClock, SECOND, UnixNanos, UnixSecond, Window};
use marketpoints::market::{Bar, Feeds, Instrument, Market, RawData, Source, SourceError, Trade, TradeFeed};
use marketpoints::protocol::MarketsQuery;
use marketpoints::service::{Service, ServiceConfig};

use crate::support::scripted::{Scripted, Step, answer};

/// 2026-04-22 18:00:00 UTC.
const NOW: i64 = 1_776_880_800;
/// Markets of the listings: a page and a half.
const MARKETS: usize = 150;

fn names(markets: &[marketpoints::protocol::MarketListing]) -> Vec<String> {
    markets.iter().map(|market| market.raw_symbol.clone()).collect()
}

async fn listed(server: &Scripted, limit: Option<usize>) -> Vec<String> {
    let client = Client::new(&Config::new("key", &server.url), &Registry::default()).unwrap();
    names(&client.markets(&MarketsQuery::default(), limit).await.unwrap())
}

/// A page of the listing with these rows.
fn page(rows: &[String], from: usize, size: usize) -> Step {
    let rows = &rows[from..rows.len().min(from + size)];
    let symbols: Vec<_> = rows.iter().map(|name| format!(r#"{{"exchange":"X","rawSymbol":"{name}"}}"#)).collect();
    let body = format!(r#"{{"symbols":[{}],"nextOffset":{}}}"#, symbols.join(","), from + rows.len());
    Step::Send(answer("200 OK", "Content-Type: application/json\r\n", &body))
}

/// The order before and after the market at `from` moved to `to`.
fn orders(from: usize, to: usize) -> (Vec<String>, Vec<String>) {
    let before: Vec<_> = (0..MARKETS).map(|row| format!("S{row}")).collect();
    let mut after = before.clone();
    let moved = after.remove(from);
    after.insert(to, moved);
    (before, after)
}

#[tokio::test]
async fn a_row_that_moves_up_between_two_pages_is_not_missed() {
    for (from, to) in [(120, 0), (149, 99), (100, 99), (3, 140)] {
        let (before, after) = orders(from, to);
        // The second page of the first walk has the new order.
        let steps = [page(&before, 0, 100), page(&after, 100, 100), page(&after, 0, 100), page(&after, 100, 100)];
        let server = Scripted::start(steps.to_vec());
        let markets = listed(&server, None).await;
        assert_eq!(markets.iter().collect::<BTreeSet<_>>(), before.iter().collect(), "{from} to {to}");
        assert_eq!(markets.len(), MARKETS, "each once");
        if from > to {
            assert_eq!((markets, server.requests().len()), (after, 4));
        }
    }
}

#[tokio::test]
async fn what_stands_still_is_asked_once() {
    let (rows, _) = orders(0, 0);
    let server = Scripted::start(vec![page(&rows, 0, 100), page(&rows, 100, 100)]);
    assert_eq!((listed(&server, None).await, server.requests().len()), (rows.clone(), 2));
    let server = Scripted::start(vec![page(&rows, 0, 100), page(&rows, 100, 20)]);
    assert_eq!((listed(&server, Some(120)).await, server.requests().len()), (rows[..120].to_vec(), 2));
}

#[tokio::test]
async fn a_limit_is_kept_where_the_order_moves() {
    let (before, after) = orders(115, 5);
    // A row of the second page was there already, so that one more is asked for before the pages are walked again.
    let steps = [page(&before, 0, 100), page(&after, 100, 20), page(&after, 120, 1), page(&after, 0, 100)];
    let steps = [&steps[..], &[page(&after, 100, 20)]].concat();
    let server = Scripted::start(steps);
    assert_eq!(listed(&server, Some(120)).await, after[..120]);
}

#[tokio::test]
async fn an_order_that_never_rests_comes_to_an_end() {
    let (before, after) = orders(120, 0);
    let walk = [page(&before, 0, 100), page(&after, 100, 100)];
    let server = Scripted::start(walk.iter().cycle().take(100).cloned().collect());
    let markets = listed(&server, None).await;
    assert_eq!((markets.len(), markets.iter().collect::<BTreeSet<_>>().len()), (MARKETS - 1, MARKETS - 1));
    assert_eq!(server.requests().len(), 10);
}

#[tokio::test]
async fn rows_of_the_prediction_venue_are_told_apart_by_their_conditions() {
    let row = |condition: &str| {
        format!(r#"{{"exchange":"PREDICTION_VENUE","predictionMarkets":[{{"conditionId":"{condition}"}}]}}"#)
    };
    let body = format!(r#"{{"symbols":[{},{},{}],"nextOffset":3}}"#, row("0x1"), row("0x2"), row("0x1"));
    let server = Scripted::start(vec![Step::Send(answer("200 OK", "", &body))]);
    assert_eq!(listed(&server, None).await.len(), 2);
}

/// Markets whose order by volume is another each hour.
struct Shuffled {
    instruments: Vec<Instrument>,
    feeds: Feeds,
}

struct ShuffledTrades;

impl Source for Shuffled {
    fn instruments(&self) -> &[Instrument] {
        &self.instruments
    }

    fn feeds(&self) -> &Feeds {
        &self.feeds
    }

    fn icon_url(&self, _: usize) -> String {
        String::new()
    }
}

impl TradeFeed for ShuffledTrades {
    /// One trade of the minute of `now`; the amounts of an hour are 1 to 150 in another order than those of the next.
    fn bars(
        &self,
        market: usize,
        Window { from, to }: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        let start = now.minute().second();
        let place = (market as i64 * 7 + start.0 / 3_600 * 61) % MARKETS as i64;
        if (from..to).contains(&start.0) {
            visit(&Bar::of(start, &Trade { time: start.nanos(), price: 100.0, amount: (1 + place) as f64, buy: true }));
        }
        Ok(())
    }

    fn bar_before(&self, _market: usize, _before: UnixSecond, _now: UnixNanos) -> Result<Option<Bar>, SourceError> {
        Ok(None)
    }

    fn trades(&self, _: usize, _: Window, _: UnixNanos, _: &mut dyn FnMut(&Trade)) -> Result<(), SourceError> {
        Ok(())
    }

    fn tick(&self, _market: usize) -> Result<f64, SourceError> {
        Ok(0.1)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_local_services_clock_moves_on_between_two_pages() {
    let instrument = |row: usize| Instrument {
        exchange: "BYBIT".into(),
        raw_symbol: format!("S{row}"),
        coin: format!("C{row}"),
        quote: "USDT".into(),
        category: "SPOT".into(),
        coin_name: String::new(),
        available_since: UnixSecond(0),
        raw_data: [RawData::Trades].into_iter().collect(),
    };
    let market = {
        let feeds = coins_only!(marketpoints, Feeds::default().with::<dyn TradeFeed>(Arc::new(ShuffledTrades)));
        Market::new(Box::new(Shuffled { instruments: (0..MARKETS).map(instrument).collect(), feeds }))
    };
    let page = |offset: u32, hour: i64| {
        let query = MarketsQuery { page_size: Some(100), page_offset: Some(offset), ..MarketsQuery::default() };
        names(&market.markets(&query, UnixNanos((NOW + 3_600 * hour) * SECOND)).unwrap().symbols)
    };
    let (all, naive): (BTreeSet<_>, BTreeSet<_>) = (
        [page(0, 0), page(100, 0)].concat().into_iter().collect(),
        [page(0, 0), page(100, 1)].concat().into_iter().collect(),
    );
    assert_eq!(all.len(), MARKETS);
    assert!(naive.len() < MARKETS, "an hour between the pages hides some rows");
    // An hour passes after each of the first three requests.
    let clock = Arc::new(ManualClock::at(UnixSecond(NOW).nanos()));
    let mut config = ServiceConfig::new(Arc::new(market), Arc::<ManualClock>::clone(&clock));
    let asked = AtomicU32::new(0);
    config.access_log = Some(Arc::new(move |_| {
        if asked.fetch_add(1, Ordering::Relaxed) < 3 {
            clock.advance(3_600 * SECOND);
        }
    }));
    let service = Service::start(config).unwrap();
    let client =
        Client::new(&Config::new(service.keys()["free"].clone(), service.url()), &Registry::default()).unwrap();
    let markets = names(&client.markets(&MarketsQuery::default(), None).await.unwrap());
    assert_eq!((markets.len(), markets.into_iter().collect::<BTreeSet<_>>()), (MARKETS, all));
}
