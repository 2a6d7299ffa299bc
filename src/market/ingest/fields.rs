//! The numbers of a row, eight and sixteen bytes at a time: rows come by the ten million, and their fields are short.

use std::ops::Range;

/// A byte in each byte of a word.
const fn each(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// The integer of a field, without a sign. `None` for anything else, for more than sixteen digits, and for a field
/// so near to the start of the block that a load would reach before it.
#[inline]
pub(in crate::market) fn whole(block: &[u8], field: Range<usize>) -> Option<i64> {
    match field.len() {
        1..=8 => Eight::ending(block, field)?.whole(),
        9..=16 => Sixteen::ending(block, field)?.whole(),
        _ => None,
    }
}

/// The decimal number of a field, correctly rounded. `None` for one with a sign or an exponent, for anything but a
/// number, for more than sixteen characters or too many digits, and near to the start of the block.
#[inline]
pub(in crate::market) fn decimal(block: &[u8], field: Range<usize>) -> Option<f64> {
    match field.len() {
        1 if block[field.start] == b'.' => None,
        1..=8 => Eight::ending(block, field)?.decimal(),
        9..=16 => Sixteen::ending(block, field)?.decimal(),
        _ => None,
    }
}

/// Powers of ten that a double holds exactly. An integer below 2^53 divided by one is rounded once, so the result is
/// correctly rounded.
const TENS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// A field of at most eight bytes, padded with zeros in front: its last byte is the highest.
#[derive(Clone, Copy)]
struct Eight(u64);

impl Eight {
    /// The field, which is not empty.
    #[inline]
    fn ending(block: &[u8], field: Range<usize>) -> Option<Self> {
        let loaded = block.get(field.end.checked_sub(8)?..field.end)?.first_chunk::<8>()?;
        let before = (8 * (8 - field.len())) as u32;
        let own = u64::from_le_bytes(*loaded) >> before << before;
        Some(Self(own | each(b'0') & !(u64::MAX << before)))
    }

    #[inline]
    fn whole(self) -> Option<i64> {
        digits(self.0).map(u64::cast_signed)
    }

    #[inline]
    fn decimal(self) -> Option<f64> {
        let differs = self.0 ^ each(b'.');
        let points = !(((differs & each(0x7f)) + each(0x7f)) | differs | each(0x7f));
        if points == 0 {
            return self.whole().map(|whole| whole as f64);
        }
        // The digits before the point move over it; a second point fails as no digit.
        let place = points.trailing_zeros() & !7;
        let before = self.0 & !(u64::MAX << place);
        let after = self.0 & (u64::MAX << place << 8);
        let whole = Self(after | before << 8 | u64::from(b'0')).whole()?;
        Some(whole as f64 / TENS[7 - place as usize / 8])
    }
}

/// A field of at most sixteen bytes, in the same form.
#[derive(Clone, Copy)]
struct Sixteen(u128);

impl Sixteen {
    #[inline]
    fn ending(block: &[u8], field: Range<usize>) -> Option<Self> {
        let loaded = block.get(field.end.checked_sub(16)?..field.end)?.first_chunk::<16>()?;
        let before = (8 * (16 - field.len())) as u32;
        let own = u128::from_le_bytes(*loaded) >> before << before;
        let zeros = u128::from_le_bytes([b'0'; 16]);
        Some(Self(own | zeros & !(u128::MAX << before)))
    }

    #[inline]
    fn whole(self) -> Option<i64> {
        // The first eight digits are in the lower half.
        let (high, low) = (digits(self.0 as u64)?, digits((self.0 >> 64) as u64)?);
        Some((high * 100_000_000 + low) as i64)
    }

    #[inline]
    fn decimal(self) -> Option<f64> {
        let differs = self.0 ^ u128::from_le_bytes([b'.'; 16]);
        let low_bits = u128::from_le_bytes([0x7f; 16]);
        let points = !(((differs & low_bits) + low_bits) | differs | low_bits);
        if points == 0 {
            return self.whole().filter(|whole| *whole < 1 << 53).map(|whole| whole as f64);
        }
        let place = points.trailing_zeros() & !7;
        let before = self.0 & !(u128::MAX << place);
        let after = self.0 & (u128::MAX << place << 8);
        let whole = Self(after | before << 8 | u128::from(b'0')).whole()?;
        let decimals = 15 - place as usize / 8;
        (whole < 1 << 53).then(|| whole as f64 / TENS[decimals])
    }
}

/// The number that eight digits spell, the first one in the lowest byte.
#[inline]
fn digits(word: u64) -> Option<u64> {
    let nibbles = word ^ each(b'0');
    if nibbles & each(0xf0) != 0 || (nibbles + each(6)) & each(0xf0) != 0 {
        return None;
    }
    let pairs = (nibbles * 10 + (nibbles >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A field behind enough of a block, and in front of more.
    fn block(text: &[u8]) -> (Vec<u8>, Range<usize>) {
        ([b"binance,BTCUSDT,", text, b",more"].concat(), 16..16 + text.len())
    }

    fn whole_of(text: &[u8]) -> Option<i64> {
        let (block, field) = block(text);
        whole(&block, field)
    }

    fn decimal_of(text: &[u8]) -> Option<f64> {
        let (block, field) = block(text);
        decimal(&block, field)
    }

    #[test]
    fn only_short_fields_with_room_before_them_are_loaded() {
        assert_eq!((decimal_of(b""), decimal_of(b"12345678901234567")), (None, None));
        assert_eq!((whole_of(b""), whole_of(b"12345678901234567")), (None, None));
        assert_eq!(whole(b"0123456,", 0..7), None);
        assert_eq!(whole(b"01234567,", 0..8), Some(1_234_567));
        assert_eq!(whole(b"0123456789abcde,", 0..9), None);
        assert_eq!(decimal(b"0123456789012345", 0..16), Some(123_456_789_012_345.0));
    }

    #[test]
    fn what_is_no_plain_number_is_left_to_others() {
        for text in ["-1", "+1", "1e3", "1.2.3", "abc", "1 ", "\u{660}", "1:", "1/", "..", "9007199254740993"] {
            assert_eq!(decimal_of(text.as_bytes()), None, "{text}");
        }
        assert_eq!(whole_of(b"1.5"), None);
        assert_eq!(whole_of(b"123456789.5"), None);
    }

    proptest! {
        #[test]
        fn whole_numbers_are_those_of_the_standard_library(text in "[0-9]{1,16}") {
            prop_assert_eq!(whole_of(text.as_bytes()), text.parse().ok());
        }

        #[test]
        fn any_decimal_has_the_bits_of_the_standard_library(text in "[0-9]{0,9}\\.?[0-9]{0,6}") {
            prop_assume!(text.bytes().any(|byte| byte.is_ascii_digit()));
            let bits = decimal_of(text.as_bytes()).map(f64::to_bits);
            prop_assert_eq!(bits, text.parse::<f64>().ok().map(f64::to_bits));
        }

        #[test]
        fn no_bytes_are_taken_for_a_number_that_is_not_one(text in proptest::collection::vec(any::<u8>(), 1..17)) {
            let value = decimal_of(&text);
            let known = std::str::from_utf8(&text).ok().and_then(|text| text.parse::<f64>().ok());
            prop_assert!(value.is_none() || value == known);
        }
    }
}
