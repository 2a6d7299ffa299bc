//! Joins in time: what was known at a moment.

use super::parallel::in_stretches;

/// For each moment the latest row that was known at it and is no older than `max_age`, or -1; all in nanoseconds.
///
/// `moments` and `known` ascend. Of rows that became known at once, the last one counts.
pub fn latest_known(moments: &[i64], known: &[i64], max_age: i64) -> Vec<i64> {
    let mut places = vec![-1; moments.len()];
    in_stretches(&mut places, |from, places| {
        let Some(&first) = moments.get(from) else { return };
        // Rows known so far; each moment is at or after the one before.
        let mut count = known.partition_point(|&at| at <= first);
        for (place, &moment) in places.iter_mut().zip(&moments[from..]) {
            while known.get(count).is_some_and(|&at| at <= moment) {
                count += 1;
            }
            // Ends of time as far apart as numbers allow are no ages.
            let fresh = |at: i64| moment.checked_sub(at).is_some_and(|age| age <= max_age);
            *place = match count.checked_sub(1) {
                Some(row) if fresh(known[row]) => row as i64,
                _ => -1,
            };
        }
    });
    places
}

/// The values of the rows at `places`; `absent` where there is none (-1).
pub fn gather<T: Copy + Send + Sync>(values: &[T], places: &[i64], absent: T) -> Vec<T> {
    let mut gathered = vec![absent; places.len()];
    in_stretches(&mut gathered, |from, gathered| {
        for (value, &place) in gathered.iter_mut().zip(&places[from..]) {
            if let Some(row) = usize::try_from(place).ok().and_then(|place| values.get(place)) {
                *value = *row;
            }
        }
    });
    gathered
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_latest_row_that_was_known_counts_while_it_is_fresh() {
        let known = [10, 20, 20, 40];
        assert_eq!(latest_known(&[9, 10, 19, 20, 25, 31, 40, 51], &known, 10), [-1, 0, 0, 2, 2, -1, 3, -1]);
        assert_eq!(latest_known(&[5], &[], 10), [-1]);
        assert_eq!(latest_known(&[], &known, 10), [0_i64; 0]);
        assert_eq!(latest_known(&[i64::MAX], &[i64::MIN], i64::MAX), [-1]);
        assert_eq!(gather(&[1.5, 2.5], &[1, -1, 0], 0.0), [2.5, 0.0, 1.5]);
    }

    #[test]
    fn many_moments_are_joined_in_parts_as_in_one() {
        let moments: Vec<i64> = (0..400_000).map(|at| at * 7).collect();
        let known: Vec<i64> = (0..30_000).map(|at| at * 91 + 3).collect();
        let places = latest_known(&moments, &known, 91);
        for (moment, place) in moments.iter().zip(&places) {
            let row = (moment - 3).div_euclid(91).min(29_999);
            let stale = row < 0 || moment - (row * 91 + 3) > 91;
            assert_eq!(*place, if stale { -1 } else { row });
        }
        let values: Vec<f64> = known.iter().map(|at| *at as f64).collect();
        let gathered = gather(&values, &places, f64::NAN);
        assert!(gathered.iter().zip(&places).all(|(value, place)| value.is_nan() == (*place < 0)));
    }

    proptest! {
        #[test]
        fn every_moment_is_joined_as_alone(
            mut moments in prop::collection::vec(-50i64..50, 0..30), mut known in prop::collection::vec(-50i64..50, 0..30),
            max_age in 0i64..40,
        ) {
            moments.sort_unstable();
            known.sort_unstable();
            let alone = |moment: i64| {
                let row = known.iter().rposition(|at| *at <= moment);
                row.filter(|row| moment - known[*row] <= max_age).map_or(-1, |row| row as i64)
            };
            let expected: Vec<i64> = moments.iter().map(|moment| alone(*moment)).collect();
            prop_assert_eq!(latest_known(&moments, &known, max_age), expected);
        }
    }
}
