//! The exchanges whose names are published (supplement 1). More than a hundred others exist: a name that is not in the
//! table is an open string and passes, unless it is so near to a known one that it can only be a slip.

use super::contract::{Inverse, dollars, hundred, undated};

/// Kind of markets of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VenueKind {
    /// Perpetuals, futures or options.
    Derivatives,
    /// Spot.
    Spot,
    /// Outcomes of events.
    Prediction,
}

/// Facts about an exchange: its markets, symbols, settlement and units.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    /// Name on the wire.
    pub name: &'static str,
    /// Kind of its markets.
    pub venue: VenueKind,
    /// Seconds between settlements of funding, which dumps do not contain.
    pub funding_seconds: i64,
    /// Whether symbols are bare coins, quoted in USD.
    pub bare_coins: bool,
    /// Whether symbols have the quote first: `KRW-BTC`.
    pub quote_first: bool,
    /// Whether every contract ends on a day.
    pub all_dated: bool,
    /// Whether futures are named by a bare coin, a month and a year: `XBTH25`, `BTCH5`.
    pub bare_months: bool,
    /// Whether the year in such a name is its last digit: `BTCH5`.
    pub one_digit_years: bool,
    /// Whether `BTCPERP` is quoted in USDC.
    pub perp_in_usdc: bool,
    /// The quote of futures whose symbols contain none.
    pub future_quote: ImpliedQuote,
    /// The quote of options whose symbols contain none.
    pub option_quote: ImpliedQuote,
    /// Whether combinations of contracts are traded, named by the code of a strategy before the date.
    pub combos: bool,
    /// Whether markets are quoted in BUSD.
    pub busd: bool,
    /// Assets that it names otherwise, with their usual names.
    pub aliases: &'static [(&'static str, &'static str)],
    /// The markets whose amounts count contracts.
    pub inverse: Option<Inverse>,
}

/// The quote of markets whose symbols contain none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImpliedQuote {
    /// Not known.
    Unknown,
    /// This asset.
    Asset(&'static str),
    /// The market's own coin.
    Coin,
}

/// The names of `BITFINEX` for two stablecoins.
const BITFINEX_NAMES: &[(&str, &str)] = &[("UST", "USDT"), ("UDC", "USDC")];

/// Seconds between settlements of funding on most exchanges.
const FUNDING_SECONDS: i64 = 8 * 3_600;

const fn spot(name: &'static str) -> Exchange {
    Exchange {
        name,
        venue: VenueKind::Spot,
        funding_seconds: FUNDING_SECONDS,
        bare_coins: false,
        quote_first: false,
        all_dated: false,
        bare_months: false,
        one_digit_years: false,
        perp_in_usdc: false,
        future_quote: ImpliedQuote::Unknown,
        option_quote: ImpliedQuote::Unknown,
        combos: false,
        busd: false,
        aliases: &[],
        inverse: None,
    }
}

const fn derivatives(name: &'static str) -> Exchange {
    Exchange { venue: VenueKind::Derivatives, ..spot(name) }
}

/// The table, in the supplement's order. `BitMEX`'s other USD contracts are quanto (ETHUSD settles in Bitcoin): their worth in
/// USD follows the price, and so they are not inverse.
pub static EXCHANGES: [Exchange; 26] = [
    Exchange { busd: true, ..derivatives("BINANCE_FUTURES") },
    Exchange { inverse: Some(hundred(|symbol| symbol.contains("USD_"))), ..derivatives("BINANCE_DELIVERY") },
    Exchange {
        perp_in_usdc: true,
        future_quote: ImpliedQuote::Asset("USDC"), // BTC-27DEC24
        option_quote: ImpliedQuote::Asset("USDC"),
        inverse: Some(dollars(|symbol| undated(symbol).ends_with("USD"))),
        ..derivatives("BYBIT")
    },
    Exchange { inverse: Some(hundred(|symbol| symbol.ends_with("-USD-SWAP"))), ..derivatives("OKEX_SWAP") },
    Exchange {
        all_dated: true,
        inverse: Some(hundred(|symbol| symbol.contains("-USD-"))),
        ..derivatives("OKEX_FUTURES")
    },
    Exchange {
        option_quote: ImpliedQuote::Coin,
        combos: true,
        inverse: Some(dollars(|symbol| symbol.split('-').count() == 2 && !symbol.contains('_'))),
        ..derivatives("DERIBIT")
    },
    Exchange {
        bare_months: true,
        future_quote: ImpliedQuote::Asset("BTC"), // ETHZ20; those of Bitcoin are inverse
        inverse: Some(dollars(|symbol| symbol == "XBTUSD" || symbol != "XBT" && undated(symbol) == "XBT")),
        ..derivatives("BITMEX")
    },
    Exchange { perp_in_usdc: true, ..derivatives("BITGET") },
    Exchange { aliases: BITFINEX_NAMES, ..derivatives("BITFINEX_DERIVATIVES") },
    Exchange { inverse: Some(dollars(|symbol| symbol == "BTC_USD")), ..derivatives("GATE_IO_FUTURES") },
    Exchange { funding_seconds: 3_600, bare_coins: true, ..derivatives("HYPERLIQUID_FUTURES") },
    Exchange { all_dated: true, inverse: Some(hundred(|_| true)), ..derivatives("HUOBI_DM") },
    Exchange { inverse: Some(hundred(|symbol| symbol.ends_with("-USD"))), ..derivatives("HUOBI_DM_SWAP") },
    derivatives("HUOBI_DM_LINEAR_SWAP"),
    Exchange {
        all_dated: true,
        bare_months: true,
        one_digit_years: true,
        future_quote: ImpliedQuote::Asset("USD"),
        option_quote: ImpliedQuote::Asset("USD"),
        ..derivatives("CME")
    },
    Exchange { busd: true, ..spot("BINANCE") },
    spot("BYBIT_SPOT"),
    spot("COINBASE"),
    spot("OKEX"),
    Exchange { aliases: BITFINEX_NAMES, ..spot("BITFINEX") },
    spot("GATE_IO"),
    spot("BITSTAMP"),
    Exchange { quote_first: true, ..spot("UPBIT") },
    spot("HUOBI"),
    Exchange { funding_seconds: 3_600, bare_coins: true, ..spot("HYPERLIQUID") },
    Exchange { venue: VenueKind::Prediction, ..spot("PREDICTION_VENUE") },
];

impl Exchange {
    /// The row of an exchange; `None` for one that the table does not know.
    pub fn find(name: &str) -> Option<&'static Self> {
        EXCHANGES.iter().find(|row| row.name == name)
    }
}

/// Kind of markets of an exchange; `None` if the table does not have it.
pub fn venue(name: &str) -> Option<VenueKind> {
    Exchange::find(name).map(|row| row.venue)
}

/// Seconds between settlements of funding on an exchange, known or not.
pub fn funding_seconds(name: &str) -> i64 {
    Exchange::find(name).map_or(FUNDING_SECONDS, |row| row.funding_seconds)
}

/// Whether a fact is known to hold of an exchange.
pub fn is(name: &str, fact: impl Fn(&Exchange) -> bool) -> bool {
    Exchange::find(name).is_some_and(fact)
}

/// USD that a unit of amount (of trades, books, liquidations and open interest) is worth on an inverse market, whatever the
/// price. `None` for all other markets, whose amounts are in coin.
pub fn contract_usd(exchange: &str, raw_symbol: &str) -> Option<f64> {
    Exchange::find(exchange)?.inverse?.worth(raw_symbol)
}

/// From this length on, two edits make a slip; in shorter names one.
const LONG: usize = 8;

/// The known exchange that a name is a slip of; `None` for known names and for really unknown ones.
///
/// A slip is another case or separator, a letter too many, missing or swapped with its neighbour, and in long names any
/// two such edits. Whole words more (`BINANCE_US`) are other exchanges, and so may be a short name with another letter.
pub fn near_miss(name: &str) -> Option<&'static str> {
    if venue(name).is_some() {
        return None;
    }
    let wanted: String = name
        .trim()
        .chars()
        .map(|letter| if letter.is_alphanumeric() { letter.to_ascii_uppercase() } else { '_' })
        .collect();
    let slips = EXCHANGES.iter().map(|row| (strsim::osa_distance(&wanted, row.name), row.name));
    let nearest = slips.filter(|(edits, known)| match edits {
        0 => true,
        1 if known.len() < LONG => wanted.len() != known.len() || sorted(&wanted) == sorted(known),
        edits => known.len() >= LONG && *edits <= 2,
    });
    nearest.min_by_key(|(edits, _)| *edits).map(|(_, known)| known)
}

fn sorted(text: &str) -> Vec<char> {
    let mut letters: Vec<char> = text.chars().collect();
    letters.sort_unstable();
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_seen_through() {
        for (slip, meant) in [
            ("BINANCE_FUTURE", "BINANCE_FUTURES"),
            ("BINANCEFUTURES", "BINANCE_FUTURES"),
            ("binance-futures", "BINANCE_FUTURES"),
            ("Binance", "BINANCE"),
            ("BYBTI", "BYBIT"),
            ("OKX", "OKEX"),
            ("DERBIT", "DERIBIT"),
            ("HYPERLIQIUD", "HYPERLIQUID"),
            ("OKEX_SWAPS", "OKEX_SWAP"),
        ] {
            assert_eq!(near_miss(slip), Some(meant), "{slip}");
        }
    }

    #[test]
    fn known_and_really_unknown_names_pass() {
        for Exchange { name, .. } in &EXCHANGES {
            assert_eq!(near_miss(name), None, "{name}");
        }
        for other in
            ["KRAKEN", "BINANCE_US", "BITMAX", "BITMART", "OKEX_OPTIONS", "BITGET_SPOT", "GEMINI", "X", "", "交易所"]
        {
            assert_eq!(near_miss(other), None, "{other}");
        }
    }

    #[test]
    fn names_stand_once() {
        for (index, Exchange { name, .. }) in EXCHANGES.iter().enumerate() {
            assert!(EXCHANGES[..index].iter().all(|other| other.name != *name), "{name}");
        }
        assert_eq!(
            (venue("CME"), venue("UPBIT"), venue("cme")),
            (Some(VenueKind::Derivatives), Some(VenueKind::Spot), None)
        );
    }

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
    fn only_derivatives_venues_have_contracts() {
        for row in EXCHANGES.iter().filter(|row| row.inverse.is_some()) {
            assert_eq!(row.venue, VenueKind::Derivatives, "{}", row.name);
        }
    }
}
