//! Differences between two readings of the same window: history that the service revised.

use crate::clock::UnixNanos;
use crate::columns::{Column, Series};
use crate::decode::column_name;
use crate::protocol::SeriesId;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// There is no such row or column.
    Absent,
    /// A double.
    Float(f64),
    /// An integer.
    Int(i64),
    /// Unix nanoseconds, or [`crate::columns::NO_TIME`].
    Time(i64),
    /// A text, or none.
    Text(Option<String>),
    /// A list of so many entries.
    List(usize),
}

/// A value that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    /// The series.
    pub id: SeriesId,
    /// Bucket start.
    pub time: UnixNanos,
    /// Name of the column.
    pub column: String,
    /// The archived value.
    pub before: Cell,
    /// The service's value now.
    pub after: Cell,
}

/// Every value in which two readings differ, bit for bit, by series, time and column. A row that only one of them has
/// differs in each of its columns.
pub fn revisions(before: &[Series], after: &[Series]) -> Vec<Revision> {
    let mut found = Vec::new();
    for old in before {
        match after.iter().find(|new| is_same(&new.id, &old.id)) {
            Some(new) => compare(Some(old), Some(new), &mut found),
            None => compare(Some(old), None, &mut found),
        }
    }
    for new in after {
        if !before.iter().any(|old| is_same(&new.id, &old.id)) {
            compare(None, Some(new), &mut found);
        }
    }
    found
}

/// Whether two series have the same identity, including unknown fields in any order.
fn is_same(one: &SeriesId, other: &SeriesId) -> bool {
    let sorted = |id: &SeriesId| {
        let mut extra = id.extra.clone();
        extra.sort_unstable();
        extra
    };
    one.fields() == other.fields() && sorted(one) == sorted(other)
}

fn compare(old: Option<&Series>, new: Option<&Series>, found: &mut Vec<Revision>) {
    let Some(id) = old.or(new).map(|series| series.id.clone()) else { return };
    let mut columns: Vec<&str> = Vec::new();
    for (name, _) in old.into_iter().chain(new).flat_map(|series| &series.columns) {
        if !columns.contains(&&**name) {
            columns.push(name);
        }
    }
    let time = |series: Option<&Series>, row: usize| series.and_then(|series| series.timestamps.get(row).copied());
    let (mut left, mut right) = (0, 0);
    loop {
        let (old_time, new_time) = (time(old, left), time(new, right));
        // Both ascend; rows with the same time (token supply) are paired in order.
        let (old_row, new_row, at) = match (old_time, new_time) {
            (None, None) => return,
            (Some(one), Some(other)) if one == other => (Some(left), Some(right), one),
            (Some(one), other) if other.is_none_or(|other| one < other) => (Some(left), None, one),
            (_, Some(other)) => (None, Some(right), other),
            (Some(one), None) => (Some(left), None, one),
        };
        for name in &columns {
            let before = old.zip(old_row).and_then(|(series, row)| Some((series.column(name)?, row)));
            let after = new.zip(new_row).and_then(|(series, row)| Some((series.column(name)?, row)));
            // A column without values in these rows may be missing.
            let is_blank = |place: Option<(&Column, usize)>| {
                place.is_none_or(|(column, row)| {
                    let mut both = column.take(&[row]);
                    both.append(column.blank(1)) && both.same(0, 1)
                })
            };
            let lacks = old_row.is_some() && new_row.is_some() && (before.is_none() || after.is_none());
            let equal = same(before, after) || lacks && is_blank(before) && is_blank(after);
            if !equal {
                let cell =
                    |place: Option<(&Column, usize)>| place.map_or(Cell::Absent, |(column, row)| cell(column, row));
                let (before, after) = (cell(before), cell(after));
                found.push(Revision {
                    id: (*id).clone(),
                    time: UnixNanos(at),
                    column: column_name(name),
                    before,
                    after,
                });
            }
        }
        left += usize::from(old_row.is_some());
        right += usize::from(new_row.is_some());
    }
}

fn same(before: Option<(&Column, usize)>, after: Option<(&Column, usize)>) -> bool {
    match (before, after) {
        (Some((old, left)), Some((new, right))) => {
            let mut both = old.take(&[left]);
            both.append(new.take(&[right])) && both.same(0, 1)
        }
        (None, None) => true,
        _ => false,
    }
}

fn cell(column: &Column, row: usize) -> Cell {
    match column {
        Column::Float(values) => Cell::Float(values[row]),
        Column::Int(values) => Cell::Int(values[row]),
        Column::Time(values) => Cell::Time(values[row]),
        Column::Text(values) => Cell::Text(values[row].clone()),
        Column::Raw(raw) => Cell::Text(raw.get(row).map(str::to_owned)),
        Column::List(list) => Cell::List(list.row(row).len()),
        Column::Rows(rows) => Cell::List((rows.offsets[row + 1] - rows.offsets[row]) as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Shape;

    fn series(side: &str, times: &[i64], closes: &[f64]) -> Series {
        let id = SeriesId { side: Some(side.into()), ..SeriesId::default() };
        let columns = vec![("close".into(), Column::Float(closes.to_vec()))];
        Series { id: id.into(), shape: Shape::Table, timestamps: times.to_vec(), columns }
    }

    #[test]
    fn changed_new_and_vanished_values_are_found() {
        let before = [series("BUY", &[1, 2, 3], &[1.0, f64::NAN, 3.0])];
        let after = [series("BUY", &[1, 2, 4], &[1.5, f64::NAN, 4.0]), series("SELL", &[1], &[9.0])];
        let found: Vec<_> = revisions(&before, &after)
            .into_iter()
            .map(|one| (one.id.side.unwrap(), one.time.0, one.before, one.after))
            .collect();
        assert_eq!(
            found,
            [
                ("BUY".to_owned(), 1, Cell::Float(1.0), Cell::Float(1.5)),
                ("BUY".to_owned(), 3, Cell::Float(3.0), Cell::Absent),
                ("BUY".to_owned(), 4, Cell::Absent, Cell::Float(4.0)),
                ("SELL".to_owned(), 1, Cell::Absent, Cell::Float(9.0)),
            ]
        );
        assert!(revisions(&after, &after).is_empty());
    }

    #[test]
    fn series_differ_by_every_field_of_their_identity_and_blank_columns_in_nothing() {
        let of = |rank: &str, close: f64| {
            let one = series("BUY", &[1], &[close]);
            let id = SeriesId { extra: vec![("rank".into(), rank.into())], ..(*one.id).clone() };
            Series { id: id.into(), ..one }
        };
        let before = [of("1", 1.0), of("2", 2.0)];
        assert!(revisions(&before, &[of("2", 2.0), of("1", 1.0)]).is_empty());
        assert_eq!(revisions(&before, &[of("1", 1.0), of("2", 3.0)]).len(), 1);
        assert_eq!(revisions(&before[..1], &before).len(), 1);
        let mut wider = before.to_vec();
        wider[0].columns.push(("note".into(), Column::Text(vec![None])));
        assert!(revisions(&before, &wider).is_empty() && revisions(&wider, &before).is_empty());
        wider[0].columns[1].1 = Column::Text(vec![Some("a".into())]);
        assert_eq!(revisions(&before, &wider).len(), 1);
        // A row that disappeared is reported, whatever it contained.
        let nothing = series("BUY", &[1], &[f64::NAN]);
        assert_eq!(revisions(&[nothing], &[]).len(), 1);
    }

    #[test]
    fn rows_of_one_time_are_paired_in_their_order() {
        let before = [series("", &[1, 1], &[1.0, 2.0])];
        let after = [series("", &[1, 1, 1], &[1.0, 2.5, 3.0])];
        let found: Vec<_> = revisions(&before, &after).into_iter().map(|one| (one.before, one.after)).collect();
        assert_eq!(found, [(Cell::Float(2.0), Cell::Float(2.5)), (Cell::Absent, Cell::Float(3.0))]);
    }
}
