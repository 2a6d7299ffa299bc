//! Columnar containers: a series is its identity, its timestamps and named columns; what is ragged is values plus
//! offsets, as in Arrow. No JSON, no HTTP.

mod arrange;
mod column;
mod grid;
mod heatmap;
mod snapshots;

pub use arrange::{Conflict, arrange, join};
pub use column::{Column, List, NO_TIME, Rows};
pub use grid::{Grid, GridError};
pub use heatmap::{heatmap_from_flat, heatmap_from_levels, heatmap_from_sides, heatmap_of_sides};
pub use snapshots::{FlatSnapshots, LevelsError, Snapshots, ascend};

use std::borrow::Cow;
use std::sync::Arc;

use crate::protocol::{DataType, SeriesId, Shape};

/// Name of a column; that of a field which a table knows takes no memory of its own.
pub type Name = Cow<'static, str>;

/// Name of the column that holds a heatmap's (price, volume) pairs.
pub const LEVELS: &str = "levels";
/// Name of the column that holds the number of bids of each heatmap snapshot.
pub const SPLIT: &str = "split";

/// One series: rows of one identity, one timestamp each, and columns of the same length.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What the series is of.
    pub id: Arc<SeriesId>,
    /// What a row holds. A [`Shape::Heatmap`] has exactly the columns [`LEVELS`] and [`SPLIT`].
    pub shape: Shape,
    /// Unix nanoseconds of each row.
    pub timestamps: Vec<i64>,
    /// Named columns, each as long as `timestamps`.
    pub columns: Vec<(Name, Column)>,
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

    /// The rows named by `order`, in that order.
    pub fn take(&mut self, order: &[usize]) {
        self.timestamps = order.iter().map(|&row| self.timestamps[row]).collect();
        for (_, column) in &mut self.columns {
            *column = column.take(order);
        }
    }
}
