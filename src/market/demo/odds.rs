//! What the demo's prediction markets trade at: from the odds of the opening to what came true.

use super::events::EventTraits;
use super::noise::smooth;
use crate::market::summaries::PredictionState;

const DAY: f64 = 86_400.0;
/// Prices of an open market are multiples of this, and at least one away from 0 and 1.
pub(super) const TICK: f64 = 0.001;
/// How sure the market is just before the end, as a logarithm of odds.
const SURE: f64 = 5.0;

/// The state of a market at a Unix second, with the price of its last trade up to then; `None` before its opening.
pub(super) fn state(event: &EventTraits, at: i64, last_price: impl FnOnce() -> f64) -> Option<PredictionState> {
    (at >= event.opened).then(|| PredictionState {
        opened: event.opened,
        ends: event.ends,
        closed: event.resolved.is_some() && at >= event.ends,
        price: last_price(),
        tick: TICK,
    })
}

/// What the first outcome of an open market is worth at a Unix second. `seed` tells this market from another. Noise moves the logarithm of the odds, and the nearer the end, the
/// harder the outcome pulls.
pub(super) fn quote(event: &EventTraits, seed: u64, at: i64) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::super::events::events;
    use super::*;

    #[test]
    fn markets_open_at_their_odds_and_end_near_what_came_true() {
        for (seed, event) in events(0).1.iter().enumerate() {
            let at = |second: i64| quote(event, seed as u64, second);
            assert!((at(event.opened) - event.odds).abs() < TICK);
            match event.resolved {
                Some(true) => assert!(at(event.ends - 1) > 0.9),
                Some(false) => assert!(at(event.ends - 1) < 0.1),
                None => assert!((0.02..0.98).contains(&at(event.ends - 1))),
            }
            assert_eq!(state(event, event.opened - 1, || 0.5), None);
            assert!(!state(event, event.ends - 1, || 0.5).unwrap().closed);
            assert_eq!(state(event, event.ends, || 0.5).unwrap().closed, event.resolved.is_some());
        }
    }

    #[test]
    fn prices_stay_on_the_ticks_between_nothing_and_all() {
        for (seed, event) in events(1).1.iter().enumerate() {
            for second in (event.opened..event.ends).step_by(43_200) {
                let price = quote(event, seed as u64, second);
                assert!((TICK..=1.0 - TICK).contains(&price));
                assert_eq!(format!("{price:.3}").parse::<f64>().unwrap(), price);
            }
        }
    }
}
