//! Eight numbers of at most 16 bytes, without sign or exponent: most of what the service sends.

use std::arch::x86_64::*;

use super::super::super::powers::EXACT;
use super::opaque;

/// Eight numbers of which the digits are read.
#[derive(Clone, Copy)]
pub(super) struct Digits16 {
    even: __m512i,
    odd: __m512i,
    /// The bytes up to each dot, those of the even and of the odd numbers.
    up_to_dots: [u64; 2],
}

/// Most bytes.
pub(super) const LONGEST: i32 = 16;

/// Byte of the length that every byte of a lane needs: numbers 0, 2, 4, 6 and 1, 3, 5, 7.
pub(super) const EVEN: [u8; 64] = lanes(0);
pub(super) const ODD: [u8; 64] = lanes(4);
/// Places from the right within a lane.
const FROM_RIGHT: [u8; 64] = from_right();
/// 10^(digits - 1) of a number that does not begin with a zero, by the number of digits; 16 take the first.
const LEAST: [u64; 16] = powers();

/// Of two vectors of eight words in turn one of each.
const BOTH: [u32; 16] = [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23];

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

const fn powers() -> [u64; 16] {
    let mut table = [1_000_000_000_000_000; 16];
    let mut digits = 1;
    let mut power = 1;
    while digits < 16 {
        table[digits] = power;
        power *= 10;
        digits += 1;
    }
    table
}

avx512! {
    /// Reads the digits of the eight numbers that end before `ends[0..8]` (offsets from `base`) and are `lengths` bytes
    /// long.
    ///
    /// # Safety
    /// Every end is at least 16, and the bytes before it are readable.
    #[inline]
    pub(super) unsafe fn read(base: *const u8, ends: *const u32, lengths: __m256i) -> Digits16 {
        let wide = _mm512_castsi256_si512(lengths);
        // SAFETY: the caller's.
        let (even, odd) = unsafe { (four(base, ends), four(base, ends.add(1))) };
        // Of a zero that it knows the compiler makes two instructions of each masked one.
        let none = opaque(_mm512_setzero_si512());
        let (even, even_dots) = digits(even, _mm512_permutexvar_epi8(table(&EVEN), wide), none);
        let (odd, odd_dots) = digits(odd, _mm512_permutexvar_epi8(table(&ODD), wide), none);
        Digits16 { even, odd, up_to_dots: [even_dots, odd_dots] }
    }

    /// The doubles of eight numbers of so many bytes, and which of them (by bit) are something else, so that another path
    /// must read them.
    #[inline]
    pub(super) fn doubles(digits: &Digits16, lengths: __m256i) -> (__m512d, u8) {
        let failed = are_no_digits(digits.even, digits.odd);
        let mantissa = whole(digits.even, digits.odd);
        // What is right of the dot are the places.
        let up_to_dot = up_to_dots(digits.up_to_dots[0], digits.up_to_dots[1]);
        let dotted = _mm256_test_epi32_mask(up_to_dot, up_to_dot);
        let places = _mm256_sub_epi32(_mm256_set1_epi32(LONGEST), up_to_dot);
        let one = _mm256_set1_epi32(1);
        let figures = _mm256_mask_sub_epi32(lengths, dotted, lengths, one);
        let whole = _mm256_mask_sub_epi32(figures, dotted, figures, places);
        // The grammar: at least one digit before a dot and one after it.
        let fit = _mm256_cmple_epu32_mask(lengths, _mm256_set1_epi32(LONGEST));
        let fit = _mm256_mask_cmpge_epi32_mask(fit, _mm256_min_epi32(whole, places), one);
        // No zero before other whole digits.
        let several = _mm256_cmpgt_epi32_mask(whole, one);
        // One permutation widens two vectors of indices: of a lane the others look at the lowest bits only.
        let both = _mm512_permutex2var_epi32(_mm512_castsi256_si512(figures), table32(&BOTH), _mm512_castsi256_si512(places));
        let zeros = _mm512_mask_cmplt_epu64_mask(several, mantissa, least(both));

        // Of the powers of ten 16 places, which stand for no dot, take the first.
        let places = _mm512_srli_epi64::<32>(both);
        // SAFETY: the table is longer than 16 doubles.
        let powers = unsafe {
            let table = EXACT.as_ptr();
            _mm512_permutex2var_pd(_mm512_loadu_pd(table), places, _mm512_loadu_pd(table.add(8)))
        };
        (_mm512_div_pd(_mm512_cvtepu64_pd(mantissa), powers), failed | zeros | !fit)
    }

    /// The same for integers without a dot: their values, and which of them are something else.
    ///
    /// # Safety
    /// As for [`read`].
    #[inline]
    pub(super) unsafe fn integers(base: *const u8, ends: *const u32, lengths: __m256i) -> (__m512i, u8) {
        let wide = _mm512_castsi256_si512(lengths);
        let zero = _mm512_set1_epi8(b'0' as i8);
        let digits = |raw: __m512i, lanes: &[u8; 64]| {
            let inside = _mm512_cmpgt_epu8_mask(_mm512_permutexvar_epi8(table(lanes), wide), table(&FROM_RIGHT));
            _mm512_maskz_sub_epi8(inside, raw, zero)
        };
        // SAFETY: the caller's.
        let (even, odd) = unsafe { (digits(four(base, ends), &EVEN), digits(four(base, ends.add(1)), &ODD)) };
        let value = whole(even, odd);
        let one = _mm256_set1_epi32(1);
        // Between 1 and 16 digits, and no zero before others.
        let length = _mm256_cmpge_epu32_mask(_mm256_sub_epi32(lengths, one), _mm256_set1_epi32(LONGEST));
        let several = _mm256_cmpgt_epi32_mask(lengths, one);
        let zeros = _mm512_mask_cmplt_epu64_mask(several, value, least(_mm512_cvtepi32_epi64(lengths)));
        (value, are_no_digits(even, odd) | length | zeros)
    }

    /// The 16 bytes before each of the ends 0, 2, 4 and 6.
    ///
    /// # Safety
    /// As for [`read`].
    #[inline]
    unsafe fn four(base: *const u8, ends: *const u32) -> __m512i {
        // SAFETY: the caller's. Each end is loaded by itself: the compiler would take them out of the vector that the
        // lengths come from, which is slower.
        let before = |number: usize| unsafe {
            let end = ends.add(number).read_volatile() as usize;
            _mm_loadu_si128(base.add(end - 16).cast())
        };
        let left = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(before(0)), before(2));
        let right = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(before(4)), before(6));
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(left), right)
    }

    /// Eight numbers of up to 16 digits: two digits together, four, eight; then one lane holds the upper and the lower
    /// half of an even and an odd number.
    #[inline]
    pub(super) fn whole(even: __m512i, odd: __m512i) -> __m512i {
        let tens = _mm512_set1_epi16(0x010A);
        let hundreds = _mm512_set1_epi32(0x0001_0064);
        let even = _mm512_madd_epi16(_mm512_maddubs_epi16(even, tens), hundreds);
        let odd = _mm512_madd_epi16(_mm512_maddubs_epi16(odd, tens), hundreds);
        let halves = _mm512_madd_epi16(_mm512_packus_epi32(even, odd), _mm512_set1_epi32(0x0001_2710));
        let upper = _mm512_mul_epu32(halves, _mm512_set1_epi64(100_000_000));
        _mm512_add_epi64(upper, _mm512_srli_epi64::<32>(halves))
    }

    /// Numbers with a byte that is no digit.
    #[inline]
    fn are_no_digits(even: __m512i, odd: __m512i) -> u8 {
        let nine = _mm512_set1_epi8(9);
        match _mm512_cmpgt_epu8_mask(_mm512_max_epu8(even, odd), nine) {
            0 => 0,
            _ => alternate(_mm512_cmpgt_epu8_mask(even, nine), _mm512_cmpgt_epu8_mask(odd, nine)),
        }
    }

    /// The least number of so many digits that does not begin with a zero.
    #[inline]
    fn least(figures: __m512i) -> __m512i {
        // SAFETY: the table is 16 words long.
        let (small, large) =
            unsafe { (_mm512_loadu_si512(LEAST.as_ptr().cast()), _mm512_loadu_si512(LEAST.as_ptr().add(8).cast())) };
        _mm512_permutex2var_epi64(small, figures, large)
    }

    #[inline]
    fn table32(words: &[u32; 16]) -> __m512i {
        // SAFETY: 64 bytes.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[inline]
    pub(super) fn table(bytes: &[u8; 64]) -> __m512i {
        // SAFETY: 64 bytes.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    /// How many bytes stand up to each number's dot; 0 without one.
    #[inline]
    pub(super) fn up_to_dots(even: u64, odd: u64) -> __m256i {
        let dots = _mm_unpacklo_epi16(_mm_cvtsi64_si128(even as i64), _mm_cvtsi64_si128(odd as i64));
        _mm256_cvtepu16_epi32(_mm_popcnt_epi16(dots))
    }

    /// The digits of four numbers, right-aligned without their dots, and masks of the bytes up to each dot. Where one
    /// goes, the last byte of `before` moves in.
    #[inline]
    pub(super) fn digits(raw: __m512i, lengths: __m512i, before: __m512i) -> (__m512i, u64) {
        let inside = _mm512_cmpgt_epu8_mask(lengths, table(&FROM_RIGHT));
        let digits = _mm512_maskz_sub_epi8(inside, raw, _mm512_set1_epi8(b'0' as i8));
        let dots = _mm512_mask_cmpeq_epi8_mask(inside, raw, _mm512_set1_epi8(b'.' as i8));
        // In each 16 bits: from a bit all bits up to it, from none none. A second dot stays and fails as a digit.
        let some = (dots.wrapping_add(0x7FFF_7FFF_7FFF_7FFF) & 0x8000_8000_8000_8000) >> 15;
        let up_to = alone((dots << 1).wrapping_sub(some));
        (_mm512_mask_alignr_epi8::<15>(digits, up_to, digits, before), up_to)
    }

    /// Lanes (bit i of number i) from byte masks of the even and of the odd numbers.
    fn alternate(even: u64, odd: u64) -> u8 {
        const TOP: u64 = 0x8000_8000_8000_8000;
        let some = |mask: u64| _pext_u64(((mask & !TOP) + !TOP) | mask, TOP) as u32;
        (_pdep_u32(some(even), 0x55) | _pdep_u32(some(odd), 0xAA)) as u8
    }

    /// The same word, of which the compiler knows nothing more: it would put two of them into a vector, and take them out
    /// again.
    #[inline]
    fn alone(mut word: u64) -> u64 {
        // SAFETY: no instruction at all.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) word, options(pure, nomem, nostack, preserves_flags));
        }
        word
    }
}
