//! 128-bit kernels for every x86-64 processor since 2008, and 256-bit ones where there is AVX2.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::fallback;
use super::literal::{Literal, PIECE};

mod column;
mod decimal16x4;
mod decimal31x2;
mod find;
pub(super) mod int4;
mod number;

/// Compiles one kernel from the generic functions, for the given instructions.
macro_rules! kernel {
    ($(#[$about:meta])* $name:ident, $features:literal, $supported:expr, $wide:literal, $mask:ident, $same:path, $floats:path, $times:path) => {
        $(#[$about])*
        pub(super) mod $name {
            use super::*;

            /// Whether this processor has the instructions of this kernel.
            pub(in super::super) fn supported() -> bool {
                $supported
            }

            /// See [`super::super::Kernel::index`]. `out` holds 64 more than there are bytes.
            #[target_feature(enable = $features)]
            pub(in super::super) fn index(bytes: &[u8], from: usize, out: &mut [u32]) -> usize {
                // SAFETY: the processor has the instructions.
                unsafe { find::index::<false, false, $wide>(bytes, from, out, &mut [], |block| find::$mask::<false>(block)).0 }
            }

            /// See [`super::super::Kernel::index_closers`].
            #[target_feature(enable = $features)]
            pub(in super::super) fn index_closers(
                bytes: &[u8], from: usize, out: &mut [u32], closers: &mut [u32],
            ) -> (usize, usize) {
                // SAFETY: the processor has the instructions.
                unsafe { find::index::<false, true, $wide>(bytes, from, out, closers, |block| find::$mask::<false>(block)) }
            }

            /// See [`super::super::Kernel::index_list`].
            #[target_feature(enable = $features)]
            pub(in super::super) fn index_list(bytes: &[u8], from: usize, out: &mut [u32]) -> usize {
                // SAFETY: the processor has the instructions.
                unsafe { find::index::<true, false, $wide>(bytes, from, out, &mut [], |block| find::$mask::<false>(block)).0 }
            }

            /// See [`super::super::Kernel::index_rows`].
            #[target_feature(enable = $features)]
            pub(in super::super) fn index_rows(bytes: &[u8], out: &mut [u32], ends: &mut [u32]) -> (usize, usize) {
                // SAFETY: the processor has the instructions.
                unsafe { find::index::<false, true, $wide>(bytes, 0, out, ends, |block| find::$mask::<true>(block)) }
            }

            /// See [`super::super::Kernel::same`].
            #[target_feature(enable = $features)]
            pub(in super::super) fn same(bytes: &[u8], befores: &[u32], skip: u32, literal: &Literal) -> usize {
                $same(bytes, befores, skip, literal)
            }

            /// See [`super::super::Kernel::floats`].
            ///
            /// # Safety
            /// Every end is at least 37 and at most `bytes.len()`.
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn floats(
                bytes: &[u8], befores: &[u32], skip: u32, ends: &[u32], out: &mut [MaybeUninit<f64>],
            ) -> bool {
                // SAFETY: the caller's.
                unsafe { $floats(bytes, befores, skip, ends, out) }
            }

            /// See [`super::super::Kernel::times`].
            ///
            /// # Safety
            /// Every end is at least 37 and at most `bytes.len()`.
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn times(
                bytes: &[u8], befores: &[u32], skip: u32, ends: &[u32], fraction: Option<(u32, &[u32])>, out: &mut [MaybeUninit<i64>],
            ) -> bool {
                // SAFETY: the caller's.
                unsafe { $times(bytes, befores, skip, ends, fraction, out) }
            }
        }
    };
}

kernel!(
    /// x86-64-v2.
    sse4, "sse4.2,ssse3,popcnt",
    is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("popcnt"),
    false, sse_mask, super::same, super::floats, super::times
);
kernel!(
    /// x86-64-v3.
    avx2, "avx2,fma,bmi1,bmi2,lzcnt,popcnt",
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt"),
    true, avx2_mask, super::same_wide, super::column::floats, super::decimal16x4::times
);

// What both kernels share is inlined into their `target_feature` functions, and only there do its intrinsics get the
// instructions that they need. A closure in such a function is compiled without them, and where it is not inlined each of its
// intrinsics is a call: what is of one kernel has `target_feature` itself, which its closures inherit, or is always inlined
// into such functions and has no closures with intrinsics.

#[inline(always)]
fn same(bytes: &[u8], befores: &[u32], skip: u32, literal: &Literal) -> usize {
    let mut rows = befores.len();
    let mut skip = skip as usize;
    for piece in literal.pieces() {
        let inside = ((1u64 << piece.length) - 1) as u32;
        for (row, before) in befores[..rows].iter().enumerate() {
            let at = *before as usize + skip;
            let equal = if at + PIECE <= bytes.len() {
                let half = |place: usize| {
                    // SAFETY: 16 of the 32 bytes from here, which lie within the slice and the piece.
                    unsafe {
                        let there = _mm_loadu_si128(bytes.as_ptr().add(at + place).cast());
                        let wanted = _mm_loadu_si128(piece.bytes.as_ptr().add(place).cast());
                        _mm_movemask_epi8(_mm_cmpeq_epi8(there, wanted)) as u32
                    }
                };
                (half(0) | half(16) << 16) & inside == inside
            } else {
                piece.stands_at(bytes, at)
            };
            if !equal {
                rows = row;
                break;
            }
        }
        skip += piece.length;
    }
    rows
}

/// The same with 32 bytes at once, and eight places between two questions.
#[target_feature(enable = "avx2")]
fn same_wide(bytes: &[u8], befores: &[u32], skip: u32, literal: &Literal) -> usize {
    let last = befores.iter().fold(0, |last, before| last.max(*before)) as usize;
    if last + skip as usize + literal.len() + PIECE > bytes.len() {
        return same(bytes, befores, skip, literal);
    }
    let mut rows = befores.len();
    let mut skip = skip as usize;
    for piece in literal.pieces() {
        // SAFETY: a piece is 32 bytes long, and so is what follows every place; the processor has AVX2.
        unsafe {
            let bytes = bytes.as_ptr().add(skip);
            let wanted = _mm256_loadu_si256(piece.bytes.as_ptr().cast());
            let equal =
                |before: &u32| _mm256_cmpeq_epi8(_mm256_loadu_si256(bytes.add(*before as usize).cast()), wanted);
            let outside = !(((1u64 << piece.length) - 1) as u32);
            let all = |equal: __m256i| _mm256_movemask_epi8(equal) as u32 | outside == u32::MAX;
            for (group, eight) in befores[..rows].chunks(8).enumerate() {
                let every = eight.iter().fold(_mm256_set1_epi8(-1), |every, one| _mm256_and_si256(every, equal(one)));
                if !all(every) {
                    rows = group * 8 + eight.iter().take_while(|before| all(equal(before))).count();
                    break;
                }
            }
        }
        skip += piece.length;
    }
    rows
}

#[inline(always)]
unsafe fn floats(bytes: &[u8], befores: &[u32], skip: u32, ends: &[u32], out: &mut [MaybeUninit<f64>]) -> bool {
    for ((before, end), out) in befores.iter().zip(ends).zip(out) {
        // SAFETY: the caller's.
        let Some(value) = (unsafe { float(bytes, before.wrapping_add(skip), *end) }) else { return false };
        out.write(value);
    }
    true
}

/// One number.
///
/// # Safety
/// The end is at least 37 and at most `bytes.len()`; the processor has the instructions.
#[inline(always)]
unsafe fn float(bytes: &[u8], start: u32, end: u32) -> Option<f64> {
    // SAFETY: at least 37 bytes stand before the end, and it lies within the slice.
    let value = unsafe { number::float(bytes.as_ptr().add(end as usize), end.wrapping_sub(start)) };
    match value {
        Some(value) => Some(value),
        // Not by `or_else`, which is a call for every number where it is not inlined.
        None => fallback::float(bytes, start as usize..end as usize),
    }
}

#[inline(always)]
unsafe fn times(
    bytes: &[u8],
    befores: &[u32],
    skip: u32,
    ends: &[u32],
    fraction: Option<(u32, &[u32])>,
    out: &mut [MaybeUninit<i64>],
) -> bool {
    for (row, (before, end)) in befores.iter().zip(ends).enumerate() {
        let start = before.wrapping_add(skip);
        // SAFETY: at least 37 bytes stand before each end, and it lies within the slice.
        let read = |start: u32, end: u32| unsafe {
            number::integer(bytes.as_ptr().add(end as usize), end.wrapping_sub(start)).map(|value| value as i64)
        };
        let part = fraction.map(|(skip, ends)| (end.wrapping_add(skip), ends[row]));
        let seconds = read(start, *end).filter(|seconds| *seconds <= fallback::MOST_SECONDS);
        let rest = match part {
            None => Some(0),
            Some((start, end)) => read(start, end).filter(|part| *part < fallback::NANOSECONDS),
        };
        let time = match (seconds, rest) {
            (Some(seconds), Some(rest)) => Some(seconds * fallback::NANOSECONDS + rest),
            _ => {
                let part = part.map(|(start, end)| start as usize..end as usize);
                fallback::time(bytes, start as usize..*end as usize, part).map(|time| time.0)
            }
        };
        let Some(time) = time else { return false };
        out[row].write(time);
    }
    true
}
