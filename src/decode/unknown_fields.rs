//! Decides the types of unknown fields, when the rows of all answers are together, from all of their values and nothing
//! else. So the order of rows and their distribution over answers make no difference.

use std::ops::Range;

use super::fields::NO_KEY;
use super::json::Reader;
use super::kernel::Kernel;
use super::names::BodyNames;
use super::number;
use super::table::DecodedTable;
use super::values::is_exact;
use crate::clock::{UnixNanos, UnixSecond};
use crate::columns::{self, Column, List, NO_TIME, RaggedRows, Raw, Series};
use crate::protocol::data_type::UNKNOWN_TYPE;
use crate::protocol::field::TIMESTAMP;
use crate::protocol::{Field, FieldKind, Shape};

type SettledColumns = Vec<(columns::ColumnName, Column)>;

/// The column of fields beyond the maximum.
const MORE_FIELDS: &str = "more_fields";
/// Names that tables give to times, to what identifies a series among several, and to its unit.
const OF_TABLES: [&str; 13] = [
    TIMESTAMP.column,
    "timestamps",
    "time",
    "known_at",
    "asked_at",
    "side",
    "exchange",
    "symbol",
    "coin",
    "tenor",
    "type",
    "interval",
    "unit",
];
/// Those that series of price levels give to these, beside the others.
const OF_LEVELS: [&str; 6] = ["levels", "offsets", "prices", "volumes", "buys", "sells"];
/// Deepest records that become columns; deeper ones stay JSON.
const DEEPEST: usize = 8;
/// Number of cells that records may always have. Beyond it, at most as many as their text has bytes.
const FEW_CELLS: usize = 1 << 10;

/// Gives every column its type and name, and puts unknown ones after the others, in the order of their wire names.
/// Applying it again changes nothing.
///
/// All values of an unknown field have one type, or the column is text: strings as decoded, other values as sent. Types
/// are: numbers that doubles hold, booleans (1 and 0), strings, times, lists of numbers, lists of objects (`[]` is
/// either). A column has the field's name in snake case; if several fields would have the same name, a known field has
/// it, else the field that is spelt so, and the others, in the order of their names, end in `_`; so do those named as a
/// table's own columns are.
pub fn settled(series: Vec<Series>) -> Vec<Series> {
    series.into_iter().map(settle).collect()
}

/// Whether every column of a series has its type and its name.
pub fn is_settled(series: &Series) -> bool {
    all_settled(&series.columns)
}

fn settle(mut series: Series) -> Series {
    if is_settled(&series) {
        return series;
    }
    let fields = series.data_type().map_or(UNKNOWN_TYPE, |known| known.spec().fields);
    let reserved = match series.shape {
        Shape::Table => OF_TABLES.to_vec(),
        _ => [&OF_TABLES[..], &OF_LEVELS[..]].concat(),
    };
    series.columns = settle_columns(series.columns, fields, &reserved, 0);
    series
}

/// The column name of an unknown field, unless another has it.
pub fn column_name(wire: &str) -> String {
    if wire == NO_KEY { MORE_FIELDS.to_owned() } else { snake_case(wire) }
}

fn all_settled(columns: &SettledColumns) -> bool {
    columns.iter().all(|(_, column)| match column {
        Column::Raw(_) => false,
        Column::Rows(rows) => all_settled(&rows.columns),
        _ => true,
    })
}

fn settle_columns(
    columns: SettledColumns,
    fields: &'static [Field],
    reserved: &[&str],
    depth: usize,
) -> SettledColumns {
    let (mut known, mut unknown) = (SettledColumns::with_capacity(columns.len()), Vec::new());
    for (name, column) in columns {
        let field = fields.iter().find(|field| field.column == name);
        match column {
            Column::Raw(raw) if raw.known => {
                let column = column_of(&raw, depth);
                let kind = field.map_or(FieldKind::Text, |field| field.kind);
                known.push((name, column.unwrap_or_else(|| without_values(kind, raw.len()))));
            }
            Column::Raw(raw) => unknown.push((name, raw)),
            Column::Rows(RaggedRows { offsets, columns }) => {
                let FieldKind::Rows(inner) = field.map_or(FieldKind::Text, |field| field.kind) else {
                    known.push((name, Column::Rows(RaggedRows { offsets, columns })));
                    continue;
                };
                known.push((
                    name,
                    Column::Rows(RaggedRows { offsets, columns: settle_columns(columns, inner, &[], depth) }),
                ));
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

/// A known field without values in any row.
fn without_values(kind: FieldKind, rows: usize) -> Column {
    match kind {
        FieldKind::Number | FieldKind::Price => Column::Float(vec![0.0; rows]),
        FieldKind::Optional => Column::Float(vec![f64::NAN; rows]),
        FieldKind::Time | FieldKind::OptionalTime => Column::Time(vec![NO_TIME; rows]),
        FieldKind::List => Column::List(List { offsets: vec![0; rows + 1], values: Vec::new() }),
        FieldKind::Text | FieldKind::Rows(_) => Column::Text(vec![None; rows]),
    }
}

fn reader(text: &str) -> Reader<'_> {
    Reader::new(text.as_bytes(), Kernel::active().unwrap_or(Kernel::Scalar))
}

/// A time object without other fields.
pub(super) fn plain_time(text: &str) -> Option<UnixNanos> {
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
    number::moment(UnixSecond(seconds?), nanoseconds.unwrap_or(0)).ok()
}

/// The column of these values; `None` if they have no common type.
fn column_of(raw: &Raw, depth: usize) -> Option<Column> {
    let first = raw.text().as_bytes().first()?;
    let column = match first {
        b'-' | b'0'..=b'9' | b't' | b'f' => doubles(raw).map(Column::Float),
        b'{' => times(raw).map(Column::Time),
        b'[' => lists(raw).map(Column::List).or_else(|| records(raw, depth + 1)),
        _ => None,
    };
    Some(column.unwrap_or_else(|| text_of(raw)))
}

/// Bytes before a number that the kernels may load.
const BEFORE: usize = 64;
/// Rows whose numbers the kernels read together.
const TOGETHER: usize = 1 << 10;

/// Numbers, and booleans as 1 and 0; `None` if a value is anything else, or if an unknown field has both.
fn doubles(raw: &Raw) -> Option<Vec<f64>> {
    let (mut values, mut of_numbers, mut of_truths) = (Vec::with_capacity(raw.len()), false, false);
    let kernel = Kernel::active().unwrap_or(Kernel::Scalar);
    let (mut starts, mut ends) = (Vec::with_capacity(TOGETHER), Vec::with_capacity(TOGETHER));
    for first in (0..raw.len()).step_by(TOGETHER) {
        let rows = first..raw.len().min(first + TOGETHER);
        if push_numbers(raw, rows.clone(), kernel, (&mut starts, &mut ends), &mut values) {
            of_numbers = true;
        } else {
            for row in rows {
                let Some(text) = raw.get(row) else {
                    values.push(f64::NAN);
                    continue;
                };
                let truth = matches!(text, "true" | "false");
                (of_truths, of_numbers) = (of_truths || truth, of_numbers || !truth);
                let number = || number::token(text.as_bytes()).filter(|_| is_exact(text.as_bytes()));
                values.push(if truth { f64::from(text == "true") } else { number()? });
            }
        }
        if of_numbers && of_truths && !raw.known {
            return None;
        }
    }
    Some(values)
}

/// Appends the numbers of these rows, read together; `false`, with none added, if one is not a number, or may lose
/// digits.
fn push_numbers(
    raw: &Raw,
    rows: Range<usize>,
    kernel: Kernel,
    (starts, ends): (&mut Vec<u32>, &mut Vec<u32>),
    values: &mut Vec<f64>,
) -> bool {
    // The kernels load bytes before a number, and take offsets of 32 bits.
    let base = raw.span(rows.start).start.saturating_sub(BEFORE);
    starts.clear();
    ends.clear();
    for row in rows {
        let span = raw.span(row);
        if span.is_empty() || span.end - base > u32::MAX as usize || !is_exact(&raw.text().as_bytes()[span.clone()]) {
            return false;
        }
        starts.push((span.start - base) as u32);
        ends.push((span.end - base) as u32);
    }
    kernel.floats(&raw.text().as_bytes()[base..], starts, 0, ends, values)
}

/// Times; `None` if a value is not one.
fn times(raw: &Raw) -> Option<Vec<i64>> {
    raw.iter().map(|text| text.map_or(Some(NO_TIME), |text| plain_time(text).map(|time| time.0))).collect()
}

/// Lists of numbers; `None` if a value is not one, or if a number may lose digits.
fn lists(raw: &Raw) -> Option<List> {
    let mut list = List::default();
    for text in raw.iter() {
        if let Some(text) = text {
            let mut reader = reader(text);
            let mut more = reader.open(b'[').ok()?;
            while more {
                reader.peek().ok()?;
                let start = reader.offset();
                list.values.push(reader.number().ok()?);
                is_exact(&text.as_bytes()[start..reader.offset()]).then_some(())?;
                more = reader.another(b']').ok()?;
            }
        }
        list.offsets.push(list.values.len() as i64);
    }
    Some(list)
}

/// Strings as decoded, and anything else as sent.
fn text_of(raw: &Raw) -> Column {
    let text = |text: &str| {
        let string = text.starts_with('"').then(|| reader(text).string().ok().map(std::borrow::Cow::into_owned));
        string.flatten().unwrap_or_else(|| text.to_owned())
    };
    Column::Text(raw.iter().map(|value| value.map(text)).collect())
}

/// Lists of objects as columns; `None` if they are nested too deeply, if a value is something else, if an object has a
/// duplicate key, or if their fields hardly overlap, so that the columns would take many times the memory of the text.
fn records(raw: &Raw, depth: usize) -> Option<Column> {
    if depth > DEEPEST {
        return None;
    }
    let mut table = DecodedTable::new(&[], false, &BodyNames::default());
    let mut offsets = vec![0];
    for text in raw.iter() {
        if let Some(text) = text {
            let mut reader = reader(text);
            let mut more = reader.open(b'[').ok()?;
            table.new_bytes();
            while more {
                table.rows(&mut reader).ok()?;
                if table.cells() > FEW_CELLS.max(raw.text().len()) {
                    return None;
                }
                more = reader.another(b']').ok()?;
            }
        }
        offsets.push(table.len() as i64);
    }
    Some(Column::Rows(RaggedRows { offsets, columns: settle_columns(table.finish(), &[], &[], depth) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(objects: &str) -> SettledColumns {
        let mut table = DecodedTable::new(&[], false, &BodyNames::default());
        let mut reader = reader(objects);
        let mut more = reader.open(b'[').unwrap();
        while more {
            table.rows(&mut reader).unwrap();
            more = reader.another(b']').unwrap();
        }
        settle_columns(table.finish(), &[], &[], 0)
    }

    // faults.md row 23
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

    fn raw(known: bool, texts: impl IntoIterator<Item = String>) -> Raw {
        let mut raw = Raw::blank(known, 0);
        texts.into_iter().for_each(|text| raw.push(Some(&text)));
        raw
    }

    /// Spellings of numbers of many lengths, more than are read together.
    fn spellings() -> Vec<String> {
        let one = |row: i64| match row % 5 {
            0 => row.to_string(),
            1 => format!("-{row}.{row}"),
            2 => format!("{row}e-{}", row % 30),
            3 => format!("0.{row}{row}{row}"),
            _ => format!("{}", row * 1_234_567_890_123 % (1 << 52)),
        };
        (0..3 * TOGETHER as i64 + 7).map(one).collect()
    }

    #[test]
    fn many_numbers_read_as_each_alone() {
        let texts = spellings();
        let expected: Vec<f64> = texts.iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(column_of(&raw(false, texts.clone()), 0), Some(Column::Float(expected.clone())));
        let mut holey = raw(false, texts[..2000].to_vec());
        holey.push(None);
        texts[2000..].iter().for_each(|text| holey.push(Some(text)));
        let Some(Column::Float(read)) = column_of(&holey, 0) else { panic!() };
        assert!(read[2000].is_nan());
        assert_eq!([&read[..2000], &read[2001..]].concat(), expected);
    }

    #[test]
    fn one_value_of_another_kind_makes_a_column_of_texts_wherever_it_stands() {
        let texts = spellings();
        for row in [0, 1, TOGETHER - 1, TOGETHER, texts.len() - 1] {
            for other in ["true", "\"1\"", "{}", "[1]", "9007199254740993", "1e999"] {
                let mut mixed = texts.clone();
                mixed[row] = other.to_owned();
                let expected = mixed.iter().map(|text| Some(text.trim_matches('"').to_owned())).collect();
                assert_eq!(column_of(&raw(false, mixed), 0), Some(Column::Text(expected)), "{other} in row {row}");
            }
        }
        // A known field may be true where it is mostly a number.
        let known = raw(true, ["1", "true", "false", "0.5"].map(str::to_owned));
        assert_eq!(column_of(&known, 0), Some(Column::Float(vec![1.0, 1.0, 0.0, 0.5])));
        let truths = raw(false, ["true", "false"].map(str::to_owned));
        assert_eq!(column_of(&truths, 0), Some(Column::Float(vec![1.0, 0.0])));
        for lists in [["[1]", "[{}]"], ["[1]", "1"], ["[9007199254740993]", "[1]"], ["[[1]]", "[]"]] {
            let expected = lists.map(|text| Some(text.to_owned())).to_vec();
            assert_eq!(column_of(&raw(false, lists.map(str::to_owned)), 0), Some(Column::Text(expected)));
        }
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
