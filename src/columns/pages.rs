//! Memory for large outputs: huge pages and recycled blocks, because 16 MB of new small pages cost more than decoding into
//! them.
#![allow(unsafe_code)] // one call, which says why it holds

/// Bytes from which on huge pages are requested.
const LARGE: usize = 128 << 10;
/// Larger blocks are always mapped by themselves.
const LARGEST: usize = 32 << 20;
/// Unused bytes that are not given back: they may belong to a huge page that is in use.
const SPARE: usize = 2 << 20;

/// Reserves capacity for exactly `more` elements.
pub(crate) fn reserve<T>(values: &mut Vec<T>, more: usize) {
    if values.capacity() - values.len() < more {
        values.reserve_exact(more);
        advise(values.as_mut_ptr().cast(), values.capacity() * size_of::<T>());
    }
}

/// A zeroed buffer whose pages are not mapped yet, so that each thread maps those of its own part.
pub(crate) fn zeros<T: Copy + Default>(count: usize) -> Vec<T> {
    let mut values = vec![T::default(); count];
    advise(values.as_mut_ptr().cast(), count * size_of::<T>());
    values
}

/// A buffer of at least `count` zeros. Blocks above [`LARGEST`] are mapped alone and are zero already. In smaller blocks the
/// C library may write the zeros itself, so huge pages are requested before that first write.
pub(super) fn room<T: Copy + Default>(count: usize) -> Vec<T> {
    if count * size_of::<T>() >= LARGEST {
        return zeros(count + count / 8); // some more in reserve, untouched
    }
    let mut values = Vec::new();
    reserve(&mut values, count);
    values.resize(count, T::default());
    values
}

/// Gives back unused capacity.
pub(crate) fn fit<T>(values: &mut Vec<T>) {
    // Small rests are kept: a block freed at its old size is reused with its pages for the next body.
    if (values.capacity() - values.len()) * size_of::<T>() > SPARE.min(values.capacity() * size_of::<T>() / 8) {
        values.shrink_to_fit();
    }
}

/// As [`expect`], limited to the memory that the C library keeps.
pub(crate) fn expect_some_of(bytes: usize) {
    expect(bytes.min(LARGEST - SPARE));
}

/// Prepares the C library for several blocks of so many bytes together.
///
/// It maps every large block by itself, touches the first page of each before anybody can ask for huge pages, and gives
/// the pages back when the block is freed, until it has seen a larger block freed: then it keeps that much. So it is
/// shown one, and the memory that it keeps is asked to be in huge pages before it is cut up.
pub(crate) fn expect(bytes: usize) {
    if cfg!(all(target_os = "linux", target_env = "gnu")) && (LARGE..LARGEST).contains(&bytes) {
        for _ in 0..2 {
            let mut block = Vec::<u8>::with_capacity(bytes);
            advise(block.as_mut_ptr(), bytes);
        }
    }
}

#[cfg(target_os = "linux")]
fn advise(start: *mut u8, length: usize) {
    const PAGE: usize = 4 << 10;
    if length < LARGE {
        return;
    }
    // Whole pages, also those that the block shares with others: advice changes no byte.
    let before = start.addr() % PAGE;
    let length = (length + before).next_multiple_of(PAGE);
    // SAFETY: advice about huge pages changes neither contents nor validity of any memory, whatever the range holds. A
    // refusal only means small pages.
    unsafe { libc::madvise(start.wrapping_sub(before).cast(), length, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize) {}
