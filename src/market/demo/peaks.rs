//! Search for the highest price of a path without computing every minute.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

use super::noise::FURTHEST;
use super::path::{Path, WalkPair};
use super::walk::{KNOT_BITS, reaches};
use crate::clock::UnixMinute;

/// The minutes of a window by an upper bound of the common price in them, the highest first. They are found lazily,
/// once for all markets of a coin.
pub(in crate::market) struct Peaks {
    within: f64,
    reaches: [f64; KNOT_BITS as usize + 1],
    window: Range<i64>,
    /// Segments that hold the minutes that are not found yet.
    left: BinaryHeap<Reach>,
    found: Vec<(f64, UnixMinute)>,
}

/// A segment, ordered by an upper bound of the price in it.
struct Reach {
    most: f64,
    both: WalkPair,
}

impl Ord for Reach {
    fn cmp(&self, other: &Self) -> Ordering {
        self.most.total_cmp(&other.most)
    }
}

impl PartialOrd for Reach {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Reach {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Reach {}

impl Peaks {
    /// The minute of a rank, if its upper bound `is_worth` the search.
    fn get(&mut self, rank: usize, path: &Path, is_worth: impl Fn(f64) -> bool) -> Option<UnixMinute> {
        while self.found.len() <= rank {
            let both = {
                let top = self.left.peek_mut().filter(|top| is_worth(top.most))?;
                PeekMut::pop(top)
            };
            match both {
                Reach { most, both } if both.own.bits == 0 => self.found.push((most, both.own.low)),
                Reach { both, .. } => path.halves(&both).into_iter().for_each(|half| self.add(path, half)),
            }
        }
        let (most, minute) = self.found[rank];
        is_worth(most).then_some(minute)
    }

    fn add(&mut self, path: &Path, both: WalkPair) {
        let (low, bits) = (both.own.low, both.own.bits);
        if low.0 >= self.window.end || low.0 + (1 << bits) <= self.window.start {
            return;
        }
        let ends = path.ends(&both);
        let reach = match bits {
            0 => self.within * path.wildness(&both) * path.minute_deviation,
            bits => {
                (path.loading * both.market.variance.sqrt() + both.own.variance.sqrt()) * self.reaches[bits as usize]
            }
        };
        self.left.push(Reach { most: ends[0].max(ends[1]) * reach.exp(), both });
    }
}

impl Path {
    /// The minutes of a window, for [`Path::highest`]. `within` is the largest distance of a minute's price beyond its ends, in
    /// deviations of its change.
    pub(in crate::market) fn peaks(&self, (first, end): (i64, i64), within: f64) -> Peaks {
        let mut peaks =
            Peaks { within, reaches: reaches(within), window: first..end, left: BinaryHeap::new(), found: Vec::new() };
        if first < end {
            for segment in first >> KNOT_BITS..=(end - 1) >> KNOT_BITS {
                peaks.add(self, self.segment(segment));
            }
        }
        peaks
    }

    /// The highest price in `minutes`, which `peaks` must have. `high` gives the highest price of a minute, `None` for
    /// one without trades; it is called only for minutes that may have the highest. `above` gives the highest
    /// price of a market for a common price. `None` if nothing is above `floor`.
    pub(in crate::market) fn highest(
        &self,
        peaks: &mut Peaks,
        minutes: Range<i64>,
        above: impl Fn(f64) -> f64,
        floor: Option<f64>,
        mut high: impl FnMut(UnixMinute) -> Option<f64>,
    ) -> Option<f64> {
        let (mut best, mut found) = (floor, None);
        for rank in 0.. {
            let may_be_higher = |bound: f64| best.is_none_or(|best| above(bound) > best);
            let Some(minute) = peaks.get(rank, self, may_be_higher) else { break };
            if !minutes.contains(&minute.0) {
                continue;
            }
            if let Some(high) = high(minute).filter(|high| best.is_none_or(|best| *high > best)) {
                (best, found) = (Some(high), Some(high));
            }
        }
        found
    }
}

/// Largest distance of a minute's price from its higher end, in deviations of its change, for a number of halvings.
pub(in crate::market) fn within_minute(halvings: i32) -> f64 {
    (0..halvings).map(|halving| 0.5 * FURTHEST / 2f64.powi(halving).sqrt()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::demo::catalog::markets;

    const NOW: i64 = 29_600_000; // a minute of 2026

    fn path() -> Path {
        markets(1).1[0].path
    }

    #[test]
    fn the_highest_minute_is_found_without_looking_at_every_one() {
        let path = path();
        let within = within_minute(1);
        // A minute of this test reaches above its ends by the most that it may, so that a bound that is too low would show.
        let high = |minute: UnixMinute| {
            let both = path.stretch(minute, 0);
            let ends = path.ends(&both);
            ends[0].max(ends[1]) * (within * path.wildness(&both) * path.minute_deviation).exp()
        };
        for (first, end) in [(NOW - 9_000, NOW), (NOW - 70_000, NOW - 64_000), (NOW, NOW + 1)] {
            let mut looks = 0;
            let look = |minute: UnixMinute| {
                looks += 1;
                Some(high(minute))
            };
            let found = path.highest(&mut path.peaks((first, end), within), first..end, |price| price, None, look);
            let expected = (first..end).map(UnixMinute).map(high).fold(0.0, f64::max);
            assert_eq!(found, Some(expected));
            // Peaks that another market looked for already, of a window that is longer than the minutes asked.
            let mut peaks = path.peaks((first - 500, end + 200), within);
            let mut above =
                |floor| path.highest(&mut peaks, first..end, |price| price, Some(floor), |minute| Some(high(minute)));
            assert_eq!((above(expected), above(expected * 0.999)), (None, Some(expected)));
            assert!(looks * 4 < end - first + 4, "{looks} looks");
        }
        let highest = |minutes: Range<i64>, high: fn(UnixMinute) -> Option<f64>| {
            path.highest(&mut path.peaks((minutes.start, minutes.end), within), minutes, |price| price, None, high)
        };
        assert_eq!(highest(NOW..NOW, |_| Some(1.0)), None);
        assert_eq!(highest(NOW..NOW + 9, |_| None), None);
    }

    #[test]
    fn what_was_searched_for_one_market_is_not_searched_for_another() {
        let path = path();
        let mut peaks = path.peaks((NOW - 300_000, NOW), within_minute(1));
        // Markets that trade at the common price, a little above it and a little below.
        let mut highest = |times: f64| {
            let high = |minute| Some(times * path.price(minute));
            let found = path.highest(&mut peaks, NOW - 300_000..NOW, |price| times * price, None, high);
            (found.unwrap() / times, peaks.left.len() + peaks.found.len())
        };
        let (top, searched) = highest(1.0);
        assert!(searched > 100);
        for times in [1.001, 0.999] {
            let (other, more) = highest(times);
            assert!((other / top - 1.0).abs() < 1e-12);
            assert!(more <= searched + 2, "{more} stretches after {searched}");
        }
    }
}
