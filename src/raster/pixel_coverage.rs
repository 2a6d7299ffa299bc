//! Which pixels a cell covers.

use super::cells::Viewport;
use crate::clock::UnixNanos;

/// Positions along the prices are counted in 65,536ths of a pixel, so that cells whose edges differ by rounding meet.
const PARTS: f64 = 65_536.0;
const PART_BITS: u32 = 16;
/// A cell almost as high as a pixel counts as that high, so that rounding makes no difference.
const ALMOST: f64 = 1.0 - 1.0 / PARTS;

/// First and last pixel column of a time range: -1 or the width if it is outside of the view.
pub(super) fn columns(view: &Viewport, start: UnixNanos, end: UnixNanos) -> (i64, i64) {
    let (width, length) = (view.width as i128, i128::from(view.end.0) - i128::from(view.start.0));
    let (start, end) = (i128::from(start.0) - i128::from(view.start.0), i128::from(end.0) - i128::from(view.start.0));
    let clip = |pixel: i128| pixel.clamp(-1, width) as i64;
    if (end - start) * width < length {
        let middle = clip(((start + end) * width).div_euclid(2 * length));
        return (middle, middle);
    }
    // The first pixel whose centre is not before the edge.
    let from = |edge: i128| -((length - 2 * width * edge).div_euclid(2 * length));
    (clip(from(start)), clip(from(end) - 1))
}

/// How an evenly spread range is distributed over pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    /// The first pixel; it may be before the view.
    pub(super) first: i64,
    /// The last pixel.
    pub(super) last: i64,
    start: f64,
    end: f64,
}

impl Spread {
    /// For a range in pixels.
    fn new(start: f64, end: f64) -> Self {
        let whole = |edge: f64| (edge * PARTS + 0.5).floor() / PARTS;
        let (start, end) = (whole(start), whole(end));
        let first = start.floor() as i64;
        Self { first, last: (end.ceil() as i64 - 1).max(first), start, end }
    }

    /// For a range of time.
    pub(super) fn of_time(view: &Viewport, start: UnixNanos, end: UnixNanos) -> Self {
        let place = |time: UnixNanos| {
            (i128::from(time.0) - i128::from(view.start.0)) as f64 * view.width as f64
                / (i128::from(view.end.0) - i128::from(view.start.0)) as f64
        };
        Self::new(place(start), place(end))
    }

    /// The fraction in one of its pixels.
    #[inline]
    pub(super) fn share(&self, pixel: i64) -> f64 {
        if self.first == self.last {
            return 1.0;
        }
        let (left, right) = (pixel as f64, (pixel + 1) as f64);
        (self.end.min(right) - self.start.max(left)) / (self.end - self.start)
    }
}

/// Distribution along the prices, for cells of equal height.
#[derive(Debug, Clone, Copy)]
pub(super) struct PriceRows {
    /// Price at the lower edge.
    pub(super) low: f64,
    /// Pixels in a price of 1.
    pub(super) scale: f64,
    /// Height of a cell in prices.
    pub(super) height: f64,
    /// Number of pixels.
    pub(super) count: usize,
}

impl PriceRows {
    pub(super) fn new(view: &Viewport, height: f64) -> Self {
        Self { low: view.low, scale: view.height as f64 / (view.high - view.low), height, count: view.height }
    }

    /// Whether every cell is lower than a pixel, so that it covers one.
    pub(super) fn are_coarse(&self) -> bool {
        self.height * self.scale < ALMOST
    }

    /// The middle of the cell at a price, in pixels; the pixel is the integer part. For [coarse](Self::are_coarse)
    /// rows.
    #[inline]
    pub(super) fn middle(&self, price: f64) -> f64 {
        (price + self.height / 2.0 - self.low) * self.scale
    }

    /// First and last pixel of the cell at a price, for rows that are not coarse; empty if the first is the larger.
    #[inline]
    pub(super) fn of(&self, price: f64) -> (usize, usize) {
        let (bottom, top) = (self.parts(price), self.parts(price + self.height));
        let half = 1 << (PART_BITS - 1);
        let from = |edge: i64| (edge + half - 1) >> PART_BITS;
        let (mut first, mut last) = (from(bottom), from(top) - 1);
        if last < first {
            first = (bottom + top) >> (PART_BITS + 1);
            last = first;
        }
        // Positions are counted from one pixel below the view.
        let (first, last) = (first.max(1) - 1, last.min(self.count as i64) - 1);
        if last < 0 { (1, 0) } else { (first as usize, last as usize) }
    }

    /// First and last pixel of the cell at a price, for any rows; `None` if it covers none of the view.
    pub(super) fn pixels(&self, price: f64) -> Option<(usize, usize)> {
        if self.are_coarse() {
            let middle = self.middle(price);
            return (middle >= 0.0 && middle < self.count as f64).then_some((middle as usize, middle as usize));
        }
        let (first, last) = self.of(price);
        (first <= last).then_some((first, last))
    }

    /// The distribution of the cell at a price.
    #[inline]
    pub(super) fn spread(&self, price: f64) -> Spread {
        Spread::new((price - self.low) * self.scale, (price + self.height - self.low) * self.scale)
    }

    /// An edge in parts of a pixel, limited to one pixel below and above the view.
    fn parts(&self, price: f64) -> i64 {
        let edge = ((price - self.low) * self.scale).clamp(-1.0, self.count as f64 + 1.0);
        ((edge + 1.0) * PARTS + 0.5) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(width: usize, height: usize) -> Viewport {
        Viewport { start: UnixNanos(0), end: UnixNanos(100), low: 0.0, high: 10.0, width, height }
    }

    #[test]
    fn a_stretch_takes_the_pixels_whose_centre_it_holds_or_the_one_around_its_middle() {
        let view = view(10, 10);
        let columns = |start: i64, end: i64| columns(&view, UnixNanos(start), UnixNanos(end));
        assert_eq!(columns(0, 10), (0, 0));
        assert_eq!(columns(5, 15), (0, 0)); // the centre of the first is on its edge, that of the second too
        assert_eq!(columns(6, 16), (1, 1));
        assert_eq!(columns(0, 100), (0, 9));
        assert_eq!(columns(19, 20), (1, 1));
        assert_eq!(columns(20, 20), (2, 2));
        assert_eq!(columns(i64::MIN, i64::MAX), (-1, 10));
        assert_eq!(columns(-10, -9), (-1, -1));
        assert_eq!(columns(100, 110), (10, 10));
    }

    #[test]
    fn cells_as_high_as_a_pixel_take_one_each_however_their_prices_are_rounded() {
        let view = Viewport { start: UnixNanos(0), end: UnixNanos(1), low: 0.0, high: 0.3, width: 1, height: 3 };
        let rows = PriceRows::new(&view, 0.1);
        assert!(!rows.are_coarse());
        assert_eq!([0.0, 0.1, 0.2].map(|price| rows.of(price)), [(0, 0), (1, 1), (2, 2)]);
        let (first, last) = rows.of(-0.1);
        assert!(first > last);
        let (first, last) = rows.of(0.3);
        assert!(first > last);
    }
}
