//! Dated futures beside perpetuals, and the sizes that symbols and books tell.

use super::*;
use crate::clock::UnixNanos;
use crate::market::raw::RawData;
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::{DiscoveryList, Filters, MarketsQuery, Selection};

const SUM: &str = "transform.groupBy.type=GROUP_BY_TYPE_SUM";

fn dated() -> Dumps {
    let mut dumps = Dumps::default();
    dumps.trade("BYBIT/BTCUSD", DAY, 100_000.0, 1_000.0);
    dumps.trade("BYBIT/BTCUSDH25", DAY, 110_000.0, 5_000.0);
    dumps.trade("BINANCE_DELIVERY/BTCUSD_250328", DAY, 120_000.0, 7.0);
    dumps.liquidation("BYBIT/BTCUSD", DAY, 100_000.0, 10.0);
    dumps.liquidation("BYBIT/BTCUSDH25", DAY, 110_000.0, 50.0);
    dumps
}

#[test]
fn the_listing_tells_futures_from_perpetuals() {
    let (_folder, market) = dated().market();
    let page =
        |query: &str| market.markets(&MarketsQuery::parse(query).unwrap(), market.last_event().unwrap()).unwrap();
    let rows: Vec<(String, String, String)> =
        page("").symbols.into_iter().map(|row| (row.raw_symbol, row.normalized_symbol, row.category)).collect();
    let row = |symbol: &str, normalized: &str, category: &str| (symbol.into(), normalized.into(), category.into());
    assert!(rows.contains(&row("BTCUSD", "BTC-USD", "PERPETUAL")), "{rows:?}");
    // The last Friday of March 2025 has one name on both venues.
    assert!(rows.contains(&row("BTCUSDH25", "BTC-USD-250328", "FUTURE")), "{rows:?}");
    assert!(rows.contains(&row("BTCUSD_250328", "BTC-USD-250328", "FUTURE")), "{rows:?}");
    assert_eq!(page("distinct=true").symbols.len(), 2, "a perpetual and a future");
    assert_eq!(page("category=FUTURE").symbols.len(), 2);
    let listed = |list: DiscoveryList| market.list(list, &Filters::default(), market.last_event().unwrap()).unwrap();
    assert_eq!(listed(DiscoveryList::Categories).to_string(), r#"["FUTURE","PERPETUAL"]"#);
    assert_eq!(listed(DiscoveryList::Coins).to_string(), r#"["BTC"]"#);
}

#[test]
fn a_sum_over_a_coin_holds_no_future_where_there_is_something_else() {
    let (_folder, market) = dated().market();
    let window = format!("interval=MINUTE&from={DAY}&period=60");
    let candle = |exchanges: &str| {
        let series = one(&market, &format!("type=TRADE_SIDE_AGNOSTIC_AGG&{exchanges}&coin=BTC&{SUM}&{window}"));
        (floats(&series, "close")[0], floats(&series, "volume")[0])
    };
    assert_eq!(candle("exchange=BYBIT"), (100_000.0, 1_000.0));
    // An exchange that has nothing else is meant with what it has.
    assert_eq!(candle("exchange=BINANCE_DELIVERY"), (120_000.0, 7.0));
    let heatmap = one(&market, &format!("type=VENUE_LIQUIDATION_AGG&exchange=BYBIT&coin=BTC&{window}"));
    assert_eq!(lists(&heatmap, "levels"), [100_000.0, 10.0]);
    // Each by itself, nothing is left out.
    assert_eq!(ask(&market, &format!("type=TRADE_SIDE_AGNOSTIC_AGG&exchange=BYBIT&coin=BTC&{window}")).len(), 2);
    let profile = |symbol: &str| {
        let select = format!("exchange=BYBIT&exchange=BINANCE_DELIVERY&normalizedSymbol={symbol}&{SUM}");
        answer(&market, &format!("type=VOLUME_PROFILE_AGG&{select}&transform.normalize.quote=USD&{window}"))
    };
    assert_eq!(lists(&profile("BTC-USD").unwrap()[0], "profile"), [100_000.0, 1_000.0, 0.0]);
    // 700 USD at 120,000 and 5,000 USD at 110,000.
    let dated = lists(&profile("BTC-USD-250328").unwrap()[0], "profile");
    assert_eq!(dated, [110_000.0, 5_000.0, 0.0, 120_000.0, 700.0, 0.0]);
}

#[test]
fn markets_without_the_data_of_a_type_are_no_part_of_its_answers() {
    let mut dumps = Dumps::default();
    dumps.trade("BYBIT/BTCUSDT", DAY, 100_000.0, 1.0);
    dumps.book("OKEX_SWAP/BTC-USDT-SWAP", DAY, (99_000.0, 1.0), (101_000.0, 1.0));
    dumps.liquidation("BITGET/BTCUSDT", DAY, 100_000.0, 10.0);
    dumps.reading("BINANCE_FUTURES/BTCUSDT", DAY, Some(1e-4), None, None);
    dumps.reading("HYPERLIQUID_FUTURES/BTC", DAY, None, Some(5.0), Some(100_000.0));
    let (_folder, market) = dumps.market();
    let exchanges = ["BYBIT", "OKEX_SWAP", "BITGET", "BINANCE_FUTURES", "HYPERLIQUID_FUTURES"];
    let window = format!("coin=BTC&interval=HOUR&from={DAY}&period=3600");
    let mut types = 0;
    for spec in &DATA_TYPES {
        let has = match spec.data_type.spec().made_of {
            Some(RawData::Trades) => "BYBIT",
            Some(RawData::Books) => "OKEX_SWAP",
            Some(RawData::Liquidations) => "BITGET",
            Some(RawData::FundingRates) => "BINANCE_FUTURES",
            Some(RawData::OpenInterest) => "HYPERLIQUID_FUTURES",
            None => continue,
        };
        types += 1;
        let block_size = if spec.needs_block_size { "&blockSize=1" } else { "" };
        let of = |exchanges: &[&str], more: &str| {
            let named = exchanges.join("&exchange=");
            ask(&market, &format!("type={}&exchange={named}&{window}{block_size}{more}", spec.name))
        };
        let shown = |exchanges: &[&str], more: &str| format!("{:?}", of(exchanges, more)); // NaN is not equal to itself
        assert!(!of(&[has], "").is_empty(), "{}", spec.name);
        assert_eq!(shown(&exchanges, ""), shown(&[has], ""), "{}", spec.name);
        let group = spec.group_by.filter(|_| spec.selection != Selection::CoinOnly);
        if let Some(group) = group {
            let sum = format!("&transform.groupBy.type={}", group.name());
            assert_eq!(shown(&exchanges, &sum), shown(&[has], &sum), "{}", spec.name);
        }
    }
    assert!(types >= 9, "every type that is made of a market's raw data");
}

#[test]
fn a_thin_first_day_does_not_coarsen_later_profiles() {
    let mut dumps = Dumps::default();
    dumps.trade("BINANCE/XRPUSDT", DAY, 2.0, 1.0); // whole: a tick of 1, if nothing else told it
    dumps.trade("BINANCE/XRPUSDT", DAY + DAYS, 2.0001, 1.0);
    dumps.trade("BINANCE/XRPUSDT", DAY + DAYS + 1, 2.0052, 2.0);
    let (_folder, market) = dumps.market();
    let query = "type=VOLUME_PROFILE_AGG&exchange=BINANCE&rawSymbol=XRPUSDT&interval=DAY";
    let series = one(&market, &format!("{query}&from={}&period={DAYS}", DAY + DAYS));
    // 2.0001 / 2000 is near 0.001.
    assert_eq!(lists(&series, "profile"), [2.0, 1.0, 0.0, 2.005, 2.0, 0.0]);
}

#[test]
fn a_market_with_a_book_alone_has_a_block_size() {
    let mut dumps = Dumps::default();
    dumps.book("BYBIT/XRPUSDT", DAY, (1.9531, 10.0), (1.9533, 10.0));
    let (_folder, market) = dumps.market();
    let sizes =
        |now: i64| market.list(DiscoveryList::BlockSizes, &Filters::default(), UnixNanos(now)).unwrap().to_string();
    // 1.9532 / 10 / 3500 is 0.0000558, and the nearest of 1, 2, 5 that is a multiple of 0.0001 is that.
    assert_eq!(sizes((DAY + 5) * 1_000_000_000), "[0.0001]");
    assert_eq!(sizes((DAY - 5) * 1_000_000_000), "[0]", "nothing is told before its first event");
}
