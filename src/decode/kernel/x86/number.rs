//! One number in 128-bit registers, from the bytes that end at its delimiter.

use std::arch::x86_64::*;

use super::super::super::number::round;
use super::super::powers::EXACT;

/// All bits in the first 32 bytes, none in the last 32.
const SLIDE: [u8; 64] = {
    let mut table = [0; 64];
    let mut index = 0;
    while index < 32 {
        table[index] = 0xFF;
        index += 1;
    }
    table
};

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

/// 10^(digits - 1) for a mantissa of that many digits.
const LEAST: [u64; 20] = {
    let mut table = [0; 20];
    let mut digits = 1;
    let mut power = 1u64;
    while digits < 20 {
        table[digits] = power;
        power = power.wrapping_mul(10);
        digits += 1;
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
    // SAFETY: the caller has 36 bytes before the end; the table slides by at most 16; SSSE3 is there.
    unsafe {
        let outside = _mm_loadu_si128(SLIDE.as_ptr().add(16 + length as usize).cast());
        let raw = _mm_loadu_si128(end.sub(16).cast());
        let digits = _mm_andnot_si128(outside, _mm_sub_epi8(raw, _mm_set1_epi8(b'0' as i8)));
        let point = _mm_set1_epi8(b'.'.wrapping_sub(b'0') as i8);
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
            & ((whole == 1) | (mantissa >= LEAST[(figures & 31).min(19) as usize]));
        right.then_some((mantissa, dot))
    }
}

/// A whole number of at most 16 digits that ends at the pointer.
///
/// # Safety
/// At least 36 readable bytes stand before the end, and the processor has SSE4.1.
#[inline(always)]
pub(super) unsafe fn integer(end: *const u8, length: u32) -> Option<u64> {
    // SAFETY: the caller's.
    unsafe { short(end, length) }.filter(|(_, dot)| *dot == 16).map(|(mantissa, _)| mantissa)
}

/// A number of `length` bytes that ends at the pointer; `None` for what only the slow path can read.
///
/// # Safety
/// At least 36 readable bytes stand before the end, and the processor has SSE4.1.
#[inline(always)]
pub(super) unsafe fn float(end: *const u8, length: u32) -> Option<f64> {
    // SAFETY: the caller's.
    unsafe {
        match short(end, length) {
            Some((mantissa, dot)) => Some(mantissa as i64 as f64 / POWERS[dot]),
            None => long(end, length),
        }
    }
}

/// Up to 31 bytes of sign, digits and dot, and an exponent of two figures.
#[inline(always)]
unsafe fn long(end: *const u8, length: u32) -> Option<f64> {
    // SAFETY: the caller has 36 bytes before the end, and no more than 31 and the exponent's four are looked at.
    unsafe {
        let tail = u32::from_le_bytes(end.sub(4).cast::<[u8; 4]>().read());
        let (mut end, mut length, mut power) = (end, length, 0i64);
        if length > 4 && (tail | 0x20) & 0xFF == u32::from(b'e') {
            let [_, sign, tens, ones] = tail.to_le_bytes();
            let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
            if tens > 9 || ones > 9 {
                return None;
            }
            power = i64::from(tens) * 10 + i64::from(ones);
            match sign {
                b'+' => {}
                b'-' => power = -power,
                _ => return None,
            }
            (end, length) = (end.sub(4), length - 4);
        }
        if !(1..=31).contains(&length) {
            return None;
        }
        let negative = *end.sub(length as usize) == b'-';
        length -= u32::from(negative);

        // Both halves: what stands outside is 0, and what stands left of the dot moves right by one.
        let outside = SLIDE.as_ptr().add(length as usize);
        let zero = _mm_set1_epi8(b'0' as i8);
        let half = |place: usize| {
            let raw = _mm_sub_epi8(_mm_loadu_si128(end.sub(32 - place).cast()), zero);
            _mm_andnot_si128(_mm_loadu_si128(outside.add(place).cast()), raw)
        };
        let (upper, lower) = (half(0), half(16));
        let point = _mm_set1_epi8(b'.'.wrapping_sub(b'0') as i8);
        let dots = _mm_movemask_epi8(_mm_cmpeq_epi8(upper, point)) as u32
            | (_mm_movemask_epi8(_mm_cmpeq_epi8(lower, point)) as u32) << 16;
        let dotted = u32::from(dots != 0);
        let dot = dots.trailing_zeros(); // 32 for none
        let places = dotted * 31u32.wrapping_sub(dot);
        let left = SLIDE.as_ptr().add(if dots == 0 { 32 } else { 31 - dot as usize });
        let moved_upper = _mm_slli_si128::<1>(upper);
        let moved_lower = _mm_alignr_epi8::<15>(lower, upper);
        let upper = _mm_blendv_epi8(upper, moved_upper, _mm_loadu_si128(left.cast()));
        let lower = _mm_blendv_epi8(lower, moved_lower, _mm_loadu_si128(left.add(16).cast()));
        if !are_digits(upper) || !are_digits(lower) {
            return None;
        }
        let (upper, lower) = (sixteen(upper), sixteen(lower));
        let figures = length - dotted;
        let whole = figures.wrapping_sub(places);
        if upper > 1_843 || whole.wrapping_sub(1) > 31 || (dots != 0 && places == 0) {
            return None;
        }
        let mantissa = upper * 10_000_000_000_000_000 + lower;
        if whole > 1 && (figures > 19 || mantissa < LEAST[figures as usize]) {
            return None;
        }
        let magnitude = round(mantissa, power - i64::from(places))?;
        Some(if negative { -magnitude } else { magnitude })
    }
}
