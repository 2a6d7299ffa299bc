//! Delimiters: their places in a stretch of bytes.

use std::arch::x86_64::*;

/// Per mask of eight: the places of its bits, in their order.
pub(super) static PLACES: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut bit, mut found) = (0, 0);
        while bit < 8 {
            if mask >> bit & 1 == 1 {
                table[mask][found] = bit as u8;
                found += 1;
            }
            bit += 1;
        }
        mask += 1;
    }
    table
};

/// Bits of the bytes of a block that close a list, or with `ROWS` a line, and of those that separate.
pub(super) type Masks = (u64, u64);

#[inline(always)]
pub(super) fn sse_mask<const ROWS: bool>(block: &[u8; 64]) -> Masks {
    let (mut closing, mut commas) = (0, 0);
    for part in 0..4 {
        // SAFETY: 16 bytes of the block; SSE2 is part of x86-64.
        unsafe {
            let bytes = _mm_loadu_si128(block.as_ptr().add(part * 16).cast());
            let is = |sign: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(sign as i8));
            let close = if ROWS { is(b'\n') } else { _mm_or_si128(is(b']'), is(b'}')) };
            closing |= (_mm_movemask_epi8(close) as u64) << (part * 16);
            commas |= (_mm_movemask_epi8(is(b',')) as u64) << (part * 16);
        }
    }
    (closing, commas)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn avx2_mask<const ROWS: bool>(block: &[u8; 64]) -> Masks {
    let (mut closing, mut commas) = (0, 0);
    for part in 0..2 {
        // SAFETY: 32 bytes of the block; the processor has AVX2.
        unsafe {
            let bytes = _mm256_loadu_si256(block.as_ptr().add(part * 32).cast());
            let is = |sign: u8| _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(sign as i8));
            let close = if ROWS { is(b'\n') } else { _mm256_or_si256(is(b']'), is(b'}')) };
            closing |= u64::from(_mm256_movemask_epi8(close) as u32) << (part * 32);
            commas |= u64::from(_mm256_movemask_epi8(is(b',')) as u32) << (part * 32);
        }
    }
    (closing, commas)
}

/// See [`super::super::Kernel::index`] and those beside it: up to where a `LIST` ends, and `CLOSERS` apart.
///
/// # Safety
/// The processor has the instructions of `masks`, and of [`places_by_bytes`] if it is `WIDE`.
#[inline(always)]
pub(super) unsafe fn index<const LIST: bool, const CLOSERS: bool, const WIDE: bool>(
    bytes: &[u8],
    from: usize,
    out: &mut [u32],
    closers: &mut [u32],
    masks: impl Fn(&[u8; 64]) -> Masks,
) -> (usize, usize) {
    assert!(!CLOSERS || closers.len() >= bytes.len().saturating_sub(from) + 64);
    assert!(out.len() >= bytes.len().saturating_sub(from) + 64);
    let (mut found, mut closed) = (0, 0);
    let mut at = from;
    while at < bytes.len() {
        let (closing, commas) = match bytes[at..].first_chunk() {
            Some(block) => masks(block),
            None => {
                let mut block = [0; 64];
                block[..bytes.len() - at].copy_from_slice(&bytes[at..]);
                masks(&block)
            }
        };
        let mut bits = closing | commas;
        if LIST && closing != 0 {
            bits &= closing ^ (closing - 1); // up to the first that closes
        }
        if CLOSERS {
            let next = closed + closing.count_ones() as usize;
            let mut left = closing;
            // Two at a time without asking whether there are as many, as in `places`.
            while closed < next {
                for index in &mut closers[closed..closed + 2] {
                    let before = bits & !left & left.wrapping_sub(1);
                    *index = found as u32 + before.count_ones();
                    left &= left.wrapping_sub(1);
                }
                closed += 2;
            }
            closed = next;
        }
        let next = found + bits.count_ones() as usize;
        if WIDE {
            // SAFETY: the caller's.
            unsafe { places_by_bytes(bits, at as u32, &mut out[found..]) };
        } else {
            places(bits, at as u32, &mut out[found..]);
        }
        found = next;
        at += 64;
        if LIST && closing != 0 {
            break;
        }
    }
    (found, closed)
}

/// Writes the places of the bits, which count from `at`: eight at a time without asking whether there are as many, so that what
/// is too much is written over.
#[inline(always)]
pub(super) fn places(mut bits: u64, at: u32, out: &mut [u32]) {
    let count = bits.count_ones() as usize;
    let mut written = 0;
    while written < count {
        for place in &mut out[written..written + 8] {
            // SAFETY: a place of the slice. Each is written by itself: the compiler would collect eight of them in a vector, one
            // after the other, which is slower.
            unsafe { std::ptr::from_mut(place).write_volatile(at + bits.trailing_zeros()) };
            bits &= bits.wrapping_sub(1);
        }
        written += 8;
    }
}

/// The same by a table for each eight bits, where they are many, as among numbers of a book: whether they are more than eight
/// cannot be predicted there.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
pub(super) unsafe fn places_by_bytes(bits: u64, at: u32, out: &mut [u32]) {
    if bits.count_ones() < 8 {
        return places(bits, at, out);
    }
    let mut place = out[..64].as_mut_ptr();
    // SAFETY: the caller's; eight bytes of the table; and no more than eight are found by each byte before, so that there is room
    // for eight behind them.
    unsafe {
        let mut first = _mm256_set1_epi32(at as i32);
        for byte in bits.to_le_bytes() {
            let places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(PLACES[byte as usize].as_ptr().cast()));
            _mm256_storeu_si256(place.cast(), _mm256_add_epi32(first, places));
            first = _mm256_add_epi32(first, _mm256_set1_epi32(8));
            place = place.add(byte.count_ones() as usize);
        }
    }
}
