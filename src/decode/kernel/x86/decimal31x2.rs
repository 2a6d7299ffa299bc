//! Columns of short and long numbers in 256-bit registers: separated, the short ones four at a time and the long ones two.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::super::decimal::{Decimal31, NO_DOT, SLIDE, Scale};
use super::decimal16x4::{doubles, fits, four, wholes};
use super::find::PLACES;

/// Most numbers that are separated at once.
pub(super) const BLOCK: usize = 128;
/// They and as many as are written together.
const ROOM: usize = BLOCK + 8;

/// Some of the tokens of a block, side by side.
struct TokenBlock {
    ends: [MaybeUninit<u32>; ROOM],
    lengths: [MaybeUninit<u32>; ROOM],
    /// Their places in the block.
    places: [MaybeUninit<u32>; ROOM],
    count: usize,
}

impl TokenBlock {
    #[inline(always)]
    fn none() -> Self {
        Self {
            ends: [const { MaybeUninit::uninit() }; ROOM],
            lengths: [const { MaybeUninit::uninit() }; ROOM],
            places: [const { MaybeUninit::uninit() }; ROOM],
            count: 0,
        }
    }

    /// Adds those of eight tokens whose bits are set; the first of the eight has this place in the block.
    ///
    /// # Safety
    /// At most [`BLOCK`] are added in all; the processor has AVX2.
    #[inline(always)]
    unsafe fn add(&mut self, chosen: u8, ends: __m256i, lengths: __m256i, first: usize) {
        // SAFETY: eight are written whatever is chosen, and there is room for eight more than are added.
        unsafe {
            let order = _mm256_cvtepu8_epi32(_mm_loadl_epi64(PLACES[chosen as usize].as_ptr().cast()));
            let ends = _mm256_permutevar8x32_epi32(ends, order);
            let lengths = _mm256_permutevar8x32_epi32(lengths, order);
            let places = _mm256_add_epi32(order, _mm256_set1_epi32(first as i32));
            _mm256_storeu_si256(self.ends.as_mut_ptr().add(self.count).cast(), ends);
            _mm256_storeu_si256(self.lengths.as_mut_ptr().add(self.count).cast(), lengths);
            _mm256_storeu_si256(self.places.as_mut_ptr().add(self.count).cast(), places);
            self.count += chosen.count_ones() as usize;
        }
    }

    /// Repeats the last one behind it: who reads four at a time reads that again.
    #[inline(always)]
    fn repeat_last(&mut self) {
        if let Some(last) = self.count.checked_sub(1) {
            for column in [&mut self.ends, &mut self.lengths, &mut self.places] {
                let value = column[last];
                column[last + 1..last + 4].fill(value);
            }
        }
    }

    /// End, length and place of one.
    ///
    /// # Safety
    /// It was added, or is a repetition.
    #[inline(always)]
    unsafe fn get(&self, at: usize) -> (u32, u32, usize) {
        // SAFETY: the caller's.
        unsafe {
            let (end, length) = (self.ends.get_unchecked(at), self.lengths.get_unchecked(at));
            (end.assume_init(), length.assume_init(), self.places.get_unchecked(at).assume_init() as usize)
        }
    }
}

/// Numbers of any spelling; `false` if one is no number.
///
/// # Safety
/// As for [`super::column::floats`]; their number is a multiple of eight and at most [`BLOCK`].
#[inline]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn floats(
    bytes: &[u8],
    befores: &[u32],
    skip: u32,
    ends: &[u32],
    out: &mut [MaybeUninit<f64>],
) -> bool {
    let (mut short, mut long) = (TokenBlock::none(), TokenBlock::none());
    // SAFETY: eight of each, no more than a block of them are added, and their places are below `out.len()`; and the caller's.
    unsafe {
        for first in (0..ends.len()).step_by(8) {
            let starts = _mm256_loadu_si256(befores.as_ptr().add(first).cast());
            let starts = _mm256_add_epi32(starts, _mm256_set1_epi32(skip as i32));
            let ends = _mm256_loadu_si256(ends.as_ptr().add(first).cast());
            let lengths = _mm256_sub_epi32(ends, starts);
            let fit = fits(lengths);
            short.add(fit, ends, lengths, first);
            long.add(!fit, ends, lengths, first);
        }
        short.repeat_last();
        long.repeat_last();
        fours(bytes, &short, out) && twos(bytes, &long, out)
    }
}

/// Numbers of at most sixteen bytes.
///
/// # Safety
/// Their ends are as for [`floats`], their places in `out`; the last one was repeated.
#[inline]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn fours(bytes: &[u8], tokens: &TokenBlock, out: &mut [MaybeUninit<f64>]) -> bool {
    let out: *mut f64 = out.as_mut_ptr().cast();
    for first in (0..tokens.count).step_by(4) {
        // SAFETY: four of them or repetitions; and the caller's.
        unsafe {
            let lengths = _mm_loadu_si128(tokens.lengths.as_ptr().add(first).cast());
            let (values, mut wrong) = doubles(&four(bytes.as_ptr(), tokens.ends.as_ptr().add(first).cast(), lengths));
            let (low, high) = (_mm256_castpd256_pd128(values), _mm256_extractf128_pd::<1>(values));
            let place = |lane| out.add(tokens.get(first + lane).2);
            _mm_storel_pd(place(0), low);
            _mm_storeh_pd(place(1), low);
            _mm_storel_pd(place(2), high);
            _mm_storeh_pd(place(3), high);
            while wrong != 0 {
                let lane = wrong.trailing_zeros() as usize;
                let (end, length, _) = tokens.get(first + lane);
                let Some(value) = super::float(bytes, end.wrapping_sub(length), end) else { return false };
                place(lane).write(value);
                wrong &= wrong - 1;
            }
        }
    }
    true
}

/// Numbers of other lengths. In two rounds, so that more of them are under way at once. Where a byte of one is no digit, both of the
/// pair are read by themselves.
///
/// # Safety
/// As for [`fours`].
#[inline]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn twos(bytes: &[u8], tokens: &TokenBlock, out: &mut [MaybeUninit<f64>]) -> bool {
    let mut rounds = [const { MaybeUninit::<([u64; 4], [Scale; 2])>::uninit() }; ROOM / 2];
    let rounds = &mut rounds[..tokens.count.div_ceil(2)];
    // SAFETY: two of them or a repetition; what is read of `rounds` was written before; and the caller's.
    unsafe {
        for (pair, round) in rounds.iter_mut().enumerate() {
            let (one, first) = digits(bytes, tokens, 2 * pair);
            let (two, second) = digits(bytes, tokens, 2 * pair + 1);
            let nine = _mm256_set1_epi8(9);
            let wrong = _mm256_or_si256(_mm256_subs_epu8(one, nine), _mm256_subs_epu8(two, nine));
            let scales = if _mm256_testz_si256(wrong, wrong) == 1 { [first, second] } else { [Scale::NONE; 2] };
            let mut values = [0; 4];
            _mm256_storeu_si256(values.as_mut_ptr().cast(), wholes(one, two));
            round.write((values, scales));
        }
        for (pair, round) in rounds.iter().enumerate() {
            let ([upper, upper_2, lower, lower_2], [scale, scale_2]) = *round.assume_init_ref();
            for (lane, value) in
                [scale.double::<true>(upper, lower), scale_2.double::<true>(upper_2, lower_2)].into_iter().enumerate()
            {
                let (end, length, place) = tokens.get(2 * pair + lane);
                let value = match value {
                    Some(value) => Some(value),
                    None => super::float(bytes, end.wrapping_sub(length), end),
                };
                let Some(value) = value else { return false };
                out.get_unchecked_mut(place).write(value);
            }
        }
    }
    true
}

/// The digits of a number, one in each byte and without a dot, and what they stand for. A byte above nine, or [`Scale::NONE`], is
/// another spelling.
///
/// # Safety
/// As for [`fours`]; the processor has AVX2.
#[inline(always)]
unsafe fn digits(bytes: &[u8], tokens: &TokenBlock, at: usize) -> (__m256i, Scale) {
    // SAFETY: the caller has 37 bytes before the end: an exponent's four, and 33 before them; the tables slide by at most 32.
    unsafe {
        let (end, length, _) = tokens.get(at);
        let Some(number) = Decimal31::of(bytes.as_ptr().add(end as usize), length) else {
            return (_mm256_setzero_si256(), Scale::NONE);
        };
        let (end, length) = (number.end, number.length);
        let raw = _mm256_loadu_si256(end.sub(32).cast());
        let dots = _mm256_movemask_epi8(_mm256_cmpeq_epi8(raw, _mm256_set1_epi8(b'.' as i8))) as u32;
        // The last one: where there is another one inside the number, it is left, and is no digit.
        let behind = dots.leading_zeros();
        let (row, places) = if behind < length { (behind, behind) } else { (32, NO_DOT) };
        // What stands left of the dot comes from one byte further left.
        let left = _mm256_loadu_si256(SLIDE.as_ptr().add(row as usize).cast());
        let closed_up = _mm256_blendv_epi8(raw, _mm256_loadu_si256(end.sub(33).cast()), left);
        let outside = SLIDE.as_ptr().add((length - u32::from(behind < length)) as usize);
        let digits = _mm256_sub_epi8(closed_up, _mm256_set1_epi8(b'0' as i8));
        let digits = _mm256_andnot_si256(_mm256_loadu_si256(outside.cast()), digits);
        (digits, number.scale(places).unwrap_or(Scale::NONE))
    }
}
