//! Draws the picture, column by column of pixels.

use std::ops::Range;

use ndarray::Array2;

use super::cells::{RaggedLevels, RasterError, Viewport, VolumeField, volume};
use super::packed::{Packed, Painter};
use super::pixel_coverage::{PriceRows, Spread, columns};
use crate::clock::UnixNanos;
use crate::columns::parallel::{share, threads};

/// Columns of pixels that a thread takes at a time.
const BUNCH: usize = 32;

/// How a pixel combines its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduce {
    /// The largest volume: a wall survives any zoom.
    Max,
    /// The volume in the pixel if each cell's volume is spread evenly over its rectangle: the pixels of a picture add
    /// up to the volume shown, and those of a zoomed view to those of a wider one.
    Sum,
    /// The sum of the full volumes of its cells. Where cells are smaller than pixels that equals [`Reduce::Sum`];
    /// larger ones have their full volume in each of their pixels.
    Stack,
    /// The largest volume of the latest snapshot.
    Last,
}

/// The pixels of a view: (height, width), with the lowest prices in the first row. NaN without a snapshot, 0 without a
/// level.
///
/// NaN volumes are ignored, and so are negative ones except in the two sums. Sums are computed in doubles, in the order
/// of the snapshots and, within them, of the levels.
///
/// For the largest volumes, of all or of the latest snapshots, `packed` gives the same pixels in less time.
///
/// # Errors
/// The view is not valid, parts of the levels are inconsistent, or `packed` is of other levels.
pub fn raster<const F: usize>(
    cells: &RaggedLevels<'_, F>,
    packed: Option<&Packed>,
    view: &Viewport,
    reduce: Reduce,
) -> Result<Array2<f32>, RasterError> {
    view.check()?;
    cells.check()?;
    if packed.is_some_and(|packed| !packed.is_of(cells)) {
        return Err(RasterError::Shape("other levels were packed than are to be drawn"));
    }
    let (width, height) = (view.width, view.height);
    let mut picture = vec![0.0; width * height];
    let seen = VisibleLevels::new(cells, view, reduce);
    let packed = packed.filter(|_| matches!(reduce, Reduce::Max | Reduce::Last));
    let painter = packed.map(|packed| Painter::new(packed, seen.rows, cells.side, cells.split));
    // The parts of all rows for a group of columns: each group is written by one thread.
    let mut bunches: Vec<Vec<&mut [f32]>> = Vec::new();
    bunches.resize_with(width.div_ceil(BUNCH), || Vec::with_capacity(height));
    for row in picture.chunks_mut(width) {
        for (bunch, part) in bunches.iter_mut().zip(row.chunks_mut(BUNCH)) {
            bunch.push(part);
        }
    }
    share(threads(seen.levels().max(width * height / 4)), bunches.into_iter().enumerate(), |(bunch, mut rows)| {
        let wide = rows.first().map_or(0, |row| row.len());
        let mut columns = vec![0.0; wide * height];
        match &painter {
            Some(painter) => seen.paint_packed(painter, bunch * BUNCH, &mut columns),
            None => seen.paint(bunch * BUNCH, &mut columns),
        }
        for (place, row) in rows.iter_mut().enumerate() {
            for (pixel, column) in row.iter_mut().zip(columns[place..].iter().step_by(height)) {
                *pixel = *column;
            }
        }
    });
    Array2::from_shape_vec((height, width), picture).map_err(|_| RasterError::TooLarge { width, height })
}

/// The visible part of some cells.
struct VisibleLevels<'a, const F: usize> {
    cells: &'a RaggedLevels<'a, F>,
    view: &'a Viewport,
    reduce: Reduce,
    rows: PriceRows,
    /// The first snapshot that may be visible.
    first: usize,
    /// First and last pixel column of each snapshot from there on; both ascend.
    spans: Vec<(i64, i64)>,
}

impl<'a, const F: usize> VisibleLevels<'a, F> {
    fn new(cells: &'a RaggedLevels<'a, F>, view: &'a Viewport, reduce: Reduce) -> Self {
        let first = cells.ends.partition_point(|end| *end < view.start.0);
        let last = cells.starts.partition_point(|start| *start < view.end.0).max(first);
        let span = |snapshot: usize| {
            let (start, end) = (UnixNanos(cells.starts[snapshot]), UnixNanos(cells.ends[snapshot]));
            if reduce != Reduce::Sum {
                return columns(view, start, end);
            }
            let spread = Spread::of_time(view, start, end);
            (spread.first, spread.last)
        };
        let spans = (first..last).map(span).collect();
        Self { cells, view, reduce, rows: PriceRows::new(view, cells.height), first, spans }
    }

    /// Number of levels of the visible snapshots.
    fn levels(&self) -> usize {
        let offsets = self.cells.offsets;
        (offsets[self.first + self.spans.len()] - offsets[self.first]) as usize
    }

    /// Paints some columns of pixels, starting from a given one.
    fn paint(&self, column: usize, pixels: &mut [f32]) {
        match self.cells.field {
            // The usual case has its own loop, without a decision per level.
            VolumeField::At(1) => self.paint_with(column, pixels, |level| level[1]),
            field => self.paint_with(column, pixels, |level| volume(level, field)),
        }
    }

    fn paint_with(&self, column: usize, pixels: &mut [f32], volume: impl Fn(&[f64; F]) -> f64 + Copy) {
        let height = self.view.height;
        let mut line = vec![0.0; height];
        let mut before = None;
        for (number, pixels) in pixels.chunks_mut(height).enumerate() {
            let column = (column + number) as i64;
            let snapshots = self.snapshots(column);
            // A snapshot that covers many columns is painted once; for a sum, its edges have less.
            if self.reduce == Reduce::Sum || before.as_ref() != Some(&snapshots) {
                before = Some(snapshots.clone());
                line.fill(0.0);
                if !self.column(column, snapshots, &mut line, volume) {
                    line.fill(f64::NAN);
                }
            }
            for (pixel, value) in pixels.iter_mut().zip(&line) {
                *pixel = *value as f32;
            }
        }
    }

    /// Paints columns from packed levels.
    fn paint_packed(&self, painter: &Painter<'_>, column: usize, pixels: &mut [f32]) {
        let (height, mut line, mut before) = (self.view.height, painter.line(), None);
        for number in 0..pixels.len() / height {
            let snapshots = self.snapshots((column + number) as i64);
            let at = number * height;
            if before.as_ref() == Some(&snapshots) {
                pixels.copy_within(at - height..at, at);
                continue;
            }
            let pixels = &mut pixels[at..at + height];
            match self.reduce {
                Reduce::Last => painter.column(snapshots.clone().rev(), true, &mut line, pixels),
                _ => painter.column(snapshots.clone(), false, &mut line, pixels),
            }
            before = Some(snapshots);
        }
    }

    /// The snapshots that cover a column of pixels.
    fn snapshots(&self, column: i64) -> Range<usize> {
        let from = self.spans.partition_point(|span| span.1 < column);
        let to = self.spans.partition_point(|span| span.0 <= column).max(from);
        self.first + from..self.first + to
    }

    /// Paints some snapshots into a column of pixels. Returns whether there was one.
    fn column(
        &self,
        column: i64,
        snapshots: Range<usize>,
        line: &mut [f64],
        volume: impl Fn(&[f64; F]) -> f64 + Copy,
    ) -> bool {
        let levels = |run| &self.cells.levels[run];
        if self.reduce == Reduce::Last {
            let Some(runs) = snapshots.rev().find_map(|snapshot| self.cells.runs(snapshot)) else { return false };
            for run in runs {
                self.whole(levels(run), line, volume, largest);
            }
            return true;
        }
        let mut known = false;
        for snapshot in snapshots {
            let Some(runs) = self.cells.runs(snapshot) else { continue };
            known = true;
            for run in runs.map(levels) {
                match self.reduce {
                    Reduce::Max | Reduce::Last => self.whole(run, line, volume, largest),
                    Reduce::Stack => self.whole(run, line, volume, add),
                    Reduce::Sum => {
                        let (start, end) = (self.cells.starts[snapshot], self.cells.ends[snapshot]);
                        let (start, end) = (UnixNanos(start), UnixNanos(end));
                        self.spread(run, line, volume, Spread::of_time(self.view, start, end).share(column));
                    }
                }
            }
        }
        known
    }

    /// The levels that reach into the view, possibly with neighbours.
    fn within<'b>(&self, run: &'b [[f64; F]]) -> &'b [[f64; F]] {
        let below = |level: &[f64; F]| level[0] + self.cells.height <= self.view.low;
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return run };
        // All of them, mostly: searching memory that is not cached would take longer than painting.
        if !below(first) && last[0] < self.view.high {
            return run;
        }
        let from = run.partition_point(below);
        let to = run.partition_point(|level| level[0] < self.view.high).max(from);
        &run[from..to]
    }

    /// Paints the full volume of each level into each of its pixels.
    #[inline]
    fn whole(
        &self,
        run: &[[f64; F]],
        line: &mut [f64],
        volume: impl Fn(&[f64; F]) -> f64,
        put: impl Fn(&mut f64, f64),
    ) {
        let rows = self.rows;
        let mut run = self.within(run);
        if rows.are_coarse() {
            let below = |level: &[f64; F]| rows.middle(level[0]) < 0.0;
            if run.first().is_some_and(below) {
                run = &run[run.partition_point(below)..];
            }
            for level in run {
                // The middle of a cell at the edge may be outside of the view.
                if let Some(pixel) = line.get_mut(rows.middle(level[0]) as i32 as usize) {
                    put(pixel, volume(level));
                }
            }
            return;
        }
        for level in run {
            let (first, last) = rows.of(level[0]);
            let volume = volume(level);
            if let Some(pixels) = line.get_mut(first..=last) {
                for pixel in pixels {
                    put(pixel, volume);
                }
            }
        }
    }

    /// Adds to each pixel the part of each level within it.
    fn spread(&self, run: &[[f64; F]], line: &mut [f64], volume: impl Fn(&[f64; F]) -> f64, share: f64) {
        for level in self.within(run) {
            let spread = self.rows.spread(level[0]);
            let volume = volume(level) * share;
            for pixel in spread.first.max(0)..=spread.last.min(line.len() as i64 - 1) {
                add(&mut line[pixel as usize], volume * spread.share(pixel));
            }
        }
    }
}

/// Without a branch: which of two volumes is larger cannot be predicted.
#[inline]
fn largest(pixel: &mut f64, volume: f64) {
    *pixel = if volume > *pixel { volume } else { *pixel };
}

#[inline]
fn add(pixel: &mut f64, volume: f64) {
    if !volume.is_nan() {
        *pixel += volume;
    }
}

#[cfg(test)]
mod tests {
    use super::super::LevelSide;
    use super::*;

    const LEVELS: [[f64; 2]; 4] = [[1.0, 5.0], [2.0, 7.0], [1.0, 3.0], [3.0, 4.0]];

    fn cells() -> RaggedLevels<'static, 2> {
        RaggedLevels {
            levels: &LEVELS,
            offsets: &[0, 2, 4],
            split: &[1, -1],
            starts: &[0, 20],
            ends: &[10, 30],
            height: 1.0,
            field: VolumeField::At(1),
            side: LevelSide::Both,
        }
    }

    fn view(width: usize, height: usize) -> Viewport {
        Viewport { start: UnixNanos(0), end: UnixNanos(30), low: 1.0, high: 4.0, width, height }
    }

    fn drawn(cells: &RaggedLevels<'_, 2>, view: &Viewport, reduce: Reduce) -> Vec<Vec<f32>> {
        raster(cells, None, view, reduce).unwrap().rows().into_iter().map(|row| row.to_vec()).collect()
    }

    #[test]
    fn a_gap_stays_empty_and_a_snapshot_without_a_level_there_is_0() {
        let picture = drawn(&cells(), &view(3, 3), Reduce::Max);
        assert!(picture.iter().all(|row| row[1].is_nan()));
        let known: Vec<[f32; 2]> = picture.iter().map(|row| [row[0], row[2]]).collect();
        assert_eq!(known, [[5.0, 3.0], [7.0, 0.0], [0.0, 4.0]]);
    }

    #[test]
    fn of_the_cells_on_a_pixel_the_largest_their_sum_or_the_latest_is_shown() {
        for (reduce, expected) in [(Reduce::Max, 7.0), (Reduce::Sum, 19.0), (Reduce::Stack, 19.0), (Reduce::Last, 4.0)]
        {
            assert_eq!(drawn(&cells(), &view(1, 1), reduce), [[expected]], "{reduce:?}");
        }
    }

    #[test]
    fn a_sum_spreads_what_is_larger_than_a_pixel() {
        let picture = drawn(&cells(), &view(6, 6), Reduce::Sum);
        assert_eq!(picture[0][..2], [1.25, 1.25]);
        assert!(picture[0][2].is_nan());
        let total: f32 = picture.iter().flatten().filter(|value| !value.is_nan()).sum();
        assert_eq!(total, 19.0);
        assert_eq!(drawn(&cells(), &view(6, 6), Reduce::Stack)[0][..2], [5.0, 5.0]);
    }

    #[test]
    fn sides_are_apart_where_they_are_known() {
        let bids = RaggedLevels { side: LevelSide::Bids, ..cells() };
        let picture = drawn(&bids, &view(3, 3), Reduce::Max);
        assert_eq!([picture[0][0], picture[1][0]], [5.0, 0.0]);
        assert!(picture[0][2].is_nan());
        let asks = RaggedLevels { side: LevelSide::Asks, ..cells() };
        assert_eq!(drawn(&asks, &view(3, 3), Reduce::Max)[1][0], 7.0);
    }

    #[test]
    fn a_large_picture_is_painted_by_several_threads() {
        let wide = Viewport { width: 30_000, height: 2_000, ..view(1, 1) };
        let picture = raster(&cells(), None, &wide, Reduce::Max).unwrap();
        assert_eq!((picture[(0, 0)], picture[(1_999, 29_999)], picture[(700, 9_999)]), (5.0, 4.0, 7.0));
        assert!(picture[(0, 10_000)].is_nan() && picture[(0, 19_999)].is_nan());
        assert_eq!(picture[(0, 20_000)], 3.0);
    }

    #[test]
    fn what_makes_no_picture_is_refused() {
        let refused = |view: Viewport| raster(&cells(), None, &view, Reduce::Max).unwrap_err();
        assert_eq!(refused(view(0, 1)), RasterError::NoPixels { width: 0, height: 1 });
        assert!(matches!(refused(view(1 << 20, 1 << 20)), RasterError::TooLarge { .. }));
        assert_eq!(refused(Viewport { end: UnixNanos(0), ..view(1, 1) }), RasterError::Window);
        assert!(matches!(refused(Viewport { high: f64::NAN, ..view(1, 1) }), RasterError::Prices { .. }));
        let wrong = RaggedLevels { offsets: &[0, 2, 5], ..cells() };
        assert!(matches!(raster(&wrong, None, &view(1, 1), Reduce::Max), Err(RasterError::Shape(_))));
        let wrong = RaggedLevels { field: VolumeField::At(2), ..cells() };
        assert_eq!(raster(&wrong, None, &view(1, 1), Reduce::Max), Err(RasterError::Field(2)));
    }
}
