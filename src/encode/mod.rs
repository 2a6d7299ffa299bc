//! Columns and records → bytes, in the service's exact spelling (service.md 2, supplement 2): one line, zeros left out,
//! large and small doubles with an exponent. What [`crate::decode`] reads back is bit-equal. No HTTP, no Python.

mod body;
mod number;
mod piece;
mod points;
mod record;
#[cfg(test)]
mod tests;

pub use number::{double, integer};
pub use points::{points, points_in_parts};
pub use record::record;
