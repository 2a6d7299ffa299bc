//! One series: its identity, its timestamps and its columns.

use std::sync::Arc;

use super::column::{Column, ColumnName, List, reserve};
use crate::protocol::{DataType, Field, FieldKind, SeriesId, Shape};

/// Name of the column that holds a heatmap's (price, volume) pairs.
pub const LEVELS: &str = "levels";
/// Name of the column that holds the number of bids of each heatmap snapshot.
pub const SPLIT: &str = "split";

/// One series: rows of one identity, one timestamp each, and columns of the same length.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Identity of the series.
    pub id: Arc<SeriesId>,
    /// Shape of a row. A [`Shape::Heatmap`] has exactly the columns [`LEVELS`] and [`SPLIT`].
    pub shape: Shape,
    /// Unix nanoseconds of each row.
    pub timestamps: Vec<i64>,
    /// Named columns, each as long as `timestamps`.
    pub columns: Vec<(ColumnName, Column)>,
}

impl Series {
    /// A series without rows or columns.
    pub fn empty(id: impl Into<Arc<SeriesId>>, shape: Shape) -> Self {
        Self { id: id.into(), shape, timestamps: Vec::new(), columns: Vec::new() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.timestamps.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.timestamps.is_empty()
    }

    /// Bytes that the rows take in memory, and some for the series itself.
    pub fn bytes(&self) -> usize {
        const ITSELF: usize = 1 << 10;
        let columns: usize = self.columns.iter().map(|(_, column)| column.bytes()).sum();
        ITSELF + size_of_val(&self.timestamps[..]) + columns
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(known, _)| known == name).map(|(_, column)| column)
    }

    /// The doubles of a column; `None` when there is no such column or it holds something else.
    pub fn floats(&self, name: &str) -> Option<&[f64]> {
        match self.column(name)? {
            Column::Float(values) => Some(values),
            _ => None,
        }
    }

    /// The level pairs and the bids per snapshot of a heatmap.
    pub fn levels(&self) -> Option<(&List, &[i64])> {
        match (self.column(LEVELS)?, self.column(SPLIT)?) {
            (Column::List(levels), Column::Int(split)) => Some((levels, split)),
            _ => None,
        }
    }

    /// The type, where the table knows it.
    pub fn data_type(&self) -> Option<DataType> {
        self.id.data_type.as_deref().and_then(DataType::find)
    }

    /// Prices of the type that are 0 in every row, while there are fields that no table knows: a service that renamed a
    /// price would look so.
    pub fn vanished_prices(&self) -> Vec<&'static str> {
        let fields = self.data_type().map_or(&[][..], |known| known.spec().fields);
        if self.is_empty() { Vec::new() } else { vanished(fields, &self.columns) }
    }

    /// Makes room for so many times the rows that are there.
    pub(crate) fn reserve(&mut self, times: f64) {
        reserve(&mut self.timestamps, times);
        for (_, column) in &mut self.columns {
            column.reserve(times);
        }
    }

    /// The rows named by `order`, in that order.
    pub fn take(&mut self, order: &[usize]) {
        self.timestamps = order.iter().map(|&row| self.timestamps[row]).collect();
        for (_, column) in &mut self.columns {
            *column = column.take(order);
        }
    }
}

fn vanished(fields: &[Field], columns: &[(ColumnName, Column)]) -> Vec<&'static str> {
    let known = |name: &str| fields.iter().any(|field| field.column == name);
    let has_unknown = columns.iter().any(|(name, _)| !known(name));
    let mut found = Vec::new();
    for field in fields {
        let column = columns.iter().find(|(name, _)| name == field.column).map(|(_, column)| column);
        match (field.kind, column) {
            (FieldKind::Price, Some(Column::Float(values))) if has_unknown && !values.is_empty() => {
                found.extend(values.iter().all(|value| *value == 0.0).then_some(field.column));
            }
            (FieldKind::Rows(inner), Some(Column::Rows(rows))) => found.extend(vanished(inner, &rows.columns)),
            _ => {}
        }
    }
    found
}
