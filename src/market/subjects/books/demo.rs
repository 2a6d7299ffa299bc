//! The order book at the end of a minute: thin at the touch, thicker further out, with walls that stay for hours.

use crate::clock::UnixMinute;
use crate::market::demo::catalog::MarketTraits;
use crate::market::demo::noise::{mix, place, smooth, uniform};
use crate::market::query::rounding::{floor, nearest, round, scale};
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
    let tick = 1.0 / scale(traits.price_decimals);
    let lot = 1.0 / scale(traits.amount_decimals);
    let middle = (close / tick).round() as i64;
    let mut depth = BookDepth::new(traits, minute, close);
    let mut side = |direction: i64| -> Vec<PriceLevel> {
        let mut levels = Vec::with_capacity(LEVELS);
        let mut ticks = middle;
        for level in 0..LEVELS as i64 {
            let step = step(level, close / tick);
            ticks += direction * step;
            if ticks <= 0 {
                break;
            }
            let price = round(ticks as f64 * tick, traits.price_decimals);
            // A level holds the orders of all prices up to the level before.
            let stretch = step as f64 * tick / close / FAR;
            // Beyond these levels it is less than what rounding changes.
            let queue = if level < 64 { QUEUE * (-(level as f64)).exp() } else { 0.0 };
            let amount = traits.minute_amount * depth.share(price) * (stretch + queue / THIN);
            levels.push((price, round(amount, traits.amount_decimals).max(lot)));
        }
        levels
    };
    Book { time: minute.nanos(), bids: side(-1), asks: side(1) }
}

/// Ticks from the level before to this one: one at the touch, then twice as many every fifty levels, up to [`FAR`].
fn step(level: i64, ticks: f64) -> i64 {
    let far = (nearest(ticks * FAR) as i64).max(1);
    match level - TOUCH {
        near if near < 0 => 1,
        further => (2i64 << (further / 50).min(40)).min(far),
    }
}

/// How many orders stand at prices of a market at the end of a minute.
struct BookDepth<'a> {
    traits: &'a MarketTraits,
    minute: UnixMinute,
    close: f64,
    /// The whole book's deviation from the usual number of orders.
    tide: f64,
    /// The price band that was looked at last, and whether it has a wall.
    band: Option<(i64, bool)>,
}

impl<'a> BookDepth<'a> {
    fn new(traits: &'a MarketTraits, minute: UnixMinute, close: f64) -> Self {
        let tide = 0.5 * smooth(traits.seed ^ 1, hours(minute) / 4.0);
        Self { traits, minute, close, tide, band: None }
    }

    /// Orders in a range of [`FAR`] around a price, in parts of a minute's turnover.
    fn share(&mut self, price: f64) -> f64 {
        let away = (price / self.close - 1.0).abs();
        let rising = THIN + 0.012 * (away / 0.004).min(1.0) * (-away / 0.03).exp();
        // Orders belong to a price, not to a distance: they stay where they are while the price moves.
        let logarithm = price.ln();
        let cell = floor(logarithm / FAR);
        let now = ((self.minute.0 / 7) as u64) << 40;
        let grain = 0.4 + 1.2 * uniform(mix(self.traits.seed ^ cell as u64 ^ now));
        let band = logarithm / WALL_BAND;
        let wall =
            if self.has_wall(floor(band)) { 8.0 * (1.0 - (2.0 * band.fract().abs() - 1.0).powi(2)) } else { 0.0 };
        rising * grain * (1.0 + wall + self.tide)
    }

    /// Whether a price band has a wall. Neighbouring prices mostly lie in one band.
    fn has_wall(&mut self, band: i64) -> bool {
        if let Some((known, wall)) = self.band
            && known == band
        {
            return wall;
        }
        let age = floor(hours(self.minute) / 9.0 + smooth(self.traits.seed, band as f64));
        let wall = uniform(place(&[self.traits.seed, band as u64, age as u64])) < 0.07;
        self.band = Some((band, wall));
        wall
    }
}

fn hours(minute: UnixMinute) -> f64 {
    minute.0 as f64 / 60.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::demo::catalog::markets;

    #[test]
    fn a_price_has_its_orders_whatever_price_was_looked_at_before() {
        let (minute, close) = (UnixMinute(29_600_000), 88_000.0);
        let all = markets(1).1;
        let fresh = |price: f64| BookDepth::new(&all[0], minute, close).share(price);
        let mut depth = BookDepth::new(&all[0], minute, close);
        let (mut walls, mut bands) = (0, 0);
        for step in 0..2_000 {
            // Up and down by turns, further each time: bands with and without walls follow each other.
            let price = close * (1.0 + f64::from(step) * if step % 2 == 0 { 2e-5 } else { -2e-5 });
            let known = depth.band;
            assert_eq!(depth.share(price).to_bits(), fresh(price).to_bits(), "{price}");
            bands += i32::from(depth.band != known);
            walls += i32::from(depth.band.is_some_and(|(_, wall)| wall));
        }
        assert!(bands > 100 && (1..1_000).contains(&walls), "{bands} {walls}");
    }
}
