//! The two wings meet: what the client plans is what the service charges, and what the source tells is what the client
//! hands out.

use std::sync::Arc;

use marketpoints::client::{Client, Config, ErrorKind, PointsArguments, PointsRequest, Registry};
use marketpoints::clock::{ManualClock, SECOND, UnixNanos, UnixSecond, Window};
use marketpoints::columns::{Column, List, Series, heatmap_from_sides};
use marketpoints::market::{
    Bar, Book, BookFeed, Feeds, Instrument, LiquidationFeed, Market, RawData, Source, SourceError, Trade, TradeFeed,
};
use marketpoints::protocol::{GroupBy, MarketsQuery, PointsQuery, SeriesId, Shape, Tier};
use marketpoints::service::{RunningService, Service, ServiceConfig};

/// 2026-04-22 18:00:00 UTC.
const NOW: i64 = 1_776_880_800;
/// Markets of BYBIT that fill the pages of the listing.
const MORE: usize = 250;

/// A bar and a book in each minute, of numbers that need every digit.
struct Waves {
    instruments: Vec<Instrument>,
    feeds: Feeds,
}

/// Of so many markets.
struct WaveFeed(usize);

impl Waves {
    fn new() -> Self {
        let instrument = |exchange: &str, raw_symbol: String, coin: &str| Instrument {
            exchange: exchange.into(),
            raw_symbol,
            coin: coin.into(),
            quote: "USDT".into(),
            category: "PERPETUAL".into(),
            coin_name: String::new(),
            available_since: UnixSecond(0),
            raw_data: [RawData::Trades, RawData::Books, RawData::Liquidations].into_iter().collect(),
        };
        let mut instruments: Vec<_> =
            ["BYBIT", "OKEX_SWAP", "BITGET"].map(|exchange| instrument(exchange, "BTCUSDT".into(), "BTC")).into();
        instruments.extend((0..MORE).map(|row| instrument("BYBIT", format!("S{row}"), &format!("C{row}"))));
        let waves = Arc::new(WaveFeed(instruments.len()));
        let feeds = Feeds::default()
            .with::<dyn TradeFeed>(Arc::<WaveFeed>::clone(&waves))
            .with::<dyn BookFeed>(Arc::<WaveFeed>::clone(&waves))
            .with::<dyn LiquidationFeed>(waves);
        Self { instruments, feeds: coins_only!(marketpoints, feeds) }
    }
}

fn wave(second: i64) -> f64 {
    ((second as f64 * 1e-3).sin() + 1.5) * 1e7
}

fn bar(start: i64) -> Bar {
    let volume = |side: &str| wave(start) + f64::from(side.len() as u8);
    let [open, high, low, close] = ["open", "high", "low", "close"].map(|name| wave(start + name.len() as i64));
    let (buy, sell) = (volume("BUY"), volume("SELL"));
    let (first, last) = (UnixNanos(start * SECOND + 1), UnixNanos((start + 59) * SECOND));
    let start = UnixSecond(start);
    Bar { start, open, high, low, close, buy, sell, buy_quote: buy * close, sell_quote: sell * close, first, last }
}

impl Source for Waves {
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

impl TradeFeed for WaveFeed {
    /// The markets of the listing traded in one minute only: the more, the earlier they stand.
    fn bars(
        &self,
        market: usize,
        Window { from, to }: Window,
        _: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        if market >= self.0 - MORE {
            let (start, row) = (NOW - 60, (market + MORE - self.0) as f64);
            let trade =
                Trade { time: UnixNanos(start * SECOND), price: 1e5 + row, amount: 1e6 / (1.0 + row), buy: true };
            (from..to).contains(&start).then(|| visit(&Bar::of(UnixSecond(start), &trade)));
        } else {
            (from..to.min(NOW)).filter(|second| second % 60 == 0).for_each(|start| visit(&bar(start)));
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
        Ok(0.5)
    }
}

impl BookFeed for WaveFeed {
    fn last_book(
        &self,
        _market: usize,
        Window { from, .. }: Window,
        _now: UnixNanos,
    ) -> Result<Option<Book>, SourceError> {
        Ok(Some(Book {
            time: UnixNanos(from * 1_000_000_000),
            bids: vec![(99.5, wave(from)), (99.0, 1.0)],
            asks: vec![(100.0, 2.0), (100.5, 3.0)],
        }))
    }
}

impl LiquidationFeed for WaveFeed {
    fn liquidation_bars(&self, _: usize, _: Window, _: UnixNanos, _: &mut dyn FnMut(&Bar)) -> Result<(), SourceError> {
        Ok(())
    }

    fn liquidations(&self, _: usize, _: Window, _: UnixNanos, _: &mut dyn FnMut(&Trade)) -> Result<(), SourceError> {
        Ok(())
    }
}

fn id(data_type: &str, side: Option<&str>) -> SeriesId {
    let text = |text: &str| Some(text.to_owned());
    SeriesId {
        data_type: text(data_type),
        raw_symbol: text("BTCUSDT"),
        exchange: text("BYBIT"),
        normalized_symbol: text("BTC-USDT"),
        category: text("PERPETUAL"),
        interval: text("MINUTE"),
        coin: text("BTC"),
        side: side.map(str::to_owned),
        ..SeriesId::default()
    }
}

fn candles(side: &str, starts: &[i64]) -> Series {
    let volumes = starts.iter().map(|&second| wave(second) + f64::from(side.len() as u8)).collect();
    let columns = ["open", "high", "low", "close"].map(|name| {
        let values = starts.iter().map(|&second| wave(second + name.len() as i64)).collect();
        (name.into(), Column::Float(values))
    });
    let mut columns = Vec::from(columns);
    columns.push(("volume".into(), Column::Float(volumes)));
    for (name, offset) in [("first_timestamp", 1), ("last_timestamp", 59 * SECOND)] {
        let times = starts.iter().map(|&second| second * SECOND + offset).collect();
        columns.push((name.into(), Column::Time(times)));
    }
    Series {
        id: id("TRADE_AGG", Some(side)).into(),
        shape: Shape::Table,
        timestamps: starts.iter().map(|second| second * SECOND).collect(),
        columns,
    }
}

fn book(starts: &[i64]) -> Series {
    let (mut bids, mut asks) = (List::default(), List::default());
    for &second in starts {
        bids.push([99.5, wave(second), 99.0, 1.0]);
        asks.push([100.0, 2.0, 100.5, 3.0]);
    }
    let id = id("BLOCK_BOOK_SNAPSHOT_AGG", None);
    heatmap_from_sides(id, starts.iter().map(|second| second * SECOND).collect(), &bids, &asks).unwrap()
}

fn start(tier: Tier) -> (RunningService, Client) {
    let clock = Arc::new(ManualClock::at(UnixSecond(NOW).nanos()));
    // The book's blocks are far finer than what its prices recommend.
    let market = Market::new(Box::new(Waves::new())).with_strict_symbols(true).with_any_block_size(true);
    let service = Service::start(ServiceConfig::new(Arc::new(market), clock)).unwrap();
    let mut config = Config::new(service.keys()[tier.spec().name].clone(), service.url());
    config.tier = Some(tier);
    let client = Client::new(&config, &Registry::default()).unwrap();
    (service, client)
}

fn request(data_type: &str, minutes: i64, change: impl FnOnce(&mut PointsArguments)) -> PointsRequest {
    let mut arguments = PointsArguments {
        query: PointsQuery::of_market(data_type, "BYBIT", "BTCUSDT", "1m"),
        start: Some((NOW - 60 * minutes) as f64),
        end: Some(NOW as f64),
        ..PointsArguments::default()
    };
    change(&mut arguments);
    PointsRequest::new(arguments).unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(future)
}

// faults.md row 53
#[test]
fn planned_weight_is_charged_weight_for_every_multiplier() {
    let (_service, client) = start(Tier::Advanced);
    let several = |arguments: &mut PointsArguments| {
        arguments.query.raw_symbol = None;
        arguments.query.coin = Some("BTC".into());
        arguments.query.group_by = Some(GroupBy::Sum);
        arguments.query.exchanges = ["BYBIT", "OKEX_SWAP", "BITGET"].map(String::from).into();
    };
    let deep = |arguments: &mut PointsArguments| {
        arguments.query.block_size = Some(0.5);
        arguments.query.max_depth = Some(7_001);
    };
    // Several exchanges weigh as several, whether or not they are summed (docs/local-service.md, Budget).
    let side_by_side = |arguments: &mut PointsArguments| {
        several(arguments);
        arguments.query.group_by = None;
    };
    let heatmap = |exchanges: &'static [&'static str]| {
        move |arguments: &mut PointsArguments| {
            several(arguments);
            arguments.query.group_by = None;
            arguments.query.exchanges = exchanges.iter().map(|name| (*name).to_owned()).collect();
        }
    };
    let requests = [
        request("TRADE_AGG", 5_001, |_| ()),
        request("TRADE_AGG", 2_500, several),
        request("TRADE_AGG", 2_500, side_by_side),
        request("TRADE_AGG", 2_500, |arguments| {
            several(arguments);
            arguments.query.exchanges = vec!["BYBIT".into(), "BYBIT".into()];
        }),
        request("VENUE_LIQUIDATION_AGG", 1_000, heatmap(&[])),
        request("VENUE_LIQUIDATION_AGG", 1_000, heatmap(&["BYBIT", "BITGET"])),
        request("BLOCK_BOOK_SNAPSHOT_AGG", 1_500, deep),
        request("BLOCK_BOOK_SNAPSHOT_AGG", 10, |arguments| {
            several(arguments);
            deep(arguments);
        }),
    ];
    block_on(async {
        let (mut spent, mut weights) = (0, Vec::new());
        for request in requests {
            weights.push(client.plan(&request, UnixSecond(NOW).nanos()).unwrap().weight().0);
            spent += weights[weights.len() - 1];
            client.points(&request, UnixSecond(NOW).nanos(), None).await.unwrap();
            assert_eq!(client.usage().await.unwrap().used, spent as i64);
        }
        // Section 8.2 by hand: 3 thousands × 1.6 → 5 (three exchanges), 3 (one, named twice); 5 × 1 and 5 × 1.4.
        assert_eq!(weights[1..6], [5, 5, 3, 5, 7]);
    });
}

#[test]
fn candles_and_books_arrive_bit_for_bit_over_several_requests() {
    let (_service, client) = start(Tier::Advanced);
    let minutes: Vec<i64> = (NOW - 60 * 4_500..NOW).step_by(60).collect();
    block_on(async {
        let mut got = client.points(&request("TRADE_AGG", 4_500, |_| ()), UnixSecond(NOW).nanos(), None).await.unwrap();
        got.sort_by(|left, right| left.id.side.cmp(&right.id.side));
        assert!(got == [candles("BUY", &minutes), candles("SELL", &minutes)]);
        let book_request =
            request("BLOCK_BOOK_SNAPSHOT_AGG", 4_500, |arguments| arguments.query.block_size = Some(0.5));
        let got = client.points(&book_request, UnixSecond(NOW).nanos(), None).await.unwrap();
        assert!(got == [book(&minutes)]);
    });
}

#[test]
fn refusals_arrive_as_what_they_are_and_cost_nothing() {
    let (_service, client) = start(Tier::Basic);
    block_on(async {
        let unknown = request("TRADE_AGG", 1, |arguments| arguments.query.raw_symbol = Some("NONE".into()));
        let error = client.points(&unknown, UnixSecond(NOW).nanos(), None).await.unwrap_err();
        assert_eq!(
            (error.kind, error.status, error.code.as_deref()),
            (ErrorKind::InvalidRequest, Some(400), Some("INVALID_SYMBOL"))
        );
        assert!(error.to_string().contains("\"NONE\" is no symbol of BYBIT"), "{error}");
        let nowhere = request("TRADE_AGG", 1, |arguments| arguments.query.exchanges = vec!["SOME_VENUE".into()]);
        let error = client.points(&nowhere, UnixSecond(NOW).nanos(), None).await.unwrap_err();
        assert_eq!((error.kind, error.code.as_deref()), (ErrorKind::InvalidRequest, Some("INVALID_EXCHANGE")));
        let old = request("TRADE_AGG", 31 * 1_440, |arguments| arguments.end = Some((NOW - 30 * 86_400) as f64));
        let error = client.points(&old, UnixSecond(NOW).nanos(), None).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Tier);
        assert!(error.to_string().contains("history goes back 30 days"), "{error}"); // known before it was sent
        assert_eq!(client.usage().await.unwrap().used, 0);
    });
}

#[test]
fn markets_are_paged_to_their_end() {
    let (_service, client) = start(Tier::Free);
    let query =
        MarketsQuery { symbol_filter: Some("S".into()), exchanges: vec!["BYBIT".into()], ..MarketsQuery::default() };
    let markets = block_on(client.markets(&query, None)).unwrap();
    let symbols: Vec<_> =
        markets.iter().map(|market| market.raw_symbol.clone()).filter(|name| name != "BTCUSDT").collect();
    assert_eq!(symbols, (0..MORE).map(|row| format!("S{row}")).collect::<Vec<_>>());
    assert_eq!(markets.last().map(|market| market.last_price), Some(100_249.0));
}
