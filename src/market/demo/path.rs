//! The price of a coin at every minute, by random access: its history, a walk that all coins share, and one of its own.

use super::history::History;
use super::noise::place;
use super::season::season;
use super::walk::{KNOT_BITS, PriceWalk, WalkStretch};
use crate::clock::UnixMinute;

/// Minutes of a block, as a power of two: a block is computed at once.
const BLOCK_BITS: u32 = 9;
/// Minutes of a block.
pub(in crate::market) const BLOCK: i64 = 1 << BLOCK_BITS;
/// Part of a coin's volume that follows the whole market's.
const COMMON_VOLUME: f64 = 0.6;

/// Parameters of a coin's price path.
#[derive(Debug, Clone, Copy)]
pub(in crate::market) struct Path {
    seed: u64,
    history: History,
    /// The walk that all coins share, with a variance of one per minute.
    market: PriceWalk,
    /// The walk of this coin alone.
    own: PriceWalk,
    /// The coin's beta to the market's walk.
    pub(super) loading: f64,
    /// Deviation of the logarithm per minute.
    pub(super) minute_deviation: f64,
}

/// Minutes of one block. `prices[i]` is at the minute boundary `start + i`; there is one more than the block has minutes.
#[derive(Debug, Clone)]
pub(in crate::market) struct PathBlock {
    pub start: UnixMinute,
    pub prices: Vec<f64>,
    /// Volatility of each minute: the deviation of its change, in parts of a mean minute's.
    wildness: Vec<f32>,
    /// Expected volume of each minute, in parts of a mean minute's volume.
    volumes: Vec<f32>,
    /// Volatility of the block's minutes together.
    pub usual: f64,
}

impl PathBlock {
    /// Volatility of a minute of the block: the deviation of its change, in parts of a mean minute's.
    pub(in crate::market) fn wildness(&self, minute: UnixMinute) -> f64 {
        f64::from(self.wildness[(minute.0 - self.start.0) as usize])
    }

    /// Expected volume of a minute of the block, in parts of a mean minute's volume.
    pub(in crate::market) fn volume(&self, minute: UnixMinute) -> f64 {
        f64::from(self.volumes[(minute.0 - self.start.0) as usize])
    }
}

/// A segment of both walks.
#[derive(Clone, Copy)]
pub(super) struct WalkPair {
    pub(super) market: WalkStretch,
    pub(super) own: WalkStretch,
}

impl Path {
    /// A path through a coin's history with an annual volatility (0.5 is a calm coin, 1 a volatile one). The shared walk, whose
    /// seed is `market`, makes up the part `common` of the variance.
    pub(in crate::market) fn new(market: u64, seed: u64, history: History, yearly_deviation: f64, common: f64) -> Self {
        const MINUTES_A_YEAR: f64 = 525_600.0;
        let minute_deviation = yearly_deviation / MINUTES_A_YEAR.sqrt();
        let walk = |seed, common, variance| PriceWalk { seed, climate: place(&[market, 1]), common, variance };
        Self {
            seed,
            history,
            market: walk(place(&[market, 2]), 1.0, 1.0),
            own: walk(place(&[seed, 2]), 0.8, minute_deviation * minute_deviation * (1.0 - common)),
            loading: minute_deviation * common.sqrt(),
            minute_deviation,
        }
    }

    /// Distinguishes this path from another.
    pub(in crate::market) fn seed(&self) -> u64 {
        self.seed
    }

    /// Deviation of the price's logarithm in a mean minute.
    pub(in crate::market) fn minute_deviation(&self) -> f64 {
        self.minute_deviation
    }

    pub(super) fn segment(&self, segment: i64) -> WalkPair {
        let knot = |knot: i64| self.history.knot(knot, UnixMinute(knot << KNOT_BITS));
        WalkPair {
            market: self.market.segment(segment, 0.0, 0.0),
            own: self.own.segment(segment, knot(segment), knot(segment + 1)),
        }
    }

    pub(super) fn halves(&self, whole: &WalkPair) -> [WalkPair; 2] {
        let ([market, after], [own, later]) = (self.market.halves(&whole.market), self.own.halves(&whole.own));
        [WalkPair { market, own }, WalkPair { market: after, own: later }]
    }

    /// Prices at the ends of a stretch.
    pub(super) fn ends(&self, both: &WalkPair) -> [f64; 2] {
        [both.market.left * self.loading + both.own.left, both.market.right * self.loading + both.own.right]
            .map(f64::exp)
    }

    /// Walks down to the stretch of 2^bits minutes that holds a minute.
    pub(super) fn stretch(&self, minute: UnixMinute, bits: u32) -> WalkPair {
        let mut both = self.segment(minute.0 >> KNOT_BITS);
        while both.own.bits > bits {
            let [first, second] = self.halves(&both);
            both = if minute < second.own.low { first } else { second };
        }
        both
    }

    /// The price at the beginning of a minute, as its block has it, without making the block.
    pub(in crate::market) fn price(&self, minute: UnixMinute) -> f64 {
        self.ends(&self.stretch(minute, 0))[0]
    }

    /// The block that holds a minute.
    pub(in crate::market) fn block(&self, minute: UnixMinute) -> PathBlock {
        let whole = self.stretch(minute, BLOCK_BITS);
        let (start, minutes) = (whole.own.low, BLOCK as usize);
        let mut stretches = vec![whole; minutes];
        for bits in (1..=BLOCK_BITS).rev() {
            for index in (0..minutes).step_by(1 << bits) {
                let [first, second] = self.halves(&stretches[index]);
                (stretches[index], stretches[index + (1 << (bits - 1))]) = (first, second);
            }
        }
        let mut prices: Vec<f64> = stretches.iter().map(|minute| self.ends(minute)[0]).collect();
        prices.push(self.ends(&stretches[minutes - 1])[1]);
        let of = |figure: fn(&Self, &WalkPair) -> f64| -> Vec<f32> {
            stretches.iter().map(|minute| figure(self, minute) as f32).collect()
        };
        let wildness = of(Self::wildness);
        let usual = (wildness.iter().map(|wild| f64::from(wild * wild)).sum::<f64>() / BLOCK as f64).sqrt();
        PathBlock { start, prices, wildness, volumes: of(|_, minute| volume_of(minute)), usual }
    }

    fn variance(&self, market: f64, own: f64) -> f64 {
        self.loading * self.loading * market + own
    }

    pub(super) fn wildness(&self, minute: &WalkPair) -> f64 {
        let variance = self.variance(minute.market.variance, minute.own.variance);
        variance.sqrt() / self.minute_deviation * season(minute.own.low).swing
    }

    /// Deviation of the change of a mean minute among `first..end`, in parts of the usual one, the season apart.
    pub(in crate::market) fn mean_wildness(&self, first: UnixMinute, end: UnixMinute) -> f64 {
        let variance = self.variance(self.market.spent(first, end)[0], self.own.spent(first, end)[0]);
        (variance / (end.0 - first.0) as f64).sqrt() / self.minute_deviation
    }

    /// Expected volume of the minutes `first..end`, in parts of a mean minute's volume. The season is that of the
    /// middle, so use it for an hour or less.
    pub(in crate::market) fn due(&self, first: UnixMinute, end: UnixMinute) -> f64 {
        let volume =
            COMMON_VOLUME * self.market.spent(first, end)[1] + (1.0 - COMMON_VOLUME) * self.own.spent(first, end)[1];
        volume * season(UnixMinute(i64::midpoint(first.0, end.0))).volume
    }
}

/// Volume of a minute, in parts of the usual one.
fn volume_of(minute: &WalkPair) -> f64 {
    let volume = COMMON_VOLUME * minute.market.volume + (1.0 - COMMON_VOLUME) * minute.own.volume;
    volume * season(minute.own.low).volume
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
    fn neighbouring_blocks_meet() {
        let path = path();
        let mut minute = NOW & !(BLOCK - 1);
        for _ in 0..300 {
            let (one, next) = (path.block(UnixMinute(minute)), path.block(UnixMinute(minute + BLOCK)));
            assert_eq!(one.prices.last().map(|p| p.to_bits()), next.prices.first().map(|p| p.to_bits()));
            minute += BLOCK;
        }
    }

    #[test]
    fn a_block_is_the_same_from_each_of_its_minutes() {
        let path = path();
        let expected = path.block(UnixMinute(NOW));
        for minute in (expected.start.0..expected.start.0 + BLOCK).map(UnixMinute) {
            assert_eq!(path.block(minute).prices, expected.prices);
            assert_eq!(path.price(minute).to_bits(), expected.prices[(minute.0 - expected.start.0) as usize].to_bits());
        }
    }

    #[test]
    fn what_is_spent_in_a_time_is_the_sum_over_its_minutes() {
        let path = path();
        for from in [NOW, NOW & !(BLOCK - 1), (NOW >> KNOT_BITS << KNOT_BITS) - 100] {
            let (mut variance, mut volume) = (0.0, 0.0);
            for minute in from..from + 300 {
                let one = path.stretch(UnixMinute(minute), 0);
                variance += path.variance(one.market.variance, one.own.variance);
                volume += volume_of(&one) / season(UnixMinute(minute)).volume;
            }
            let spent = path.mean_wildness(UnixMinute(from), UnixMinute(from + 300)).powi(2)
                * path.minute_deviation.powi(2)
                * 300.0;
            assert!((spent / variance - 1.0).abs() < 1e-9);
            let due = path.due(UnixMinute(from), UnixMinute(from + 300)) / season(UnixMinute(from + 150)).volume;
            assert!((due / volume - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn sizes_are_those_of_the_years_and_volatility_clusters() {
        let path = path();
        let (mut sizes, mut far) = (Vec::new(), 0.0f64);
        for block in 0..2_000 {
            let block = path.block(UnixMinute(NOW - block * BLOCK));
            assert!(block.prices.iter().all(|price| (20_000.0..250_000.0).contains(price)));
            let moves: Vec<f64> = block.prices.windows(2).map(|two| (two[1] / two[0]).ln()).collect();
            far = moves.iter().fold(far, |far, step| far.max(step.abs()));
            sizes.push((moves.iter().map(|step| step * step).sum::<f64>() / BLOCK as f64).sqrt());
        }
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        assert!((0.3..3.0).contains(&(mean / path.minute_deviation)), "{mean}");
        assert!(far > 12.0 * path.minute_deviation, "heavy tails: {far}");
        // Neighbouring blocks are alike, blocks of different weeks are not.
        let variance: f64 = sizes.iter().map(|size| (size - mean).powi(2)).sum();
        let lagged: f64 = sizes.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
        assert!(lagged / variance > 0.3, "{}", lagged / variance);
    }
}
