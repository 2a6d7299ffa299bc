//! What changed between two readings of the same window: history that the service revised.

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
    /// A whole number.
    Int(i64),
    /// Unix nanoseconds, or [`crate::columns::NO_TIME`].
    Time(i64),
    /// A text, or none.
    Text(Option<String>),
    /// A list of so many entries.
    List(usize),
}

/// One value that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    /// Whose.
    pub id: SeriesId,
    /// Bucket start, Unix nanoseconds.
    pub time: i64,
    /// Name of the column.
    pub column: String,
    /// What was kept.
    pub before: Cell,
    /// What the service says now.
    pub after: Cell,
}

/// Every value in which two readings differ, bit for bit, by series, time and column. A row that only one of them has
/// differs in each of its columns.
pub fn revisions(before: &[Series], after: &[Series]) -> Vec<Revision> {
    let mut found = Vec::new();
    for old in before {
        match after.iter().find(|new| new.id.fields() == old.id.fields()) {
            Some(new) => compare(Some(old), Some(new), &mut found),
            None => compare(Some(old), None, &mut found),
        }
    }
    for new in after {
        if !before.iter().any(|old| old.id.fields() == new.id.fields()) {
            compare(None, Some(new), &mut found);
        }
    }
    found
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
        // Both ascend; rows of one time (token supply) are paired in their order.
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
            if !same(before, after) {
                let cell =
                    |place: Option<(&Column, usize)>| place.map_or(Cell::Absent, |(column, row)| cell(column, row));
                let (before, after) = (cell(before), cell(after));
                found.push(Revision { id: (*id).clone(), time: at, column: column_name(name), before, after });
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
    fn changed_new_and_vanished_values_are_told() {
        let before = [series("BUY", &[1, 2, 3], &[1.0, f64::NAN, 3.0])];
        let after = [series("BUY", &[1, 2, 4], &[1.5, f64::NAN, 4.0]), series("SELL", &[1], &[9.0])];
        let told: Vec<_> = revisions(&before, &after)
            .into_iter()
            .map(|one| (one.id.side.unwrap(), one.time, one.before, one.after))
            .collect();
        assert_eq!(
            told,
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
    fn rows_of_one_time_are_paired_in_their_order() {
        let before = [series("", &[1, 1], &[1.0, 2.0])];
        let after = [series("", &[1, 1, 1], &[1.0, 2.5, 3.0])];
        let told: Vec<_> = revisions(&before, &after).into_iter().map(|one| (one.before, one.after)).collect();
        assert_eq!(told, [(Cell::Float(2.0), Cell::Float(2.5)), (Cell::Absent, Cell::Float(3.0))]);
    }
}
