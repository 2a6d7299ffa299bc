//! Time: clocks, units, windows, and how people write them.

mod clocks;
mod units;
mod window;
mod written;

pub use clocks::{Clock, ManualClock, RunningClock, SharedClock, WallClock};
pub use units::{
    MICROS_PER_SECOND, MINUTES_PER_DAY, SECOND, SECONDS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE, UnixDay,
    UnixMicros, UnixMinute, UnixNanos, UnixSecond, utc,
};
pub use window::Window;
pub use written::{GivenLength, NoLength, NoTime, iso, time_of_calendar, time_of_number, time_of_text};
