//! Liquidation heatmaps (service.md 2.3 and 4.1): per bucket, the volume of the executed liquidations by price level.

use crate::columns::{List, Series, heatmap_from_levels};
use crate::market::query::context::QueryContext;
use crate::market::query::error::MarketError;
use crate::market::subjects::profiles::events::EventKind;
use crate::market::subjects::profiles::volume::{VolumeProfile, profiles};

/// `VENUE_LIQUIDATION_AGG`: one series over all markets. Per bucket with liquidations, pairs of price and volume of both
/// sides, ascending. Levels are cut as in a volume profile. A bucket with more levels than the query
/// wants keeps those nearest to its last liquidation (the lower of two equally near ones).
///
/// # Errors
/// [`MarketError::Invalid`] where a quote has no rate in USD, [`MarketError::Internal`] when the data cannot be read.
pub(in crate::market) fn answer(context: &QueryContext<'_>) -> Result<Vec<Series>, MarketError> {
    let depth = usize::try_from(context.depth()).unwrap_or(usize::MAX);
    let (mut timestamps, mut levels) = (Vec::new(), List::default());
    for (start, profile) in &profiles(context, EventKind::Liquidations, &context.markets)? {
        let kept = nearest(profile, depth);
        if !kept.is_empty() {
            timestamps.push(start.nanos().0);
            levels.push(kept.iter().flat_map(|(level, volume)| [profile.step.price(*level), *volume]));
        }
    }
    let series = heatmap_from_levels(context.identity(&context.markets), timestamps, levels);
    Ok(vec![series.map_err(|error| MarketError::Internal(error.to_string()))?])
}

/// The levels with volume that are nearest to that of the last liquidation, at most `depth`, ascending.
fn nearest(profile: &VolumeProfile, depth: usize) -> Vec<(i64, f64)> {
    let volumes = profile.levels.iter().map(|(level, (bought, sold))| (*level, bought + sold));
    // A dump may have an order of which nothing was executed.
    let mut levels: Vec<(i64, f64)> = volumes.filter(|(_, volume)| *volume > 0.0).collect();
    if levels.len() > depth {
        let (_, last) = profile.last;
        levels.sort_by_key(|(level, _)| (level.abs_diff(last), *level));
        levels.truncate(depth);
        levels.sort_by_key(|(level, _)| *level);
    }
    levels
}
