//! The demo's token supply: a snapshot of every coin at 00:00 UTC, priced by the coin's path.

use crate::clock::{MINUTES_PER_DAY, SECONDS_PER_DAY as DAY, UnixMinute, UnixNanos, UnixSecond, Window};
use crate::market::demo::catalog::MarketTraits;
use crate::market::demo::clock::{BEGIN, END};
use crate::market::demo::noise::{place, smooth};
use crate::market::demo::path::Path;
use crate::market::raw::{Instrument, SourceError, Supply, SupplyFeed, SupplyRow, Token};

const YEAR: f64 = 365.2425 * DAY as f64;
/// Looks at a day's turnover.
const LOOKS: i64 = 12;
/// Keeps these hashes apart from those of the markets.
const SALT: u64 = 0x5355_504c;

/// A chain, the contract there (empty for the chain's own coin), and the part of the market capitalization locked there.
type ChainShare = (&'static str, &'static str, f64);

/// The supply parameters of a coin.
struct Facts {
    coin: &'static str,
    /// Coins in circulation at points of time, in years: linear between them, constant before the first. Bitcoin's and
    /// Litecoin's points are their halvings; those before a coin existed are invented.
    circulating: &'static [(f64, f64)],
    /// Yearly growth after the last point, as a fraction.
    growth: f64,
    /// Coins that exist already; 0 if all of them circulate.
    existing: f64,
    /// Maximum supply; infinite if it is unbounded.
    most: f64,
    chains: &'static [ChainShare],
}

const FACTS: [Facts; 10] = [
    Facts {
        coin: "BTC",
        circulating: &[
            (2_015.0, 13.67e6),
            (2_016.52, 15.75e6),
            (2_020.36, 18.375e6),
            (2_024.3, 19.6875e6),
            (2_028.3, 20_343_750.0),
            (2_032.3, 20_671_875.0),
            (2_036.3, 20_835_937.0),
            (2_040.3, 20_917_968.0),
        ],
        growth: 0.001,
        existing: 0.0,
        most: 21e6,
        chains: &[("BITCOIN", "", 0.004)],
    },
    Facts {
        coin: "ETH",
        circulating: &[
            (2_015.0, 72e6),
            (2_016.0, 76e6),
            (2_017.0, 87.6e6),
            (2_018.0, 96.8e6),
            (2_019.0, 104.2e6),
            (2_020.0, 109.1e6),
            (2_021.0, 114.1e6),
            (2_022.0, 119e6),
            (2_023.0, 120.5e6),
            (2_026.0, 120.7e6),
        ],
        growth: 0.004,
        existing: 0.0,
        most: f64::INFINITY,
        chains: &[("ETHEREUM", "", 0.17)],
    },
    Facts {
        coin: "SOL",
        circulating: &[
            (2_020.0, 16e6),
            (2_021.0, 47e6),
            (2_022.0, 311e6),
            (2_023.0, 367e6),
            (2_024.0, 429e6),
            (2_025.0, 482e6),
            (2_026.0, 562e6),
        ],
        growth: 0.03,
        existing: 0.0,
        most: f64::INFINITY,
        chains: &[("SOLANA", "", 0.11)],
    },
    Facts {
        coin: "XRP",
        circulating: &[
            (2_015.0, 31e9),
            (2_018.0, 38.7e9),
            (2_021.0, 45.4e9),
            (2_023.0, 50.3e9),
            (2_024.0, 54.2e9),
            (2_025.0, 57.4e9),
            (2_026.0, 60.6e9),
        ],
        growth: 0.03,
        existing: 99.9e9,
        most: 100e9,
        chains: &[("XRPL", "", 0.0006)],
    },
    Facts {
        coin: "BNB",
        circulating: &[
            (2_018.0, 199e6),
            (2_020.0, 187e6),
            (2_022.0, 168e6),
            (2_024.0, 150e6),
            (2_026.0, 137.7e6),
            (2_035.0, 100e6),
        ],
        growth: 0.0,
        existing: 0.0,
        most: 200e6,
        chains: &[("BSC", "", 0.06)],
    },
    Facts {
        coin: "DOGE",
        circulating: &[(2_015.0, 98e9), (2_026.0, 151.8e9), (2_046.0, 253e9)],
        growth: 0.02,
        existing: 0.0,
        most: f64::INFINITY,
        chains: &[("DOGECOIN", "", 0.0), ("BSC", "0xba2ae424d960c26247dd6c32edc70b295c744c43", 0.0004)],
    },
    Facts {
        coin: "ADA",
        circulating: &[
            (2_018.0, 25.9e9),
            (2_020.0, 25.9e9),
            (2_021.0, 31.1e9),
            (2_022.0, 33.5e9),
            (2_024.0, 35.4e9),
            (2_026.0, 36.6e9),
        ],
        growth: 0.02,
        existing: 45e9,
        most: 45e9,
        chains: &[("CARDANO", "", 0.012)],
    },
    Facts {
        coin: "LINK",
        circulating: &[
            (2_020.0, 350e6),
            (2_021.0, 400e6),
            (2_022.0, 467e6),
            (2_023.0, 508e6),
            (2_024.0, 568e6),
            (2_025.0, 638e6),
            (2_026.0, 697e6),
        ],
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
        circulating: &[
            (2_020.0, 60e6),
            (2_021.0, 77e6),
            (2_022.0, 243e6),
            (2_023.0, 311e6),
            (2_024.0, 365e6),
            (2_025.0, 410e6),
            (2_026.0, 427e6),
        ],
        growth: 0.04,
        existing: 460e6,
        most: 720e6,
        chains: &[("AVALANCHE", "", 0.12), ("BSC", "0x1ce0c2827e2ef14d5c4f29a091d735a204794041", 0.001)],
    },
    Facts {
        coin: "LTC",
        circulating: &[
            (2_015.0, 35.2e6),
            (2_015.65, 42e6),
            (2_019.59, 63e6),
            (2_023.59, 73.5e6),
            (2_027.6, 78.75e6),
            (2_031.6, 81.375e6),
            (2_035.6, 82.6875e6),
        ],
        growth: 0.001,
        existing: 0.0,
        most: 84e6,
        chains: &[("LITECOIN", "", 0.0)],
    },
];

/// The demo's parameters of a token.
#[derive(Debug, Clone, Copy)]
struct TokenTraits {
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
    fn circulating(&self, at: UnixSecond) -> f64 {
        let facts = self.facts();
        let year = 2_015.0 + at.since(BEGIN) as f64 / YEAR;
        let next = facts.circulating.partition_point(|(since, _)| *since <= year);
        let before = facts.circulating[next.saturating_sub(1)];
        let coins = match facts.circulating.get(next) {
            Some(after) if next > 0 => before.1 + (after.1 - before.1) * (year - before.0) / (after.0 - before.0),
            Some(_) => before.1,
            None => before.1 * (1.0 + facts.growth).powf(year - before.0),
        };
        let bound = if facts.existing > 0.0 { facts.existing } else { facts.most };
        coins.min(bound).round()
    }
}

/// The demo's token supply.
pub(in crate::market) struct DemoSupply {
    tokens: Vec<Token>,
    traits: Vec<TokenTraits>,
}

impl DemoSupply {
    /// The supply of the coins of these markets.
    pub(in crate::market) fn new(instruments: &[Instrument], traits: &[MarketTraits]) -> Self {
        let (tokens, traits) = tokens(instruments, traits);
        Self { tokens, traits }
    }
}

impl SupplyFeed for DemoSupply {
    fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    fn supply(
        &self,
        token: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(Supply),
    ) -> Result<(), SourceError> {
        times(window, now.second()).for_each(|time| visit(snapshot(&self.traits, token, time)));
        Ok(())
    }
}

/// The tokens of the coins of these markets.
fn tokens(instruments: &[Instrument], traits: &[MarketTraits]) -> (Vec<Token>, Vec<TokenTraits>) {
    let (mut tokens, mut details) = (Vec::new(), Vec::new());
    for (place, facts) in FACTS.iter().enumerate() {
        let markets: Vec<_> =
            instruments.iter().zip(traits).filter(|(instrument, _)| instrument.coin == facts.coin).collect();
        let Some((instrument, first)) = markets.first() else { continue };
        tokens.push(Token { coin: facts.coin.to_owned(), name: instrument.coin_name.clone(), available_since: BEGIN });
        let minute_amount = markets.iter().map(|(_, market)| market.minute_amount).sum();
        details.push(TokenTraits { path: first.path, facts: place, minute_amount });
    }
    (tokens, details)
}

/// Times of the snapshots to visit: the last before a window and those in it, none after `now`.
fn times(Window { from, to }: Window, now: UnixSecond) -> impl Iterator<Item = UnixSecond> {
    let before = from.saturating_sub(1).min(now.0).min(END.0 - 1);
    let first = (before - before.rem_euclid(DAY)).max(BEGIN.0);
    let end = to.max(from).min(now.0.saturating_add(1)).min(END.0);
    (first..end).step_by(DAY as usize).map(UnixSecond)
}

/// The snapshot of a token at a second that [`times`] gave.
fn snapshot(tokens: &[TokenTraits], token: usize, time: UnixSecond) -> Supply {
    let (one, facts) = (&tokens[token], tokens[token].facts());
    let caps: Vec<f64> = tokens.iter().map(|token| token.path.price(time.minute()) * token.circulating(time)).collect();
    let usd_price = one.path.price(time.minute());
    let circulating = one.circulating(time);
    let total = if facts.existing > 0.0 { facts.existing } else { circulating };
    let max = if facts.most.is_finite() { facts.most } else { f64::NAN };
    let row = SupplyRow {
        marketcap: caps[token],
        first_marketcap: one.path.price(BEGIN.minute()) * one.circulating(BEGIN),
        dominance: 100.0 * caps[token] / (caps.iter().sum::<f64>() * (1.0 + others(tokens, time))),
        circulating,
        total,
        max,
        locked: 0.0,
        diluted: usd_price * if max.is_nan() { total } else { max },
        chain: String::new(),
        contract: String::new(),
        rank: 1.0 + caps.iter().filter(|cap| **cap > caps[token]).count() as f64,
        volume: volume(one, time),
        price: usd_price,
    };
    let on_chain = |(chain, contract, part): &ChainShare| {
        let wave = 0.3 * smooth(place(&[one.path.seed(), SALT, chain.len() as u64]), (time.0 / DAY) as f64 / 40.0);
        SupplyRow {
            // A figure that is not measured is unknown, not 0.
            locked: if *part > 0.0 { row.marketcap * part * wave.exp() } else { f64::NAN },
            chain: (*chain).to_owned(),
            contract: (*contract).to_owned(),
            ..row.clone()
        }
    };
    Supply { time, rows: facts.chains.iter().map(on_chain).collect() }
}

/// Market capitalization of the coins that the demo does not list, in parts of those that it does.
fn others(tokens: &[TokenTraits], time: UnixSecond) -> f64 {
    let seed = tokens.first().map_or(0, |token| token.path.seed()) ^ SALT;
    0.16 + 0.06 * smooth(seed, (time.0 / DAY) as f64 / 60.0)
}

/// Expected turnover of the coin's markets in the day before, USD.
fn volume(token: &TokenTraits, time: UnixSecond) -> f64 {
    let step = MINUTES_PER_DAY / LOOKS;
    let end = time.minute().0;
    let parts = (end - MINUTES_PER_DAY..end).step_by(step as usize);
    token.minute_amount
        * parts
            .map(|from| {
                token.path.due(UnixMinute(from), UnixMinute(from + step))
                    * token.path.price(UnixMinute(from + step / 2))
            })
            .sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(from: i64, to: i64, now: i64) -> Vec<i64> {
        times(Window::between(BEGIN.plus(from), BEGIN.plus(to)), BEGIN.plus(now))
            .map(|time| time.since(BEGIN))
            .collect()
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
        assert_eq!(
            times(Window { from: END.0 + DAY, to: i64::MAX }, UnixSecond(i64::MAX)).collect::<Vec<_>>(),
            [END.plus(-DAY)]
        );
    }

    #[test]
    fn supplies_follow_their_schedules() {
        let (_, tokens) = {
            let (instruments, traits) = crate::market::demo::catalog::markets(0);
            tokens(&instruments, &traits)
        };
        let of = |coin: &str, second: i64| {
            tokens.iter().find(|token| token.facts().coin == coin).unwrap().circulating(UnixSecond(second))
        };
        // Between the halvings of 2020 and 2024 there were 900 new Bitcoins a day.
        let (from, to) = (1_609_459_200, 1_640_995_200); // the year 2021
        assert!(((of("BTC", to) - of("BTC", from)) / 365.0 - 900.0).abs() < 20.0);
        for token in &tokens {
            let facts = token.facts();
            let years = (0..80).map(|year| token.circulating(BEGIN.plus(year * 365 * DAY)));
            assert!(years.clone().all(|coins| coins > 0.0 && coins <= facts.most), "{}", facts.coin);
            let steps: Vec<f64> = years.collect();
            assert!(steps.windows(2).all(|two| (0.8..12.0).contains(&(two[1] / two[0]))), "{}", facts.coin);
        }
    }
}
