//! Order and identity: rows ascend by time without duplicates, and series of several answers join by their identity,
//! whatever order they came in (supplement 3).

use std::collections::HashMap;
use std::sync::Arc;

use super::column::{Column, ColumnName, NO_TIME, merge};
use super::series::{LEVELS, SPLIT, Series};
use crate::clock::{UnixNanos, UnixSecond};
use crate::protocol::{SeriesId, Shape};

/// Two rows of one series share a timestamp but differ in a field of their type.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("two different points for {side}timestamp {} s: column {column} differs", .second.0)]
pub struct Conflict {
    /// The second of that time.
    pub second: UnixSecond,
    /// The first column that differs.
    pub column: String,
    /// The side, with a trailing space, or nothing.
    pub side: String,
}

/// Most rows of one time that a row is compared with: of more, some duplicates stay, and time stays linear.
const COMPARED: usize = 64;

/// Whether each time is later than the one before it.
pub(crate) fn times_ascend(times: &[i64]) -> bool {
    // Differences of times from 1970 on do not overflow, and the signs of all are collected without a comparison, for
    // which older processors have no instruction that takes several at once.
    let next = times.get(1..).unwrap_or_default();
    let signs = times.iter().zip(next).fold(times.last().copied().unwrap_or(0), |signs, (time, next)| {
        signs | time | next.wrapping_sub(*time).wrapping_sub(1)
    });
    signs >= 0 || times.windows(2).all(|two| two[0] < two[1])
}

/// Sorts the rows by time and drops equal duplicates.
///
/// Rows of one time that differ only in fields that the type's table does not know are all kept. In a field that it knows
/// they must agree: nothing says which of two prices is right. Rows without a time come first.
///
/// `unique` is false for types that hold several rows per time (token supply, one per chain): those are only sorted.
pub fn arrange(series: &mut Series, unique: bool) -> Result<(), Conflict> {
    let times = &series.timestamps;
    if times_ascend(times) {
        return Ok(());
    }
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|&row| times[row]);
    if unique {
        let settled = settled_columns(series);
        // Start of the kept rows of one time.
        let (mut kept, mut first): (Vec<usize>, usize) = (Vec::with_capacity(order.len()), 0);
        for row in order {
            match kept.get(first) {
                Some(&known) if times[known] == times[row] && times[row] != NO_TIME => {
                    if let Some((name, _)) = settled.iter().find(|(_, column)| !column.same(known, row)) {
                        return Err(Conflict {
                            second: UnixNanos(times[row]).second(),
                            column: name.to_string(),
                            side: series.id.side.as_ref().map_or_else(String::new, |side| format!("{side} ")),
                        });
                    }
                    let equal = |other: usize| series.columns.iter().all(|(_, column)| column.same(other, row));
                    let newest = first.max(kept.len().saturating_sub(COMPARED));
                    if !kept[newest..].iter().any(|&other| equal(other)) {
                        kept.push(row);
                    }
                }
                _ => {
                    first = kept.len();
                    kept.push(row);
                }
            }
        }
        order = kept;
    }
    series.take(&order);
    Ok(())
}

/// The columns that the type's table knows and whose kind the specification states.
fn settled_columns(series: &Series) -> Vec<&(ColumnName, Column)> {
    let fields = series.data_type().map_or(&[][..], |known| known.spec().fields);
    let settled = |name: &ColumnName| {
        let of_levels = series.shape == Shape::Heatmap && (name == LEVELS || name == SPLIT);
        of_levels || fields.iter().any(|field| !field.open && field.column == name)
    };
    series.columns.iter().filter(|(name, column)| !matches!(column, Column::Raw(_)) && settled(name)).collect()
}

/// Answers that contradict each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Contradiction {
    /// The difference.
    pub conflict: Conflict,
    /// All rows of all answers, sorted.
    pub series: Vec<Series>,
}

/// Joins the answers of a plan's requests: series of the same identity are appended in the order of the answers, then
/// arranged. The order of the result is that of first appearance. Identities are compared with the fields that this
/// version does not know, in any order.
pub fn join(answers: Vec<Vec<Series>>, unique: bool) -> Result<Vec<Series>, Contradiction> {
    let mut joiner = Joiner::default();
    for answer in answers {
        joiner.add(answer);
    }
    joiner.finish(unique)
}

/// As [`join`], of answers that come one after the other.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    joined: Vec<Series>,
    places: HashMap<(Arc<SeriesId>, Shape), usize>,
    /// Rows that are still to come, as far as they are known.
    to_come: usize,
}

impl Joiner {
    /// For answers of so many rows in all: a series takes room for its share of them when it first appears, instead of
    /// being moved each time that it grows.
    pub(crate) fn expecting(rows: usize) -> Self {
        Self { to_come: rows, ..Self::default() }
    }

    /// Appends the series of the next answer.
    pub(crate) fn add(&mut self, answer: Vec<Series>) {
        let rows: usize = answer.iter().map(Series::len).sum();
        self.to_come = self.to_come.saturating_sub(rows);
        for mut series in answer {
            let key = (in_order(&series.id), series.shape);
            match self.places.get(&key) {
                None => {
                    series.reserve(self.to_come as f64 / rows.max(1) as f64);
                    self.places.insert(key, self.joined.len());
                    self.joined.push(series);
                }
                Some(&place) => {
                    let known = &mut self.joined[place];
                    let (mine, more) = (known.len(), series.len());
                    known.timestamps.extend(series.timestamps);
                    merge(&mut known.columns, mine, series.columns, more);
                }
            }
        }
    }

    /// The series, each arranged.
    pub(crate) fn finish(mut self, unique: bool) -> Result<Vec<Series>, Contradiction> {
        let mut first = None;
        for series in &mut self.joined {
            if let Err(conflict) = arrange(series, unique) {
                first.get_or_insert(conflict);
                // Every row of it: this cannot fail.
                arrange(series, false).unwrap_or_default();
            }
        }
        match first {
            None => Ok(self.joined),
            Some(conflict) => Err(Contradiction { conflict, series: self.joined }),
        }
    }
}

/// The identity with its unknown fields in order of their names.
fn in_order(id: &Arc<SeriesId>) -> Arc<SeriesId> {
    if id.extra.is_sorted() {
        return Arc::clone(id);
    }
    let mut sorted = SeriesId::clone(id);
    sorted.extra.sort_unstable();
    Arc::new(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Column;
    use crate::protocol::Shape;

    fn candles(side: &str, rows: &[(i64, f64)]) -> Series {
        let mut series = series(side, rows);
        Arc::make_mut(&mut series.id).data_type = Some("TRADE_AGG".into());
        series
    }

    fn series(side: &str, rows: &[(i64, f64)]) -> Series {
        Series {
            id: SeriesId { side: Some(side.into()), ..SeriesId::default() }.into(),
            shape: Shape::Table,
            timestamps: rows.iter().map(|row| row.0).collect(),
            columns: vec![("open".into(), Column::Float(rows.iter().map(|row| row.1).collect()))],
        }
    }

    #[test]
    fn what_ascends_is_told_also_of_extreme_times() {
        let odd = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
        for first in odd {
            assert!(times_ascend(&[first]));
            for second in odd {
                assert_eq!(times_ascend(&[first, second]), first < second, "{first} {second}");
                for third in odd {
                    assert_eq!(times_ascend(&[first, second, third]), first < second && second < third);
                }
            }
        }
        assert!(times_ascend(&[]));
    }

    #[test]
    fn rows_are_sorted_and_equal_duplicates_dropped() {
        let mut one = series("BUY", &[(3, 3.0), (1, 1.0), (3, 3.0), (2, 2.0)]);
        arrange(&mut one, true).unwrap();
        assert_eq!(one, series("BUY", &[(1, 1.0), (2, 2.0), (3, 3.0)]));
    }

    #[test]
    fn different_duplicates_are_an_error_that_names_the_column() {
        let mut one = candles("BUY", &[(5_000_000_000, 3.0), (5_000_000_000, 4.0)]);
        let conflict = arrange(&mut one, true).unwrap_err();
        assert_eq!(conflict.to_string(), "two different points for BUY timestamp 5 s: column open differs");
        arrange(&mut one, false).unwrap();
        assert_eq!(one.len(), 2);
    }

    #[test]
    fn rows_of_one_time_that_differ_in_an_unknown_field_are_all_kept() {
        let mut one = candles("BUY", &[(2, 4.0), (1, 3.0), (2, 4.0), (2, 4.0), (3, 5.0)]);
        one.columns.push(("note".into(), Column::Float(vec![7.0, 6.0, 8.0, 7.0, f64::NAN])));
        arrange(&mut one, true).unwrap();
        assert_eq!(one.timestamps, [1, 2, 2, 3]);
        assert_eq!(one.floats("open").unwrap(), [3.0, 4.0, 4.0, 5.0]);
        assert_eq!(one.floats("note").unwrap()[..3], [6.0, 7.0, 8.0]);
        // No field of an unknown type is known.
        let mut unknown = series("BUY", &[(1, 3.0), (1, 4.0), (1, 3.0)]);
        arrange(&mut unknown, true).unwrap();
        assert_eq!(unknown.floats("open").unwrap(), [3.0, 4.0]);
    }

    #[test]
    fn rows_without_a_time_are_all_kept() {
        let mut one = series("BUY", &[(2, 4.0), (NO_TIME, 3.0), (NO_TIME, 3.0)]);
        arrange(&mut one, true).unwrap();
        assert_eq!(one.floats("open").unwrap(), [3.0, 3.0, 4.0]);
    }

    #[test]
    fn series_that_differ_in_an_unknown_field_of_their_identity_stay_apart() {
        let with = |extra: &[(&str, &str)]| {
            let mut one = series("BUY", &[(1, 1.0)]);
            Arc::make_mut(&mut one.id).extra = extra.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
            one
        };
        let (first, second) = (with(&[("pool", "1"), ("fee", "2")]), with(&[("pool", "3"), ("fee", "2")]));
        let joined = join(vec![vec![first.clone(), second.clone()], vec![second.clone(), first.clone()]], true);
        assert_eq!(joined.unwrap(), [first.clone(), second]);
        let turned = with(&[("fee", "2"), ("pool", "1")]);
        assert_eq!(join(vec![vec![first.clone()], vec![turned]], true).unwrap(), [first]);
    }

    #[test]
    fn answers_join_by_identity_whatever_their_order() {
        let first = vec![series("BUY", &[(1, 1.0)]), series("SELL", &[(1, 9.0)])];
        let second = vec![series("SELL", &[(2, 8.0)]), series("BUY", &[(2, 2.0)])];
        let joined = join(vec![first, second], true).unwrap();
        assert_eq!(joined, [series("BUY", &[(1, 1.0), (2, 2.0)]), series("SELL", &[(1, 9.0), (2, 8.0)])]);
    }

    #[test]
    fn a_column_that_only_one_answer_has_is_blank_in_the_other() {
        let mut wide = series("BUY", &[(2, 2.0)]);
        wide.columns.push(("extra".into(), Column::Float(vec![7.0])));
        let joined = join(vec![vec![series("BUY", &[(1, 1.0)])], vec![wide]], true).unwrap();
        let extra = joined[0].floats("extra").unwrap();
        assert!(extra[0].is_nan() && extra[1] == 7.0);
    }
}
