//! Columns → pixels: pictures of ragged levels, straight from values and offsets, without a dense grid.
//!
//! A *cell* is a level within its snapshot: it spans the time `[start, end)` of the snapshot's bucket and the prices
//! `[price, price + height)`. Along each axis a cell takes the pixels whose centre lies in it; one so small that no centre does
//! takes the pixel around its middle. So no cell is lost, cells that touch leave no pixel between them, and cells larger
//! than a pixel are exact rectangles. Times are compared as whole nanoseconds.
//!
//! Pixels of columns in which no snapshot stands are NaN: nothing is known there. Where one stands and has no level, they
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
