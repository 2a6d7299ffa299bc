//! Prices of the demo's prediction markets: from the odds of the opening to the outcome.

use super::events::EventTraits;
use crate::clock::{SECONDS_PER_DAY, UnixSecond};
use crate::market::demo::noise::smooth;
use crate::market::raw::PredictionState;

const DAY: f64 = SECONDS_PER_DAY as f64;
/// Prices of an open market are multiples of this, and at least one away from 0 and 1.
pub(in crate::market) const TICK: f64 = 0.001;
/// Logarithm of the odds at the end: a price of 0.999 or 0.001.
const SURE: f64 = 7.0;

/// The state of a market at a second, with the price of its last trade up to then; `None` before its opening.
pub(in crate::market) fn state(
    event: &EventTraits,
    at: UnixSecond,
    last_price: impl FnOnce() -> f64,
) -> Option<PredictionState> {
    (at >= event.opened).then(|| PredictionState {
        opened: event.opened,
        ends: event.ends,
        closed: at >= event.ends,
        price: last_price(),
        tick: TICK,
    })
}

/// Price of the first outcome of an open market at a second; `first` says whether it comes true.
///
/// Noise moves the logarithm of the odds. Towards the end the noise fades, and the price approaches the outcome.
pub(in crate::market) fn quote(event: &EventTraits, first: bool, at: UnixSecond) -> f64 {
    let moved = |salt: u64, days: f64| {
        let noise = |second: UnixSecond| smooth(event.tape ^ salt, second.0 as f64 / DAY / days);
        noise(at) - noise(event.opened)
    };
    let passed = (at.0 - event.opened.0) as f64 / (event.ends.0 - event.opened.0).max(1) as f64;
    let (doubt, pull) = (1.0 - passed.powi(12), SURE * passed.powi(5));
    let odds =
        (event.odds / (1.0 - event.odds)).ln() + 0.6 * moved(1, 23.0) + 0.3 * moved(2, 4.0) + 0.1 * moved(3, 0.3);
    let price = 1.0 / (1.0 + (-odds * doubt - if first { pull } else { -pull }).exp());
    // A thousandth as the nearest double: dividing is exact to the last place, multiplying by the tick is not.
    ((price / TICK).round() / 1_000.0).clamp(TICK, 1.0 - TICK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::subjects::predictions::demo::events::PredictionEvents;

    #[test]
    fn markets_open_at_their_odds_and_end_at_what_came_true() {
        for event in &PredictionEvents::new(0).traits {
            for first in [true, false] {
                let at = |second: i64| quote(event, first, UnixSecond(second));
                assert!((at(event.opened.0) - event.odds).abs() < TICK);
                let end = at(event.ends.0 - 1);
                assert!(if first { end > 0.995 } else { end < 0.005 }, "{end}");
                // Half-way nobody knows.
                assert!((0.005..0.995).contains(&at(i64::midpoint(event.opened.0, event.ends.0))));
            }
            assert_eq!(state(event, UnixSecond(event.opened.0 - 1), || 0.5), None);
            assert!(!state(event, UnixSecond(event.ends.0 - 1), || 0.5).unwrap().closed);
            assert!(state(event, event.ends, || 0.5).unwrap().closed);
        }
    }

    #[test]
    fn prices_stay_on_the_ticks_between_nothing_and_all() {
        for event in &PredictionEvents::new(1).traits {
            for second in (event.opened.0..event.ends.0).step_by(43_200) {
                let price = quote(event, true, UnixSecond(second));
                assert!((TICK..=1.0 - TICK).contains(&price));
                assert_eq!(format!("{price:.3}").parse::<f64>().unwrap(), price);
            }
        }
    }
}
