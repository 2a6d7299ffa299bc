//! Delimiters and literals.

use std::arch::aarch64::*;

use super::super::literal::{Literal, PIECE};
use super::super::scalar;

/// Bytes that are looked at together.
const BLOCK: usize = 64;
/// Places that are compared between two questions.
const GROUP: usize = 8;

/// See [`super::super::Kernel::index`]. `out` holds 64 more than there are bytes.
pub(in super::super) fn index(bytes: &[u8], from: usize, out: &mut [u32]) -> usize {
    find::<false, false, false>(bytes, from, out, &mut []).0
}

/// See [`super::super::Kernel::index_closers`].
pub(in super::super) fn index_closers(
    bytes: &[u8],
    from: usize,
    out: &mut [u32],
    closers: &mut [u32],
) -> (usize, usize) {
    find::<false, true, false>(bytes, from, out, closers)
}

/// See [`super::super::Kernel::index_list`].
pub(in super::super) fn index_list(bytes: &[u8], from: usize, out: &mut [u32]) -> usize {
    find::<true, false, false>(bytes, from, out, &mut []).0
}

/// See [`super::super::Kernel::index_rows`].
pub(in super::super) fn index_rows(bytes: &[u8], out: &mut [u32], ends: &mut [u32]) -> (usize, usize) {
    find::<false, true, true>(bytes, 0, out, ends)
}

/// Bits of the bytes of a block that are delimiters, and of those that close a list, or with `ROWS` a line.
#[inline(always)]
fn masks<const ROWS: bool>(block: &[u8; BLOCK]) -> (u64, u64) {
    const WEIGHTS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
    // SAFETY: 16 bytes each of the block and of the table.
    let (parts, weights) = unsafe {
        let part = |number: usize| vld1q_u8(block.as_ptr().add(number * 16));
        ([part(0), part(1), part(2), part(3)], vld1q_u8(WEIGHTS.as_ptr()))
    };
    // SAFETY: NEON is part of the processor.
    unsafe {
        let closing = parts.map(|part| {
            if ROWS {
                vceqq_u8(part, vdupq_n_u8(b'\n'))
            } else {
                // One bit is all that `]` and `}` differ in.
                vceqq_u8(vorrq_u8(part, vdupq_n_u8(0x20)), vdupq_n_u8(b'}'))
            }
        });
        let all = |number: usize| vorrq_u8(vceqq_u8(parts[number], vdupq_n_u8(b',')), closing[number]);
        // A bit for each byte, and three sums of neighbours bring eight of them into one.
        let sum = |masks: [uint8x16_t; 4]| {
            let bits = masks.map(|mask| vandq_u8(mask, weights));
            vpaddq_u8(vpaddq_u8(bits[0], bits[1]), vpaddq_u8(bits[2], bits[3]))
        };
        let both = vreinterpretq_u64_u8(vpaddq_u8(sum([all(0), all(1), all(2), all(3)]), sum(closing)));
        (vgetq_lane_u64::<0>(both), vgetq_lane_u64::<1>(both))
    }
}

/// `LIST`: only up to the first that closes. `CLOSERS`: marks these. `ROWS`: what closes is the end of a line.
#[inline(always)]
fn find<const LIST: bool, const CLOSERS: bool, const ROWS: bool>(
    bytes: &[u8],
    from: usize,
    out: &mut [u32],
    closers: &mut [u32],
) -> (usize, usize) {
    assert!(!CLOSERS || closers.len() >= bytes.len().saturating_sub(from) + BLOCK);
    assert!(out.len() >= bytes.len().saturating_sub(from) + BLOCK);
    let (mut found, mut closed) = (0, 0);
    let mut at = from;
    while at < bytes.len() {
        let (mut bits, closing) = match bytes[at..].first_chunk() {
            Some(block) => masks::<ROWS>(block),
            None => {
                let mut block = [0; BLOCK];
                block[..bytes.len() - at].copy_from_slice(&bytes[at..]);
                masks::<ROWS>(&block)
            }
        };
        if LIST && closing != 0 {
            bits &= closing ^ (closing - 1); // up to the first that closes
        }
        if CLOSERS {
            let mut left = closing;
            while left != 0 {
                let before = bits & !left & left.wrapping_sub(1);
                closers[closed] = found as u32 + before.count_ones();
                closed += 1;
                left &= left - 1;
            }
        }
        let next = found + bits.count_ones() as usize;
        // The first at the top, where this processor finds it with one instruction.
        let mut left = bits.reverse_bits();
        // Four at a time without asking whether there are as many: what is too much is written over.
        while found < next {
            for place in &mut out[found..found + 4] {
                let zeros = left.leading_zeros();
                *place = at as u32 + zeros;
                left &= !(1u64 << 63).wrapping_shr(zeros);
            }
            found += 4;
        }
        found = next;
        at += BLOCK;
        if LIST && closing != 0 {
            break;
        }
    }
    (found, closed)
}

/// See [`super::super::Kernel::same`].
pub(in super::super) fn same(bytes: &[u8], befores: &[u32], skip: u32, literal: &Literal) -> usize {
    let last = befores.iter().fold(0, |last, before| last.max(*before)) as usize;
    if last + skip as usize + literal.len() + PIECE > bytes.len() {
        return scalar::same(bytes, befores, skip, literal);
    }
    let mut rows = befores.len();
    let mut skip = skip as usize;
    for piece in literal.pieces() {
        for half in (0..piece.length).step_by(16) {
            rows = same_half(bytes, &befores[..rows], skip + half, &piece.bytes[half..], piece.length - half);
        }
        skip += piece.length;
    }
    rows
}

/// How many of the first places have the first `length` of 16 bytes after them.
#[inline(always)]
fn same_half(bytes: &[u8], befores: &[u32], skip: usize, wanted: &[u8], length: usize) -> usize {
    const INDEX: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    // SAFETY: 16 bytes of each: of what is wanted by the assertion, and [`same`] asked for those after every place.
    unsafe {
        assert!(wanted.len() >= 16);
        let wanted = vld1q_u8(wanted.as_ptr());
        let inside = vcltq_u8(vld1q_u8(INDEX.as_ptr()), vdupq_n_u8(length.min(16) as u8));
        let bytes = bytes.as_ptr().add(skip);
        let other = |before: &u32| veorq_u8(vld1q_u8(bytes.add(*before as usize)), wanted);
        let none = |others: uint8x16_t| vmaxvq_u8(vandq_u8(others, inside)) == 0;
        for (group, places) in befores.chunks(GROUP).enumerate() {
            if !none(places.iter().fold(vdupq_n_u8(0), |others, one| vorrq_u8(others, other(one)))) {
                return group * GROUP + places.iter().take_while(|before| none(other(before))).count();
            }
        }
    }
    befores.len()
}
