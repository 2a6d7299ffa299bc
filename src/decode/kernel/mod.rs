//! The kernels: vector instructions with `unsafe`, behind a door that is safe for any argument.
//!
//! A kernel finds delimiters, compares literals, turns the bytes between them into doubles and times, and tells whether
//! levels ascend, many at a time. All kernels give the same bits; which one runs is decided at run time.
//!
//! Numbers come as *tokens*: one starts `skip` bytes after a place in `befores` and ends before the place in `ends`.
//! Both are offsets in `bytes`, which is shorter than 4 GiB.
// Vector instructions and their loads; every block says why it holds.
#![allow(unsafe_code)]
// The intrinsics' names are a language of their own; a part of a kernel that is not inlined loses its vectors; and `&`
// between comparisons keeps branches out of loops.
#![allow(clippy::wildcard_imports, clippy::inline_always, clippy::needless_bitwise_bool, clippy::naive_bytecount)]

#[cfg(test)]
mod agreement;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod decimal;
mod fallback;
mod literal;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod rounding;
mod scalar;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::mem::MaybeUninit;
use std::sync::OnceLock;

use crate::columns;

pub(super) use literal::Literal;

/// Names a kernel by force, for tests and for comparing (`scalar`, `sse4`, `avx2`, `avx512`, `neon`).
pub const KERNEL_VARIABLE: &str = "MARKETPOINTS_KERNEL";

/// A way to decode that the processor may have. All give the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Portable code, on every processor.
    Scalar,
    /// 128-bit vectors with SSE4.2 (x86-64-v2).
    Sse4,
    /// 256-bit vectors with AVX2 and BMI2 (x86-64-v3).
    Avx2,
    /// 512-bit vectors with VBMI2 and BITALG (Ice Lake, Zen 4 and later).
    Avx512,
    /// 128-bit vectors of every 64-bit ARM processor.
    Neon,
}

/// Bytes that the vector kernels read before the end of a number (an exponent, 32 before it and one for a dot): numbers nearer to
/// the start go through portable code.
const REACH: u32 = 37;
/// Numbers of a list that are taken at once.
const ONCE: usize = 32;
/// Most bytes of one piece: offsets are 32 bits, and some code adds small numbers to them.
pub(super) const LARGEST_PIECE: usize = 1 << 30;

/// The delimiters of one list of numbers: those of the lists of many rows are brought together.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListSpan {
    /// The index of its first one.
    pub(super) first: u32,
    /// Where the byte before its first number stands.
    pub(super) before: u32,
    /// Numbers of all lists up to the end of this one.
    pub(super) until: u32,
}

impl Kernel {
    /// Places more than there are numbers that [`Self::lists`] needs to write at once.
    pub(super) const LIST_ROOM: usize = ONCE + 1;

    /// All kernels; of those that a processor has, the fastest last.
    pub const ALL: [Self; 5] = [Self::Scalar, Self::Sse4, Self::Avx2, Self::Avx512, Self::Neon];

    /// Name, as [`KERNEL_VARIABLE`] takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Sse4 => "sse4",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }

    /// Whether this processor has the instructions.
    pub fn supported(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Sse4 => x86::sse4::supported(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => x86::avx2::supported(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => avx512::supported(),
            Self::Neon => cfg!(target_arch = "aarch64"),
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// The kernel in use: the fastest that the processor has, or the one that [`KERNEL_VARIABLE`] names.
    ///
    /// The choice is made once for the process.
    ///
    /// # Errors
    /// The variable names no kernel, or one whose instructions the processor lacks; the message lists those it has.
    pub fn active() -> Result<Self, &'static str> {
        static ACTIVE: OnceLock<Result<Kernel, String>> = OnceLock::new();
        let chosen = ACTIVE.get_or_init(|| match std::env::var_os(KERNEL_VARIABLE).filter(|name| !name.is_empty()) {
            None => Ok(Self::best()),
            Some(name) => Self::named(&name.to_string_lossy()),
        });
        chosen.as_ref().copied().map_err(String::as_str)
    }

    fn best() -> Self {
        Self::ALL.into_iter().rfind(|kernel| kernel.supported()).unwrap_or(Self::Scalar)
    }

    fn named(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|kernel| kernel.name() == name);
        match known {
            Some(kernel) if kernel.supported() => Ok(kernel),
            _ => {
                let there: Vec<&str> = Self::ALL.iter().filter(|one| one.supported()).map(|one| one.name()).collect();
                let why = if known.is_some() { "needs instructions that this processor lacks" } else { "is no kernel" };
                Err(format!("{KERNEL_VARIABLE}={name} {why}; unset it or choose one of: {}", there.join(", ")))
            }
        }
    }

    /// Writes the offsets of `,`, `]` and `}` from `from` on to the start of `out` and returns their number.
    ///
    /// `out` must hold 64 places more than there are bytes after `from`.
    pub(super) fn index(self, bytes: &[u8], from: usize, out: &mut [u32]) -> usize {
        assert!(bytes.len() <= LARGEST_PIECE, "offsets are 32 bits");
        match self {
            // SAFETY: `supported` was asked before the kernel was chosen.
            #[cfg(target_arch = "x86_64")]
            Self::Sse4 => unsafe { x86::sse4::index(bytes, from, out) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::avx2::index(bytes, from, out) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { avx512::index(bytes, from, out) },
            #[cfg(target_arch = "aarch64")]
            Self::Neon => neon::index(bytes, from, out),
            _ => scalar::index(bytes, from, out),
        }
    }

    /// The same, and which of them are `]` or `}`: their indices in `out` go to the start of `closers`. Returns both numbers.
    ///
    /// `closers` must be as long as `out` must.
    pub(super) fn index_closers(
        self,
        bytes: &[u8],
        from: usize,
        out: &mut [u32],
        closers: &mut [u32],
    ) -> (usize, usize) {
        assert!(bytes.len() <= LARGEST_PIECE, "offsets are 32 bits");
        match self {
            // SAFETY: `supported` was asked before the kernel was chosen.
            #[cfg(target_arch = "x86_64")]
            Self::Sse4 => unsafe { x86::sse4::index_closers(bytes, from, out, closers) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::avx2::index_closers(bytes, from, out, closers) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { avx512::index_closers(bytes, from, out, closers) },
            #[cfg(target_arch = "aarch64")]
            Self::Neon => neon::index_closers(bytes, from, out, closers),
            _ => scalar::index_closers(bytes, from, out, closers),
        }
    }

    /// The same up to and with the first `]` or `}`, which ends a list of numbers.
    fn index_list(self, bytes: &[u8], from: usize, out: &mut [u32]) -> usize {
        assert!(bytes.len() <= LARGEST_PIECE, "offsets are 32 bits");
        match self {
            // SAFETY: `supported` was asked before the kernel was chosen.
            #[cfg(target_arch = "x86_64")]
            Self::Sse4 => unsafe { x86::sse4::index_list(bytes, from, out) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::avx2::index_list(bytes, from, out) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { avx512::index_list(bytes, from, out) },
            #[cfg(target_arch = "aarch64")]
            Self::Neon => neon::index_list(bytes, from, out),
            _ => scalar::index_list(bytes, from, out),
        }
    }

    /// The offsets of `,` and of line ends, and which of them are line ends, as [`Self::index_closers`] does for JSON.
    pub(super) fn index_rows(self, bytes: &[u8], out: &mut [u32], line_ends: &mut [u32]) -> (usize, usize) {
        assert!(bytes.len() <= LARGEST_PIECE, "offsets are 32 bits");
        match self {
            // SAFETY: `supported` was asked before the kernel was chosen.
            #[cfg(target_arch = "x86_64")]
            Self::Sse4 => unsafe { x86::sse4::index_rows(bytes, out, line_ends) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::avx2::index_rows(bytes, out, line_ends) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { avx512::index_rows(bytes, out, line_ends) },
            #[cfg(target_arch = "aarch64")]
            Self::Neon => neon::index_rows(bytes, out, line_ends),
            _ => scalar::index_rows(bytes, out, line_ends),
        }
    }

    /// Where the next `]` stands, and how many commas stand before it.
    pub(super) fn list_end(self, bytes: &[u8], from: usize) -> Option<(usize, usize)> {
        match self {
            // SAFETY: `supported` was asked before the kernel was chosen.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { avx512::list_end(bytes, from) },
            _ => scalar::list_end(bytes, from),
        }
    }

    /// Writes where the byte before each number of the lists stands, and where each ends, to the start of `befores` and
    /// `ends`. Returns the number of lists before one whose delimiters are not there, or for which there is no room.
    pub(super) fn lists(self, places: &[u32], spans: &[ListSpan], befores: &mut [u32], ends: &mut [u32]) -> usize {
        match self {
            // SAFETY: `supported` was asked before the kernel was chosen.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { avx512::lists(places, spans, befores, ends) },
            _ => scalar::lists(places, spans, befores, ends),
        }
    }

    /// Whether pairs of doubles ascend by the first of each.
    pub(super) fn ascend(self, pairs: &[f64]) -> bool {
        match self {
            // SAFETY: `supported` was asked before the kernel was chosen.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { avx512::ascend(pairs) },
            _ => columns::ascend(pairs),
        }
    }

    /// How many of the first places have the literal `skip` bytes after them.
    pub(super) fn same(self, bytes: &[u8], befores: &[u32], skip: u32, literal: &Literal) -> usize {
        match self {
            // SAFETY: `supported` was asked before the kernel was chosen.
            #[cfg(target_arch = "x86_64")]
            Self::Sse4 => unsafe { x86::sse4::same(bytes, befores, skip, literal) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::avx2::same(bytes, befores, skip, literal) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { avx512::same(bytes, befores, skip, literal) },
            #[cfg(target_arch = "aarch64")]
            Self::Neon => neon::same(bytes, befores, skip, literal),
            _ => scalar::same(bytes, befores, skip, literal),
        }
    }

    /// Whether the vector kernels may load what stands before every end.
    fn within_reach(self, bytes: &[u8], ends: &[u32]) -> bool {
        match self {
            // SAFETY: `supported` was asked before the kernel was chosen.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { avx512::within_reach(bytes, ends) },
            _ => are_within(ends, bytes.len() as u32),
        }
    }

    /// Adds tokens as doubles to the end of `out`; `false` when one is no number, and then nothing is added.
    pub(super) fn floats(self, bytes: &[u8], befores: &[u32], skip: u32, ends: &[u32], out: &mut Vec<f64>) -> bool {
        assert!(befores.len() == ends.len(), "a start and an end for each number");
        let kernel = if self.within_reach(bytes, ends) { self } else { Self::Scalar };
        // SAFETY: the ends were just looked at, and where they are out of reach it is the portable kernel.
        unsafe { kernel.floats_within_reach(bytes, befores, skip, ends, out) }
    }

    /// Adds the numbers of a list from the start of an element on, up to and with the first `]` or to the end of `bytes`, to
    /// the end of `out`. Returns the offset of the last delimiter; `None` when there is none, or when what stands before one
    /// is no number, and then nothing is added.
    ///
    /// `places` must hold 65 places more than there are bytes after `from`.
    pub(super) fn list(self, bytes: &[u8], from: usize, places: &mut [u32], out: &mut Vec<f64>) -> Option<usize> {
        // Before the first number: the bracket, or the comma of the numbers before.
        places[0] = from.wrapping_sub(1) as u32;
        let tokens = self.index_list(bytes, from, &mut places[1..]);
        let (befores, ends) = (&places[..tokens], &places[1..=tokens]);
        let last = *ends.last()? as usize;
        // They ascend: where the first one is within reach, all are.
        let kernel = if self.within_reach(bytes, &ends[..1]) { self } else { Self::Scalar };
        // SAFETY: `index_list` wrote them, in the order of the bytes and inside these; or it is the portable kernel.
        let read = bytes[last] != b'}' && unsafe { kernel.floats_within_reach(bytes, befores, 1, ends, out) };
        read.then_some(last)
    }

    /// See [`Self::floats`].
    ///
    /// # Safety
    /// All ends are [`Self::within_reach`], or the kernel is [`Self::Scalar`], which needs no reach.
    unsafe fn floats_within_reach(
        self,
        bytes: &[u8],
        befores: &[u32],
        skip: u32,
        ends: &[u32],
        out: &mut Vec<f64>,
    ) -> bool {
        append(out, ends.len(), |out| match self {
            // SAFETY: `supported` was asked before the kernel was chosen; the ends are within reach.
            #[cfg(target_arch = "x86_64")]
            Self::Sse4 => unsafe { x86::sse4::floats(bytes, befores, skip, ends, out) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::avx2::floats(bytes, befores, skip, ends, out) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { avx512::floats(bytes, befores, skip, ends, out) },
            // SAFETY: the ends are within reach.
            #[cfg(target_arch = "aarch64")]
            Self::Neon => unsafe { neon::floats(bytes, befores, skip, ends, out) },
            _ => scalar::floats(bytes, befores, skip, ends, out),
        })
    }

    /// Adds tokens of seconds, and of nanoseconds where there are some, as Unix nanoseconds to the end of `out`.
    ///
    /// A fraction's token starts its own `skip` bytes after the end of the seconds. `false` as for [`Self::floats`].
    pub(super) fn times(
        self,
        bytes: &[u8],
        befores: &[u32],
        skip: u32,
        ends: &[u32],
        fraction: Option<(u32, &[u32])>,
        out: &mut Vec<i64>,
    ) -> bool {
        assert!(befores.len() == ends.len(), "a start and an end for each number");
        let parts = fraction.map_or(ends, |(_, parts)| parts);
        assert!(parts.len() == ends.len(), "one fraction for each number");
        append(out, ends.len(), |out| {
            if self == Self::Scalar || !self.within_reach(bytes, ends) || !self.within_reach(bytes, parts) {
                return scalar::times(bytes, befores, skip, ends, fraction, out);
            }
            match self {
                // SAFETY: `supported` was asked before the kernel was chosen; all ends are within reach.
                #[cfg(target_arch = "x86_64")]
                Self::Sse4 => unsafe { x86::sse4::times(bytes, befores, skip, ends, fraction, out) },
                #[cfg(target_arch = "x86_64")]
                Self::Avx2 => unsafe { x86::avx2::times(bytes, befores, skip, ends, fraction, out) },
                #[cfg(target_arch = "x86_64")]
                Self::Avx512 => unsafe { avx512::times(bytes, befores, skip, ends, fraction, out) },
                // SAFETY: all ends are within reach.
                #[cfg(target_arch = "aarch64")]
                Self::Neon => unsafe { neon::times(bytes, befores, skip, ends, fraction, out) },
                _ => scalar::times(bytes, befores, skip, ends, fraction, out),
            }
        })
    }
}

/// Adds `count` elements that `write` writes, if it says that it wrote them all. They are not cleared before: clearing a
/// large output would take as long as a third of the decoding.
fn append<T: Copy>(values: &mut Vec<T>, count: usize, write: impl FnOnce(&mut [MaybeUninit<T>]) -> bool) -> bool {
    values.reserve(count);
    let written = write(&mut values.spare_capacity_mut()[..count]);
    if written {
        // SAFETY: there is room for so many, and `write` wrote every one of them.
        unsafe { values.set_len(values.len() + count) };
    }
    written
}

/// Whether the vector kernels may load what stands before every end, which lies at most at `last`.
#[inline(always)]
fn are_within(ends: &[u32], last: u32) -> bool {
    // Without a branch for each: the compiler makes vectors of it.
    let (low, high) = ends.iter().fold((u32::MAX, 0), |(low, high), end| (low.min(*end), high.max(*end)));
    low >= REACH && high <= last
}
