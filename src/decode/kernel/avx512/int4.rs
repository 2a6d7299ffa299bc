//! Eight integers of at most four digits, such as the block numbers of a profile.

use std::arch::x86_64::*;

use super::super::decimal::{LEAST_OF_FOUR, LONGEST_INT4};

avx512! {
    /// Reads the eight numbers that end before `ends[0..8]` (offsets from `base`) and are `lengths` bytes long; `None` when
    /// one of them is something else.
    ///
    /// # Safety
    /// Every end is at least 4, and the bytes before it are readable.
    #[inline]
    pub(super) unsafe fn eight(base: *const u8, ends: *const u32, lengths: __m256i) -> Option<__m512d> {
        // SAFETY: the caller's. Each end is loaded by itself, see the short numbers.
        let last = |number: usize| unsafe {
            let end = ends.add(number).read_volatile() as usize;
            base.add(end - 4).cast::<i32>().read_unaligned()
        };
        let raw = _mm256_setr_epi32(last(0), last(1), last(2), last(3), last(4), last(5), last(6), last(7));
        // The last digit is in the upper byte: shifted out and in again, what is left of the number is zeros.
        let outside = _mm256_slli_epi32::<3>(_mm256_sub_epi32(_mm256_set1_epi32(LONGEST_INT4), lengths));
        let digits = _mm256_xor_si256(raw, _mm256_set1_epi8(b'0' as i8));
        let digits = _mm256_sllv_epi32(_mm256_srlv_epi32(digits, outside), outside);
        let others = _mm256_cmpgt_epu8_mask(digits, _mm256_set1_epi8(9));
        let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A));
        let values = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_0064));
        // SAFETY: the table is eight words long.
        let least = _mm256_permutevar8x32_epi32(unsafe { _mm256_loadu_si256(LEAST_OF_FOUR.as_ptr().cast()) }, lengths);
        let wrong = _mm256_cmplt_epu32_mask(values, least) | _mm256_cmpgt_epu32_mask(lengths, _mm256_set1_epi32(LONGEST_INT4));
        (others == 0 && wrong == 0).then(|| _mm512_cvtepi32_pd(values))
    }
}
