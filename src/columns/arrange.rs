//! Order and identity: rows ascend by time without duplicates, and series of several answers join by their identity,
//! whatever order they came in (supplement 3).

use super::Series;
use super::column::merge;
use crate::protocol::SeriesId;

/// Two rows of one series share a timestamp but not their values, or two answers disagree on a column's kind.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Conflict {
    /// Different rows for one time.
    #[error("two different points for {side}timestamp {seconds} s: column {column} differs")]
    Rows {
        /// Unix seconds.
        seconds: i64,
        /// The first column that differs.
        column: String,
        /// The side, with a trailing space, or nothing.
        side: String,
    },
    /// A column is of one kind here and of another there.
    #[error("answers of one series disagree on the kind of a column")]
    Kinds,
}

/// Sorts the rows by time and drops equal duplicates.
///
/// `unique` is false for types that hold several rows per time (token supply, one per chain): those are only sorted.
pub fn arrange(series: &mut Series, unique: bool) -> Result<(), Conflict> {
    let times = &series.timestamps;
    if times.windows(2).all(|two| two[0] < two[1]) {
        return Ok(());
    }
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|&row| times[row]);
    if unique {
        let mut kept: Vec<usize> = Vec::with_capacity(order.len());
        for row in order {
            match kept.last() {
                Some(&last) if times[last] == times[row] => {
                    if let Some((name, _)) = series.columns.iter().find(|(_, column)| !column.same(last, row)) {
                        return Err(Conflict::Rows {
                            seconds: times[row].div_euclid(1_000_000_000),
                            column: name.to_string(),
                            side: series.id.side.as_ref().map_or_else(String::new, |side| format!("{side} ")),
                        });
                    }
                }
                _ => kept.push(row),
            }
        }
        order = kept;
    }
    series.take(&order);
    Ok(())
}

/// Joins the answers of a plan's requests: series of the same identity are appended in the order of the answers, then
/// arranged. The order of the result is that of first appearance.
pub fn join(answers: Vec<Vec<Series>>, unique: bool) -> Result<Vec<Series>, Conflict> {
    let mut joined: Vec<Series> = Vec::new();
    for series in answers.into_iter().flatten() {
        let found = joined.iter_mut().find(|known| same_series(&known.id, &series.id) && known.shape == series.shape);
        match found {
            None => joined.push(series),
            Some(known) => {
                let (mine, more) = (known.len(), series.len());
                known.timestamps.extend(series.timestamps);
                if !merge(&mut known.columns, mine, series.columns, more) {
                    return Err(Conflict::Kinds);
                }
            }
        }
    }
    for series in &mut joined {
        arrange(series, unique)?;
    }
    Ok(joined)
}

/// Fields that this version does not know may change between answers (a rank, say) without naming another series.
fn same_series(left: &SeriesId, right: &SeriesId) -> bool {
    left.fields() == right.fields()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Column;
    use crate::protocol::Shape;

    fn series(side: &str, rows: &[(i64, f64)]) -> Series {
        Series {
            id: SeriesId { side: Some(side.into()), ..SeriesId::default() }.into(),
            shape: Shape::Table,
            timestamps: rows.iter().map(|row| row.0).collect(),
            columns: vec![("open".into(), Column::Float(rows.iter().map(|row| row.1).collect()))],
        }
    }

    #[test]
    fn rows_are_sorted_and_equal_duplicates_dropped() {
        let mut one = series("BUY", &[(3, 3.0), (1, 1.0), (3, 3.0), (2, 2.0)]);
        arrange(&mut one, true).unwrap();
        assert_eq!(one, series("BUY", &[(1, 1.0), (2, 2.0), (3, 3.0)]));
    }

    #[test]
    fn different_duplicates_are_an_error_that_names_the_column() {
        let mut one = series("BUY", &[(5_000_000_000, 3.0), (5_000_000_000, 4.0)]);
        let conflict = arrange(&mut one, true).unwrap_err();
        assert_eq!(conflict.to_string(), "two different points for BUY timestamp 5 s: column open differs");
        arrange(&mut one, false).unwrap();
        assert_eq!(one.len(), 2);
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
