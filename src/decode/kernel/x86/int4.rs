//! Eight integers of at most four digits, such as the block numbers of a profile, in a 256-bit register.

use std::arch::x86_64::*;

use super::super::decimal::{LEAST_OF_FOUR, LONGEST_INT4};

/// Whether the first eight numbers are so short.
///
/// # Safety
/// Eight of each; the processor has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn are_short(befores: *const u32, skip: u32, ends: *const u32) -> bool {
    // SAFETY: the caller's.
    let longer = unsafe { _mm256_cmpgt_epi32(lengths(befores, skip, ends), _mm256_set1_epi32(LONGEST_INT4)) };
    _mm256_testz_si256(longer, longer) == 1
}

/// Reads the eight numbers that end before `ends[0..8]` (offsets from `base`) and begin `skip` bytes behind `befores[0..8]`, as
/// doubles in two registers; `None` when one of them is something else.
///
/// # Safety
/// Eight of each; every end is at least 4, and the bytes before it are readable; the processor has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn eight(
    base: *const u8,
    befores: *const u32,
    skip: u32,
    ends: *const u32,
) -> Option<(__m256d, __m256d)> {
    // SAFETY: the caller's.
    let (lengths, (digits, values)) = unsafe {
        let lengths = lengths(befores, skip, ends);
        (lengths, digits_and_values(base, ends, lengths))
    };
    let others = _mm256_subs_epu8(digits, _mm256_set1_epi8(9));
    // SAFETY: the table is eight words long.
    let least = unsafe { _mm256_loadu_si256(LEAST_OF_FOUR.as_ptr().cast()) };
    let least = _mm256_permutevar8x32_epi32(least, lengths);
    // Other lengths take some place of the table by their three lowest bits, and the comparison below is of signed numbers: so
    // they are refused here.
    let more = _mm256_sub_epi32(lengths, _mm256_set1_epi32(1));
    let one_to_four = _mm256_cmpeq_epi32(_mm256_min_epu32(more, _mm256_set1_epi32(LONGEST_INT4 - 1)), more);
    let wrong = _mm256_or_si256(others, _mm256_cmpgt_epi32(least, values));
    let right = _mm256_testz_si256(wrong, wrong) == 1 && _mm256_movemask_epi8(one_to_four) == -1;
    right.then(|| {
        let (low, high) = (_mm256_castsi256_si128(values), _mm256_extracti128_si256::<1>(values));
        (_mm256_cvtepi32_pd(low), _mm256_cvtepi32_pd(high))
    })
}

/// The digits of eight numbers, the last of each in the upper byte and zeros before the first; and their values.
///
/// # Safety
/// Eight ends, each at least 4, and the bytes before it are readable; the processor has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
pub(in super::super) unsafe fn digits_and_values(
    base: *const u8,
    ends: *const u32,
    lengths: __m256i,
) -> (__m256i, __m256i) {
    // SAFETY: the caller's. Each end is loaded by itself, as for the numbers of up to 16 bytes.
    let last = |number: usize| unsafe {
        let end = ends.add(number).read_volatile() as usize;
        base.add(end - 4).cast::<i32>().read_unaligned()
    };
    let raw = _mm256_setr_epi32(last(0), last(1), last(2), last(3), last(4), last(5), last(6), last(7));
    // The last digit is in the upper byte: shifted out and in again, what is left of the number is zeros.
    let outside = _mm256_slli_epi32::<3>(_mm256_sub_epi32(_mm256_set1_epi32(LONGEST_INT4), lengths));
    let digits = _mm256_xor_si256(raw, _mm256_set1_epi8(b'0' as i8));
    let digits = _mm256_sllv_epi32(_mm256_srlv_epi32(digits, outside), outside);
    let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A));
    let values = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_0064));
    (digits, values)
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn lengths(befores: *const u32, skip: u32, ends: *const u32) -> __m256i {
    // SAFETY: the caller has eight of each.
    unsafe {
        let start = _mm256_add_epi32(_mm256_loadu_si256(befores.cast()), _mm256_set1_epi32(skip as i32));
        _mm256_sub_epi32(_mm256_loadu_si256(ends.cast()), start)
    }
}
