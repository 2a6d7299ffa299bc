//! One number in 128-bit registers, from the bytes that end at its delimiter.

use std::arch::x86_64::*;

use super::super::super::powers::EXACT;
use super::super::decimal::{self, Digits, LEAST, NO_DOT, SLIDE};

/// Per place of a dot: bytes left of it move right by one. Place 16 stands for no dot.
const CLOSE_UP: [[u8; 16]; 17] = {
    let mut table = [[0; 16]; 17];
    let mut dot = 0;
    while dot < 17 {
        let mut byte = 0;
        while byte < 16 {
            table[dot][byte] = if dot == 16 || byte > dot { byte as u8 } else { (byte as u8).wrapping_sub(1) };
            byte += 1;
        }
        dot += 1;
    }
    table
};

/// Per place of a dot: the power of ten to divide by.
const POWERS: [f64; 17] = {
    let mut table = [1.0; 17];
    let mut dot = 0;
    while dot < 16 {
        table[dot] = EXACT[15 - dot];
        dot += 1;
    }
    table
};

/// The value of a mantissa of 16 digits; each byte is one.
#[inline(always)]
unsafe fn sixteen(digits: __m128i) -> u64 {
    // SAFETY: SSSE3 and SSE4.1, which the caller's `supported` asked for.
    unsafe {
        let pairs = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010A));
        let fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x0001_0064));
        let packed = _mm_packus_epi32(fours, fours);
        let eights = _mm_cvtsi128_si64(_mm_madd_epi16(packed, _mm_set1_epi32(0x0001_2710))) as u64;
        (eights & 0xFFFF_FFFF) * 100_000_000 + (eights >> 32)
    }
}

/// Whether every byte is at most 9.
#[inline(always)]
unsafe fn are_digits(bytes: __m128i) -> bool {
    // SAFETY: SSE2.
    unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(9)), bytes)) == 0xFFFF }
}

/// Digits of at most 16 bytes without their dot, and the dot's place (16 for none); `None` for another grammar.
#[inline(always)]
unsafe fn short(end: *const u8, length: u32) -> Option<(u64, usize)> {
    if length > 16 {
        return None;
    }
    // SAFETY: the caller has 37 bytes before the end; the table slides by at most 16; SSSE3 is there.
    unsafe {
        let outside = _mm_loadu_si128(SLIDE.as_ptr().add(16 + length as usize).cast());
        let raw = _mm_loadu_si128(end.sub(16).cast());
        let digits = _mm_andnot_si128(outside, _mm_sub_epi8(raw, _mm_set1_epi8(b'0' as i8)));
        let point = _mm_set1_epi8(POINT);
        let dots = _mm_movemask_epi8(_mm_cmpeq_epi8(digits, point)) as u32;
        let dot = (dots | 1 << 16).trailing_zeros() as usize;
        let digits = _mm_shuffle_epi8(digits, _mm_loadu_si128(CLOSE_UP[dot].as_ptr().cast()));
        let mantissa = sixteen(digits);
        let dotted = u32::from(dots != 0);
        let figures = length.wrapping_sub(dotted);
        let whole = length.wrapping_sub(dotted * (16 - dot as u32));
        // The grammar: at least one digit before a dot, one after it, no zero before other whole digits.
        let right = are_digits(digits)
            & (whole.wrapping_sub(1) < 16)
            & (dot != 15)
            & ((whole == 1) | (mantissa >= LEAST[(figures & 31).min(20) as usize]));
        right.then_some((mantissa, dot))
    }
}

/// An integer of at most 16 digits that ends at the pointer.
///
/// # Safety
/// At least 37 readable bytes stand before the end, and the processor has SSE4.1.
#[inline(always)]
pub(super) unsafe fn integer(end: *const u8, length: u32) -> Option<u64> {
    // SAFETY: the caller's.
    unsafe { short(end, length) }.filter(|(_, dot)| *dot == 16).map(|(mantissa, _)| mantissa)
}

/// A number of `length` bytes that ends at the pointer; `None` for what only the slow path can read.
///
/// # Safety
/// At least 37 readable bytes stand before the end, and the processor has SSE4.1.
#[inline(always)]
pub(super) unsafe fn float(end: *const u8, length: u32) -> Option<f64> {
    // SAFETY: the caller's; and 32 bytes before an exponent are looked at.
    unsafe {
        match short(end, length) {
            Some((mantissa, dot)) => Some(mantissa as i64 as f64 / POWERS[dot]),
            None => decimal::double::<false>(end, length, |end, length| twice_sixteen(end, length)),
        }
    }
}

/// What the last 32 bytes before an end hold, of which `length` belong to the number.
#[inline]
#[target_feature(enable = "sse4.2")]
unsafe fn twice_sixteen(end: *const u8, length: u32) -> Option<Digits> {
    // SAFETY: the caller has 32 bytes before the end; the tables slide by at most 32.
    unsafe {
        // Both halves: what stands outside is 0, and what stands left of the dot moves right by one.
        let outside = SLIDE.as_ptr().add(length as usize);
        let zero = _mm_set1_epi8(b'0' as i8);
        let half = |place: usize| {
            let raw = _mm_sub_epi8(_mm_loadu_si128(end.sub(32 - place).cast()), zero);
            _mm_andnot_si128(_mm_loadu_si128(outside.add(place).cast()), raw)
        };
        let (upper, lower) = (half(0), half(16));
        let point = _mm_set1_epi8(POINT);
        let dots = _mm_movemask_epi8(_mm_cmpeq_epi8(upper, point)) as u32
            | (_mm_movemask_epi8(_mm_cmpeq_epi8(lower, point)) as u32) << 16;
        let left = left_of(dots);
        let moved_upper = _mm_slli_si128::<1>(upper);
        let moved_lower = _mm_alignr_epi8::<15>(lower, upper);
        let upper = _mm_blendv_epi8(upper, moved_upper, _mm_loadu_si128(left.cast()));
        let lower = _mm_blendv_epi8(lower, moved_lower, _mm_loadu_si128(left.add(16).cast()));
        (are_digits(upper) && are_digits(lower)).then(|| Digits {
            upper: sixteen(upper),
            lower: sixteen(lower),
            places: places(dots),
        })
    }
}

/// A dot where digits are 0 to 9.
pub(super) const POINT: i8 = b'.'.wrapping_sub(b'0') as i8;

/// How many of 32 bytes stand behind the first dot.
#[inline(always)]
fn places(dots: u32) -> u32 {
    const { assert!(NO_DOT == 31u32.wrapping_sub(32)) };
    31u32.wrapping_sub(dots.trailing_zeros())
}

/// All bits in each of 32 bytes up to the first dot, none in the others.
#[inline(always)]
unsafe fn left_of(dots: u32) -> *const u8 {
    // SAFETY: within the table.
    unsafe { SLIDE.as_ptr().add(if dots == 0 { 32 } else { 31 - dots.trailing_zeros() as usize }) }
}
