//! Volume by price level and bucket, for volume profiles (supplement 4: flat triplets of price, buy volume and sell
//! volume) and liquidation heatmaps.

use std::collections::BTreeMap;

use super::events::{EventKind, EventReader};
use crate::clock::{UnixNanos, UnixSecond, Window};
use crate::columns::{Column, List, Series};
use crate::market::query::context::QueryContext;
use crate::market::query::error::MarketError;
use crate::market::query::price_step::{DecimalStep, level};
use crate::protocol::{BucketGrid, Shape};

/// One bucket: its step, and bought and sold volume by level.
pub(in crate::market) struct VolumeProfile {
    size: f64,
    pub step: DecimalStep,
    pub levels: BTreeMap<i64, (f64, f64)>,
    /// Time and level of the last event.
    pub last: (UnixNanos, i64),
}

/// The profiles of some markets' events together, by start of the bucket; a bucket without events has none.
pub(in crate::market) fn profiles(
    context: &QueryContext<'_>,
    kind: EventKind,
    markets: &[usize],
) -> Result<BTreeMap<UnixSecond, VolumeProfile>, MarketError> {
    let (buckets, usd) = (context.buckets, context.query.usd);
    let grid = BucketGrid::Every(buckets.interval);
    let events = EventReader { source: context.source, kind, markets, grid, buckets, usd };
    let mut steps = events.steps()?;
    let mut profiles: BTreeMap<UnixSecond, VolumeProfile> = BTreeMap::new();
    let mut bucket = Window { from: 0, to: 0 };
    events.events(|_, event, volume| {
        let second = event.time.second();
        if !bucket.contains(second) {
            bucket = events.grid.window(second);
        }
        let profile = profiles.entry(bucket.start()).or_insert_with(|| {
            let (size, step) = steps.of(bucket.start(), event.price);
            VolumeProfile { size, step, levels: BTreeMap::new(), last: (UnixNanos(i64::MIN), 0) }
        });
        let level = level(&profile.step, profile.size, event.price)?;
        let (bought, sold) = profile.levels.entry(level).or_insert((0.0, 0.0));
        *(if event.buy { bought } else { sold }) += volume;
        if event.time >= profile.last.0 {
            profile.last = (event.time, level);
        }
        Ok(())
    })?;
    Ok(profiles)
}

/// `VOLUME_PROFILE_AGG`: one profile per bucket with trades, under the column `profile`.
///
/// # Errors
/// [`MarketError::Invalid`] where a quote has no rate in USD, [`MarketError::Internal`] when the data cannot be read.
pub(in crate::market) fn answer(context: &QueryContext<'_>) -> Result<Vec<Series>, MarketError> {
    context.groups().into_iter().map(|group| volume_profiles(context, group)).collect()
}

/// The volume profiles of some markets together.
pub(super) fn volume_profiles(context: &QueryContext<'_>, markets: &[usize]) -> Result<Series, MarketError> {
    let profiles = profiles(context, EventKind::Trades, markets)?;
    let mut values = List::default();
    for profile in profiles.values() {
        values.push(
            profile.levels.iter().flat_map(|(level, (bought, sold))| [profile.step.price(*level), *bought, *sold]),
        );
    }
    Ok(Series {
        id: context.identity(markets).into(),
        shape: Shape::Profile,
        timestamps: profiles.keys().map(|start| start.nanos().0).collect(),
        columns: vec![("profile".into(), Column::List(values))],
    })
}
