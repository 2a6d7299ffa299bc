//! However rows are split into answers, and answers into files, unknown fields make the same columns as in one answer.

use fastrand::Rng;

use super::*;
use crate::clock::UnixMicros;
use crate::columns::{Column, ColumnName};
use crate::decode::{PointsDecoder, points, settled};

/// Names that differ by case, by spelling, or not from the columns of known fields; and a plain one, which comes often.
const NAMES: [&str; 12] = [
    "x",
    "x",
    "side",
    "Side",
    "newRate",
    "new_rate",
    "first_timestamp",
    "Close",
    "close_",
    "timestamp_",
    "more_fields",
    "é",
];
/// Values of every kind, and numbers that no double holds or that have several spellings.
const VALUES: [&str; 30] = [
    "1",
    "2.50",
    "-0.0",
    "1e3",
    "9007199254740993",
    "123456789012345683968",
    "1e400",
    "true",
    "false",
    "null",
    "\"a\"",
    "\"\\u00e9\"",
    "\"\\ud800\"",
    "\"[1]\"",
    "[]",
    "[ ]",
    "[1,2.0]",
    "[1, 2]",
    "[9007199254740993]",
    "[\"a\"]",
    "[{}]",
    "[{\"p\":1.50,\"Side\":1},{\"side\":\"b\"}]",
    "[{\"p\":\"c\"}]",
    "[{\"p\":1,\"p\":2}]",
    "[[1]]",
    "{\"s\":5}",
    "{\"s\":6,\"ns\":7}",
    "{\"s\":6,\"more\":7}",
    "{}",
    "{\"k\": [1 ]}",
];
const HOURS: i64 = 3 * MONTH;

/// A type, and a row's known fields at a time.
const TYPES: [(&str, &str); 4] = [
    ("TRADE_AGG", r#""open":1,"close":2"#),
    ("NEW_AGG", r#""a":1"#),
    (
        "TPO_AGG",
        r#""levels":[{"price":1,"block_ids":[1],LEVEL},{"price":2}],"poc_price":LIKELY,"single_prints":LIKELY"#,
    ),
    ("BLOCK_BOOK_SNAPSHOT_AGG", r#""bids":[1,2],"asks":[3,4]"#),
];

/// Some rows of a type, each with its hour, which ascend.
fn rows(random: &mut Rng, known: &str) -> Vec<(i64, String)> {
    // Few values at a time, so that columns of one kind are as frequent as others.
    let values: Vec<&str> = (0..=random.usize(..4)).map(|_| VALUES[random.usize(..VALUES.len())]).collect();
    let names: Vec<&str> = (0..=random.usize(..4)).map(|_| NAMES[random.usize(..NAMES.len())]).collect();
    let field = |random: &mut Rng, name: &str| format!(r#""{name}":{}"#, values[random.usize(..values.len())]);
    let mut hour = random.i64(0..50);
    let mut rows = Vec::new();
    while hour < HOURS {
        let mut fields = known.to_owned();
        while let Some(place) = fields.find("LIKELY") {
            fields.replace_range(place..place + 6, values[random.usize(..values.len())]);
        }
        let level = field(random, names[0]);
        let mut fields = vec![fields.replace("LEVEL", &level), format!(r#""timestamp":{{"s":{}}}"#, hour * HOUR)];
        for name in &names {
            if random.bool() && !fields.iter().any(|field| field.starts_with(&format!("\"{name}\":"))) {
                fields.insert(random.usize(..=fields.len()), field(random, name));
            }
        }
        rows.push((hour, format!(r#"{{"Point":{{{}}}}}"#, fields.join(","))));
        hour += random.i64(1..300);
    }
    rows
}

fn body(data_type: &str, rows: &[(i64, String)]) -> String {
    let rows: Vec<&str> = rows.iter().map(|(_, row)| row.as_str()).collect();
    format!(r#"{{"series":[{{"id":{{"type":"{data_type}"}},"points":[{}]}}]}}"#, rows.join(","))
}

fn as_sent(body: &str) -> Vec<Series> {
    let mut decoder = PointsDecoder::new().unwrap();
    for portion in body.as_bytes().chunks(1_000) {
        decoder.feed(portion).unwrap_or_else(|error| panic!("{error}: {body}"));
    }
    decoder.finish_as_sent(&[]).unwrap()
}

/// Equality of bits.
fn bits(columns: &[(ColumnName, Column)]) -> String {
    let spelt = |column: &Column| match column {
        Column::Float(values) => format!("{:?}", values.iter().map(|value| value.to_bits()).collect::<Vec<_>>()),
        Column::Rows(rows) => format!("{:?} {}", rows.offsets, bits(&rows.columns)),
        column => format!("{column:?}"),
    };
    columns.iter().map(|(name, column)| format!("{name}: {}", spelt(column))).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(found: &[Series], wanted: &[Series], body: &str) {
    assert_eq!(found.len(), wanted.len(), "{body}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert_eq!((&found.id, &found.timestamps), (&wanted.id, &wanted.timestamps), "{body}");
        assert_eq!(bits(&found.columns), bits(&wanted.columns), "{body}");
    }
}

// faults.md row 23
#[test]
fn rows_split_into_answers_make_the_same_columns_as_one_answer() {
    let mut random = Rng::with_seed(31);
    for turn in 0..600 {
        let (data_type, known) = TYPES[turn % TYPES.len()];
        let rows = rows(&mut random, known);
        let whole = body(data_type, &rows);
        let wanted = points(whole.as_bytes()).unwrap_or_else(|error| panic!("{error}: {whole}"));
        check(&settled(as_sent(&whole)), &wanted, &whole);
        let mut answers: Vec<Vec<Series>> = Vec::new();
        let mut rest = &rows[..];
        while !rest.is_empty() {
            let (some, more) = rest.split_at(1 + random.usize(..rest.len()));
            answers.push(as_sent(&body(data_type, some)));
            rest = more;
        }
        random.shuffle(&mut answers);
        // Some are joined before the others come.
        if answers.len() > 2 {
            let some = answers.split_off(1 + random.usize(..answers.len() - 1));
            answers.push(join(some, true).unwrap());
        }
        check(&settled(join(answers, true).unwrap()), &wanted, &whole);
    }
}

// faults.md row 23
#[test]
fn answers_that_are_kept_in_any_order_are_read_as_one_answer() {
    let mut random = Rng::with_seed(32);
    for turn in 0..60 {
        let (data_type, known) = TYPES[turn % TYPES.len()];
        let rows = rows(&mut random, known);
        if rows.is_empty() {
            continue;
        }
        let whole = body(data_type, &rows);
        let (_folder, archive) = archive();
        let query = PointsQuery { data_type: data_type.into(), ..query() };
        let Some(key) = ArchiveKey::new("https://host", &query) else { continue };
        let mut writer = archive.try_writer(&key).unwrap().unwrap();
        let mut bounds: Vec<i64> = (0..random.usize(..6)).map(|_| random.i64(1..HOURS)).chain([0, HOURS]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let mut windows: Vec<(i64, i64)> = bounds.windows(2).map(|two| (two[0], two[1])).collect();
        random.shuffle(&mut windows);
        for (from, to) in windows {
            let some: Vec<_> = rows.iter().filter(|(hour, _)| (from..to).contains(hour)).cloned().collect();
            writer.commit(&[window(from, to)], &as_sent(&body(data_type, &some)), UnixMicros(AT)).unwrap();
        }
        let read = settled(archive.read(&key, window(0, HOURS)).unwrap());
        check(&read, &points(whole.as_bytes()).unwrap(), &whole);
        // A part is what an answer of that part would be.
        let (from, to) = (HOURS / 5, HOURS / 2);
        let part: Vec<_> = rows.iter().filter(|(hour, _)| (from..to).contains(hour)).cloned().collect();
        let wanted = if part.is_empty() { Vec::new() } else { points(body(data_type, &part).as_bytes()).unwrap() };
        check(&settled(archive.read(&key, window(from, to)).unwrap()), &wanted, &whole);
    }
}
