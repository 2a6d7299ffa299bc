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

#[cfg(test)]
mod tests {
    use super::super::events::events;
    use super::*;

    #[test]
    fn markets_open_at_their_odds_and_end_at_what_came_true() {
        for (seed, event) in events(0).1.iter().enumerate() {
            let at = |second: i64| state(event, seed as u64, second);
            assert_eq!(at(event.opened - 1), None);
            assert!((at(event.opened).unwrap().price - event.odds).abs() < TICK);
            let (before, end) = (at(event.ends - 1).unwrap(), at(event.ends).unwrap());
            assert!(!before.closed && end.closed == event.resolved.is_some());
            match event.resolved {
                Some(true) => assert!(before.price > 0.9 && end.price == 1.0),
                Some(false) => assert!(before.price < 0.1 && end.price == 0.0),
                None => assert_eq!(at(event.ends + 86_400), Some(end), "nothing moves after the expiry"),
            }
        }
    }

    #[test]
    fn prices_stay_on_the_ticks_between_nothing_and_all() {
        for (seed, event) in events(1).1.iter().enumerate() {
            for second in (event.opened..event.ends).step_by(43_200) {
                let price = state(event, seed as u64, second).unwrap().price;
                assert!((TICK..=1.0 - TICK).contains(&price));
                assert_eq!(format!("{price:.3}").parse::<f64>().unwrap(), price);
            }
        }
    }
}
