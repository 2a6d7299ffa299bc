//! Inverse contracts: markets whose amounts count contracts of a fixed worth in USD, not coins. Dumps give the amounts as
//! the venue does, and name no unit; the venues publish it.

/// The inverse markets of one exchange.
#[derive(Debug, Clone, Copy)]
pub struct Inverse {
    /// Whether a raw symbol of the exchange is one of them.
    is: fn(&str) -> bool,
    /// USD that a unit of amount is worth on markets of Bitcoin.
    bitcoin: f64,
    /// USD that a unit of amount is worth on markets of other coins.
    other: f64,
}

/// Contracts of 100 USD for Bitcoin and 10 USD for any other coin: the size that most venues chose.
pub(super) const fn hundred(is: fn(&str) -> bool) -> Inverse {
    Inverse { is, bitcoin: 100.0, other: 10.0 }
}

/// Amounts that are stated in USD.
pub(super) const fn dollars(is: fn(&str) -> bool) -> Inverse {
    Inverse { is, bitcoin: 1.0, other: 1.0 }
}

impl Inverse {
    /// USD that a unit of amount is worth on a market; `None` where it is not inverse.
    pub fn worth(&self, raw_symbol: &str) -> Option<f64> {
        let bitcoin = || ["BTC", "XBT"].iter().any(|name| raw_symbol.starts_with(name));
        (self.is)(raw_symbol).then(|| if bitcoin() { self.bitcoin } else { self.other })
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_at_the_end_are_cut_off_and_nothing_else() {
        for (symbol, bare) in
            [("BTCUSDH25", "BTCUSD"), ("XBTZ24", "XBT"), ("BTCUSDT", "BTCUSDT"), ("H25", ""), ("éé1", "éé1"), ("", "")]
        {
            assert_eq!(undated(symbol), bare);
        }
    }
}
