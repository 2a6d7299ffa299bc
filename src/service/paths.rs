//! Every path that the service answers (service.md 4; supplement 5 and 7).

use crate::protocol::LISTS;
use crate::protocol::analytics::ANALYTICS;
use crate::protocol::stream::Family;
use crate::protocol::wire::{MARKETS_PATH, POINTS_PATH, USAGE_PATH};

/// Path of the OpenAPI document.
pub(super) const OPENAPI_PATH: &str = "/openapi.json";

/// The paths, in no particular order.
pub(super) fn paths() -> impl Iterator<Item = &'static str> {
    [POINTS_PATH, MARKETS_PATH, USAGE_PATH, OPENAPI_PATH]
        .into_iter()
        .chain(LISTS.iter().map(|row| row.path))
        .chain(ANALYTICS.iter().map(|row| row.path))
        .chain(Family::ALL.into_iter().map(Family::path))
}
