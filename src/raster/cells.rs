//! What is drawn, and what of it is seen.

use crate::clock::UnixNanos;
use std::ops::Range;

/// Pixels of the largest picture: 256 MiB.
const MOST_PIXELS: usize = 1 << 26;
/// Pixels of the longest side of a picture.
const LONGEST: usize = 1 << 15;

/// Which number of a level is its volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeField {
    /// The one at this place; the price stands at 0.
    At(usize),
    /// The sum of all but the price.
    All,
}

/// Which levels count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelSide {
    /// All of them.
    Both,
    /// The bids. Snapshots that do not tell them from the asks are as if they were not there.
    Bids,
    /// The asks.
    Asks,
}

/// Ragged levels: those of snapshot `i` are `levels[offsets[i]..offsets[i + 1]]`, ascending by price; of a snapshot whose
/// bids are told, bids and asks each ascend.
#[derive(Debug, Clone, Copy)]
pub struct RaggedLevels<'a, const F: usize> {
    /// Price and volumes of every level.
    pub levels: &'a [[f64; F]],
    /// Where each snapshot starts; one more than there are snapshots.
    pub offsets: &'a [i64],
    /// Bids of each snapshot, negative where that is not known; empty if nowhere.
    pub split: &'a [i64],
    /// Unix nanoseconds at which each snapshot's bucket starts, ascending.
    pub starts: &'a [i64],
    /// Unix nanoseconds at which each ends, ascending.
    pub ends: &'a [i64],
    /// Height of a level in prices.
    pub height: f64,
    /// Which number of a level is its volume.
    pub field: VolumeField,
    /// Which levels count.
    pub side: LevelSide,
}

/// What is seen, at which resolution.
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

/// Why there is no picture.
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
    /// The window ends where it starts, or before.
    #[error("the window ends at or before its start; give the start first")]
    Window,
    /// The prices are not two numbers of which the first is lower.
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
    /// A level has no number at this place.
    #[error("a level has no volume at place {0}")]
    Field(usize),
    /// Parts of the levels do not fit together.
    #[error("{0}")]
    Shape(&'static str),
}

impl Viewport {
    /// Whether there is such a picture.
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
    /// Whether the parts fit together; nothing is drawn, and no index used, before that is known.
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

    /// The stretches of a snapshot's levels that count, each of ascending prices; `None` where the side is not known.
    pub(super) fn runs(&self, snapshot: usize) -> Option<[Range<usize>; 2]> {
        runs(self.offsets, self.split, snapshot, self.side)
    }
}

/// Whether a cell may be so high.
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

/// Whether offsets, levels and bids fit together.
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
