//! Token supply.

use super::*;
use crate::columns::Column;
use crate::{decode, encode};

const MIDNIGHT: i64 = 1_776_816_000; // 2026-04-22
const COINS: [&str; 10] = ["BTC", "ETH", "SOL", "XRP", "BNB", "DOGE", "ADA", "LINK", "AVAX", "LTC"];

fn supply(query: &str) -> Series {
    series(&format!("type=TOKEN_SUPPLY_AGG&{query}"), NOW)
}

fn texts<'a>(series: &'a Series, name: &str) -> &'a [Option<String>] {
    match series.column(name) {
        Some(Column::Text(values)) => values,
        other => panic!("{name}: {other:?}"),
    }
}

fn or(value: f64, unknown: f64) -> f64 {
    if value.is_nan() { unknown } else { value }
}

fn near(left: f64, right: f64, tolerance: f64) -> bool {
    (left / right - 1.0).abs() <= tolerance
}

#[test]
fn every_listed_coin_has_a_supply_and_the_identity_has_no_exchange() {
    for coin in COINS {
        let one = supply(&format!("coin={coin}&interval=DAY&from={}&period={}", MIDNIGHT - DAY, 2 * DAY));
        assert_eq!((one.id.coin.as_deref(), one.id.interval.as_deref()), (Some(coin), Some("DAY")));
        assert!(one.id.exchange.is_none() && one.id.raw_symbol.is_none() && one.id.token_name.is_some());
        // By their bytes: an unknown figure is NaN, which does not equal itself.
        let body = encode::points(&[one], false);
        assert_eq!(encode::points(&decode::points(&body).unwrap(), false), body);
    }
}

#[test]
fn figures_agree_with_each_other() {
    for coin in COINS {
        let one = supply(&format!("coin={coin}&interval=WEEK&period={}", 700 * DAY));
        let of = |name: &str| one.floats(name).unwrap();
        for row in 0..one.len() {
            let at = |name: &str| of(name)[row];
            assert!(near(at("marketcap"), at("usd_price") * at("circulating_supply"), 1e-12));
            assert!(
                at("circulating_supply") <= at("total_supply")
                    && at("total_supply") <= or(at("max_supply"), f64::INFINITY)
            );
            assert!(
                (1.0..=COINS.len() as f64).contains(&at("src_marketcap_rank"))
                    && at("src_marketcap_rank").fract() == 0.0
            );
            let most = or(at("max_supply"), at("total_supply"));
            assert!(near(at("fully_diluted_valuation"), at("usd_price") * most, 1e-12));
            assert!(at("total_volume") > 0.0 && or(at("total_value_locked"), 0.0) <= at("marketcap"));
        }
        assert!(of("first_marketcap").windows(2).all(|two| two[0] == two[1]));
    }
    let baseline = supply("coin=BTC&interval=DAY&from=1420070400&period=86400"); // 2015-01-01
    assert_eq!(baseline.floats("marketcap"), baseline.floats("first_marketcap"));
}

#[test]
fn dominance_is_a_share_and_ranks_follow_the_market_capitalization() {
    let window = format!("interval=DAY&from={}&period={}", MIDNIGHT - 300 * DAY, 300 * DAY);
    let (mut shares, mut caps, mut ranks) = (vec![0.0; 300], vec![Vec::new(); 300], vec![Vec::new(); 300]);
    for coin in COINS {
        let one = supply(&format!("coin={coin}&{window}"));
        let chains = one.len() / 300;
        for day in 0..300 {
            shares[day] += one.floats("marketcap_dominance_percent").unwrap()[day * chains];
            caps[day].push(one.floats("marketcap").unwrap()[day * chains]);
            ranks[day].push(one.floats("src_marketcap_rank").unwrap()[day * chains]);
        }
    }
    assert!(shares.iter().all(|share| (60.0..100.0).contains(share)), "{shares:?}");
    for (caps, ranks) in caps.iter().zip(&ranks) {
        let mut order: Vec<usize> = (0..COINS.len()).collect();
        order.sort_by(|&left, &right| caps[right].total_cmp(&caps[left]));
        let expected: Vec<f64> = order.iter().map(|&coin| ranks[coin]).collect();
        let ranks: Vec<f64> = (1..=COINS.len()).map(|rank| rank as f64).collect();
        assert_eq!(expected, ranks);
    }
    let dominance = supply(&format!("coin=BTC&{window}"));
    let dominance = dominance.floats("marketcap_dominance_percent").unwrap();
    assert!(dominance.iter().all(|share| (30.0..80.0).contains(share)));
}

#[test]
fn price_and_volume_are_those_of_the_candles() {
    let one = supply(&format!("coin=ETH&interval=DAY&from={MIDNIGHT}&period=86400"));
    let window = format!("from={}&period=86400", MIDNIGHT - DAY);
    let venues =
        ["BINANCE_FUTURES", "BYBIT", "OKEX_SWAP", "HYPERLIQUID_FUTURES", "BINANCE", "COINBASE", "OKEX", "BITSTAMP"];
    let exchanges = venues.map(|venue| format!("exchange={venue}&")).concat();
    let traded = series(
        &format!(
            "type=TRADE_SIDE_AGNOSTIC_AGG&{exchanges}coin=ETH&interval=DAY&{window}&\
             transform.groupBy.type=GROUP_BY_TYPE_SUM&transform.normalize.quote=USD"
        ),
        NOW,
    );
    assert!(near(one.floats("total_volume").unwrap()[0], traded.floats("volume").unwrap()[0], 0.1));
    let spot =
        series(&format!("type=TRADE_SIDE_AGNOSTIC_AGG&exchange=BINANCE&rawSymbol=ETHUSDT&interval=DAY&{window}"), NOW);
    assert!(near(one.floats("usd_price").unwrap()[0], spot.floats("close").unwrap()[0], 2e-3));
}

#[test]
fn snapshots_are_carried_forward_and_never_come_early() {
    let from = MIDNIGHT - 7_200; // two hours before a snapshot
    let hours = supply(&format!("coin=BTC&interval=HOUR&from={from}&period=14400"));
    let caps = hours.floats("marketcap").unwrap();
    assert_eq!(hours.timestamps, [0, 1, 2, 3].map(|hour| (from + 3_600 * hour) * SECOND));
    assert!(caps[0] == caps[1] && caps[1] != caps[2] && caps[2] == caps[3]);
    let days = supply(&format!("coin=BTC&interval=DAY&from={}&period={}", MIDNIGHT - DAY, 2 * DAY));
    assert_eq!(days.floats("marketcap").unwrap(), [caps[1], caps[2]]);
    // A bucket that holds several snapshots tells the last: a week from Monday 13 April that ended on the 19th.
    let week = supply(&format!("coin=BTC&interval=WEEK&from={}&period=604800", MIDNIGHT - 9 * DAY));
    let sunday = supply(&format!("coin=BTC&interval=DAY&from={}&period=86400", MIDNIGHT - 3 * DAY));
    assert_eq!(week.floats("marketcap"), sunday.floats("marketcap"));
    // One second before midnight the next snapshot is not known, not even to the bucket that will hold it.
    let query = format!("type=TOKEN_SUPPLY_AGG&coin=BTC&interval=WEEK&from={}&period=604800", MIDNIGHT - 2 * DAY);
    let early = series(&query, MIDNIGHT * SECOND - 1);
    assert_eq!(early.floats("marketcap").unwrap()[0], caps[1]);
    assert_eq!(series(&query, MIDNIGHT * SECOND).floats("marketcap").unwrap()[0], caps[2]);
    assert!(ask("type=TOKEN_SUPPLY_AGG&coin=BTC&interval=DAY&from=1419984000&period=86400", NOW).unwrap().is_empty());
}

#[test]
fn a_token_on_several_chains_has_a_row_for_each() {
    let one = supply(&format!("coin=LINK&interval=HOUR&from={MIDNIGHT}&period=7200"));
    assert_eq!(one.len(), 6);
    assert_eq!(
        one.timestamps.iter().map(|at| at / SECOND - MIDNIGHT).collect::<Vec<_>>(),
        [0, 0, 0, 3_600, 3_600, 3_600]
    );
    let chains: Vec<&str> = texts(&one, "chain").iter().flatten().map(String::as_str).collect();
    assert_eq!(chains[..3], ["ETHEREUM", "BSC", "ARBITRUM"]);
    assert_eq!(chains[..3], chains[3..]);
    let contracts = texts(&one, "contract_address");
    let is_address = |text: &String| text.len() == 42 && text.starts_with("0x");
    assert!(contracts.iter().flatten().all(is_address) && contracts[..3].iter().flatten().count() == 3);
    for name in ["marketcap", "marketcap_dominance_percent", "circulating_supply", "usd_price", "total_volume"] {
        let values = one.floats(name).unwrap();
        assert!(values[0] == values[1] && values[1] == values[2], "{name}");
    }
    let own = supply(&format!("coin=BTC&interval=HOUR&from={MIDNIGHT}&period=3600"));
    assert_eq!(texts(&own, "contract_address"), [None]);
}

#[test]
fn it_goes_by_coin_and_token_name_alone() {
    let window = "interval=DAY&period=864000";
    let name = "type=TOKEN_SUPPLY_AGG";
    assert!(refusal(&format!("{name}&{window}")).contains("coin is missing"));
    assert!(refusal(&format!("{name}&tokenName=Bitcoin&{window}")).contains("coin is missing"));
    assert!(refusal(&format!("{name}&coin=BTC&exchange=BINANCE&{window}")).contains("exchange"));
    assert!(refusal(&format!("{name}&coin=BTC&rawSymbol=BTCUSDT&{window}")).contains("rawSymbol"));
    refusal(&format!("{name}&coin=BTC&transform.normalize.quote=USD&{window}"));
    refusal(&format!("{name}&coin=BTC&gapfill=true&{window}"));
    let named = ask(&format!("{name}&coin=BTC&tokenName=bitcoin&{window}"), NOW).unwrap();
    assert_eq!(named, ask(&format!("{name}&coin=BTC&{window}"), NOW).unwrap());
    for nothing in ["coin=BTC&tokenName=Ethereum", "coin=NONE"] {
        assert!(ask(&format!("{name}&{nothing}&{window}"), NOW).unwrap().is_empty());
    }
}
