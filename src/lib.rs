//! marketpoints: client, weight planner, decoder and offline twin of a market-data and prediction-market service.
//!
//! The rooms run from the ground floor up, and a room uses only rooms named before it: [`protocol`], [`weight`],
//! [`budget`], [`columns`], [`decode`], [`encode`], [`archive`], [`client`], [`market`], [`service`]. The Python
//! bindings stand on top, behind the feature `python`.

pub mod archive;
pub mod budget;
pub mod client;
pub mod clock;
pub mod columns;
pub mod decode;
pub mod encode;
mod hexadecimal;
pub mod market;
pub mod protocol;
pub mod service;
pub mod weight;

#[cfg(feature = "python")]
mod bindings;
