//! 512-bit kernels: Ice Lake and later, Zen 4 and later.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::slow;

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

mod find;
mod long;
mod near;
mod short;
mod tiny;

pub(super) use find::{index, index_closers, index_list, index_rows, list_end, same};

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

/// Long numbers among the first sixteen of a batch from which on all of it goes the way of the long ones.
const MOST: u32 = 13;

/// Numbers that are read faster one by one than eight together.
const FEW: usize = 3;

/// Numbers that the short path left, and a group's worth of room behind them.
struct Queue {
    befores: [MaybeUninit<u32>; BATCH + 8],
    ends: [MaybeUninit<u32>; BATCH + 8],
    places: [MaybeUninit<u32>; BATCH + 8],
    length: usize,
}

avx512! {
    /// See [`super::Kernel::floats`]: whether it may be called.
    pub(super) fn within_reach(bytes: &[u8], ends: &[u32]) -> bool {
        super::are_within(ends, bytes.len() as u32)
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
            let mut first = 0;
            if are_long(befores, skip, ends) {
                // SAFETY: the caller's, and `whole` are whole groups.
                if !unsafe { longs(bytes, befores.as_ptr(), skip, ends.as_ptr(), &mut out[..whole]) } {
                    return false;
                }
                first = whole;
            }
            for first in (first..whole).step_by(8) {
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
        let mut values = [MaybeUninit::uninit(); BATCH];
        let values = &mut values[..queue.length.next_multiple_of(8)];
        let any = (queue.befores[0], queue.ends[0]);
        queue.befores[queue.length..values.len()].fill(any.0);
        queue.ends[queue.length..values.len()].fill(any.1);
        // SAFETY: `group` wrote the first `length` of each, and the rest of the last eight repeats the first of all.
        unsafe {
            if !longs(bytes, queue.befores.as_ptr().cast(), 1, queue.ends.as_ptr().cast(), values) {
                return false;
            }
            for (place, value) in queue.places[..queue.length].iter().zip(values) {
                out[place.assume_init() as usize] = *value;
            }
        }
        true
    }

    /// Whether these numbers are rather long than short, as the first ones show.
    #[inline]
    fn are_long(befores: &[u32], skip: u32, ends: &[u32]) -> bool {
        let (Some(befores), Some(ends)) = (befores.first_chunk::<16>(), ends.first_chunk::<16>()) else { return false };
        // SAFETY: sixteen of each.
        let (before, end) = unsafe { (_mm512_loadu_si512(befores.as_ptr().cast()), _mm512_loadu_si512(ends.as_ptr().cast())) };
        let length = _mm512_sub_epi32(_mm512_sub_epi32(end, before), _mm512_set1_epi32(skip as i32));
        _mm512_cmpgt_epu32_mask(length, _mm512_set1_epi32(short::LONGEST)).count_ones() >= MOST
    }

    /// Reads numbers of any length in the way of the long ones; `false` when one of them is no number.
    ///
    /// # Safety
    /// As many of each as `out` has room for, which is a multiple of eight and no more than [`BATCH`]; every end as for
    /// [`floats`].
    unsafe fn longs(bytes: &[u8], befores: *const u32, skip: u32, ends: *const u32, out: &mut [MaybeUninit<f64>]) -> bool {
        // In two rounds, because one would be too long for the processor to begin the next eight numbers beside it.
        let mut decimals = [MaybeUninit::<long::Decimals>::uninit(); BATCH / 8];
        let decimals = &mut decimals[..out.len() / 8];
        // SAFETY: the caller's; and what is read of `decimals` was written before.
        unsafe {
            for (group, decimals) in decimals.iter_mut().enumerate() {
                let (befores, ends) = (befores.add(group * 8), ends.add(group * 8));
                decimals.write(match near::eight(bytes.as_ptr(), befores, skip, ends) {
                    Some(near) => near,
                    None => long::eight(bytes.as_ptr(), befores, skip, ends),
                });
            }
            for (group, (decimals, out)) in decimals.iter().zip(out.as_chunks_mut::<8>().0).enumerate() {
                let long::Doubles { values, mut failed } = long::doubles(decimals.assume_init_ref());
                _mm512_storeu_pd(out.as_mut_ptr().cast(), values);
                while failed != 0 {
                    let lane = failed.trailing_zeros() as usize;
                    let at = group * 8 + lane;
                    let token = (*befores.add(at)).wrapping_add(skip) as usize..*ends.add(at) as usize;
                    let rounded = long::double(decimals.assume_init_ref(), lane);
                    let Some(value) = rounded.or_else(|| slow::float(bytes, token)) else { return false };
                    out[lane].write(value);
                    failed &= failed - 1;
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
