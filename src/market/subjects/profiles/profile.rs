//! One session's profile under construction.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::clock::Window;
use crate::market::query::price_step::{DecimalStep, level};
use crate::market::raw::{Bar, Trade};
use crate::market::subjects::trades::candles;
use crate::protocol::ParamError;

/// Seconds of the initial balance: the first hour of a session.
const INITIAL_BALANCE: i64 = 3_600;

/// One session under construction.
pub(in crate::market) struct SessionProfile {
    pub session: Window,
    pub step: DecimalStep,
    pub size: f64,
    /// The session's candle, by market.
    pub bars: BTreeMap<usize, Bar>,
    /// Highest and lowest price of the first hour.
    pub balance: Option<(f64, f64)>,
    /// Lowest and highest level of each block with trades.
    pub blocks: BTreeMap<i64, (i64, i64)>,
    /// Bought and sold volume by level.
    pub volumes: BTreeMap<i64, (f64, f64)>,
}

impl SessionProfile {
    pub(in crate::market) fn new(session: Window, size: f64, step: DecimalStep) -> Self {
        let (bars, blocks, volumes) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { session, step, size, bars, balance: None, blocks, volumes }
    }

    /// Counts a trade; returns how many visits of levels by blocks it adds.
    pub(in crate::market) fn add(
        &mut self,
        market: usize,
        trade: &Trade,
        volume: f64,
        block_seconds: i64,
    ) -> Result<u64, ParamError> {
        let level = level(&self.step, self.size, trade.price)?;
        let offset = trade.time.second().0 - self.session.from;
        let block = self.blocks.entry(offset / block_seconds);
        let begun = matches!(block, Entry::Vacant(_));
        let block = block.or_insert((level, level));
        let before = *block;
        *block = (before.0.min(level), before.1.max(level));
        let visits = u64::from(begun) + before.0.abs_diff(block.0) + before.1.abs_diff(block.1);
        let (bought, sold) = self.volumes.entry(level).or_insert((0.0, 0.0));
        *(if trade.buy { bought } else { sold }) += volume;
        if offset < INITIAL_BALANCE {
            let (high, low) = self.balance.unwrap_or((trade.price, trade.price));
            self.balance = Some((high.max(trade.price), low.min(trade.price)));
        }
        self.bars
            .entry(market)
            .and_modify(|bar| bar.add(trade))
            .or_insert_with(|| Bar::of(self.session.start(), trade));
        Ok(visits)
    }

    /// The session's candle over all markets.
    pub(in crate::market) fn bar(&self) -> Option<Bar> {
        candles::sum(self.bars.values().map(|bar| vec![*bar]).collect()).pop()
    }
}
