//! The two wings meet: what the client plans is what the service charges, and what the source gives is what the client
//! hands out.

use std::sync::Arc;

use marketpoints::client::{Client, Config, ErrorKind, PointsArguments, PointsRequest, Registry};
use marketpoints::clock::{ManualClock, SECOND};
use marketpoints::columns::{Column, List, Series, heatmap_from_sides};
use marketpoints::protocol::{Interval, Market, MarketsPage, MarketsQuery, PointsQuery, SeriesId, Shape, Tier};
use marketpoints::service::{AnswerError, Answers, RunningService, Service, ServiceConfig};

/// 2026-04-22 18:00:00 UTC.
const NOW: i64 = 1_776_880_800;

/// One row for each bucket of the window, of numbers that need every digit.
struct Waves;

fn wave(second: i64) -> f64 {
    (second as f64 * 1e-3).sin() * 1e7
}

fn starts(query: &PointsQuery) -> Vec<i64> {
    let interval = query.interval.as_deref().and_then(Interval::find).unwrap();
    let from = query.from.unwrap();
    (interval.ceil(from)..from + query.period.unwrap()).step_by(interval.seconds as usize).collect()
}

fn candles(side: &str, starts: &[i64]) -> Series {
    let volumes = starts.iter().map(|&second| wave(second).abs() + f64::from(side.len() as u8)).collect();
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
        id: SeriesId {
            data_type: Some("TRADE_AGG".into()),
            interval: Some("MINUTE".into()),
            side: Some(side.into()),
            ..SeriesId::default()
        }
        .into(),
        shape: Shape::Table,
        timestamps: starts.iter().map(|second| second * SECOND).collect(),
        columns,
    }
}

fn book(starts: &[i64]) -> Series {
    let (mut bids, mut asks) = (List::default(), List::default());
    for &second in starts {
        bids.push([99.5, wave(second), 99.0, 1.0]);
        asks.push([100.0, 2.0, 100.5, 0.0]);
    }
    let id = SeriesId { data_type: Some("BLOCK_BOOK_SNAPSHOT_AGG".into()), ..SeriesId::default() };
    heatmap_from_sides(id, starts.iter().map(|second| second * SECOND).collect(), &bids, &asks).unwrap()
}

impl Answers for Waves {
    fn points(&self, query: &PointsQuery, _now: i64) -> Result<Vec<Series>, AnswerError> {
        let starts = starts(query);
        match query.raw_symbol.as_deref() {
            Some("NONE") => Err(AnswerError::InvalidSymbol("no such symbol as NONE".into())),
            _ if query.data_type == "BLOCK_BOOK_SNAPSHOT_AGG" => Ok(vec![book(&starts)]),
            _ => Ok(vec![candles("SELL", &starts), candles("BUY", &starts)]),
        }
    }

    fn markets(&self, query: &MarketsQuery, _now: i64) -> Result<MarketsPage, AnswerError> {
        let first = query.page_offset.unwrap_or(0);
        let last = (first + query.page_size.unwrap_or(10)).min(250);
        let symbols: Vec<_> = (first..last)
            .map(|row| Market { raw_symbol: format!("S{row}"), last_price: f64::from(row) * 1e5, ..Market::default() })
            .collect();
        Ok(MarketsPage { symbols, next_offset: i64::from(last) })
    }
}

fn start(tier: Tier) -> (RunningService, Client) {
    let clock = Arc::new(ManualClock::at(NOW * SECOND));
    let service = Service::start(ServiceConfig::new(Arc::new(Waves), clock)).unwrap();
    let mut config = Config::new(service.keys()[tier.spec().name].clone(), service.url());
    config.tier = Some(tier);
    let client = Client::new(&config, &Registry::default()).unwrap();
    (service, client)
}

fn request(data_type: &str, minutes: i64, change: impl FnOnce(&mut PointsArguments)) -> PointsRequest {
    let mut arguments = PointsArguments {
        data_type: data_type.into(),
        exchanges: vec!["BYBIT".into()],
        symbol: Some("BTCUSDT".into()),
        interval: Some("1m".into()),
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

#[test]
fn planned_weight_is_charged_weight_for_every_multiplier() {
    let (_service, client) = start(Tier::Advanced);
    let several = |arguments: &mut PointsArguments| {
        arguments.symbol = None;
        arguments.coin = Some("BTC".into());
        arguments.group_by = Some("sum".into());
        arguments.exchanges = ["BYBIT", "OKEX_SWAP", "BITGET"].map(String::from).into();
    };
    let deep = |arguments: &mut PointsArguments| {
        arguments.block_size = Some(0.5);
        arguments.max_depth = Some(7_001);
    };
    let requests = [
        request("TRADE_AGG", 5_001, |_| ()),
        request("TRADE_AGG", 2_500, several),
        request("BLOCK_BOOK_SNAPSHOT_AGG", 1_500, deep),
        request("BLOCK_BOOK_SNAPSHOT_AGG", 10, |arguments| {
            several(arguments);
            deep(arguments);
        }),
    ];
    block_on(async {
        let mut spent = 0;
        for request in requests {
            spent += client.plan(&request, NOW as f64).unwrap().weight();
            client.points(&request, NOW as f64, None).await.unwrap();
            assert_eq!(client.usage().await.unwrap().used, spent as i64);
        }
    });
}

#[test]
fn candles_and_books_arrive_bit_for_bit_over_several_requests() {
    let (_service, client) = start(Tier::Advanced);
    let minutes: Vec<i64> = (NOW - 60 * 4_500..NOW).step_by(60).collect();
    block_on(async {
        let mut got = client.points(&request("TRADE_AGG", 4_500, |_| ()), NOW as f64, None).await.unwrap();
        got.sort_by(|left, right| left.id.side.cmp(&right.id.side));
        assert!(got == [candles("BUY", &minutes), candles("SELL", &minutes)]);
        let book_request = request("BLOCK_BOOK_SNAPSHOT_AGG", 4_500, |arguments| arguments.block_size = Some(0.5));
        let got = client.points(&book_request, NOW as f64, None).await.unwrap();
        assert!(got == [book(&minutes)]);
    });
}

#[test]
fn refusals_arrive_as_what_they_are_and_cost_nothing() {
    let (_service, client) = start(Tier::Basic);
    block_on(async {
        let unknown = request("TRADE_AGG", 1, |arguments| arguments.symbol = Some("NONE".into()));
        let error = client.points(&unknown, NOW as f64, None).await.unwrap_err();
        assert!(error.to_string().contains("no such symbol as NONE"), "{error}");
        let old = request("TRADE_AGG", 31 * 1_440, |arguments| arguments.end = Some((NOW - 30 * 86_400) as f64));
        let error = client.points(&old, NOW as f64, None).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Tier);
        assert!(error.to_string().contains("history goes back 30 days"), "{error}"); // known before it was sent
        assert_eq!(client.usage().await.unwrap().used, 0);
    });
}

#[test]
fn markets_are_paged_to_their_end() {
    let (_service, client) = start(Tier::Free);
    let markets = block_on(client.markets(&MarketsQuery::default(), None)).unwrap();
    let symbols: Vec<_> = markets.iter().map(|market| market.raw_symbol.clone()).collect();
    assert_eq!(symbols, (0..250).map(|row| format!("S{row}")).collect::<Vec<_>>());
    assert_eq!(markets[249].last_price, 2.49e7);
}
