//! Caches the series of trades by their JSON text, because a few texts are repeated all the time.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::batch::SharedTable;
use super::deduplication::{SeenEvents, SeenMarket};

/// Up to so many series are searched linearly; beyond them a hash map is faster.
const FEW: usize = 16;
/// Most cached series, and the longest text in bytes.
const MOST: usize = 8_192;
const LONGEST: usize = 2_048;

/// A cached series.
pub(super) struct CachedSeries {
    pub(super) text: Box<[u8]>,
    /// Its index in the stream's table.
    pub(super) place: u32,
    /// The market within which ids identify its events.
    pub(super) market: SeenMarket,
}

/// The series of a connection's trades, or of its liquidations.
#[derive(Default)]
pub(super) struct SeriesCache {
    known: Vec<CachedSeries>,
    by_text: HashMap<Box<[u8]>, usize>,
    last: usize,
}

impl SeriesCache {
    /// The text of the most recent series.
    pub(super) fn likely(&self) -> &[u8] {
        self.known.get(self.last).map_or(&[], |spelt| &spelt.text)
    }

    pub(super) fn at(&self, index: usize) -> &CachedSeries {
        &self.known[index]
    }

    /// The index of a series whose events have the key `name`; `None` if its text is no object, or there are too many.
    pub(super) fn find(&mut self, name: &str, text: &[u8], table: &SharedTable, seen: &SeenEvents) -> Option<usize> {
        if text.len() > LONGEST {
            return None;
        }
        let is_it = |spelt: &CachedSeries| *spelt.text == *text;
        if self.known.get(self.last).is_some_and(is_it) {
            return Some(self.last);
        }
        let few = self.known.iter().take(FEW).position(is_it);
        let found = few.or_else(|| (self.known.len() > FEW).then(|| self.by_text.get(text).copied())?);
        self.last = match found {
            Some(index) => index,
            None if self.known.len() < MOST => {
                let fields: Map<String, Value> = serde_json::from_slice(text).ok()?;
                let word = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
                let market = seen.market(name, word("type"), word("exchange"), word("symbol"));
                let place = table.place(&fields)?;
                self.by_text.insert(text.into(), self.known.len());
                self.known.push(CachedSeries { text: text.into(), place, market });
                self.known.len() - 1
            }
            None => return None,
        };
        Some(self.last)
    }
}
