//! The markets of the demo's coins: the blocks of their paths, and visits of their minutes.

use std::ops::Range;
use std::sync::Arc;

use super::catalog::{self, MarketTraits};
use super::clock::{from_whole_minute, minutes, times};
use super::path::{BLOCK, PathBlock};
use crate::clock::{UnixMinute, UnixNanos, Window};
use crate::market::cache::Cache;
use crate::market::raw::{Bar, Instrument, Trade};

/// Most cached blocks: about 25 MB.
const KEPT_BLOCKS: usize = 6_000;

/// The coins' markets.
pub(in crate::market) struct Coins {
    pub(in crate::market) instruments: Vec<Instrument>,
    pub(in crate::market) traits: Vec<MarketTraits>,
    /// Blocks of the paths by (path, start).
    blocks: Cache<(u64, i64), PathBlock>,
}

/// Visits the events of a minute of a market in time order.
pub(in crate::market) type MinuteEvents = fn(&MarketTraits, &PathBlock, UnixMinute, &mut dyn FnMut(&Trade));

impl Coins {
    /// The coins' markets of a seed.
    pub(in crate::market) fn new(seed: u64) -> Self {
        let (instruments, traits) = catalog::markets(seed);
        Self { instruments, traits, blocks: Cache::new(KEPT_BLOCKS) }
    }

    /// The block of a market that holds a minute.
    pub(in crate::market) fn block(&self, traits: &MarketTraits, minute: UnixMinute) -> Arc<PathBlock> {
        let key = (traits.path.seed(), minute.0 & !(BLOCK - 1));
        self.blocks.made(key, || traits.path.block(minute))
    }

    /// Visits the minutes with a start in a window that have begun at `now`, each with the block that holds it.
    pub(in crate::market) fn each_minute(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        mut visit: impl FnMut(&PathBlock, UnixMinute),
    ) {
        let Range { start: mut minute, end } = minutes(window, now);
        while minute < end {
            let block = self.block(&self.traits[market], UnixMinute(minute));
            let stop = end.min(block.start.0 + BLOCK);
            (minute..stop).for_each(|minute| visit(&block, UnixMinute(minute)));
            minute = stop;
        }
    }

    /// Visits the events of a market with a time in a window, none after `now`, in time order.
    pub(in crate::market) fn events(
        &self,
        events: MinuteEvents,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Trade),
    ) {
        let traits = &self.traits[market];
        let known = times(window, now);
        self.each_minute(market, from_whole_minute(window), now, |block, minute| {
            events(traits, block, minute, &mut |event| {
                if known.contains(&event.time) {
                    visit(event);
                }
            });
        });
    }

    /// Visits the minute bars of a market's events with a start in a window, of events up to `now`.
    pub(in crate::market) fn bars(
        &self,
        events: MinuteEvents,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) {
        let traits = &self.traits[market];
        self.each_minute(market, window, now, |block, minute| {
            if let Some(bar) = bar(events, traits, block, minute, now) {
                visit(&bar);
            }
        });
    }
}

/// The bar of a minute, of its events up to `now`; `None` when there are none yet.
pub(in crate::market) fn bar(
    events: MinuteEvents,
    traits: &MarketTraits,
    block: &PathBlock,
    minute: UnixMinute,
    now: UnixNanos,
) -> Option<Bar> {
    let mut bar: Option<Bar> = None;
    events(traits, block, minute, &mut |event| {
        if event.time > now {
            return;
        }
        match &mut bar {
            None => bar = Some(Bar::of(minute.second(), event)),
            Some(bar) => bar.add(event),
        }
    });
    bar
}
