//! 512-bit kernels: Ice Lake and later, Zen 4 and later.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::decimal::LONGEST_INT4;
use super::fallback;

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

mod decimal16;
mod decimal20;
mod decimal31;
mod find;
mod int4;

pub(super) use find::{ascend, index, index_closers, index_list, index_rows, list_end, lists, same};

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
        // The others of the macro are those of the kernel of AVX2, which reads a few numbers.
        && super::x86::avx2::supported()
}

/// Numbers that go through the short path before the rest is looked at; their offsets stay in the nearest cache.
const BATCH: usize = 512;

/// Long numbers among the first sixteen of a batch from which on all of it goes the way of the long ones.
const MOST: u32 = 7;

/// Numbers that are read faster one by one than eight together.
const FEW: usize = 3;

/// Numbers that the short path left, and a group's worth of room behind them.
struct LeftNumbers {
    starts: [MaybeUninit<u32>; BATCH + 8],
    ends: [MaybeUninit<u32>; BATCH + 8],
    length: usize,
    /// The groups of the batch that they are of, and which of the eight they are in each of these.
    groups: u64,
    lanes: [u8; BATCH / 8],
}

/// What most numbers of a batch are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    /// Possibly integers of a few digits.
    Tiny,
    /// At most 16 bytes.
    Short,
    Long,
}

/// Tokens in memory, by their first ones.
struct Tokens {
    base: *const u8,
    befores: *const u32,
    skip: u32,
    ends: *const u32,
}

/// Which groups of a batch some tokens are.
#[derive(Clone, Copy)]
struct BatchPart {
    first_group: usize,
    /// Which of the eight of each group are numbers of the batch.
    inside: u8,
}

/// The first of up to eight places again behind them.
fn padded(places: &[u32]) -> [u32; 8] {
    let mut eight = [places[0]; 8];
    eight[..places.len()].copy_from_slice(places);
    eight
}

/// The places of the set bits, the lowest first.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (place < 64).then_some(place)
    })
}

impl Tokens {
    /// Where the eight numbers of a group start.
    ///
    /// # Safety
    /// There are so many groups; the processor has AVX2.
    #[inline(always)]
    unsafe fn starts(&self, group: usize) -> __m256i {
        // SAFETY: the caller's.
        unsafe {
            let befores = _mm256_loadu_si256(self.befores.add(group * 8).cast());
            _mm256_add_epi32(befores, _mm256_set1_epi32(self.skip as i32))
        }
    }

    /// How many bytes the eight numbers of a group have.
    ///
    /// # Safety
    /// As for [`Self::starts`].
    #[inline(always)]
    unsafe fn lengths(&self, group: usize) -> __m256i {
        // SAFETY: the caller's.
        unsafe { _mm256_sub_epi32(_mm256_loadu_si256(self.ends.add(group * 8).cast()), self.starts(group)) }
    }
}

avx512! {
    /// See [`super::Kernel::floats`]: whether it may be called.
    pub(super) fn within_reach(bytes: &[u8], ends: &[u32]) -> bool {
        super::are_within(ends, bytes.len() as u32)
    }

    /// See [`super::Kernel::floats`].
    ///
    /// # Safety
    /// Every end is at least 37 and at most `bytes.len()`; the three slices are of one length.
    pub(super) unsafe fn floats(bytes: &[u8], befores: &[u32], skip: u32, ends: &[u32], out: &mut [MaybeUninit<f64>]) -> bool {
        if ends.len() <= FEW {
            // SAFETY: the caller's, and a processor with AVX-512 has AVX2.
            return unsafe { super::x86::avx2::floats(bytes, befores, skip, ends, out) };
        }
        let mut queue = LeftNumbers {
            starts: [MaybeUninit::uninit(); BATCH + 8],
            ends: [MaybeUninit::uninit(); BATCH + 8],
            length: 0,
            groups: 0,
            lanes: [0; BATCH / 8],
        };
        let mut digits = [MaybeUninit::uninit(); BATCH / 8];
        let batches = befores.chunks(BATCH).zip(ends.chunks(BATCH)).zip(out.chunks_mut(BATCH));
        for ((befores, ends), out) in batches {
            (queue.length, queue.groups) = (0, 0);
            let whole = ends.len() / 8 * 8;
            // SAFETY: the caller answers for the ends; `whole` are whole groups, and the copies hold eight ends that are each
            // one of the caller's.
            unsafe {
                match size(befores, skip, ends) {
                    Size::Long => {
                        if !longs(bytes, befores.as_ptr(), skip, ends.as_ptr(), &mut out[..whole]) {
                            return false;
                        }
                    }
                    size => {
                        let tokens = Tokens { base: bytes.as_ptr(), befores: befores.as_ptr(), skip, ends: ends.as_ptr() };
                        let all = BatchPart { first_group: 0, inside: 0xFF };
                        groups(&tokens, size == Size::Tiny, all, &mut digits, &mut out[..whole], &mut queue);
                    }
                }
                let rest = ends.len() - whole;
                if rest > 0 {
                    let (last_befores, last_ends) = (padded(&befores[whole..]), padded(&ends[whole..]));
                    let tokens =
                        Tokens { base: bytes.as_ptr(), befores: last_befores.as_ptr(), skip, ends: last_ends.as_ptr() };
                    let mut values = [MaybeUninit::uninit(); 8];
                    let some = BatchPart { first_group: whole / 8, inside: (1 << rest) - 1 };
                    groups(&tokens, false, some, &mut digits, &mut values, &mut queue);
                    out[whole..].copy_from_slice(&values[..rest]);
                }
                // The queue holds offsets of this batch.
                if queue.length > 0 && !drain(bytes, &mut queue, out) {
                    return false;
                }
            }
        }
        true
    }

    /// Reads groups of eight numbers, and queues those that are not short.
    ///
    /// In two rounds: the steps of one group wait for each other, and the processor does not look far enough ahead to fill
    /// the time with the next groups, unless their steps stand close together. A function for both its callers: so what it
    /// calls itself has one caller, and is inlined however large it is.
    ///
    /// # Safety
    /// As many tokens as `out` has room for, which is a multiple of eight and no more than [`BATCH`]; every end as for
    /// [`floats`]; the queue has room.
    unsafe fn groups(
        tokens: &Tokens, tiny: bool, part: BatchPart, digits: &mut [MaybeUninit<decimal16::Digits16>; BATCH / 8],
        out: &mut [MaybeUninit<f64>], queue: &mut LeftNumbers,
    ) {
        let out = out.as_chunks_mut::<8>().0;
        let mut pending = u64::MAX.unbounded_shr(64 - out.len() as u32);
        // SAFETY: the caller's; and what is read of `digits` was written before.
        unsafe {
            if tiny {
                for (group, out) in out.iter_mut().enumerate() {
                    let ends = tokens.ends.add(group * 8);
                    if let Some(values) = int4::eight(tokens.base, ends, tokens.lengths(group)) {
                        _mm512_storeu_pd(out.as_mut_ptr().cast(), values);
                        pending &= !(1 << group);
                    }
                }
            }
            for group in ones(pending) {
                digits[group].write(decimal16::read(tokens.base, tokens.ends.add(group * 8), tokens.lengths(group)));
            }
            for at in ones(pending) {
                let place = out.as_mut_ptr().add(at).cast();
                group(tokens, at, part, digits[at].assume_init_ref(), place, queue);
            }
        }
    }

    /// Makes doubles of eight numbers whose digits are read, and queues those of them that are not short.
    ///
    /// # Safety
    /// Eight tokens; room in `out` and in the queue.
    #[inline]
    unsafe fn group(
        tokens: &Tokens, at: usize, part: BatchPart, digits: &decimal16::Digits16, out: *mut f64, queue: &mut LeftNumbers,
    ) {
        // SAFETY: the caller's.
        unsafe {
            let (values, failed) = decimal16::doubles(digits, tokens.lengths(at));
            _mm512_storeu_pd(out, values);
            let failed = failed & part.inside;
            if failed != 0 {
                let to = |array: &mut [MaybeUninit<u32>], from: usize, values: __m256i| {
                    _mm256_storeu_si256(array.as_mut_ptr().add(from).cast(), _mm256_maskz_compress_epi32(failed, values));
                };
                to(&mut queue.starts, queue.length, tokens.starts(at));
                to(&mut queue.ends, queue.length, _mm256_loadu_si256(tokens.ends.add(at * 8).cast()));
                queue.length += failed.count_ones() as usize;
                let group = part.first_group + at;
                queue.groups |= 1 << group;
                queue.lanes[group] = failed;
            }
        }
    }

    /// Reads what is queued; `false` when something of it is no number.
    ///
    /// # Safety
    /// The queue was filled by [`group`].
    unsafe fn drain(bytes: &[u8], queue: &mut LeftNumbers, out: &mut [MaybeUninit<f64>]) -> bool {
        let mut values = [MaybeUninit::<f64>::uninit(); BATCH];
        let whole = queue.length.next_multiple_of(8);
        let any = (queue.starts[0], queue.ends[0]);
        queue.starts[queue.length..whole].fill(any.0);
        queue.ends[queue.length..whole].fill(any.1);
        // SAFETY: `group` wrote the first `length` of each, and the rest of the last eight repeats the first of all. As many
        // lanes as there are values are passed, and each is one of `out`.
        unsafe {
            if !longs(bytes, queue.starts.as_ptr().cast(), 0, queue.ends.as_ptr().cast(), &mut values[..whole]) {
                return false;
            }
            let mut next = values.as_ptr().cast::<f64>();
            for group in ones(queue.groups) {
                let lanes = queue.lanes[group];
                let spread = _mm512_maskz_expandloadu_pd(lanes, next);
                _mm512_mask_storeu_pd(out.as_mut_ptr().add(group * 8).cast(), lanes, spread);
                next = next.add(lanes.count_ones() as usize);
            }
        }
        true
    }

    /// The same vector, of which the compiler knows nothing more.
    #[inline]
    fn opaque(mut vector: __m512i) -> __m512i {
        // SAFETY: no instruction at all.
        unsafe {
            std::arch::asm!("/* {0} */", inout(zmm_reg) vector, options(pure, nomem, nostack, preserves_flags));
        }
        vector
    }

    /// Which way these numbers go, as the first ones show.
    #[inline]
    fn size(befores: &[u32], skip: u32, ends: &[u32]) -> Size {
        let (Some(befores), Some(ends)) = (befores.first_chunk::<16>(), ends.first_chunk::<16>()) else { return Size::Tiny };
        // SAFETY: sixteen of each.
        let (before, end) = unsafe { (_mm512_loadu_si512(befores.as_ptr().cast()), _mm512_loadu_si512(ends.as_ptr().cast())) };
        let length = _mm512_sub_epi32(_mm512_sub_epi32(end, before), _mm512_set1_epi32(skip as i32));
        let longer = |than| _mm512_cmpgt_epu32_mask(length, _mm512_set1_epi32(than)).count_ones();
        match (longer(LONGEST_INT4), longer(decimal16::LONGEST)) {
            (_, MOST..) => Size::Long,
            (0, _) => Size::Tiny,
            _ => Size::Short,
        }
    }

    /// Reads numbers of any length in the way of the long ones; `false` when one of them is no number.
    ///
    /// # Safety
    /// As many of each as `out` has room for, which is a multiple of eight and no more than [`BATCH`]; every end as for
    /// [`floats`].
    unsafe fn longs(bytes: &[u8], befores: *const u32, skip: u32, ends: *const u32, out: &mut [MaybeUninit<f64>]) -> bool {
        // In three rounds, for the same reason as `groups`.
        let mut digits = [MaybeUninit::<decimal20::Digits20>::uninit(); BATCH / 8];
        let digits = &mut digits[..out.len() / 8];
        let mut decimals = [MaybeUninit::<decimal31::Decimals31>::uninit(); BATCH / 8];
        let decimals = &mut decimals[..out.len() / 8];
        // SAFETY: the caller's; and what is read of `digits` and `decimals` was written before.
        unsafe {
            for (group, digits) in digits.iter_mut().enumerate() {
                digits.write(decimal20::read(bytes.as_ptr(), befores.add(group * 8), skip, ends.add(group * 8)));
            }
            for (group, (decimals, digits)) in decimals.iter_mut().zip(&*digits).enumerate() {
                decimals.write(match decimal20::decimals(digits.assume_init_ref()) {
                    Some(near) => near,
                    None => decimal31::eight(bytes.as_ptr(), befores.add(group * 8), skip, ends.add(group * 8)),
                });
            }
            for (group, (decimals, out)) in decimals.iter().zip(out.as_chunks_mut::<8>().0).enumerate() {
                let decimal31::Doubles { values, mut failed } = decimal31::doubles(decimals.assume_init_ref());
                _mm512_storeu_pd(out.as_mut_ptr().cast(), values);
                while failed != 0 {
                    let lane = failed.trailing_zeros() as usize;
                    let at = group * 8 + lane;
                    let token = (*befores.add(at)).wrapping_add(skip) as usize..*ends.add(at) as usize;
                    let rounded = decimal31::double(decimals.assume_init_ref(), lane);
                    let Some(value) = rounded.or_else(|| fallback::float(bytes, token)) else { return false };
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
    /// Every end is at least 37 and at most `bytes.len()`; all slices are of one length.
    pub(super) unsafe fn times(
        bytes: &[u8], befores: &[u32], skip: u32, ends: &[u32], fraction: Option<(u32, &[u32])>, out: &mut [MaybeUninit<i64>],
    ) -> bool {
        let rows = ends.len();
        if rows <= FEW {
            // SAFETY: the caller's, and a processor with AVX-512 has AVX2.
            return unsafe { super::x86::avx2::times(bytes, befores, skip, ends, fraction, out) };
        }
        let (parts, skips, last_ends) = match fraction {
            Some((skip_2, ends_2)) => (2, [skip, skip_2], ends_2),
            None => (1, [skip; 2], ends),
        };
        let mut copies: [[u32; 8]; 3];
        let mut values = [MaybeUninit::uninit(); 8];
        for first in (0..rows).step_by(8) {
            let count = (rows - first).min(8);
            // SAFETY: eight of each follow, or are copied from as many as there are, and the caller answers for the ends.
            let mut failed = unsafe {
                let (places, to) = if count == 8 {
                    let places = [befores.as_ptr().add(first), ends.as_ptr().add(first), last_ends.as_ptr().add(first)];
                    (places, out.as_mut_ptr().add(first))
                } else {
                    copies = [padded(&befores[first..]), padded(&ends[first..]), padded(&last_ends[first..])];
                    ([copies[0].as_ptr(), copies[1].as_ptr(), copies[2].as_ptr()], values.as_mut_ptr())
                };
                eight_times(bytes, parts, places, skips, to.cast())
            };
            if count < 8 {
                out[first..].copy_from_slice(&values[..count]);
                failed &= (1 << count) - 1;
            }
            while failed != 0 {
                let row = first + failed.trailing_zeros() as usize;
                let whole = befores[row].wrapping_add(skip) as usize..ends[row] as usize;
                let part = fraction.map(|(skip, parts)| ends[row].wrapping_add(skip) as usize..parts[row] as usize);
                let Some(time) = fallback::time(bytes, whole, part) else { return false };
                out[row].write(time.0);
                failed &= failed - 1;
            }
        }
        true
    }

    /// Reads eight times, of seconds or of seconds and nanoseconds; returns which are spelled otherwise or out of range.
    /// Each of the `parts` ends where the next one begins, `skips` bytes before its first digit.
    ///
    /// # Safety
    /// Eight of each, every end as for [`times`].
    #[inline]
    unsafe fn eight_times(bytes: &[u8], parts: usize, places: [*const u32; 3], skips: [u32; 2], out: *mut i64) -> u8 {
        let mut values = [_mm512_setzero_si512(); 2];
        let mut failed = 0;
        // In a loop, so that this is the one place that calls it: see `groups`.
        for part in 0..parts.min(2) {
            // SAFETY: the caller's.
            let (value, malformed) = unsafe { integers(bytes, places[part], skips[part], places[part + 1]) };
            values[part] = value;
            failed |= malformed;
        }
        let [seconds, nanoseconds] = values;
        let second = _mm512_set1_epi64(fallback::NANOSECONDS);
        failed |= _mm512_cmpgt_epu64_mask(seconds, _mm512_set1_epi64(fallback::MOST_SECONDS));
        failed |= _mm512_cmpge_epu64_mask(nanoseconds, second);
        // SAFETY: room for eight.
        unsafe { _mm512_storeu_si512(out.cast(), _mm512_add_epi64(_mm512_mullo_epi64(seconds, second), nanoseconds)) };
        failed
    }

    /// Eight integers below 10^16, and which of them are something else.
    ///
    /// # Safety
    /// As for [`eight_times`].
    #[inline]
    unsafe fn integers(bytes: &[u8], befores: *const u32, skip: u32, ends: *const u32) -> (__m512i, u8) {
        // SAFETY: the caller's.
        unsafe {
            let start = _mm256_add_epi32(_mm256_loadu_si256(befores.cast()), _mm256_set1_epi32(skip as i32));
            decimal16::integers(bytes.as_ptr(), ends, _mm256_sub_epi32(_mm256_loadu_si256(ends.cast()), start))
        }
    }
}
