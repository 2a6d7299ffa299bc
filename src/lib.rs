//! marketpoints: client, weight planner, decoder and offline twin of a market-data and prediction-market service.
//!
//! The rooms run from the ground floor up, and a room uses only rooms named before it: [`clock`], [`protocol`],
//! [`weight`], [`budget`], [`columns`], [`raster`], [`decode`], [`encode`], [`archive`], [`client`], `market`, `service`. The last two stand
//! behind the feature `service` (on by default), the Python bindings on top behind the feature `python`.
//!
//! A call is a checked request; it is planned, paced, sent, decoded and joined:
//!
#![cfg_attr(feature = "service", doc = "```")]
#![cfg_attr(not(feature = "service"), doc = "```ignore")]
//! use std::sync::Arc;
//!
//! use marketpoints::client::{Client, Config, PointsArguments, PointsRequest, Registry};
//! use marketpoints::clock::{Clock, ManualClock, UnixSecond};
//! use marketpoints::market::Market;
//! use marketpoints::protocol::{Points, PointsQuery, Tier, Weight};
//! use marketpoints::service::{Service, ServiceConfig};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A service of this machine with a demo market, as of a moment (2026-04-22T18:00:00Z).
//! let now = UnixSecond(1_776_880_800).nanos();
//! let clock = Arc::new(ManualClock::at(now));
//! let service = Service::start(ServiceConfig::new(Arc::new(Market::demo(0)), clock))?;
//!
//! let key = service.keys()["advanced"].clone();
//! let config = Config { tier: Some(Tier::Advanced), ..Config::new(key, service.url()) };
//! let client = Client::new(&config, &Registry::default())?;
//! let request = PointsRequest::new(PointsArguments {
//!     query: PointsQuery::of_market("TRADE_SIDE_AGNOSTIC_AGG", "BINANCE_FUTURES", "BTCUSDT", "1h"),
//!     period: Some(24 * 3_600),
//!     ..PointsArguments::default()
//! })?;
//! let plan = client.plan(&request, now)?;
//! assert_eq!((plan.weight(), plan.points()), (Weight(1), Points(24))); // nothing was sent
//!
//! let runtime = tokio::runtime::Runtime::new()?;
//! let series = runtime.block_on(client.points(&request, now, None))?;
//! assert_eq!(series[0].floats("close").map(<[f64]>::len), Some(24));
//! # Ok(())
//! # }
//! ```

#[cfg(all(test, feature = "service"))]
#[macro_use]
#[path = "../tests/support/coins_only.rs"]
mod coins_only;

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

/// The examples of README.md, compiled and run with those of the crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
