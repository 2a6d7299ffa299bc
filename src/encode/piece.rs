//! Copies of short texts. One of a length that the compiler does not know is a call, which costs more than the copy: keys
//! and numbers are copied in pieces of a known length, and what is too much is cut off again.

/// Bytes that are copied at a time.
const LENGTH: usize = 32;

/// A text that is written again and again.
#[derive(Debug, Clone)]
pub(super) struct TextPiece {
    first: [u8; LENGTH],
    length: usize,
    /// Rest of a long text behind the first bytes.
    rest: Vec<u8>,
}

impl TextPiece {
    pub(super) fn new(text: &[u8]) -> Self {
        Self::of([text])
    }

    /// Parts, one after the other.
    pub(super) fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut piece = Self { first: [0; LENGTH], length: 0, rest: Vec::new() };
        for part in parts {
            let (fitting, others) = part.split_at(part.len().min(LENGTH - piece.length));
            piece.first[piece.length..piece.length + fitting.len()].copy_from_slice(fitting);
            piece.length += fitting.len();
            piece.rest.extend_from_slice(others);
        }
        piece
    }

    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.first);
        out.truncate(out.len() - (LENGTH - self.length));
        if !self.rest.is_empty() {
            out.extend_from_slice(&self.rest);
        }
    }
}

/// Writes a text that is most likely short, such as a number's.
#[inline]
pub(super) fn short(out: &mut Vec<u8>, text: &[u8]) {
    match text.len() {
        8..=16 => ends::<8>(out, text),
        4..=7 => ends::<4>(out, text),
        17..=32 => ends::<16>(out, text),
        0..=3 => text.iter().for_each(|byte| out.push(*byte)),
        _ => out.extend_from_slice(text),
    }
}

/// The first `N` bytes of a text and its last ones, which overlap unless there are twice as many.
#[inline]
fn ends<const N: usize>(out: &mut Vec<u8>, text: &[u8]) {
    let (Some(first), Some(last)) = (text.first_chunk::<N>(), text.last_chunk::<N>()) else { return };
    out.extend_from_slice(first);
    out.truncate(out.len() + text.len() - 2 * N);
    out.extend_from_slice(last);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_every_length_are_copied_whole() {
        let text: Vec<u8> = (1..=100).collect();
        for length in 0..=text.len() {
            for before in [0, 5, 31] {
                let mut out = vec![7; before];
                let expected = [&out[..], &text[..length]].concat();
                short(&mut out, &text[..length]);
                assert_eq!(out, expected);
                out.truncate(before);
                TextPiece::new(&text[..length]).write(&mut out);
                assert_eq!(out, expected);
                out.truncate(before);
                let (start, end) = text[..length].split_at(length / 3);
                TextPiece::of([start, end]).write(&mut out);
                assert_eq!(out, expected);
            }
        }
    }
}
