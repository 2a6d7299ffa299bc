//! Columns → pixels: pictures of ragged levels, directly from values and offsets, without a dense grid.
//!
//! A *cell* is a level of a snapshot: it spans the time `[start, end)` of the snapshot's bucket and the prices `[price,
//! price + height)`. Along each axis a cell covers the pixels whose centres are in it; one too small for any centre
//! covers the pixel around its middle. So no cell is lost, adjacent cells leave no gap, and cells larger than a pixel
//! are exact rectangles. Times are compared as integer nanoseconds.
//!
//! Pixels of columns without a snapshot are NaN: nothing is known there. Where there is a snapshot but no level, they
//! are 0.
//!
//! ```
//! use marketpoints::clock::UnixNanos;
//! use marketpoints::raster::{LevelSide, RaggedLevels, Reduce, Viewport, VolumeField, raster};
//!
//! // Two minutes of a book: a bid at 99 and an ask at 101, then the ask alone.
//! let minutes = [0, 60_000_000_000, 120_000_000_000];
//! let cells = RaggedLevels {
//!     levels: &[[99.0, 3.0], [101.0, 1.0], [101.0, 2.0]], // price and volume
//!     offsets: &[0, 2, 3],
//!     split: &[1, 0],
//!     starts: &minutes[..2],
//!     ends: &minutes[1..],
//!     height: 1.0,
//!     field: VolumeField::At(1),
//!     side: LevelSide::Both,
//! };
//! let (start, end) = (UnixNanos(0), UnixNanos(minutes[2]));
//! let view = Viewport { start, end, low: 99.0, high: 102.0, width: 2, height: 3 };
//! let picture = raster(&cells, None, &view, Reduce::Max)?;
//! assert_eq!(picture, ndarray::array![[3.0, 0.0], [0.0, 0.0], [1.0, 2.0]]); // the lowest prices first
//! # Ok::<(), marketpoints::raster::RasterError>(())
//! ```

mod cells;
mod extent;
mod packed;
mod paint;
mod pixel_coverage;
mod regroup;

pub use cells::{LevelSide, RaggedLevels, RasterError, Viewport, VolumeField};
pub use extent::{Extent, extent, quantiles};
pub use packed::Packed;
pub use paint::{Reduce, raster};
pub use regroup::{Regrouped, regroup};
