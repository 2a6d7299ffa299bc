//! The demo's option summaries: implied volatility follows the volatility of the coin's path, skew moves against its
//! returns. A reading depends on no later minute.

use crate::clock::{MINUTES_PER_DAY, UnixMinute, UnixSecond};
use crate::market::demo::catalog::MarketTraits;
use crate::market::demo::clock::{BEGIN, END};
use crate::market::demo::noise::{place, smooth};
use crate::market::demo::path::Path;
use crate::market::query::rounding::round;
use crate::market::raw::{Instrument, OptionFeed, OptionSummary, SourceError, SummaryKind};
use crate::protocol::discovery::TENORS;

const VENUE: &str = "DERIBIT";
/// The coins with liquid options.
const COINS: [&str; 2] = ["BTC", "ETH"];
/// Keeps the hashes of the option venue apart from those of the other markets.
const SALT: u64 = 0x4f50_5449;
/// Skew at rest, percentage points: puts cost more than calls.
const RESTING_SKEW: f64 = 1.5;

/// Parameters of a tenor: how its volatility follows the path.
struct Term {
    /// Length of its lookback in days.
    days: i64,
    /// Weight of the volatility of those days in implied volatility; 1 at most.
    follows: f64,
    /// Premium over the path's own volatility, as a fraction.
    premium: f64,
    /// Percentage points of skew for a return of one deviation over those days.
    lean: f64,
}

/// Parameters in the order of [`TENORS`]: longer tenors are calmer and dearer.
const TERMS: [Term; 4] = [
    Term { days: 2, follows: 0.75, premium: 0.03, lean: 2.4 },
    Term { days: 5, follows: 0.5, premium: 0.06, lean: 1.5 },
    Term { days: 9, follows: 0.36, premium: 0.08, lean: 1.1 },
    Term { days: 14, follows: 0.27, premium: 0.09, lean: 0.8 },
];

/// Hidden parameters of an option summary.
#[derive(Debug, Clone, Copy)]
struct OptionTraits {
    path: Path,
    /// Distinguishes this summary's details from another's.
    seed: u64,
    /// Place in [`TERMS`].
    term: usize,
    kind: SummaryKind,
}

/// The demo's option summaries.
pub(in crate::market) struct DemoOptions {
    summaries: Vec<OptionSummary>,
    traits: Vec<OptionTraits>,
}

impl DemoOptions {
    /// The summaries over the coins of these markets.
    pub(in crate::market) fn new(instruments: &[Instrument], traits: &[MarketTraits]) -> Self {
        let (summaries, traits) = summaries(instruments, traits);
        Self { summaries, traits }
    }
}

impl OptionFeed for DemoOptions {
    fn option_summaries(&self) -> &[OptionSummary] {
        &self.summaries
    }

    /// The reading at `at`: there is one at every second.
    fn option_summary(&self, summary: usize, _from: UnixSecond, at: UnixSecond) -> Result<Option<f64>, SourceError> {
        Ok((BEGIN..END).contains(&at).then(|| reading(&self.traits[summary], at.minute())))
    }
}

/// The option summaries over the coins of these markets.
fn summaries(instruments: &[Instrument], traits: &[MarketTraits]) -> (Vec<OptionSummary>, Vec<OptionTraits>) {
    let (mut summaries, mut details) = (Vec::new(), Vec::new());
    for coin in COINS {
        let Some((instrument, market)) = instruments.iter().zip(traits).find(|(instrument, _)| instrument.coin == coin)
        else {
            continue;
        };
        for (suffix, kind) in [("25", SummaryKind::Skew), ("ATM", SummaryKind::ImpliedVolatility)] {
            for (term, tenor) in TENORS.into_iter().enumerate() {
                summaries.push(OptionSummary {
                    exchange: VENUE.to_owned(),
                    raw_symbol: format!("{coin}_{suffix}"),
                    coin: coin.to_owned(),
                    coin_name: instrument.coin_name.clone(),
                    tenor: tenor.to_owned(),
                    kind,
                    available_since: BEGIN,
                });
                let seed = place(&[market.path.seed(), SALT, kind as u64, term as u64]);
                details.push(OptionTraits { path: market.path, seed, term, kind });
            }
        }
    }
    (summaries, details)
}

/// The reading at a minute, percentage points.
fn reading(option: &OptionTraits, minute: UnixMinute) -> f64 {
    let value = match option.kind {
        SummaryKind::Skew => skew(option, minute),
        SummaryKind::ImpliedVolatility => implied_volatility(option, minute),
    };
    round(value, 4)
}

/// The path's usual volatility, moved part of the way to the volatility of the tenor's lookback.
fn implied_volatility(option: &OptionTraits, minute: UnixMinute) -> f64 {
    let term = &TERMS[option.term];
    let remembered = option.path.mean_wildness(UnixMinute(minute.0 - term.days * MINUTES_PER_DAY), minute).ln();
    // Quotes vary by a part of a point within the hour.
    let waver = 0.004 * smooth(option.seed, minute.0 as f64 / 20.0);
    let usual = option.path.minute_deviation() * ((365 * MINUTES_PER_DAY) as f64).sqrt();
    100.0 * usual * (term.follows * remembered + term.premium + waver).exp()
}

/// Falling prices make puts more expensive, rising prices calls; within bounds.
fn skew(option: &OptionTraits, minute: UnixMinute) -> f64 {
    let term = &TERMS[option.term];
    let window = term.days * MINUTES_PER_DAY;
    let run = (option.path.price(minute) / option.path.price(UnixMinute(minute.0 - window))).ln();
    let deviations = run / (option.path.minute_deviation() * (window as f64).sqrt());
    let mood = 0.8 * smooth(option.seed, minute.0 as f64 / MINUTES_PER_DAY as f64 / 11.0);
    let waver = 0.05 * smooth(option.seed ^ 1, minute.0 as f64 / 20.0);
    RESTING_SKEW + mood + waver - term.lean * 2.5 * (deviations / 2.5).tanh()
}
