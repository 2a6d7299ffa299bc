//! One number of up to 31 bytes and an exponent.

use std::arch::aarch64::*;

use super::super::decimal::{self, Digits, NO_DOT, SLIDE};

/// A dot where digits are 0 to 9.
const POINT: u8 = b'.'.wrapping_sub(b'0');

/// Per number of bytes behind the dot: bytes left of it move right by one. 32 stands for no dot.
static CLOSE_UP: [[u8; 32]; 33] = {
    let mut table = [[0xFF; 32]; 33];
    let mut behind = 0;
    while behind < 33 {
        let mut byte = 0;
        while byte < 32 {
            table[behind][byte] =
                if behind == 32 || byte + behind > 31 { byte as u8 } else { (byte as u8).wrapping_sub(1) };
            byte += 1;
        }
        behind += 1;
    }
    table
};

/// Four bits for each byte, all or none of them.
#[inline(always)]
pub(super) fn nibbles(mask: uint8x16_t) -> u64 {
    // SAFETY: NEON is part of the processor.
    unsafe { vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(vreinterpretq_u16_u8(mask)))) }
}

/// A number of `length` bytes that ends at the pointer; `None` for what only the slow path can read.
///
/// # Safety
/// At least 37 readable bytes stand before the end.
#[inline(always)]
pub(super) unsafe fn float(end: *const u8, length: u32) -> Option<f64> {
    // SAFETY: the caller's; and 32 bytes before the end are looked at.
    unsafe { decimal::double::<true>(end, length, |end, length| digits(end, length)) }
}

/// What the last 32 bytes before an end hold, of which `length` belong to the number.
///
/// # Safety
/// 32 bytes are readable before the end; `length` is at most 31.
#[inline(always)]
unsafe fn digits(end: *const u8, length: u32) -> Option<Digits> {
    // SAFETY: the caller's; the tables have a place for every number of bytes up to 32.
    unsafe {
        let zero = vdupq_n_u8(b'0');
        let (upper, lower) = (vsubq_u8(vld1q_u8(end.sub(32)), zero), vsubq_u8(vld1q_u8(end.sub(16)), zero));
        let dots = |bytes| nibbles(vceqq_u8(bytes, vdupq_n_u8(POINT)));
        // The last one; where there is another one inside the number, it is left, and is no digit.
        let behind = match dots(lower) {
            0 => 16 + dots(upper).leading_zeros() / 4,
            dots => dots.leading_zeros() / 4,
        };
        let (row, places) = if behind < length { (behind, behind) } else { (32, NO_DOT) };
        let both = uint8x16x2_t(upper, lower);
        let close = CLOSE_UP.as_ptr().add(row as usize).cast::<u8>();
        let outside = SLIDE.as_ptr().add((length - u32::from(behind < length)) as usize);
        let half = |place| vbicq_u8(vqtbl2q_u8(both, vld1q_u8(close.add(place))), vld1q_u8(outside.add(place)));
        let (upper, lower) = (half(0), half(16));
        if vmaxvq_u8(vmaxq_u8(upper, lower)) > 9 {
            return None;
        }
        let pairs = vmlaq_u8(vuzp2q_u8(upper, lower), vuzp1q_u8(upper, lower), vdupq_n_u8(10));
        let (even, odd) = (vget_low_u8(vuzp1q_u8(pairs, pairs)), vget_low_u8(vuzp2q_u8(pairs, pairs)));
        let fours = vmlal_u8(vmovl_u8(odd), even, vdup_n_u8(100));
        let (even, odd) = (vget_low_u16(vuzp1q_u16(fours, fours)), vget_low_u16(vuzp2q_u16(fours, fours)));
        let eights = vmlal_u16(vmovl_u16(odd), even, vdup_n_u16(10_000));
        let (even, odd) = (vget_low_u32(vuzp1q_u32(eights, eights)), vget_low_u32(vuzp2q_u32(eights, eights)));
        let halves = vmlal_u32(vmovl_u32(odd), even, vdup_n_u32(100_000_000));
        Some(Digits { upper: vgetq_lane_u64::<0>(halves), lower: vgetq_lane_u64::<1>(halves), places })
    }
}
