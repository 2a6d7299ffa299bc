//! Reading of raw symbols: base and quote, category, expiry. Dumps describe a market only by its exchange
//! and its symbol; this is the one place that knows how venues spell them.

mod expiry;
#[cfg(test)]
mod tests;
mod words;

use self::expiry::Expiry;
use self::words::{BUSD, PERPETUAL_WORDS, QUOTES, ROLLING_WORDS, UST};
use super::exchange::{self, Exchange, ImpliedQuote, VenueKind, contract_usd, venue};
use crate::clock::UnixSecond;

/// Kind of a market (supplement 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// Coins against money or other coins.
    Spot,
    /// A contract without an end.
    Perpetual,
    /// A contract that ends on a day.
    Future,
    /// A call or a put.
    Option,
    /// Several contracts traded as one.
    Combo,
}

impl Category {
    /// Every one, as the supplement lists them.
    pub const ALL: [Self; 5] = [Self::Spot, Self::Perpetual, Self::Future, Self::Option, Self::Combo];
    /// The categories of markets that end on a day.
    pub const ENDING: [Self; 3] = [Self::Future, Self::Option, Self::Combo];

    /// Name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spot => "SPOT",
            Self::Perpetual => "PERPETUAL",
            Self::Future => "FUTURE",
            Self::Option => "OPTION",
            Self::Combo => "COMBO",
        }
    }
}

/// Facts that the names of a market spell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Base asset.
    pub coin: String,
    /// Quote asset; empty where the names do not contain it.
    pub quote: String,
    /// Kind of market.
    pub category: Category,
    /// End of a future: its day, such as `241227`, or a word for it, such as `CQ`.
    pub expiry: Option<String>,
}

/// Reads the names of a market. `since` is a time from which on it traded: a symbol may hold only the last digit of the
/// year in which a future ends.
pub fn parse(exchange: &str, raw_symbol: &str, since: UnixSecond) -> Symbol {
    let upper = raw_symbol.to_uppercase();
    let parts: Vec<&str> = upper.split(['-', '_', '/', ':']).collect();
    let (expiry, base) = Expiry::find(exchange, &parts, since);
    let category = category(exchange, &parts, expiry.as_ref());
    let (mut coin, mut quote) = base_and_quote(exchange, &parts, base, category);
    if exchange::is(exchange, |row| row.quote_first) && !quote.is_empty() {
        std::mem::swap(&mut coin, &mut quote);
    }
    let coin = alias(exchange, &coin).to_owned();
    let quote = if contract_usd(exchange, raw_symbol).is_some() {
        "USD".to_owned()
    } else if quote.is_empty() {
        usual_quote(exchange, &coin, &parts, category).to_owned()
    } else {
        alias(exchange, &quote).to_owned()
    };
    let expiry = expiry.filter(|_| category == Category::Future).map(|expiry| expiry.text);
    Symbol { coin, quote, category, expiry }
}

fn category(exchange: &str, parts: &[&str], expiry: Option<&Expiry>) -> Category {
    let derivatives = venue(exchange) == Some(VenueKind::Derivatives);
    let words = parts.get(1..).unwrap_or_default();
    let dated = expiry.and_then(|expiry| expiry.part);
    if let Some(dated) = dated {
        // BTC-27DEC24-100000-C
        if parts[dated + 1..].iter().any(|part| matches!(*part, "C" | "P")) {
            return Category::Option;
        }
        // BTC-FS-27DEC24_PERP: the code of a strategy stands before the date.
        let strategy = |part: &str| !QUOTES.contains(&part) && part.bytes().all(|byte| byte.is_ascii_alphabetic());
        if exchange::is(exchange, |row| row.combos) && dated > 1 && strategy(parts[dated - 1]) {
            return Category::Combo;
        }
    }
    if expiry.is_some() || exchange::is(exchange, |row| row.all_dated) {
        return Category::Future;
    }
    let perpetual = words.iter().any(|part| PERPETUAL_WORDS.contains(part)) || is_bitfinex_perpetual(parts);
    if perpetual || derivatives { Category::Perpetual } else { Category::Spot }
}

/// Base and quote as the symbol spells them; `base` is its first part without a date. The quote is empty where the symbol
/// has none.
fn base_and_quote(exchange: &str, parts: &[&str], base: &str, category: Category) -> (String, String) {
    if is_bitfinex_perpetual(parts) {
        let names = [parts[0], parts[1]].map(|part| part.strip_suffix(FUNDED).unwrap_or(part).to_owned());
        let [coin, quote] = names;
        return (coin, quote);
    }
    let is_word = |part: &str| PERPETUAL_WORDS.contains(&part) || ROLLING_WORDS.contains(&part);
    // The parts after the date of an option or a combination are strikes and strategies.
    let named = matches!(category, Category::Option | Category::Combo);
    let is_quote = |part: &str| !is_word(part) && expiry::date(part).is_none() && (!named || QUOTES.contains(&part));
    if let Some(quote) = parts[1..].iter().find(|part| !part.is_empty() && is_quote(part)) {
        return (base.to_owned(), (*quote).to_owned());
    }
    if exchange::is(exchange, |row| row.bare_coins) {
        return (base.to_owned(), String::new());
    }
    let spelt = |quote: &&str| match *quote {
        BUSD => Exchange::find(exchange).is_none_or(|row| row.busd),
        UST => alias(exchange, UST) != UST,
        _ => true,
    };
    let ends = |quote: &&str| base.len() > quote.len() && base.ends_with(*quote);
    if let Some(quote) = QUOTES.iter().copied().filter(spelt).find(ends) {
        return (base[..base.len() - quote.len()].to_owned(), quote.to_owned());
    }
    let derivatives = venue(exchange) == Some(VenueKind::Derivatives);
    let coin = base.strip_suffix(PERP).filter(|coin| derivatives && !coin.is_empty());
    (coin.unwrap_or(base).to_owned(), String::new())
}

/// How a perpetual without a separator ends: `BTCPERP`.
const PERP: &str = "PERP";
/// How both names of a Bitfinex perpetual end: `BTCF0:USTF0`.
const FUNDED: &str = "F0";

fn is_bitfinex_perpetual(parts: &[&str]) -> bool {
    matches!(parts, [base, quote] if base.len() > FUNDED.len() && base.ends_with(FUNDED) && quote.ends_with(FUNDED))
}

/// The quote of a market whose symbol has none.
fn usual_quote<'a>(exchange: &str, coin: &'a str, parts: &[&str], category: Category) -> &'a str {
    let Some(row) = Exchange::find(exchange) else { return "" };
    let implied = match category {
        Category::Future => row.future_quote,
        Category::Option => row.option_quote,
        Category::Spot | Category::Perpetual | Category::Combo => ImpliedQuote::Unknown,
    };
    match implied {
        _ if row.perp_in_usdc && parts[0].ends_with(PERP) => "USDC",
        ImpliedQuote::Asset(quote) => quote,
        ImpliedQuote::Coin => coin,
        ImpliedQuote::Unknown if row.bare_coins => "USD",
        ImpliedQuote::Unknown => "",
    }
}

/// The usual name of what a venue names otherwise.
fn alias<'a>(exchange: &str, name: &'a str) -> &'a str {
    let own = Exchange::find(exchange).map_or(&[][..], |row| row.aliases);
    match own.iter().find(|(spelled, _)| *spelled == name) {
        Some((_, usual)) => usual,
        None if name == "XBT" => "BTC",
        None => name,
    }
}
