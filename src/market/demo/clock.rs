//! The demo's time: when it begins and ends, and what of a window has been as of now.

use std::ops::RangeInclusive;

use crate::clock::{SECOND, nanos_of};

/// First minute of the demo market: 2015-01-01.
pub(in crate::market) const BEGIN: i64 = 1_420_070_400;

/// Last minute of the demo market: 2100-01-01.
pub(in crate::market) const END: i64 = 4_102_444_800;

/// The Unix nanoseconds of `[from, to)` (Unix seconds) up to `now`.
pub(in crate::market) fn times(from: i64, to: i64, now: i64) -> RangeInclusive<i64> {
    nanos_of(from)..=nanos_of(to).saturating_sub(1).min(now)
}

/// The whole minutes with a start in `[from, to)` that have begun at `now` and are not before the market.
pub(in crate::market) fn minutes(from: i64, to: i64, now: i64) -> (i64, i64) {
    let ceil = |second: i64| second.div_euclid(60) + i64::from(second.rem_euclid(60) > 0);
    let begun = now.div_euclid(SECOND * 60) + 1;
    (ceil(from.clamp(BEGIN, END)), ceil(to.clamp(BEGIN, END)).min(begun))
}
