//! Columnar containers: a series is its identity, its timestamps and named columns; what is ragged is values plus
//! offsets, as in Arrow. No JSON, no HTTP.

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

pub(crate) use arrange::Joiner;
pub use arrange::{Conflict, Contradiction, arrange, join};
pub use asof::{copy_of_ascending, gather, latest_known, latest_values};
pub use buckets::RowBuckets;
pub use column::{Column, ColumnName, List, NO_TIME, RaggedRows};
pub use grid::{DenseHeatmap, DenseHeatmapError};
pub(crate) use growing::Growing;
pub use heatmap::{heatmap_from_flat, heatmap_from_levels, heatmap_from_sides, heatmap_of_sides};
pub use raw::Raw;
pub use series::{LEVELS, SPLIT, Series};
pub use snapshots::{FlatSnapshots, LevelsError, Snapshots, ascend};
