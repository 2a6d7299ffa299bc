//! The data to draw, and the view.

use crate::clock::UnixNanos;
use std::ops::Range;

/// Pixels of the largest picture: 256 MiB.
const MOST_PIXELS: usize = 1 << 26;
/// Pixels of the longest side of a picture.
const LONGEST: usize = 1 << 15;

/// Which number of a level is its volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeField {
    /// The one at this index; the price is at 0.
    At(usize),
    /// The sum of all but the price.
    All,
}

/// Which levels count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelSide {
    /// All of them.
    Both,
    /// The bids. Snapshots without known sides count as missing.
    Bids,
    /// The asks.
    Asks,
}

/// Ragged levels: those of snapshot `i` are `levels[offsets[i]..offsets[i + 1]]`, ascending by price; in a snapshot
/// with known sides, bids and asks each ascend.
#[derive(Debug, Clone, Copy)]
pub struct RaggedLevels<'a, const F: usize> {
    /// Price and volumes of every level.
    pub levels: &'a [[f64; F]],
    /// Start of each snapshot; one more entry than there are snapshots.
    pub offsets: &'a [i64],
    /// Number of bids of each snapshot, negative if unknown; empty if unknown for all.
    pub split: &'a [i64],
    /// Start of each snapshot's bucket in Unix nanoseconds, ascending.
    pub starts: &'a [i64],
    /// End of each in Unix nanoseconds, ascending.
    pub ends: &'a [i64],
    /// Height of a level in prices.
    pub height: f64,
    /// Which number of a level is its volume.
    pub field: VolumeField,
    /// Which levels count.
    pub side: LevelSide,
}

/// The visible part and its resolution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Viewport {
    /// The left edge.
    pub start: UnixNanos,
    /// The right edge.
    pub end: UnixNanos,
    /// Price at the lower edge.
    pub low: f64,
    /// Price at the upper edge.
    pub high: f64,
    /// Pixels from left to right.
    pub width: usize,
    /// Pixels from bottom to top.
    pub height: usize,
}

/// Why a picture cannot be drawn.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RasterError {
    /// A side without pixels.
    #[error("a picture of {width} × {height} pixels has none; give at least one each way")]
    NoPixels {
        /// From left to right.
        width: usize,
        /// From bottom to top.
        height: usize,
    },
    /// More pixels than a picture may have.
    #[error(
        "{width} × {height} pixels are too many: up to {LONGEST} each way and {MOST_PIXELS} in all; give a smaller width or \
         height, and a window or prices for more detail"
    )]
    TooLarge {
        /// From left to right.
        width: usize,
        /// From bottom to top.
        height: usize,
    },
    /// The window is empty or ends before it starts.
    #[error("the window ends at or before its start; give the start first")]
    Window,
    /// The prices are not two numbers in ascending order.
    #[error("prices from {low} to {high} are no range; give the lower one first, both finite")]
    Prices {
        /// Lower edge.
        low: f64,
        /// Upper edge.
        high: f64,
    },
    /// A cell has no height.
    #[error("{0} is no height of a cell; give a number of more than 0")]
    Height(f64),
    /// A level has no number at this index.
    #[error("a level has no volume at place {0}")]
    Field(usize),
    /// Parts of the levels are inconsistent.
    #[error("{0}")]
    Shape(&'static str),
}

impl Viewport {
    /// Checks that the view can be drawn.
    pub fn check(&self) -> Result<(), RasterError> {
        let Self { start, end, low, high, width, height } = *self;
        if width == 0 || height == 0 {
            return Err(RasterError::NoPixels { width, height });
        }
        if width.max(height) > LONGEST || width * height > MOST_PIXELS {
            return Err(RasterError::TooLarge { width, height });
        }
        if end <= start {
            return Err(RasterError::Window);
        }
        if !(low.is_finite() && high.is_finite() && low < high && (high - low).is_finite()) {
            return Err(RasterError::Prices { low, high });
        }
        Ok(())
    }
}

impl<const F: usize> RaggedLevels<'_, F> {
    /// Checks that the parts are consistent, before anything is drawn and any index used.
    pub fn check(&self) -> Result<(), RasterError> {
        check_offsets(self.offsets, self.levels.len(), self.split)?;
        let rows = self.offsets.len() - 1;
        if self.starts.len() != rows || self.ends.len() != rows {
            return Err(RasterError::Shape("every snapshot needs a start and an end"));
        }
        let ascending = |times: &[i64]| times.windows(2).all(|two| two[0] <= two[1]);
        let forward = self.starts.iter().zip(self.ends).all(|(start, end)| start <= end);
        if !(ascending(self.starts) && ascending(self.ends) && forward) {
            return Err(RasterError::Shape("starts and ends of snapshots must ascend"));
        }
        check_height(self.height)?;
        check_field::<F>(self.field)
    }

    /// The runs of a snapshot's levels that count, each with ascending prices; `None` if the side is unknown.
    pub(super) fn runs(&self, snapshot: usize) -> Option<[Range<usize>; 2]> {
        runs(self.offsets, self.split, snapshot, self.side)
    }
}

/// Whether a height of cells is valid.
pub(super) fn check_height(height: f64) -> Result<(), RasterError> {
    if height.is_finite() && height > 0.0 { Ok(()) } else { Err(RasterError::Height(height)) }
}

/// Whether a level of so many numbers has that volume.
pub(super) fn check_field<const F: usize>(field: VolumeField) -> Result<(), RasterError> {
    match field {
        VolumeField::At(place) if place == 0 || place >= F => Err(RasterError::Field(place)),
        _ => Ok(()),
    }
}

/// Whether offsets, levels and bids are consistent.
pub(super) fn check_offsets(offsets: &[i64], levels: usize, split: &[i64]) -> Result<(), RasterError> {
    let ascending = offsets.windows(2).all(|two| two[0] <= two[1]);
    if offsets.first() != Some(&0) || offsets.last() != Some(&(levels as i64)) || !ascending {
        return Err(RasterError::Shape("offsets must ascend from 0 to the number of levels"));
    }
    if !split.is_empty() && split.len() + 1 != offsets.len() {
        return Err(RasterError::Shape("bids must be given for every snapshot or for none"));
    }
    Ok(())
}

/// See [`RaggedLevels::runs`].
pub(super) fn runs(offsets: &[i64], split: &[i64], snapshot: usize, side: LevelSide) -> Option<[Range<usize>; 2]> {
    let (from, to) = (offsets[snapshot] as usize, offsets[snapshot + 1] as usize);
    let asks = split.get(snapshot).filter(|bids| **bids >= 0).map(|bids| (from + *bids as usize).min(to));
    match (side, asks) {
        (LevelSide::Both, asks) => Some([from..asks.unwrap_or(to), asks.unwrap_or(to)..to]),
        (LevelSide::Bids, Some(asks)) => Some([from..asks, asks..asks]),
        (LevelSide::Asks, Some(asks)) => Some([asks..asks, asks..to]),
        (_, None) => None,
    }
}

/// The volume of a level.
#[inline]
pub(super) fn volume<const F: usize>(level: &[f64; F], field: VolumeField) -> f64 {
    match field {
        VolumeField::At(place) => level[place],
        VolumeField::All => level[1..].iter().sum(),
    }
}
