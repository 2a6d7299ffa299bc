//! marketpoints: client, weight planner, decoder and offline twin of a market-data and prediction-market service.
//!
//! The rooms run from the ground floor up, and a room uses only rooms named before it: [`protocol`], [`weight`],
//! [`budget`], [`columns`], [`raster`], [`decode`], [`encode`], [`archive`], [`client`], `market`, `service`. The last two stand
//! behind the feature `service` (on by default), the Python bindings on top behind the feature `python`.

pub mod archive;
pub mod budget;
pub mod client;
pub mod clock;
pub mod columns;
pub mod decode;
pub mod encode;
#[cfg(feature = "service")]
pub mod market;
pub mod protocol;
pub mod raster;
#[cfg(feature = "service")]
pub mod service;
pub mod weight;

#[cfg(feature = "python")]
mod bindings;

#[cfg(test)]
mod floors;
