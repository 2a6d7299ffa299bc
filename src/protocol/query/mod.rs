//! Queries and their URL parameters. The client writes them and the service reads them with the same code
//! (service.md 4.1 to 4.3).

mod analytics;
mod argument;
mod filters;
mod leaderboard;
mod markets;
mod page;
mod parameters;
mod points;
mod rules;
mod spelling;

pub use analytics::{AnalyticsAsk, AnalyticsQuery, MarketSummaryQuery, PositionsQuery};
pub use argument::{ParameterKind, Several};
pub use filters::{FILTER_PARAMETERS, Filters};
pub use leaderboard::{LeaderboardQuery, LeaderboardSort};
pub use markets::{DEFAULT_PAGE_SIZE, MARKETS_PARAMETERS, MAX_PAGE_SIZE, MarketSort, MarketsQuery};
pub use page::Page;
pub use parameters::{ParamError, refuse_unknown};
pub use points::{PARAMETERS, POINTS_PARAMETERS, Parameter, PointsQuery, RequestLists};
pub use rules::known_type;
pub use spelling::{Spelling, argument_of, speak_of_options};

pub use crate::protocol::group_by::GroupBy;
pub use crate::protocol::sort_direction::SortDirection;
