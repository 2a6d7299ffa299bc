//! Market profiles (`TPO_AGG`, service.md 2.3): the price levels that each block of time visited. The module of the folder
//! documents the rules.

use std::collections::BTreeMap;

use super::events::{EventKind, EventReader, Steps};
use super::profile::SessionProfile;
use super::sessions::grid_of;
use super::tpo_columns::TpoColumns;
use crate::clock::{UnixSecond, Window};
use crate::columns::Series;
use crate::market::query::context::QueryContext;
use crate::market::query::error::MarketError;
use crate::market::query::window::Buckets;
use crate::market::raw::{CancelFlag, CancellableSource};
use crate::protocol::grid::USUAL_BLOCK_MINUTES;
use crate::protocol::{BucketGrid, ParamError};

/// Most time-price opportunities of one series: a step of a billionth would need more than the memory.
const MOST_TPOS: u64 = 10_000_000;

/// The parameters of a TPO query beside its markets.
#[derive(Debug, Clone, Copy)]
struct Settings {
    grid: BucketGrid,
    buckets: Buckets,
    block_minutes: u32,
}

impl Settings {
    /// Reads `tpoSession`, which is checked here, `tpoBlockSizeMinutes` and the window.
    fn of(context: &QueryContext<'_>) -> Result<Self, ParamError> {
        let (query, Buckets { interval, now, .. }) = (context.query, context.buckets);
        let block_minutes = query.block_minutes.unwrap_or(USUAL_BLOCK_MINUTES);
        let grid = grid_of(query.session.as_deref(), interval)?;
        let buckets = Buckets::on(grid, interval, query, now);
        Ok(Self { grid, buckets, block_minutes })
    }
}

/// Refuses a session that is not one of section 4.1.
pub(in crate::market) fn check(context: &QueryContext<'_>) -> Result<(), ParamError> {
    Settings::of(context).map(drop)
}

/// `TPO_AGG`: one market profile per session with trades, in the columns of the type's table.
///
/// # Errors
/// [`MarketError::Invalid`] as [`check`] does, for a `blockSize` that makes too many levels and where a quote has no rate in
/// USD; [`MarketError::Internal`] when the data cannot be read.
pub(in crate::market) fn answer(context: &QueryContext<'_>) -> Result<Vec<Series>, MarketError> {
    context.groups().into_iter().map(|group| market_profiles(context, group)).collect()
}

/// The market profiles of some markets together.
pub(super) fn market_profiles(context: &QueryContext<'_>, markets: &[usize]) -> Result<Series, MarketError> {
    let Settings { grid, buckets, block_minutes } = Settings::of(context)?;
    let stop = CancelFlag::default();
    let source = &CancellableSource::of(context.source, &stop);
    let events = EventReader { source, kind: EventKind::Trades, markets, grid, buckets, usd: context.query.usd };
    let mut steps = match context.query.block_size {
        Some(size) => Steps::always(size),
        None => events.steps()?,
    };
    let block_seconds = i64::from(block_minutes) * 60;
    let mut profiles: BTreeMap<UnixSecond, SessionProfile> = BTreeMap::new();
    let mut session = Window { from: 0, to: 0 };
    let mut tpos: u64 = 0;
    let visited = events.events(|market, trade, volume| {
        if tpos > MOST_TPOS {
            return Ok(());
        }
        let second = trade.time.second();
        if !session.contains(second) {
            session = grid.window(second);
        }
        let profile = profiles.entry(session.start()).or_insert_with(|| {
            let (size, step) = steps.of(session.start(), trade.price);
            SessionProfile::new(session, size, step)
        });
        tpos = tpos.saturating_add(profile.add(market, trade, volume, block_seconds)?);
        if tpos > MOST_TPOS {
            // The rest would take more time and memory than any answer.
            stop.set();
        }
        Ok(())
    });
    if tpos > MOST_TPOS {
        let problem = format!(
            "the answer would hold more than {MOST_TPOS} visits of a level by a block; give a larger step, longer blocks \
             or a shorter window"
        );
        return Err(ParamError::new("blockSize", problem).into());
    }
    visited?;
    let mut columns = TpoColumns::new(block_minutes);
    for profile in profiles.values() {
        columns.push(profile);
    }
    Ok(columns.series(context.identity(markets)))
}
