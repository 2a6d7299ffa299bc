//! Eight integers of at most four digits, such as the block numbers of a profile.

use std::arch::x86_64::*;

use super::super::decimal::{LEAST_OF_FOUR, LONGEST_INT4};
use super::super::x86::int4::digits_and_values;

avx512! {
    /// Reads the eight numbers that end before `ends[0..8]` (offsets from `base`) and are `lengths` bytes long; `None` when
    /// one of them is something else.
    ///
    /// # Safety
    /// Every end is at least 4, and the bytes before it are readable.
    #[inline]
    pub(super) unsafe fn eight(base: *const u8, ends: *const u32, lengths: __m256i) -> Option<__m512d> {
        // SAFETY: the caller's.
        let (digits, values) = unsafe { digits_and_values(base, ends, lengths) };
        let others = _mm256_cmpgt_epu8_mask(digits, _mm256_set1_epi8(9));
        // SAFETY: the table is eight words long.
        let least = _mm256_permutevar8x32_epi32(unsafe { _mm256_loadu_si256(LEAST_OF_FOUR.as_ptr().cast()) }, lengths);
        let wrong = _mm256_cmplt_epu32_mask(values, least) | _mm256_cmpgt_epu32_mask(lengths, _mm256_set1_epi32(LONGEST_INT4));
        (others == 0 && wrong == 0).then(|| _mm512_cvtepi32_pd(values))
    }
}
