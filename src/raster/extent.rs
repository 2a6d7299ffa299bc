//! Statistics of an answer for its pictures: its prices, and the distribution of its volumes.

use std::sync::{Mutex, PoisonError};

use super::cells::{RasterError, VolumeField, check_offsets, volume};
use crate::columns::parallel::{share, threads};

/// Levels that a thread takes at a time.
const BUNCH: usize = 1 << 16;
/// Snapshots that a thread takes at a time.
const ROWS: usize = 256;
/// Bins of the histogram of volumes.
const BINS: usize = 4096;
/// Relative distance below which two prices are the same price with different rounding.
const SAME: f64 = 1e-9;
/// A difference this close to a number of six digits is taken to be that number: differences of prices have rounding
/// errors.
const NEAR: f64 = 1e-7;

/// The prices of some levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// The lowest; infinity if there is no level.
    pub low: f64,
    /// The highest; minus infinity if there is no level.
    pub high: f64,
    /// The smallest distance of two neighbours in a snapshot, taken as the height of a level. Infinity if no snapshot
    /// has two prices.
    pub gap: f64,
}

impl Extent {
    const NONE: Self = Self { low: f64::INFINITY, high: f64::NEG_INFINITY, gap: f64::INFINITY };

    fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high), gap: self.gap.min(other.gap) }
    }
}

/// The extent of the prices of ragged levels.
pub fn extent<const F: usize>(levels: &[[f64; F]], offsets: &[i64]) -> Result<Extent, RasterError> {
    check_offsets(offsets, levels.len(), &[])?;
    let found = Mutex::new(Extent::NONE);
    let rows = offsets.len() - 1;
    share(threads(levels.len()), (0..rows).step_by(ROWS), |from| {
        let mut own = Extent::NONE;
        for span in offsets[from..=(from + ROWS).min(rows)].windows(2) {
            let mut before = f64::NAN;
            for level in &levels[span[0] as usize..span[1] as usize] {
                let price = level[0];
                let gap = price - before;
                own.low = own.low.min(price);
                own.high = own.high.max(price);
                if gap > SAME * price.abs() {
                    own.gap = own.gap.min(gap);
                }
                before = price;
            }
        }
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        *found = found.join(own);
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.gap = decimal(found.gap);
    Ok(found)
}

/// A distance without the rounding error of the prices.
fn decimal(gap: f64) -> f64 {
    let short: f64 = format!("{gap:.5e}").parse().unwrap_or(gap);
    if (short - gap).abs() <= NEAR * gap { short } else { gap }
}

/// Quantiles of the volumes, for fractions from 0 to 1; empty if no volume is above 0.
///
/// Volumes that are 0, negative or NaN are not counted. The others are counted in 4,096 bins, about evenly spaced on a
/// logarithmic scale between the smallest and the largest, and a result is off by a bin at most; those for 0 and 1 are
/// exact.
pub fn quantiles<const F: usize>(
    levels: &[[f64; F]],
    field: VolumeField,
    shares: &[f64],
) -> Result<Vec<f64>, RasterError> {
    match field {
        VolumeField::At(place) if place == 0 || place >= F => Err(RasterError::Field(place)),
        VolumeField::At(1) => Ok(quantiles_of(levels, |level| level[1], shares)),
        field => Ok(quantiles_of(levels, |level| volume(level, field), shares)),
    }
}

fn quantiles_of<const F: usize>(
    levels: &[[f64; F]],
    volume: impl Fn(&[f64; F]) -> f64 + Copy + Sync,
    shares: &[f64],
) -> Vec<f64> {
    let threads = threads(levels.len());
    let counted = |value: f64| value > 0.0 && value.is_finite();
    let ends = Mutex::new((f64::INFINITY, 0.0_f64));
    share(threads, levels.chunks(BUNCH), |some| {
        let mut own = (f64::INFINITY, 0.0_f64);
        for value in some.iter().map(volume).filter(|value| counted(*value)) {
            own = (own.0.min(value), own.1.max(value));
        }
        let mut ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
        *ends = (ends.0.min(own.0), ends.1.max(own.1));
    });
    let (low, high) = ends.into_inner().unwrap_or_else(PoisonError::into_inner);
    if low > high {
        return Vec::new();
    }
    // The bits of positive doubles ascend with them, linearly in their logarithm between two powers of two, about.
    let (first, last) = (low.to_bits(), high.to_bits());
    let scale = BINS as f64 / (last - first + 1) as f64;
    let counts = Mutex::new(vec![0_u64; BINS]);
    share(threads, levels.chunks(levels.len().div_ceil(threads).max(1)), |some| {
        let mut own = vec![0_u64; BINS];
        for value in some.iter().map(volume).filter(|value| counted(*value)) {
            own[(((value.to_bits() - first) as f64 * scale) as usize).min(BINS - 1)] += 1;
        }
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter_mut().zip(own).for_each(|(count, own)| *count += own);
    });
    let counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let total: u64 = counts.iter().sum();
    let mut below: Vec<f64> = Vec::with_capacity(BINS + 1);
    below.push(0.0);
    let mut sum = 0;
    for count in counts {
        sum += count;
        below.push(sum as f64);
    }
    let at = |share: f64| {
        let rank = share.clamp(0.0, 1.0) * total as f64;
        let bin = below.partition_point(|count| *count < rank).clamp(1, BINS) - 1;
        let within = ((rank - below[bin]) / (below[bin + 1] - below[bin]).max(1.0)).clamp(0.0, 1.0);
        f64::from_bits(first + ((bin as f64 + within) / scale) as u64).clamp(low, high)
    };
    shares
        .iter()
        .map(|share| {
            if *share <= 0.0 {
                low
            } else if *share >= 1.0 {
                high
            } else {
                at(*share)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prices_of_levels_and_the_height_of_one() {
        let levels = [[0.1, 1.0], [0.2, 1.0], [0.1 + 0.2, 1.0], [7.0, 1.0]];
        let found = extent(&levels, &[0, 3, 3, 4]).unwrap();
        assert_eq!(found, Extent { low: 0.1, high: 7.0, gap: 0.1 });
        assert_eq!(extent::<2>(&[], &[0]).unwrap(), Extent::NONE);
        assert!(extent(&levels, &[0, 5]).is_err());
        let thirds: Vec<[f64; 2]> = (0..4).map(|third| [f64::from(third) / 3.0, 1.0]).collect();
        assert!((extent(&thirds, &[0, 4]).unwrap().gap - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn shares_of_the_volumes() {
        let levels: Vec<[f64; 2]> = (1..=300_000).map(|number| [0.0, f64::from(number)]).collect();
        let found = quantiles(&levels, VolumeField::At(1), &[0.0, 0.25, 0.5, 0.999, 1.0]).unwrap();
        let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.01;
        assert!(near(found[1], 75_000.0) && near(found[2], 150_000.0) && near(found[3], 299_700.0), "{found:?}");
        assert_eq!((found[0], found[4]), (1.0, 300_000.0));
        assert!(quantiles(&[[1.0, 0.0], [1.0, f64::NAN]], VolumeField::At(1), &[0.5]).unwrap().is_empty());
        assert_eq!(quantiles(&[[1.0, 5.0]], VolumeField::At(1), &[0.0, 0.5, 1.0]).unwrap(), [5.0; 3]);
    }
}
