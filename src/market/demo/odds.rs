//! What the demo's prediction markets trade at: from the odds of the opening to what came true.

use super::events::EventTraits;
use super::noise::smooth;
use crate::market::summaries::PredictionState;

const DAY: f64 = 86_400.0;
/// Prices of an open market are multiples of this, and at least one away from 0 and 1.
const TICK: f64 = 0.001;
/// How sure the market is just before the end, as a logarithm of odds.
const SURE: f64 = 5.0;

/// The state of a market at a Unix second; `None` before its opening. `seed` tells this market from another.
pub(super) fn state(event: &EventTraits, seed: u64, at: i64) -> Option<PredictionState> {
    (at >= event.opened).then(|| {
        let closed = event.resolved.filter(|_| at >= event.ends);
        PredictionState {
            opened: event.opened,
            ends: event.ends,
            closed: closed.is_some(),
            price: closed.map_or_else(|| price(event, seed, at.min(event.ends)), |first| f64::from(u8::from(first))),
            tick: TICK,
        }
    })
}

/// Price of the first outcome of an open market. Noise moves the logarithm of the odds, and the nearer the end, the
/// harder the outcome pulls.
fn price(event: &EventTraits, seed: u64, at: i64) -> f64 {
    let moved = |salt: u64, days: f64| {
        let noise = |second: i64| smooth(seed ^ salt, second as f64 / DAY / days);
        noise(at) - noise(event.opened)
    };
    let passed = (at - event.opened) as f64 / (event.ends - event.opened).max(1) as f64;
    let pull = event.resolved.map_or(0.0, |first| if first { SURE } else { -SURE }) * passed.powi(5);
    let odds =
        (event.odds / (1.0 - event.odds)).ln() + 0.6 * moved(1, 23.0) + 0.3 * moved(2, 4.0) + 0.1 * moved(3, 0.3);
    let price = 1.0 / (1.0 + (-odds - pull).exp());
    // A thousandth as the nearest double: dividing is exact to the last place, multiplying by the tick is not.
    ((price / TICK).round() / 1_000.0).clamp(TICK, 1.0 - TICK)
}
