//! Columns and their three operations: take rows, append, compare rows.

use std::borrow::Cow;

use super::pages;
use super::raw::Raw;
use crate::clock::UnixNanos;

/// Name of a column; that of a field which a table knows takes no memory of its own.
pub type ColumnName = Cow<'static, str>;

/// Marks a time that is not there, as NumPy's `NaT` does.
pub const NO_TIME: i64 = i64::MIN;

/// Ragged doubles: row `i` is `values[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// Where each row starts; one more than there are rows, the first 0, the last `values.len()`.
    pub offsets: Vec<i64>,
    /// All rows' values, back to back.
    pub values: Vec<f64>,
}

/// Ragged records: row `i` is rows `offsets[i]..offsets[i + 1]` of the columns.
#[derive(Debug, Clone, PartialEq)]
pub struct RaggedRows {
    /// Where each row starts; one more than there are rows.
    pub offsets: Vec<i64>,
    /// Columns of the nested records, as long as the last offset.
    pub columns: Vec<(ColumnName, Column)>,
}

/// The values of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Doubles; NaN where a value is unknown.
    Float(Vec<f64>),
    /// Whole numbers.
    Int(Vec<i64>),
    /// Unix nanoseconds; [`NO_TIME`] where there is none.
    Time(Vec<i64>),
    /// Strings.
    Text(Vec<Option<String>>),
    /// Ragged doubles.
    List(List),
    /// Ragged records.
    Rows(RaggedRows),
    /// Values as they were sent, of a field whose kind nobody has settled yet (`decode::settled`).
    Raw(Raw),
}

impl Default for List {
    fn default() -> Self {
        Self { offsets: vec![0], values: Vec::new() }
    }
}

impl Default for RaggedRows {
    fn default() -> Self {
        Self { offsets: vec![0], columns: Vec::new() }
    }
}

impl List {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of one row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    /// Adds a row.
    pub fn push(&mut self, row: impl IntoIterator<Item = f64>) {
        self.values.extend(row);
        self.offsets.push(self.values.len() as i64);
    }
}

impl Column {
    /// A column of moments.
    pub fn times(values: impl Iterator<Item = UnixNanos>) -> Self {
        Self::Time(values.map(|time| time.0).collect())
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Float(values) => values.len(),
            Self::Int(values) | Self::Time(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::List(list) => list.len(),
            Self::Rows(rows) => rows.offsets.len() - 1,
            Self::Raw(raw) => raw.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows named by `order`, in that order.
    #[must_use]
    pub fn take(&self, order: &[usize]) -> Self {
        match self {
            Self::Float(values) => Self::Float(order.iter().map(|&row| values[row]).collect()),
            Self::Int(values) => Self::Int(order.iter().map(|&row| values[row]).collect()),
            Self::Time(values) => Self::Time(order.iter().map(|&row| values[row]).collect()),
            Self::Text(values) => Self::Text(order.iter().map(|&row| values[row].clone()).collect()),
            Self::List(list) => {
                let mut taken = List::default();
                for &row in order {
                    taken.push(list.row(row).iter().copied());
                }
                Self::List(taken)
            }
            Self::Rows(rows) => {
                let mut inner = Vec::new();
                let mut offsets = vec![0];
                for &row in order {
                    inner.extend(rows.offsets[row] as usize..rows.offsets[row + 1] as usize);
                    offsets.push(inner.len() as i64);
                }
                let columns = rows.columns.iter().map(|(name, column)| (name.clone(), column.take(&inner))).collect();
                Self::Rows(RaggedRows { offsets, columns })
            }
            Self::Raw(raw) => Self::Raw(raw.take(order)),
        }
    }

    /// Appends the rows of another column. Where the kinds differ, one that holds no value takes the other's kind; of two
    /// that do, both become text. Where one of them holds values as they were sent, so does the result.
    pub fn append_any(&mut self, other: Self) {
        let unlike = std::mem::discriminant(self) != std::mem::discriminant(&other);
        let other = if let (true, Self::Raw(raw)) = (unlike, &other) {
            *self = Self::Raw(self.to_raw(raw.known));
            other
        } else if let (true, Self::Raw(raw)) = (unlike, &*self) {
            Self::Raw(other.to_raw(raw.known))
        } else if unlike && self.holds_nothing() {
            *self = other.blank(self.len());
            other
        } else if unlike && other.holds_nothing() {
            self.blank(other.len())
        } else if unlike {
            *self = std::mem::replace(self, Self::Int(Vec::new())).into_text();
            other.into_text()
        } else {
            other
        };
        let appended = self.append(other);
        debug_assert!(appended, "two kinds of column");
    }

    /// Appends the rows of a column of the same kind; `false` when the kinds differ.
    pub fn append(&mut self, other: Self) -> bool {
        match (self, other) {
            (Self::Float(mine), Self::Float(more)) => mine.extend(more),
            (Self::Int(mine), Self::Int(more)) | (Self::Time(mine), Self::Time(more)) => mine.extend(more),
            (Self::Text(mine), Self::Text(more)) => mine.extend(more),
            (Self::Raw(mine), Self::Raw(more)) => mine.append(&more),
            (Self::List(mine), Self::List(more)) => {
                let base = mine.values.len() as i64;
                mine.values.extend(more.values);
                mine.offsets.extend(more.offsets[1..].iter().map(|offset| offset + base));
            }
            (Self::Rows(mine), Self::Rows(more)) => {
                let base = *mine.offsets.last().unwrap_or(&0);
                let added = *more.offsets.last().unwrap_or(&0);
                merge(&mut mine.columns, base as usize, more.columns, added as usize);
                mine.offsets.extend(more.offsets[1..].iter().map(|offset| offset + base));
            }
            _ => return false,
        }
        true
    }

    /// Makes room for so many times what is there.
    pub(super) fn reserve(&mut self, times: f64) {
        match self {
            Self::Float(values) => reserve(values, times),
            Self::Int(values) | Self::Time(values) => reserve(values, times),
            Self::Text(values) => reserve(values, times),
            Self::List(list) => {
                reserve(&mut list.offsets, times);
                reserve(&mut list.values, times);
            }
            Self::Rows(rows) => {
                reserve(&mut rows.offsets, times);
                rows.columns.iter_mut().for_each(|(_, column)| column.reserve(times));
            }
            Self::Raw(_) => {} // a text, which grows by itself
        }
    }

    /// Bytes that the rows take in memory, texts by their length.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Float(values) => size_of_val(&values[..]),
            Self::Int(values) | Self::Time(values) => size_of_val(&values[..]),
            Self::Text(values) => size_of_val(&values[..]) + values.iter().flatten().map(String::len).sum::<usize>(),
            Self::List(list) => size_of_val(&list.offsets[..]) + size_of_val(&list.values[..]),
            Self::Rows(rows) => {
                size_of_val(&rows.offsets[..]) + rows.columns.iter().map(|(_, column)| column.bytes()).sum::<usize>()
            }
            Self::Raw(raw) => raw.bytes(),
        }
    }

    /// Whether every row is without a value.
    pub fn holds_nothing(&self) -> bool {
        match self {
            Self::Float(values) => values.iter().all(|value| value.is_nan()),
            Self::Int(values) => values.is_empty(),
            Self::Time(values) => values.iter().all(|time| *time == NO_TIME),
            Self::Text(values) => values.iter().all(Option::is_none),
            Self::List(list) => list.values.is_empty(),
            Self::Rows(rows) => rows.offsets.last().is_none_or(|end| *end == 0),
            Self::Raw(raw) => raw.holds_nothing(),
        }
    }

    /// `rows` rows that hold nothing, of the same kind.
    #[must_use]
    pub fn blank(&self, rows: usize) -> Self {
        match self {
            Self::Float(_) => Self::Float(vec![f64::NAN; rows]),
            Self::Int(_) => Self::Int(vec![0; rows]),
            Self::Time(_) => Self::Time(vec![NO_TIME; rows]),
            Self::Text(_) => Self::Text(vec![None; rows]),
            Self::List(_) => Self::List(List { offsets: vec![0; rows + 1], values: Vec::new() }),
            Self::Rows(inner) => Self::Rows(RaggedRows {
                offsets: vec![0; rows + 1],
                columns: inner.columns.iter().map(|(name, column)| (name.clone(), column.blank(0))).collect(),
            }),
            Self::Raw(raw) => Self::Raw(Raw::blank(raw.known, rows)),
        }
    }

    /// Whether two rows hold the same, bit for bit (NaN equals NaN).
    pub fn same(&self, left: usize, right: usize) -> bool {
        match self {
            Self::Float(values) => values[left].to_bits() == values[right].to_bits(),
            Self::Int(values) | Self::Time(values) => values[left] == values[right],
            Self::Text(values) => values[left] == values[right],
            Self::List(list) => {
                let (left, right) = (list.row(left), list.row(right));
                left.len() == right.len() && left.iter().zip(right).all(|(a, b)| a.to_bits() == b.to_bits())
            }
            Self::Rows(rows) => {
                let span = |row: usize| rows.offsets[row] as usize..rows.offsets[row + 1] as usize;
                span(left).len() == span(right).len()
                    && rows
                        .columns
                        .iter()
                        .all(|(_, column)| span(left).zip(span(right)).all(|(one, other)| column.same(one, other)))
            }
            Self::Raw(raw) => raw.get(left) == raw.get(right),
        }
    }
}

/// Makes room for so many times the values that are there.
pub(super) fn reserve<T>(values: &mut Vec<T>, times: f64) {
    pages::reserve(values, (values.len() as f64 * times) as usize);
}

/// Whether a column is of a field that no table knows, and has the field's own name.
pub(super) fn is_unknown(column: &Column) -> bool {
    matches!(column, Column::Raw(raw) if !raw.known)
}

/// Appends columns by name; a column that only one side has is blank in the other's rows. An unknown field's name may be
/// that of a known column.
pub(super) fn merge(
    mine: &mut Vec<(ColumnName, Column)>,
    my_rows: usize,
    more: Vec<(ColumnName, Column)>,
    more_rows: usize,
) {
    let mut pending = more;
    for (name, column) in mine.iter_mut() {
        let added =
            match pending.iter().position(|(other, added)| other == name && is_unknown(added) == is_unknown(column)) {
                Some(index) => pending.remove(index).1,
                None => column.blank(more_rows),
            };
        column.append_any(added);
    }
    for (name, column) in pending {
        let mut whole = column.blank(my_rows);
        whole.append_any(column);
        mine.push((name, whole));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;

    fn list(rows: &[&[f64]]) -> List {
        let mut list = List::default();
        for row in rows {
            list.push(row.iter().copied());
        }
        list
    }

    #[test]
    fn ragged_rows_are_taken_and_appended_whole() {
        let mut column = Column::List(list(&[&[1.0], &[], &[2.0, 3.0]]));
        assert_eq!(column.take(&[2, 0]), Column::List(list(&[&[2.0, 3.0], &[1.0]])));
        assert!(column.append(Column::List(list(&[&[4.0]]))));
        assert_eq!(column, Column::List(list(&[&[1.0], &[], &[2.0, 3.0], &[4.0]])));
    }

    #[test]
    fn nested_records_keep_their_own_rows() {
        let rows = RaggedRows {
            offsets: vec![0, 2, 3],
            columns: vec![
                ("price".into(), Column::Float(vec![1.0, 2.0, 3.0])),
                ("blocks".into(), Column::List(list(&[&[0.0], &[0.0, 1.0], &[5.0]]))),
            ],
        };
        let column = Column::Rows(rows);
        let Column::Rows(taken) = column.take(&[1, 0]) else { panic!("kind changed") };
        assert_eq!(taken.offsets, [0, 1, 3]);
        assert_eq!(taken.columns[0].1, Column::Float(vec![3.0, 1.0, 2.0]));
        assert_eq!(taken.columns[1].1, Column::List(list(&[&[5.0], &[0.0], &[0.0, 1.0]])));
    }

    #[test]
    fn unlike_kinds_become_text_and_keep_every_value() {
        let text =
            |values: &[Option<&str>]| Column::Text(values.iter().map(|value| value.map(str::to_owned)).collect());
        let mut column = Column::Float(vec![1.0, f64::NAN, -2.5, 1e300]);
        column.append_any(text(&[Some("a"), None]));
        assert_eq!(column, text(&[Some("1"), None, Some("-2.5"), Some("1e300"), Some("a"), None]));
        let mut column = Column::Time(vec![5 * SECOND, NO_TIME, 7]);
        column.append_any(Column::List(list(&[&[1.5, f64::NAN], &[]])));
        let times = [Some(r#"{"s":5}"#), None, Some(r#"{"s":0,"ns":7}"#)];
        assert_eq!(column, text(&[&times[..], &[Some("[1.5,null]"), None]].concat()));
        let names = Column::Text(vec![Some("a\"b".into()), None]);
        let rows = RaggedRows { offsets: vec![0, 2, 2], columns: vec![("n".into(), names)] };
        assert_eq!(Column::Rows(rows).into_text(), text(&[Some(r#"[{"n":"a\"b"},{}]"#), None]));
    }

    #[test]
    fn a_column_without_a_value_takes_the_other_kind() {
        let rows =
            Column::Rows(RaggedRows { offsets: vec![0, 1], columns: vec![("p".into(), Column::Float(vec![1.0]))] });
        let mut column = Column::List(list(&[&[], &[]]));
        column.append_any(rows.clone());
        let Column::Rows(whole) = &column else { panic!("{column:?}") };
        assert_eq!(whole.offsets, [0, 0, 0, 1]);
        let mut column = rows;
        column.append_any(Column::Float(vec![f64::NAN]));
        let Column::Rows(whole) = &column else { panic!("{column:?}") };
        assert_eq!(whole.offsets, [0, 1, 1]);
    }

    #[test]
    fn sameness_is_of_bits() {
        let column = Column::Float(vec![f64::NAN, f64::NAN, 0.0, -0.0]);
        assert!(column.same(0, 1));
        assert!(!column.same(2, 3));
    }
}
