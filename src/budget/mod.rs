//! The token bucket: continuous refill, burst, daily cap. The service enforces with it and the client paces with it
//! (service.md 8.1 and 8.5). An [`Account`] is what everybody who spends from one bucket has to know of each other. Time is
//! passed in; nothing here sleeps.

mod account;
mod bucket;
mod spends;

pub use account::{Account, BudgetHeaders, LONGEST_PAUSE, RequestOutcome, TakeResult};
pub use bucket::{Bucket, Limits, Refusal};
