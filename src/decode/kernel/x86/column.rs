//! A column of numbers of any spelling, with 256-bit registers: each in the way that is the fastest for such as it.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::decimal16x4::{Digits16x4, doubles, four, lengths, misfits};
use super::{decimal31x2, int4};

/// Groups of four whose digits are read before their values are made.
const ROUND: usize = 16;
/// Longer numbers among four from which on a block is separated: one of them is read by itself in less time.
const MANY: u32 = 2;

/// See [`super::super::Kernel::floats`].
///
/// # Safety
/// Every end is at least 37 and at most `bytes.len()`; all slices are of one length; the processor has AVX2.
#[inline]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn floats(
    bytes: &[u8],
    befores: &[u32],
    skip: u32,
    ends: &[u32],
    out: &mut [MaybeUninit<f64>],
) -> bool {
    let whole = ends.len() / 4 * 4;
    let mut done = 0;
    // SAFETY: eight of each, then four, and the caller answers for the ends.
    unsafe {
        // As the first ones show: block numbers of profiles stand in one list after the other.
        let tiny = whole >= 8 && int4::are_short(befores.as_ptr(), skip, ends.as_ptr());
        while done < whole {
            if tiny && done + 8 <= whole {
                let eight = int4::eight(bytes.as_ptr(), befores.as_ptr().add(done), skip, ends.as_ptr().add(done));
                if let Some((low, high)) = eight {
                    let place = out.as_mut_ptr().add(done).cast();
                    _mm256_storeu_pd(place, low);
                    _mm256_storeu_pd(place.add(4), high);
                    done += 8;
                    continue;
                }
            }
            // First the digits of some groups and then their values, so that more of them are under way at once.
            let mut groups = [const { MaybeUninit::<Digits16x4>::uninit() }; ROUND];
            let mut read = 0;
            while read < (if tiny { 1 } else { ROUND }) && done + 4 * read < whole {
                let first = done + 4 * read;
                let lengths = lengths(befores.as_ptr().add(first), skip, ends.as_ptr().add(first));
                let misfits = misfits(lengths);
                if misfits.count_ones() >= MANY && first + 8 <= whole {
                    break;
                }
                let mut four = four(bytes.as_ptr(), ends.as_ptr().add(first), lengths);
                four.wrong |= misfits;
                groups[read].write(four);
                read += 1;
            }
            for four in &groups[..read] {
                let (values, mut wrong) = doubles(four.assume_init_ref());
                _mm256_storeu_pd(out.as_mut_ptr().add(done).cast(), values);
                while wrong != 0 {
                    let at = done + wrong.trailing_zeros() as usize;
                    let Some(value) = super::float(bytes, befores[at].wrapping_add(skip), ends[at]) else {
                        return false;
                    };
                    out[at].write(value);
                    wrong &= wrong - 1;
                }
                done += 4;
            }
            if read == 0 {
                let block = ((whole - done) / 8 * 8).min(decimal31x2::BLOCK);
                let span = done..done + block;
                if !decimal31x2::floats(bytes, &befores[span.clone()], skip, &ends[span.clone()], &mut out[span]) {
                    return false;
                }
                done += block;
            }
        }
        super::floats(bytes, &befores[whole..], skip, &ends[whole..], &mut out[whole..])
    }
}
