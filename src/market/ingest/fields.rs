//! The fields of a row, eight and sixteen bytes at a time: rows come by the ten million, and their fields are short.

use std::ops::Range;

/// A byte in each byte of a word.
const fn each(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// Where the commas of a line are. Fields are shorter than what a search for the next one costs to begin.
#[inline]
pub(super) fn split(line: &[u8], fields: &mut Vec<Range<usize>>) {
    let mut begin = 0;
    let mut found = |comma: usize| {
        fields.push(begin..comma);
        begin = comma + 1;
    };
    let (words, rest) = line.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let differs = u64::from_le_bytes(*word) ^ each(b',');
        // The highest bit of each byte that is 0, and of no other one.
        let mut commas = !(((differs & each(0x7f)) + each(0x7f)) | differs | each(0x7f));
        while commas != 0 {
            found(8 * index + commas.trailing_zeros() as usize / 8);
            commas &= commas - 1;
        }
    }
    for (index, byte) in rest.iter().enumerate() {
        if *byte == b',' {
            found(8 * words.len() + index);
        }
    }
    fields.push(begin..line.len());
}

/// A field of at most sixteen bytes, as if zeros stood before it: its last byte is the highest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Short(u128);

impl Short {
    /// `None` for a field that is empty, longer, or only a point, and for one so near to the line's begin that the load would
    /// reach before it.
    #[inline]
    pub(super) fn of(line: &[u8], field: &Range<usize>) -> Option<Self> {
        let length = field.len();
        if !(1..=16).contains(&length) || line[field.clone()] == *b"." {
            return None;
        }
        let loaded = line.get(field.end.checked_sub(16)?..field.end)?.first_chunk::<16>()?;
        let before = (8 * (16 - length)) as u32;
        let own = u128::from_le_bytes(*loaded) >> before << before;
        let zeros = u128::from_le_bytes([b'0'; 16]);
        Some(Self(own | zeros & !(u128::MAX << before)))
    }

    /// A whole number without a sign.
    #[inline]
    pub(super) fn whole(self) -> Option<i64> {
        // The first eight digits are in the lower half.
        let (high, low) = (digits(self.0 as u64)?, digits((self.0 >> 64) as u64)?);
        Some((high * 100_000_000 + low) as i64)
    }

    /// A decimal number without sign and exponent: digits that make a whole number below 2^53 and a power of ten that a
    /// double holds exactly, whose quotient is then rounded once, which is what reading correctly means.
    #[inline]
    pub(super) fn decimal(self) -> Option<f64> {
        const TENS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
        let differs = self.0 ^ u128::from_le_bytes([b'.'; 16]);
        let low_bits = u128::from_le_bytes([0x7f; 16]);
        let points = !(((differs & low_bits) + low_bits) | differs | low_bits);
        if points == 0 {
            return self.whole().filter(|whole| *whole < 1 << 53).map(|whole| whole as f64);
        }
        // What stands before the point moves over it; a second point is no digit.
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

    /// The field behind enough of a line.
    fn short(text: &[u8]) -> Option<Short> {
        let line = [b"binance,BTCUSDT,", text, b",more"].concat();
        Short::of(&line, &(16..16 + text.len()))
    }

    #[test]
    fn only_short_fields_with_room_before_them_are_loaded() {
        assert!(short(b"").is_none() && short(b".").is_none());
        assert!(short(b"12345678901234567").is_none());
        assert!(Short::of(b"0123456789abcde,", &(8..15)).is_none());
        assert!(Short::of(b"0123456789abcdef", &(0..16)).is_some());
    }

    #[test]
    fn what_is_no_plain_number_is_left_to_others() {
        for text in ["-1", "+1", "1e3", "1.2.3", "abc", "1 ", "\u{660}", "1:", "1/", "9007199254740993"] {
            assert_eq!(short(text.as_bytes()).unwrap().decimal(), None, "{text}");
        }
        assert_eq!(short(b"1.5").unwrap().whole(), None);
    }

    proptest! {
        #[test]
        fn lines_are_split_at_their_commas(line in proptest::collection::vec(prop_oneof![Just(b','), any::<u8>()], 0..99)) {
            let mut fields = Vec::new();
            split(&line, &mut fields);
            let texts: Vec<&[u8]> = fields.into_iter().map(|field| &line[field]).collect();
            prop_assert_eq!(texts, line.split(|byte| *byte == b',').collect::<Vec<_>>());
        }

        #[test]
        fn whole_numbers_are_those_of_the_standard_library(text in "[0-9]{1,16}") {
            prop_assert_eq!(short(text.as_bytes()).unwrap().whole(), text.parse().ok());
        }

        #[test]
        fn any_decimal_has_the_bits_of_the_standard_library(text in "[0-9]{0,9}\\.?[0-9]{0,6}") {
            prop_assume!(text.bytes().any(|byte| byte.is_ascii_digit()));
            let bits = short(text.as_bytes()).unwrap().decimal().map(f64::to_bits);
            prop_assert_eq!(bits, text.parse::<f64>().ok().map(f64::to_bits));
        }

        #[test]
        fn no_bytes_are_taken_for_a_number_that_is_not_one(text in proptest::collection::vec(any::<u8>(), 1..17)) {
            let value = short(&text).and_then(Short::decimal);
            let known = std::str::from_utf8(&text).ok().and_then(|text| text.parse::<f64>().ok());
            prop_assert!(value.is_none() || value == known);
        }
    }
}
