//! The demo market as a source.

use super::*;
use crate::clock::{SECOND, Window};
use crate::market::raw::{Bar, BookFeed, Trade, TradeFeed};

const NOW: i64 = 1_776_880_830 * SECOND;

fn bars(demo: &Demo, market: usize, from: i64, to: i64, now: i64) -> Vec<Bar> {
    let mut bars = Vec::new();
    demo.markets.bars(market, Window { from, to }, UnixNanos(now), &mut |bar| bars.push(*bar)).unwrap();
    bars
}

fn market(demo: &Demo, exchange: &str, symbol: &str) -> usize {
    demo.instruments().iter().position(|row| row.exchange == exchange && row.raw_symbol == symbol).unwrap()
}

#[test]
fn random_access_is_sequential_access() {
    let demo = Demo::new(0);
    let from = 1_776_880_800 - 3_000 * 60;
    let sequence = bars(&demo, 5, from, from + 3_000 * 60, NOW);
    assert_eq!(sequence.len(), 3_000);
    for index in [0, 1, 511, 512, 1_777, 2_999] {
        let start = from + 60 * index as i64;
        assert_eq!(bars(&Demo::new(0), 5, start, start + 60, NOW), [sequence[index]]);
    }
    assert_ne!(bars(&Demo::new(1), 5, from, from + 60, NOW)[0], sequence[0]);
}

#[test]
fn bars_are_sound_and_venues_agree() {
    let demo = Demo::new(0);
    let venues: Vec<usize> = (0..demo.instruments().len()).filter(|&m| demo.instruments()[m].coin == "BTC").collect();
    assert!(venues.len() >= 4);
    let from = 1_776_000_000;
    let sequences: Vec<_> = venues.iter().map(|&market| bars(&demo, market, from, from + 86_400, NOW)).collect();
    for bars in &sequences {
        assert_eq!(bars.len(), 1_440);
        for bar in bars {
            assert!(bar.low <= bar.open.min(bar.close) && bar.high >= bar.open.max(bar.close));
            assert!(bar.low > 0.0 && bar.volume() > 0.0 && bar.first <= bar.last);
            assert_eq!((bar.first.0 / SECOND / 60, bar.last.0 / SECOND / 60), (bar.start.0 / 60, bar.start.0 / 60));
        }
    }
    for (one, other) in sequences[0].iter().zip(&sequences[1]) {
        assert!((one.close / other.close - 1.0).abs() < 0.002, "{} {}", one.close, other.close);
    }
}

#[test]
fn the_forming_minute_holds_what_has_happened_and_nothing_else() {
    let demo = Demo::new(0);
    let start = 1_776_880_800;
    let whole = bars(&demo, 0, start, start + 60, (start + 60) * SECOND)[0];
    assert!(bars(&demo, 0, start, start + 60, whole.first.0 - 1).is_empty());
    let first = bars(&demo, 0, start, start + 60, whole.first.0)[0];
    assert_eq!((first.open, first.close, first.last), (whole.open, whole.open, whole.first));
    assert_eq!(bars(&demo, 0, start, start + 600, (start + 60) * SECOND - 1)[0], whole);
    assert_eq!(bars(&demo, 0, start, start + 600, (start + 60) * SECOND - 1).len(), 1);
}

#[test]
fn trades_add_up_to_the_bars_and_end_at_now() {
    let demo = Demo::new(0);
    let (from, to) = (1_776_880_770, 1_776_880_860); // from within a minute on
    let mut trades: Vec<Trade> = Vec::new();
    demo.markets.trades(3, Window { from, to }, UnixNanos(NOW), &mut |trade| trades.push(*trade)).unwrap();
    assert!(trades.is_sorted_by_key(|trade| trade.time));
    assert!(trades.iter().all(|trade| (from * SECOND..=NOW).contains(&trade.time.0)));
    let forming = bars(&demo, 3, 1_776_880_800, to, NOW)[0];
    let amount = trades.iter().filter(|trade| trade.time.0 >= 1_776_880_800 * SECOND).map(|trade| trade.amount);
    assert!((amount.sum::<f64>() / forming.volume() - 1.0).abs() < 1e-12);
    assert!(trades.iter().any(|trade| trade.time.0 < 1_776_880_800 * SECOND));
    let tick = demo.markets.tick(3).unwrap();
    assert!(trades.iter().all(|trade| (trade.price / tick - (trade.price / tick).round()).abs() < 1e-6));
}

#[test]
fn the_book_stands_around_the_close() {
    let demo = Demo::new(0);
    for (exchange, symbol) in [("BINANCE_FUTURES", "BTCUSDT"), ("COINBASE", "DOGE-USD"), ("OKEX_SWAP", "XRP-USDT-SWAP")]
    {
        let market = market(&demo, exchange, symbol);
        let start = 1_776_800_040 / 60 * 60;
        let close = bars(&demo, market, start, start + 60, NOW)[0].close;
        let book =
            demo.markets.last_book(market, Window { from: start, to: start + 60 }, UnixNanos(NOW)).unwrap().unwrap();
        assert!(book.bids[0].0 < close && close < book.asks[0].0, "{symbol}");
        assert!(book.bids.len() >= 1_000 && book.asks.len() >= 1_000);
        assert!(book.bids.windows(2).all(|two| two[0].0 > two[1].0) && book.bids.iter().all(|level| level.1 > 0.0));
        assert!(book.asks.windows(2).all(|two| two[0].0 < two[1].0) && book.asks.iter().all(|level| level.1 > 0.0));
        assert!(book.asks[0].0 / book.bids[0].0 < 1.001);
    }
}
