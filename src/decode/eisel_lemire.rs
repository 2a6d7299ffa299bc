//! Correct rounding of a 64-bit decimal mantissa (Eisel and Lemire; Lemire, "Number parsing at a gigabyte per second").

use super::powers::{LARGEST, LOWER, SMALLEST, UPPER};

/// The double nearest to mantissa × 10^exponent; `None` outside the powers of the table.
///
/// All results are normal, because the table ends long before subnormal and infinite ones begin.
#[inline]
pub(super) fn eisel_lemire(mantissa: u64, exponent: i64) -> Option<f64> {
    if mantissa == 0 {
        return Some(0.0);
    }
    if !(SMALLEST..=LARGEST).contains(&exponent) {
        return None;
    }
    let index = (exponent - SMALLEST) as usize;
    let zeros = mantissa.leading_zeros();
    let shifted = mantissa << zeros;
    let product = u128::from(shifted) * u128::from(UPPER[index]);
    let (mut high, mut low) = ((product >> 64) as u64, product as u64);
    // 55 bits are needed; when all bits below them are set, a carry from the lower half may change them.
    if high & 0x1FF == 0x1FF {
        let more = ((u128::from(shifted) * u128::from(LOWER[index])) >> 64) as u64;
        let (sum, carried) = low.overflowing_add(more);
        low = sum;
        high += u64::from(carried);
    }
    let upper = high >> 63;
    let shift = upper + 9;
    let mut bits = high >> shift;
    // Exactly between two doubles, which only small powers can be: round to even.
    if low <= 1 && (-4..=23).contains(&exponent) && bits & 3 == 1 && bits << shift == high {
        bits &= !1;
    }
    bits = (bits + (bits & 1)) >> 1;
    let power = ((217_706 * exponent) >> 16) + 63 + upper as i64 - i64::from(zeros) + 1_023;
    // The mantissa's hidden bit, and its carry, add to the exponent.
    Some(f64::from_bits((((power - 1) as u64) << 52) + bits))
}
