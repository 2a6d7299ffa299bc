//! Coins, venues and markets of the demo, and the paths of their prices as functions of time.

pub(in crate::market) mod catalog;
pub(in crate::market) mod clock;
pub(in crate::market) mod coins;
pub(in crate::market) mod history;
pub(in crate::market) mod noise;
pub(in crate::market) mod path;
pub(in crate::market) mod peaks;
pub(in crate::market) mod season;
pub(in crate::market) mod walk;
