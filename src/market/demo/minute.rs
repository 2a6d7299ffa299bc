//! The trades of one minute of one market.

use super::catalog::Traits;
use super::noise::{FURTHEST, mix, normal, smooth, uniform};
use super::path::{Block, Bound};
use crate::clock::SECOND;
use crate::market::source::Trade;

/// Fewest trades of a minute; wild minutes have up to three times as many.
const TRADES: u64 = 6;
/// Furthest that the venue's distance to the common price strays from its mean, as a fraction.
const STRAY: f64 = 2e-4;
/// How far trades leave the straight line between a minute's ends even if these are equal, as a fraction at usual wildness.
const RESTLESS: f64 = 1.2e-4;
/// Part of a minute's excursion that a draw of one deviation in the middle of the minute is worth, times two.
const BRIDGE: f64 = 0.7;

/// Rounds to a number of decimals; the result is the double nearest to that decimal.
pub(super) fn round(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals.abs());
    if decimals >= 0 { (value * scale).round() / scale } else { (value / scale).round() * scale }
}

/// The venue's distance to the common price at a Unix minute (with its part), as a fraction: within a few hundredths of a
/// percent.
pub(super) fn premium(traits: &Traits, minute: f64) -> f64 {
    traits.premium + STRAY * smooth(traits.seed, minute / 60.0 / 3.0)
}

/// The venue's price as a multiple of the common one.
pub(super) fn basis(traits: &Traits, minute: i64) -> f64 {
    1.0 + premium(traits, minute as f64)
}

/// No trade of a minute is above this: `higher` is at least the price at the minute's ends, `change` at least their
/// distance as a fraction, `wildness` at least the minute's.
pub(super) fn ceiling(traits: &Traits, higher: f64, change: f64, wildness: f64) -> f64 {
    let bridge = 0.5 * BRIDGE * FURTHEST * (change + RESTLESS * wildness);
    higher * (1.0 + bridge) * (1.0 + traits.premium + STRAY) + 10f64.powi(-traits.price_decimals)
}

/// The highest price that a market trades at in the Unix minutes `first..end`. Only minutes that may hold it are made:
/// `bounds` are those of the path's blocks, `block` makes one, `high` tells a minute's highest price.
pub(super) fn highest(
    traits: &Traits,
    (first, end): (i64, i64),
    mut bounds: Vec<Bound>,
    block: impl Fn(i64) -> std::sync::Arc<Block>,
    high: impl Fn(&Block, i64) -> Option<f64>,
) -> Option<f64> {
    let most = |bound: &Bound| ceiling(traits, bound.highest, bound.change, bound.wildness);
    bounds.sort_by(|one, other| most(other).total_cmp(&most(one)));
    let mut best: Option<f64> = None;
    for bound in &bounds {
        if best.is_some_and(|best| best >= most(bound)) {
            break;
        }
        let block = block(bound.start);
        for minute in first.max(bound.start)..end.min(bound.start + super::path::BLOCK) {
            let ends = &block.prices[(minute - block.start) as usize..][..2];
            let (higher, change) = (ends[0].max(ends[1]), (ends[1] / ends[0] - 1.0).abs());
            if best.is_none_or(|best| best < ceiling(traits, higher, change, bound.wildness)) {
                best = best.into_iter().chain(high(&block, minute)).reduce(f64::max);
            }
        }
    }
    best
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
    let excursion = (close - open).abs() + open * RESTLESS * wildness;
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
        let bridge = excursion * (part * (1.0 - part)).sqrt() * BRIDGE * normal(second);
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
