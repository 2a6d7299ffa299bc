//! Times and lengths of time as people write them, in texts and numbers.

mod lengths;
mod parts;
mod times;

pub use lengths::{GivenLength, NoLength};
pub use times::{NoTime, iso, time_of_calendar, time_of_number, time_of_text};
