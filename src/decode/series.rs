//! One series: its identity, its points, and the shape of its type (service.md 2.2).

use std::cell::RefCell;
use std::sync::Arc;

use super::error::DecodeError;
use super::heatmap::{Flat, Heatmap};
use super::json::{Next, Reader, Result};
use super::names::BodyNames;
use super::table::{DecodedTable, Mark};
use super::unknown_fields::plain_time;
use crate::columns::{Column, ColumnName, NO_TIME, Raw, Series, arrange, join};
use crate::protocol::data_type::UNKNOWN_TYPE;
use crate::protocol::{DataType, SeriesId, Shape, TypeSpec};

/// Where the points of a series go while they are read.
pub(super) enum PointsSink {
    /// Columns.
    Table(Box<DecodedTable>),
    /// Levels of nested snapshots.
    Heatmap(Box<Heatmap>),
    /// Levels of a flat array.
    Flat(Box<Flat>),
}

impl PointsSink {
    /// For the array under the key `flat_points`, or else `points`, of a series of that identity.
    pub(super) fn of(id: &SeriesId, flat: bool, names: &BodyNames) -> Self {
        match spec(id) {
            _ if flat => Self::Flat(Box::default()),
            Some(spec) if spec.shape == Shape::Heatmap => Self::Heatmap(Box::new(Heatmap::new(spec.fields, names))),
            spec => Self::Table(DecodedTable::of_points(spec.map_or(UNKNOWN_TYPE, |spec| spec.fields), names)),
        }
    }

    /// Reads at least one element.
    ///
    /// `seen` counts elements. After an error nothing of the element is kept, so that it can be read again, unless this
    /// is the `last` portion of the body.
    pub(super) fn some(&mut self, reader: &mut Reader<'_>, seen: &mut usize, last: bool) -> Result<Next> {
        let mark = match self {
            _ if last => None,
            Self::Table(table) => Some(table.mark()),
            Self::Heatmap(heatmap) => Some(heatmap.mark()),
            Self::Flat(_) => None,
        };
        let read = match self {
            Self::Table(table) => table.rows(reader),
            Self::Heatmap(heatmap) => heatmap.point(reader).map(|()| 1),
            Self::Flat(flat) => {
                let next = flat.numbers(reader).map_err(|error| error.at_index(flat.seen()));
                *seen = flat.seen();
                return next;
            }
        };
        match (read, mark) {
            (Ok(count), _) => {
                *seen += count;
                Ok(Next::Separator)
            }
            (Err(error), None) => Err(error.at_index(*seen)),
            (Err(error), Some(mark)) => {
                self.rewind(&mark);
                Err(error.at_index(*seen))
            }
        }
    }

    fn rewind(&mut self, mark: &Mark) {
        match self {
            Self::Table(table) => table.rewind(mark),
            Self::Heatmap(heatmap) => heatmap.rewind(mark),
            Self::Flat(_) => {}
        }
    }

    /// Bytes of their values in memory.
    pub(super) fn bytes(&mut self) -> usize {
        match self {
            Self::Table(table) => table.bytes(),
            Self::Heatmap(heatmap) => heatmap.bytes(),
            Self::Flat(flat) => flat.bytes(),
        }
    }

    /// Forgets places in bytes that are gone.
    pub(super) fn new_bytes(&mut self) {
        if let Self::Table(table) = self {
            table.new_bytes();
        }
    }

    /// The finished series; `start` is where the array stands.
    pub(super) fn finish(self, id: &Arc<SeriesId>, start: usize) -> Result<Series> {
        match self {
            Self::Table(table) => finish(id, table, start),
            Self::Heatmap(heatmap) => Ok(heatmap.finish(id)),
            Self::Flat(flat) => flat.finish(id, start),
        }
    }
}

/// Puts what a series held together: the points of one of its arrays, sorted by time.
pub(super) fn settle(id: &Arc<SeriesId>, nested: Option<Series>, flat: Option<Series>, start: usize) -> Result<Series> {
    let mut series = match (nested, flat) {
        (Some(nested), Some(flat)) if !nested.is_empty() && !flat.is_empty() => {
            return Err(DecodeError::new(start, "a series with both points and flat_points"));
        }
        (Some(nested), Some(flat)) => {
            if flat.is_empty() {
                nested
            } else {
                flat
            }
        }
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => nothing(Arc::clone(id)),
    };
    let unique = unique_times(&series);
    arrange(&mut series, unique).map_err(|conflict| DecodeError::new(start, conflict.to_string()))?;
    Ok(series)
}

/// Series of one identity are one series, also within a body.
pub(super) fn whole(list: Vec<Series>) -> Result<Vec<Series>> {
    if list.len() < 2 {
        return Ok(list);
    }
    let unique = list.iter().all(unique_times);
    join(vec![list], unique).map_err(|both| DecodeError::new(0, both.conflict.to_string()))
}

fn unique_times(series: &Series) -> bool {
    series.data_type().is_none_or(|data_type| data_type.spec().unique_times)
}

fn spec(id: &SeriesId) -> Option<&'static TypeSpec> {
    id.data_type.as_deref().and_then(DataType::find).map(DataType::spec)
}

/// Most identities that are kept between bodies, and the longest.
const REMEMBERED: usize = 32;
const LONGEST: usize = 1 << 10;

/// An identity and its text.
type KnownSeries = (Box<[u8]>, Arc<SeriesId>);

thread_local! {
    /// Identities of earlier bodies, the newest last: those who ask again and again ask for the same.
    static MEMORY: RefCell<Vec<KnownSeries>> = const { RefCell::new(Vec::new()) };
}

/// Reads the identity, and makes it neutral.
pub(super) fn identity(reader: &mut Reader<'_>, names: &BodyNames) -> Result<Arc<SeriesId>> {
    if !names.are_neutral() {
        return read_identity(reader, names).map(Arc::new); // the same text may mean something else elsewhere
    }
    reader.peek()?;
    let (bytes, start) = (reader.bytes(), reader.offset());
    // No other object starts with the text of a whole one.
    let known = MEMORY.with_borrow(|memory| {
        let known = memory.iter().rev().find(|(text, _)| bytes[start..].starts_with(text));
        known.map(|(text, id)| (text.len(), Arc::clone(id)))
    });
    if let Some((length, id)) = known {
        reader.jump(start + length);
        return Ok(id);
    }
    let id = Arc::new(read_identity(reader, names)?);
    let text = &bytes[start..reader.offset()];
    if text.len() <= LONGEST {
        MEMORY.with_borrow_mut(|memory| {
            if memory.len() == REMEMBERED {
                memory.remove(0);
            }
            memory.push((text.into(), Arc::clone(&id)));
        });
    }
    Ok(id)
}

fn read_identity(reader: &mut Reader<'_>, names: &BodyNames) -> Result<SeriesId> {
    let mut id = SeriesId::default();
    reader.object(|reader, key| {
        let key = names.field(key);
        let Some(place) = id.field_mut(&key) else {
            let text = String::from_utf8_lossy(reader.skip()?).into_owned();
            id.extra.push((key.into_owned(), text));
            return Ok(());
        };
        if place.is_some() {
            return Err(reader.error("a duplicate key"));
        }
        if !reader.null()? {
            *place = Some(reader.string()?.into_owned());
        }
        Ok(())
    })?;
    names.identity(&mut id);
    id.extra.sort();
    Ok(id)
}

/// A series without points, with the columns of its type.
pub(super) fn nothing(id: Arc<SeriesId>) -> Series {
    PointsSink::of(&id, false, &BodyNames::default()).finish(&id, 0).unwrap_or_else(|_| Series::empty(id, Shape::Table))
}

/// A profile's list holds price, buy volume and sell volume of each level (supplement 4).
fn check_triplets(columns: &[(ColumnName, Column)], start: usize) -> Result<()> {
    let Some((_, Column::List(list))) = columns.iter().find(|(name, _)| name == "profile") else { return Ok(()) };
    match (0..list.len()).find(|&row| !list.row(row).len().is_multiple_of(3)) {
        None => Ok(()),
        Some(row) => {
            let values = list.row(row).len();
            let message = format!("profile of point {row}: {values} values are no triplets of price, buys and sells");
            Err(DecodeError::new(start, message))
        }
    }
}

/// Takes the times out of a column of timestamps that are not all times.
fn odd_times(columns: &mut Vec<(ColumnName, Column)>) -> Vec<i64> {
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    let mut times = vec![NO_TIME; rows];
    let odd = columns.iter_mut().find_map(|(name, column)| match column {
        Column::Raw(raw) if raw.known && name == "timestamp" => Some(raw),
        _ => None,
    });
    if let Some(raw) = odd {
        let mut rest = Raw::blank(true, 0);
        for (time, text) in times.iter_mut().zip(raw.iter()) {
            *time = text.and_then(plain_time).map_or(NO_TIME, |time| time.0);
            rest.push(text.filter(|_| *time == NO_TIME));
        }
        *raw = rest;
    }
    columns.retain(|(name, column)| name != "timestamp" || !column.holds_nothing());
    times
}

/// Gives a finished table the shape of its type.
fn finish(id: &Arc<SeriesId>, table: Box<DecodedTable>, start: usize) -> Result<Series> {
    let mut columns = table.finish_points();
    let time = columns.iter().position(|(name, column)| name == "timestamp" && matches!(column, Column::Time(_)));
    let timestamps = match time.map(|index| columns.remove(index).1) {
        Some(Column::Time(timestamps)) => timestamps,
        // An unknown type may write some or all of its times in another way.
        _ => odd_times(&mut columns),
    };
    let shape = spec(id).map_or(Shape::Table, |spec| spec.shape);
    if shape == Shape::Profile {
        check_triplets(&columns, start)?;
    }
    Ok(Series { id: Arc::clone(id), shape, timestamps, columns })
}
