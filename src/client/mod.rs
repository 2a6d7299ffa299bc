//! The client: computes the exact cost of a call before sending, paces itself by the shared token bucket, retries where
//! possible, and never returns a partial answer as a complete one. Async; the bindings add the blocking version.
//!
//! ```
//! use marketpoints::client::{Client, Config, PointsArguments, PointsRequest, PointsRequests, Registry, RequestLists};
//! use marketpoints::clock::UnixSecond;
//! use marketpoints::protocol::{Points, PointsQuery, Tier, Weight};
//!
//! let config = Config { tier: Some(Tier::Advanced), ..Config::new("key", "https://service.example") };
//! let client = Client::new(&config, &Registry::default())?;
//! let query = PointsQuery::of_market("TRADE_AGG", "BYBIT", "BTCUSDT", "1m");
//! let arguments = PointsArguments { query, period: Some(90 * 86_400), ..PointsArguments::default() };
//!
//! // A plan sends nothing: 90 days of minutes are more than one request may have (section 8.3).
//! let now = UnixSecond(1_776_880_800).nanos(); // 2026-04-22T18:00:00Z
//! let plan = client.plan(&PointsRequest::new(arguments.clone())?, now)?;
//! assert_eq!((plan.requests.len(), plan.points(), plan.weight()), (2, Points(129_600), Weight(130)));
//!
//! // Several symbols are one call: `client.points_all(&both, now, None).await` would fetch them within one budget.
//! let lists = RequestLists { symbols: vec!["BTCUSDT".into(), "ETHUSDT".into()], ..RequestLists::default() };
//! let both = PointsRequests::new(&arguments, &lists)?;
//! assert_eq!(client.plan_all(&both, now)?.weight(), Weight(260));
//!
//! // What cannot be right is refused before it costs anything.
//! let slip = PointsQuery::of_market("TRADE_AGG", "BYBTI", "BTCUSDT", "1m");
//! let refused = PointsRequest::new(PointsArguments { query: slip, ..arguments }).unwrap_err();
//! assert!(refused.to_string().contains("did you mean BYBIT?"));
//! # Ok::<(), marketpoints::client::ClientError>(())
//! ```

mod address;
mod analytics;
mod archive_coverage;
mod archive_sync;
mod archive_writes;
mod argument_values;
mod asked_identity;
mod assemble;
mod body_reader;
mod call_run;
mod calls;
mod config;
mod content_encoding;
mod dialect;
mod discovery;
mod error;
mod fetch;
mod inner;
mod ledger;
mod list_cache;
mod listed;
mod listing;
pub mod log;
mod pace;
mod plan;
mod points;
mod points_requests;
mod proxy;
mod request;
mod retry;
mod slicing;
mod stream;
mod tiers;
mod transport;
mod transport_error;
mod typos;
mod vintages;

pub use archive_coverage::{edge, missing};
pub use archive_sync::{Checked, Synced, read_archive};
pub use call_run::{Progress, ProgressUpdate};
pub use calls::{Each, Fetched, archive_key, call_failure, first_kept, read_archive_all};
pub use config::{BudgetScope, Config, Jitter, Now};
pub use dialect::read_dialect;
pub use error::{Cause, ClientError, ErrorKind, Partial};
pub use inner::Client;
pub use listed::Listed;
pub use pace::{BudgetView, Registry};
pub use plan::{Plan, PlannedRequest};
pub use points_requests::{PointsRequests, RequestLists};
pub use request::{PointsArguments, PointsRequest};
pub use stream::{
    Backoff, Event, EventStream, Gap, Overflow, Pause, StreamItem, StreamOptions, StreamState, Taken, TradeSeries,
    TradeTable, Trades, nanoseconds,
};
pub use tiers::{TierCut, TierWait};
pub use vintages::{compact, vintages};
