//! The trades of one minute of one market.

use super::catalog::Traits;
use super::noise::{mix, normal, smooth, uniform};
use super::path::Block;
use crate::clock::SECOND;
use crate::market::source::Trade;

/// Fewest trades of a minute; wild minutes have up to three times as many.
const TRADES: u64 = 6;

/// Rounds to a number of decimals; the result is the double nearest to that decimal.
pub(super) fn round(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals.abs());
    if decimals >= 0 { (value * scale).round() / scale } else { (value / scale).round() * scale }
}

/// The venue's distance to the common price at a Unix minute (with its part), as a fraction: within a few hundredths of a
/// percent.
pub(super) fn premium(traits: &Traits, minute: f64) -> f64 {
    traits.premium + 2e-4 * smooth(traits.seed, minute / 60.0 / 3.0)
}

/// The venue's price as a multiple of the common one.
pub(super) fn basis(traits: &Traits, minute: i64) -> f64 {
    1.0 + premium(traits, minute as f64)
}

/// Visits the trades of a Unix minute in time order. `block` is the one that holds the minute.
pub(super) fn trades(traits: &Traits, block: &Block, minute: i64, mut visit: impl FnMut(&Trade)) {
    let index = (minute - block.start) as usize;
    let (open, close) = (block.prices[index], block.prices[index + 1]);
    let basis = basis(traits, minute);
    let wildness = traits.path.wildness(minute);
    let hash = mix(traits.seed ^ minute as u64);
    let count = TRADES + (hash % TRADES) + (wildness * 2.5).min(TRADES as f64) as u64;
    let mean = traits.minute_amount * wildness / count as f64;
    let tick = 10f64.powi(-traits.price_decimals);
    let lot = 10f64.powi(-traits.amount_decimals);
    let excursion = (close - open).abs() + open * 1.2e-4 * wildness;
    let spacing = 60 * SECOND / count as i64;
    for trade in 0..count {
        let (first, second, third) = {
            let first = mix(hash ^ trade);
            let second = mix(first);
            (first, second, mix(second))
        };
        // Milliseconds, as venues stamp; each trade has a stretch of the minute to itself, so the order holds.
        let offset = trade as i64 * spacing + (uniform(first) * spacing as f64) as i64;
        let part = offset as f64 / (60 * SECOND) as f64;
        let bridge = excursion * (part * (1.0 - part)).sqrt() * 0.7 * normal(second);
        let price = (open + (close - open) * part + bridge) * basis;
        let drift = (close - open) / excursion;
        visit(&Trade {
            time: minute * 60 * SECOND + offset / 1_000_000 * 1_000_000,
            price: round(price, traits.price_decimals).max(tick),
            // Sizes are spread widely: many small ones, few large.
            amount: round(mean * (1.1 * normal(third) - 0.6).exp(), traits.amount_decimals).max(lot),
            buy: uniform(third.rotate_left(20)) < 0.5 + 0.25 * drift,
        });
    }
}
