//! What a kernel cannot read, one value at a time: any spelling that JSON allows.

use std::ops::Range;

use super::super::number;
use crate::clock::{SECOND, UnixNanos, UnixSecond};

/// Nanoseconds of a second.
pub(super) const NANOSECONDS: i64 = SECOND;
/// Most whole seconds whose nanoseconds, with any fraction, fit 64 bits.
pub(super) const MOST_SECONDS: i64 = i64::MAX / SECOND - 1;

/// A token as a double.
#[cold]
pub(super) fn float(bytes: &[u8], token: Range<usize>) -> Option<f64> {
    number::token(bytes.get(token)?)
}

/// Tokens of seconds and nanoseconds as a moment.
#[cold]
pub(super) fn time(bytes: &[u8], seconds: Range<usize>, nanoseconds: Option<Range<usize>>) -> Option<UnixNanos> {
    let seconds = number::integer(float(bytes, seconds)?)?;
    let nanoseconds = match nanoseconds {
        None => 0,
        Some(token) => number::integer(float(bytes, token)?)?,
    };
    number::moment(UnixSecond(seconds), nanoseconds).ok()
}
