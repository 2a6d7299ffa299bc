//! Columns → Parquet's, by the format's levels: the repetition level says which list goes on with a value, the definition level
//! how much of the value's path is there.

use std::io::Write;
use std::ops::Range;

use bytes::Bytes;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;

use super::parquet_schema::Parquet;
use super::table::Table;
use crate::columns::{Column, NO_TIME};

/// Rows whose levels are laid out at once: those of so many stay in the processor's caches.
const STRIPE: usize = 1 << 14;

/// Some rows of a table as the columns of a group of rows.
pub(super) fn write_columns<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    table: &Table,
    rows: &Range<usize>,
) -> Parquet<()> {
    table.iter().try_for_each(|(_, column)| write(group, column, rows, &mut Vec::new()))
}

/// A column and those inside it; `lists` are the offsets of the lists around it, from the outermost in.
fn write<'a, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &'a Column,
    rows: &Range<usize>,
    lists: &mut Vec<&'a [i64]>,
) -> Parquet<()> {
    match column {
        Column::Float(values) => required::<DoubleType, W>(group, lists, rows, values),
        Column::Int(values) => required::<Int64Type, W>(group, lists, rows, values),
        Column::Time(values) => {
            optional::<Int64Type, W>(group, lists, rows, |place| Some(values[place]).filter(|time| *time != NO_TIME))
        }
        Column::Text(values) => {
            optional::<ByteArrayType, W>(group, lists, rows, |place| values[place].as_deref().map(ByteArray::from))
        }
        Column::Raw(raw) => {
            let text = Bytes::copy_from_slice(raw.text().as_bytes());
            let value = |place| Some(raw.span(place)).filter(|span| !span.is_empty());
            optional::<ByteArrayType, W>(group, lists, rows, |place| value(place).map(|span| text.slice(span).into()))
        }
        Column::List(list) => {
            lists.push(&list.offsets);
            required::<DoubleType, W>(group, lists, rows, &list.values)?;
            lists.pop();
            Ok(())
        }
        Column::Rows(records) => {
            lists.push(&records.offsets);
            if records.columns.is_empty() {
                let count = records.offsets.last().map_or(0, |end| *end as usize);
                required::<Int64Type, W>(group, lists, rows, &vec![0; count])?;
            }
            records.columns.iter().try_for_each(|(_, column)| write(group, column, rows, lists))?;
            lists.pop();
            Ok(())
        }
    }
}

/// Values that are all there.
fn required<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    lists: &[&[i64]],
    rows: &Range<usize>,
    values: &[T::T],
) -> Parquet<()> {
    let mut writer = group.next_column()?.ok_or_else(too_many)?;
    let mut levels = Levels::default();
    for rows in stripes(rows) {
        let places = levels.lay_out(lists, rows);
        let definitions = (!lists.is_empty()).then_some(&levels.definitions[..]);
        writer.typed::<T>().write_batch(&values[places], definitions, levels.repetitions(lists))?;
    }
    writer.close()
}

/// Values that `value` tells the places of: some may not be there.
fn optional<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    lists: &[&[i64]],
    rows: &Range<usize>,
    value: impl Fn(usize) -> Option<T::T>,
) -> Parquet<()> {
    let mut writer = group.next_column()?.ok_or_else(too_many)?;
    let (mut levels, mut values, depth) = (Levels::default(), Vec::new(), lists.len() as i16);
    for rows in stripes(rows) {
        let mut places = levels.lay_out(lists, rows);
        values.clear();
        for level in levels.definitions.iter_mut().filter(|level| **level == depth) {
            if let Some(value) = places.next().and_then(&value) {
                *level += 1;
                values.push(value);
            }
        }
        writer.typed::<T>().write_batch(&values, Some(&levels.definitions), levels.repetitions(lists))?;
    }
    writer.close()
}

fn stripes(rows: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.clone().step_by(STRIPE).map(move |start| start..end.min(start + STRIPE))
}

fn too_many() -> ParquetError {
    ParquetError::General("more columns than the schema has".to_owned())
}

/// The levels of some rows.
#[derive(Default)]
struct Levels {
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl Levels {
    /// Lays out some rows, as if every value were there; gives the places of their values.
    fn lay_out(&mut self, lists: &[&[i64]], rows: Range<usize>) -> Range<usize> {
        self.definitions.clear();
        self.repetitions.clear();
        if lists.is_empty() {
            self.definitions.resize(rows.len(), 0);
        } else {
            self.list(lists, 1, 0, rows.clone());
        }
        lists.iter().fold(rows, |rows, offsets| offsets[rows.start] as usize..offsets[rows.end] as usize)
    }

    /// The repetition levels; `None` where nothing repeats.
    fn repetitions(&self, lists: &[&[i64]]) -> Option<&[i16]> {
        (!lists.is_empty()).then_some(&self.repetitions)
    }

    /// Lays out some rows of the first of these lists, which is so deep; `first` is the repetition level of the first row.
    fn list(&mut self, lists: &[&[i64]], depth: i16, first: i16, rows: Range<usize>) {
        let Some((offsets, inner)) = lists.split_first() else { return };
        let mut repetition = first;
        for row in rows {
            let places = offsets[row] as usize..offsets[row + 1] as usize;
            if places.is_empty() {
                self.definitions.push(depth - 1);
                self.repetitions.push(repetition);
            } else if inner.is_empty() {
                self.definitions.resize(self.definitions.len() + places.len(), depth);
                self.repetitions.push(repetition);
                self.repetitions.resize(self.definitions.len(), depth);
            } else {
                self.list(inner, depth + 1, repetition, places);
            }
            repetition = depth - 1;
        }
    }
}
