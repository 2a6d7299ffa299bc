//! Aggregates levels into price buckets of another height.

use super::cells::{LevelSide, RasterError, VolumeField, check_offsets, runs, volume};

/// Levels in price buckets: price and volume of each, and the start of each snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Regrouped {
    /// Lower edge and volume of each bucket, ascending by price within a snapshot.
    pub levels: Vec<[f64; 2]>,
    /// Start of each snapshot; one more entry than there are snapshots.
    pub offsets: Vec<i64>,
    /// Number of bids of each snapshot: all or none if one side was requested, negative if the side is unknown or both
    /// were requested.
    pub split: Vec<i64>,
}

/// Adds up the levels of each snapshot by price buckets that start at multiples of `step`. A price within a millionth
/// of a bucket below an edge belongs to that edge, because it was rounded.
pub fn regroup<const F: usize>(
    levels: &[[f64; F]],
    offsets: &[i64],
    split: &[i64],
    step: f64,
    field: VolumeField,
    side: LevelSide,
) -> Result<Regrouped, RasterError> {
    check_offsets(offsets, levels.len(), split)?;
    if !(step.is_finite() && step > 0.0) {
        return Err(RasterError::Height(step));
    }
    if let VolumeField::At(place) = field
        && (place == 0 || place >= F)
    {
        return Err(RasterError::Field(place));
    }
    let rows = offsets.len() - 1;
    let mut made = Regrouped { levels: Vec::new(), offsets: vec![0], split: Vec::with_capacity(rows) };
    for snapshot in 0..rows {
        let from = made.levels.len();
        let side_runs = runs(offsets, split, snapshot, side);
        let mut ascends = true;
        for level in side_runs.iter().flatten().flat_map(|run| &levels[run.clone()]) {
            let price = (level[0] / step + 1e-6).floor() * step;
            let volume = volume(level, field);
            match made.levels[from..].last_mut() {
                Some(last) if last[0] == price => last[1] += volume,
                last => {
                    ascends &= last.is_none_or(|last| last[0] < price);
                    made.levels.push([price, volume]);
                }
            }
        }
        if !ascends {
            // Sides that overlap: their buckets are merged.
            made.levels[from..].sort_by(|one, other| one[0].total_cmp(&other[0]));
            let mut kept = from;
            for next in from + 1..made.levels.len() {
                let [price, volume] = made.levels[next];
                if made.levels[kept][0] == price {
                    made.levels[kept][1] += volume;
                } else {
                    kept += 1;
                    made.levels[kept] = [price, volume];
                }
            }
            made.levels.truncate(kept + 1);
        }
        let count = (made.levels.len() - from) as i64;
        made.split.push(match side {
            LevelSide::Bids if side_runs.is_some() => count,
            LevelSide::Asks if side_runs.is_some() => 0,
            _ => -1,
        });
        made.offsets.push(made.levels.len() as i64);
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: [[f64; 2]; 5] = [[0.1, 1.0], [0.2, 2.0], [0.1 + 0.2, 4.0], [0.2, 8.0], [0.4, 16.0]];

    #[test]
    fn levels_of_one_bucket_add_up() {
        let made = regroup(&LEVELS, &[0, 3, 5], &[2, -1], 0.2, VolumeField::At(1), LevelSide::Both).unwrap();
        assert_eq!(made.levels, [[0.0, 1.0], [0.2, 6.0], [0.2, 8.0], [0.4, 16.0]]);
        assert_eq!((made.offsets, made.split), (vec![0, 2, 4], vec![-1, -1]));
        let bids = regroup(&LEVELS, &[0, 3, 5], &[2, -1], 0.2, VolumeField::At(1), LevelSide::Bids).unwrap();
        assert_eq!((bids.levels, bids.offsets, bids.split), (vec![[0.0, 1.0], [0.2, 2.0]], vec![0, 2, 2], vec![2, -1]));
    }

    #[test]
    fn sides_that_overlap_come_together() {
        let made = regroup(&LEVELS, &[0, 5], &[3], 0.1, VolumeField::At(1), LevelSide::Both).unwrap();
        let volumes: Vec<f64> = made.levels.iter().map(|level| level[1]).collect();
        assert_eq!(volumes, [1.0, 10.0, 4.0, 16.0]);
        assert!(regroup(&LEVELS, &[0, 5], &[], f64::NAN, VolumeField::At(1), LevelSide::Both).is_err());
    }
}
