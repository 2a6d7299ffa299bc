//! The order book at the end of a minute: thin at the touch, thicker further out, with walls that stay for hours.

use super::catalog::Traits;
use super::minute::round;
use super::noise::{mix, place, smooth, uniform};
use crate::market::source::{Book, Level};

/// Levels of each side.
const LEVELS: usize = 1_500;
/// Distance of the furthest level, as a fraction of the price.
const REACH: f64 = 0.04;
/// Width of the price band that a wall stands in, as a fraction of the price.
const WALL_BAND: f64 = 0.0015;

/// The book around the last price of a Unix minute.
pub(super) fn around(traits: &Traits, minute: i64, close: f64) -> Book {
    let tick = 10f64.powi(-traits.price_decimals);
    // Evenly spaced levels on the venue's ticks.
    let spacing = ((close * REACH / LEVELS as f64 / tick).round() as i64).max(1);
    let middle = (close / tick).round() as i64;
    let side = |direction: i64| -> Vec<Level> {
        (0..LEVELS as i64)
            .map(|level| middle + direction * (1 + level * spacing))
            .take_while(|ticks| *ticks > 0)
            .map(|ticks| {
                let price = round(ticks as f64 * tick, traits.price_decimals);
                let amount = traits.minute_amount * share(traits, minute, ticks, spacing, price / close - 1.0);
                (price, round(amount, traits.amount_decimals).max(10f64.powi(-traits.amount_decimals)))
            })
            .collect()
    };
    Book { bids: side(-1), asks: side(1) }
}

/// What rests at a price, in parts of a minute's turnover.
fn share(traits: &Traits, minute: i64, ticks: i64, spacing: i64, distance: f64) -> f64 {
    let (hours, away) = (minute as f64 / 60.0, distance.abs());
    let rising = 0.002 + 0.02 * (away / 0.004).min(1.0) * (-away / 0.03).exp();
    let grain = 0.4 + 1.2 * uniform(mix(traits.seed ^ (ticks / spacing) as u64 ^ ((minute / 7) as u64) << 40));
    // Walls belong to a price, not to a distance: they stay where they are while the price moves.
    let tick = 10f64.powi(-traits.price_decimals);
    let band = (ticks as f64 * tick).ln() / WALL_BAND;
    let age = (hours / 9.0 + smooth(traits.seed, band.floor())).floor();
    let wall = if uniform(place(&[traits.seed, band.floor() as u64, age as u64])) < 0.07 {
        8.0 * (1.0 - (2.0 * band.fract() - 1.0).powi(2))
    } else {
        0.0
    };
    rising * grain * (1.0 + wall + 0.5 * smooth(traits.seed ^ 1, hours / 4.0))
}
