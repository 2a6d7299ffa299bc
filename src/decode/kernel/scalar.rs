//! The portable kernel: no instruction beyond what the compiler takes for granted.

use std::mem::MaybeUninit;

use super::super::number;
use super::literal::Literal;
use super::{ListSpan, ONCE, fallback};

/// See [`super::Kernel::index`].
pub(super) fn index(bytes: &[u8], from: usize, out: &mut [u32]) -> usize {
    find::<false, false>(bytes, from, out)
}

/// See [`super::Kernel::index_list`].
pub(super) fn index_list(bytes: &[u8], from: usize, out: &mut [u32]) -> usize {
    find::<true, false>(bytes, from, out)
}

/// See [`super::Kernel::index_closers`].
pub(super) fn index_closers(bytes: &[u8], from: usize, out: &mut [u32], closers: &mut [u32]) -> (usize, usize) {
    let found = index(bytes, from, out);
    (found, closing(bytes, &out[..found], closers))
}

/// See [`super::Kernel::index_rows`].
pub(super) fn index_rows(bytes: &[u8], out: &mut [u32], line_ends: &mut [u32]) -> (usize, usize) {
    let found = find::<false, true>(bytes, 0, out);
    (found, closing(bytes, &out[..found], line_ends))
}

/// `LIST`: only up to the first that closes. `ROWS`: what closes is the end of a line.
fn find<const LIST: bool, const ROWS: bool>(bytes: &[u8], from: usize, out: &mut [u32]) -> usize {
    let mut found = 0;
    let (words, rest) = bytes.get(from..).unwrap_or_default().as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let closing = if ROWS { equal(word, b'\n') } else { equal(word, b']') | equal(word, b'}') };
        let mut mask = closing | equal(word, b',');
        if LIST && closing != 0 {
            mask &= closing ^ (closing - 1); // up to the first that closes
        }
        while mask != 0 {
            out[found] = (from + number * 8) as u32 + mask.trailing_zeros() / 8;
            found += 1;
            mask &= mask - 1;
        }
        if LIST && closing != 0 {
            return found;
        }
    }
    for (place, byte) in rest.iter().enumerate() {
        let closes = if ROWS { *byte == b'\n' } else { matches!(byte, b']' | b'}') };
        if closes || *byte == b',' {
            out[found] = (from + words.len() * 8 + place) as u32;
            found += 1;
            if LIST && closes {
                break;
            }
        }
    }
    found
}

/// The indices of the delimiters that are no commas, and their number.
fn closing(bytes: &[u8], delimiters: &[u32], out: &mut [u32]) -> usize {
    let mut found = 0;
    for (index, place) in delimiters.iter().enumerate() {
        // Without a branch: what is no closer is written over.
        out[found] = index as u32;
        found += usize::from(bytes[*place as usize] != b',');
    }
    found
}

/// See [`super::Kernel::lists`].
pub(super) fn lists(places: &[u32], spans: &[ListSpan], befores: &mut [u32], ends: &mut [u32]) -> usize {
    let mut at = 0;
    for (row, span) in spans.iter().enumerate() {
        if list(places, span, at, befores, ends).is_none() {
            return row;
        }
        at = span.until as usize;
    }
    spans.len()
}

/// One list, of which the first number comes to `at`.
pub(super) fn list(places: &[u32], span: &ListSpan, at: usize, befores: &mut [u32], ends: &mut [u32]) -> Option<()> {
    let count = (span.until as usize).checked_sub(at)?;
    let (places, befores, ends) = (places.get(span.first as usize..)?, befores.get_mut(at..)?, ends.get_mut(at..)?);
    let (before, others) = befores.split_first_mut()?;
    // As many as most lists have, whatever this one has: that is no branch that depends on it.
    if let (Some(some), Some(others), Some(ends)) =
        (places.first_chunk::<ONCE>(), others.first_chunk_mut::<ONCE>(), ends.first_chunk_mut::<ONCE>())
        && count <= ONCE
    {
        (*others, *ends) = (*some, *some);
    } else {
        let places = places.get(..count)?;
        others.get_mut(..count)?.copy_from_slice(places);
        ends.get_mut(..count)?.copy_from_slice(places);
    }
    *before = span.before;
    Some(())
}

/// The top bit of every byte that is `sign`, and of no other.
fn equal(word: u64, sign: u8) -> u64 {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    let zero = word ^ (u64::from(sign) * 0x0101_0101_0101_0101);
    !(((zero & LOW) + LOW) | zero | LOW)
}

/// See [`super::Kernel::list_end`].
pub(super) fn list_end(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let (mut at, mut commas) = (from, 0);
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*word);
        let (closing, separating) = (equal(word, b']'), equal(word, b','));
        if closing != 0 {
            let before = separating & (closing ^ closing.wrapping_sub(1));
            return Some((commas + before.count_ones() as usize, at + closing.trailing_zeros() as usize / 8));
        }
        commas += separating.count_ones() as usize;
        at += 8;
    }
    let rest = bytes.get(at..)?;
    let end = rest.iter().position(|byte| *byte == b']')?;
    Some((commas + rest[..end].iter().filter(|byte| **byte == b',').count(), at + end))
}

/// See [`super::Kernel::same`].
pub(super) fn same(bytes: &[u8], befores: &[u32], skip: u32, literal: &Literal) -> usize {
    let stands = |before: u32| {
        let mut at = before as usize + skip as usize;
        literal.pieces().iter().all(|piece| {
            let right = piece.stands_at(bytes, at);
            at += piece.length;
            right
        })
    };
    befores.iter().position(|before| !stands(*before)).unwrap_or(befores.len())
}

/// See [`super::Kernel::floats`].
pub(super) fn floats(bytes: &[u8], befores: &[u32], skip: u32, ends: &[u32], out: &mut [MaybeUninit<f64>]) -> bool {
    befores.iter().zip(ends).zip(out).all(|((before, end), out)| {
        let token = bytes.get(before.wrapping_add(skip) as usize..*end as usize);
        match token.and_then(number::token) {
            Some(value) => out.write(value),
            None => return false,
        };
        true
    })
}

/// See [`super::Kernel::times`].
pub(super) fn times(
    bytes: &[u8],
    befores: &[u32],
    skip: u32,
    ends: &[u32],
    fraction: Option<(u32, &[u32])>,
    out: &mut [MaybeUninit<i64>],
) -> bool {
    for (row, (before, end)) in befores.iter().zip(ends).enumerate() {
        let part = fraction.map(|(skip, ends)| end.wrapping_add(skip) as usize..ends[row] as usize);
        match fallback::time(bytes, before.wrapping_add(skip) as usize..*end as usize, part) {
            Some(time) => out[row].write(time.0),
            None => return false,
        };
    }
    true
}
