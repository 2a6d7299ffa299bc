//! Liquidation heatmaps (service.md 2.3 and 4.1): per bucket, the volume of the executed liquidations by price level.

use crate::clock::SECOND;
use crate::columns::{List, Series, heatmap_from_levels};
use crate::market::profiles::events::Tape;
use crate::market::profiles::volume::{Profile, profiles};
use crate::market::query::error::MarketError;
use crate::market::query::window::Buckets;
use crate::market::raw::Source;
use crate::protocol::SeriesId;

/// The liquidation heatmap of some markets together: per bucket with liquidations, pairs of price and volume of both
/// sides, ascending. Levels are cut as in a volume profile. Of a bucket with more than `depth` levels, those nearest to
/// its last liquidation are kept (the lower one of two that are equally near).
///
/// # Errors
/// [`MarketError::Invalid`] where a quote has no rate in USD, [`MarketError::Internal`] when the data cannot be read.
pub(in crate::market) fn liquidation_heatmap(
    source: &dyn Source,
    id: SeriesId,
    markets: &[usize],
    buckets: &Buckets,
    usd: bool,
    depth: u32,
) -> Result<Series, MarketError> {
    let depth = usize::try_from(depth).unwrap_or(usize::MAX);
    let (mut timestamps, mut levels) = (Vec::new(), List::default());
    for (start, profile) in &profiles(source, Tape::Liquidations, markets, buckets, usd)? {
        let kept = nearest(profile, depth);
        if !kept.is_empty() {
            timestamps.push(start * SECOND);
            levels.push(kept.iter().flat_map(|(level, volume)| [profile.step.price(*level), *volume]));
        }
    }
    heatmap_from_levels(id, timestamps, levels).map_err(|error| MarketError::Internal(error.to_string()))
}

/// The levels with volume that are nearest to that of the last liquidation, at most `depth`, ascending.
fn nearest(profile: &Profile, depth: usize) -> Vec<(i64, f64)> {
    let volumes = profile.levels.iter().map(|(level, (bought, sold))| (*level, bought + sold));
    // A dump may tell an order of which nothing was executed.
    let mut levels: Vec<(i64, f64)> = volumes.filter(|(_, volume)| *volume > 0.0).collect();
    if levels.len() > depth {
        let (_, last) = profile.last;
        levels.sort_by_key(|(level, _)| (level.abs_diff(last), *level));
        levels.truncate(depth);
        levels.sort_by_key(|(level, _)| *level);
    }
    levels
}
