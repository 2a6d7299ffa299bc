//! The price step that the server chooses (service.md 2.3, "the block size is chosen by the server").

use super::rounding::floor;
use crate::protocol::ParamError;

/// A price step as an exact decimal, so that the multiples of 0.0001 are the doubles nearest to their decimals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::market) struct DecimalStep {
    mantissa: f64,
    /// 10 to the number of decimals; below 1 for steps such as 1e6.
    scale: f64,
    size: f64,
}

impl DecimalStep {
    /// The step whose shortest decimal spelling is that of `size`, which must be above 0.
    pub(in crate::market) fn new(size: f64) -> Self {
        let spelt = format!("{size:e}");
        let (digits, exponent) = spelt.split_once('e').unwrap_or((&spelt, "0"));
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
        let mantissa: f64 = digits.replace('.', "").parse().unwrap_or(1.0);
        let exponent: i32 = exponent.parse().unwrap_or(0);
        Self { mantissa, scale: 10f64.powi(decimals - exponent), size }
    }

    /// Number of the block that holds a price. A price within rounding of the next multiple belongs to it.
    pub(in crate::market) fn block(&self, price: f64) -> i64 {
        let exact = price / self.size;
        let near = floor(exact + 0.5);
        let tolerance = 1e-9 * (near as f64).abs().max(1.0);
        if (exact - near as f64).abs() <= tolerance.min(1e-3) { near } else { floor(exact) }
    }

    /// Lower edge of a block.
    pub(in crate::market) fn price(&self, block: i64) -> f64 {
        block as f64 * self.mantissa / self.scale
    }
}

/// Approximate number of levels below a price: the step is near price / 2000, five hundredths of a percent.
const LEVELS_TO_ZERO: f64 = 2_000.0;
/// Largest level number: beyond it a price that is a multiple of the step can no longer be distinguished from its neighbours.
const MOST_LEVEL: f64 = 1e12;

/// The step of the series 1, 2, 5, 10, … that is nearest to `price` / 2000 in proportion (the larger of two that are
/// equally near) among those that are a multiple of every tick. If no step is a multiple (a tick of 0.3), the ticks are
/// ignored. `price` and the ticks are above 0 and in the same unit.
pub(in crate::market) fn server_step(price: f64, ticks: &[f64]) -> f64 {
    nearest_step(price / LEVELS_TO_ZERO, ticks)
}

/// As [`server_step`], nearest to a wanted step above 0.
pub(in crate::market) fn nearest_step(target: f64, ticks: &[f64]) -> f64 {
    let decade = target.log10().floor() as i32;
    let steps = |up: i32| [1.0, 2.0, 5.0].map(|digit| decimal(digit, decade.saturating_add(up)));
    let fits = |step: f64| {
        ticks.iter().all(|tick| {
            let ticks = step / tick;
            ticks.round() >= 1.0 && (ticks - ticks.round()).abs() <= (1e-9 * ticks).min(1e-3)
        })
    };
    let away = |step: f64| (step / target).ln().abs();
    let nearest = |steps: &mut dyn Iterator<Item = f64>| {
        steps.fold(None, |best: Option<f64>, step| match best {
            Some(best) if away(best) < away(step) => Some(best),
            _ => Some(step),
        })
    };
    // One decade on either side holds the nearest step; a coarse tick may need more above.
    let fitting = nearest(&mut (-1..=12).flat_map(steps).filter(|&step| fits(step)));
    fitting.or_else(|| nearest(&mut (-1..=1).flat_map(steps))).unwrap_or(target)
}

/// `digit` × 10^`exponent` as the double nearest to that decimal.
fn decimal(digit: f64, exponent: i32) -> f64 {
    let scale = 10f64.powi(exponent.saturating_abs());
    if exponent < 0 { digit / scale } else { digit * scale }
}

/// The number of the level that holds a price.
///
/// # Errors
/// When the step is so fine that doubles cannot distinguish the levels of this price.
pub(in crate::market) fn level(step: &DecimalStep, size: f64, price: f64) -> Result<i64, ParamError> {
    if (price / size).abs() < MOST_LEVEL {
        return Ok(step.block(price));
    }
    let problem =
        format!("{size} is too fine for a price of {price}; give a larger step, or none for the server's own");
    Err(ParamError::new("blockSize", problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_are_the_nearest_of_one_two_five() {
        // price / 2000 in the comments; the borders between neighbours are their geometric means.
        for (price, step) in [
            (88_000.0, 50.0), // 44
            (63_000.0, 20.0), // 31.5, border 31.6
            (63_500.0, 50.0), // 31.75
            (3_100.0, 2.0),   // 1.55
            (2_000.0, 1.0),   // 1
            (165.0, 0.1),     // 0.0825
            (2.3, 0.001),     // 0.00115
            (0.21, 0.0001),   // 0.000105
        ] {
            assert_eq!(server_step(price, &[0.000_01, 0.000_1]).to_bits(), f64::to_bits(step), "{price}");
            assert_eq!(server_step(price, &[]).to_bits(), f64::to_bits(step), "{price}");
        }
    }

    #[test]
    fn steps_are_multiples_of_every_tick() {
        assert_eq!(server_step(0.5, &[0.001]), 0.001); // a probability: 0.00025 is between ticks
        assert_eq!(server_step(100.0, &[0.25]), 0.5); // 0.05 and 0.1 and 0.2 are no multiples of a quarter
        assert_eq!(server_step(88_000.0, &[0.1, 0.5, 0.01]), 50.0);
        assert_eq!(server_step(100.0, &[0.01, 2.5]), 5.0);
        assert_eq!(server_step(100.0, &[0.3]), 0.05); // no decimal step is a multiple of 0.3
    }

    #[test]
    fn levels_beyond_doubles_are_refused() {
        assert_eq!(level(&DecimalStep::new(0.5), 0.5, 88_000.25), Ok(176_000));
        let problem = level(&DecimalStep::new(1e-300), 1e-300, 88_000.0).unwrap_err().to_string();
        assert!(problem.contains("blockSize") && problem.contains("larger step"), "{problem}");
    }

    proptest! {
        /// Never further from price / 2000 than half-way to the next step: 1 : 2 : 5 : 10 leave at most √2.5.
        #[test]
        fn steps_are_near(price in 1e-7f64..1e9) {
            let ratio = server_step(price, &[]) * 2_000.0 / price;
            prop_assert!((2.5f64.sqrt().recip() - 1e-9..=2.5f64.sqrt() + 1e-9).contains(&ratio), "{}", ratio);
        }
    }
}
