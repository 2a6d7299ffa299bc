//! Eight long numbers of the usual kind: at most 20 bytes of digits and a dot, and perhaps an exponent, but no sign.

use std::arch::x86_64::*;

use super::decimal16;
use super::decimal31::{self, Decimals31};

/// Most bytes without the exponent: those that one lane of 16 holds, and four before them.
const LONGEST: i32 = 20;
/// A dot where digits are 0 to 9.
const DOT: i8 = (b'.' ^ b'0') as i8;

/// Eight numbers of which the digits are read.
#[derive(Clone, Copy)]
pub(super) struct Digits20 {
    /// The last sixteen bytes, without their dots.
    even: __m512i,
    odd: __m512i,
    /// The bytes up to each dot among these.
    up_to_dots: [u64; 2],
    /// The four bytes before them.
    upper: __m256i,
    /// How many bytes there are without the exponent.
    length: __m256i,
    /// The exponents.
    power: __m256i,
    /// Malformed exponents.
    failed: u8,
}

/// Last byte of each lane: the byte of the number's upper digits that stands next to the lower ones.
const EVEN_CARRY: [u8; 64] = carries(0);
const ODD_CARRY: [u8; 64] = carries(4);

const fn carries(first: u8) -> [u8; 64] {
    let mut table = [0; 64];
    let mut index = 0;
    while index < 64 {
        table[index] = (index as u8 / 16) * 8 + first + 3;
        index += 1;
    }
    table
}

avx512! {
    /// Reads the digits of the eight numbers that stand `skip` bytes after `befores[0..8]` and before `ends[0..8]` (offsets
    /// from `base`).
    ///
    /// # Safety
    /// Every end is at least 32, and the bytes before it are readable.
    #[inline]
    pub(super) unsafe fn read(base: *const u8, befores: *const u32, skip: u32, ends: *const u32) -> Digits20 {
        // Numbers 0 and 2, 4 and 6, 1 and 3, 5 and 7.
        // SAFETY: the caller has eight of each, and 32 readable bytes before every end.
        let (mut length, raw) = unsafe {
            let start = _mm256_add_epi32(_mm256_loadu_si256(befores.cast()), _mm256_set1_epi32(skip as i32));
            let half = |number: usize| {
                // By itself, not out of the vector: see the short numbers.
                let end = ends.add(number).read_volatile() as usize;
                _mm256_loadu_si256(base.add(end - 32).cast())
            };
            let two = |number| _mm512_inserti64x4::<1>(_mm512_castsi256_si512(half(number)), half(number + 2));
            (_mm256_sub_epi32(_mm256_loadu_si256(ends.cast()), start), [two(0), two(4), two(1), two(5)])
        };
        let tails = words(&raw, [word(7); 2]);
        let exponential = decimal31::are_exponents(length, tails);
        let (mut power, mut failed) = (_mm256_setzero_si256(), 0);
        // What is read of a number that ends in an exponent stands as much further left, which is one word.
        let (mut uppers, mut lowers) = ([word(3); 2], [lower(); 2]);
        if exponential != 0 {
            (power, failed) = decimal31::exponents(tails, exponential);
            length = _mm256_mask_sub_epi32(length, exponential, length, _mm256_set1_epi32(decimal31::EXPONENT));
            let minus_one = _mm256_movm_epi32(exponential);
            let wide = _mm512_castsi256_si512(minus_one);
            uppers[0] = _mm512_add_epi32(uppers[0], wide);
            uppers[1] = _mm512_add_epi32(uppers[1], _mm512_castsi128_si512(_mm256_extracti128_si256::<1>(minus_one)));
            lowers[0] = _mm512_add_epi32(lowers[0], _mm512_permutexvar_epi32(of_numbers(0), wide));
            lowers[1] = _mm512_add_epi32(lowers[1], _mm512_permutexvar_epi32(of_numbers(1), wide));
        }

        // The four bytes before the last sixteen, without what stands before the number.
        let outside = _mm256_slli_epi32::<3>(_mm256_sub_epi32(_mm256_set1_epi32(LONGEST), length));
        let upper = _mm256_xor_si256(words(&raw, uppers), _mm256_set1_epi8(b'0' as i8));
        let upper = _mm256_sllv_epi32(_mm256_srlv_epi32(upper, outside), outside);
        // The last sixteen. If their dot goes, the last of the four moves in.
        let wide = _mm512_castsi256_si512(length);
        let carry = |table: &[u8; 64]| _mm512_permutexvar_epi8(decimal16::table(table), _mm512_castsi256_si512(upper));
        let (even, even_dots) = decimal16::digits(
            _mm512_permutex2var_epi32(raw[0], lowers[0], raw[1]),
            _mm512_permutexvar_epi8(decimal16::table(&decimal16::EVEN), wide),
            carry(&EVEN_CARRY),
        );
        let (odd, odd_dots) = decimal16::digits(
            _mm512_permutex2var_epi32(raw[2], lowers[1], raw[3]),
            _mm512_permutexvar_epi8(decimal16::table(&decimal16::ODD), wide),
            carry(&ODD_CARRY),
        );
        Digits20 { even, odd, up_to_dots: [even_dots, odd_dots], upper, length, power, failed }
    }

    /// The numbers, as [`decimal31::eight`] returns them; `None` when one of them is of another kind.
    #[inline]
    pub(super) fn decimals(digits: &Digits20) -> Option<Decimals31> {
        let Digits20 { even, odd, up_to_dots: [even_dots, odd_dots], upper, length, power, mut failed } = *digits;
        let up_to_dot = decimal16::up_to_dots(even_dots, odd_dots);
        let below = _mm256_test_epi32_mask(up_to_dot, up_to_dot);

        // The lowest bit of the four bytes' first dot. Without one this is 0, and what follows moves all four by a byte.
        let dots = _mm256_and_si256(_mm256_cmpeq_epi8(upper, _mm256_set1_epi8(DOT)), _mm256_set1_epi8(1));
        let dot = _mm256_and_si256(dots, _mm256_sub_epi32(_mm256_setzero_si256(), dots));
        let above = _mm256_test_epi32_mask(dot, dot);
        let minus_one = _mm256_set1_epi32(-1);
        let earlier = _mm256_and_si256(upper, _mm256_add_epi32(dot, minus_one));
        let up_to = _mm256_add_epi32(_mm256_slli_epi32::<8>(dot), minus_one);
        let closed_up = _mm256_or_si256(_mm256_andnot_si256(up_to, upper), _mm256_slli_epi32::<8>(earlier));
        let upper = _mm256_mask_mov_epi32(upper, above | below, closed_up);

        let nine = _mm512_set1_epi8(9);
        let others = _mm512_cmpgt_epu8_mask(_mm512_max_epu8(even, odd), nine);
        let other = _mm256_cmpgt_epu8_mask(upper, _mm512_castsi512_si256(nine));
        let pairs = _mm256_maddubs_epi16(upper, _mm256_set1_epi16(0x010A));
        let upper = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_0064));
        failed |= _mm256_cmpgt_epu32_mask(upper, _mm256_set1_epi32(decimal31::MOST_UPPER as i32));
        let scale = _mm512_set1_epi64(10_000_000_000_000_000);
        let upper = _mm512_mullo_epi64(_mm512_cvtepu32_epi64(upper), scale);
        let mantissa = _mm512_add_epi64(upper, decimal16::whole(even, odd));

        let sixteen = _mm256_set1_epi32(16);
        let places = _mm256_maskz_sub_epi32(below, sixteen, up_to_dot);
        let places = _mm256_mask_add_epi32(places, above, sixteen, _mm256_srli_epi32::<3>(_mm256_lzcnt_epi32(dot)));
        let power = _mm512_cvtepi32_epi64(_mm256_sub_epi32(power, places));
        failed |= (above & below) | _mm256_cmpgt_epu32_mask(length, _mm256_set1_epi32(LONGEST));
        failed |= decimal31::are_ungrammatical(length, above | below, places, mantissa);
        let usual = (others == 0) & (other == 0) & (failed == 0);
        usual.then_some(Decimals31 { mantissa, power, negative: 0, failed: 0 })
    }

    /// One 32-bit word of each number, by its places among numbers 0 to 3 and 4 to 7.
    #[inline]
    fn words(raw: &[__m512i; 4], places: [__m512i; 2]) -> __m256i {
        let near = _mm512_castsi512_si256(_mm512_permutex2var_epi32(raw[0], places[0], raw[2]));
        let far = _mm512_castsi512_si256(_mm512_permutex2var_epi32(raw[1], places[1], raw[3]));
        _mm256_inserti128_si256::<1>(near, _mm256_castsi256_si128(far))
    }

    /// The places of a word of four numbers in turn in two vectors.
    #[inline]
    fn word(word: i32) -> __m512i {
        let (first, second) = (word, word + 8);
        _mm512_setr_epi32(first, first + 16, second, second + 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    }

    /// The places of the last four words of four numbers.
    #[inline]
    fn lower() -> __m512i {
        _mm512_setr_epi32(4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)
    }

    /// Four words each of every second number.
    #[inline]
    fn of_numbers(first: i32) -> __m512i {
        let [second, third, fourth] = [first + 2, first + 4, first + 6];
        _mm512_setr_epi32(
            first, first, first, first, second, second, second, second, third, third, third, third, fourth, fourth,
            fourth, fourth,
        )
    }
}
