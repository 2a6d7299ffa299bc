//! Volume profiles (supplement 4): per bucket, flat triplets of price, buy volume and sell volume.

use std::collections::BTreeMap;

use super::feed::Feed;
use super::sessions::{Grid, Session};
use super::step::level;
use crate::clock::SECOND;
use crate::columns::{Column, List, Series};
use crate::market::MarketError;
use crate::market::heatmap::Step;
use crate::market::source::Source;
use crate::market::window::Buckets;
use crate::protocol::{SeriesId, Shape};

/// One bucket: its step, and bought and sold volume by level.
struct Profile {
    size: f64,
    step: Step,
    levels: BTreeMap<i64, (f64, f64)>,
}

/// The volume profiles of some markets together, one per bucket with trades, under the column `profile`.
///
/// # Errors
/// [`MarketError::Invalid`] where a quote has no rate in USD, [`MarketError::Internal`] when the data cannot be read.
pub(in crate::market) fn volume_profiles(
    source: &dyn Source,
    id: SeriesId,
    markets: &[usize],
    buckets: &Buckets,
    usd: bool,
) -> Result<Series, MarketError> {
    let feed = Feed { source, markets, grid: Grid::Every(buckets.interval), window: *buckets, usd };
    let mut steps = feed.steps()?;
    let mut profiles: BTreeMap<i64, Profile> = BTreeMap::new();
    let mut bucket = Session { start: 0, end: 0 };
    feed.trades(|_, trade| {
        let second = trade.time.div_euclid(SECOND);
        if !(bucket.start..bucket.end).contains(&second) {
            bucket = feed.grid.session(second);
        }
        let profile = profiles.entry(bucket.start).or_insert_with(|| {
            let (size, step) = steps.of(bucket.start, trade.price);
            Profile { size, step, levels: BTreeMap::new() }
        });
        let level = level(&profile.step, profile.size, trade.price)?;
        let (bought, sold) = profile.levels.entry(level).or_insert((0.0, 0.0));
        *(if trade.buy { bought } else { sold }) += feed.volume(trade);
        Ok(())
    })?;
    let mut values = List::default();
    for profile in profiles.values() {
        values.push(
            profile.levels.iter().flat_map(|(level, (bought, sold))| [profile.step.price(*level), *bought, *sold]),
        );
    }
    Ok(Series {
        id,
        shape: Shape::Profile,
        timestamps: profiles.keys().map(|start| start * SECOND).collect(),
        columns: vec![("profile".to_owned(), Column::List(values))],
    })
}
