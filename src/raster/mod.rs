//! Columns → pixels: pictures of ragged levels, directly from values and offsets, without a dense grid.
//!
//! A *cell* is a level of a snapshot: it spans the time `[start, end)` of the snapshot's bucket and the prices `[price,
//! price + height)`. Along each axis a cell covers the pixels whose centres are in it; one too small for any centre
//! covers the pixel around its middle. So no cell is lost, adjacent cells leave no gap, and cells larger than a pixel
//! are exact rectangles. Times are compared as integer nanoseconds.
//!
//! Pixels of columns without a snapshot are NaN: nothing is known there. Where there is a snapshot but no level, they
//! are 0.

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
