//! Numbers of up to 31 bytes with a sign, a dot and an exponent, of which a vector kernel reads the digits.

use super::super::eisel_lemire::eisel_lemire;
use super::rounding::fused;

/// All bits in the first 32 bytes, none in the last 32.
pub(super) const SLIDE: [u8; 64] = {
    let mut table = [0; 64];
    let mut index = 0;
    while index < 32 {
        table[index] = 0xFF;
        index += 1;
    }
    table
};

/// 10^(digits - 1) for a mantissa of that many digits; for twenty and more, more than any that is read here.
pub(super) const LEAST: [u64; 21] = {
    let mut table = [0; 21];
    let mut digits = 1;
    let mut power = 1u64;
    while digits < 20 {
        table[digits] = power;
        power = power.wrapping_mul(10);
        digits += 1;
    }
    table[20] = u64::MAX;
    table
};

/// Most digits of the integers that are read eight at a time.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) const LONGEST_INT4: i32 = 4;

/// The least of them with so many digits that does not begin with a zero; a zero may stand alone. Compared without
/// signs, nothing reaches that of no digits.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) const LEAST_OF_FOUR: [u32; 8] = [u32::MAX, 0, 10, 100, 1_000, 0, 0, 0];

/// Digits of at most 31 bytes.
pub(super) struct Digits {
    /// The value of those beyond the last sixteen.
    pub(super) upper: u64,
    /// The value of the last sixteen.
    pub(super) lower: u64,
    /// How many stand behind the dot; [`NO_DOT`] without one.
    pub(super) places: u32,
}

/// As many places as no number has.
pub(super) const NO_DOT: u32 = u32::MAX;

/// A number of at most 31 bytes, its exponent apart: where its digits are, and what it has besides.
#[derive(Clone, Copy)]
pub(super) struct Decimal31 {
    /// Where the digits end.
    pub(super) end: *const u8,
    /// Bytes of digits and dot, at most 31.
    pub(super) length: u32,
    power: i32,
    negative: bool,
}

impl Decimal31 {
    /// Finds the sign and the exponent, of two figures, of a number that ends at the pointer; `None` for another exponent, and where
    /// before that there is nothing or more than 31 bytes.
    ///
    /// # Safety
    /// At least 37 readable bytes stand before the end.
    #[inline(always)]
    pub(super) unsafe fn of(end: *const u8, length: u32) -> Option<Self> {
        // SAFETY: the caller has 37 bytes before the end, and no more than 31 and the exponent's four are looked at.
        unsafe {
            let tail = u32::from_le_bytes(end.sub(4).cast::<[u8; 4]>().read());
            let (mut end, mut length, mut power) = (end, length, 0);
            if length > 4 && (tail | 0x20) & 0xFF == u32::from(b'e') {
                let [_, sign, tens, ones] = tail.to_le_bytes();
                let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
                if tens > 9 || ones > 9 {
                    return None;
                }
                power = i32::from(tens) * 10 + i32::from(ones);
                match sign {
                    b'+' => {}
                    b'-' => power = -power,
                    _ => return None,
                }
                (end, length) = (end.sub(4), length - 4);
            }
            if !(1..=31).contains(&length) {
                return None;
            }
            let negative = *end.sub(length as usize) == b'-';
            Some(Self { end, length: length - u32::from(negative), power, negative })
        }
    }

    /// What the digits stand for when so many of them are behind the dot ([`NO_DOT`] without one); `None` where none is before or
    /// behind it.
    #[inline(always)]
    pub(super) fn scale(&self, places: u32) -> Option<Scale> {
        let dotted = places != NO_DOT;
        let places = if dotted { places } else { 0 };
        let figures = self.length - u32::from(dotted);
        let whole = figures.wrapping_sub(places);
        if whole.wrapping_sub(1) > 31 || (dotted && places == 0) {
            return None;
        }
        let least = if whole > 1 { LEAST[figures.min(20) as usize] } else { 0 };
        Some(Scale { least, exponent: self.power - places as i32, negative: self.negative })
    }
}

/// What the digits of a number stand for.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    /// The least they are as an integer: less begins with a zero before other whole digits.
    least: u64,
    exponent: i32,
    negative: bool,
}

impl Scale {
    /// That of a spelling which is not read in this way. What stands in place of its digits can be any number, so two things refuse
    /// it: the least one, and the exponent where it is that.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(super) const NONE: Self = Self { least: u64::MAX, exponent: i32::MAX, negative: false };

    /// The double nearest to digits, of which `lower` are the last sixteen and `upper` those before them, with sign and exponent;
    /// `None` for another grammar and for what is too large to be read here. `FUSED`: by fused multiplications, for which the
    /// caller is compiled.
    #[inline(always)]
    pub(super) fn double<const FUSED: bool>(self, upper: u64, lower: u64) -> Option<f64> {
        let mantissa = upper.wrapping_mul(10_000_000_000_000_000).wrapping_add(lower);
        if upper > 1_843 || mantissa < self.least {
            return None;
        }
        // Not the division where that would do: a branch between the two would be mispredicted.
        let exponent = i64::from(self.exponent);
        let magnitude = if FUSED { fused(mantissa, exponent) } else { eisel_lemire(mantissa, exponent) }?;
        Some(if self.negative { -magnitude } else { magnitude })
    }
}

/// Up to 31 bytes of sign, digits and dot, and an exponent of two figures. `read` gives the digits of so many bytes that end
/// at a pointer; `None` for anything else than digits and one dot. `FUSED` as for [`Scale::double`].
///
/// # Safety
/// At least 37 readable bytes stand before the end; `read` looks at no more than 32.
#[inline(always)]
pub(super) unsafe fn double<const FUSED: bool>(
    end: *const u8,
    length: u32,
    read: impl Fn(*const u8, u32) -> Option<Digits>,
) -> Option<f64> {
    // SAFETY: the caller's.
    let number = unsafe { Decimal31::of(end, length) }?;
    let Digits { upper, lower, places } = read(number.end, number.length)?;
    number.scale(places)?.double::<FUSED>(upper, lower)
}
