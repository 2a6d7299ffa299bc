//! The rate of a quote in USD: that of the minute's best market, and the same for every type and for the listing.

use super::*;
use crate::clock::UnixNanos;
use crate::protocol::MarketsQuery;

const USD: &str = "transform.normalize.quote=USD";

/// The minute whose rate is asked for.
const MINUTE: i64 = DAY + 12 * HOUR;

/// XRP at 0.001 ETH on every raw kind, in the minute that is asked for.
fn foreign() -> Dumps {
    let mut dumps = Dumps::default();
    dumps.trade("BYBIT/XRPETH", MINUTE + 5, 0.001, 1_000.0);
    dumps.liquidation("BYBIT/XRPETH", MINUTE + 6, 0.001, 500.0);
    dumps.reading("BYBIT/XRPETH", MINUTE + 7, None, Some(2_000.0), Some(0.001));
    dumps.book("BYBIT/XRPETH", MINUTE + 8, (0.001, 3_000.0), (0.002, 4_000.0));
    dumps
}

fn query(data_type: &str) -> String {
    let select = if data_type == "VENUE_LIQUIDATION_AGG" { "" } else { "&rawSymbol=XRPETH" };
    let coin = if select.is_empty() { "&coin=XRP" } else { "" };
    format!(
        "type={data_type}&exchange=BYBIT{select}{coin}&interval=MINUTE&{USD}&from={MINUTE}&period=60&blockSize=0.01\
         &maxDepth=1500"
    )
}

/// The rate at which the candle of the minute was converted.
fn rate(dumps: &Dumps) -> Result<f64, String> {
    let (_folder, market) = dumps.market();
    let series = answer(&market, &query("TRADE_SIDE_AGNOSTIC_AGG")).map_err(|problem| problem.to_string())?;
    Ok((series[0].floats("close").unwrap()[0] / 0.001).round())
}

/// Markets that a naive choice takes: the first by name with an old price, a dated future, a liquid perpetual.
fn rivals(dumps: &mut Dumps) {
    dumps.trade("BINANCE/ETHUSDT", 1_570_752_000, 190.0, 1e9); // 2019
    dumps.trade("BINANCE_FUTURES/ETHUSDT_250328", MINUTE, 5_000.0, 1e9);
    dumps.trade("BYBIT/ETHUSDT", MINUTE, 4_000.0, 1e9);
}

#[test]
fn a_spot_market_that_trades_now_beats_an_old_price_a_future_and_a_perpetual() {
    let mut dumps = foreign();
    rivals(&mut dumps);
    assert_eq!(rate(&dumps), Ok(4_000.0), "perpetual before dated");
    dumps.trade("COINBASE/ETH-USD", MINUTE - 60, 3_600.0, 1.0);
    dumps.trade("COINBASE/ETH-USD", MINUTE + 59, 3_700.0, 1.0);
    dumps.trade("COINBASE/ETH-USD", MINUTE + 60, 3_800.0, 1.0);
    assert_eq!(rate(&dumps), Ok(3_700.0), "spot first; the last price of the minute");
}

#[test]
fn of_two_spot_markets_the_one_that_traded_most_usd_in_24_hours_counts() {
    let mut dumps = foreign();
    // A minute of exactly 24 hours ago is the last that does not count; one later does.
    dumps.trade("BITSTAMP/ETH-USD", MINUTE - DAYS, 3_000.0, 100.0);
    dumps.trade("BITSTAMP/ETH-USD", MINUTE - 60, 3_000.0, 1.0);
    dumps.trade("COINBASE/ETH-USD", MINUTE - 600, 3_500.0, 2.0);
    assert_eq!(rate(&dumps), Ok(3_500.0), "7,000 USD against 3,000");
    dumps.trade("BITSTAMP/ETH-USD", MINUTE - DAYS + 60, 3_000.0, 100.0);
    assert_eq!(rate(&dumps), Ok(3_000.0), "303,000 USD against 7,000");
    // Later trades change nothing.
    dumps.trade("COINBASE/ETH-USD", MINUTE + 60, 3_500.0, 1e9);
    assert_eq!(rate(&dumps), Ok(3_000.0));
}

#[test]
fn a_price_of_24_hours_ago_is_no_rate() {
    let mut dumps = foreign();
    dumps.trade("COINBASE/ETH-USD", MINUTE - DAYS, 3_700.0, 1.0);
    let problem = rate(&dumps).unwrap_err();
    let expected = format!("no rate of ETH in USD at {MINUTE} s");
    assert!(problem.contains(&expected) && problem.contains("24 hours"), "{problem}");
    dumps.trade("BYBIT/ETHUSDT", MINUTE - DAYS + 60, 4_000.0, 1.0);
    assert_eq!(rate(&dumps), Ok(4_000.0), "another market tells it");
}

#[test]
fn options_and_combinations_give_no_rate() {
    let mut dumps = foreign();
    dumps.trade("BYBIT/ETH-27DEC24-4000-C", MINUTE, 55.0, 1e9);
    assert!(rate(&dumps).is_err());
}

#[test]
fn every_type_and_the_listing_use_the_same_rate() {
    let mut dumps = foreign();
    rivals(&mut dumps);
    dumps.trade("COINBASE/ETH-USD", MINUTE, 4_096.0, 1.0);
    let (_folder, market) = dumps.market();
    let of = |data_type: &str| ask(&market, &query(data_type)).remove(0);
    // 0.001 ETH are 4.096 USD; amounts are 1000, 500, 2000, 3000 and 4000.
    let price = 0.001 * 4_096.0;
    for data_type in ["TRADE_SIDE_AGNOSTIC_AGG", "TRADE_AGG"] {
        let candle = of(data_type);
        assert_eq!([floats(&candle, "close"), floats(&candle, "volume")], [[price], [1_000.0 * 0.001 * 4_096.0]]);
    }
    assert_eq!(floats(&of("LIQUIDATION_AGG"), "liquidations"), [500.0 * 0.001 * 4_096.0]);
    assert_eq!(floats(&of("OPEN_INTEREST_AGG"), "close"), [2_000.0 * 0.001 * 4_096.0]);
    // 4.096 / 2000 is 0.002048: levels of 0.002.
    let near = |found: Vec<f64>, expected: &[f64]| {
        let same = found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-9 * other.max(1.0));
        assert!(same && found.len() == expected.len(), "{found:?} {expected:?}");
    };
    near(lists(&of("VOLUME_PROFILE_AGG"), "profile"), &[4.096, 4_096.0, 0.0]);
    near(floats(&of("TPO_AGG"), "opening_price"), &[4.096]);
    near(floats(&of("TPO_AGG"), "total_volume"), &[4_096.0]);
    near(lists(&of("VENUE_LIQUIDATION_AGG"), "levels"), &[4.096, 2_048.0]);
    // Blocks of 0.01 USD: the bid at 4.096 in 4.09, the ask at 8.192 in 8.19.
    near(lists(&of("BLOCK_BOOK_SNAPSHOT_AGG"), "levels"), &[4.09, 12_288.0, 8.19, 32_768.0]);
    let page =
        market.markets(&MarketsQuery::parse("coin=XRP").unwrap(), UnixNanos((MINUTE + 60) * 1_000_000_000)).unwrap();
    near(vec![page.symbols[0].volume_24h_usd], &[4_096.0]);
}

#[test]
fn a_heatmap_of_several_quotes_has_one_axis() {
    let mut dumps = foreign();
    dumps.trade("COINBASE/ETH-USD", MINUTE, 4_096.0, 1.0);
    dumps.book("BYBIT/XRPUSDT", MINUTE + 20, (4.095, 100.0), (4.2, 200.0));
    let (_folder, market) = dumps.market();
    let sum = "type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BYBIT&coin=XRP&interval=MINUTE&blockSize=0.01\
               &transform.groupBy.type=GROUP_BY_TYPE_SUM";
    let window = format!("from={MINUTE}&period=60");
    assert!(answer(&market, &format!("{sum}&{window}")).is_err(), "prices in ETH and in USD");
    let series = one(&market, &format!("{sum}&{USD}&{window}"));
    let bid = 3_000.0 * 0.001 * 4_096.0 + 100.0 * 4.095;
    let expected = [4.09, bid, 4.2, 840.0, 8.19, 4_000.0 * 0.002 * 4_096.0];
    let found = lists(&series, "levels");
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-6), "{found:?}");
}

#[test]
fn a_book_is_converted_at_the_minute_of_its_last_event_as_a_candle_is() {
    let mut dumps = foreign();
    dumps.trade("COINBASE/ETH-USD", MINUTE, 4_096.0, 1.0);
    dumps.trade("COINBASE/ETH-USD", MINUTE + 600, 1.0, 1.0);
    let (_folder, market) = dumps.market();
    let query = query("BLOCK_BOOK_SNAPSHOT_AGG").replace("MINUTE", "HOUR");
    assert!((lists(&one(&market, &query), "levels")[0] - 4.09).abs() < 1e-9);
}

#[test]
fn a_missing_rate_before_the_window_does_not_refuse_a_filled_one() {
    let mut dumps = Dumps::default();
    dumps.trade("BINANCE/XRPETH", MINUTE - HOUR, 0.001, 1.0);
    dumps.trade("BINANCE/XRPETH", MINUTE + 60, 0.001, 1.0);
    dumps.trade("COINBASE/ETH-USD", MINUTE, 4_096.0, 1.0);
    let (_folder, market) = dumps.market();
    let candles = format!("type=TRADE_AGG&exchange=BINANCE&rawSymbol=XRPETH&interval=MINUTE&gapfill=true&{USD}");
    let series = ask(&market, &format!("{candles}&from={MINUTE}&period=180"));
    // The minute before has no rate, so nothing tells what to fill the first minute with.
    assert_eq!(series[0].timestamps, [1, 2].map(|minute| (MINUTE + minute * 60) * 1_000_000_000));
    assert_eq!(floats(&series[0], "close"), [0.001 * 4_096.0; 2]);
    // Within the window a missing rate is refused.
    assert!(answer(&market, &format!("{candles}&from={}&period=7200", MINUTE - HOUR)).is_err());
}

#[test]
fn open_interest_of_a_silent_exchange_counts_at_the_rate_of_its_own_minute() {
    let mut dumps = Dumps::default();
    dumps.reading("BYBIT/XRPETH", MINUTE + 7, None, Some(2_000.0), Some(0.001));
    for minute in 0..3 {
        dumps.reading("BINANCE_FUTURES/XRPUSDT", MINUTE + minute * 60, None, Some(10.0), Some(2.0));
    }
    dumps.trade("COINBASE/ETH-USD", MINUTE, 4_096.0, 1.0);
    dumps.trade("COINBASE/ETH-USD", MINUTE + 60, 1.0, 1.0);
    let (_folder, market) = dumps.market();
    let sum = format!(
        "type=OPEN_INTEREST_AGG&exchange=BYBIT&exchange=BINANCE_FUTURES&coin=XRP&interval=MINUTE&{USD}\
         &transform.groupBy.type=GROUP_BY_TYPE_SUM"
    );
    let whole = floats(&one(&market, &format!("{sum}&from={MINUTE}&period=180")), "close");
    assert_eq!(whole, [2_000.0 * 0.001 * 4_096.0 + 20.0; 3]);
    let late = floats(&one(&market, &format!("{sum}&from={}&period=120", MINUTE + 60)), "close");
    assert_eq!(late, whole[1..]);
}

#[test]
fn open_interest_without_a_rate_weighs() {
    let mut dumps = Dumps::default();
    dumps.reading("BINANCE_FUTURES/XRPUSDT", DAY, Some(0.0001), Some(100.0), Some(1.0));
    dumps.reading("BYBIT/XRPUSDT", DAY, Some(0.0009), Some(100.0), Some(1.0));
    dumps.reading("BYBIT/XRPUSDT", DAY + 60, None, Some(900.0), Some(1.0));
    dumps.reading("BINANCE_FUTURES/XRPUSDT", DAY + 120, Some(0.0001), None, None);
    let (_folder, market) = dumps.market();
    let mean = "type=FUNDING_RATE_AGG&exchange=BINANCE_FUTURES&exchange=BYBIT&coin=XRP&interval=MINUTE\
                &transform.groupBy.type=GROUP_BY_TYPE_OPEN_INTEREST_WEIGHTED_AVG";
    let whole = one(&market, &format!("{mean}&from={DAY}&period=180"));
    // (0.0001 × 100 + 0.0009 × 100) / 200, then (0.0001 × 100 + 0.0009 × 900) / 1000; the minute between has no rate.
    assert_eq!(whole.timestamps, [DAY, DAY + 120].map(|second| second * 1_000_000_000));
    let rates = floats(&whole, "rate_close");
    assert!((rates[0] - 0.0005).abs() < 1e-12 && (rates[1] - 0.00082).abs() < 1e-12, "{rates:?}");
    let alone = one(&market, &format!("{mean}&from={}&period=60", DAY + 120));
    assert_eq!(floats(&alone, "rate_close"), rates[1..]);
}

#[test]
fn weights_without_a_rate_name_what_mends_it() {
    let mut dumps = Dumps::default();
    for market in ["BYBIT/XRPUSD", "BITGET/XRPETH"] {
        dumps.reading(market, DAY, Some(0.0001), Some(100.0), Some(1.0));
    }
    let (_folder, market) = dumps.market();
    let mean = "type=FUNDING_RATE_AGG&exchange=BYBIT&exchange=BITGET&coin=XRP&interval=MINUTE\
                &transform.groupBy.type=GROUP_BY_TYPE_OPEN_INTEREST_WEIGHTED_AVG";
    let problem = answer(&market, &format!("{mean}&from={DAY}&period=60")).unwrap_err().to_string();
    let words = ["exchange: ", "no rate of ETH in USD", "name exchanges that are alike"];
    assert!(words.iter().all(|word| problem.contains(word)) && !problem.contains("leave it out"), "{problem}");
}
