//! The demo's time range, and clipping of a window to `now`.

use std::ops::{Range, RangeInclusive};

use crate::clock::{UnixNanos, UnixSecond, Window};

/// Start of the demo market: 2015-01-01.
pub(in crate::market) const BEGIN: UnixSecond = UnixSecond(1_420_070_400);

/// End of the demo market, exclusive: 2100-01-01.
pub(in crate::market) const END: UnixSecond = UnixSecond(4_102_444_800);

/// The moments of a window up to `now`.
pub(in crate::market) fn times(window: Window, now: UnixNanos) -> RangeInclusive<UnixNanos> {
    let times = window.nanos();
    times.start..=times.end.plus(-1).min(now)
}

/// The window from the start of the minute in which it begins.
pub(in crate::market) fn from_whole_minute(window: Window) -> Window {
    Window { from: window.from.saturating_sub(window.from.rem_euclid(60)), ..window }
}

/// The whole minutes with a start in a window that have begun at `now` and are not before the market.
pub(in crate::market) fn minutes(window: Window, now: UnixNanos) -> Range<i64> {
    let first = |edge: UnixSecond| edge.clamp(BEGIN, END).plus(59).minute().0;
    let begun = now.minute().0 + 1;
    first(window.start())..first(window.end()).min(begun)
}
