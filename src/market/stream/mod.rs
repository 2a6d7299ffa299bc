//! The live stream's events, of the same source as everything else (service.md 6, supplement 7).
//!
//! A subscription gets the events of a half-open stretch of time, `[from, until)`, then of the next; so what it gets
//! does not depend on how time is cut. Channels with a frequency send at its multiples since the epoch: at `t` of what
//! happened before `t`. What the supplement leaves open is decided in docs/local-service.md.

mod batches;
mod books;
mod channels;
mod single_events;
mod subscription;
#[cfg(test)]
mod tests;

pub use subscription::{StreamEvent, Subscription};
