//! Points of a heatmap type, read directly into levels (service.md 2.3): nested ones and the flat array.

use std::sync::Arc;

use super::error::DecodeError;
use super::json::{Next, Reader, Result};
use super::list::ListStretch;
use super::names::BodyNames;
use super::table::{DecodedTable, Mark, point};
use crate::columns::pages::{expect, fit, reserve};
use crate::columns::{Column, FlatSnapshots, Series, Snapshots};
use crate::protocol::field::TIMESTAMP;
use crate::protocol::{Field, SeriesId};

/// Nested snapshots under construction.
pub(super) struct Heatmap {
    snapshots: Snapshots,
    /// The timestamp, and unknown fields.
    rest: DecodedTable,
    /// Whether a point without any list is one without bids, or one without known sides.
    sided: bool,
    names: BodyNames,
}

/// The lists of a point, in any order and each at most once.
#[derive(Default)]
struct Lists {
    /// Levels from the closest to the furthest below the middle: prices descend.
    bids: Option<usize>,
    /// Levels above the middle: prices ascend.
    asks: Option<usize>,
    /// All levels, if the wire does not separate the sides; then the others are ignored.
    levels: Option<usize>,
}

const BIDS: &str = "bids";
const ONLY_TIME: &[Field] = &[TIMESTAMP];

impl Heatmap {
    /// A heatmap of a type with these fields.
    pub(super) fn new(fields: &[Field], names: &BodyNames) -> Self {
        let sided = fields.iter().any(|field| field.wire == BIDS);
        let rest = DecodedTable::new(ONLY_TIME, true, names);
        Self { snapshots: Snapshots::default(), rest, sided, names: names.clone() }
    }

    /// Reads one element of `points`.
    pub(super) fn point(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let Self { snapshots, rest, sided, names } = self;
        let (row, start, before) = (snapshots.len(), snapshots.start(), reader.offset());
        let mut lists = Lists::default();
        point(reader, |reader| {
            rest.row(reader, |reader, key| lists.read(reader, &names.field(key), row, start, snapshots.values()))
        })?;
        let sides = lists.levels.is_none() && (*sided || lists.bids.is_some() || lists.asks.is_some());
        snapshots.close(sides.then_some(lists.bids.unwrap_or(0) / 2), |pairs| reader.kernel().ascend(pairs));
        if row == 0 {
            let values = snapshots.values();
            let count = values.len();
            make_room(values, count, reader.offset() - before, reader);
        }
        Ok(())
    }

    /// Bytes of its values in memory.
    pub(super) fn bytes(&mut self) -> usize {
        size_of_val(&self.snapshots.values()[..]) + self.rest.bytes()
    }

    /// The state to return to when the next point turns out to be incomplete.
    pub(super) fn mark(&self) -> Mark {
        self.rest.mark()
    }

    /// Returns to an earlier state.
    pub(super) fn rewind(&mut self, mark: &Mark) {
        self.snapshots.reopen();
        self.rest.rewind(mark);
    }

    /// The finished series.
    pub(super) fn finish(self, id: &Arc<SeriesId>) -> Series {
        let mut columns = self.rest.finish();
        let timestamps = match columns.remove(0).1 {
            Column::Time(timestamps) => timestamps,
            _ => Vec::new(),
        };
        let mut snapshots = self.snapshots;
        fit(snapshots.values());
        let mut series = snapshots.finish(Arc::clone(id), timestamps);
        // Unknown fields, beside the heatmap's own columns.
        series.columns.extend(columns);
        series
    }
}

impl Lists {
    /// Appends the list of that key to the values, those of this point from `start` on; returns whether it is a list.
    fn read(
        &mut self,
        reader: &mut Reader<'_>,
        key: &str,
        row: usize,
        start: usize,
        values: &mut Vec<f64>,
    ) -> Result<bool> {
        let list = match key {
            BIDS => &mut self.bids,
            "asks" => &mut self.asks,
            "levels" => &mut self.levels,
            _ => return Ok(false),
        };
        if list.is_some() {
            return Err(reader.error("a duplicate key"));
        }
        let (from, place) = (values.len(), reader.offset());
        if !reader.null()? {
            reader.numbers(values)?;
        }
        let count = values.len() - from;
        if !count.is_multiple_of(2) {
            let problem = format!("snapshot {row}: {count} values are no pairs of price and volume");
            return Err(DecodeError::new(place, problem));
        }
        *list = Some(count);
        match key {
            "levels" => drop(values.drain(start..from)),
            _ if self.levels.is_some() => values.truncate(from),
            BIDS => {
                values[from..].as_chunks_mut::<2>().0.reverse();
                values[start..].rotate_right(count); // before asks, which were read first
            }
            _ => {}
        }
        Ok(true)
    }
}

/// Reserves capacity for the rest of the body, and some more, extrapolated from `count` values in `bytes`.
fn make_room(values: &mut Vec<f64>, count: usize, bytes: usize, reader: &Reader<'_>) {
    let likely = reader.left() / bytes.max(1) * count / 16 * 17 + 2 * count;
    expect(likely * size_of::<f64>());
    reserve(values, likely);
}

/// A flat array under construction.
#[derive(Default)]
pub(super) struct Flat {
    snapshots: FlatSnapshots,
}

impl Flat {
    /// Number of values so far.
    pub(super) fn seen(&self) -> usize {
        self.snapshots.seen()
    }

    /// Bytes of its values in memory.
    pub(super) fn bytes(&mut self) -> usize {
        size_of_val(&self.snapshots.values()[..])
    }

    /// Reads numbers from the start of an element.
    pub(super) fn numbers(&mut self, reader: &mut Reader<'_>) -> Result<Next> {
        let (before, first) = (reader.offset(), self.seen() == 0);
        let values = self.snapshots.values();
        let start = values.len();
        let stretch = reader.stretch(values);
        if stretch == ListStretch::Odd {
            let number = reader.number()?;
            // The digits may continue in the next portion of the body.
            reader.peek()?;
            values.push(number);
        }
        if first {
            let count = values.len();
            make_room(values, count, reader.offset() - before, reader);
        }
        self.snapshots.absorb(start, |pairs| reader.kernel().ascend(pairs));
        Ok(match stretch {
            ListStretch::Read => Next::Element,
            ListStretch::Closed => Next::Left,
            ListStretch::Odd => Next::Separator,
        })
    }

    /// The finished series; `start` is the array's offset.
    pub(super) fn finish(mut self, id: &Arc<SeriesId>, start: usize) -> Result<Series> {
        fit(self.snapshots.values());
        self.snapshots.finish(Arc::clone(id)).map_err(|bad| DecodeError::new(start, bad.to_string()))
    }
}
