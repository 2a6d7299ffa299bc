//! Parses one number in the JSON grammar, correctly rounded: the strict path that every kernel falls back to.

use super::eisel_lemire::eisel_lemire;
use super::powers::EXACT;
use crate::clock::{SECOND, UnixNanos, UnixSecond};

/// Up to here a product or quotient with an exact power of ten is rounded only once (Clinger's fast path).
const EXACT_MANTISSA: u64 = 1 << 53;
/// Digits of a mantissa that never overflow 64 bits.
const WHOLE_DIGITS: usize = 19;

/// Why bytes are not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    /// A syntax error at this index.
    Malformed(usize),
    /// Beyond the range of a double.
    Range,
}

/// Adds a run of digits to the mantissa (modulo 2^64); returns its end.
#[inline]
fn digits(bytes: &[u8], mut index: usize, mantissa: &mut u64) -> usize {
    while let Some(eight) = bytes.get(index..).and_then(<[u8]>::first_chunk) {
        let digits = u64::from_le_bytes(*eight) ^ u64::from_le_bytes([b'0'; 8]);
        // The upper half of a byte is 0 for a digit, also after adding 6; the first that is not ends the run.
        let others = (digits | digits.wrapping_add(u64::from_le_bytes([6; 8]))) & u64::from_le_bytes([0xF0; 8]);
        let count = others.trailing_zeros() as usize / 8;
        if count == 0 {
            return index;
        }
        // Clears what follows the run; zeros come before it.
        let value = eight_digits(digits << (64 - 8 * count));
        *mantissa = mantissa.wrapping_mul(SMALL_POWERS[count]).wrapping_add(value);
        index += count;
        if count < 8 {
            return index;
        }
    }
    while let Some(digit) = bytes.get(index).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        *mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
        index += 1;
    }
    index
}

const SMALL_POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The value of eight digits, one in each byte, the first in the lowest: pairs, then fours, then the whole.
#[inline]
fn eight_digits(word: u64) -> u64 {
    let pairs = word.wrapping_mul(10 * 256 + 1) >> 8;
    let fours = (pairs & 0x00FF_00FF_00FF_00FF).wrapping_mul(100 * 65_536 + 1) >> 16;
    (fours & 0x0000_FFFF_0000_FFFF).wrapping_mul(10_000 * (1 << 32) + 1) >> 32
}

/// Parses the number at the start of the bytes: its value and its length.
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

/// The double nearest to mantissa × 10^exponent, if a fast path is certain to be correct.
#[inline]
pub(super) fn round(mantissa: u64, exponent: i64) -> Option<f64> {
    if mantissa <= EXACT_MANTISSA
        && let Some(power) = EXACT.get(exponent.unsigned_abs() as usize)
    {
        return Some(if exponent < 0 { mantissa as f64 / power } else { mantissa as f64 * power });
    }
    eisel_lemire(mantissa, exponent)
}

/// Parses bytes that are one number with optional JSON white space around it.
pub(super) fn token(bytes: &[u8]) -> Option<f64> {
    let space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    let start = bytes.iter().position(|byte| !space(byte))?;
    let end = bytes.iter().rposition(|byte| !space(byte))? + 1;
    let (value, length) = prefix(&bytes[start..end]).ok()?;
    (length == end - start).then_some(value)
}

/// A double with an integer value as an integer. Up to 2^53 every integer is exact; no time or count is above.
pub(super) fn integer(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() <= EXACT_MANTISSA as f64).then_some(value as i64)
}

/// Parses an integer of at most 18 digits at the start of the bytes, and returns its length; `None` for any other.
#[inline]
pub(super) fn plain_integer(bytes: &[u8]) -> Option<(i64, usize)> {
    let mut value = 0;
    let length = digits(bytes, 0, &mut value);
    let right = matches!(length, 1..=18) && (bytes[0] != b'0' || length == 1);
    right.then_some((value as i64, length))
}

/// The moment so many nanoseconds after the start of a second, or an error.
pub(super) fn moment(second: UnixSecond, nanoseconds: i64) -> Result<UnixNanos, String> {
    if !(0..SECOND).contains(&nanoseconds) {
        return Err(format!("{nanoseconds} nanoseconds are not within a second"));
    }
    let whole = second.0.checked_mul(SECOND).and_then(|whole| whole.checked_add(nanoseconds));
    whole.map(UnixNanos).ok_or_else(|| format!("{} s is beyond the years 1677 to 2262", second.0))
}
