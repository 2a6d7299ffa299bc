//! Series → the body of `/v1/points` (service.md 2.2 and 2.3, supplement 2). What to write of a row is worked out once
//! per series from the type's row in the table; the loop over the rows only copies keys and spells numbers.

use super::body::Body;
use super::number::{double, integer};
use super::piece::TextPiece;
use crate::clock::{SECOND, UnixNanos};
use crate::columns::{Column, ColumnName, LEVELS, List, NO_TIME, RaggedRows, Raw, SPLIT, Series};
use crate::protocol::field::TIMESTAMP;
use crate::protocol::{DataType, Field, FieldKind, SeriesId, Shape, TPO_WRAPPER};

/// Nanoseconds in a microsecond, the unit of `flat_points` times.
const MICROSECOND: i64 = 1_000;

/// The body of a `GET /v1/points` answer: one line, no trailing newline.
///
/// Points come in the order of the rows. Left out are doubles that are 0 (but not those of optional fields, where NaN is
/// left out instead), times that are not there, empty texts, empty lists, series without rows; with nothing left the
/// body is `{}`. With `flatten`, heatmaps are written as `flat_points`; other shapes have no flat form and stay nested.
/// A nested book needs its `split`: a series in which some snapshot's is unknown goes out under `levels`. A double that
/// is not finite becomes `null`.
///
/// ```
/// use marketpoints::{decode, encode};
///
/// let body = br#"{"series":[{"id":{"type":"FUNDING_RATE_AGG"},"points":[{"Point":{"rateClose":0.1,"timestamp":{"s":60}}}]}]}"#;
/// let series = decode::points(body)?;
/// assert_eq!(encode::points(&series, false), body); // what is unknown is left out again
/// # Ok::<(), decode::DecodeError>(())
/// ```
pub fn points(series: &[Series], flatten: bool) -> Vec<u8> {
    points_in_parts(series, flatten).concat()
}

/// As [`points`], in pieces to be sent one after the other. A large body is written by several threads, a piece each, which
/// are not joined.
pub fn points_in_parts(series: &[Series], flatten: bool) -> Vec<Vec<u8>> {
    let mut body = Body::default();
    body.out.reserve(512); // an identity
    let mut written = false;
    for one in series.iter().filter(|one| !one.is_empty()) {
        body.out.extend_from_slice(if written { b"," } else { b"{\"series\":[" });
        written = true;
        body.out.extend_from_slice(b"{\"id\":");
        identity(&mut body.out, &one.id);
        match one.levels().filter(|_| flatten && one.shape == Shape::Heatmap) {
            Some((levels, _)) => flat(&mut body, one, levels),
            None => nested(&mut body, one),
        }
        body.out.push(b'}');
    }
    body.out.extend_from_slice(if written { b"]}" } else { b"{}" });
    body.pieces.push(body.out);
    body.pieces
}

/// About how many bytes a series takes; too little only costs a reallocation.
fn estimate(series: &Series) -> usize {
    fn of(column: &Column) -> usize {
        match column {
            Column::Float(values) => 26 * values.len(),
            Column::Int(values) => 24 * values.len(),
            Column::Time(values) => 48 * values.len(),
            Column::Text(values) => 48 * values.len(),
            Column::Raw(raw) => raw.bytes(),
            Column::List(list) => 12 * list.values.len() + 24 * list.len(),
            Column::Rows(rows) => rows.columns.iter().map(|(_, column)| of(column)).sum(),
        }
    }
    512 + 48 * series.len() + series.columns.iter().map(|(_, column)| of(column)).sum::<usize>()
}

fn identity(out: &mut Vec<u8>, id: &SeriesId) {
    let mut object = Object::open(out);
    for (name, value) in id.fields() {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            object.key(&key(name));
            text(object.out, value);
        }
    }
    for (name, json) in &id.extra {
        object.key(&key(name));
        object.out.extend_from_slice(json.as_bytes());
    }
    object.close();
}

/// An object under construction: puts the commas where they belong.
struct Object<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl<'a> Object<'a> {
    fn open(out: &'a mut Vec<u8>) -> Self {
        Self { out, empty: true }
    }

    /// A key as [`key`] makes it. Where its comma would stand, the first one has the object's brace.
    #[inline]
    fn key(&mut self, key: &TextPiece) {
        let comma = self.out.len();
        key.write(self.out);
        if self.empty {
            self.out[comma] = b'{';
            self.empty = false;
        }
    }

    fn close(self) {
        if self.empty {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }
}

fn text(out: &mut Vec<u8>, value: &str) {
    if is_plain(value) {
        out.push(b'"');
        out.extend_from_slice(value.as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(escaped(value).as_bytes());
    }
}

/// Whether a text is spelled as it is.
fn is_plain(value: &str) -> bool {
    value.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
}

fn escaped(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}

/// `,"name":`, ready to copy.
fn key(name: &str) -> TextPiece {
    if is_plain(name) {
        TextPiece::of([b",\"", name.as_bytes(), b"\":"])
    } else {
        TextPiece::of([b",", escaped(name).as_bytes(), b":"])
    }
}

/// One field of the rows to write: its key and where its values stand.
struct EncodedField<'a> {
    key: TextPiece,
    cells: FieldValues<'a>,
}

enum FieldValues<'a> {
    /// Doubles; 0 is left out.
    Number(&'a [f64]),
    /// Doubles; NaN is left out.
    Optional(&'a [f64]),
    /// Whole numbers; 0 is left out.
    Integer(&'a [i64]),
    Time(&'a [i64]),
    Text(&'a [Option<String>]),
    Raw(&'a Raw),
    List(&'a List),
    /// The first pairs of a snapshot, as many as `split` says, from the last to the first.
    Bids(&'a List, &'a [i64]),
    /// The other pairs of a snapshot.
    Asks(&'a List, &'a [i64]),
    Rows(&'a RaggedRows, Vec<EncodedField<'a>>),
}

impl<'a> EncodedField<'a> {
    fn new(wire: &str, cells: FieldValues<'a>) -> Self {
        Self { key: key(wire), cells }
    }

    /// A column under its wire name, written by the table's rule, or by its own kind when the table does not say.
    fn of_column(wire: &str, kind: Option<FieldKind>, column: &'a Column) -> Self {
        let cells = match column {
            Column::Float(values) if matches!(kind, Some(FieldKind::Number | FieldKind::Price)) => {
                FieldValues::Number(values)
            }
            Column::Float(values) => FieldValues::Optional(values),
            Column::Int(values) => FieldValues::Integer(values),
            Column::Time(values) => FieldValues::Time(values),
            Column::Text(values) => FieldValues::Text(values),
            Column::Raw(raw) => FieldValues::Raw(raw),
            Column::List(list) => FieldValues::List(list),
            Column::Rows(rows) => {
                let fields = if let Some(FieldKind::Rows(fields)) = kind { fields } else { &[] };
                FieldValues::Rows(rows, parts(fields, &rows.columns, &[]))
            }
        };
        Self::new(wire, cells)
    }

    fn write(&self, object: &mut Object<'_>, row: usize) {
        match &self.cells {
            // Negative zero is no omitted zero: it would come back without its sign.
            FieldValues::Number(values) if values[row].to_bits() != 0 => self.double(object, values[row]),
            FieldValues::Optional(values) if !values[row].is_nan() => self.double(object, values[row]),
            FieldValues::Integer(values) if values[row] != 0 => {
                object.key(&self.key);
                integer(object.out, values[row]);
            }
            FieldValues::Time(values) if values[row] != NO_TIME => {
                object.key(&self.key);
                time(object.out, UnixNanos(values[row]));
            }
            FieldValues::Text(values) => {
                if let Some(value) = values[row].as_deref().filter(|value| !value.is_empty()) {
                    object.key(&self.key);
                    text(object.out, value);
                }
            }
            FieldValues::Raw(raw) => {
                if let Some(value) = raw.get(row) {
                    object.key(&self.key);
                    object.out.extend_from_slice(value.as_bytes());
                }
            }
            FieldValues::List(list) => self.doubles(object, list.row(row)),
            FieldValues::Bids(levels, split) => {
                let (bids, _) = sides(levels.row(row), split[row]);
                if !bids.is_empty() {
                    object.key(&self.key);
                    array(object.out, bids.rchunks_exact(2).flatten().copied(), double);
                }
            }
            FieldValues::Asks(levels, split) => {
                let (_, asks) = sides(levels.row(row), split[row]);
                self.doubles(object, asks);
            }
            FieldValues::Rows(rows, inner) => {
                let span = rows.offsets[row] as usize..rows.offsets[row + 1] as usize;
                if !span.is_empty() {
                    object.key(&self.key);
                    array(object.out, span, |out, row| one_row(out, inner, row));
                }
            }
            _ => {}
        }
    }

    fn double(&self, object: &mut Object<'_>, value: f64) {
        object.key(&self.key);
        double(object.out, value);
    }

    fn doubles(&self, object: &mut Object<'_>, values: &[f64]) {
        if !values.is_empty() {
            object.key(&self.key);
            array(object.out, values.iter().copied(), double);
        }
    }
}

fn sides(levels: &[f64], split: i64) -> (&[f64], &[f64]) {
    levels.split_at((2 * split.max(0) as usize).min(levels.len()))
}

fn array<T>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

fn one_row(out: &mut Vec<u8>, parts: &[EncodedField<'_>], row: usize) {
    let mut object = Object::open(out);
    for part in parts {
        part.write(&mut object, row);
    }
    object.close();
}

/// `s` is written even where it is 0: without it the object would be no time at all.
fn time(out: &mut Vec<u8>, time: UnixNanos) {
    out.extend_from_slice(b"{\"s\":");
    integer(out, time.second().0);
    let within = time.0.rem_euclid(SECOND);
    if within != 0 {
        out.extend_from_slice(b",\"ns\":");
        integer(out, within);
    }
    out.push(b'}');
}

/// The fields of the table in its order, then the columns that it does not know under their own names.
fn parts<'a>(fields: &[Field], columns: &'a [(ColumnName, Column)], timestamps: &'a [i64]) -> Vec<EncodedField<'a>> {
    let find = |name: &str| columns.iter().find(|(known, _)| known == name).map(|(_, column)| column);
    let mut parts = Vec::with_capacity(columns.len() + 1);
    for field in fields {
        if field.kind == FieldKind::Time {
            parts.push(EncodedField::new(field.wire, FieldValues::Time(timestamps)));
        } else if let Some(column) = find(field.column) {
            parts.push(EncodedField::of_column(field.wire, Some(field.kind), column));
        }
    }
    for (name, column) in columns {
        if !fields.iter().any(|field| field.column == name) {
            parts.push(EncodedField::of_column(name, None, column));
        }
    }
    parts
}

/// A type that the table does not know still has its time, before what else a point holds.
const ONLY_TIME: &[Field] = &[TIMESTAMP];

fn nested(body: &mut Body, series: &Series) {
    let spec = series.data_type().map(DataType::spec);
    let fields = spec.map_or(ONLY_TIME, |spec| spec.fields);
    let parts = match series.levels().filter(|_| series.shape == Shape::Heatmap) {
        Some((levels, split)) => heatmap_parts(fields, series, levels, split),
        None => parts(fields, &series.columns, &series.timestamps),
    };
    let (open, close) = match spec.map_or(series.shape, |spec| spec.shape) {
        Shape::Tpo => (format!("{{\"Point\":{{\"{TPO_WRAPPER}\":"), "}}"),
        _ => ("{\"Point\":".to_owned(), "}"),
    };
    let (open, close) = (TextPiece::new(open.as_bytes()), TextPiece::new(close.as_bytes()));
    body.out.extend_from_slice(b",\"points\":");
    body.array(series.len(), estimate(series), |out, row| {
        open.write(out);
        one_row(out, &parts, row);
        close.write(out);
    });
}

/// A heatmap's points: sides where the type has sides and all of them are known, else one list of levels.
fn heatmap_parts<'a>(
    fields: &[Field],
    series: &'a Series,
    levels: &'a List,
    split: &'a [i64],
) -> Vec<EncodedField<'a>> {
    let one_list = fields.iter().any(|field| field.column == LEVELS) || split.iter().any(|&bids| bids < 0);
    let mut parts = if one_list {
        vec![EncodedField::new("levels", FieldValues::List(levels))]
    } else {
        vec![
            EncodedField::new("bids", FieldValues::Bids(levels, split)),
            EncodedField::new("asks", FieldValues::Asks(levels, split)),
        ]
    };
    parts.push(EncodedField::new("timestamp", FieldValues::Time(&series.timestamps)));
    let unknown = series.columns.iter().filter(|(name, _)| name != LEVELS && name != SPLIT);
    parts.extend(unknown.map(|(name, column)| EncodedField::of_column(name, None, column)));
    parts
}

/// `[num_levels, timestamp_micros, price, volume, …]` for each snapshot, back to back (section 2.3).
fn flat(body: &mut Body, series: &Series, levels: &List) {
    body.out.extend_from_slice(b",\"flat_points\":");
    body.array(series.len(), estimate(series), |out, row| {
        let pairs = levels.row(row);
        double(out, (pairs.len() / 2) as f64);
        out.push(b',');
        double(out, series.timestamps[row].div_euclid(MICROSECOND) as f64);
        for &value in pairs {
            out.push(b',');
            double(out, value);
        }
    });
}
