//! What is written as Parquet reads back, in all that a table may hold.

use bytes::Bytes;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::schema::printer::print_schema;
use proptest::prelude::*;

use super::parquet_read::{read_first, read_parquet, table_of};
use super::parquet_write::parquet_bytes;
use super::table::Table;
use crate::columns::{Column, List, NO_TIME, Rows};

fn same(left: &Column, right: &Column) -> bool {
    let mut both = left.clone();
    left.len() == right.len()
        && both.append(right.clone())
        && (0..left.len()).all(|row| both.same(row, row + left.len()))
}

fn ragged(lengths: &[u8]) -> Vec<i64> {
    let mut offsets = vec![0];
    for length in lengths {
        offsets.push(offsets.last().unwrap() + i64::from(*length));
    }
    offsets
}

/// A table with a column of each kind, times and texts that are not there, odd doubles, and empty lists.
fn sample() -> Table {
    let odd = [0.1 + 0.2, f64::NAN, -0.0, f64::INFINITY, f64::from_bits(0x7ff8_0000_dead_beef), 5e-324];
    let doubles = |count: usize| (0..count).map(|place| odd[place % odd.len()]).collect::<Vec<_>>();
    let texts = |count: usize| (0..count).map(|place| (place % 3 > 0).then(|| format!("é\"{place}"))).collect();
    let times = |count: i64| (0..count).map(|at| if at % 4 == 1 { NO_TIME } else { at * 1_570_752_011 }).collect();
    let (outer, deep) = (vec![0, 2, 2, 5, 6, 6], vec![0, 0, 3, 4, 4, 4, 7]);
    let inner = Rows {
        offsets: deep.clone(),
        columns: vec![("number".into(), Column::Int((0..7).collect())), ("at".into(), Column::Time(times(7)))],
    };
    let records = vec![
        ("price".into(), Column::Float(doubles(6))),
        ("blocks".into(), Column::List(List { offsets: deep, values: doubles(7) })),
        ("note".into(), Column::Text(texts(6))),
        ("deep".into(), Column::Rows(inner)),
    ];
    vec![
        ("time".into(), Column::Time(times(5))),
        ("value".into(), Column::Float(doubles(5))),
        ("count".into(), Column::Int(vec![i64::MIN, -1, 0, 1, i64::MAX])),
        ("text".into(), Column::Text(texts(5))),
        ("list".into(), Column::List(List { offsets: outer.clone(), values: doubles(6) })),
        ("rows".into(), Column::Rows(Rows { offsets: outer.clone(), columns: records })),
        ("bare".into(), Column::Rows(Rows { offsets: outer, columns: vec![] })),
    ]
}

proptest! {
    /// Lists, lists in records, missing values and bare numbers read back bit for bit.
    #[test]
    fn tables_read_back_bit_for_bit(
        lengths in prop::collection::vec(0_u8..4, 0..20),
        deep in prop::collection::vec(0_u8..3, 60),
        bits in prop::collection::vec(any::<u64>(), 200),
        texts in prop::collection::vec(prop::option::of("[a-z\"é]{0,3}"), 60),
    ) {
        let rows = lengths.len();
        let offsets = ragged(&lengths);
        let inner = *offsets.last().unwrap() as usize;
        let deep = ragged(&deep[..inner]);
        let doubles = |count: usize| bits[..count].iter().map(|bits| f64::from_bits(*bits)).collect::<Vec<_>>();
        let levels = *deep.last().unwrap() as usize;
        let table: Table = vec![
            ("time".into(), Column::Time((0..rows as i64).map(|row| if row % 3 == 2 { NO_TIME } else { row }).collect())),
            ("value".into(), Column::Float(doubles(rows))),
            ("count".into(), Column::Int((0..rows as i64).collect())),
            ("text".into(), Column::Text(texts[..rows].to_vec())),
            ("list".into(), Column::List(List { offsets: offsets.clone(), values: doubles(inner) })),
            ("rows".into(), Column::Rows(Rows { offsets: offsets.clone(), columns: vec![
                ("price".into(), Column::Float(doubles(inner))),
                ("blocks".into(), Column::List(List { offsets: deep.clone(), values: doubles(levels) })),
                ("note".into(), Column::Text(texts[..inner].to_vec())),
                ("deep".into(), Column::Rows(Rows { offsets: deep.clone(), columns: vec![
                    ("number".into(), Column::Int((0..levels as i64).collect())),
                    ("at".into(), Column::Time(vec![NO_TIME; levels])),
                ] })),
            ] })),
            ("bare".into(), Column::Rows(Rows { offsets, columns: vec![] })),
        ];
        let metadata = vec![("key".to_owned(), "value".to_owned())];
        let bytes = Bytes::from(parquet_bytes(&table, &metadata).unwrap());
        let (read, beside) = table_of(bytes.clone(), |_| true).unwrap();
        prop_assert!(beside.contains(&metadata[0]));
        prop_assert_eq!(read.len(), table.len());
        for ((name, column), (known, values)) in read.iter().zip(&table) {
            prop_assert_eq!(name, known);
            prop_assert!(same(column, values), "{}: {:?} is not {:?}", name, column, values);
        }
        let (one, _) = table_of(bytes, |name| name == "count").unwrap();
        prop_assert_eq!(one.len(), 1);
        prop_assert_eq!(one[0].1.clone(), Column::Int((0..rows as i64).collect()));
    }
}

/// What the package wrote at first: the files of `tests/parquet` are of that time.
#[test]
fn files_of_earlier_versions_read_back_and_are_written_alike() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet");
    let bytes = Bytes::from(std::fs::read(folder.join("nested.parquet")).unwrap());
    let (read, metadata) = table_of(bytes.clone(), |_| true).unwrap();
    assert_eq!(metadata, [("key".to_owned(), "value".to_owned())]);
    assert_same(&read, &sample());
    let written = Bytes::from(parquet_bytes(&sample(), &metadata).unwrap());
    assert_eq!(spelt_schema(&written), spelt_schema(&bytes));

    let flat = sample()[..4].to_vec();
    let mut twice = flat.clone();
    for ((_, column), (_, more)) in twice.iter_mut().zip(&flat) {
        assert!(column.append(more.clone()));
    }
    let path = folder.join("flat.parquet");
    let (read, metadata) = read_parquet(&path).unwrap(); // its checksum is looked at
    assert_same(&read, &twice);
    let written = parquet_bytes(&flat, &metadata).unwrap();
    assert_eq!(spelt_schema(&Bytes::from(written)), spelt_schema(&Bytes::from(std::fs::read(&path).unwrap())));
    assert_eq!(read_first(&path, "count").unwrap(), Some(i64::MIN));
}

fn assert_same(read: &Table, known: &Table) {
    assert_eq!(read.len(), known.len());
    for ((name, column), (expected, values)) in read.iter().zip(known) {
        assert!(name == expected && same(column, values), "{name}: {column:?} is not {values:?}");
    }
}

/// The schema in the words of the format.
fn spelt_schema(bytes: &Bytes) -> String {
    let footer = ParquetMetaDataReader::new().parse_and_finish(bytes).unwrap();
    let mut spelt = Vec::new();
    print_schema(&mut spelt, footer.file_metadata().schema_descr().root_schema());
    String::from_utf8(spelt).unwrap()
}

#[test]
fn no_bytes_make_it_panic() {
    let table: Table = vec![
        ("n".into(), Column::Int((0..50).collect())),
        ("l".into(), Column::List(List { offsets: (0..51).collect(), values: vec![0.5; 50] })),
    ];
    let whole = parquet_bytes(&table, &vec![]).unwrap();
    for cut in 0..whole.len() {
        assert!(table_of(Bytes::copy_from_slice(&whole[..cut]), |_| true).is_err(), "{cut}");
    }
    for bit in (0..whole.len() * 8).step_by(5) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let _ = table_of(Bytes::from(bytes), |_| true);
    }
}
