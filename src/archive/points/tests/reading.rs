//! Reading by putting values in their places gives what joining the files' series gives, bit for bit.

use bytes::Bytes;

use super::super::column_buffers::{PreallocatedRead, open};
use super::super::part_file;
use super::super::rows::joined;
use super::*;
use crate::clock::UnixMicros;
use crate::columns::{LEVELS, List, NO_TIME, SPLIT};

pub(super) const MINUTES: i64 = 31 * 24 * 60;

fn query_of(data_type: &str, interval: &str) -> PointsQuery {
    PointsQuery { data_type: data_type.into(), interval: Some(interval.into()), ..query() }
}

pub(super) fn key_of(data_type: &str, interval: &str) -> ArchiveKey {
    ArchiveKey::new("https://host", &query_of(data_type, interval)).unwrap()
}

/// A double of any kind, the same each time.
fn odd(place: i64) -> f64 {
    match place % 11 {
        0 => f64::NAN,
        1 => -0.0,
        2 => f64::from_bits(0x7ff8_0000_dead_beef),
        _ => (place * 7_919 % 10_007) as f64 / 16.0,
    }
}

fn series(data_type: &str, side: Option<&str>, shape: Shape, times: &[i64], columns: Vec<(&str, Column)>) -> Series {
    let id = SeriesId { data_type: Some(data_type.into()), side: side.map(str::to_owned), ..SeriesId::default() };
    let columns = columns.into_iter().map(|(name, column)| (name.to_owned().into(), column)).collect();
    Series { id: id.into(), shape, timestamps: times.to_vec(), columns }
}

/// Rows with every kind of number.
pub(super) fn candles(side: Option<&str>, minutes: impl Iterator<Item = i64>) -> Series {
    let times: Vec<i64> = minutes.map(|minute| minute * 60 * SECOND).collect();
    let each = |value: &dyn Fn(i64) -> i64| times.iter().map(|time| value(time / SECOND / 60)).collect::<Vec<_>>();
    let floats = |step: i64| Column::Float(times.iter().map(|time| odd(time / SECOND / 60 + step)).collect());
    let columns = vec![
        ("open", floats(0)),
        ("close", floats(5)),
        ("buy_trades", Column::Int(each(&|minute| minute % 997 - 3))),
        ("first_timestamp", Column::Time(each(&|minute| if minute % 5 == 0 { NO_TIME } else { minute * SECOND + 1 }))),
    ];
    series("TRADE_AGG", side, Shape::Table, &times, columns)
}

/// Order books of uneven lengths, some without a level.
pub(super) fn books(minutes: std::ops::Range<i64>, longest: i64) -> Series {
    let times: Vec<i64> = minutes.clone().map(|minute| minute * 60 * SECOND).collect();
    let mut levels = List::default();
    for minute in minutes.clone() {
        let count = if minute % 7 == 3 { 0 } else { minute * 31 % longest };
        levels.push((0..count * 2).map(|place| odd(minute + place)));
    }
    let columns =
        vec![(LEVELS, Column::List(levels)), (SPLIT, Column::Int(minutes.map(|minute| minute % 9 - 1).collect()))];
    series("BLOCK_BOOK_SNAPSHOT_AGG", None, Shape::Heatmap, &times, columns)
}

/// The archive's data files, in order of their time.
fn data(archive: &Archive) -> Vec<Bytes> {
    files(archive.path()).into_iter().filter(|(name, _)| name.ends_with(".parquet")).map(|one| one.1.into()).collect()
}

/// Whether the files' values can be put in their places, all together.
fn are_placed(archive: &Archive, window: Window) -> bool {
    let open: Option<Vec<_>> = data(archive).iter().map(|bytes| open(&bytes.clone().into(), window.into())).collect();
    open.is_some_and(|open| open.iter().all(|one| !one.has_cut_lists()) && PreallocatedRead::default().add(&open))
}

/// Compares a window with what the files' series are when they are joined.
fn check(archive: &Archive, key: &ArchiveKey, window: Window) -> usize {
    let parts = data(archive).into_iter().map(|bytes| part_file::series("a file", bytes, None).unwrap()).collect();
    let (mut known, mut read) = (joined(key, parts, &[window]).unwrap(), archive.read(key, window).unwrap());
    // Bits: NaN equals NaN, and not every NaN every other.
    let bits = |all: &mut Vec<Series>| {
        let mut collected = Vec::new();
        for (_, column) in all.iter_mut().flat_map(|one| &mut one.columns) {
            let values = match column {
                Column::Float(values) => values,
                Column::List(list) => &mut list.values,
                _ => continue,
            };
            collected.push(values.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
            values.fill(0.0);
        }
        collected
    };
    assert_eq!(bits(&mut read), bits(&mut known), "{window:?}");
    assert_eq!(read, known, "{window:?}");
    read.iter().map(Series::len).sum()
}

pub(super) fn minutes(from: i64, to: i64) -> Window {
    Window { from: from * 60, to: to * 60 }
}

#[test]
fn numbers_of_many_files_are_put_in_their_places() {
    let (_folder, archive) = archive();
    let key = key_of("TRADE_AGG", "MINUTE");
    let whole = minutes(0, 2 * MINUTES);
    let both = [candles(Some("BUY"), 0..2 * MINUTES), candles(Some("SELL"), (0..2 * MINUTES).filter(|at| at % 3 == 1))];
    archive.try_writer(&key).unwrap().unwrap().commit(&[whole], &both, UnixMicros(AT)).unwrap();
    assert!(data(&archive).len() == 3 && are_placed(&archive, whole));
    assert_eq!(check(&archive, &key, whole), 2 * MINUTES as usize / 3 * 4);
    // Windows that cut files at either end, also within a page, at their ends, and to nothing.
    let ends =
        [(1, 2 * MINUTES), (0, 25_000), (19_999, 20_001), (MINUTES, MINUTES + 1), (MINUTES - 7, MINUTES + 9_000)];
    for (from, to) in ends {
        assert!(check(&archive, &key, minutes(from, to)) > 0);
    }
    assert_eq!(archive.read(&key, minutes(5, 5)).unwrap(), []);
    // No file is read that the window does not touch.
    let mut names = files(archive.path()).into_keys().filter(|name| name.ends_with(".parquet"));
    std::fs::remove_file(archive.path().join(names.next_back().unwrap())).unwrap();
    assert_eq!(archive.read(&key, minutes(0, MINUTES)).unwrap()[0].len(), MINUTES as usize);
    assert!(archive.read(&key, whole).is_err());
}

#[test]
fn lists_of_many_files_are_put_in_their_places() {
    let (_folder, archive) = archive();
    let key = key_of("BLOCK_BOOK_SNAPSHOT_AGG", "MINUTE");
    let days = 4 * 1_440;
    let whole = minutes(0, days);
    archive.try_writer(&key).unwrap().unwrap().commit(&[whole], &[books(0..days, 40)], UnixMicros(AT)).unwrap();
    assert!(data(&archive).len() == 4 && are_placed(&archive, whole));
    assert_eq!(check(&archive, &key, whole), days as usize);
    for (from, to) in [(700, days), (0, days - 3), (1_440, 2_880), (1_445, 1_452), (3, 4), (1_000, 4_500)] {
        assert_eq!(check(&archive, &key, minutes(from, to)), (to - from) as usize);
    }
    // Lists longer than what is decoded at once.
    let (_folder, archive) = super::archive();
    archive.try_writer(&key).unwrap().unwrap().commit(&[whole], &[books(0..days, 3)], UnixMicros(AT)).unwrap();
    archive
        .try_writer(&key)
        .unwrap()
        .unwrap()
        .commit(&[minutes(5, 9)], &[books(5..9, 20_000)], UnixMicros(AT))
        .unwrap();
    assert_eq!(check(&archive, &key, whole), days as usize);
}

#[test]
fn files_that_are_not_alike_are_joined() {
    let key = key_of("TRADE_AGG", "MINUTE");
    let note = |one: &mut Series, column: Column| one.columns.push(("note".into(), column));
    let texts = |rows: usize| Column::Text((0..rows).map(|row| (row % 2 == 0).then(|| row.to_string())).collect());
    let months = || [candles(Some("BUY"), 10..200), candles(Some("BUY"), MINUTES..MINUTES + 300)];
    let mut cases = Vec::new();
    // A column more, of text, of another kind; another order of columns; another series.
    let [first, mut second] = months();
    note(&mut second, Column::Float(vec![1.5; 300]));
    cases.push((first, second, false));
    let [mut first, mut second] = months();
    note(&mut first, texts(190));
    note(&mut second, texts(300));
    cases.push((first, second, false));
    let [mut first, mut second] = months();
    note(&mut first, Column::Int(vec![1; 190]));
    note(&mut second, Column::Float(vec![1.0; 300]));
    cases.push((first, second, false));
    let [first, mut second] = months();
    second.columns.rotate_left(1);
    cases.push((first, second, false));
    let [first, _] = months();
    cases.push((first, candles(Some("SELL"), MINUTES..MINUTES + 50), true));
    for (number, (first, second, alike)) in cases.into_iter().enumerate() {
        let (_folder, archive) = archive();
        let mut writer = archive.try_writer(&key).unwrap().unwrap();
        writer.commit(&[minutes(0, MINUTES)], &[first], UnixMicros(AT)).unwrap();
        writer.commit(&[minutes(MINUTES, 2 * MINUTES)], &[second], UnixMicros(AT)).unwrap();
        let whole = minutes(0, 2 * MINUTES);
        assert_eq!(are_placed(&archive, whole), alike, "{number}");
        assert!(check(&archive, &key, whole) > 190);
        check(&archive, &key, minutes(50, MINUTES + 20));
    }
}

/// Every file's checksum is compared, whichever files and values are wanted.
// faults.md row 47
#[test]
fn damage_is_found_in_every_file() {
    let (_folder, archive) = archive();
    let key = key_of("BLOCK_BOOK_SNAPSHOT_AGG", "MINUTE");
    let whole = minutes(0, 6 * 1_440);
    archive.try_writer(&key).unwrap().unwrap().commit(&[whole], &[books(0..6 * 1_440, 20)], UnixMicros(AT)).unwrap();
    for (name, bytes) in files(archive.path()).into_iter().filter(|(name, _)| name.ends_with(".parquet")) {
        let path = archive.path().join(&name);
        let read_with = |bytes: &[u8], window| {
            std::fs::write(&path, bytes).unwrap();
            archive.read(&key, window)
        };
        for place in (0..bytes.len()).step_by(bytes.len() / 9) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << (place % 8);
            let fault = read_with(&damaged, whole).unwrap_err();
            let ArchiveFault::File { path, .. } = &fault else { panic!("{fault:?}") };
            assert_eq!(*path, name, "{place}");
        }
        assert!(read_with(&bytes[..bytes.len() / 2], whole).is_err());
        assert!(read_with(&bytes, whole).is_ok());
    }
}

/// The series of a full read, reduced to the wanted columns.
pub(super) fn only(mut series: Vec<Series>, wanted: &[String]) -> Vec<Series> {
    for one in &mut series {
        one.columns.retain(|(name, _)| wanted.iter().any(|wanted| wanted == name));
    }
    series
}

#[test]
fn columns_that_nobody_wants_are_not_made() {
    let key = key_of("TRADE_AGG", "MINUTE");
    let noted = |minutes, size| {
        let mut one = candles(Some("BUY"), minutes);
        one.columns.push(("note".into(), Column::Text((0..size).map(|row: i64| Some(row.to_string())).collect())));
        one.columns.retain(|(name, _)| name != "open"); // NaN equals no NaN
        one
    };
    // Files of numbers, one with a column more, and files of texts, which are joined.
    let numbers = |minutes| only(vec![candles(None, minutes)], &["buy_trades".into(), "first_timestamp".into()]);
    let (less, more) = (numbers(0..300), numbers(MINUTES..MINUTES + 200));
    let mut other = more.clone();
    other[0].columns.push(("more".into(), Column::Int(vec![7; 200])));
    let texts = [vec![noted(0..300, 300)], vec![noted(MINUTES..MINUTES + 200, 200)]];
    for (number, [first, second]) in [[less.clone(), more], [less, other], texts].into_iter().enumerate() {
        let (_folder, archive) = archive();
        let mut writer = archive.try_writer(&key).unwrap().unwrap();
        writer.commit(&[minutes(0, MINUTES)], &first, UnixMicros(AT)).unwrap();
        writer.commit(&[minutes(MINUTES, 2 * MINUTES)], &second, UnixMicros(AT)).unwrap();
        for names in [&["buy_trades"][..], &["first_timestamp", "buy_trades"], &["note"], &["more"], &["nothing"]] {
            let wanted: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            for window in [minutes(0, 2 * MINUTES), minutes(50, 60), minutes(200, MINUTES + 20)] {
                let scan = Scan { window, columns: Some(&wanted) };
                let whole = archive.read(&key, window).unwrap();
                assert_eq!(archive.read(&key, scan).unwrap(), only(whole, &wanted), "{number} {names:?}");
            }
        }
    }
}

#[test]
fn a_projection_decodes_nothing_else() {
    let (_folder, archive) = archive();
    let key = key_of("TRADE_AGG", "MINUTE");
    let series = [candles(None, 0..9_000)];
    archive.try_writer(&key).unwrap().unwrap().commit(&[minutes(0, MINUTES)], &series, UnixMicros(AT)).unwrap();
    let [bytes] = &data(&archive)[..] else { panic!("several files") };
    // Where a column's values lie, from the file's own footer.
    let footer = parquet::file::metadata::ParquetMetaDataReader::new().parse_and_finish(bytes).unwrap();
    let group = footer.row_group(0);
    let range = |name: &str| {
        let column = group.columns().iter().find(|column| column.column_descr().name() == name).unwrap();
        let (start, length) = column.byte_range();
        start as usize..(start + length) as usize
    };
    let mut damaged = bytes.to_vec();
    for name in ["open", "close", "first_timestamp"] {
        damaged[range(name)].fill(0xff);
    }
    let (damaged, window) = (Bytes::from(damaged), minutes(0, MINUTES));
    let wanted = ["buy_trades".to_owned()];
    let scan = Scan { window, columns: Some(&wanted) };
    let expected = only(series.to_vec(), &wanted);
    assert_eq!(part_file::series("a file", damaged.clone(), scan.columns).unwrap(), expected);
    let mut placing = PreallocatedRead::default();
    assert!(placing.add(&[open(&damaged.clone().into(), scan).unwrap()]));
    assert_eq!(placing.finish(), expected);
    assert!(part_file::series("a file", damaged.clone(), None).is_err());
    assert!(!open(&damaged.clone().into(), window.into()).is_some_and(|open| PreallocatedRead::default().add(&[open])));
}
