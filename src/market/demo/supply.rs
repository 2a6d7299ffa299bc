//! The demo's token supply: a snapshot of every coin at 00:00 UTC, priced by the coin's path.

use super::catalog::{BEGIN, END, Traits};
use super::noise::{place, smooth};
use super::path::Path;
use crate::market::source::Listing;
use crate::market::summaries::{Supply, SupplyRow, Token};

const DAY: i64 = 86_400;
const MINUTES_A_DAY: i64 = 1_440;
/// The date that the figures of [`FACTS`] are of: 2026-01-01.
const AS_OF: i64 = 1_767_225_600;
const YEAR: f64 = 365.25 * 86_400.0;
/// Looks at a day's turnover.
const LOOKS: i64 = 24;
/// Keeps these hashes apart from those of the markets.
const SALT: u64 = 0x5355_504c;

/// A chain, the contract there (empty for the chain's own coin), and the part of the market capitalization locked there.
type Chain = (&'static str, &'static str, f64);

/// What is known of a coin. Supplies are those of [`AS_OF`].
struct Facts {
    coin: &'static str,
    circulating: f64,
    /// Yearly growth of the circulating supply, as a fraction.
    growth: f64,
    /// Coins that exist already; 0 where those are the circulating ones.
    existing: f64,
    /// Coins that there can ever be; infinite where nothing bounds them.
    most: f64,
    chains: &'static [Chain],
}

const FACTS: [Facts; 10] = [
    Facts {
        coin: "BTC",
        circulating: 19.97e6,
        growth: 0.0082,
        existing: 0.0,
        most: 21e6,
        chains: &[("BITCOIN", "", 0.004)],
    },
    Facts {
        coin: "ETH",
        circulating: 120.7e6,
        growth: 0.004,
        existing: 0.0,
        most: f64::INFINITY,
        chains: &[("ETHEREUM", "", 0.17)],
    },
    Facts {
        coin: "SOL",
        circulating: 562e6,
        growth: 0.03,
        existing: 0.0,
        most: f64::INFINITY,
        chains: &[("SOLANA", "", 0.11)],
    },
    Facts {
        coin: "XRP",
        circulating: 60.6e9,
        growth: 0.03,
        existing: 99.9e9,
        most: 100e9,
        chains: &[("XRPL", "", 0.0006)],
    },
    Facts {
        coin: "BNB",
        circulating: 137.7e6,
        growth: -0.03,
        existing: 0.0,
        most: 200e6,
        chains: &[("BSC", "", 0.06)],
    },
    Facts {
        coin: "DOGE",
        circulating: 151.8e9,
        growth: 0.033,
        existing: 0.0,
        most: f64::INFINITY,
        chains: &[("DOGECOIN", "", 0.0), ("BSC", "0xba2ae424d960c26247dd6c32edc70b295c744c43", 0.0004)],
    },
    Facts {
        coin: "ADA",
        circulating: 36.6e9,
        growth: 0.02,
        existing: 45e9,
        most: 45e9,
        chains: &[("CARDANO", "", 0.012)],
    },
    Facts {
        coin: "LINK",
        circulating: 697e6,
        growth: 0.06,
        existing: 1e9,
        most: 1e9,
        chains: &[
            ("ETHEREUM", "0x514910771af9ca656af840dff83e8264ecf986ca", 0.05),
            ("BSC", "0xf8a0bf9cf54bb92f17374d9e9a321e6a111a51bd", 0.003),
            ("ARBITRUM", "0xf97f4df75117a78c1a5a0dbb814af92458539fb4", 0.006),
        ],
    },
    Facts {
        coin: "AVAX",
        circulating: 427e6,
        growth: 0.04,
        existing: 460e6,
        most: 720e6,
        chains: &[("AVALANCHE", "", 0.12), ("BSC", "0x1ce0c2827e2ef14d5c4f29a091d735a204794041", 0.001)],
    },
    Facts {
        coin: "LTC",
        circulating: 76.6e6,
        growth: 0.013,
        existing: 0.0,
        most: 84e6,
        chains: &[("LITECOIN", "", 0.0)],
    },
];

/// What the demo knows of a token beside what it tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenTraits {
    path: Path,
    /// Place in [`FACTS`].
    facts: usize,
    /// Coin traded in a minute over all venues.
    minute_amount: f64,
}

impl TokenTraits {
    fn facts(&self) -> &'static Facts {
        &FACTS[self.facts]
    }

    /// Coins in circulation at a second.
    fn circulating(&self, at: i64) -> f64 {
        let facts = self.facts();
        let years = (at - AS_OF) as f64 / YEAR;
        let bound = if facts.existing > 0.0 { facts.existing } else { facts.most };
        (facts.circulating * (1.0 + facts.growth).powf(years)).min(bound).round()
    }
}

/// The tokens of the coins of these markets.
pub(super) fn tokens(listings: &[Listing], traits: &[Traits]) -> (Vec<Token>, Vec<TokenTraits>) {
    let (mut tokens, mut details) = (Vec::new(), Vec::new());
    for (place, facts) in FACTS.iter().enumerate() {
        let markets: Vec<_> = listings.iter().zip(traits).filter(|(listing, _)| listing.coin == facts.coin).collect();
        let Some((listing, first)) = markets.first() else { continue };
        tokens.push(Token { coin: facts.coin.to_owned(), name: listing.coin_name.clone(), available_since: BEGIN });
        let minute_amount = markets.iter().map(|(_, market)| market.minute_amount).sum();
        details.push(TokenTraits { path: first.path, facts: place, minute_amount });
    }
    (tokens, details)
}

/// Times of the snapshots to visit: the last before `from` and those in `[from, to)`, none after the second `now`.
pub(super) fn times(from: i64, to: i64, now: i64) -> impl Iterator<Item = i64> {
    let before = from.saturating_sub(1).min(now).min(END - 1);
    let first = (before - before.rem_euclid(DAY)).max(BEGIN);
    let end = to.max(from).min(now.saturating_add(1)).min(END);
    (first..end).step_by(DAY as usize)
}

/// The snapshot of a token at a second that [`times`] told. `price` gives a path's price at a Unix minute.
pub(super) fn snapshot(tokens: &[TokenTraits], token: usize, time: i64, price: impl Fn(&Path, i64) -> f64) -> Supply {
    let (one, facts) = (&tokens[token], tokens[token].facts());
    let caps: Vec<f64> = tokens.iter().map(|token| price(&token.path, time / 60) * token.circulating(time)).collect();
    let usd_price = price(&one.path, time / 60);
    let circulating = one.circulating(time);
    let total = if facts.existing > 0.0 { facts.existing } else { circulating };
    let max = if facts.most.is_finite() { facts.most } else { f64::NAN };
    let row = SupplyRow {
        marketcap: caps[token],
        first_marketcap: price(&one.path, BEGIN / 60) * one.circulating(BEGIN),
        dominance: 100.0 * caps[token] / (caps.iter().sum::<f64>() * (1.0 + others(tokens, time))),
        circulating,
        total,
        max,
        locked: 0.0,
        diluted: usd_price * if max.is_nan() { total } else { max },
        chain: String::new(),
        contract: String::new(),
        rank: 1.0 + caps.iter().filter(|cap| **cap > caps[token]).count() as f64,
        volume: volume(one, time, &price),
        price: usd_price,
    };
    let on_chain = |(chain, contract, part): &Chain| {
        let wave = 0.3 * smooth(place(&[one.path.seed(), SALT, chain.len() as u64]), (time / DAY) as f64 / 40.0);
        SupplyRow {
            // What nobody measures is unknown, not nothing.
            locked: if *part > 0.0 { row.marketcap * part * wave.exp() } else { f64::NAN },
            chain: (*chain).to_owned(),
            contract: (*contract).to_owned(),
            ..row.clone()
        }
    };
    Supply { time, rows: facts.chains.iter().map(on_chain).collect() }
}

/// Market capitalization of the coins that the demo does not list, in parts of those that it does.
fn others(tokens: &[TokenTraits], time: i64) -> f64 {
    let seed = tokens.first().map_or(0, |token| token.path.seed()) ^ SALT;
    0.16 + 0.06 * smooth(seed, (time / DAY) as f64 / 60.0)
}

/// What the coin's markets trade in the day before, on the average that their trades are drawn around.
fn volume(token: &TokenTraits, time: i64, price: &impl Fn(&Path, i64) -> f64) -> f64 {
    let minutes = (0..LOOKS).map(|look| time / 60 - MINUTES_A_DAY + (2 * look + 1) * MINUTES_A_DAY / (2 * LOOKS));
    let mean = minutes.map(|minute| token.path.wildness(minute) * price(&token.path, minute)).sum::<f64>();
    token.minute_amount * mean * (MINUTES_A_DAY / LOOKS) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(from: i64, to: i64, now: i64) -> Vec<i64> {
        times(BEGIN + from, BEGIN + to, BEGIN + now).map(|time| time - BEGIN).collect()
    }

    #[test]
    fn the_snapshot_before_the_window_comes_first() {
        assert_eq!(days(DAY, 3 * DAY, 9 * DAY), [0, DAY, 2 * DAY]);
        assert_eq!(days(DAY + 1, 2 * DAY, 9 * DAY), [DAY]);
        assert_eq!(days(DAY + 60, DAY + 60, 9 * DAY), [DAY]);
        assert_eq!(days(-5 * DAY, 1, 9 * DAY), [0]);
        assert!(days(-5 * DAY, 0, 9 * DAY).is_empty());
        assert_eq!(days(5 * DAY, 9 * DAY, 5 * DAY - 1), [4 * DAY]);
        assert_eq!(days(7 * DAY, 9 * DAY, 5 * DAY), [5 * DAY]);
        assert!(days(0, 9 * DAY, -1).is_empty());
        assert_eq!(times(END + DAY, i64::MAX, i64::MAX).collect::<Vec<_>>(), [END - DAY]);
    }
}
