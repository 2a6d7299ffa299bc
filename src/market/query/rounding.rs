//! Rounding without calls of the mathematical library, which processors of the oldest kind need.

#![expect(clippy::inline_always, reason = "day-to-day builds inline nothing else")]

/// The powers of ten that are doubles exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];
/// From here on every double is whole.
const WHOLE: f64 = (1u64 << 52) as f64;

/// 10 to the number of `decimals`, which is not negative.
#[inline(always)]
pub(in crate::market) fn scale(decimals: i32) -> f64 {
    POWERS.get(decimals as usize).copied().unwrap_or_else(|| 10f64.powi(decimals))
}

/// Rounds to a number of `decimals`, which is not negative; the result is the double nearest to that decimal.
#[inline(always)]
pub(in crate::market) fn round(value: f64, decimals: i32) -> f64 {
    let scale = scale(decimals);
    nearest(value * scale) / scale
}

/// The nearest whole number, of two that are equally near the one further from 0, as [`f64::round`].
#[inline(always)]
pub(in crate::market) fn nearest(value: f64) -> f64 {
    let size = value.abs();
    if size < WHOLE {
        let whole = size as i64 as f64;
        (if size - whole >= 0.5 { whole + 1.0 } else { whole }).copysign(value)
    } else {
        value
    }
}

/// The largest whole number that is not above `value`, as [`f64::floor`] within the numbers of an `i64`.
#[inline(always)]
pub(in crate::market) fn floor(value: f64) -> i64 {
    let whole = value as i64;
    whole.saturating_sub(i64::from((whole as f64) > value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn halves_and_their_neighbours_are_rounded_as_the_library_does() {
        for whole in [0.0, 1.0, 2.0, 3.0, 1e6, WHOLE / 2.0, WHOLE - 1.0, WHOLE, 2.0 * WHOLE, 1e300] {
            for value in [whole, whole + 0.5, (whole + 0.5).next_down(), (whole + 0.5).next_up()] {
                assert_eq!(nearest(value).to_bits(), value.round().to_bits(), "{value}");
                assert_eq!(nearest(-value).to_bits(), (-value).round().to_bits(), "-{value}");
            }
        }
        assert!(nearest(f64::NAN).is_nan());
        assert_eq!((nearest(f64::INFINITY), nearest(f64::NEG_INFINITY)), (f64::INFINITY, f64::NEG_INFINITY));
    }

    #[test]
    fn scales_are_the_doubles_of_their_decimals() {
        for decimals in 0..40 {
            let spelt: f64 = format!("1e{decimals}").parse().unwrap();
            assert!((scale(decimals) / spelt - 1.0).abs() < 1e-14, "{decimals}");
            assert!(decimals > 22 || scale(decimals) == spelt, "{decimals}");
        }
        assert_eq!((round(2.125, 2), round(0.1 + 0.2, 8), round(-1.25, 1), round(5.5, 0)), (2.13, 0.3, -1.3, 6.0));
    }

    proptest! {
        #[test]
        fn numbers_are_rounded_as_the_library_does(value in prop_oneof![-1e3f64..1e3, -1e15f64..1e15, any::<f64>()]) {
            prop_assert_eq!(nearest(value).to_bits(), value.round().to_bits());
            prop_assert_eq!(floor(value), value.floor() as i64);
            prop_assert_eq!(floor(value.trunc()), value.trunc() as i64);
        }
    }
}
