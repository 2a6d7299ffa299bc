//! Random bodies of every data type, with the quirks of the supplement (sections 2 and 3), and what they mean.

use std::fmt::Write as _;

use fastrand::Rng;

use crate::columns::{Column, ColumnName, List, NO_TIME, RaggedRows};
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::{Field, FieldKind, Shape, TypeSpec};

/// A body and the columns that it means, those of its one series.
pub(super) struct Case {
    pub(super) body: String,
    pub(super) timestamps: Vec<i64>,
    pub(super) columns: Vec<(ColumnName, Column)>,
}

/// What may differ from the plain style of the live service.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Style {
    /// Keys in another order in every point.
    pub(super) shuffled: bool,
    /// Fields left out or null.
    pub(super) gaps: bool,
    /// White space between tokens.
    pub(super) spaces: bool,
    /// Fields that no table knows, in the points and beside them.
    pub(super) strangers: bool,
    /// Every spelling of numbers, not only the service's.
    pub(super) wild: bool,
}

impl Style {
    /// Any of them, plain ones more often.
    pub(super) fn any(random: &mut Rng) -> Self {
        let mut rarely = || random.u8(..4) == 0;
        Self { shuffled: rarely(), gaps: rarely(), spaces: rarely(), strangers: rarely(), wild: rarely() }
    }
}

/// Writes JSON and knows how.
pub(super) struct Writer<'a> {
    pub(super) random: &'a mut Rng,
    pub(super) style: Style,
    pub(super) text: String,
}

impl Writer<'_> {
    fn space(&mut self) {
        if self.style.spaces && self.random.u8(..4) == 0 {
            self.text.push_str(["\n", " ", "\t", "  \r\n"][self.random.usize(..4)]);
        }
    }

    pub(super) fn put(&mut self, token: &str) {
        self.space();
        self.text.push_str(token);
        self.space();
    }

    /// A double as the service spells it, or in any other way; returns what the spelling means.
    pub(super) fn number(&mut self) -> f64 {
        let random = &mut *self.random;
        let value = match random.u8(..8) {
            0 => f64::from(random.u32(..1_000_000)),
            1..=3 => f64::from(random.u32(..)) / 10f64.powi(random.i32(0..9)),
            4 => random.f64() * 10f64.powi(random.i32(-9..15)),
            5 => (0..7).map(|_| f64::from(random.u32(..2_000_000)) / 1_000.0).sum(),
            6 => -random.f64() * 1e-5,
            _ => 0.0,
        };
        let text = match (self.style.wild, self.random.u8(..8)) {
            (true, 0) => format!("{value:e}"),
            (true, 1) => format!("{value:.20e}").replace('e', "E"),
            (true, 2) => format!("{value:.25}"),
            (true, 3) => format!("{:e}", f64::from_bits(self.random.u64(..0x7FF0_0000_0000_0000))),
            (true, 4) => format!("{}", self.random.u64(..)),
            _ => service(value),
        };
        self.put(&text);
        text.parse().unwrap()
    }

    fn time(&mut self, seconds: i64) -> i64 {
        let mut nanoseconds = 0;
        self.put("{");
        if self.style.wild && self.random.bool() {
            nanoseconds = self.random.i64(0..1_000_000_000);
            self.put(&format!("\"ns\":{nanoseconds},\"s\":{}", service(seconds as f64)));
        } else {
            self.put(&format!("\"s\":{seconds}"));
            // Now and then none: then it is left out.
            if self.random.u8(..8) != 0 {
                nanoseconds = self.random.i64(0..1_000) * 1_000_000;
                self.put(&format!(",\"ns\":{nanoseconds}"));
            }
        }
        self.put("}");
        seconds * 1_000_000_000 + nanoseconds
    }

    pub(super) fn list(&mut self, count: usize) -> Vec<f64> {
        self.put("[");
        let values = (0..count)
            .map(|index| {
                if index > 0 {
                    self.put(",");
                }
                self.number()
            })
            .collect();
        self.put("]");
        values
    }

    fn string(&mut self) -> String {
        let text = ["ethereum", "", "a,b}]", "0xC02aaA39", "\u{e9}\"\\", "x\u{1}"][self.random.usize(..6)];
        self.put(&serde_json::to_string(text).unwrap());
        text.to_owned()
    }

    /// An object of these fields; the columns grow by a row.
    pub(super) fn object(&mut self, fields: &[Field], at: i64, columns: &mut [(ColumnName, Column)]) {
        let mut order: Vec<usize> = (0..fields.len()).collect();
        if self.style.shuffled {
            self.random.shuffle(&mut order);
        }
        let (mut first, mut absent) = (true, Vec::new());
        self.put("{");
        for index in order {
            let field = &fields[index];
            let gap = self.style.gaps && field.kind != FieldKind::Time && self.random.u8(..4) == 0;
            // The derived fields of a profile are mostly not there.
            let gap = gap || (fields.len() > 15 && index > 6 && self.random.bool() && self.style.gaps);
            if gap && self.random.u8(..4) != 0 {
                absent.push(index);
                continue;
            }
            if !std::mem::take(&mut first) {
                self.put(",");
            }
            self.put(&format!("\"{}\"", field.wire));
            self.put(":");
            if gap {
                self.put("null");
                absent.push(index);
                continue;
            }
            match &mut columns[index].1 {
                Column::Float(values) => values.push(self.number()),
                Column::Time(values) => values.push(self.time(at)),
                Column::Text(values) => values.push(Some(self.string())),
                Column::List(list) => {
                    let count = self.random.usize(..9) * 3;
                    list.push(self.list(count));
                }
                Column::Rows(rows) => {
                    let FieldKind::Rows(inner) = field.kind else { unreachable!() };
                    let count = self.random.usize(..20);
                    self.put("[");
                    for row in 0..count {
                        if row > 0 {
                            self.put(",");
                        }
                        self.object(inner, 0, &mut rows.columns);
                    }
                    self.put("]");
                    rows.offsets.push(rows.offsets.last().unwrap() + count as i64);
                }
                Column::Int(_) | Column::Raw(_) => unreachable!(),
            }
        }
        self.put("}");
        for index in absent {
            let missing =
                if matches!(fields[index].kind, FieldKind::Number | FieldKind::Price) { 0.0 } else { f64::NAN };
            match &mut columns[index].1 {
                Column::Float(values) => values.push(missing),
                Column::Time(values) => values.push(NO_TIME),
                Column::Text(values) => values.push(None),
                Column::List(list) => list.push([]),
                Column::Rows(rows) => rows.offsets.push(*rows.offsets.last().unwrap()),
                Column::Int(_) | Column::Raw(_) => unreachable!(),
            }
        }
    }
}

/// As the service spells: an exponent of two figures at 1e6 and above and below 1e-4 (supplement 2).
pub(in crate::decode) fn service(value: f64) -> String {
    if value == 0.0 || (1e-4..1e6).contains(&value.abs()) {
        return format!("{value}");
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap();
    let power: i32 = exponent.parse().unwrap();
    format!("{mantissa}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
}

fn empty(fields: &[Field]) -> Vec<(ColumnName, Column)> {
    let column = |field: &Field| match field.kind {
        FieldKind::Number | FieldKind::Price | FieldKind::Optional => Column::Float(Vec::new()),
        FieldKind::Time | FieldKind::OptionalTime => Column::Time(Vec::new()),
        FieldKind::Text => Column::Text(Vec::new()),
        FieldKind::List => Column::List(List::default()),
        FieldKind::Rows(inner) => Column::Rows(RaggedRows { offsets: vec![0], columns: empty(inner) }),
    };
    fields.iter().map(|field| (field.column.into(), column(field))).collect()
}

/// A body of a type that is no heatmap, with so many points.
pub(super) fn table(spec: &TypeSpec, points: usize, style: Style, random: &mut Rng) -> Case {
    let mut columns = empty(spec.fields);
    let mut writer = Writer { random, style, text: String::new() };
    let identity = format!(r#""id":{{"type":"{}","rawSymbol":"BTC,USDT","side":"BUY"}}"#, spec.name);
    let identity_first = !style.shuffled || writer.random.bool();
    writer.put(r#"{"series":[{"#);
    if identity_first {
        writer.put(&identity);
        writer.put(",");
    }
    writer.put(r#""points":["#);
    for point in 0..points {
        if point > 0 {
            writer.put(",");
        }
        writer.put(r#"{"Point":"#);
        if spec.shape == Shape::Tpo {
            writer.put(r#"{"TpoAggregation":"#);
        }
        writer.object(spec.fields, 1_700_000_000 + 60 * point as i64, &mut columns);
        if spec.shape == Shape::Tpo {
            writer.put("}");
        }
        if style.strangers && writer.random.u8(..3) == 0 {
            writer.put(r#","beside":{"a":[1,{"b":"],}"}]}"#);
        }
        writer.put("}");
    }
    writer.put("]");
    if !identity_first {
        writer.put(",");
        writer.put(&identity);
    }
    if style.strangers {
        writer.put(r#","next":[1,2,"}"]"#);
    }
    writer.put("}]}");
    let body = writer.text;
    let time = columns.iter().position(|(name, _)| name == "timestamp").unwrap();
    let (_, Column::Time(timestamps)) = columns.remove(time) else { unreachable!() };
    Case { body, timestamps, columns }
}

/// The types whose points are rows.
pub(super) fn table_types() -> impl Iterator<Item = &'static TypeSpec> {
    DATA_TYPES.iter().filter(|spec| spec.shape != Shape::Heatmap)
}

/// A heatmap of so many snapshots: nested with sides, nested with one list, and flat; and what all of them mean. Prices
/// ascend by construction.
pub(super) fn heatmap(snapshots: usize, depth: usize, style: Style, random: &mut Rng) -> [Case; 3] {
    let mut writers = [0, 1, 2].map(|_| String::new());
    let identity = r#""id":{"type":"BLOCK_BOOK_SNAPSHOT_AGG"}"#;
    let venue = r#""id":{"type":"VENUE_LIQUIDATION_AGG"}"#;
    write!(writers[0], r#"{{"series":[{{{identity},"points":["#).unwrap();
    write!(writers[1], r#"{{"series":[{{{venue},"points":["#).unwrap();
    write!(writers[2], r#"{{"series":[{{{identity},"flat_points":["#).unwrap();
    let (mut levels, mut split, mut timestamps) = (List::default(), Vec::new(), Vec::new());
    for snapshot in 0..snapshots {
        let count = random.usize(..=depth);
        let bids = random.usize(..=count);
        let mut writer = Writer { random, style, text: String::new() };
        let mut price = 0.0;
        let pairs: Vec<(String, String)> = (0..count)
            .map(|_| {
                price += f64::from(writer.random.u32(1..100)) / 10.0;
                writer.text.clear();
                writer.number();
                (service(price), std::mem::take(&mut writer.text))
            })
            .collect();
        let join = |pairs: &mut dyn Iterator<Item = &(String, String)>| {
            pairs.map(|(price, volume)| format!("{price},{volume}")).collect::<Vec<_>>().join(",")
        };
        let seconds = 1_700_000_000 + 60 * snapshot as i64;
        let comma = if snapshot > 0 { "," } else { "" };
        let time = format!(r#""timestamp":{{"s":{seconds}}}"#);
        let (down, up) = (join(&mut pairs[..bids].iter().rev()), join(&mut pairs[bids..].iter()));
        let mut parts = vec![format!(r#""bids":[{down}]"#), format!(r#""asks":[{up}]"#), time.clone()];
        if style.shuffled {
            writer.random.shuffle(&mut parts);
        }
        write!(writers[0], r#"{comma}{{"Point":{{{}}}}}"#, parts.join(",")).unwrap();
        let all = join(&mut pairs.iter());
        write!(writers[1], r#"{comma}{{"Point":{{"levels":[{all}],{time}}}}}"#).unwrap();
        let more = if count > 0 { "," } else { "" };
        write!(writers[2], "{comma}{count},{}{more}{all}", service(seconds as f64 * 1e6)).unwrap();
        timestamps.push(seconds * 1_000_000_000);
        let parse = |text: &str| text.trim().parse::<f64>().unwrap();
        levels.push(pairs.iter().flat_map(|(price, volume)| [parse(price), parse(volume)]));
        split.push(bids as i64);
    }
    let unknown = vec![-1; snapshots];
    let endings = ["]}]}", "]}]}", "]}]}"];
    let splits = [split, unknown.clone(), unknown];
    let mut cases = writers.into_iter().zip(endings).zip(splits).map(|((body, end), split)| Case {
        body: body + end,
        timestamps: timestamps.clone(),
        columns: vec![("levels".into(), Column::List(levels.clone())), ("split".into(), Column::Int(split))],
    });
    [(); 3].map(|()| cases.next().unwrap())
}
