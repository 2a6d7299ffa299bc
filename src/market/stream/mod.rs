//! Events of the live stream (service.md 6, supplement 7).
//!
//! A subscription gets the events of half-open windows, `[from, until)`, one after the other, so they do not depend on how
//! time is cut. Channels with a frequency send at its multiples since the epoch: at `t` about the time before `t`.
//! docs/local-service.md decides what the supplement leaves open.

mod batches;
mod books;
mod channels;
mod single_events;
mod subscription;
#[cfg(test)]
mod tests;

pub use subscription::{StreamEvent, Subscription};
