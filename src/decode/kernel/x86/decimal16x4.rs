//! Four numbers of at most 16 bytes, without sign or exponent, in 256-bit registers: two in each.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;
use std::ops::Range;

use super::super::fallback;
use super::number::POINT;

/// Most bytes.
const LONGEST: i32 = 16;
/// Byte of the length that every byte of a lane needs: numbers 0 and 2, and 1 and 3.
const EVEN: [u8; 32] = lanes(0);
const ODD: [u8; 32] = lanes(4);

const fn lanes(first: u8) -> [u8; 32] {
    let mut table = [first; 32];
    let mut index = 16;
    while index < 32 {
        table[index] = first + 8;
        index += 1;
    }
    table
}

/// In each lane 0, 1, 2 … 15.
const INDEX: [u8; 32] = from(0);
/// The same from 1 on: the sum of some is never that of none.
const PLACE: [u8; 32] = from(1);
/// The same from -16 on. With a number's length added, its first byte has 0 and those before it are negative.
const BACK: [u8; 32] = from(-LONGEST as u8);
/// [`INDEX`], but no dot is behind the last byte: one there stays, and is no digit.
const BEFORE_DOT: [u8; 32] = {
    let mut table = INDEX;
    table[15] = i8::MAX as u8;
    table[31] = i8::MAX as u8;
    table
};

const fn from(first: u8) -> [u8; 32] {
    let mut table = [0; 32];
    let mut index = 0;
    while index < 32 {
        table[index] = first.wrapping_add(index as u8 % 16);
        index += 1;
    }
    table
}

/// Two numbers in the lanes of a register.
struct Two {
    /// Their digits, right-aligned and without a dot; zeros before them.
    digits: __m256i,
    /// In both halves of a lane: bytes up to the dot; 0 without one.
    up_to_dot: __m256i,
    /// Not 0 in a lane whose number is something else.
    wrong: __m256i,
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(table: &[u8; 32]) -> __m256i {
    // SAFETY: 32 bytes.
    unsafe { _mm256_loadu_si256(table.as_ptr().cast()) }
}

/// The digits of the numbers that end before two ends, each by itself.
///
/// # Safety
/// 16 bytes are readable before both ends; the processor has AVX2.
#[inline(always)]
unsafe fn two<const DOTS: bool>(base: *const u8, ends: *const u32, lengths: __m256i, lanes: &[u8; 32]) -> Two {
    // SAFETY: the caller's. Each end is loaded by itself: the compiler would take them out of the vector that the lengths
    // come from, which is slower.
    unsafe {
        let (low, high) = (ends.read_volatile() as usize, ends.add(2).read_volatile() as usize);
        let low = _mm256_castsi128_si256(_mm_loadu_si128(base.add(low - 16).cast()));
        let raw = _mm256_inserti128_si256::<1>(low, _mm_loadu_si128(base.add(high - 16).cast()));
        let zero = _mm256_setzero_si256();
        let from_first = _mm256_add_epi8(_mm256_shuffle_epi8(lengths, load(lanes)), load(&BACK));
        let outside = _mm256_cmpgt_epi8(zero, from_first);
        let digits = _mm256_andnot_si256(outside, _mm256_sub_epi8(raw, _mm256_set1_epi8(b'0' as i8)));
        // A zero that comes first comes alone, or before a dot.
        let leading = _mm256_cmpeq_epi8(_mm256_or_si256(digits, from_first), zero);
        let behind = _mm256_slli_si256::<1>(leading);
        if !DOTS {
            let wrong = _mm256_or_si256(behind, _mm256_subs_epu8(digits, _mm256_set1_epi8(9)));
            return Two { digits, up_to_dot: zero, wrong };
        }
        let dots = _mm256_cmpeq_epi8(digits, _mm256_set1_epi8(POINT));
        // The sum of the places of the dots, of which there is at most one: a second one stays and is no digit.
        let halves = _mm256_sad_epu8(_mm256_and_si256(dots, load(&PLACE)), zero);
        let up_to_dot = _mm256_add_epi64(halves, _mm256_shuffle_epi32::<0x4E>(halves));
        // What is left of the dot takes its place, and with it that of what `behind` made of it: so it stays where there is no dot.
        let left = _mm256_cmpgt_epi8(_mm256_shuffle_epi8(up_to_dot, zero), load(&BEFORE_DOT));
        let kept = _mm256_add_epi8(load(&INDEX), left);
        let digits = _mm256_shuffle_epi8(_mm256_or_si256(digits, behind), kept);
        Two { digits, up_to_dot, wrong: _mm256_subs_epu8(digits, _mm256_set1_epi8(9)) }
    }
}

/// Numbers of which some byte of a lane is set.
#[inline]
#[target_feature(enable = "avx2")]
fn numbers_of(even: __m256i, odd: __m256i) -> u32 {
    if _mm256_testz_si256(_mm256_or_si256(even, odd), _mm256_set1_epi8(-1)) == 1 {
        return 0;
    }
    let zero = _mm256_setzero_si256();
    let some = |lanes| !_mm256_movemask_epi8(_mm256_cmpeq_epi8(lanes, zero)) as u32;
    let (even, odd) = (some(even), some(odd));
    let bit = |mask: u32, number: u32| u32::from(mask != 0) << number;
    bit(even & 0xFFFF, 0) | bit(odd & 0xFFFF, 1) | bit(even >> 16, 2) | bit(odd >> 16, 3)
}

/// Numbers whose lengths are not within 1 and 16.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn misfits(lengths: __m128i) -> u32 {
    let least = _mm_sub_epi32(lengths, _mm_set1_epi32(1));
    let fits = _mm_cmpeq_epi32(_mm_min_epu32(least, _mm_set1_epi32(LONGEST - 1)), least);
    !_mm_movemask_ps(_mm_castsi128_ps(fits)) as u32 & 0xF
}

/// Which of eight lengths are within 1 and 16.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn fits(lengths: __m256i) -> u8 {
    let least = _mm256_sub_epi32(lengths, _mm256_set1_epi32(1));
    let fits = _mm256_cmpeq_epi32(_mm256_min_epu32(least, _mm256_set1_epi32(LONGEST - 1)), least);
    _mm256_movemask_ps(_mm256_castsi256_ps(fits)) as u8
}

/// Of four mantissas of 16 digits, in order, the value of the first eight in the lower half of a lane and that of the last eight in
/// the upper.
#[inline]
#[target_feature(enable = "avx2")]
fn eights(even: __m256i, odd: __m256i) -> __m256i {
    let (tens, hundreds) = (_mm256_set1_epi16(0x010A), _mm256_set1_epi32(0x0001_0064));
    let fours = |digits| _mm256_madd_epi16(_mm256_maddubs_epi16(digits, tens), hundreds);
    _mm256_madd_epi16(_mm256_packus_epi32(fours(even), fours(odd)), _mm256_set1_epi32(0x0001_2710))
}

/// The values of four mantissas of 16 digits, in order.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn wholes(even: __m256i, odd: __m256i) -> __m256i {
    let halves = eights(even, odd);
    let upper = _mm256_mul_epu32(halves, _mm256_set1_epi64x(100_000_000));
    _mm256_add_epi64(upper, _mm256_srli_epi64::<32>(halves))
}

/// Four numbers that were read as digits.
pub(super) struct Digits16x4 {
    /// The digits of numbers 0 and 2, and of 1 and 3.
    even: __m256i,
    odd: __m256i,
    /// Bytes up to the dot in each lane, 0 without one.
    up_to_dot: __m256i,
    lengths: __m128i,
    /// Which of them are spelled otherwise, as far as their bytes show.
    pub(super) wrong: u32,
}

/// The digits of four numbers.
///
/// # Safety
/// Four ends, 16 bytes before each are readable; the processor has AVX2.
#[inline(always)] // it has two callers
pub(super) unsafe fn four(base: *const u8, ends: *const u32, lengths: __m128i) -> Digits16x4 {
    // SAFETY: the caller's.
    unsafe {
        let wide = _mm256_broadcastsi128_si256(lengths);
        let (even, odd) = (two::<true>(base, ends, wide, &EVEN), two::<true>(base, ends.add(1), wide, &ODD));
        let wrong = numbers_of(even.wrong, odd.wrong);
        let up_to_dot = _mm256_blend_epi32::<0b1100_1100>(even.up_to_dot, odd.up_to_dot);
        Digits16x4 { even: even.digits, odd: odd.digits, up_to_dot, lengths, wrong }
    }
}

/// Their values, and which of them are spelled otherwise, apart from [`misfits`].
///
/// # Safety
/// The processor has AVX2 and FMA.
#[inline(always)] // it has two callers
pub(super) unsafe fn doubles(four: &Digits16x4) -> (__m256d, u32) {
    let Digits16x4 { even, odd, up_to_dot, lengths, wrong } = *four;
    // SAFETY: the caller's.
    unsafe {
        let narrow = _mm256_permutevar8x32_epi32(up_to_dot, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
        let narrow = _mm256_castsi256_si128(narrow);
        let undotted = _mm_cmpeq_epi32(narrow, _mm_setzero_si128());
        // A digit comes before the dot.
        let bare = _mm_cmpgt_epi32(_mm_set1_epi32(LONGEST + 2), _mm_add_epi32(narrow, lengths));
        let wrong = wrong | _mm_movemask_ps(_mm_castsi128_ps(_mm_andnot_si128(undotted, bare))) as u32;

        let eights = eights(even, odd);
        let offset = _mm256_set1_pd(TWO_52);
        let upper = _mm256_blend_epi32::<0b1010_1010>(eights, _mm256_castpd_si256(offset));
        let upper = _mm256_sub_pd(_mm256_castsi256_pd(upper), offset);
        let lower = _mm256_or_si256(_mm256_srli_epi64::<32>(eights), _mm256_castpd_si256(offset));
        let lower = _mm256_sub_pd(_mm256_castsi256_pd(lower), offset);
        // Both parts are exact, and so this rounds once.
        let value = _mm256_fmadd_pd(upper, _mm256_set1_pd(1e8), lower);
        // 10^places = 10^(places mod 8), which a permutation takes, and 10^8 from eight on; without a dot places are 16.
        let places = _mm256_sub_epi64(_mm256_set1_epi64x(i64::from(LONGEST)), up_to_dot);
        let small = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(POWERS.as_ptr().cast()), places);
        let large = _mm256_loadu_si256(EIGHTH_POWERS.as_ptr().cast());
        let large = _mm256_permutevar8x32_epi32(large, _mm256_srli_epi64::<3>(places));
        let small = _mm256_castsi256_pd(_mm256_slli_epi64::<32>(small));
        let power = _mm256_mul_pd(small, _mm256_castsi256_pd(_mm256_slli_epi64::<32>(large)));
        (_mm256_div_pd(value, power), wrong)
    }
}

/// The upper halves of 10^0 … 10^7, whose lower ones are zero.
const POWERS: [u32; 8] = upper_halves([1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7]);
/// The same of 10^8 for eight places and more.
const EIGHTH_POWERS: [u32; 8] = upper_halves([1.0, 1e8, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
const TWO_52: f64 = 4_503_599_627_370_496.0;

const fn upper_halves(powers: [f64; 8]) -> [u32; 8] {
    let mut table = [0; 8];
    let mut index = 0;
    while index < 8 {
        let bits = powers[index].to_bits();
        assert!(bits as u32 == 0);
        table[index] = (bits >> 32) as u32;
        index += 1;
    }
    table
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn lengths(befores: *const u32, skip: u32, ends: *const u32) -> __m128i {
    // SAFETY: the caller has four of each.
    unsafe {
        let start = _mm_add_epi32(_mm_loadu_si128(befores.cast()), _mm_set1_epi32(skip as i32));
        _mm_sub_epi32(_mm_loadu_si128(ends.cast()), start)
    }
}

/// Four integers, and which of them are something else.
///
/// # Safety
/// As for [`four`]; four of each.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn integers(base: *const u8, befores: *const u32, skip: u32, ends: *const u32) -> (__m256i, u32) {
    // SAFETY: the caller's.
    unsafe {
        let lengths = lengths(befores, skip, ends);
        let wide = _mm256_broadcastsi128_si256(lengths);
        let (even, odd) = (two::<false>(base, ends, wide, &EVEN), two::<false>(base, ends.add(1), wide, &ODD));
        (wholes(even.digits, odd.digits), numbers_of(even.wrong, odd.wrong) | misfits(lengths))
    }
}

/// Numbers above a limit.
#[inline]
#[target_feature(enable = "avx2")]
fn above(values: __m256i, limit: i64) -> u32 {
    _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(values, _mm256_set1_epi64x(limit)))) as u32
}

/// See [`super::super::Kernel::times`].
///
/// # Safety
/// As for [`super::column::floats`].
#[inline]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn times(
    bytes: &[u8],
    befores: &[u32],
    skip: u32,
    ends: &[u32],
    fraction: Option<(u32, &[u32])>,
    out: &mut [MaybeUninit<i64>],
) -> bool {
    let one_by_one = |span: Range<usize>, out: &mut [MaybeUninit<i64>]| {
        let part = fraction.map(|(skip, ends)| (skip, &ends[span.clone()]));
        // SAFETY: the caller's.
        unsafe { super::times(bytes, &befores[span.clone()], skip, &ends[span.clone()], part, &mut out[span]) }
    };
    let (parts, skips, last_ends) = match fraction {
        Some((skip_2, ends_2)) => (2, [skip, skip_2], ends_2),
        None => (1, [skip; 2], ends),
    };
    let whole = ends.len() / 4 * 4;
    for first in (0..whole).step_by(4) {
        // SAFETY: four of each, and the caller answers for the ends.
        let wrong = unsafe {
            // Each part ends where the next one begins.
            let places = [befores, ends, last_ends].map(|places| places.as_ptr().add(first));
            let (mut values, mut wrong) = ([_mm256_setzero_si256(); 2], 0);
            // In a loop: what has one caller is inlined however large it is.
            for part in 0..parts {
                let (value, malformed) = integers(bytes.as_ptr(), places[part], skips[part], places[part + 1]);
                values[part] = value;
                wrong |= malformed;
            }
            let [seconds, nanoseconds] = values;
            wrong |= above(seconds, fallback::MOST_SECONDS) | above(nanoseconds, fallback::NANOSECONDS - 1);
            // Seconds have a few bits above 32.
            let second = _mm256_set1_epi64x(fallback::NANOSECONDS);
            let upper = _mm256_slli_epi64::<32>(_mm256_mul_epu32(_mm256_srli_epi64::<32>(seconds), second));
            let time = _mm256_add_epi64(_mm256_mul_epu32(seconds, second), upper);
            _mm256_storeu_si256(out.as_mut_ptr().add(first).cast(), _mm256_add_epi64(time, nanoseconds));
            wrong
        };
        if wrong != 0 && !one_by_one(first..first + 4, out) {
            return false;
        }
    }
    one_by_one(whole..ends.len(), out)
}
