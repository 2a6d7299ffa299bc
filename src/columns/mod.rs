//! Columnar containers: a series is its identity, its timestamps and named columns; what is ragged is values plus
//! offsets, as in Arrow. No JSON, no HTTP.
//!
//! ```
//! use marketpoints::columns::{Column, Series, join, latest_values};
//! use marketpoints::protocol::{SeriesId, Shape};
//!
//! let answer = |timestamps: &[i64], close: &[f64]| Series {
//!     timestamps: timestamps.to_vec(), // Unix nanoseconds
//!     columns: vec![("close".into(), Column::Float(close.to_vec()))],
//!     ..Series::empty(SeriesId::default(), Shape::Table)
//! };
//! // The answers of two requests, which share a row.
//! let answers = vec![vec![answer(&[60, 120], &[2.0, 3.0])], vec![answer(&[0, 60], &[1.0, 2.0])]];
//! let candles = join(answers, true).unwrap().remove(0);
//! assert_eq!(candles.timestamps, [0, 60, 120]);
//!
//! // What was known at some moments and no older than 50 ns.
//! let close = candles.floats("close").unwrap();
//! assert_eq!(close, [1.0, 2.0, 3.0]);
//! let known = latest_values(&[70, 120, 171], &candles.timestamps, 50, close);
//! assert!(known[..2] == [2.0, 3.0] && known[2].is_nan());
//! ```

mod arrange;
pub mod arrow;
mod asof;
mod buckets;
mod column;
mod grid;
mod growing;
mod heatmap;
pub(crate) mod pages;
pub(crate) mod parallel;
mod raw;
mod series;
mod snapshots;
mod text;

pub use arrange::{Conflict, Contradiction, arrange, join};
pub(crate) use arrange::{Joiner, times_ascend};
pub use asof::{copy_of_ascending, gather, latest_known, latest_values};
pub use buckets::RowBuckets;
pub use column::{Column, ColumnName, List, NO_TIME, RaggedRows};
pub use grid::{DenseHeatmap, DenseHeatmapError};
pub(crate) use growing::Growing;
pub use heatmap::{heatmap_from_flat, heatmap_from_levels, heatmap_from_sides, heatmap_of_sides};
pub use raw::Raw;
pub use series::{LEVELS, SPLIT, Series};
pub use snapshots::{FlatSnapshots, LevelsError, Snapshots, ascend};
