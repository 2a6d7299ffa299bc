//! Eight numbers with up to 31 bytes of sign, digits and dot, and an exponent of two figures.

use std::arch::x86_64::*;

use super::super::powers::{LARGEST, SMALLEST, UPPER};

/// Eight doubles and which of them (by bit) this path cannot read.
pub(super) struct Long {
    pub(super) values: __m512d,
    pub(super) failed: u8,
}

/// Bytes that an exponent takes: `e+07`.
const EXPONENT: i32 = 4;
/// Longest mantissa, with sign and dot.
const LONGEST: i32 = 31;

/// Places from the right within 32 bytes.
const FROM_RIGHT: [u8; 64] = table(false);
/// Index of the byte to the left.
const LEFT: [u8; 64] = table(true);
/// 10^0 … 10^19 and what no 64-bit number reaches.
const LEAST: [u64; 24] = least();

const fn table(left: bool) -> [u8; 64] {
    let mut table = [0; 64];
    let mut index = 0;
    while index < 64 {
        table[index] = if left { (index as u8).wrapping_sub(1) % 64 } else { 31 - index as u8 % 32 };
        index += 1;
    }
    table
}

const fn least() -> [u64; 24] {
    let mut table = [u64::MAX; 24];
    table[0] = 1;
    let mut index = 1;
    while index < 20 {
        table[index] = table[index - 1] * 10;
        index += 1;
    }
    table
}

/// From each bit of a 32-bit half all bits up to it, without the lowest: no number reaches that byte.
fn up_to(dots: u64) -> u64 {
    let some = (dots.wrapping_add(0x7FFF_FFFF_7FFF_FFFF) & 0x8000_0000_8000_0000) >> 31;
    (dots << 1).wrapping_sub(some) & 0xFFFF_FFFE_FFFF_FFFE
}

avx512! {
    /// Reads the eight numbers that stand after `befores[0..8]` and before `ends[0..8]` (offsets from `base`).
    ///
    /// # Safety
    /// Every end is at least 36, and the bytes before it are readable.
    #[inline]
    pub(super) unsafe fn eight(base: *const u8, befores: *const u32, ends: *const u32) -> Long {
        let one = _mm256_set1_epi32(1);
        // SAFETY: the caller has eight of each.
        let (start, end) = unsafe {
            (_mm256_add_epi32(_mm256_loadu_si256(befores.cast()), one), _mm256_loadu_si256(ends.cast()))
        };
        let length = _mm256_sub_epi32(end, start);
        // SAFETY: four readable bytes stand before every end.
        let (power, exponential, mut failed) = exponents(length, unsafe {
            _mm256_i32gather_epi32::<1>(base.cast(), _mm256_sub_epi32(end, _mm256_set1_epi32(EXPONENT)))
        });
        let exponent_length = _mm256_set1_epi32(EXPONENT);
        let mut length = _mm256_mask_sub_epi32(length, exponential, length, exponent_length);
        failed |= _mm256_cmpgt_epu32_mask(length, _mm256_set1_epi32(LONGEST));
        let mut ends = [0u32; 8];
        // SAFETY: eight ends fit; each stays at least 32.
        let raw = unsafe {
            _mm256_storeu_si256(
                ends.as_mut_ptr().cast(),
                _mm256_mask_sub_epi32(end, exponential, end, exponent_length),
            );
            let before = |number: usize| _mm256_loadu_si256(base.add(ends[number] as usize - 32).cast());
            let two = |number: usize| {
                _mm512_inserti64x4::<1>(_mm512_castsi256_si512(before(number)), before(number + 1))
            };
            [two(0), two(2), two(4), two(6)]
        };

        // SAFETY: the tables are 64 bytes long.
        let (places, left) = unsafe {
            (_mm512_loadu_si512(FROM_RIGHT.as_ptr().cast()), _mm512_loadu_si512(LEFT.as_ptr().cast()))
        };
        let wide = _mm512_castsi256_si512(length);
        let mut inside = [0u64; 4];
        let mut dots = [0u64; 4];
        let mut minus = [0u64; 4];
        for number in 0..4 {
            let lanes = _mm512_permutexvar_epi8(pick(number as i32 * 8), wide);
            inside[number] = _mm512_cmpgt_epu8_mask(lanes, places);
            minus[number] = _mm512_mask_cmpeq_epi8_mask(inside[number], raw[number], _mm512_set1_epi8(b'-' as i8));
        }
        let mut negative = 0;
        if (minus[0] | minus[1]) | (minus[2] | minus[3]) != 0 {
            let signs = halves(minus);
            negative = _mm256_test_epi32_mask(signs, signs);
            let first = _mm256_sllv_epi32(one, _mm256_sub_epi32(_mm256_set1_epi32(32), length));
            failed |= _mm256_mask_cmpneq_epi32_mask(negative, signs, first);
            length = _mm256_mask_sub_epi32(length, negative, length, one);
            for number in 0..4 {
                inside[number] &= !minus[number];
            }
        }
        let mut fours = [_mm512_setzero_si512(); 4];
        let mut bad = [0u64; 4];
        for number in 0..4 {
            let digits = _mm512_maskz_sub_epi8(inside[number], raw[number], _mm512_set1_epi8(b'0' as i8));
            let found = _mm512_mask_cmpeq_epi8_mask(inside[number], raw[number], _mm512_set1_epi8(b'.' as i8));
            dots[number] = up_to(found);
            let digits = _mm512_mask_permutexvar_epi8(digits, dots[number], left, digits);
            bad[number] = _mm512_cmpgt_epu8_mask(digits, _mm512_set1_epi8(9));
            let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010A));
            fours[number] = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_0064));
        }
        if (bad[0] | bad[1]) | (bad[2] | bad[3]) != 0 {
            let lanes = halves(bad);
            failed |= _mm256_test_epi32_mask(lanes, lanes);
        }

        // Sixteen digits a lane: upper and lower of numbers 0, 2, 1, 3 and 4, 6, 5, 7.
        let sixteen = |first: __m512i, second: __m512i| {
            let eights = _mm512_madd_epi16(_mm512_packus_epi32(first, second), _mm512_set1_epi32(0x0001_2710));
            let scaled = _mm512_mul_epu32(eights, _mm512_set1_epi64(100_000_000));
            _mm512_add_epi64(scaled, _mm512_srli_epi64::<32>(eights))
        };
        let (near, far) = (sixteen(fours[0], fours[1]), sixteen(fours[2], fours[3]));
        let upper = _mm512_permutex2var_epi64(near, _mm512_setr_epi64(0, 4, 1, 5, 8, 12, 9, 13), far);
        let lower = _mm512_permutex2var_epi64(near, _mm512_setr_epi64(2, 6, 3, 7, 10, 14, 11, 15), far);
        failed |= _mm512_cmpgt_epu64_mask(upper, _mm512_set1_epi64(1_843)); // more would not fit 64 bits
        let scale = _mm512_set1_epi64(10_000_000_000_000_000);
        let mantissa = _mm512_add_epi64(_mm512_mullo_epi64(upper, scale), lower);

        // Bytes left of the dot, 0 without one.
        let left_of_dot = _mm256_popcnt_epi32(halves(dots));
        let dotted = _mm256_test_epi32_mask(left_of_dot, left_of_dot);
        let places = _mm256_maskz_sub_epi32(dotted, _mm256_set1_epi32(31), left_of_dot);
        let figures = _mm256_mask_sub_epi32(length, dotted, length, one);
        let whole = _mm256_sub_epi32(figures, places);
        failed |= _mm256_cmplt_epi32_mask(whole, one);
        failed |= _mm256_mask_cmplt_epi32_mask(dotted, places, one);
        let several = _mm256_cmpgt_epi32_mask(whole, one);
        failed |= _mm512_mask_cmplt_epu64_mask(several, mantissa, ten_to(_mm256_sub_epi32(figures, one)));

        let power = _mm512_cvtepi32_epi64(_mm256_sub_epi32(power, places));
        let (magnitudes, unsure) = round(mantissa, power);
        let values = _mm512_mask_or_epi64(magnitudes, negative, magnitudes, _mm512_set1_epi64(i64::MIN));
        Long { values: _mm512_castsi512_pd(values), failed: failed | unsure }
    }

    /// Index of the length's byte for each half: of number `first / 4` and the one after it.
    #[inline]
    fn pick(first: i32) -> __m512i {
        let half = |number: i32| _mm256_set1_epi8(number as i8);
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(half(first)), half(first + 4))
    }

    /// Eight 32-bit masks in the order of the numbers.
    #[inline]
    fn halves(masks: [u64; 4]) -> __m256i {
        _mm256_setr_epi64x(masks[0] as i64, masks[1] as i64, masks[2] as i64, masks[3] as i64)
    }

    /// 10 to each of eight powers up to 19, all bits above.
    #[inline]
    fn ten_to(powers: __m256i) -> __m512i {
        let index = _mm512_cvtepu32_epi64(_mm256_min_epu32(powers, _mm256_set1_epi32(23)));
        // SAFETY: the table is 24 words long.
        unsafe {
            let table = LEAST.as_ptr();
            let low = _mm512_loadu_si512(table.cast());
            let small = _mm512_permutex2var_epi64(low, index, _mm512_loadu_si512(table.add(8).cast()));
            let large = _mm512_cmpgt_epu64_mask(index, _mm512_set1_epi64(15));
            _mm512_mask_permutexvar_epi64(small, large, index, _mm512_loadu_si512(table.add(16).cast()))
        }
    }

    /// The power of ten at the end of each number, which lanes have one, and which have a malformed one.
    #[inline]
    fn exponents(length: __m256i, tails: __m256i) -> (__m256i, u8, u8) {
        let byte = _mm256_set1_epi32(0xFF);
        let letter = _mm256_or_si256(_mm256_and_si256(tails, byte), _mm256_set1_epi32(0x20));
        // A mantissa stands before it; in a shorter number the letter would be somebody else's.
        let room = _mm256_cmpgt_epu32_mask(length, _mm256_set1_epi32(EXPONENT));
        let exponential = _mm256_mask_cmpeq_epi32_mask(room, letter, _mm256_set1_epi32(i32::from(b'e')));
        let sign = _mm256_and_si256(_mm256_srli_epi32::<8>(tails), byte);
        let zero = _mm256_set1_epi32(i32::from(b'0'));
        let tens = _mm256_sub_epi32(_mm256_and_si256(_mm256_srli_epi32::<16>(tails), byte), zero);
        let ones = _mm256_sub_epi32(_mm256_srli_epi32::<24>(tails), zero);
        let falling = _mm256_cmpeq_epi32_mask(sign, _mm256_set1_epi32(i32::from(b'-')));
        let rising = _mm256_cmpeq_epi32_mask(sign, _mm256_set1_epi32(i32::from(b'+')));
        let nine = _mm256_set1_epi32(9);
        let wrong = !(falling | rising) | _mm256_cmpgt_epu32_mask(tens, nine) | _mm256_cmpgt_epu32_mask(ones, nine);
        let value = _mm256_add_epi32(_mm256_mullo_epi32(tens, _mm256_set1_epi32(10)), ones);
        let signed = _mm256_mask_sub_epi32(value, falling, _mm256_setzero_si256(), value);
        (_mm256_maskz_mov_epi32(exponential, signed), exponential, exponential & wrong)
    }

    /// Eisel and Lemire's rounding in eight lanes: the bits of mantissa × 10^power, and the lanes that are not sure.
    #[inline]
    fn round(mantissa: __m512i, power: __m512i) -> (__m512i, u8) {
        let some = _mm512_test_epi64_mask(mantissa, mantissa);
        let above = _mm512_cmpgt_epi64_mask(power, _mm512_set1_epi64(LARGEST));
        let mut unsure = above | _mm512_cmplt_epi64_mask(power, _mm512_set1_epi64(SMALLEST));
        let index = _mm512_maskz_sub_epi64(!unsure, power, _mm512_set1_epi64(SMALLEST));
        // SAFETY: lanes beyond the table read its first word.
        let five = unsafe { _mm512_i64gather_epi64::<8>(index, UPPER.as_ptr().cast()) };
        let zeros = _mm512_lzcnt_epi64(mantissa);
        let (high, low) = product(_mm512_sllv_epi64(mantissa, zeros), five);

        // The carry from the lower half of the power may reach the 55 bits that count.
        let ones = _mm512_set1_epi64(0x1FF);
        unsure |= _mm512_cmpeq_epi64_mask(_mm512_and_si512(high, ones), ones);
        let top = _mm512_srli_epi64::<63>(high);
        let shift = _mm512_add_epi64(top, _mm512_set1_epi64(9));
        let bits = _mm512_srlv_epi64(high, shift);
        // Exactly between two doubles, or so near that only the scalar path looks.
        let one = _mm512_set1_epi64(1);
        let odd = _mm512_cmpeq_epi64_mask(_mm512_and_si512(bits, _mm512_set1_epi64(3)), one);
        let exact = _mm512_mask_cmple_epu64_mask(odd, low, one);
        unsure |= _mm512_mask_cmpeq_epi64_mask(exact, _mm512_sllv_epi64(bits, shift), high);
        let rounded = _mm512_srli_epi64::<1>(_mm512_add_epi64(bits, _mm512_and_si512(bits, one)));
        // floor(power × log2(10)) + 63 + 1023 - 1: the mantissa's hidden bit, and its carry, add to the exponent.
        let log = _mm512_srai_epi64::<16>(_mm512_mullo_epi64(power, _mm512_set1_epi64(217_706)));
        let binary = _mm512_add_epi64(_mm512_sub_epi64(log, zeros), _mm512_add_epi64(top, _mm512_set1_epi64(1_085)));
        let all = _mm512_add_epi64(_mm512_slli_epi64::<52>(binary), rounded);
        (_mm512_maskz_mov_epi64(some, all), unsure & some)
    }

    /// Upper and lower half of eight 64 × 64-bit products.
    #[inline]
    fn product(left: __m512i, right: __m512i) -> (__m512i, __m512i) {
        let half = _mm512_set1_epi64(0xFFFF_FFFF);
        let (left_high, right_high) = (_mm512_srli_epi64::<32>(left), _mm512_srli_epi64::<32>(right));
        let low = _mm512_mul_epu32(left, right);
        let cross = _mm512_mul_epu32(left_high, right);
        let other = _mm512_mul_epu32(left, right_high);
        let high = _mm512_mul_epu32(left_high, right_high);
        let middle = _mm512_add_epi64(_mm512_add_epi64(_mm512_srli_epi64::<32>(low), other), _mm512_and_si512(cross, half));
        let carried = _mm512_add_epi64(_mm512_srli_epi64::<32>(cross), _mm512_srli_epi64::<32>(middle));
        (_mm512_add_epi64(high, carried), _mm512_mullo_epi64(left, right))
    }
}
