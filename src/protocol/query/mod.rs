//! Queries and their URL parameters. The client writes them and the service reads them with the same code
//! (service.md 4.1 and 4.2).

mod filters;
mod markets;
mod parameters;
mod points;
mod transform;

pub use filters::{FILTER_PARAMETERS, Filters};
pub use markets::{MARKETS_PARAMETERS, MarketsQuery};
pub use parameters::{ParamError, refuse_unknown};
pub use points::{POINTS_PARAMETERS, PointsQuery};
pub use transform::{GroupBy, SortDirection};
