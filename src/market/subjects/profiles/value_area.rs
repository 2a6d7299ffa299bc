//! Point of control and value area of a ladder of levels.

use std::ops::RangeInclusive;

/// Share of the time-price opportunities that the value area holds at the least, in percent.
pub(in crate::market) const VALUE_AREA_PERCENT: u64 = 70;

/// A visited level: its number, and the number of blocks that visited it.
pub(in crate::market) type Rung = (i64, u64);

/// Place of the level with most blocks; then the nearest to the middle between the lowest and the highest level, then the
/// lower. `None` for an empty ladder.
pub(in crate::market) fn point_of_control(ladder: &[Rung]) -> Option<usize> {
    let twice_middle = ladder.first()?.0 + ladder.last()?.0;
    let off_middle = |level: i64| (2 * level - twice_middle).abs();
    let better =
        |one: Rung, other: Rung| one.1 > other.1 || (one.1 == other.1 && off_middle(one.0) < off_middle(other.0));
    (0..ladder.len()).reduce(|best, place| if better(ladder[place], ladder[best]) { place } else { best })
}

/// Places of the value area. It starts at the point of control and adds the pair of levels above or below, whichever has
/// more blocks (the upper one if equal), until it holds 70 % of all. At an end of the ladder a pair may be one level.
pub(in crate::market) fn value_area(ladder: &[Rung], control: usize) -> RangeInclusive<usize> {
    let count = |places: &[Rung]| places.iter().map(|rung| rung.1).sum::<u64>();
    let enough = count(ladder) * VALUE_AREA_PERCENT;
    // The area is `low..high`.
    let (mut low, mut high) = (control, control + 1);
    let mut held = count(&ladder[low..high]);
    while held * 100 < enough {
        let (below, above) = (low.saturating_sub(2), (high + 2).min(ladder.len()));
        let (down, up) = (count(&ladder[below..low]), count(&ladder[high..above]));
        if high < ladder.len() && up >= down {
            (high, held) = (above, held + up);
        } else {
            (low, held) = (below, held + down);
        }
    }
    low..=high - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ladder(counts: &[u64]) -> Vec<Rung> {
        counts.iter().enumerate().map(|(level, &count)| (level as i64, count)).collect()
    }

    fn area(counts: &[u64]) -> (usize, usize, usize) {
        let ladder = ladder(counts);
        let control = point_of_control(&ladder).unwrap();
        let area = value_area(&ladder, control);
        (control, *area.start(), *area.end())
    }

    #[test]
    fn the_most_visited_level_controls_and_ties_go_to_the_middle() {
        assert_eq!(point_of_control(&[]), None);
        assert_eq!(point_of_control(&ladder(&[1, 3, 2])), Some(1));
        assert_eq!(point_of_control(&ladder(&[3, 1, 1, 3, 1])), Some(3)); // the middle is 2
        assert_eq!(point_of_control(&ladder(&[1, 3, 1, 3, 1])), Some(1)); // equally near: the lower
        assert_eq!(point_of_control(&[(0, 2), (1, 1), (2, 2), (9, 1)]), Some(2)); // a gap moves the middle to 4.5
    }

    #[test]
    fn the_area_grows_by_the_larger_pair() {
        // 20 in all, 14 are 70 %. 6; above 4+2=6 against below 3+2=5: 12; above 1 against 5: 17.
        assert_eq!(area(&[2, 2, 3, 6, 4, 2, 1]), (3, 1, 5));
        // 10 in all, 7 needed: 4, then above 2+1 (equal to below 1+2): exactly 7.
        assert_eq!(area(&[2, 1, 4, 2, 1]), (2, 2, 4));
        assert_eq!(area(&[5]), (0, 0, 0));
        assert_eq!(area(&[1, 1, 1, 10]), (3, 3, 3)); // 10 of 13 are more than 70 %
        assert_eq!(area(&[4, 3, 3]), (0, 0, 2)); // only upwards is left
    }

    proptest! {
        #[test]
        fn the_area_holds_seventy_percent_around_its_control(counts in prop::collection::vec(1u64..9, 1..40)) {
            let (control, low, high) = area(&counts);
            prop_assert!(low <= control && control <= high && high < counts.len());
            prop_assert_eq!(counts[control], *counts.iter().max().unwrap());
            let held: u64 = counts[low..=high].iter().sum();
            prop_assert!(held * 10 >= counts.iter().sum::<u64>() * 7);
        }
    }
}
