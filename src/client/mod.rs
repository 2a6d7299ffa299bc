//! The client: computes the exact cost of a call before sending, paces itself by the shared token bucket, retries where
//! possible, and never returns a partial answer as a complete one. Async; the bindings add the blocking version.

mod address;
mod analytics;
mod archive_coverage;
mod archive_sync;
mod archive_writes;
mod argument_values;
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
pub use points_requests::{PointsRequests, Subjects};
pub use request::{PointsArguments, PointsRequest};
pub use stream::{
    Backoff, Event, EventStream, Gap, Overflow, Pause, StreamItem, StreamOptions, StreamState, Taken, TradeSeries,
    TradeTable, Trades, nanoseconds,
};
pub use tiers::{TierCut, TierWait};
pub use vintages::{compact, vintages};
