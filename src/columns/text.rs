//! Values as text: what a column becomes whose rows are of different kinds. Nothing is lost but the original spelling.

use super::column::{Column, NO_TIME};
use super::raw::Raw;
use crate::clock::{SECOND, UnixNanos};

impl Column {
    /// The rows as JSON texts, texts unchanged; `None` if there is no value.
    #[must_use]
    pub fn into_text(self) -> Self {
        match self {
            Self::Text(values) => Self::Text(values),
            other => Self::Text((0..other.len()).map(|row| other.json(row)).collect()),
        }
    }

    /// The rows as they would have been sent.
    #[must_use]
    pub fn to_raw(&self, known: bool) -> Raw {
        let mut raw = Raw::blank(known, 0);
        (0..self.len()).for_each(|row| raw.push(self.json(row).as_deref()));
        raw
    }

    /// A row's value as JSON; `None` where there is none.
    pub fn json(&self, row: usize) -> Option<String> {
        match self {
            Self::Float(values) => number(values[row]),
            Self::Int(values) => Some(values[row].to_string()),
            Self::Time(values) => (values[row] != NO_TIME).then(|| {
                let (seconds, part) = (UnixNanos(values[row]).second().0, values[row].rem_euclid(SECOND));
                if part == 0 { format!(r#"{{"s":{seconds}}}"#) } else { format!(r#"{{"s":{seconds},"ns":{part}}}"#) }
            }),
            Self::Text(values) => values[row].as_ref().map(|text| serde_json::Value::from(text.as_str()).to_string()),
            Self::Raw(raw) => raw.get(row).map(str::to_owned),
            Self::List(list) => {
                let values = list.row(row);
                let texts = values.iter().map(|value| number(*value).unwrap_or_else(|| "null".to_owned()));
                (!values.is_empty()).then(|| format!("[{}]", texts.collect::<Vec<_>>().join(",")))
            }
            Self::Rows(rows) => {
                let span = rows.offsets[row] as usize..rows.offsets[row + 1] as usize;
                let object = |inner: usize| {
                    let fields = rows.columns.iter().filter_map(|(name, column)| {
                        Some(format!("{}:{}", serde_json::Value::from(&**name), column.json(inner)?))
                    });
                    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
                };
                (!span.is_empty()).then(|| format!("[{}]", span.map(object).collect::<Vec<_>>().join(",")))
            }
        }
    }
}

/// A double in its shortest spelling, whole ones without a point; `None` for NaN.
fn number(value: f64) -> Option<String> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.is_nan() {
        return None;
    }
    let whole = value.fract() == 0.0 && value.abs() <= EXACT;
    Some(if whole { format!("{value:.0}") } else { format!("{value:?}") })
}
