//! Eight numbers with up to 31 bytes of sign, digits and dot, and an exponent of two figures.

use std::arch::x86_64::*;

use super::super::super::eisel_lemire::eisel_lemire;
use super::super::super::powers::{LARGEST, NEAREST, REST, SMALLEST, UPPER, USUAL};
use super::super::rounding::ERROR;
use super::opaque;

/// Eight numbers, mantissa × 10^power, and which of them (by bit) this path cannot read.
#[derive(Clone, Copy)]
pub(super) struct Decimals31 {
    pub(super) mantissa: __m512i,
    pub(super) power: __m512i,
    pub(super) negative: u8,
    pub(super) failed: u8,
}

/// Eight doubles and which of them (by bit) are not sure.
pub(super) struct Doubles {
    pub(super) values: __m512d,
    pub(super) failed: u8,
}

/// Bytes that an exponent takes: `e+07`.
pub(super) const EXPONENT: i32 = 4;
/// Most that can stand above sixteen digits: more would not fit 64 bits.
pub(super) const MOST_UPPER: i64 = 1_843;
/// Longest number: one byte less than is loaded, so that a digit can move into the place of a dot.
const LONGEST: i32 = 31;

/// Places from the right within 32 bytes.
const FROM_RIGHT: [u8; 64] = {
    let mut table = [0; 64];
    let mut index = 0;
    while index < 64 {
        table[index] = 31 - index as u8 % 32;
        index += 1;
    }
    table
};
/// Index of the byte to the left, and of the byte that stands an exponent's length to the left.
const LEFT: [u8; 64] = to_the_left(1);
const EARLIER: [u8; 64] = to_the_left(EXPONENT as u8);

const fn to_the_left(places: u8) -> [u8; 64] {
    let mut table = [0; 64];
    let mut index = 0;
    while index < 64 {
        table[index] = (index as u8).wrapping_sub(places) % 64;
        index += 1;
    }
    table
}

/// Byte of the lengths that every byte of two numbers needs: of numbers 0 and 1, 2 and 3, 4 and 5, 6 and 7.
const LENGTHS: [[u8; 64]; 4] = {
    let mut table = [[0; 64]; 4];
    let mut index = 0;
    while index < 256 {
        table[index / 64][index % 64] = (index / 32 * 4) as u8;
        index += 1;
    }
    table
};

/// Two numbers: their digits in fours, right-aligned without their dots, and masks of dots and of what is no digit.
#[derive(Clone, Copy)]
struct Fours {
    digits: __m512i,
    dots: u64,
    bad: u64,
}

/// All bits of each of two numbers, by the lowest two bits.
fn pair(lanes: u8) -> u64 {
    const HALVES: [u64; 4] = [0, 0xFFFF_FFFF, 0xFFFF_FFFF_0000_0000, u64::MAX];
    HALVES[(lanes & 3) as usize]
}

/// 10^0 … 10^19 and what no 64-bit number reaches.
const LEAST: [u64; 24] = least();

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
    /// Reads the eight numbers that stand `skip` bytes after `befores[0..8]` and before `ends[0..8]` (offsets from `base`).
    ///
    /// # Safety
    /// Every end is at least 32, and the bytes before it are readable.
    #[inline]
    pub(super) unsafe fn eight(base: *const u8, befores: *const u32, skip: u32, ends: *const u32) -> Decimals31 {
        let one = _mm256_set1_epi32(1);
        // SAFETY: the caller has eight of each, and 32 readable bytes before every end.
        let (length, mut raw) = unsafe {
            let start = _mm256_add_epi32(_mm256_loadu_si256(befores.cast()), _mm256_set1_epi32(skip as i32));
            let two = |number: usize| {
                let half = |number: usize| {
                    // By itself, not out of the vector: see the short numbers.
                    let end = ends.add(number).read_volatile() as usize;
                    _mm256_loadu_si256(base.add(end - 32).cast())
                };
                _mm512_inserti64x4::<1>(_mm512_castsi256_si512(half(number)), half(number + 1))
            };
            (_mm256_sub_epi32(_mm256_loadu_si256(ends.cast()), start), [two(0), two(2), two(4), two(6)])
        };
        let mut failed = _mm256_cmpgt_epu32_mask(length, _mm256_set1_epi32(LONGEST));
        let tails = tails(&raw);
        let exponential = are_exponents(length, tails);
        let (mut length, mut power) = (length, _mm256_setzero_si256());
        if exponential != 0 {
            let malformed;
            (power, malformed) = exponents(tails, exponential);
            failed |= malformed;
            length = _mm256_mask_sub_epi32(length, exponential, length, _mm256_set1_epi32(EXPONENT));
            // What is left then ends where the exponent ended.
            raw[0] = before_exponent(raw[0], exponential);
            raw[1] = before_exponent(raw[1], exponential >> 2);
            raw[2] = before_exponent(raw[2], exponential >> 4);
            raw[3] = before_exponent(raw[3], exponential >> 6);
        }

        let wide = _mm512_castsi256_si512(length);
        let lengths = [
            _mm512_permutexvar_epi8(table(&LENGTHS[0]), wide),
            _mm512_permutexvar_epi8(table(&LENGTHS[1]), wide),
            _mm512_permutexvar_epi8(table(&LENGTHS[2]), wide),
            _mm512_permutexvar_epi8(table(&LENGTHS[3]), wide),
        ];
        let mut four = [
            digits(raw[0], lengths[0]),
            digits(raw[1], lengths[1]),
            digits(raw[2], lengths[2]),
            digits(raw[3], lengths[3]),
        ];
        let mut negative = 0;
        if (four[0].bad | four[1].bad) | (four[2].bad | four[3].bad) != 0 {
            // A sign is the first byte of a number, and reads as a zero; elsewhere it is none.
            let first = _mm256_sllv_epi32(one, _mm256_sub_epi32(_mm256_set1_epi32(32), length));
            let minus = _mm512_set1_epi8(b'-' as i8);
            let signs = words([
                _mm512_cmpeq_epi8_mask(raw[0], minus),
                _mm512_cmpeq_epi8_mask(raw[1], minus),
                _mm512_cmpeq_epi8_mask(raw[2], minus),
                _mm512_cmpeq_epi8_mask(raw[3], minus),
            ]);
            let found = _mm256_and_si256(signs, first);
            negative = _mm256_test_epi32_mask(found, found);
            length = _mm256_mask_sub_epi32(length, negative, length, one);
            let mut firsts = [0u64; 4];
            // SAFETY: four words fit.
            unsafe { _mm256_storeu_si256(firsts.as_mut_ptr().cast(), found) };
            for index in 0..4 {
                let unsigned = _mm512_mask_mov_epi8(raw[index], firsts[index], _mm512_set1_epi8(b'0' as i8));
                four[index] = digits(unsigned, lengths[index]);
            }
            let bad = words([four[0].bad, four[1].bad, four[2].bad, four[3].bad]);
            failed |= _mm256_test_epi32_mask(bad, bad);
        }

        // Upper and lower sixteen digits of numbers 0, 2, 1, 3 and 4, 6, 5, 7.
        let (near, far) = (sixteen(four[0].digits, four[1].digits), sixteen(four[2].digits, four[3].digits));
        let upper = _mm512_permutex2var_epi64(near, _mm512_setr_epi64(0, 4, 1, 5, 8, 12, 9, 13), far);
        let lower = _mm512_permutex2var_epi64(near, _mm512_setr_epi64(2, 6, 3, 7, 10, 14, 11, 15), far);
        failed |= _mm512_cmpgt_epu64_mask(upper, _mm512_set1_epi64(MOST_UPPER));
        let scale = _mm512_set1_epi64(10_000_000_000_000_000);
        let mantissa = _mm512_add_epi64(_mm512_mullo_epi64(upper, scale), lower);

        // Bytes left of the dot: the bits below the lowest. 32 without a dot, and then nothing is right of it.
        let dots = words([four[0].dots, four[1].dots, four[2].dots, four[3].dots]);
        let left = _mm256_popcnt_epi32(_mm256_andnot_si256(dots, _mm256_sub_epi32(dots, one)));
        let dotted = _mm256_test_epi32_mask(dots, dots);
        let places = _mm256_maskz_sub_epi32(dotted, _mm256_set1_epi32(31), left);
        failed |= are_ungrammatical(length, dotted, places, mantissa);
        let power = _mm512_cvtepi32_epi64(_mm256_sub_epi32(power, places));
        Decimals31 { mantissa, power, negative, failed }
    }

    /// Which numbers have no digit before or after their dot, or a zero before other whole digits.
    #[inline]
    pub(super) fn are_ungrammatical(length: __m256i, dotted: u8, places: __m256i, mantissa: __m512i) -> u8 {
        let one = _mm256_set1_epi32(1);
        let figures = _mm256_mask_sub_epi32(length, dotted, length, one);
        let whole = _mm256_sub_epi32(figures, places);
        let none = _mm256_cmplt_epi32_mask(whole, one) | _mm256_mask_cmplt_epi32_mask(dotted, places, one);
        let several = _mm256_cmpgt_epi32_mask(whole, one);
        none | _mm512_mask_cmplt_epu64_mask(several, mantissa, ten_to(_mm256_sub_epi32(figures, one)))
    }

    /// Two numbers; those that end in an exponent (by the lowest two bits) then end before it.
    #[inline]
    fn before_exponent(raw: __m512i, exponential: u8) -> __m512i {
        _mm512_mask_permutexvar_epi8(raw, pair(exponential), table(&EARLIER), raw)
    }

    #[inline]
    fn digits(raw: __m512i, lengths: __m512i) -> Fours {
        let inside = _mm512_cmpgt_epu8_mask(lengths, table(&FROM_RIGHT));
        let digits = _mm512_maskz_sub_epi8(inside, raw, _mm512_set1_epi8(b'0' as i8));
        let dots = _mm512_mask_cmpeq_epi8_mask(inside, raw, _mm512_set1_epi8(b'.' as i8));
        let digits = _mm512_mask_permutexvar_epi8(digits, up_to(dots), table(&LEFT), digits);
        let bad = _mm512_cmpgt_epu8_mask(digits, _mm512_set1_epi8(9));
        let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010A));
        Fours { digits: _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_0064)), dots, bad }
    }

    /// Sixteen digits in each 64-bit lane.
    #[inline]
    fn sixteen(first: __m512i, second: __m512i) -> __m512i {
        let eights = _mm512_madd_epi16(_mm512_packus_epi32(first, second), _mm512_set1_epi32(0x0001_2710));
        let scaled = _mm512_mul_epu32(eights, _mm512_set1_epi64(100_000_000));
        _mm512_add_epi64(scaled, _mm512_srli_epi64::<32>(eights))
    }

    /// The last four bytes of each number.
    #[inline]
    fn tails(raw: &[__m512i; 4]) -> __m256i {
        let last = _mm512_setr_epi32(7, 15, 23, 31, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        let near = _mm512_castsi512_si256(_mm512_permutex2var_epi32(raw[0], last, raw[1]));
        let far = _mm512_castsi512_si256(_mm512_permutex2var_epi32(raw[2], last, raw[3]));
        _mm256_inserti128_si256::<1>(near, _mm256_castsi256_si128(far))
    }

    #[inline]
    fn table(bytes: &[u8; 64]) -> __m512i {
        // SAFETY: 64 bytes.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    /// Eight 32-bit masks in the order of the numbers.
    #[inline]
    fn words(masks: [u64; 4]) -> __m256i {
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

    /// Which numbers end in an exponent.
    #[inline]
    pub(super) fn are_exponents(length: __m256i, tails: __m256i) -> u8 {
        let letter = _mm256_or_si256(_mm256_and_si256(tails, _mm256_set1_epi32(0xFF)), _mm256_set1_epi32(0x20));
        // A mantissa stands before it; in a shorter number the letter would be somebody else's.
        let room = _mm256_cmpgt_epu32_mask(length, _mm256_set1_epi32(EXPONENT));
        _mm256_mask_cmpeq_epi32_mask(room, letter, _mm256_set1_epi32(i32::from(b'e')))
    }

    /// The power of ten at the end of each such number, 0 of the others, and which are malformed.
    #[inline]
    pub(super) fn exponents(tails: __m256i, exponential: u8) -> (__m256i, u8) {
        let digits = _mm256_xor_si256(tails, _mm256_set1_epi8(b'0' as i8));
        // Of the bytes `e`, sign and two figures.
        let value = _mm256_srli_epi32::<16>(_mm256_maddubs_epi16(digits, _mm256_set1_epi32(0x010A_0000)));
        let above_nine = _mm256_subs_epu8(digits, _mm256_set1_epi32(0x0909_FFFF));
        let sign = _mm256_and_si256(tails, _mm256_set1_epi32(0xFF00));
        let falling = _mm256_cmpeq_epi32_mask(sign, _mm256_set1_epi32(i32::from(b'-') << 8));
        let rising = _mm256_cmpeq_epi32_mask(sign, _mm256_set1_epi32(i32::from(b'+') << 8));
        let wrong = !(falling | rising) | _mm256_test_epi32_mask(above_nine, above_nine);
        let signed = _mm256_mask_sub_epi32(value, falling, _mm256_setzero_si256(), value);
        (_mm256_maskz_mov_epi32(exponential, signed), exponential & wrong)
    }

    /// One number by the scalar algorithm, if its bytes are read and only its rounding was not sure.
    #[cold]
    pub(super) fn double(decimals: &Decimals31, lane: usize) -> Option<f64> {
        if decimals.failed >> lane & 1 == 1 {
            return None;
        }
        let (mut mantissas, mut powers) = ([0u64; 8], [0i64; 8]);
        // SAFETY: eight words fit.
        unsafe {
            _mm512_storeu_si512(mantissas.as_mut_ptr().cast(), decimals.mantissa);
            _mm512_storeu_si512(powers.as_mut_ptr().cast(), decimals.power);
        }
        let magnitude = eisel_lemire(mantissas[lane], powers[lane])?;
        Some(if decimals.negative >> lane & 1 == 1 { -magnitude } else { magnitude })
    }

    /// The doubles nearest to eight numbers.
    #[inline]
    pub(super) fn doubles(decimals: &Decimals31) -> Doubles {
        let Decimals31 { mantissa, power, negative, failed } = *decimals;
        let usual = _mm512_sub_epi64(power, _mm512_set1_epi64(USUAL));
        let (magnitudes, unsure) = match _mm512_mask_cmpgt_epu64_mask(!failed, usual, _mm512_set1_epi64(31)) {
            0 => round_usual(mantissa, usual),
            _ => round(mantissa, power, !failed),
        };
        let values = _mm512_mask_or_epi64(magnitudes, negative, magnitudes, _mm512_set1_epi64(i64::MIN));
        Doubles { values: _mm512_castsi512_pd(values), failed: failed | unsure }
    }

    /// The bits of mantissa × 10^([`USUAL`] + index), and the lanes that are not sure.
    ///
    /// By fused multiplications, as [`super::super::rounding::fused`] says. No mantissa is so large that the double near it is
    /// more than 64 bits hold ([`MOST_UPPER`]).
    #[inline]
    fn round_usual(mantissa: __m512i, index: __m512i) -> (__m512i, u8) {
        let (power, power_rest) = (usual_power(&NEAREST, index), usual_power(&REST, index));
        let whole = _mm512_cvtepu64_pd(mantissa);
        let rest = _mm512_cvtepi64_pd(_mm512_sub_epi64(mantissa, _mm512_cvtpd_epu64(whole)));
        let product = _mm512_mul_pd(whole, power);
        let lost = _mm512_fmsub_pd(whole, power, product);
        let lost = _mm512_fmadd_pd(rest, power, _mm512_fmadd_pd(whole, power_rest, lost));
        let error = _mm512_set1_pd(ERROR);
        let most = _mm512_add_pd(product, _mm512_fmadd_pd(product, error, lost));
        let least = _mm512_add_pd(product, _mm512_fnmadd_pd(product, error, lost));
        (_mm512_castpd_si512(most), _mm512_cmp_pd_mask::<_CMP_NEQ_UQ>(most, least))
    }

    /// A power for each lane's index, of which the lowest five bits count.
    #[inline]
    fn usual_power(table: &[f64; 32], index: __m512i) -> __m512d {
        // SAFETY: 32 doubles.
        let eight = |first: usize| unsafe { _mm512_loadu_pd(table.as_ptr().add(first)) };
        let low = _mm512_permutex2var_pd(eight(0), index, eight(8));
        let high = _mm512_permutex2var_pd(eight(16), index, eight(24));
        _mm512_mask_mov_pd(low, _mm512_test_epi64_mask(index, _mm512_set1_epi64(16)), high)
    }

    /// The bits of mantissa × 10^power by Eisel's and Lemire's algorithm, and the lanes that are not sure.
    #[inline]
    fn round(mantissa: __m512i, power: __m512i, wanted: u8) -> (__m512i, u8) {
        let some = _mm512_mask_test_epi64_mask(wanted, mantissa, mantissa);
        let above = _mm512_cmpgt_epi64_mask(power, _mm512_set1_epi64(LARGEST));
        let mut unsure = above | _mm512_cmplt_epi64_mask(power, _mm512_set1_epi64(SMALLEST));
        let index = _mm512_maskz_sub_epi64(some & !unsure, power, _mm512_set1_epi64(SMALLEST));
        // SAFETY: wanted lanes are in the table, the others read its first word.
        let five = unsafe { _mm512_i64gather_epi64::<8>(index, UPPER.as_ptr().cast()) };
        let zeros = _mm512_lzcnt_epi64(mantissa);
        let high = product(_mm512_sllv_epi64(mantissa, zeros), five);

        // The carry from the lower half of the power may reach the 55 bits that count.
        let ones = _mm512_set1_epi64(0x1FF);
        unsure |= _mm512_cmpeq_epi64_mask(_mm512_and_si512(high, ones), ones);
        let top = _mm512_srli_epi64::<63>(high);
        let shift = _mm512_add_epi64(top, _mm512_set1_epi64(9));
        let bits = _mm512_srlv_epi64(high, shift);
        // Perhaps exactly between two doubles.
        let one = _mm512_set1_epi64(1);
        let odd = _mm512_cmpeq_epi64_mask(_mm512_and_si512(bits, _mm512_set1_epi64(3)), one);
        unsure |= _mm512_mask_cmpeq_epi64_mask(odd, _mm512_sllv_epi64(bits, shift), high);
        let rounded = _mm512_srli_epi64::<1>(_mm512_add_epi64(bits, _mm512_and_si512(bits, one)));
        // floor(power × log2(10)) + 63 + 1023 - 1: the mantissa's hidden bit, and its carry, add to the exponent.
        let log = _mm512_srai_epi64::<16>(_mm512_mullo_epi64(power, _mm512_set1_epi64(217_706)));
        let binary = _mm512_add_epi64(_mm512_sub_epi64(log, zeros), _mm512_add_epi64(top, _mm512_set1_epi64(1_085)));
        let all = _mm512_add_epi64(_mm512_slli_epi64::<52>(binary), rounded);
        (_mm512_maskz_mov_epi64(some, all), unsure & some)
    }

    /// Upper half of eight 64 × 64-bit products.
    #[inline]
    fn product(left: __m512i, right: __m512i) -> __m512i {
        let half = _mm512_set1_epi64(0xFFFF_FFFF);
        let (left_high, right_high) = (_mm512_srli_epi64::<32>(left), _mm512_srli_epi64::<32>(right));
        let low = _mm512_mul_epu32(left, right);
        // The compiler would see through a product of halves, and take every lane out for a scalar multiplication.
        let cross = opaque(_mm512_mul_epu32(left_high, right));
        let other = _mm512_mul_epu32(left, right_high);
        let high = _mm512_mul_epu32(left_high, right_high);
        let middle = _mm512_add_epi64(_mm512_add_epi64(_mm512_srli_epi64::<32>(low), other), _mm512_and_si512(cross, half));
        let carried = _mm512_add_epi64(_mm512_srli_epi64::<32>(cross), _mm512_srli_epi64::<32>(middle));
        _mm512_add_epi64(high, carried)
    }
}
