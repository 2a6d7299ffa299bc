//! A heatmap as a dense matrix, for pictures.

use ndarray::Array2;

use super::heatmap::pairs;
use super::series::Series;

/// Largest number of cells a grid may have (1 GiB of doubles).
const MAX_CELLS: usize = 1 << 27;

/// A dense heatmap: rows are snapshots, columns are price buckets.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseHeatmap {
    /// Lower edge of each price bucket, ascending, evenly spaced.
    pub prices: Vec<f64>,
    /// Volume by (snapshot, price bucket); 0 where there is no level.
    pub volumes: Array2<f64>,
}

/// Why a heatmap has no grid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DenseHeatmapError {
    /// The series holds no levels column.
    #[error("not a heatmap: it has no levels")]
    NotAHeatmap,
    /// The step is not a positive number.
    #[error("step {0} is not a price step above 0")]
    Step(f64),
    /// The grid would not fit into memory.
    #[error("{snapshots} snapshots × {prices:.3e} prices at step {step} are too many cells; give a larger step")]
    TooLarge {
        /// Rows.
        snapshots: usize,
        /// Columns.
        prices: f64,
        /// Price step.
        step: f64,
    },
}

impl DenseHeatmap {
    /// Lays a heatmap on a grid of price buckets `step` wide; without a step, the smallest distance between two
    /// neighbouring levels of a snapshot. Volumes of levels in one bucket add up.
    pub fn new(heatmap: &Series, step: Option<f64>) -> Result<Self, DenseHeatmapError> {
        let (levels, _) = heatmap.levels().ok_or(DenseHeatmapError::NotAHeatmap)?;
        Self::from_levels(&levels.offsets, &levels.values, step)
    }

    /// As [`DenseHeatmap::new`], from the parts: `offsets` count values (two a level) of `values`.
    pub fn from_levels(offsets: &[i64], values: &[f64], step: Option<f64>) -> Result<Self, DenseHeatmapError> {
        let snapshots = offsets.len().saturating_sub(1);
        let rows = || offsets.windows(2).map(|span| pairs(&values[span[0] as usize..span[1] as usize]));
        let step = match step {
            Some(step) if step.is_finite() && step > 0.0 => step,
            Some(step) => return Err(DenseHeatmapError::Step(step)),
            None => rows()
                .flat_map(|row| row.column(0).windows(2).into_iter().map(|two| two[1] - two[0]).collect::<Vec<_>>())
                .filter(|gap| *gap > 0.0)
                .fold(f64::INFINITY, f64::min),
        };
        let prices = || values.chunks_exact(2).map(|pair| pair[0]);
        let (low, high) = prices().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p), h.max(p)));
        if low > high {
            return Ok(Self { prices: Vec::new(), volumes: Array2::zeros((snapshots, 0)) });
        }
        let step = if step.is_finite() { step } else { 1.0 }; // one price only: any width shows it
        let first = bucket(low, step);
        let count = bucket(high, step) - first + 1.0;
        if !count.is_finite() || count * snapshots.max(1) as f64 > MAX_CELLS as f64 {
            return Err(DenseHeatmapError::TooLarge { snapshots, prices: count, step });
        }
        let mut volumes = Array2::zeros((snapshots, count as usize));
        for (index, row) in rows().enumerate() {
            for level in row.rows() {
                let column = (bucket(level[0], step) - first) as usize;
                volumes[(index, column)] += level[1];
            }
        }
        let prices = (0..count as usize).map(|index| (first + index as f64) * step).collect();
        Ok(Self { prices, volumes })
    }
}

/// Number of the bucket that holds a price. A price within rounding of an edge belongs to that edge.
fn bucket(price: f64, step: f64) -> f64 {
    let exact = price / step;
    let near = exact.round();
    if (exact - near).abs() <= 1e-6 { near } else { exact.floor() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_land_in_their_buckets() {
        let grid =
            DenseHeatmap::from_levels(&[0, 4, 6], &[1.9531, 2.0, 1.9533, 3.0, 1.9532, 5.0], Some(0.0001)).unwrap();
        assert_eq!(grid.prices.len(), 3);
        assert_eq!(grid.volumes.row(0).to_vec(), [2.0, 0.0, 3.0]);
        assert_eq!(grid.volumes.row(1).to_vec(), [0.0, 5.0, 0.0]);
        assert!((grid.prices[2] - 1.9533).abs() < 1e-12);
    }

    #[test]
    fn the_default_step_is_the_finest_gap() {
        let grid = DenseHeatmap::from_levels(&[0, 6], &[10.0, 1.0, 20.0, 1.0, 25.0, 1.0], None).unwrap();
        assert_eq!(grid.prices, [10.0, 15.0, 20.0, 25.0]);
    }

    #[test]
    fn odd_cases_have_odd_but_sound_grids() {
        assert_eq!(DenseHeatmap::from_levels(&[0, 0], &[], None).unwrap().volumes.dim(), (1, 0));
        assert_eq!(DenseHeatmap::from_levels(&[0, 2], &[7.0, 1.0], None).unwrap().volumes.dim(), (1, 1));
        assert_eq!(DenseHeatmap::from_levels(&[0], &[], Some(-1.0)), Err(DenseHeatmapError::Step(-1.0)));
        let wide = DenseHeatmap::from_levels(&[0, 4], &[0.0, 1.0, 1e12, 1.0], Some(1e-3));
        assert!(matches!(wide, Err(DenseHeatmapError::TooLarge { .. })));
    }
}
