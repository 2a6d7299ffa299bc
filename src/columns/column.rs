//! Columns and their three operations: take rows, append, compare rows.

use super::Name;

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
pub struct Rows {
    /// Where each row starts; one more than there are rows.
    pub offsets: Vec<i64>,
    /// Columns of the nested records, as long as the last offset.
    pub columns: Vec<(Name, Column)>,
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
    Rows(Rows),
}

impl Default for List {
    fn default() -> Self {
        Self { offsets: vec![0], values: Vec::new() }
    }
}

impl Default for Rows {
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
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Float(values) => values.len(),
            Self::Int(values) | Self::Time(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::List(list) => list.len(),
            Self::Rows(rows) => rows.offsets.len() - 1,
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
                Self::Rows(Rows { offsets, columns })
            }
        }
    }

    /// Appends the rows of a column of the same kind; `false` when the kinds differ.
    pub fn append(&mut self, other: Self) -> bool {
        match (self, other) {
            (Self::Float(mine), Self::Float(more)) => mine.extend(more),
            (Self::Int(mine), Self::Int(more)) | (Self::Time(mine), Self::Time(more)) => mine.extend(more),
            (Self::Text(mine), Self::Text(more)) => mine.extend(more),
            (Self::List(mine), Self::List(more)) => {
                let base = mine.values.len() as i64;
                mine.values.extend(more.values);
                mine.offsets.extend(more.offsets[1..].iter().map(|offset| offset + base));
            }
            (Self::Rows(mine), Self::Rows(more)) => {
                let base = *mine.offsets.last().unwrap_or(&0);
                let added = *more.offsets.last().unwrap_or(&0);
                if !merge(&mut mine.columns, base as usize, more.columns, added as usize) {
                    return false;
                }
                mine.offsets.extend(more.offsets[1..].iter().map(|offset| offset + base));
            }
            _ => return false,
        }
        true
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
            Self::Rows(inner) => Self::Rows(Rows {
                offsets: vec![0; rows + 1],
                columns: inner.columns.iter().map(|(name, column)| (name.clone(), column.blank(0))).collect(),
            }),
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
        }
    }
}

/// Appends columns by name; a column that only one side has is blank in the other's rows. `false` on a kind conflict.
pub(super) fn merge(
    mine: &mut Vec<(Name, Column)>,
    my_rows: usize,
    more: Vec<(Name, Column)>,
    more_rows: usize,
) -> bool {
    let mut pending = more;
    for (name, column) in mine.iter_mut() {
        let added = match pending.iter().position(|(other, _)| other == name) {
            Some(index) => pending.remove(index).1,
            None => column.blank(more_rows),
        };
        if !column.append(added) {
            return false;
        }
    }
    for (name, column) in pending {
        let mut whole = column.blank(my_rows);
        if !whole.append(column) {
            return false;
        }
        mine.push((name, whole));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let rows = Rows {
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
    fn kinds_do_not_mix() {
        assert!(!Column::Float(vec![]).append(Column::Int(vec![])));
    }

    #[test]
    fn sameness_is_of_bits() {
        let column = Column::Float(vec![f64::NAN, f64::NAN, 0.0, -0.0]);
        assert!(column.same(0, 1));
        assert!(!column.same(2, 3));
    }
}
