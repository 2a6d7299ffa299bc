//! Field names as written in a body: mostly short, plain and in the same order.

/// The name of a field, and a number by which most names differ.
#[derive(Debug, Clone, Copy)]
pub(in crate::decode) struct FieldName<'a> {
    pub(in crate::decode) bytes: &'a [u8],
    /// The first eight bytes and the length: for a short name, all of it.
    pub(in crate::decode) mark: u64,
}

impl<'a> FieldName<'a> {
    pub(in crate::decode) fn new(bytes: &'a [u8]) -> Self {
        let mut first = [0; 8];
        let length = bytes.len().min(8);
        first[..length].copy_from_slice(&bytes[..length]);
        Self::of(bytes, u64::from_le_bytes(first))
    }

    /// A quoted plain ASCII name without escapes at this position, directly followed by a colon.
    #[inline]
    pub(in crate::decode) fn at(bytes: &'a [u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(b"\"")?;
        let first = u64::from_le_bytes(*rest.first_chunk()?);
        let mut length = 0;
        let mut word = first;
        loop {
            let special = special_bytes(word);
            length += special.trailing_zeros() as usize / 8;
            if special != 0 {
                break;
            }
            word = u64::from_le_bytes(*rest.get(length..)?.first_chunk()?);
        }
        (rest.get(length..length + 2)? == b"\":").then(|| Self::of(&rest[..length], first))
    }

    /// `first`: the eight bytes from the start of the name on.
    #[inline]
    fn of(bytes: &'a [u8], first: u64) -> Self {
        let first = if bytes.len() < 8 { first & !(u64::MAX << (8 * bytes.len())) } else { first };
        Self { bytes, mark: first ^ (bytes.len() as u64).rotate_right(8) }
    }
}

/// The top bit of the first byte that is a quote, a backslash, a control character or no ASCII; perhaps of later bytes.
#[inline]
pub(super) fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const TOPS: u64 = u64::from_le_bytes([0x80; 8]);
    let zero = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes;
    let below_space = word.wrapping_sub(ONES * 0x20) & !word;
    (zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\'))) | below_space | word) & TOPS
}
