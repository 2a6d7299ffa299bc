//! The series that is being read: its identity, and its points, which may come before it.

use std::sync::Arc;

use super::error::DecodeError;
use super::json::{Next, Reader, Result};
use super::kernel::Kernel;
use super::names::BodyNames;
use super::series::{self, PointsSink};
use crate::columns::Series;
use crate::protocol::SeriesId;

/// Number of open brackets at a series' keys.
const DEPTH: usize = 3;

/// State of a series under construction.
#[derive(Default)]
pub(super) struct OpenSeries {
    /// Where it starts in the body.
    start: usize,
    id: Option<Arc<SeriesId>>,
    nested: Array,
    flat: Array,
    /// The array that is open.
    in_flat: bool,
    points: Option<PointsSink>,
    points_start: usize,
    seen: usize,
}

/// State of `points` or `flat_points`.
#[derive(Default)]
enum Array {
    #[default]
    Absent,
    /// Skipped, because the identity, which determines how to read it, comes later: its offset and text.
    Waiting(usize, Vec<u8>),
    Read(Box<Series>),
}

/// Value after a key of a series.
pub(super) enum AfterKey {
    /// A value, which is consumed.
    Passed,
    /// An array of points; the first is next.
    Points,
    /// An empty array of points, which is consumed.
    NoPoints,
}

impl OpenSeries {
    /// A series that starts at that offset of the body.
    pub(super) fn at(start: usize) -> Self {
        Self { start, ..Self::default() }
    }

    /// Where it starts in the body.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// The key of the array that is open.
    pub(super) fn array(&self) -> &'static str {
        if self.in_flat { "flat_points" } else { "points" }
    }

    /// Bytes in memory.
    pub(super) fn bytes(&mut self) -> usize {
        let waiting = |array: &Array| if let Array::Waiting(_, text) = array { text.len() } else { 0 };
        self.points.as_mut().map_or(0, PointsSink::bytes) + waiting(&self.nested) + waiting(&self.flat)
    }

    /// Adjusts offsets after bytes were removed.
    pub(super) fn new_bytes(&mut self) {
        if let Some(points) = &mut self.points {
            points.new_bytes();
        }
    }

    /// Reads some elements of the open array; `None` if there is none.
    pub(super) fn points(&mut self, reader: &mut Reader<'_>, last: bool) -> Result<Option<Next>> {
        let Some(points) = &mut self.points else { return Ok(None) };
        points.some(reader, &mut self.seen, last).map(Some)
    }

    /// Reads a key and its value. `base`: the offset of the reader's bytes in the body.
    pub(super) fn key(&mut self, reader: &mut Reader<'_>, base: usize, names: &BodyNames) -> Result<AfterKey> {
        let key = reader.key()?;
        let value = |error: DecodeError| error.inside(&key);
        let flat = match &*key {
            "id" if self.id.is_some() => return Err(value(reader.error("a duplicate key"))),
            "id" => {
                let null = reader.null().map_err(value)?;
                self.id = Some(if null { Arc::default() } else { series::identity(reader, names).map_err(value)? });
                return Ok(AfterKey::Passed);
            }
            "points" => false,
            "flat_points" => true,
            _ => {
                reader.skip().map_err(value)?;
                reader.peek()?;
                return Ok(AfterKey::Passed);
            }
        };
        let array = if flat { &mut self.flat } else { &mut self.nested };
        if !matches!(array, Array::Absent) {
            return Err(value(reader.error("a duplicate key")));
        }
        if reader.null().map_err(value)? {
            return Ok(AfterKey::Passed);
        }
        reader.peek().map_err(value)?;
        let start = reader.offset() + base;
        let Some(id) = &self.id else {
            let text = reader.skip().map_err(value)?.to_vec();
            *array = Array::Waiting(start, text);
            return Ok(AfterKey::Passed);
        };
        let more = reader.open(b'[').map_err(value)?;
        self.points = Some(PointsSink::of(id, flat, names));
        (self.in_flat, self.points_start, self.seen) = (flat, start, 0);
        Ok(if more { AfterKey::Points } else { AfterKey::NoPoints })
    }

    /// Finishes the array that is open.
    pub(super) fn close(&mut self) -> Result<()> {
        let (Some(points), Some(id)) = (self.points.take(), &self.id) else { return Ok(()) };
        let series = points.finish(id, self.points_start)?;
        *(if self.in_flat { &mut self.flat } else { &mut self.nested }) = Array::Read(Box::new(series));
        Ok(())
    }

    /// The finished series.
    pub(super) fn finish(self, kernel: Kernel, names: &BodyNames) -> Result<Series> {
        let id = self.id.unwrap_or_default();
        let read = |array: Array, name: &str, flat: bool| match array {
            Array::Absent => Ok(None),
            Array::Read(series) => Ok(Some(*series)),
            Array::Waiting(start, text) => {
                waited(&text, start, &id, flat, (kernel, names)).map(Some).map_err(|error| error.inside(name))
            }
        };
        let nested = read(self.nested, "points", false)?;
        let flat = read(self.flat, "flat_points", true)?;
        series::settle(&id, nested, flat, self.start)
    }
}

/// Reads an array that was skipped before the identity was known.
fn waited(
    text: &[u8],
    start: usize,
    id: &Arc<SeriesId>,
    flat: bool,
    (kernel, names): (Kernel, &BodyNames),
) -> Result<Series> {
    let mut points = PointsSink::of(id, flat, names);
    let mut reader = Reader::inside(text, kernel, DEPTH);
    let read = |points: &mut PointsSink, reader: &mut Reader<'_>| {
        let mut seen = 0;
        let mut open = reader.open(b'[')?;
        while open {
            open = match points.some(reader, &mut seen, true)? {
                Next::Separator => reader.another(b']')?,
                next => next == Next::Element,
            };
        }
        Ok(())
    };
    read(&mut points, &mut reader)
        .map_err(|error: DecodeError| DecodeError { offset: error.offset + start, ..error })?;
    points.finish(id, start)
}
