//! Four numbers of at most 16 bytes, without sign or exponent.

use std::arch::aarch64::*;
use std::mem::MaybeUninit;

use super::super::super::powers::EXACT;
use super::super::{fallback, scalar};
use super::decimal31::{self, nibbles};

/// Most bytes.
const LONGEST: usize = 16;
/// Numbers that are read together.
const GROUP: usize = 4;
/// Numbers of a group that are something else from which on the next ones are expected to be.
const MANY: u32 = 3;

/// What to do with the 16 bytes that end with a number of some length and a dot at some place: one line of the cache.
#[repr(C, align(64))]
struct ShuffleRow {
    /// Where each digit stands, right-aligned and without the dot; 0xFF before them.
    from: [u8; 16],
    /// 1 where the first digit comes to stand if it must not be zero. In rows that no number has, 1 where zeros are.
    first: [u8; 16],
    /// The power of ten to divide by.
    power: f64,
}

/// Per length from 0 to 17 (17 stands for more), and per number of bytes behind the dot, where 16 stands for no dot, as does
/// every number that is not less than the length.
static ROWS: [[ShuffleRow; ROW]; LONGEST + 2] = {
    let mut rows =
        [const { [const { ShuffleRow { from: [0xFF; 16], first: [1; 16], power: 1.0 } }; ROW] }; LONGEST + 2];
    let mut length = 1;
    while length <= LONGEST {
        let mut behind = 0;
        while behind <= LONGEST {
            let dotted = behind < length;
            // A digit before the dot, and one after it.
            if !dotted || (behind > 0 && behind + 1 < length) {
                rows[length][behind] = row(length, if dotted { Some(behind) } else { None });
            }
            behind += 1;
        }
        length += 1;
    }
    rows
};

/// Rows of a length.
const ROW: usize = LONGEST + 1;

const fn row(length: usize, behind: Option<usize>) -> ShuffleRow {
    let mut row = ShuffleRow { from: [0xFF; 16], first: [0; 16], power: 1.0 };
    let (figures, places) = match behind {
        None => (length, 0),
        Some(places) => (length - 1, places),
    };
    let mut byte = LONGEST - figures;
    while byte < LONGEST {
        row.from[byte] = if behind.is_some() && byte < LONGEST - places { byte as u8 - 1 } else { byte as u8 };
        byte += 1;
    }
    // Only a lonely zero may come first.
    if figures - places > 1 {
        row.first[LONGEST - figures] = 1;
    }
    row.power = EXACT[places];
    row
}

/// Four numbers.
struct Four {
    /// The digits of each, right-aligned and without a dot; zeros before them.
    digits: [uint8x16_t; GROUP],
    rows: [*const ShuffleRow; GROUP],
    /// Not 0 in the 16 bits of a number that is something else.
    wrong: u64,
}

impl Four {
    /// Reads the digits.
    ///
    /// # Safety
    /// Four of each; 16 bytes are readable before every end.
    #[inline(always)]
    unsafe fn read<const DOTS: bool>(base: *const u8, befores: *const u32, skip: u32, ends: *const u32) -> Self {
        // SAFETY: the caller's; a row is taken by a length of at most 17 and a number of bytes of at most 16. Each end is loaded
        // by itself: the compiler would take them out of the vector that the lengths come from, which is slower.
        unsafe {
            let starts = vaddq_u32(vld1q_u32(befores), vdupq_n_u32(skip));
            let lengths = vminq_u32(vsubq_u32(vld1q_u32(ends), starts), vdupq_n_u32(LONGEST as u32 + 1));
            let offsets = vreinterpretq_u64_u32(vmulq_n_u32(lengths, size_of::<[ShuffleRow; ROW]>() as u32));
            let (near, far) = (vgetq_lane_u64::<0>(offsets), vgetq_lane_u64::<1>(offsets));
            let offsets = [near as u32, (near >> 32) as u32, far as u32, (far >> 32) as u32];

            let mut digits = [vdupq_n_u8(0); GROUP];
            let mut checked = digits;
            let mut rows = [ROWS.as_ptr().cast::<ShuffleRow>(); GROUP];
            for number in 0..GROUP {
                let end = ends.add(number).read_volatile() as usize;
                let raw = vld1q_u8(base.add(end - 16));
                let behind = if DOTS {
                    // The last one; where there is another one inside the number, it is left, and is no digit.
                    nibbles(vceqq_u8(raw, vdupq_n_u8(b'.'))).leading_zeros() as usize / 4
                } else {
                    LONGEST
                };
                let row = rows[number].byte_add(offsets[number] as usize).add(behind);
                rows[number] = row;
                digits[number] = vqtbl1q_u8(vsubq_u8(raw, vdupq_n_u8(b'0')), vld1q_u8((*row).from.as_ptr()));
                // 255 where a zero must not be.
                let first = vsubq_u8(digits[number], vld1q_u8((*row).first.as_ptr()));
                checked[number] = vmaxq_u8(digits[number], first);
            }
            let highest = vpmaxq_u8(vpmaxq_u8(checked[0], checked[1]), vpmaxq_u8(checked[2], checked[3]));
            Self { digits, rows, wrong: nibbles(vcgtq_u8(highest, vdupq_n_u8(9))) }
        }
    }

    /// The values of the digits.
    #[inline(always)]
    fn wholes(&self) -> [uint64x2_t; 2] {
        let [first, second, third, fourth] = self.digits;
        // SAFETY: NEON is part of the processor.
        unsafe {
            let pairs = |one, other| vmlaq_u8(vuzp2q_u8(one, other), vuzp1q_u8(one, other), vdupq_n_u8(10));
            let (near, far) = (pairs(first, second), pairs(third, fourth));
            let (even, odd) = (vuzp1q_u8(near, far), vuzp2q_u8(near, far));
            let near = vmlal_u8(vmovl_u8(vget_low_u8(odd)), vget_low_u8(even), vdup_n_u8(100));
            let far = vmlal_high_u8(vmovl_high_u8(odd), even, vdupq_n_u8(100));
            let (even, odd) = (vuzp1q_u16(near, far), vuzp2q_u16(near, far));
            let near = vmlal_u16(vmovl_u16(vget_low_u16(odd)), vget_low_u16(even), vdup_n_u16(10_000));
            let far = vmlal_high_u16(vmovl_high_u16(odd), even, vdupq_n_u16(10_000));
            let (even, odd) = (vuzp1q_u32(near, far), vuzp2q_u32(near, far));
            [
                vmlal_u32(vmovl_u32(vget_low_u32(odd)), vget_low_u32(even), vdup_n_u32(100_000_000)),
                vmlal_high_u32(vmovl_high_u32(odd), even, vdupq_n_u32(100_000_000)),
            ]
        }
    }

    /// The numbers, of which up to 15 digits and a power of ten are exact: one division rounds.
    ///
    /// # Safety
    /// Room for four.
    #[inline(always)]
    unsafe fn doubles(&self, out: *mut f64) {
        let [near, far] = self.wholes();
        // SAFETY: the caller's; the rows are of the table.
        unsafe {
            let powers = |one: usize| {
                let power = |number: usize| vld1_f64(&raw const (*self.rows[number]).power);
                vcombine_f64(power(one), power(one + 1))
            };
            vst1q_f64(out, vdivq_f64(vcvtq_f64_u64(near), powers(0)));
            vst1q_f64(out.add(2), vdivq_f64(vcvtq_f64_u64(far), powers(2)));
        }
    }
}

/// The last tokens, which are less than a group, followed by copies of the first of them.
fn rest(from: &[u32], whole: usize) -> [u32; GROUP] {
    let mut copy = [from[whole]; GROUP];
    copy[..from.len() - whole].copy_from_slice(&from[whole..]);
    copy
}

/// Bits of the first numbers of a group.
const fn of_first(count: usize) -> u64 {
    (1 << (16 * count)) - 1
}

/// See [`super::super::Kernel::floats`].
///
/// # Safety
/// Every end is at least 37 and at most `bytes.len()`; all slices are of one length.
pub(in super::super) unsafe fn floats(
    bytes: &[u8],
    befores: &[u32],
    skip: u32,
    ends: &[u32],
    out: &mut [MaybeUninit<f64>],
) -> bool {
    let whole = ends.len() / GROUP * GROUP;
    let mut long = false;
    for first in (0..whole).step_by(GROUP) {
        let (befores, ends, out) = (&befores[first..][..GROUP], &ends[first..][..GROUP], &mut out[first..][..GROUP]);
        let mut wrong = u64::MAX;
        if !long {
            // SAFETY: four of each, and the caller answers for the ends.
            unsafe {
                let four = Four::read::<true>(bytes.as_ptr(), befores.as_ptr(), skip, ends.as_ptr());
                four.doubles(out.as_mut_ptr().cast());
                wrong = four.wrong;
            }
        }
        if wrong != 0 {
            // SAFETY: the caller's.
            if !unsafe { one_by_one(bytes, befores, skip, ends, wrong, out) } {
                return false;
            }
            let longer = |(before, end): (&u32, &u32)| end.wrapping_sub(before.wrapping_add(skip)) > LONGEST as u32;
            long = befores.iter().zip(ends).map(|pair| u32::from(longer(pair))).sum::<u32>() >= MANY;
        }
    }
    let more = ends.len() - whole;
    if more == 0 {
        return true;
    }
    let mut values = [MaybeUninit::<f64>::uninit(); GROUP];
    let (befores, ends) = (rest(befores, whole), rest(ends, whole));
    // SAFETY: four of each, which are the caller's.
    let read = unsafe {
        let four = Four::read::<true>(bytes.as_ptr(), befores.as_ptr(), skip, ends.as_ptr());
        four.doubles(values.as_mut_ptr().cast());
        one_by_one(bytes, &befores, skip, &ends, four.wrong & of_first(more), &mut values)
    };
    out[whole..].copy_from_slice(&values[..more]);
    read
}

/// Reads those of four numbers of which a bit is set; `false` when one is no number.
///
/// # Safety
/// Four of each; 37 bytes are readable before every end.
#[inline(always)]
unsafe fn one_by_one(
    bytes: &[u8],
    befores: &[u32],
    skip: u32,
    ends: &[u32],
    mut wrong: u64,
    out: &mut [MaybeUninit<f64>],
) -> bool {
    while wrong != 0 {
        let at = wrong.trailing_zeros() as usize / 16;
        let (start, end) = (befores[at].wrapping_add(skip), ends[at]);
        // SAFETY: the caller's.
        let value = unsafe { decimal31::float(bytes.as_ptr().add(end as usize), end.wrapping_sub(start)) };
        let value = match value {
            Some(value) => Some(value),
            // Not by `or_else`, which is a call for every number where it is not inlined.
            None => fallback::float(bytes, start as usize..end as usize),
        };
        let Some(value) = value else { return false };
        out[at].write(value);
        wrong &= !(0xFFFF << (16 * at));
    }
    true
}

/// See [`super::super::Kernel::times`].
///
/// # Safety
/// As for [`floats`].
pub(in super::super) unsafe fn times(
    bytes: &[u8],
    befores: &[u32],
    skip: u32,
    ends: &[u32],
    fraction: Option<(u32, &[u32])>,
    out: &mut [MaybeUninit<i64>],
) -> bool {
    let base = bytes.as_ptr();
    for first in (0..ends.len()).step_by(GROUP) {
        let count = (ends.len() - first).min(GROUP);
        // SAFETY: four of each follow, or are copied from as many as there are, and the caller answers for the ends.
        let wrong = unsafe {
            if count == GROUP {
                let part = fraction.map(|(skip, parts)| (skip, parts[first..][..GROUP].as_ptr()));
                let (befores, ends) = (befores[first..][..GROUP].as_ptr(), ends[first..][..GROUP].as_ptr());
                four_times(base, befores, skip, ends, part, out[first..][..GROUP].as_mut_ptr().cast())
            } else {
                let (befores, ends) = (rest(befores, first), rest(ends, first));
                let parts = fraction.map(|(skip, parts)| (skip, rest(parts, first)));
                let part = parts.as_ref().map(|(skip, parts)| (*skip, parts.as_ptr()));
                let mut values = [0i64; GROUP];
                let wrong = four_times(base, befores.as_ptr(), skip, ends.as_ptr(), part, values.as_mut_ptr());
                out[first..].iter_mut().zip(values).for_each(|(out, value)| _ = out.write(value));
                wrong & of_first(count)
            }
        };
        if wrong != 0 {
            let group = first..first + count;
            let part = fraction.map(|(skip, parts)| (skip, &parts[group.clone()]));
            if !scalar::times(bytes, &befores[group.clone()], skip, &ends[group.clone()], part, &mut out[group]) {
                return false;
            }
        }
    }
    true
}

/// Reads four times; returns which are spelled otherwise or out of range.
///
/// # Safety
/// As for [`Four::read`]; room for four.
#[inline(always)]
unsafe fn four_times(
    base: *const u8,
    befores: *const u32,
    skip: u32,
    ends: *const u32,
    part: Option<(u32, *const u32)>,
    out: *mut i64,
) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        let second = vdup_n_u32(fallback::NANOSECONDS as u32);
        let above = |values: [uint64x2_t; 2], limit: i64| {
            let limit = vdupq_n_u64(limit as u64);
            let narrow = vcombine_u32(vmovn_u64(vcgtq_u64(values[0], limit)), vmovn_u64(vcgtq_u64(values[1], limit)));
            vget_lane_u64::<0>(vreinterpret_u64_u16(vmovn_u32(narrow)))
        };
        let read = Four::read::<false>(base, befores, skip, ends);
        let seconds = read.wholes();
        let mut wrong = read.wrong | above(seconds, fallback::MOST_SECONDS);
        // Seconds have a few bits above 32.
        let mut times = seconds.map(|seconds| {
            let upper = vshlq_n_u64::<32>(vmull_u32(vshrn_n_u64::<32>(seconds), second));
            vmlal_u32(upper, vmovn_u64(seconds), second)
        });
        if let Some((skip, parts)) = part {
            let read = Four::read::<false>(base, ends, skip, parts);
            let parts = read.wholes();
            wrong |= read.wrong | above(parts, fallback::NANOSECONDS - 1);
            times = [vaddq_u64(times[0], parts[0]), vaddq_u64(times[1], parts[1])];
        }
        vst1q_u64(out.cast(), times[0]);
        vst1q_u64(out.cast::<u64>().add(2), times[1]);
        wrong
    }
}
