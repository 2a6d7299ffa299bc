//! Time: clocks, units, windows.

mod clocks;
mod units;
mod window;

pub use clocks::{Clock, ManualClock, RunningClock, SharedClock, WallClock};
pub use units::{
    MICROS_PER_SECOND, MINUTES_PER_DAY, SECOND, SECONDS_PER_DAY, SECONDS_PER_MINUTE, UnixDay, UnixMicros, UnixMinute,
    UnixNanos, UnixSecond, utc,
};
pub use window::Window;
