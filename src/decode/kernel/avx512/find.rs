//! Delimiters and literals, 64 bytes at a time.

use std::arch::x86_64::*;

use super::super::literal::{Literal, PIECE};
use super::super::{ListSpan, ONCE, scalar};
use crate::columns;

/// Bytes between what is looked through and what is asked of memory: a stretch, as the callers have it.
const AHEAD: usize = 8 << 10;

/// Offsets 0 … 63.
const COUNTING: [u8; 64] = {
    let mut table = [0; 64];
    let mut index = 0;
    while index < 64 {
        table[index] = index as u8;
        index += 1;
    }
    table
};

avx512! {
    /// See [`super::super::Kernel::index`]. `out` holds 64 more than there are bytes.
    pub(in super::super) fn index(bytes: &[u8], from: usize, out: &mut [u32]) -> usize {
        find::<false, false, false>(bytes, from, out, &mut []).0
    }

    /// See [`super::super::Kernel::index_list`].
    pub(in super::super) fn index_list(bytes: &[u8], from: usize, out: &mut [u32]) -> usize {
        find::<true, false, false>(bytes, from, out, &mut []).0
    }

    /// See [`super::super::Kernel::index_closers`].
    pub(in super::super) fn index_closers(bytes: &[u8], from: usize, out: &mut [u32], closers: &mut [u32]) -> (usize, usize) {
        find::<false, true, false>(bytes, from, out, closers)
    }

    /// See [`super::super::Kernel::index_rows`].
    pub(in super::super) fn index_rows(bytes: &[u8], out: &mut [u32], line_ends: &mut [u32]) -> (usize, usize) {
        find::<false, true, true>(bytes, 0, out, line_ends)
    }

    /// The numbers of delimiters and, if `CLOSERS`, of those that close. `LIST`: only up to the first of these. `ROWS`: what
    /// closes is the end of a line.
    #[inline]
    fn find<const LIST: bool, const CLOSERS: bool, const ROWS: bool>(
        bytes: &[u8], from: usize, out: &mut [u32], closers: &mut [u32],
    ) -> (usize, usize) {
        assert!(!CLOSERS || closers.len() >= bytes.len().saturating_sub(from) + 64);
        assert!(out.len() >= bytes.len().saturating_sub(from) + 64);
        let (comma, bracket, brace) =
            (_mm512_set1_epi8(b',' as i8), _mm512_set1_epi8(b']' as i8), _mm512_set1_epi8(b'}' as i8));
        let line_end = _mm512_set1_epi8(b'\n' as i8);
        // SAFETY: the table is 64 bytes long.
        let counting = unsafe { _mm512_loadu_si512(COUNTING.as_ptr().cast()) };
        let (mut found, mut closed) = (0, 0);
        let mut at = from;
        while at < bytes.len() {
            let left = bytes.len() - at;
            // The next stretch comes while this one is decoded, if it is not here already.
            _mm_prefetch::<_MM_HINT_T1>(bytes.as_ptr().wrapping_add(at + AHEAD).cast());
            // SAFETY: only bytes inside the slice are loaded.
            let block = unsafe {
                let block = bytes.as_ptr().add(at);
                if left >= 64 { _mm512_loadu_si512(block.cast()) } else { _mm512_maskz_loadu_epi8((1 << left) - 1, block.cast()) }
            };
            let closing = if ROWS {
                _mm512_cmpeq_epi8_mask(block, line_end)
            } else {
                _mm512_cmpeq_epi8_mask(block, bracket) | _mm512_cmpeq_epi8_mask(block, brace)
            };
            let mut mask = closing | _mm512_cmpeq_epi8_mask(block, comma);
            if LIST && closing != 0 {
                mask &= closing ^ (closing - 1); // up to the first that closes
            }
            let count = mask.count_ones() as usize;
            let offsets = _mm512_maskz_compress_epi8(mask, counting);
            let base = _mm512_set1_epi32(at as i32);
            // SAFETY: no more is found than there were bytes, and the slice has room for one block behind them.
            unsafe {
                let place = out.as_mut_ptr().add(found);
                let wide = |part: __m128i| _mm512_add_epi32(_mm512_cvtepu8_epi32(part), base);
                _mm512_storeu_si512(place.cast(), wide(_mm512_castsi512_si128(offsets)));
                // Rows with lists have more or less than sixteen, now and then: that branch would be unpredictable.
                if CLOSERS || count > 16 {
                    _mm512_storeu_si512(place.add(16).cast(), wide(_mm512_extracti32x4_epi32::<1>(offsets)));
                    if count > 32 {
                        _mm512_storeu_si512(place.add(32).cast(), wide(_mm512_extracti32x4_epi32::<2>(offsets)));
                        _mm512_storeu_si512(place.add(48).cast(), wide(_mm512_extracti32x4_epi32::<3>(offsets)));
                    }
                }
            }
            if CLOSERS {
                let which = _pext_u64(closing, mask);
                let indices = _mm512_maskz_compress_epi8(which, counting);
                let base = _mm512_set1_epi32(found as i32);
                // SAFETY: no more close than there are delimiters, and there is as much room.
                unsafe {
                    let place = closers.as_mut_ptr().add(closed);
                    let wide = |part: __m128i| _mm512_add_epi32(_mm512_cvtepu8_epi32(part), base);
                    _mm512_storeu_si512(place.cast(), wide(_mm512_castsi512_si128(indices)));
                    if which.count_ones() > 16 {
                        _mm512_storeu_si512(place.add(16).cast(), wide(_mm512_extracti32x4_epi32::<1>(indices)));
                        _mm512_storeu_si512(place.add(32).cast(), wide(_mm512_extracti32x4_epi32::<2>(indices)));
                        _mm512_storeu_si512(place.add(48).cast(), wide(_mm512_extracti32x4_epi32::<3>(indices)));
                    }
                }
                closed += which.count_ones() as usize;
            }
            found += count;
            at += 64;
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
            // SAFETY: a piece is 32 bytes long, and so is what follows every place.
            let (wanted, there) = unsafe {
                let bytes = bytes.as_ptr().add(skip);
                let there = move |before: u32| _mm256_loadu_si256(bytes.add(before as usize).cast());
                (_mm256_loadu_si256(piece.bytes.as_ptr().cast()), there)
            };
            let inside = ((1u64 << piece.length) - 1) as u32;
            // Eight places between two questions.
            for (group, eight) in befores[..rows].chunks(8).enumerate() {
                // All bits of either, or of one of two that differ.
                let collect = |all: __m256i, before: &u32| _mm256_ternarylogic_epi32::<0xF6>(all, there(*before), wanted);
                let differs = |all: __m256i| _mm256_mask_test_epi8_mask(inside, all, all) != 0;
                if differs(eight.iter().fold(_mm256_setzero_si256(), collect)) {
                    let alone = |before: &&u32| !differs(collect(_mm256_setzero_si256(), before));
                    rows = group * 8 + eight.iter().take_while(alone).count();
                    break;
                }
            }
            skip += piece.length;
        }
        rows
    }

    /// See [`super::super::Kernel::ascend`].
    pub(in super::super) fn ascend(pairs: &[f64]) -> bool {
        /// The first of each pair.
        const FIRSTS: u8 = 0x55;
        let eights = pairs.as_chunks::<8>().0;
        // SAFETY: eight values each.
        let load = |eight: &[f64; 8]| unsafe { _mm512_loadu_si512(eight.as_ptr().cast()) };
        let mut falling = 0;
        if let [first, others @ ..] = eights {
            let mut low = load(first);
            for next in others {
                let next = load(next);
                // The values two further on.
                let high = _mm512_alignr_epi64::<2>(next, low);
                falling |= _mm512_cmp_pd_mask::<_CMP_NLE_UQ>(_mm512_castsi512_pd(low), _mm512_castsi512_pd(high));
                low = next;
            }
        }
        let whole = eights.len().saturating_sub(1) * 8;
        falling & FIRSTS == 0 && columns::ascend(&pairs[whole..])
    }

    /// See [`super::super::Kernel::lists`].
    pub(in super::super) fn lists(places: &[u32], spans: &[ListSpan], befores: &mut [u32], ends: &mut [u32]) -> usize {
        const { assert!(ONCE == 32) };
        let room = befores.len().min(ends.len());
        let mut at = 0;
        for (row, span) in spans.iter().enumerate() {
            let (first, until) = (span.first as usize, span.until as usize);
            if first + ONCE <= places.len() && at + ONCE <= room && until.wrapping_sub(at) <= ONCE {
                // As many as most lists have, whatever this one has: that is no branch that depends on it.
                // SAFETY: so many places are there, and there is room for so many; both were just looked at.
                unsafe {
                    let places = places.as_ptr().add(first);
                    let (low, high) = (_mm512_loadu_si512(places.cast()), _mm512_loadu_si512(places.add(16).cast()));
                    let before = _mm512_set1_epi32(span.before as i32);
                    let (befores, ends) = (befores.as_mut_ptr().add(at), ends.as_mut_ptr().add(at));
                    _mm512_storeu_si512(ends.cast(), low);
                    _mm512_storeu_si512(ends.add(16).cast(), high);
                    _mm512_storeu_si512(befores.cast(), _mm512_alignr_epi32::<15>(low, before));
                    _mm512_storeu_si512(befores.add(16).cast(), _mm512_alignr_epi32::<15>(high, low));
                }
            } else if scalar::list(places, span, at, befores, ends).is_none() {
                return row;
            }
            at = until;
        }
        spans.len()
    }

    /// See [`super::super::Kernel::list_end`].
    pub(in super::super) fn list_end(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
        let (bracket, comma) = (_mm512_set1_epi8(b']' as i8), _mm512_set1_epi8(b',' as i8));
        let (mut at, mut commas) = (from, 0);
        while let Some(block) = bytes.get(at..at + 64) {
            // SAFETY: 64 bytes.
            let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            let (closing, separating) = (_mm512_cmpeq_epi8_mask(block, bracket), _mm512_cmpeq_epi8_mask(block, comma));
            if closing != 0 {
                let before = separating & (closing ^ closing.wrapping_sub(1));
                return Some((commas + before.count_ones() as usize, at + closing.trailing_zeros() as usize));
            }
            commas += separating.count_ones() as usize;
            at += 64;
        }
        scalar::list_end(bytes, at).map(|(more, end)| (commas + more, end))
    }
}
