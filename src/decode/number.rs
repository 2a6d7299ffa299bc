//! One number in the JSON grammar, correctly rounded: the strict path that every kernel falls back on.

use super::kernel::{EXACT_POWERS, eisel_lemire};
use crate::clock::SECOND;

/// Up to here a product or quotient with an exact power of ten is one rounding (Clinger's fast path).
const EXACT_MANTISSA: u64 = 1 << 53;
/// Digits of a mantissa that never overflow 64 bits.
const WHOLE_DIGITS: usize = 19;

/// Why bytes are no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    /// Against the grammar, at this index.
    Malformed(usize),
    /// Beyond the range of a double.
    Range,
}

/// A run of digits: adds them to the mantissa (modulo 2^64) and tells where they end.
#[inline]
fn digits(bytes: &[u8], mut index: usize, mantissa: &mut u64) -> usize {
    while let Some(eight) = bytes.get(index..index + 8) {
        let word = u64::from_le_bytes(eight.try_into().unwrap_or_default());
        if !are_digits(word) {
            break;
        }
        *mantissa = mantissa.wrapping_mul(100_000_000).wrapping_add(eight_digits(word));
        index += 8;
    }
    while let Some(digit) = bytes.get(index).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        *mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
        index += 1;
    }
    index
}

/// Whether all eight bytes are digits: the upper half of each is 3, also after adding 6.
#[inline]
fn are_digits(word: u64) -> bool {
    const UPPER: u64 = 0xF0F0_F0F0_F0F0_F0F0;
    (word & UPPER) | ((word.wrapping_add(0x0606_0606_0606_0606) & UPPER) >> 4) == 0x3333_3333_3333_3333
}

/// The value of eight digits, the first in the lowest byte: pairs, then fours, then the whole.
#[inline]
fn eight_digits(word: u64) -> u64 {
    let pairs = (word & 0x0F0F_0F0F_0F0F_0F0F).wrapping_mul(10 * 256 + 1) >> 8;
    let fours = (pairs & 0x00FF_00FF_00FF_00FF).wrapping_mul(100 * 65_536 + 1) >> 16;
    (fours & 0x0000_FFFF_0000_FFFF).wrapping_mul(10_000 * (1 << 32) + 1) >> 32
}

/// Reads the number at the start of the bytes: its value and its length.
#[inline]
pub(super) fn prefix(bytes: &[u8]) -> Result<(f64, usize), Flaw> {
    let negative = bytes.first() == Some(&b'-');
    let whole_start = usize::from(negative);
    let mut mantissa = 0u64;
    let mut index = digits(bytes, whole_start, &mut mantissa);
    let zero = bytes.get(whole_start) == Some(&b'0');
    if index == whole_start || (zero && index > whole_start + 1) {
        return Err(Flaw::Malformed(index));
    }
    let mut written = index - whole_start;
    let mut exponent = 0i64;
    if bytes.get(index) == Some(&b'.') {
        let fraction = digits(bytes, index + 1, &mut mantissa);
        let places = fraction - index - 1;
        if places == 0 {
            return Err(Flaw::Malformed(fraction));
        }
        index = fraction;
        written += places;
        exponent -= places as i64;
    }
    if matches!(bytes.get(index), Some(b'e' | b'E')) {
        index += 1;
        let falling = bytes.get(index) == Some(&b'-');
        index += usize::from(matches!(bytes.get(index), Some(b'+' | b'-')));
        let start = index;
        let mut power = 0i64;
        while let Some(digit) = bytes.get(index).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            power = (power * 10 + i64::from(digit)).min(1_000_000);
            index += 1;
        }
        if index == start {
            return Err(Flaw::Malformed(index));
        }
        exponent += if falling { -power } else { power };
    }
    let magnitude = if written <= WHOLE_DIGITS || significant(&bytes[whole_start..index]) <= WHOLE_DIGITS {
        round(mantissa, exponent)
    } else {
        None
    };
    let value = match magnitude {
        Some(magnitude) => {
            if negative {
                -magnitude
            } else {
                magnitude
            }
        }
        None => fast_float2::parse(&bytes[..index]).map_err(|_| Flaw::Malformed(0))?,
    };
    if value.is_finite() { Ok((value, index)) } else { Err(Flaw::Range) }
}

/// Digits from the first that is not zero, without the exponent.
fn significant(bytes: &[u8]) -> usize {
    let mantissa = bytes.iter().take_while(|byte| !matches!(byte, b'e' | b'E'));
    mantissa.filter(|byte| **byte != b'.').skip_while(|byte| **byte == b'0').count()
}

/// The double nearest to mantissa × 10^exponent, where a fast way is sure to be right.
#[inline]
pub(super) fn round(mantissa: u64, exponent: i64) -> Option<f64> {
    if mantissa <= EXACT_MANTISSA
        && let Some(power) = EXACT_POWERS.get(exponent.unsigned_abs() as usize)
    {
        return Some(if exponent < 0 { mantissa as f64 / power } else { mantissa as f64 * power });
    }
    eisel_lemire(mantissa, exponent)
}

/// Reads bytes that are one number and nothing else but JSON's white space around it.
pub(super) fn token(bytes: &[u8]) -> Option<f64> {
    let space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    let start = bytes.iter().position(|byte| !space(byte))?;
    let end = bytes.iter().rposition(|byte| !space(byte))? + 1;
    let (value, length) = prefix(&bytes[start..end]).ok()?;
    (length == end - start).then_some(value)
}

/// A whole double as an integer. Up to 2^53 every whole double is itself; no time or count is above.
pub(super) fn integer(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() <= EXACT_MANTISSA as f64).then_some(value as i64)
}

/// Unix nanoseconds of a timestamp, or what is wrong with it.
pub(super) fn unix_nanoseconds(seconds: i64, nanoseconds: i64) -> Result<i64, String> {
    if !(0..SECOND).contains(&nanoseconds) {
        return Err(format!("{nanoseconds} nanoseconds are not within a second"));
    }
    let whole = seconds.checked_mul(SECOND).and_then(|whole| whole.checked_add(nanoseconds));
    whole.ok_or_else(|| format!("{seconds} s is beyond the years 1677 to 2262"))
}
