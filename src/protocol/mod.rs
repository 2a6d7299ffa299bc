//! The wire contract as data: data types, intervals, tiers, series identity, queries and their URL parameters,
//! records, error bodies and dialects. No I/O, no clock, no Python; every other room reads these tables and none repeats them.

pub mod analytics;
pub mod block_size;
pub mod body_size;
pub mod contract;
pub mod data_type;
pub mod dialect;
pub mod discovery;
pub mod dump;
pub mod error_body;
pub mod excerpt;
pub mod exchange;
pub mod grid;
pub mod group_by;
pub mod identity;
pub mod interval;
pub mod query;
pub mod records;
pub mod redacted;
pub mod sort_direction;
pub mod stream;
pub mod suggest;
pub mod symbol;
pub mod tier;
mod units;
pub mod wire;

pub use analytics::{AnalyticsAnswer, AnalyticsEndpoint};
pub use block_size::{BlockSizeMisfit, check_block_size, has_block_size};
pub use data_type::{
    DataType, Field, FieldKind, Fold, Panel, PanelUnit, RawData, Role, Selection, Shape, TPO_WRAPPER, TypeSpec,
};
pub use dialect::{Dialect, DialectError, DialectParts};
pub use discovery::{DiscoveryList, LISTS};
pub use error_body::ErrorBody;
pub use excerpt::excerpt;
pub use grid::BucketGrid;
pub use group_by::GroupBy;
pub use identity::{ID_FIELDS, SeriesId};
pub use interval::Interval;
pub use query::{AnalyticsAsk, AnalyticsQuery, Filters, MarketSort, MarketsQuery, ParamError, PointsQuery};
pub use records::{MarketListing, MarketsPage, PredictionMarket, Tag, Timestamp, Usage};
pub use redacted::redacted;
pub use sort_direction::SortDirection;
pub use tier::{Tier, TierSpec};
pub use units::{Points, Weight};
