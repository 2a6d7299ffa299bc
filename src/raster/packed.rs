//! Levels packed for repeated pictures: one float per price of the grid instead of two doubles per level.
//!
//! The time of a picture of the largest volumes is that of reading its levels from memory. When packed, a volume's
//! position gives its price, and volumes have the precision of the picture: rounding keeps their order, so the largest
//! of the rounded ones is the largest one, rounded.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::cells::{
    LevelSide, RaggedLevels, RasterError, VolumeField, check_field, check_height, check_offsets, runs, volume,
};
use super::pixel_coverage::PriceRows;
use crate::columns::pages;
use crate::columns::parallel::{share, threads};

/// Most prices of the grid.
const MOST_PLACES: usize = 1 << 20;
/// Most packed volumes: 64 MB, the most memory for a picture beside its pixels.
const MOST_VOLUMES: usize = 16_000_000;
/// The grid has holes where a book has no level; with more than this per level, packing does not save memory.
const HOLES: usize = 2;
/// Stretches that a thread packs at a time.
const BUNCH: usize = 128;
/// No price: a NaN.
const UNKNOWN: u64 = u64::MAX;

/// The volumes of a run of ascending levels, one for each grid price between the lowest and the highest.
#[derive(Debug, Clone, Copy)]
struct LevelStretch {
    /// Grid index of its lowest level.
    first: u32,
    /// Number of grid prices.
    count: u32,
    /// Start of its volumes.
    from: usize,
}

/// Levels whose prices are on a grid with the cells' height.
#[derive(Debug)]
pub struct Packed {
    /// The price of each grid index, ascending.
    prices: Vec<f64>,
    volumes: Vec<f32>,
    /// Two per snapshot: its bids and its asks, or all its levels and nothing.
    stretches: Vec<LevelStretch>,
    levels: usize,
}

impl Packed {
    /// Packs levels of any side; `None` if that would take too much memory, or if two prices have the same grid index.
    ///
    /// # Errors
    /// Parts of the levels are inconsistent.
    pub fn new<const F: usize>(
        levels: &[[f64; F]],
        offsets: &[i64],
        split: &[i64],
        height: f64,
        field: VolumeField,
    ) -> Result<Option<Self>, RasterError> {
        check_offsets(offsets, levels.len(), split)?;
        check_field::<F>(field)?;
        check_height(height)?;
        let stretch_of = |snapshot| runs(offsets, split, snapshot, LevelSide::Both).unwrap_or([0..0, 0..0]);
        let all = || (0..offsets.len() - 1).flat_map(stretch_of).map(|run| &levels[run]);
        let ends = |run: &[[f64; F]]| Some((run.first()?[0], run.last()?[0]));
        let (low, high) = all()
            .filter_map(ends)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (first, last)| (low.min(first), high.max(last)));
        let places = if low <= high { ((high - low) / height).round() + 1.0 } else { 0.0 };
        if places.is_nan() || places > MOST_PLACES as f64 {
            return Ok(None);
        }
        let grid = PriceGrid { low, height, bits: (0..places as usize).map(|_| AtomicU64::new(UNKNOWN)).collect() };
        let mut stretches = Vec::with_capacity(2 * (offsets.len() - 1));
        let most = MOST_VOLUMES.min(levels.len().saturating_mul(HOLES));
        let mut from = 0;
        for run in all() {
            let (first, count) = ends(run).map_or((0, 0), |(lowest, highest)| {
                let first = grid.place(lowest);
                (first, (grid.place(highest) + 1).saturating_sub(first))
            });
            if from + count > most || first + count > grid.bits.len() {
                return Ok(None);
            }
            stretches.push(LevelStretch { first: first as u32, count: count as u32, from });
            from += count;
        }
        let mut volumes = pages::zeros(from);
        let mut parts = Vec::with_capacity(stretches.len());
        let mut rest = volumes.as_mut_slice();
        for (run, stretch) in all().zip(&stretches) {
            let part;
            (part, rest) = rest.split_at_mut(stretch.count as usize);
            parts.push((run, stretch.first as usize, part));
        }
        let fits = AtomicBool::new(true);
        share(threads(levels.len()), parts.chunks_mut(BUNCH), |bunch| {
            for (run, first, volumes) in bunch {
                if !grid.fill(run, *first, volumes, |level| volume(level, field)) {
                    fits.store(false, Ordering::Relaxed);
                }
            }
        });
        let fits = fits.into_inner();
        Ok(fits.then(|| Self { prices: grid.prices(), volumes, stretches, levels: levels.len() }))
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.prices) + size_of_val(&*self.volumes) + size_of_val(&*self.stretches)
    }

    /// Whether these are the levels of the cells, judged by their numbers.
    pub(super) fn is_of<const F: usize>(&self, cells: &RaggedLevels<'_, F>) -> bool {
        self.levels == cells.levels.len() && self.stretches.len() == 2 * cells.starts.len()
    }

    /// For each row of pixels, the grid indices whose cells cover it.
    fn places(&self, rows: PriceRows) -> Vec<Range<usize>> {
        let mut taken = vec![0..0; rows.count];
        for (place, price) in self.prices.iter().enumerate() {
            let Some((first, last)) = rows.pixels(*price) else { continue };
            for row in taken.get_mut(first..=last).unwrap_or_default() {
                *row = if row.end == 0 { place..place + 1 } else { row.start..place + 1 };
            }
        }
        taken
    }
}

/// The prices that occur, by grid index.
struct PriceGrid {
    low: f64,
    height: f64,
    /// The bits of each price; [`UNKNOWN`] if it does not occur.
    bits: Vec<AtomicU64>,
}

impl PriceGrid {
    /// The nearest grid index; `round` would be a function call on the oldest supported processors.
    #[inline]
    fn place(&self, price: f64) -> usize {
        ((price - self.low) / self.height + 0.5) as usize
    }

    /// Writes the volumes of ascending levels to their grid positions; the index of the first is given. `false` if a
    /// level has no index of its own.
    fn fill<const F: usize>(
        &self,
        run: &[[f64; F]],
        first: usize,
        volumes: &mut [f32],
        volume: impl Fn(&[f64; F]) -> f64,
    ) -> bool {
        run.iter().all(|level| {
            let (place, bits) = (self.place(level[0]), level[0].to_bits());
            let Some(kept) = volumes.get_mut(place.wrapping_sub(first)) else { return false };
            *kept = larger(*kept, volume(level) as f32);
            // It is mostly known: after the first thread has written it, others only read it.
            let known = self.bits[place].load(Ordering::Relaxed);
            let was = || self.bits[place].compare_exchange(UNKNOWN, bits, Ordering::Relaxed, Ordering::Relaxed);
            level[0].is_finite()
                && (known == bits || known == UNKNOWN && was().map_or_else(|was| was == bits, |_| true))
        })
    }

    /// The price of each grid index. Indices without a level are never used; they are only filled to be ascending.
    fn prices(self) -> Vec<f64> {
        let Self { low, height, bits } = self;
        let price = |(place, bits): (usize, AtomicU64)| match bits.into_inner() {
            UNKNOWN => low + place as f64 * height,
            bits => f64::from_bits(bits),
        };
        bits.into_iter().enumerate().map(price).collect()
    }
}

/// Packed levels with a view.
pub(super) struct Painter<'a> {
    packed: &'a Packed,
    side: LevelSide,
    split: &'a [i64],
    /// For each row of pixels, the grid indices whose cells cover it.
    rows: Vec<Range<usize>>,
    /// The visible grid indices.
    seen: Range<usize>,
}

/// The largest volume of each grid index, over the snapshots of a column of pixels.
pub(super) struct PixelColumn {
    largest: Vec<f32>,
    touched: Range<usize>,
}

impl<'a> Painter<'a> {
    pub(super) fn new(packed: &'a Packed, rows: PriceRows, side: LevelSide, split: &'a [i64]) -> Self {
        let rows = packed.places(rows);
        let taken = || rows.iter().filter(|places| !places.is_empty());
        let start = taken().map(|places| places.start).min().unwrap_or_default();
        let end = taken().map(|places| places.end).max().unwrap_or_default();
        Self { packed, side, split, rows, seen: start..end }
    }

    pub(super) fn line(&self) -> PixelColumn {
        PixelColumn { largest: vec![0.0; self.packed.prices.len()], touched: 0..0 }
    }

    /// Paints the largest volumes of some snapshots, or of the first with a known side, into a column of pixels.
    pub(super) fn column(
        &self,
        snapshots: impl Iterator<Item = usize>,
        only_first: bool,
        line: &mut PixelColumn,
        pixels: &mut [f32],
    ) {
        line.clear();
        let known =
            snapshots.filter(|snapshot| self.put(*snapshot, line)).take(if only_first { 1 } else { usize::MAX });
        if known.count() == 0 {
            pixels.fill(f32::NAN);
            return;
        }
        for (pixel, places) in pixels.iter_mut().zip(&self.rows) {
            *pixel = line.largest[places.clone()].iter().fold(0.0, |largest, volume| larger(largest, *volume));
        }
    }

    /// Merges the volumes of a snapshot into a line; returns whether its side is known.
    fn put(&self, snapshot: usize, line: &mut PixelColumn) -> bool {
        let is_split = self.split.get(snapshot).is_some_and(|bids| *bids >= 0);
        let [bids, asks] = [2 * snapshot, 2 * snapshot + 1].map(|number| self.packed.stretches[number]);
        let stretches: &[LevelStretch] = match self.side {
            LevelSide::Both => &[bids, asks],
            LevelSide::Bids if is_split => &[bids],
            LevelSide::Asks if is_split => &[asks],
            _ => return false,
        };
        for stretch in stretches {
            let (first, count) = (stretch.first as usize, stretch.count as usize);
            let (from, to) = (first.max(self.seen.start), (first + count).min(self.seen.end));
            if from < to {
                let volumes = &self.packed.volumes[stretch.from + from - first..stretch.from + to - first];
                line.put(from..to, volumes);
            }
        }
        true
    }
}

impl PixelColumn {
    fn clear(&mut self) {
        self.largest[self.touched.clone()].fill(0.0);
        self.touched = 0..0;
    }

    fn put(&mut self, places: Range<usize>, volumes: &[f32]) {
        for (largest, volume) in self.largest[places.clone()].iter_mut().zip(volumes) {
            *largest = larger(*largest, *volume);
        }
        let touched = &self.touched;
        self.touched =
            if touched.is_empty() { places } else { touched.start.min(places.start)..touched.end.max(places.end) };
    }
}

#[inline]
fn larger(one: f32, other: f32) -> f32 {
    if other > one { other } else { one }
}
