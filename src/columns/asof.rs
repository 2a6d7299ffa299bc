//! Joins in time: what was known at a moment.

use std::sync::atomic::{AtomicBool, Ordering};

use super::column::NO_TIME;
use super::pages::zeros;
use super::parallel::in_stretches;

/// For each moment the latest row that was known at it and is no older than `max_age`, or -1; all in nanoseconds.
///
/// `moments` and `known` ascend. Of rows that became known at once, the last one counts.
pub fn latest_known(moments: &[i64], known: &[i64], max_age: i64) -> Vec<i64> {
    joined(moments, known, max_age, |row| row.map_or(-1, |row| row as i64))
}

/// For each moment the value in the row of [`latest_known`], or NaN. A value for each of `known`; without a value for one,
/// NaN.
pub fn latest_values(moments: &[i64], known: &[i64], max_age: i64, values: &[f64]) -> Vec<f64> {
    joined(moments, known, max_age, |row| row.and_then(|row| values.get(row)).copied().unwrap_or(f64::NAN))
}

/// The results of `of` for each moment and its latest known row.
fn joined<T: Copy + Default + Send>(
    moments: &[i64],
    known: &[i64],
    max_age: i64,
    of: impl Fn(Option<usize>) -> T + Sync,
) -> Vec<T> {
    let mut made = zeros(moments.len());
    in_stretches(&mut made, |from, made| {
        let Some(&first) = moments.get(from) else { return };
        // Rows known so far; each moment is at or after the one before.
        let mut count = known.partition_point(|&at| at <= first);
        for (one, &moment) in made.iter_mut().zip(&moments[from..]) {
            while known.get(count).is_some_and(|&at| at <= moment) {
                count += 1;
            }
            // Ends of time as far apart as numbers allow are no ages.
            let fresh = |row: &usize| moment.checked_sub(known[*row]).is_some_and(|age| age <= max_age);
            *one = of(count.checked_sub(1).filter(fresh));
        }
    });
    made
}

/// A copy of times that ascend, each of them there; `None` where they do not.
#[allow(clippy::needless_bitwise_bool)] // an early end would keep the compiler from comparing many at a time
pub fn copy_of_ascending(times: &[i64]) -> Option<Vec<i64>> {
    let ascends = AtomicBool::new(times.first() != Some(&NO_TIME)); // the least of all numbers
    let mut copy = zeros(times.len());
    in_stretches(&mut copy, |from, copy| {
        let own = &times[from..from + copy.len()];
        copy.copy_from_slice(own);
        let before = times[from.saturating_sub(1)..].iter();
        if !before
            .zip(if from == 0 { &own[1.min(own.len())..] } else { own })
            .fold(true, |all, (one, next)| all & (one <= next))
        {
            ascends.store(false, Ordering::Relaxed);
        }
    });
    ascends.into_inner().then_some(copy)
}

/// The values of the rows at `places`; `absent` where there is none (-1).
pub fn gather<T: Copy + Default + Send + Sync>(values: &[T], places: &[i64], absent: T) -> Vec<T> {
    let mut gathered = zeros(places.len());
    in_stretches(&mut gathered, |from, gathered| {
        for (value, &place) in gathered.iter_mut().zip(&places[from..]) {
            *value = usize::try_from(place).ok().and_then(|place| values.get(place)).copied().unwrap_or(absent);
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
    fn ascending_times_are_copied_and_others_refused() {
        for good in [&[][..], &[7], &[1, 1, 2], &[NO_TIME + 1, i64::MAX]] {
            assert_eq!(copy_of_ascending(good).as_deref(), Some(good));
        }
        for bad in [&[2, 1][..], &[NO_TIME], &[NO_TIME, 5], &[1, 5, 4]] {
            assert_eq!(copy_of_ascending(bad), None);
        }
        // Wherever the one stands that is before its own, also where one thread's part ends.
        let mut long: Vec<i64> = (0..300_000).collect();
        assert_eq!(copy_of_ascending(&long).as_ref(), Some(&long));
        for place in [1, 99_999, 100_000, 149_999, 150_000, 150_001, 299_999] {
            long.swap(place - 1, place);
            assert_eq!(copy_of_ascending(&long), None, "{place}");
            long.swap(place - 1, place);
        }
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
            prop_assert_eq!(latest_known(&moments, &known, max_age), expected.clone());
            let values: Vec<f64> = known.iter().map(|at| *at as f64).collect();
            let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
            let taken = expected.iter().map(|place| usize::try_from(*place).map_or(f64::NAN, |place| values[place]));
            prop_assert_eq!(bits(latest_values(&moments, &known, max_age, &values)), bits(taken.collect()));
        }
    }
}
