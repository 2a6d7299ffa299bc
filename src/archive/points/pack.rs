//! Converts series to and from one table: the rows of each series in turn, with columns for their identity, and the
//! identities as metadata, from which the same series are restored.

use serde::{Deserialize, Serialize};

use super::raw_values::{RawValues, lay, restore};
use super::scan::is_wanted;
use crate::archive::table::Table;
use crate::columns::{Column, LEVELS, List, Series};
use crate::protocol::{SeriesId, Shape};

/// Column of the bucket starts.
pub(super) const TIME: &str = "time";
/// Columns of the identity, with the identity's field on the wire. Type and interval are in the folder's name.
const IDENTITY: [(&str, &str); 8] = [
    ("venue", "exchange"),
    ("raw_symbol", "rawSymbol"),
    ("normalized_symbol", "normalizedSymbol"),
    ("category", "category"),
    ("side", "side"),
    ("coin", "coin"),
    ("tenor", "tenor"),
    ("token_name", "tokenName"),
];
/// Names in the folders' names: readers add these as columns beside a file's own.
const FOLDERS: [&str; 6] = ["type", "exchange", "symbol", "interval", "key", "date"];

/// One series of a file: its rows, and which of the file's columns are its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PackedSeries {
    id: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    extra: Vec<(String, String)>,
    shape: String,
    pub(super) rows: usize,
    /// A column's name, and the columns of the file that hold it.
    pub(super) columns: Vec<(String, Vec<String>)>,
    /// Columns of raw values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sent: Option<Vec<RawValues>>,
}

impl PackedSeries {
    /// Whether no column is made from several ones of the file.
    pub(super) fn has_no_raw_values(&self) -> bool {
        self.sent.as_ref().is_some_and(Vec::is_empty)
    }

    /// The same without rows: what similar files have in common.
    pub(super) fn of_no_rows(&self) -> Self {
        Self { rows: 0, ..self.clone() }
    }

    /// The same without the columns that are not wanted. If there are raw values, all columns stay: their names are
    /// only known once their types are.
    pub(super) fn narrowed(mut self, wanted: Option<&[String]>) -> Self {
        if let (Some(wanted), Some([])) = (wanted, self.sent.as_deref()) {
            let shape = self.shape().ok();
            self.columns.retain(|(name, _)| shape.is_none_or(|shape| is_wanted(shape, name, wanted)));
        }
        self
    }

    /// The series without its rows and columns. The error names what is not known.
    pub(super) fn without_rows(&self) -> Result<Series, String> {
        let mut id = SeriesId { extra: self.extra.clone(), ..SeriesId::default() };
        for (name, value) in &self.id {
            let place = id.field_mut(name).ok_or_else(|| format!("identity field {name} is not known"))?;
            *place = Some(value.clone());
        }
        Ok(Series::empty(id, self.shape()?))
    }

    /// The names of the file's columns for its times and its columns.
    pub(super) fn file_columns(&self) -> impl Iterator<Item = &str> {
        [TIME].into_iter().chain(self.columns.iter().flat_map(|(_, names)| names).map(String::as_str))
    }

    fn shape(&self) -> Result<Shape, String> {
        let shapes = [Shape::Table, Shape::Heatmap, Shape::Profile, Shape::Tpo];
        let shape = shapes.into_iter().find(|shape| shape.name() == self.shape);
        shape.ok_or_else(|| format!("shape {} is not known", self.shape))
    }
}

/// Packs series into a table.
pub(super) fn pack(series: &[Series]) -> (Table, Vec<PackedSeries>) {
    let mut table: Table = vec![(TIME.to_owned(), Column::Time(Vec::new()))];
    let (mut packed, mut done) = (Vec::new(), 0);
    for one in series {
        let rows = one.len();
        if let Column::Time(times) = &mut table[0].1 {
            times.extend(&one.timestamps);
        }
        let mut columns = Vec::new();
        let (laid, sent) = lay(one);
        for (name, column) in &laid.columns {
            let names = parts(one.shape, name, column)
                .into_iter()
                .map(|(name, part)| place(&mut table, name, part, done))
                .collect();
            columns.push((name.to_string(), names));
        }
        done += rows;
        for (_, column) in &mut table {
            let missing = done - column.len();
            let blank = column.blank(missing);
            column.append(blank);
        }
        let known = one.id.fields().into_iter();
        packed.push(PackedSeries {
            id: known.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect(),
            extra: one.id.extra.clone(),
            shape: one.shape.name().to_owned(),
            rows,
            columns,
            sent: Some(sent),
        });
    }
    for (name, wire) in IDENTITY {
        let mut values = Vec::with_capacity(done);
        for one in series {
            let value = one.id.fields().into_iter().find(|(field, _)| *field == wire).and_then(|(_, value)| value);
            values.resize(values.len() + one.len(), value.map(str::to_owned));
        }
        table.push((name.to_owned(), Column::Text(values)));
    }
    (table, packed)
}

/// Adds rows under a name that no column of another kind and no folder has, ignoring case.
fn place(table: &mut Table, mut name: String, part: Column, done: usize) -> String {
    let reserved = |name: &str| {
        let mut taken = FOLDERS.into_iter().chain([TIME]).chain(IDENTITY.into_iter().map(|(column, _)| column));
        taken.any(|word| word.eq_ignore_ascii_case(name))
    };
    loop {
        match table.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            None if !reserved(&name) => {
                let mut column = part.blank(done);
                column.append(part);
                table.push((name.clone(), column));
                return name;
            }
            // Another series' column of the same name and kind, which this series has no values in yet.
            Some((known, column)) if *known == name && column.len() == done => {
                if column.append(part.clone()) {
                    return name;
                }
                name.push('_');
            }
            _ => name.push('_'),
        }
    }
}

/// Pairs and triplets, stored flat in a series, become separate columns in a file, because readers want prices and
/// volumes.
fn stride(shape: Shape, name: &str) -> &'static [&'static str] {
    match shape {
        Shape::Heatmap if name == LEVELS => &["price", "volume"],
        Shape::Profile if name == "profile" => &["price", "buy_volume", "sell_volume"],
        _ => &[],
    }
}

fn parts(shape: Shape, name: &str, column: &Column) -> Vec<(String, Column)> {
    let names = stride(shape, name);
    let width = names.len();
    match column {
        Column::List(list) if width > 0 && (0..list.len()).all(|row| list.row(row).len().is_multiple_of(width)) => {
            let offsets: Vec<i64> = list.offsets.iter().map(|offset| offset / width as i64).collect();
            let part = |index: usize| {
                let values = list.values.iter().skip(index).step_by(width).copied().collect();
                Column::List(List { offsets: offsets.clone(), values })
            };
            names.iter().enumerate().map(|(index, name)| ((*name).to_owned(), part(index))).collect()
        }
        _ => vec![(name.to_owned(), column.clone())],
    }
}

/// The series of a table. The error names what does not fit.
pub(super) fn unpack(mut table: Table, packed: &[PackedSeries]) -> Result<Vec<Series>, String> {
    let rows = table.first().map_or(0, |(_, column)| column.len());
    let declared = packed.iter().try_fold(0_usize, |sum, one| sum.checked_add(one.rows));
    if declared != Some(rows) || table.iter().any(|(_, column)| column.len() != rows) {
        return Err("the number of rows is not what the file says".to_owned());
    }
    let mut done = 0;
    let mut series = Vec::new();
    for one in packed {
        let span: Vec<usize> = (done..done + one.rows).collect();
        done += one.rows;
        let mut part = |name: &str| {
            let found = table.iter().position(|(known, _)| known == name);
            let place = found.ok_or_else(|| format!("column {name} is not there"))?;
            // The columns of a file with one series belong to that series: nothing is copied.
            Ok::<_, String>(if packed.len() == 1 { table.swap_remove(place).1 } else { table[place].1.take(&span) })
        };
        let Column::Time(timestamps) = part(TIME)? else { return Err("the times are none".to_owned()) };
        let series_of = one.without_rows()?;
        let mut columns = Vec::new();
        for (name, names) in &one.columns {
            let parts = names.iter().map(|name| part(name)).collect::<Result<Vec<_>, _>>()?;
            let column = weave(parts).ok_or_else(|| format!("column {name} has parts that do not fit"))?;
            columns.push((name.clone().into(), column));
        }
        let mut whole = Series { timestamps, columns, ..series_of };
        restore(&mut whole, one.sent.as_deref())?;
        series.push(whole);
    }
    Ok(series)
}

fn weave(mut parts: Vec<Column>) -> Option<Column> {
    if parts.len() == 1 {
        return parts.pop();
    }
    let lists = parts.into_iter().map(|part| if let Column::List(list) = part { Some(list) } else { None });
    let lists: Vec<List> = lists.collect::<Option<_>>()?;
    let (width, first) = (lists.len(), lists.first()?);
    if lists.iter().any(|list| list.offsets != first.offsets || list.values.len() != first.values.len()) {
        return None;
    }
    let offsets = first.offsets.iter().map(|offset| offset * width as i64).collect();
    let mut values = vec![0.0; width * first.values.len()];
    for (place, list) in lists.iter().enumerate() {
        values.iter_mut().skip(place).step_by(width).zip(&list.values).for_each(|(to, from)| *to = *from);
    }
    Some(Column::List(List { offsets, values }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::ColumnName;

    fn series(side: &str, times: &[i64], columns: Vec<(ColumnName, Column)>, shape: Shape) -> Series {
        let id = SeriesId {
            data_type: Some("T".into()),
            side: Some(side.into()),
            extra: vec![("rank".into(), "1".into())],
            ..SeriesId::default()
        };
        Series { id: id.into(), shape, timestamps: times.to_vec(), columns }
    }

    #[test]
    fn series_of_different_columns_come_back_as_they_were() {
        let floats = |values: &[f64]| Column::Float(values.to_vec());
        let all = [
            series(
                "BUY",
                &[1, 2],
                vec![("a".into(), floats(&[1.0, 2.0])), ("side".into(), floats(&[0.5, -0.0]))],
                Shape::Table,
            ),
            series(
                "SELL",
                &[2],
                vec![("b".into(), Column::Int(vec![7])), ("a".into(), Column::Int(vec![9]))],
                Shape::Table,
            ),
            series("NONE", &[], vec![("A".into(), floats(&[]))], Shape::Table),
        ];
        let (table, packed) = pack(&all);
        assert!(table.iter().all(|(_, column)| column.len() == 3));
        let names: Vec<&str> = table.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[..6], ["time", "a", "side_", "b", "a_", "A__"]);
        let side = table.iter().find(|(name, _)| name == "side").unwrap();
        assert_eq!(
            side.1,
            Column::Text([Some("BUY"), Some("BUY"), Some("SELL")].map(|text| text.map(str::to_owned)).to_vec())
        );
        let own: Vec<&str> = packed.iter().flat_map(PackedSeries::file_columns).collect();
        let kept: Table = table.into_iter().filter(|(name, _)| own.contains(&name.as_str())).collect();
        assert_eq!(kept.len(), 6, "what only says whose rows they are is not needed");
        assert_eq!(unpack(kept, &packed).unwrap(), all);
    }

    #[test]
    fn levels_stand_apart_as_prices_and_volumes() {
        let levels = List { offsets: vec![0, 4, 4, 6], values: vec![1.0, 10.0, 2.0, 20.0, 3.0, 30.0] };
        let columns = vec![(LEVELS.into(), Column::List(levels)), ("split".into(), Column::Int(vec![1, 0, -1]))];
        let all = [series("", &[1, 2, 3], columns, Shape::Heatmap)];
        let (table, packed) = pack(&all);
        let list = |values: &[f64]| Column::List(List { offsets: vec![0, 2, 2, 3], values: values.to_vec() });
        assert_eq!(table[1], ("price".to_owned(), list(&[1.0, 2.0, 3.0])));
        assert_eq!(table[2], ("volume".to_owned(), list(&[10.0, 20.0, 30.0])));
        assert_eq!(unpack(table.clone(), &packed).unwrap(), all);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let all = [series("BUY", &[1], vec![("a".into(), Column::Float(vec![1.0]))], Shape::Table)];
        let (table, packed) = pack(&all);
        assert!(unpack(table[..1].to_vec(), &packed).is_err());
        let wrong = PackedSeries { rows: 2, ..packed[0].clone() };
        assert!(unpack(table.clone(), &[wrong]).is_err());
        let wrong = PackedSeries { id: vec![("nobody".into(), "knows".into())], ..packed[0].clone() };
        assert!(unpack(table.clone(), &[wrong]).is_err());
    }
}
