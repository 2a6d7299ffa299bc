//! The raw values of unknown fields, in files that store them as typed columns: readers see numbers as numbers, and yet
//! a column's type can be decided again together with the rows of other files.

use serde::{Deserialize, Serialize};

use crate::columns::{Column, ColumnName, LEVELS, RaggedRows, Raw, SPLIT, Series};
use crate::decode::settled;
use crate::protocol::{Field, SeriesId, Shape};

/// A column of raw values, and where a file stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RawValues {
    /// The column of records that it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    within: Option<String>,
    /// Its name, and whether the type's table knows it.
    field: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    known: bool,
    /// The typed column; absent if no row has a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    column: Option<String>,
    /// The column of values whose spelling differs from that of the typed column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spelt: Option<String>,
}

/// The same series with typed columns, and how to restore the raw ones.
pub(super) fn lay(series: &Series) -> (Series, Vec<RawValues>) {
    let mut sent = Vec::new();
    let mut laid = Series { columns: Vec::new(), ..series.clone() };
    laid.columns = lay_columns(&series.columns, None, &series.id, &mut sent);
    (laid, sent)
}

fn lay_columns(
    columns: &[(ColumnName, Column)],
    within: Option<&str>,
    id: &SeriesId,
    sent: &mut Vec<RawValues>,
) -> Vec<(ColumnName, Column)> {
    let mut laid: Vec<(ColumnName, Column)> = Vec::new();
    let free = |laid: &[(ColumnName, Column)], mut name: String| {
        let taken = |name: &str| {
            let raw = |column: &Column| matches!(column, Column::Raw(_));
            laid.iter().any(|(other, _)| other == name)
                || columns.iter().any(|(other, column)| other == name && !raw(column))
        };
        while taken(&name) {
            name.push('_');
        }
        name
    };
    for (name, column) in columns {
        match column {
            Column::Raw(raw) => {
                let of_its_kind = alone(name, raw, id);
                let mut entry = RawValues {
                    within: within.map(str::to_owned),
                    field: name.to_string(),
                    known: raw.known,
                    column: None,
                    spelt: None,
                };
                if let Some((name, column)) = of_its_kind {
                    let name = free(&laid, name);
                    let texts = raw
                        .iter()
                        .enumerate()
                        .map(|(row, text)| text.filter(|text| column.json(row).as_deref() != Some(text)));
                    let texts: Vec<Option<String>> = texts.map(|text| text.map(str::to_owned)).collect();
                    laid.push((name.clone().into(), column));
                    if texts.iter().any(Option::is_some) {
                        let spelt = free(&laid, format!("{name}_as_sent"));
                        laid.push((spelt.clone().into(), Column::Text(texts)));
                        entry.spelt = Some(spelt);
                    }
                    entry.column = Some(name);
                }
                sent.push(entry);
            }
            Column::Rows(RaggedRows { offsets, columns }) => {
                let columns = lay_columns(columns, Some(name), id, sent);
                laid.push((name.clone(), Column::Rows(RaggedRows { offsets: offsets.clone(), columns })));
            }
            column => laid.push((name.clone(), column.clone())),
        }
    }
    laid
}

/// The column by itself: its name and typed values; `None` if no row has a value.
fn alone(name: &ColumnName, raw: &Raw, id: &SeriesId) -> Option<(String, Column)> {
    if raw.holds_nothing() {
        return None;
    }
    let mut unknown = raw.clone();
    unknown.known = false;
    let column = Column::Raw(unknown);
    // An unknown type: its fields come first.
    let id = SeriesId { data_type: None, ..id.clone() };
    let times = vec![0; raw.len()];
    let mut series =
        Series { timestamps: times, columns: vec![(name.clone(), column)], ..Series::empty(id, Shape::Table) };
    series = settled(vec![series]).pop()?;
    series
        .columns
        .pop()
        .map(|(settled, column)| (if raw.known { name.to_string() } else { settled.into_owned() }, column))
}

/// Restores the raw columns. The error names what does not fit. `None` is a file from before such columns were
/// described: for unknown fields, the raw values are made from the typed ones.
pub(super) fn restore(series: &mut Series, sent: Option<&[RawValues]>) -> Result<(), String> {
    let fields: &[Field] = series.data_type().map_or(&[], |known| known.spec().fields);
    let Some(sent) = sent else {
        let known = |name: &str| name == LEVELS || name == SPLIT || fields.iter().any(|field| field.column == name);
        if !fields.is_empty() {
            for (_, column) in series.columns.iter_mut().filter(|(name, _)| !known(name)) {
                *column = Column::Raw(column.to_raw(false));
            }
        }
        return Ok(());
    };
    for one in sent {
        let rows = series.timestamps.len();
        match &one.within {
            None => restore_one(&mut series.columns, rows, one)?,
            Some(within) => {
                let outer = series
                    .columns
                    .iter_mut()
                    .find(|(name, column)| name == within && matches!(column, Column::Rows(_)));
                let Some((_, Column::Rows(outer))) = outer else { return Err(format!("column {within} is not there")) };
                let rows = outer.offsets.last().map_or(0, |end| *end as usize);
                restore_one(&mut outer.columns, rows, one)?;
            }
        }
    }
    Ok(())
}

fn restore_one(columns: &mut Vec<(ColumnName, Column)>, rows: usize, one: &RawValues) -> Result<(), String> {
    let mut take = |name: &String| {
        let place = columns.iter().position(|(known, column)| known == name && !matches!(column, Column::Raw(_)));
        place.map(|place| columns.remove(place).1).ok_or_else(|| format!("column {name} is not there"))
    };
    let column = one.column.as_ref().map(&mut take).transpose()?;
    let spelt = one.spelt.as_ref().map(&mut take).transpose()?;
    let mut raw = Raw::blank(one.known, 0);
    for row in 0..rows {
        let spelling = match &spelt {
            Some(Column::Text(texts)) => texts.get(row).and_then(Option::as_deref),
            _ => None,
        };
        match spelling {
            Some(text) => raw.push(Some(text)),
            None => raw.push(column.as_ref().and_then(|column| column.json(row)).as_deref()),
        }
    }
    columns.push((one.field.clone().into(), Column::Raw(raw)));
    Ok(())
}
