//! Inverse contracts: markets whose amounts count contracts of a fixed worth in USD, not coins. Dumps tell the amounts as
//! the venue does, and name no unit; this is the one table of the units that the venues publish.

/// The inverse markets of one exchange.
struct Inverse {
    exchange: &'static str,
    /// Whether a raw symbol of the exchange is one of them.
    is: fn(&str) -> bool,
    /// USD that a unit of amount is worth on markets of Bitcoin.
    bitcoin: f64,
    /// The same on markets of any other coin.
    other: f64,
}

/// Contracts of 100 USD for Bitcoin and 10 USD for any other coin: the size that most venues chose.
const fn hundred(exchange: &'static str, is: fn(&str) -> bool) -> Inverse {
    Inverse { exchange, is, bitcoin: 100.0, other: 10.0 }
}

/// Amounts that are told in USD.
const fn dollars(exchange: &'static str, is: fn(&str) -> bool) -> Inverse {
    Inverse { exchange, is, bitcoin: 1.0, other: 1.0 }
}

/// The table. `BitMEX`'s other USD contracts are quanto (ETHUSD settles in Bitcoin): their worth in USD follows the price,
/// and so they are not here.
const INVERSE: [Inverse; 9] = [
    dollars("BITMEX", |symbol| symbol == "XBTUSD" || symbol != "XBT" && undated(symbol) == "XBT"),
    dollars("BYBIT", |symbol| undated(symbol).ends_with("USD")),
    dollars("DERIBIT", |symbol| symbol.split('-').count() == 2 && !symbol.contains('_')),
    dollars("GATE_IO_FUTURES", |symbol| symbol == "BTC_USD"),
    hundred("BINANCE_DELIVERY", |symbol| symbol.contains("USD_")),
    hundred("OKEX_SWAP", |symbol| symbol.ends_with("-USD-SWAP")),
    hundred("OKEX_FUTURES", |symbol| symbol.contains("-USD-")),
    hundred("HUOBI_DM_SWAP", |symbol| symbol.ends_with("-USD")),
    hundred("HUOBI_DM", |_| true),
];

/// Letters of the months in the symbols of futures, January to December.
const MONTHS: &str = "FGHJKMNQUVXZ";

/// A raw symbol without the month and year of a future that stand at its end: `BTCUSD` of `BTCUSDH25`.
pub fn undated(raw_symbol: &str) -> &str {
    match raw_symbol.as_bytes() {
        [.., month, tens, ones]
            if MONTHS.contains(char::from(*month)) && tens.is_ascii_digit() && ones.is_ascii_digit() =>
        {
            &raw_symbol[..raw_symbol.len() - 3]
        }
        _ => raw_symbol,
    }
}

/// USD that a unit of amount (of trades, books, liquidations and open interest) is worth on an inverse market, whatever the
/// price. `None` for all other markets, whose amounts are in coin.
pub fn contract_usd(exchange: &str, raw_symbol: &str) -> Option<f64> {
    let row = INVERSE.iter().find(|row| row.exchange == exchange && (row.is)(raw_symbol))?;
    let bitcoin = ["BTC", "XBT"].iter().any(|name| raw_symbol.starts_with(name));
    Some(if bitcoin { row.bitcoin } else { row.other })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::exchange::{Venue, venue};

    #[test]
    fn contracts_are_worth_what_the_venues_publish() {
        for (exchange, symbol, usd) in [
            ("BITMEX", "XBTUSD", Some(1.0)),
            ("BITMEX", "XBTH25", Some(1.0)),
            ("BITMEX", "XBT", None),
            ("BITMEX", "ETHH25", None),
            ("BITMEX", "ETHUSD", None), // a quanto contract
            ("BITMEX", "XBTUSDT", None),
            ("BYBIT", "BTCUSD", Some(1.0)),
            ("BYBIT", "ETHUSD", Some(1.0)),
            ("BYBIT", "BTCUSDH25", Some(1.0)),
            ("BYBIT", "BTCUSDT", None),
            ("DERIBIT", "BTC-PERPETUAL", Some(1.0)),
            ("DERIBIT", "ETH-27DEC24", Some(1.0)),
            ("DERIBIT", "BTC-27DEC24-100000-C", None), // options count coins
            ("DERIBIT", "BTC_USDC-PERPETUAL", None),
            ("GATE_IO_FUTURES", "BTC_USD", Some(1.0)),
            ("GATE_IO_FUTURES", "BTC_USDT", None),
            ("BINANCE_DELIVERY", "BTCUSD_PERP", Some(100.0)),
            ("BINANCE_DELIVERY", "BTCUSD_241227", Some(100.0)),
            ("BINANCE_DELIVERY", "XRPUSD_PERP", Some(10.0)),
            ("BINANCE_FUTURES", "BTCUSDT", None),
            ("OKEX_SWAP", "BTC-USD-SWAP", Some(100.0)),
            ("OKEX_SWAP", "ETH-USD-SWAP", Some(10.0)),
            ("OKEX_SWAP", "BTC-USDT-SWAP", None),
            ("OKEX_FUTURES", "LTC-USD-241227", Some(10.0)),
            ("HUOBI_DM_SWAP", "BTC-USD", Some(100.0)),
            ("HUOBI_DM", "BTC_CQ", Some(100.0)),
            ("HUOBI_DM_LINEAR_SWAP", "BTC-USDT", None),
            ("COINBASE", "BTC-USD", None),
            ("BYBIT_SPOT", "BTCUSD", None),
            ("NOWHERE", "", None),
        ] {
            assert_eq!(contract_usd(exchange, symbol), usd, "{exchange} {symbol}");
        }
    }

    #[test]
    fn only_known_derivatives_venues_have_contracts() {
        for row in &INVERSE {
            assert_eq!(venue(row.exchange), Some(Venue::Derivatives), "{}", row.exchange);
        }
    }

    #[test]
    fn dates_at_the_end_are_cut_off_and_nothing_else() {
        for (symbol, bare) in
            [("BTCUSDH25", "BTCUSD"), ("XBTZ24", "XBT"), ("BTCUSDT", "BTCUSDT"), ("H25", ""), ("éé1", "éé1"), ("", "")]
        {
            assert_eq!(undated(symbol), bare);
        }
    }
}
