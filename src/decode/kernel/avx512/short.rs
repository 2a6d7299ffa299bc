//! Eight numbers of at most 16 bytes, without sign or exponent: most of what the service sends.

use std::arch::x86_64::*;

use super::super::powers::EXACT;

/// Eight numbers and which of them (by bit) are something else, so that another path must read them.
pub(super) struct Short {
    /// Digits without the dot, as one whole number.
    pub(super) mantissa: __m512i,
    /// Power of ten to divide by, as an index of [`EXACT`]; 16 stands for 0.
    pub(super) places: __m512i,
    /// Lanes that hold a dot.
    pub(super) dotted: u8,
    /// Lanes that this path cannot read.
    pub(super) failed: u8,
}

/// Byte of the length that every byte of a lane needs: numbers 0, 2, 4, 6 and 1, 3, 5, 7.
const EVEN: [u8; 64] = lanes(0);
const ODD: [u8; 64] = lanes(4);
/// Places from the right within a lane.
const FROM_RIGHT: [u8; 64] = from_right();
/// 10^(digits - 1) of a number that does not begin with a zero.
const LEAST: [u64; 16] = least();

const fn lanes(first: u8) -> [u8; 64] {
    let mut table = [0; 64];
    let mut index = 0;
    while index < 64 {
        table[index] = (index as u8 / 16) * 8 + first;
        index += 1;
    }
    table
}

const fn from_right() -> [u8; 64] {
    let mut table = [0; 64];
    let mut index = 0;
    while index < 64 {
        table[index] = 15 - index as u8 % 16;
        index += 1;
    }
    table
}

const fn least() -> [u64; 16] {
    let mut table = [1; 16];
    let mut index = 1;
    while index < 16 {
        table[index] = table[index - 1] * 10;
        index += 1;
    }
    table
}

avx512! {
    /// Reads the eight numbers that end before `ends[0..8]` (offsets from `base`) and are `lengths` bytes long.
    ///
    /// # Safety
    /// Every end is at least 16, and the bytes before it are readable.
    #[inline]
    pub(super) unsafe fn eight(base: *const u8, ends: *const u32, lengths: __m256i) -> Short {
        // SAFETY: the caller has eight ends, and 16 readable bytes before each.
        let before = |number: usize| unsafe { _mm_loadu_si128(base.add(*ends.add(number) as usize - 16).cast()) };
        let lanes = |first: usize| {
            let left = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(before(first)), before(first + 2));
            let right = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(before(first + 4)), before(first + 6));
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(left), right)
        };
        let wide = _mm512_castsi256_si512(lengths);
        // SAFETY: the tables are 64 bytes long.
        let (even_lanes, odd_lanes) =
            unsafe { (_mm512_loadu_si512(EVEN.as_ptr().cast()), _mm512_loadu_si512(ODD.as_ptr().cast())) };
        let (even, even_dots) = digits(lanes(0), _mm512_permutexvar_epi8(even_lanes, wide));
        let (odd, odd_dots) = digits(lanes(1), _mm512_permutexvar_epi8(odd_lanes, wide));

        let nine = _mm512_set1_epi8(9);
        let (even_bad, odd_bad) = (_mm512_cmpgt_epu8_mask(even, nine), _mm512_cmpgt_epu8_mask(odd, nine));
        let mut failed = if even_bad | odd_bad == 0 { 0 } else { alternate(even_bad, odd_bad) };

        // Two digits, four, eight: then one lane holds the upper and lower half of an even and an odd number.
        let tens = _mm512_set1_epi16(0x010A);
        let hundreds = _mm512_set1_epi32(0x0001_0064);
        let even = _mm512_madd_epi16(_mm512_maddubs_epi16(even, tens), hundreds);
        let odd = _mm512_madd_epi16(_mm512_maddubs_epi16(odd, tens), hundreds);
        let halves = _mm512_madd_epi16(_mm512_packus_epi32(even, odd), _mm512_set1_epi32(0x0001_2710));
        let mantissa = _mm512_add_epi64(
            _mm512_mul_epu32(halves, _mm512_set1_epi64(100_000_000)),
            _mm512_srli_epi64::<32>(halves),
        );

        // Bytes up to the dot, 0 without one; what is right of it are the places.
        let dots = _mm_unpacklo_epi16(_mm_cvtsi64_si128(even_dots as i64), _mm_cvtsi64_si128(odd_dots as i64));
        let up_to_dot = _mm256_cvtepu16_epi32(_mm_popcnt_epi16(dots));
        let dotted = _mm256_test_epi32_mask(up_to_dot, up_to_dot);
        let sixteen = _mm256_set1_epi32(16);
        let places = _mm256_sub_epi32(sixteen, up_to_dot);
        let figures = _mm256_mask_sub_epi32(lengths, dotted, lengths, _mm256_set1_epi32(1));
        let whole = _mm256_mask_sub_epi32(figures, dotted, figures, places);
        // The grammar: at least one digit before a dot, one after it, no zero before other whole digits.
        let one = _mm256_set1_epi32(1);
        failed |= _mm256_cmplt_epi32_mask(whole, one);
        failed |= _mm256_cmpeq_epi32_mask(up_to_dot, sixteen);
        failed |= _mm256_cmpgt_epu32_mask(lengths, sixteen);
        let several = _mm256_cmpgt_epi32_mask(whole, one);
        // SAFETY: the table is 16 words long.
        let least = unsafe {
            let table = LEAST.as_ptr();
            let index = _mm512_cvtepi32_epi64(_mm256_sub_epi32(figures, one));
            _mm512_permutex2var_epi64(_mm512_loadu_si512(table.cast()), index, _mm512_loadu_si512(table.add(8).cast()))
        };
        failed |= _mm512_mask_cmplt_epu64_mask(several, mantissa, least);
        Short { mantissa, places: _mm512_cvtepi32_epi64(places), dotted, failed }
    }

    /// The digits of four numbers, right-aligned without their dots, and masks of the bytes up to each dot.
    #[inline]
    fn digits(raw: __m512i, lengths: __m512i) -> (__m512i, u64) {
        // SAFETY: the table is 64 bytes long.
        let places = unsafe { _mm512_loadu_si512(FROM_RIGHT.as_ptr().cast()) };
        let inside = _mm512_cmpgt_epu8_mask(lengths, places);
        let digits = _mm512_maskz_sub_epi8(inside, raw, _mm512_set1_epi8(b'0' as i8));
        let dots = _mm512_mask_cmpeq_epi8_mask(inside, raw, _mm512_set1_epi8(b'.' as i8));
        // In each 16 bits: from a bit all bits up to it, from none none. A second dot stays and fails as a digit.
        let some = (dots.wrapping_add(0x7FFF_7FFF_7FFF_7FFF) & 0x8000_8000_8000_8000) >> 15;
        let up_to = (dots << 1).wrapping_sub(some);
        (_mm512_mask_alignr_epi8::<15>(digits, up_to, digits, _mm512_setzero_si512()), up_to)
    }

    /// The doubles of eight numbers.
    #[inline]
    pub(super) fn doubles(short: &Short) -> __m512d {
        // SAFETY: the table is longer than 16 doubles.
        let powers = unsafe {
            let table = EXACT.as_ptr();
            _mm512_permutex2var_pd(_mm512_loadu_pd(table), short.places, _mm512_loadu_pd(table.add(8)))
        };
        _mm512_div_pd(_mm512_cvtepu64_pd(short.mantissa), powers)
    }

    /// Lanes (bit i of number i) from byte masks of the even and of the odd numbers.
    fn alternate(even: u64, odd: u64) -> u8 {
        const TOP: u64 = 0x8000_8000_8000_8000;
        let some = |mask: u64| _pext_u64(((mask & !TOP) + !TOP) | mask, TOP) as u32;
        (_pdep_u32(some(even), 0x55) | _pdep_u32(some(odd), 0xAA)) as u8
    }
}
