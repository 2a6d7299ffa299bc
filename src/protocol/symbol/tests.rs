use super::*;

const SINCE: UnixSecond = UnixSecond(1_733_011_200); // 2024-12-01
const EARLY: UnixSecond = UnixSecond(1_433_116_800); // 2015-06-01

fn names(exchange: &str, symbol: &str) -> (String, String) {
    let Symbol { coin, quote, .. } = parse(exchange, symbol, SINCE);
    (coin, quote)
}

#[test]
fn symbols_of_every_venue_are_split() {
    for (exchange, symbol, coin, quote) in [
        ("BINANCE", "XRPETH", "XRP", "ETH"),
        ("BINANCE", "ETHFDUSD", "ETH", "FDUSD"),
        ("BINANCE", "BNBBUSD", "BNB", "BUSD"),
        ("BINANCE_DELIVERY", "BNBUSD_PERP", "BNB", "USD"), // not BN in BUSD
        ("BINANCE_DELIVERY", "BTCUSD_241227", "BTC", "USD"),
        ("BYBIT", "BTCUSDT", "BTC", "USDT"),
        ("BYBIT", "BNBUSD", "BNB", "USD"),
        ("BYBIT", "BTCUSDH25", "BTC", "USD"),
        ("BYBIT", "BTCPERP", "BTC", "USDC"),
        ("BYBIT", "BTC-27DEC24", "BTC", "USDC"),
        ("BYBIT", "BTCUSDT-27DEC24", "BTC", "USDT"),
        ("BYBIT_SPOT", "PERPUSDT", "PERP", "USDT"),
        ("BITGET", "BTCUSDT_UMCBL", "BTC", "USDT"),
        ("BITMEX", "XBTUSD", "BTC", "USD"),
        ("BITMEX", "XBTUSDT", "BTC", "USDT"),
        ("BITMEX", "XBTH25", "BTC", "USD"),
        ("BITMEX", "ETHZ20", "ETH", "BTC"),
        ("BITMEX", "ETHUSDZ24", "ETH", "USD"),
        ("CME", "BTCH5", "BTC", "USD"),
        ("CME", "ETHZ24", "ETH", "USD"),
        ("BITFINEX", "BTCF0-USTF0", "BTC", "USDT"),
        ("BITFINEX_DERIVATIVES", "BTCF0:USTF0", "BTC", "USDT"),
        ("BITFINEX", "BTCUST", "BTC", "USDT"),
        ("BITFINEX", "BTCUSD", "BTC", "USD"),
        ("OKEX", "BTC-USDT", "BTC", "USDT"),
        ("OKEX_SWAP", "BTC-USDT-SWAP", "BTC", "USDT"),
        ("OKEX_FUTURES", "BTC-USD-241227", "BTC", "USD"),
        ("COINBASE", "BTC-USD", "BTC", "USD"),
        ("COINBASE", "PERP-USDT", "PERP", "USDT"),
        ("UPBIT", "KRW-BTC", "BTC", "KRW"),
        ("UPBIT", "BTC-ETH", "ETH", "BTC"),
        ("GATE_IO_FUTURES", "BTC_USDT_20241227", "BTC", "USDT"),
        ("HUOBI_DM", "ETH_CQ", "ETH", "USD"),
        ("HUOBI_DM", "ETH241227", "ETH", "USD"),
        ("DERIBIT", "BTC-PERPETUAL", "BTC", "USD"),
        ("DERIBIT", "ETH-27DEC24", "ETH", "USD"),
        ("DERIBIT", "SOL_USDC-PERPETUAL", "SOL", "USDC"),
        ("DERIBIT", "BTC-27DEC24-100000-C", "BTC", "BTC"), // the premium is in Bitcoin
        ("DERIBIT", "BTC_USDC-27DEC24-100000-C", "BTC", "USDC"),
        ("HYPERLIQUID_FUTURES", "BTC", "BTC", "USD"),
        ("HYPERLIQUID_FUTURES", "WBTC", "WBTC", "USD"), // a bare coin, not W in BTC
        ("HYPERLIQUID", "PURR/USDC", "PURR", "USDC"),
        ("VENUE", "AZZZ", "AZZZ", ""),
        ("VENUE", "BTCBUSD", "BTC", "BUSD"),
        ("VENUE", "BTC-PERPETUAL", "BTC", ""),
        ("VENUE", "-", "", ""),
        ("VENUE", "", "", ""),
        ("CME", "é5", "É5", "USD"),
    ] {
        assert_eq!(names(exchange, symbol), (coin.to_owned(), quote.to_owned()), "{exchange} {symbol}");
    }
}

#[test]
fn categories_follow_from_the_symbol_and_then_from_the_exchange() {
    use Category::{Combo, Future, Option, Perpetual, Spot};
    for (exchange, symbol, category) in [
        ("BINANCE", "BTCUSDT", Spot),
        ("BINANCE_FUTURES", "BTCUSDT", Perpetual),
        ("BINANCE_FUTURES", "BTCUSDT_241227", Future),
        ("BINANCE_DELIVERY", "BTCUSD_PERP", Perpetual),
        ("BINANCE_DELIVERY", "BTCUSD_241227", Future),
        ("BYBIT", "BTCUSDT", Perpetual),
        ("BYBIT", "BTCPERP", Perpetual),
        ("BYBIT", "BTCUSDH25", Future),
        ("BYBIT", "BTC-27DEC24-100000-C", Option),
        ("BYBIT", "BTC-27DEC24-100000-P-USDT", Option),
        ("BYBIT_SPOT", "BTCUSDT", Spot),
        ("BITMEX", "XBTUSD", Perpetual),
        ("BITMEX", "XBTH25", Future),
        ("CME", "BTCH5", Future),
        ("CME", "BTC", Future), // it lists nothing else
        ("BITFINEX", "BTCUSD", Spot),
        ("BITFINEX", "BTCF0-USTF0", Perpetual),
        ("OKEX_SWAP", "BTC-USDT-SWAP", Perpetual),
        ("OKEX_FUTURES", "BTC-USD-241227", Future),
        ("HUOBI_DM", "BTC_CQ", Future),
        ("HUOBI_DM_LINEAR_SWAP", "BTC-USDT", Perpetual),
        ("HUOBI_DM_LINEAR_SWAP", "BTC-USDT-241227", Future),
        ("GATE_IO_FUTURES", "BTC_USDT_20241227", Future),
        ("DERIBIT", "BTC-PERPETUAL", Perpetual),
        ("DERIBIT", "BTC-27DEC24", Future),
        ("DERIBIT", "BTC_USDC-27DEC24", Future),
        ("DERIBIT", "BTC-27DEC24-100000-C", Option),
        ("DERIBIT", "BTC-FS-27DEC24_PERP", Combo),
        ("DERIBIT", "BTC-CS-27DEC24-100000_110000", Combo),
        ("VENUE", "BTC-USD-SWAP", Perpetual),
        ("VENUE", "BTCUSD", Spot),
        ("HYPERLIQUID", "BTC", Spot),
    ] {
        assert_eq!(parse(exchange, symbol, SINCE).category, category, "{exchange} {symbol}");
    }
}

#[test]
fn the_same_end_has_the_same_name_on_every_venue() {
    // 2025-03-28 is the last Friday of March 2025, 2015-06-26 that of June 2015.
    for (exchange, symbol, since, expiry) in [
        ("BINANCE_DELIVERY", "BTCUSD_250328", SINCE, Some("250328")),
        ("DERIBIT", "BTC-28MAR25", SINCE, Some("250328")),
        ("BYBIT", "BTCUSDH25", SINCE, Some("250328")),
        ("BITMEX", "XBTH25", SINCE, Some("250328")),
        ("CME", "BTCH25", SINCE, Some("250328")),
        ("CME", "BTCH5", SINCE, Some("250328")),
        ("CME", "BTCM5", EARLY, Some("150626")),
        ("GATE_IO_FUTURES", "BTC_USDT_20250328", SINCE, Some("250328")),
        ("HUOBI_DM", "BTC250328", SINCE, Some("250328")),
        ("HUOBI_DM", "BTC_CQ", SINCE, Some("CQ")),
        ("DERIBIT", "ETH-7FEB25", SINCE, Some("250207")),
        ("BYBIT", "BTCUSDT", SINCE, None),
        ("DERIBIT", "BTC-28MAR25-100000-C", SINCE, None),
        ("VENUE", "BTC-USD-251332", SINCE, None), // no day
    ] {
        assert_eq!(parse(exchange, symbol, since).expiry.as_deref(), expiry, "{exchange} {symbol}");
    }
}

proptest::proptest! {
    #[test]
    fn any_symbol_is_read(symbol in "\\PC{0,12}", code in "[A-Z]{0,5}[FGHZ]?[0-9]{0,8}", since in proptest::num::i64::ANY) {
        for exchange in ["CME", "BITMEX", "DERIBIT", "HUOBI_DM", "BITFINEX", "UPBIT", "VENUE"] {
            for symbol in [&symbol, &code] {
                proptest::prop_assert!(parse(exchange, symbol, UnixSecond(since)).coin.len() <= 3 * symbol.len() + 3);
            }
        }
    }
}

#[test]
fn what_is_known_of_an_exchange_stands_in_its_row_alone() {
    let files = [include_str!("mod.rs"), include_str!("expiry.rs"), include_str!("words.rs")];
    for row in &crate::protocol::exchange::EXCHANGES {
        assert!(files.iter().all(|text| !text.contains(&format!("\"{}\"", row.name))), "{}", row.name);
    }
}
