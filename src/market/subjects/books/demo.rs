//! The order book at the end of a minute: thin at the touch, thicker further out, with walls that stay for hours.

use crate::clock::UnixMinute;
use crate::market::demo::catalog::MarketTraits;
use crate::market::demo::noise::{mix, place, smooth, uniform};
use crate::market::demo::rounding::round;
use crate::market::raw::{Book, PriceLevel};

/// Levels of each side.
const LEVELS: usize = 2_200;
/// Levels of a side that stand tick by tick.
const TOUCH: i64 = 100;
/// Distance of two levels far from the touch, as a fraction of the price; nearer ones are closer to each other. It is less
/// than any recommended block size, so that every block has orders.
const FAR: f64 = 1.5e-5;
/// Orders at the best price in addition to the depth there, in parts of a minute's turnover.
const QUEUE: f64 = 0.04;
/// Orders within [`FAR`] of the touch, in parts of a minute's turnover.
const THIN: f64 = 0.0015;
/// Width of the price band that a wall stands in, as a fraction of the price.
const WALL_BAND: f64 = 0.0015;

/// The book around the last price of a minute.
pub(in crate::market) fn around(traits: &MarketTraits, minute: UnixMinute, close: f64) -> Book {
    let tick = 10f64.powi(-traits.price_decimals);
    let lot = 10f64.powi(-traits.amount_decimals);
    let middle = (close / tick).round() as i64;
    let side = |direction: i64| -> Vec<PriceLevel> {
        let mut away = 0;
        (0..LEVELS as i64)
            .map(|level| {
                let step = step(level, close / tick);
                away += step;
                (level, middle + direction * away, step)
            })
            .take_while(|(_, ticks, _)| *ticks > 0)
            .map(|(level, ticks, step)| {
                let price = round(ticks as f64 * tick, traits.price_decimals);
                // A level holds the orders of all prices up to the level before.
                let stretch = step as f64 * tick / close / FAR;
                let queue = QUEUE * (-(level as f64)).exp();
                let amount = traits.minute_amount * share(traits, minute, price, close) * (stretch + queue / THIN);
                (price, round(amount, traits.amount_decimals).max(lot))
            })
            .collect()
    };
    Book { time: minute.nanos(), bids: side(-1), asks: side(1) }
}

/// Ticks from the level before to this one: one at the touch, then twice as many every fifty levels, up to [`FAR`].
fn step(level: i64, ticks: f64) -> i64 {
    let far = ((ticks * FAR).round() as i64).max(1);
    match level - TOUCH {
        near if near < 0 => 1,
        further => (2i64 << (further / 50).min(40)).min(far),
    }
}

/// Orders in a range of [`FAR`] around a price, in parts of a minute's turnover.
fn share(traits: &MarketTraits, minute: UnixMinute, price: f64, close: f64) -> f64 {
    let (hours, away) = (minute.0 as f64 / 60.0, (price / close - 1.0).abs());
    let rising = THIN + 0.012 * (away / 0.004).min(1.0) * (-away / 0.03).exp();
    // Orders belong to a price, not to a distance: they stay where they are while the price moves.
    let place_of = (price.ln() / FAR).floor();
    let grain = 0.4 + 1.2 * uniform(mix(traits.seed ^ place_of as i64 as u64 ^ ((minute.0 / 7) as u64) << 40));
    let band = price.ln() / WALL_BAND;
    let age = (hours / 9.0 + smooth(traits.seed, band.floor())).floor();
    let wall = if uniform(place(&[traits.seed, band.floor() as i64 as u64, age as u64])) < 0.07 {
        8.0 * (1.0 - (2.0 * band.fract().abs() - 1.0).powi(2))
    } else {
        0.0
    };
    rising * grain * (1.0 + wall + 0.5 * smooth(traits.seed ^ 1, hours / 4.0))
}
