//! Correct rounding of a 64-bit decimal mantissa with fused multiplications, for processors that have them.

use super::super::eisel_lemire::eisel_lemire;
use super::super::powers::{NEAREST, REST, USUAL};

/// More than what is not known of a product, as a part of it: the roundings below lose no more than seven times 2^-106.
pub(super) const ERROR: f64 = f64::from_bits((1_023 - 100) << 52);

/// Mantissas below this one are read here: the double near a larger one may be more than 63 bits hold.
const MOST: u64 = 1 << 62;

/// The double nearest to mantissa × 10^exponent; `None` outside the powers of the tables. Without fused multiplications in
/// the function that it is inlined into, each of them is a call.
///
/// Mantissa and power are each the sum of two doubles, so that their product is known to 103 bits: the product of the larger
/// ones, and what its rounding lost together with the other products. Where an error of 100 bits would round otherwise, as
/// at exact halves, the algorithm of Eisel and Lemire rounds.
#[inline(always)]
pub(super) fn fused(mantissa: u64, exponent: i64) -> Option<f64> {
    let index = exponent.wrapping_sub(USUAL) as usize;
    if let (Some(power), Some(power_rest), ..MOST) = (NEAREST.get(index), REST.get(index), mantissa) {
        let whole = mantissa as i64 as f64;
        // SAFETY: at most MOST, which 63 bits hold.
        let rest = (mantissa as i64 - unsafe { whole.to_int_unchecked::<i64>() }) as f64;
        let product = whole * power;
        let lost = rest.mul_add(*power, whole.mul_add(*power_rest, whole.mul_add(*power, -product)));
        let (most, least) = (product + product.mul_add(ERROR, lost), product + product.mul_add(-ERROR, lost));
        if most == least {
            return Some(most);
        }
    }
    eisel_lemire(mantissa, exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_the_nearest_doubles_and_what_is_left_of_them() {
        for (index, (nearest, rest)) in NEAREST.into_iter().zip(REST).enumerate() {
            let power = USUAL + index as i64;
            assert_eq!(nearest, format!("1e{power}").parse::<f64>().unwrap());
            // Both of them times 10^-power, which up to 22 is a double, are 1 in more than a hundred bits.
            let back: f64 = format!("1e{}", power.abs()).parse().unwrap();
            let (times, over) = if power < 0 { (back, 1.0) } else { (1.0, back) };
            let product = nearest * times;
            let lost = nearest.mul_add(times, -product);
            let error = (product - over) + lost + rest * times;
            assert!(error.abs() <= over * 2f64.powi(-105), "1e{power}: {error:e}");
            assert!(rest.abs() <= nearest * 2f64.powi(-53), "1e{power}");
        }
    }

    #[test]
    fn mantissas_of_all_lengths_round_as_the_standard_library_does() {
        let mut random = fastrand::Rng::with_seed(1);
        for count in 0..200_000 {
            let mantissa = random.u64(..) >> random.u32(..64);
            let (mantissa, power) = match count % 3 {
                0 => (mantissa, random.i64(USUAL - 3..USUAL + 35)),
                // Next to the middle between two doubles, and in it.
                1 => ((mantissa | 1 << 53) >> 10 << 10 | 1 << 9, random.i64(-4..3)),
                _ => ((mantissa % (1 << 53)) * 10u64.pow(random.u32(..4)), random.i64(-8..0)),
            };
            let expected: f64 = format!("{mantissa}e{power}").parse().unwrap();
            assert_eq!(fused(mantissa, power), Some(expected), "{mantissa}e{power}");
        }
    }
}
