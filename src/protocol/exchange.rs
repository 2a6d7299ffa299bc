//! The exchanges whose names are published (supplement 1). More than a hundred others exist: a name that is not in the
//! table is an open string and passes, unless it is so near to a known one that it can only be a slip.

/// What an exchange trades.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Venue {
    /// Perpetuals, futures or options.
    Derivatives,
    /// Spot.
    Spot,
    /// Outcomes of events.
    Prediction,
}

/// The table: name on the wire and what is traded there, in the supplement's order.
pub const EXCHANGES: [(&str, Venue); 26] = [
    ("BINANCE_FUTURES", Venue::Derivatives),
    ("BINANCE_DELIVERY", Venue::Derivatives),
    ("BYBIT", Venue::Derivatives),
    ("OKEX_SWAP", Venue::Derivatives),
    ("OKEX_FUTURES", Venue::Derivatives),
    ("DERIBIT", Venue::Derivatives),
    ("BITMEX", Venue::Derivatives),
    ("BITGET", Venue::Derivatives),
    ("BITFINEX_DERIVATIVES", Venue::Derivatives),
    ("GATE_IO_FUTURES", Venue::Derivatives),
    ("HYPERLIQUID_FUTURES", Venue::Derivatives),
    ("HUOBI_DM", Venue::Derivatives),
    ("HUOBI_DM_SWAP", Venue::Derivatives),
    ("HUOBI_DM_LINEAR_SWAP", Venue::Derivatives),
    ("CME", Venue::Derivatives),
    ("BINANCE", Venue::Spot),
    ("BYBIT_SPOT", Venue::Spot),
    ("COINBASE", Venue::Spot),
    ("OKEX", Venue::Spot),
    ("BITFINEX", Venue::Spot),
    ("GATE_IO", Venue::Spot),
    ("BITSTAMP", Venue::Spot),
    ("UPBIT", Venue::Spot),
    ("HUOBI", Venue::Spot),
    ("HYPERLIQUID", Venue::Spot),
    ("PREDICTION_VENUE", Venue::Prediction),
];

/// Names from this length on are told apart by more than two letters.
const LONG: usize = 8;

/// What an exchange of the table trades; `None` for one that the table does not know.
pub fn venue(name: &str) -> Option<Venue> {
    EXCHANGES.iter().find(|(known, _)| *known == name).map(|(_, venue)| *venue)
}

/// Seconds between settlements of funding on most exchanges.
const FUNDING_SECONDS: i64 = 8 * 3_600;
/// Exchanges that settle funding every hour.
const HOURLY: [&str; 2] = ["HYPERLIQUID_FUTURES", "HYPERLIQUID"];

/// Seconds between settlements of funding on an exchange: dumps do not tell it.
pub fn funding_seconds(name: &str) -> i64 {
    if HOURLY.contains(&name) { 3_600 } else { FUNDING_SECONDS }
}

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
    let slips = EXCHANGES.iter().map(|(known, _)| (strsim::osa_distance(&wanted, known), *known));
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
        for (known, _) in EXCHANGES {
            assert_eq!(near_miss(known), None, "{known}");
        }
        for other in
            ["KRAKEN", "BINANCE_US", "BITMAX", "BITMART", "OKEX_OPTIONS", "BITGET_SPOT", "GEMINI", "X", "", "交易所"]
        {
            assert_eq!(near_miss(other), None, "{other}");
        }
    }

    #[test]
    fn names_stand_once() {
        for (index, (name, _)) in EXCHANGES.iter().enumerate() {
            assert!(EXCHANGES[..index].iter().all(|(other, _)| other != name), "{name}");
        }
        assert_eq!((venue("CME"), venue("UPBIT"), venue("cme")), (Some(Venue::Derivatives), Some(Venue::Spot), None));
    }
}
