//! A random walk by random access whose volatility clusters.
//!
//! A segment of 2^16 minutes (45 days) is halved again and again. Each halving divides the segment's variance between
//! the halves, unevenly and by a draw: a multiplicative cascade, whose products over all scales make calm and volatile
//! minutes, hours and days, and heavy tails of minute returns. The walk is a Brownian bridge in that variance, each
//! midpoint drawn from the hash of its place. The segment's volume is divided by the same draws, less
//! unevenly, so that volume is high where volatility is.

use super::noise::{FURTHEST, mix, normal, place, smooth, uniform};
use super::season::{MOST_SWING, season};
use crate::clock::UnixMinute;

/// Minutes between knots, as a power of two.
pub(in crate::market) const KNOT_BITS: u32 = 16;
/// Maximum deviation of a half's variance share from ½, doubled, by level (a segment has 2^level minutes).
const UNEVEN: [f64; KNOT_BITS as usize + 1] =
    [0.0, 0.7, 0.7, 0.72, 0.75, 0.8, 0.8, 0.82, 0.82, 0.82, 0.82, 0.82, 0.82, 0.78, 0.72, 0.6, 0.5];
/// Deviation of volume shares, as a fraction of the deviation of variance shares.
const CALMER: f64 = 0.55;
/// Deviation of the logarithm of a segment's variance.
const CLIMATE: f64 = 0.55;

/// A segment of 2^bits minutes from the minute `low` on.
#[derive(Debug, Clone, Copy)]
pub(in crate::market) struct WalkStretch {
    pub low: UnixMinute,
    pub bits: u32,
    /// The walk at the beginning.
    pub left: f64,
    /// The walk at the end.
    pub right: f64,
    /// Variance of the change, the season apart.
    pub variance: f64,
    /// Volume, in parts of a mean minute's, the season apart.
    pub volume: f64,
}

/// A walk.
#[derive(Debug, Clone, Copy)]
pub(in crate::market) struct PriceWalk {
    pub seed: u64,
    /// Seed of the draws of variance that several walks share.
    pub climate: u64,
    /// Weight of those draws; the rest is the walk's own.
    pub common: f64,
    /// Variance of the change in a mean minute.
    pub variance: f64,
}

impl PriceWalk {
    /// The segment between two knots, with the walk's values there.
    pub(in crate::market) fn segment(&self, segment: i64, left: f64, right: f64) -> WalkStretch {
        let climate = smooth(place(&[self.climate, 1]), segment as f64 / 5.0)
            + 0.4 * normal(place(&[self.climate, 2, segment as u64]));
        let minutes = (1i64 << KNOT_BITS) as f64;
        WalkStretch {
            low: UnixMinute(segment << KNOT_BITS),
            bits: KNOT_BITS,
            left,
            right,
            variance: self.variance * minutes * (CLIMATE * climate - 0.06).exp(),
            volume: minutes * (0.5 * CLIMATE * climate).exp(),
        }
    }

    /// The halves of a segment.
    pub(in crate::market) fn halves(&self, whole: &WalkStretch) -> [WalkStretch; 2] {
        let half = 1i64 << (whole.bits - 1);
        let middle = UnixMinute(whole.low.0 + half);
        let own = mix(self.seed ^ (middle.0 as u64) << 6 ^ u64::from(whole.bits));
        let alike = mix(self.climate ^ (middle.0 as u64) << 6 ^ u64::from(whole.bits));
        let uneven = self.common * (2.0 * uniform(alike) - 1.0) + (1.0 - self.common) * (2.0 * uniform(mix(own)) - 1.0);
        let lean = UNEVEN[whole.bits as usize] * uneven;
        let (share, part) = (0.5 + 0.5 * lean, 0.5 + 0.5 * CALMER * lean);
        let deviation = (whole.variance * share * (1.0 - share)).sqrt() * season(middle).swing;
        let at = whole.left + (whole.right - whole.left) * share + deviation * normal(own);
        let bits = whole.bits - 1;
        [
            WalkStretch { bits, right: at, variance: whole.variance * share, volume: whole.volume * part, ..*whole },
            WalkStretch {
                low: middle,
                bits,
                left: at,
                variance: whole.variance * (1.0 - share),
                volume: whole.volume * (1.0 - part),
                ..*whole
            },
        ]
    }

    /// Variance and volume of the minutes of a segment before `minute`.
    fn before(&self, minute: UnixMinute) -> [f64; 2] {
        let mut stretch = self.segment(minute.0 >> KNOT_BITS, 0.0, 0.0);
        let mut sum = [0.0; 2];
        while stretch.low < minute {
            let [first, second] = self.halves(&stretch);
            if minute < second.low {
                stretch = first;
            } else {
                sum = [sum[0] + first.variance, sum[1] + first.volume];
                stretch = second;
            }
        }
        sum
    }

    /// Variance and volume of the minutes `first..end`, the season apart.
    pub(in crate::market) fn spent(&self, first: UnixMinute, end: UnixMinute) -> [f64; 2] {
        let (mut sum, before) = (self.before(end), self.before(first));
        for segment in first.0 >> KNOT_BITS..end.0 >> KNOT_BITS {
            let whole = self.segment(segment, 0.0, 0.0);
            sum = [sum[0] + whole.variance, sum[1] + whole.volume];
        }
        [sum[0] - before[0], sum[1] - before[1]]
    }
}

/// Largest distance of a walk beyond the ends of a stretch of 2^bits minutes, by bits, in roots of the stretch's variance.
/// `minute` is the distance for a single minute.
pub(in crate::market) fn reaches(minute: f64) -> [f64; KNOT_BITS as usize + 1] {
    let mut reaches = [minute * *MOST_SWING; KNOT_BITS as usize + 1];
    for bits in 1..reaches.len() {
        // Each halving adds at most one furthest draw to the higher end; no half has more than this share of the variance.
        let most = 0.5 + 0.5 * UNEVEN[bits];
        reaches[bits] = 0.5 * FURTHEST * *MOST_SWING + most.sqrt() * reaches[bits - 1];
    }
    reaches
}
