//! What fields are that no table knows: settled when the rows of all answers are together, by all of their values and
//! nothing else. So neither their order nor the answer that each came in makes a difference.

use super::json::{Reader, Result};
use super::kernel::Kernel;
use super::names::Names;
use super::number;
use super::table::{NO_KEY, Table};
use super::values::is_exact;
use crate::columns::{self, Column, List, NO_TIME, Raw, Rows, Series};
use crate::protocol::data_type::{TIMESTAMP, UNKNOWN_TYPE};
use crate::protocol::{Field, FieldKind};

type Columns = Vec<(columns::Name, Column)>;

/// The column of fields beyond those that have columns.
const MORE_FIELDS: &str = "more_fields";
/// Records within records that become columns; what is deeper stays JSON.
const DEEPEST: usize = 8;
/// Cells that records may have however short their text is. Of more, there are at most as many as the text has bytes.
const FEW_CELLS: usize = 1 << 10;

/// Gives every column its kind and its name, and puts unknown ones behind the others, in the order of their names on the
/// wire. What is settled stays as it is.
///
/// All values of an unknown field are of one kind, or the column is text: each string as it reads, any other value as it was
/// sent. Kinds are: numbers that doubles hold, true and false (1 and 0), strings, times, lists of numbers, lists of objects
/// (`[]` is any list). A column is named as its field, in snake case; where several fields would have one name, it is that
/// of a known field, then of the field that is spelt so, and the others, in the order of their names, end in `_`.
pub fn settled(series: Vec<Series>) -> Vec<Series> {
    series.into_iter().map(settle).collect()
}

fn settle(mut series: Series) -> Series {
    let fields = series.data_type().map_or(UNKNOWN_TYPE, |known| known.spec().fields);
    if is_settled(&series.columns) {
        return series;
    }
    series.columns = settle_columns(series.columns, fields, &[TIMESTAMP.column], 0);
    series
}

/// The column's name of an unknown field, where no other has it.
pub fn column_name(wire: &str) -> String {
    if wire == NO_KEY { MORE_FIELDS.to_owned() } else { snake_case(wire) }
}

fn is_settled(columns: &Columns) -> bool {
    columns.iter().all(|(_, column)| match column {
        Column::Raw(_) => false,
        Column::Rows(rows) => is_settled(&rows.columns),
        _ => true,
    })
}

fn settle_columns(columns: Columns, fields: &'static [Field], reserved: &[&str], depth: usize) -> Columns {
    let (mut known, mut unknown) = (Columns::with_capacity(columns.len()), Vec::new());
    for (name, column) in columns {
        let field = fields.iter().find(|field| field.column == name);
        match column {
            Column::Raw(raw) if raw.known => {
                let column = column_of(&raw, depth);
                let kind = field.map_or(FieldKind::Text, |field| field.kind);
                known.push((name, column.unwrap_or_else(|| without_values(kind, raw.len()))));
            }
            Column::Raw(raw) => unknown.push((name, raw)),
            Column::Rows(Rows { offsets, columns }) => {
                let FieldKind::Rows(inner) = field.map_or(FieldKind::Text, |field| field.kind) else {
                    known.push((name, Column::Rows(Rows { offsets, columns })));
                    continue;
                };
                known.push((name, Column::Rows(Rows { offsets, columns: settle_columns(columns, inner, &[], depth) })));
            }
            column => known.push((name, column)),
        }
    }
    known.sort_by_key(|(name, _)| fields.iter().position(|field| field.column == name).unwrap_or(usize::MAX));
    unknown.retain(|(_, raw)| !raw.holds_nothing());
    unknown.sort_by(|(one, _), (other, _)| one.cmp(other));
    let wires: Vec<&str> = unknown.iter().map(|(wire, _)| &**wire).collect();
    let is_taken = |name: &str| {
        reserved.contains(&name)
            || fields.iter().any(|field| field.column == name)
            || known.iter().any(|(known, _)| known == name)
    };
    let names = names(&wires, is_taken);
    for ((wire, raw), name) in unknown.into_iter().zip(names) {
        let column = if wire == NO_KEY { Some(text_of(&raw)) } else { column_of(&raw, depth) };
        known.extend(column.map(|column| (name.into(), column)));
    }
    known
}

/// The names of these fields' columns.
fn names(wires: &[&str], is_taken: impl Fn(&str) -> bool) -> Vec<String> {
    let mut names: Vec<String> = wires.iter().map(|wire| column_name(wire)).collect();
    let mut used: std::collections::HashSet<String> = std::collections::HashSet::new();
    let spelt_so: Vec<bool> = wires.iter().zip(&names).map(|(wire, name)| wire == name && !is_taken(name)).collect();
    used.extend(names.iter().zip(&spelt_so).filter(|(_, so)| **so).map(|(name, _)| name.clone()));
    for (name, so) in names.iter_mut().zip(spelt_so) {
        if !so {
            while is_taken(name) || used.contains(name) {
                name.push('_');
            }
            used.insert(name.clone());
        }
    }
    names
}

/// `rateOpen` → `rate_open`.
fn snake_case(wire: &str) -> String {
    let mut name = String::with_capacity(wire.len() + 4);
    let mut after_lower = false;
    for letter in wire.chars() {
        if letter.is_uppercase() && after_lower {
            name.push('_');
        }
        after_lower = letter.is_lowercase() || letter.is_ascii_digit();
        name.extend(letter.to_lowercase());
    }
    name
}

/// A known field whose rows have no value.
fn without_values(kind: FieldKind, rows: usize) -> Column {
    match kind {
        FieldKind::Number | FieldKind::Price => Column::Float(vec![0.0; rows]),
        FieldKind::Optional => Column::Float(vec![f64::NAN; rows]),
        FieldKind::Time | FieldKind::OptionalTime => Column::Time(vec![NO_TIME; rows]),
        FieldKind::List => Column::List(List { offsets: vec![0; rows + 1], values: Vec::new() }),
        FieldKind::Text | FieldKind::Rows(_) => Column::Text(vec![None; rows]),
    }
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Truth,
    Text,
    Time,
    /// A list without elements, which may be any.
    Empty,
    Numbers,
    Records,
    /// Anything else, and values of several kinds.
    Other,
}

impl Kind {
    fn with(self, other: Self, known: bool) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Empty, list @ (Self::Numbers | Self::Records))
            | (list @ (Self::Numbers | Self::Records), Self::Empty) => list,
            (Self::Number, Self::Truth) | (Self::Truth, Self::Number) if known => Self::Number,
            _ => Self::Other,
        }
    }

    fn of(text: &str) -> Self {
        let mut reader = reader(text);
        match text.as_bytes().first() {
            Some(b'-' | b'0'..=b'9') => {
                let number = is_exact(text.as_bytes()) && reader.number().is_ok();
                if number { Self::Number } else { Self::Other }
            }
            Some(b't' | b'f') => Self::Truth,
            Some(b'"') => Self::Text,
            Some(b'{') if plain_time(text).is_some() => Self::Time,
            Some(b'[') => elements(&mut reader).unwrap_or(Self::Other),
            _ => Self::Other,
        }
    }
}

fn reader(text: &str) -> Reader<'_> {
    Reader::new(text.as_bytes(), Kernel::active().unwrap_or(Kernel::Scalar))
}

fn elements(reader: &mut Reader<'_>) -> Result<Kind> {
    let mut kind = Kind::Empty;
    let mut more = reader.open(b'[')?;
    while more {
        let first = reader.peek()?;
        let element = if first == b'{' {
            reader.skip()?;
            Kind::Records
        } else {
            let start = reader.offset();
            reader.number()?;
            let exact = is_exact(&reader.bytes()[start..reader.offset()]);
            if exact { Kind::Numbers } else { Kind::Other }
        };
        kind = kind.with(element, false);
        if kind == Kind::Other {
            return Ok(kind);
        }
        more = reader.another(b']')?;
    }
    Ok(kind)
}

/// A time object that holds nothing else.
pub(super) fn plain_time(text: &str) -> Option<i64> {
    let (mut seconds, mut nanoseconds, mut other) = (None, None, false);
    let mut reader = reader(text);
    let read = reader.object(|reader, key| {
        let place = match &**key {
            "s" => &mut seconds,
            "ns" => &mut nanoseconds,
            _ => {
                other = true;
                return reader.skip().map(drop);
            }
        };
        other |= place.is_some();
        *place = Some(if key == "ns" && reader.null()? { 0 } else { reader.integer()? });
        Ok(())
    });
    read.ok().filter(|()| !other)?;
    number::unix_nanoseconds(seconds?, nanoseconds.unwrap_or(0)).ok()
}

/// The column that these values make; `None` where there is none.
fn column_of(raw: &Raw, depth: usize) -> Option<Column> {
    let kinds = raw.iter().flatten().map(Kind::of);
    // Once several, always several.
    let mut kind = None;
    for next in kinds {
        let all = kind.map_or(next, |kind: Kind| kind.with(next, raw.known));
        kind = Some(all);
        if all == Kind::Other {
            break;
        }
    }
    let number = |text: &str| match text.as_bytes()[0] {
        b't' => 1.0,
        b'f' => 0.0,
        _ => reader(text).number().unwrap_or(f64::NAN),
    };
    let column = match kind? {
        Kind::Number | Kind::Truth => Column::Float(raw.iter().map(|text| text.map_or(f64::NAN, number)).collect()),
        Kind::Time => Column::Time(raw.iter().map(|text| text.and_then(plain_time).unwrap_or(NO_TIME)).collect()),
        Kind::Empty | Kind::Numbers => {
            let mut list = List::default();
            for text in raw.iter() {
                if let Some(text) = text {
                    reader(text).numbers(&mut list.values).ok();
                }
                list.offsets.push(list.values.len() as i64);
            }
            Column::List(list)
        }
        Kind::Records if depth < DEEPEST => records(raw, depth + 1).unwrap_or_else(|| text_of(raw)),
        _ => text_of(raw),
    };
    Some(column)
}

/// Strings as they read, and anything else as it was sent.
fn text_of(raw: &Raw) -> Column {
    let text = |text: &str| {
        let string = text.starts_with('"').then(|| reader(text).string().ok().map(std::borrow::Cow::into_owned));
        string.flatten().unwrap_or_else(|| text.to_owned())
    };
    Column::Text(raw.iter().map(|value| value.map(text)).collect())
}

/// Lists of objects as columns; `None` where a key comes twice in one, or where their fields hardly overlap, so that the
/// columns would take many times the memory of the text.
fn records(raw: &Raw, depth: usize) -> Option<Column> {
    let mut table = Table::new(&[], false, &Names::default());
    let mut offsets = vec![0];
    for text in raw.iter() {
        if let Some(text) = text {
            let mut reader = reader(text);
            let mut more = reader.open(b'[').ok()?;
            table.new_bytes();
            while more {
                table.rows(&mut reader).ok()?;
                if table.cells() > FEW_CELLS.max(raw.text_length()) {
                    return None;
                }
                more = reader.another(b']').ok()?;
            }
        }
        offsets.push(table.len() as i64);
    }
    Some(Column::Rows(Rows { offsets, columns: settle_columns(table.finish(), &[], &[], depth) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(objects: &str) -> Columns {
        let mut table = Table::new(&[], false, &Names::default());
        let mut reader = reader(objects);
        let mut more = reader.open(b'[').unwrap();
        while more {
            table.rows(&mut reader).unwrap();
            more = reader.another(b']').unwrap();
        }
        settle_columns(table.finish(), &[], &[], 0)
    }

    #[test]
    fn unknown_fields_become_columns_of_what_they_hold() {
        let columns = table(
            r#"[{"a":null}, {"newRate":1,"buy_levels":[1,2],"note":"x","when":{"s":5,"ns":7},"odd":{"k":[1]}},
                {"buy_levels":[],"newRate":2.5,"rows":[{"p":1},{"p":2}],"flag":true}]"#,
        );
        let names: Vec<&str> = columns.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["buy_levels", "flag", "new_rate", "note", "odd", "rows", "when"]);
        let Column::Float(rates) = &columns[2].1 else { panic!() };
        assert!(rates[0].is_nan());
        assert_eq!(rates[1..], [1.0, 2.5]);
        assert_eq!(columns[0].1, Column::List(List { offsets: vec![0, 0, 2, 2], values: vec![1.0, 2.0] }));
        assert_eq!(columns[3].1, Column::Text(vec![None, Some("x".into()), None]));
        assert_eq!(columns[6].1, Column::Time(vec![NO_TIME, 5_000_000_007, NO_TIME]));
        assert_eq!(columns[4].1, Column::Text(vec![None, Some("{\"k\":[1]}".into()), None]));
        let Column::Rows(rows) = &columns[5].1 else { panic!() };
        assert_eq!((&rows.offsets[..], &rows.columns[0].1), (&[0, 0, 0, 2][..], &Column::Float(vec![1.0, 2.0])));
    }

    #[test]
    fn names_turn_into_snake_case() {
        for (wire, column) in
            [("rateOpen", "rate_open"), ("volume", "volume"), ("poc_price", "poc_price"), ("oiUSD", "oi_usd")]
        {
            assert_eq!(snake_case(wire), column);
        }
    }
}
