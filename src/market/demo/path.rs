//! The price of a coin at every minute, by random access.
//!
//! A knot every 2^16 minutes (45 days) keeps the price near its level for good; between knots the path is a Brownian
//! bridge built by midpoint displacement, each midpoint drawn from the hash of its place. Its step is scaled by a slow
//! factor, so that calm and wild days follow each other as they do in markets.

use super::noise::{FURTHEST, mix, normal, place, smooth, smooth_most};

/// Minutes between knots, as a power of two.
const KNOT_BITS: u32 = 16;
/// Minutes of a block, as a power of two: a block is computed whole.
const BLOCK_BITS: u32 = 9;
/// Minutes of a block.
pub(super) const BLOCK: i64 = 1 << BLOCK_BITS;

/// How a coin's price moves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    seed: u64,
    level: f64,
    /// Deviation of the logarithm per minute.
    minute_deviation: f64,
}

/// Prices at the minute boundaries of one block: `prices[i]` is at minute `start + i`; one more than a block has minutes.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub start: i64,
    pub prices: Vec<f64>,
}

/// What no minute of a block goes beyond.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    /// First Unix minute of the block.
    pub start: i64,
    /// Highest price at a minute's boundary.
    pub highest: f64,
    /// Furthest change from one boundary to the next, as a fraction.
    pub change: f64,
    /// Most wildness.
    pub wildness: f64,
}

/// Wildness from noise of a salt and a length in days: slow waves of days and hours.
fn wave(noise: impl Fn(u64, f64) -> f64) -> f64 {
    (0.55 * noise(1, 9.0) + 0.5 * noise(2, 1.3) + 0.35 * noise(3, 0.17)).exp()
}

impl Path {
    /// Tells this path from another.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// Deviation of the price's logarithm in a minute of usual wildness.
    pub(super) fn minute_deviation(&self) -> f64 {
        self.minute_deviation
    }

    /// A path around `level` with a deviation per year (0.5 is a calm coin, 1 a wild one).
    pub(super) fn new(seed: u64, level: f64, yearly_deviation: f64) -> Self {
        const MINUTES_A_YEAR: f64 = 525_600.0;
        Self { seed: mix(seed), level, minute_deviation: yearly_deviation / MINUTES_A_YEAR.sqrt() }
    }

    /// How wild the market is at a minute: about 0.3 to 3, in slow waves of days and hours.
    pub(super) fn wildness(&self, minute: i64) -> f64 {
        let days = minute as f64 / 1_440.0;
        wave(|salt, length| smooth(self.seed ^ salt, days / length))
    }

    /// Bounds of the blocks that hold the minutes `first..end`, without making the blocks.
    pub(super) fn bounds(&self, first: i64, end: i64) -> Vec<Bound> {
        let mut bounds = Vec::new();
        if first >= end {
            return bounds;
        }
        for segment in first >> KNOT_BITS..=(end - 1) >> KNOT_BITS {
            let logs = self.block_ends(segment);
            for (index, ends) in logs.windows(2).enumerate() {
                let start = (segment << KNOT_BITS) + ((index as i64) << BLOCK_BITS);
                if start < end && start + BLOCK > first {
                    bounds.push(self.bound(start, ends[0], ends[1]));
                }
            }
        }
        bounds
    }

    /// Logarithms of the price at the ends of a segment's blocks, as [`Path::block`] walks down to them.
    fn block_ends(&self, segment: i64) -> Vec<f64> {
        let blocks = 1usize << (KNOT_BITS - BLOCK_BITS);
        let mut logs = vec![0.0; blocks + 1];
        (logs[0], logs[blocks]) = (self.knot(segment), self.knot(segment + 1));
        for bits in (BLOCK_BITS + 1..=KNOT_BITS).rev() {
            let step = 1usize << (bits - BLOCK_BITS);
            for index in (0..blocks).step_by(step) {
                let low = (segment << KNOT_BITS) + ((index as i64) << BLOCK_BITS);
                logs[index + step / 2] = self.middle(low, bits, logs[index], logs[index + step]);
            }
        }
        logs
    }

    fn bound(&self, start: i64, left: f64, right: f64) -> Bound {
        let (from, to) = (start as f64 / 1_440.0, (start + BLOCK) as f64 / 1_440.0);
        let wildness = wave(|salt, length| smooth_most(self.seed ^ salt, from / length, to / length));
        // Each halving of the block adds at most one furthest draw to the higher end, and to half the distance of neighbours.
        let (mut rise, mut apart) = (0.0, (right - left).abs());
        for bits in (1..=BLOCK_BITS).rev() {
            let draw = FURTHEST * self.minute_deviation * wildness * ((1i64 << bits) as f64).sqrt() / 2.0;
            rise += draw;
            apart = apart / 2.0 + draw;
        }
        Bound { start, highest: self.level * (left.max(right) + rise).exp(), change: apart.exp_m1(), wildness }
    }

    /// The price at the beginning of a Unix minute, as its block has it, without making the block.
    pub(super) fn price(&self, minute: i64) -> f64 {
        let segment = minute >> KNOT_BITS;
        let (mut low, mut bits) = (segment << KNOT_BITS, KNOT_BITS);
        let (mut left, mut right) = (self.knot(segment), self.knot(segment + 1));
        while low < minute {
            let middle = self.middle(low, bits, left, right);
            bits -= 1;
            if minute < low + (1 << bits) {
                right = middle;
            } else {
                low += 1 << bits;
                left = middle;
            }
        }
        self.level * left.exp()
    }

    /// The block that holds a minute (Unix minutes).
    pub(super) fn block(&self, minute: i64) -> Block {
        let start = minute & !(BLOCK - 1);
        let segment = minute >> KNOT_BITS;
        // Walk down from the knots to the block's ends.
        let (mut low, mut bits) = (segment << KNOT_BITS, KNOT_BITS);
        let (mut left, mut right) = (self.knot(segment), self.knot(segment + 1));
        while bits > BLOCK_BITS {
            let middle = self.middle(low, bits, left, right);
            bits -= 1;
            if start < low + (1 << bits) {
                right = middle;
            } else {
                low += 1 << bits;
                left = middle;
            }
        }
        let mut prices = vec![0.0; BLOCK as usize + 1];
        (prices[0], prices[BLOCK as usize]) = (left, right);
        while bits > 0 {
            let step = 1usize << bits;
            for index in (0..BLOCK as usize).step_by(step) {
                let (left, right) = (prices[index], prices[index + step]);
                prices[index + step / 2] = self.middle(start + index as i64, bits, left, right);
            }
            bits -= 1;
        }
        for price in &mut prices {
            *price = self.level * price.exp();
        }
        Block { start, prices }
    }

    /// Logarithm of the price at a knot, relative to the level.
    fn knot(&self, segment: i64) -> f64 {
        0.22 * normal(place(&[self.seed, 0, segment as u64]))
    }

    /// Midpoint of the stretch of 2^bits minutes from `low`.
    fn middle(&self, low: i64, bits: u32, left: f64, right: f64) -> f64 {
        let length = (1i64 << bits) as f64;
        let half = low + (1 << (bits - 1));
        let deviation = self.minute_deviation * self.wildness(half) * length.sqrt() / 2.0;
        f64::midpoint(left, right) + deviation * normal(mix(self.seed ^ (half as u64) << 6 ^ u64::from(bits)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 29_600_000; // a minute of 2026

    fn path() -> Path {
        Path::new(1, 100.0, 0.6)
    }

    #[test]
    fn neighbouring_blocks_meet() {
        let path = path();
        let mut minute = NOW & !(BLOCK - 1);
        for _ in 0..300 {
            let (one, next) = (path.block(minute), path.block(minute + BLOCK));
            assert_eq!(one.prices.last().map(|p| p.to_bits()), next.prices.first().map(|p| p.to_bits()));
            minute += BLOCK;
        }
    }

    #[test]
    fn a_block_is_the_same_from_each_of_its_minutes() {
        let path = path();
        let expected = path.block(NOW);
        for minute in expected.start..expected.start + BLOCK {
            assert_eq!(path.block(minute).prices, expected.prices);
            assert_eq!(path.price(minute).to_bits(), expected.prices[(minute - expected.start) as usize].to_bits());
        }
    }

    #[test]
    fn blocks_stay_within_their_bounds() {
        let path = path();
        let bounds = path.bounds(NOW - 70_000, NOW);
        assert!(bounds.windows(2).all(|two| two[1].start == two[0].start + BLOCK));
        assert!(bounds[0].start <= NOW - 70_000 && NOW <= bounds[bounds.len() - 1].start + BLOCK);
        for bound in bounds.iter().step_by(5) {
            let block = path.block(bound.start);
            assert!(block.prices.iter().all(|price| *price <= bound.highest * (1.0 + 1e-12)));
            assert!(block.prices.windows(2).all(|two| (two[1] / two[0] - 1.0).abs() <= bound.change + 1e-12));
            assert!((block.start..block.start + BLOCK).all(|minute| path.wildness(minute) <= bound.wildness + 1e-12));
            assert!(bound.highest < 1.6 * block.prices[0], "a bound that says something");
        }
        assert!(path.bounds(5, 5).is_empty());
    }

    #[test]
    fn the_level_holds_and_volatility_clusters() {
        let path = path();
        let mut sizes = Vec::new();
        for block in 0..2_000 {
            let block = path.block(NOW - block * BLOCK);
            assert!(block.prices.iter().all(|price| (25.0..400.0).contains(price)));
            let moves = block.prices.windows(2).map(|two| (two[1] / two[0]).ln());
            sizes.push((moves.map(|step| step * step).sum::<f64>() / BLOCK as f64).sqrt());
        }
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        assert!((0.3..3.0).contains(&(mean / (0.6 / 525_600f64.sqrt()))), "{mean}");
        // Neighbouring blocks are alike, blocks of different weeks are not: the lag-one correlation is high.
        let variance: f64 = sizes.iter().map(|size| (size - mean).powi(2)).sum();
        let lagged: f64 = sizes.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
        assert!(lagged / variance > 0.5, "{}", lagged / variance);
    }
}
