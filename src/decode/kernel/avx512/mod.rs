//! 512-bit kernels: Ice Lake and later, Zen 4 and later.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::literal::{Literal, PIECE};
use super::{scalar, slow};

/// Compiles functions for the instructions that this folder needs; [`supported`] asks for the same.
macro_rules! avx512 {
    ($($function:item)*) => {
        $(
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,avx512vbmi2")]
            #[target_feature(enable = "avx512bitalg,avx512vpopcntdq,bmi1,bmi2,lzcnt,popcnt")]
            $function
        )*
    };
}

mod long;
mod short;
mod tiny;

/// Whether this processor has every instruction of these kernels.
pub(super) fn supported() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512bitalg")
        && is_x86_feature_detected!("avx512vpopcntdq")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// Numbers that go through the short path before the rest is looked at; their offsets stay in the nearest cache.
const BATCH: usize = 512;

/// Bytes between what is looked through and what is asked of memory: a stretch, as the callers have it.
const AHEAD: usize = 8 << 10;

/// Numbers that are read faster one by one than eight together.
const FEW: usize = 3;

/// Numbers that the short path left, and a group's worth of room behind them.
struct Queue {
    befores: [MaybeUninit<u32>; BATCH + 8],
    ends: [MaybeUninit<u32>; BATCH + 8],
    places: [MaybeUninit<u32>; BATCH + 8],
    length: usize,
}

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
    /// See [`super::Kernel::index`]. `out` holds 64 more than there are bytes.
    pub(super) fn index(bytes: &[u8], from: usize, out: &mut [u32]) -> usize {
        find::<false, false>(bytes, from, out, &mut []).0
    }

    /// See [`super::Kernel::index_list`].
    pub(super) fn index_list(bytes: &[u8], from: usize, out: &mut [u32]) -> usize {
        find::<true, false>(bytes, from, out, &mut []).0
    }

    /// See [`super::Kernel::index_closers`].
    pub(super) fn index_closers(bytes: &[u8], from: usize, out: &mut [u32], closers: &mut [u32]) -> (usize, usize) {
        find::<false, true>(bytes, from, out, closers)
    }

    /// The numbers of delimiters and, if `CLOSERS`, of those that close. `LIST`: only up to the first of these.
    #[inline]
    fn find<const LIST: bool, const CLOSERS: bool>(
        bytes: &[u8], from: usize, out: &mut [u32], closers: &mut [u32],
    ) -> (usize, usize) {
        assert!(!CLOSERS || closers.len() >= bytes.len().saturating_sub(from) + 64);
        assert!(out.len() >= bytes.len().saturating_sub(from) + 64);
        let (comma, bracket, brace) =
            (_mm512_set1_epi8(b',' as i8), _mm512_set1_epi8(b']' as i8), _mm512_set1_epi8(b'}' as i8));
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
            let closing = _mm512_cmpeq_epi8_mask(block, bracket) | _mm512_cmpeq_epi8_mask(block, brace);
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
                // Rows with lists have more or less than sixteen, now and then: that would be a branch nobody foresees.
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

    /// See [`super::Kernel::same`].
    pub(super) fn same(bytes: &[u8], befores: &[u32], skip: u32, literal: &Literal) -> usize {
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

    /// See [`super::Kernel::floats`]: whether it may be called.
    pub(super) fn within_reach(bytes: &[u8], ends: &[u32]) -> bool {
        super::are_within(ends, bytes.len() as u32)
    }

    /// See [`super::Kernel::list_end`].
    pub(super) fn list_end(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
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

    /// See [`super::Kernel::floats`].
    ///
    /// # Safety
    /// Every end is at least 36 and at most `bytes.len()`; the three slices are of one length.
    pub(super) unsafe fn floats(bytes: &[u8], befores: &[u32], skip: u32, ends: &[u32], out: &mut [MaybeUninit<f64>]) -> bool {
        if ends.len() <= FEW {
            // SAFETY: the caller's, and a processor with AVX-512 has AVX2.
            return unsafe { super::x86::avx2::floats(bytes, befores, skip, ends, out) };
        }
        let mut queue = Queue {
            befores: [MaybeUninit::uninit(); BATCH + 8],
            ends: [MaybeUninit::uninit(); BATCH + 8],
            places: [MaybeUninit::uninit(); BATCH + 8],
            length: 0,
        };
        let batches = befores.chunks(BATCH).zip(ends.chunks(BATCH)).zip(out.chunks_mut(BATCH));
        for ((befores, ends), out) in batches {
            queue.length = 0;
            let whole = ends.len() / 8 * 8;
            for first in (0..whole).step_by(8) {
                // SAFETY: eight of each follow, and the caller answers for the ends.
                unsafe {
                    let place = out.as_mut_ptr().add(first).cast();
                    group(bytes, befores.as_ptr().add(first), skip, ends.as_ptr().add(first), place, first, 0xFF, &mut queue);
                }
            }
            let rest = ends.len() - whole;
            if rest > 0 {
                let (mut last_befores, mut last_ends, mut values) = ([befores[whole]; 8], [ends[whole]; 8], [0.0; 8]);
                last_befores[..rest].copy_from_slice(&befores[whole..]);
                last_ends[..rest].copy_from_slice(&ends[whole..]);
                let (befores, ends, inside) = (last_befores.as_ptr(), last_ends.as_ptr(), (1u8 << rest) - 1);
                // SAFETY: the copies hold eight ends that are each one of the caller's.
                unsafe { group(bytes, befores, skip, ends, values.as_mut_ptr(), whole, inside, &mut queue) };
                for (out, value) in out[whole..].iter_mut().zip(values) {
 out.write(value);
 }
            }
            // SAFETY: the queue holds offsets of this batch.
            if queue.length > 0 && !unsafe { drain(bytes, &mut queue, out) } {
                return false;
            }
        }
        true
    }

    /// Reads eight numbers, the first at `place` of the batch, and queues those that are not short.
    ///
    /// # Safety
    /// Eight of each, every end as for [`floats`]; the queue has room.
    #[inline]
    #[allow(clippy::too_many_arguments)] // one call for each eight numbers: a struct would only be unpacked again
    unsafe fn group(
        bytes: &[u8], befores: *const u32, skip: u32, ends: *const u32, out: *mut f64, place: usize, inside: u8,
        queue: &mut Queue,
    ) {
        // SAFETY: the caller's.
        unsafe {
            let before = _mm256_add_epi32(_mm256_loadu_si256(befores.cast()), _mm256_set1_epi32(skip as i32 - 1));
            let end = _mm256_loadu_si256(ends.cast());
            let length = _mm256_sub_epi32(_mm256_sub_epi32(end, before), _mm256_set1_epi32(1));
            if _mm256_cmpgt_epu32_mask(length, _mm256_set1_epi32(tiny::LONGEST)) == 0
                && let Some(values) = tiny::eight(bytes.as_ptr(), ends, length)
            {
                _mm512_storeu_pd(out, values);
                return;
            }
            let mut failed = _mm256_cmpgt_epu32_mask(length, _mm256_set1_epi32(short::LONGEST));
            // Nothing to do here for eight long ones, of which there are many where there are any.
            if failed != 0xFF {
                let short = short::eight(bytes.as_ptr(), ends, length);
                _mm512_storeu_pd(out, short::doubles(&short));
                failed |= short.failed;
            }
            failed &= inside;
            if failed != 0 {
                let counting = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
                let places = _mm256_add_epi32(counting, _mm256_set1_epi32(place as i32));
                let to = |array: &mut [MaybeUninit<u32>], from: usize, values: __m256i| {
                    _mm256_storeu_si256(array.as_mut_ptr().add(from).cast(), _mm256_maskz_compress_epi32(failed, values));
                };
                to(&mut queue.befores, queue.length, before);
                to(&mut queue.ends, queue.length, end);
                to(&mut queue.places, queue.length, places);
                queue.length += failed.count_ones() as usize;
            }
        }
    }

    /// Reads what is queued; `false` when something of it is no number.
    ///
    /// # Safety
    /// The queue was filled by [`group`].
    unsafe fn drain(bytes: &[u8], queue: &mut Queue, out: &mut [MaybeUninit<f64>]) -> bool {
        // In two rounds, because one would be too long for the processor to begin the next eight numbers beside it.
        let mut decimals = [MaybeUninit::<long::Decimals>::uninit(); BATCH / 8];
        let groups = queue.length.div_ceil(8);
        // SAFETY: `group` wrote the first `length` of each; the rest of the last group repeats the first of all. What is
        // read of `decimals` was written before.
        unsafe {
            for extra in queue.length..groups * 8 {
                queue.befores[extra] = queue.befores[0];
                queue.ends[extra] = queue.ends[0];
                queue.places[extra] = queue.places[0];
            }
            for (group, decimals) in decimals[..groups].iter_mut().enumerate() {
                let (befores, ends) = (queue.befores.as_ptr().add(group * 8), queue.ends.as_ptr().add(group * 8));
                decimals.write(long::eight(bytes.as_ptr(), befores.cast(), ends.cast()));
            }
            for (group, decimals) in decimals[..groups].iter().enumerate() {
                let long::Doubles { values, mut failed } = long::doubles(decimals.assume_init_ref());
                let mut eight = [0.0; 8];
                _mm512_storeu_pd(eight.as_mut_ptr(), values);
                while failed != 0 {
                    let lane = failed.trailing_zeros() as usize;
                    let at = group * 8 + lane;
                    let token = queue.befores[at].assume_init() as usize + 1..queue.ends[at].assume_init() as usize;
                    let rounded = long::double(decimals.assume_init_ref(), lane);
                    let Some(value) = rounded.or_else(|| slow::float(bytes, token)) else { return false };
                    eight[lane] = value;
                    failed &= failed - 1;
                }
                for (place, value) in queue.places[group * 8..].iter().zip(eight) {
                    out[place.assume_init() as usize].write(value);
                }
            }
        }
        true
    }

    /// See [`super::Kernel::times`].
    ///
    /// # Safety
    /// Every end is at least 36 and at most `bytes.len()`; all slices are of one length.
    pub(super) unsafe fn times(
        bytes: &[u8], befores: &[u32], skip: u32, ends: &[u32], fraction: Option<(u32, &[u32])>, out: &mut [MaybeUninit<i64>],
    ) -> bool {
        let rows = ends.len();
        if rows <= FEW {
            // SAFETY: the caller's, and a processor with AVX-512 has AVX2.
            return unsafe { super::x86::avx2::times(bytes, befores, skip, ends, fraction, out) };
        }
        let (skip_2, ends_2) = fraction.unwrap_or((0, ends));
        for first in (0..rows).step_by(8) {
            let count = (rows - first).min(8);
            let mut values = [0i64; 8];
            // SAFETY: eight of each follow, or are copied from as many as there are, and the caller answers for the ends.
            let mut failed = unsafe {
                if count == 8 {
                    let (befores, ends) = (befores.as_ptr().add(first), ends.as_ptr().add(first));
                    let part = fraction.map(|_| (skip_2, ends_2.as_ptr().add(first)));
                    eight_times(bytes, befores, skip, ends, part, out.as_mut_ptr().add(first).cast())
                } else {
                    let eight = |from: &[u32]| {
                        let mut copy = [from[first]; 8];
                        copy[..count].copy_from_slice(&from[first..]);
                        copy
                    };
                    let (befores, ends, ends_2) = (eight(befores), eight(ends), eight(ends_2));
                    let part = fraction.map(|_| (skip_2, ends_2.as_ptr()));
                    let failed = eight_times(bytes, befores.as_ptr(), skip, ends.as_ptr(), part, values.as_mut_ptr());
                    for (out, value) in out[first..].iter_mut().zip(values) {
 out.write(value);
 }
                    failed & ((1 << count) - 1)
                }
            };
            while failed != 0 {
                let row = first + failed.trailing_zeros() as usize;
                let whole = befores[row].wrapping_add(skip) as usize..ends[row] as usize;
                let part = fraction.map(|(skip, parts)| ends[row].wrapping_add(skip) as usize..parts[row] as usize);
                let Some(time) = slow::time(bytes, whole, part) else { return false };
                out[row].write(time);
                failed &= failed - 1;
            }
        }
        true
    }

    /// Reads eight times, and tells which are spelled otherwise or out of range.
    ///
    /// # Safety
    /// Eight of each, every end as for [`times`].
    #[inline]
    unsafe fn eight_times(
        bytes: &[u8], befores: *const u32, skip: u32, ends: *const u32, part: Option<(u32, *const u32)>, out: *mut i64,
    ) -> u8 {
        // SAFETY: the caller's.
        unsafe {
            let (seconds, mut failed) = integers(bytes, befores, skip, ends);
            failed |= _mm512_cmpgt_epu64_mask(seconds, _mm512_set1_epi64(slow::MOST_SECONDS));
            let second = _mm512_set1_epi64(slow::NANOSECONDS);
            let mut value = _mm512_mullo_epi64(seconds, second);
            if let Some((skip, part_ends)) = part {
                let (parts, malformed) = integers(bytes, ends, skip, part_ends);
                failed |= malformed | _mm512_cmpge_epu64_mask(parts, second);
                value = _mm512_add_epi64(value, parts);
            }
            _mm512_storeu_si512(out.cast(), value);
            failed
        }
    }

    /// Eight whole numbers below 10^16 and which of them are something else.
    ///
    /// # Safety
    /// As for [`eight_times`].
    #[inline]
    unsafe fn integers(bytes: &[u8], befores: *const u32, skip: u32, ends: *const u32) -> (__m512i, u8) {
        // SAFETY: the caller's.
        unsafe {
            let start = _mm256_add_epi32(_mm256_loadu_si256(befores.cast()), _mm256_set1_epi32(skip as i32));
            short::integers(bytes.as_ptr(), ends, _mm256_sub_epi32(_mm256_loadu_si256(ends.cast()), start))
        }
    }
}
