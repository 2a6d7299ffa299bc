//! Liquidations, funding rates and open interest of perpetual markets (service.md 2.3 and 4.1).

mod answer;
mod gauge;
#[cfg(test)]
mod tests;

pub(super) use answer::Asked;
pub(super) use gauge::minute_bars;
pub use gauge::{Gauge, GaugeBar, Ticker};
