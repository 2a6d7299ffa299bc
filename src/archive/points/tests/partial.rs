//! Reads of some columns or of a window read and verify what they need, and nothing else.

use std::collections::HashSet;
use std::ops::Range;

use bytes::Bytes;
use parquet::file::metadata::{ParquetMetaDataReader, RowGroupMetaData};

use super::super::part_file;
use super::reading::{MINUTES, books, candles, key_of, minutes, only};
use super::*;
use crate::clock::UnixMicros;

/// Bytes that are damaged together.
const STRETCH: usize = 128 << 10;

/// An archive with one data file: its path, and its bytes.
fn one_file(key: &ArchiveKey, series: &[Series]) -> (TempDir, Archive, std::path::PathBuf, Vec<u8>) {
    let (folder, archive) = archive();
    let mut writer = archive.try_writer(key).unwrap().unwrap();
    writer.commit(&[minutes(0, MINUTES)], series, UnixMicros(AT)).unwrap();
    let names: Vec<String> = files(archive.path()).into_keys().filter(|name| name.ends_with(".parquet")).collect();
    let path = archive.path().join(&names[0]);
    let bytes = std::fs::read(&path).unwrap();
    (folder, archive, path, bytes)
}

/// The byte ranges of a file's columns, from its own footer.
fn columns(bytes: &[u8]) -> Vec<(String, Range<usize>)> {
    let footer = ParquetMetaDataReader::new().parse_and_finish(&Bytes::copy_from_slice(bytes)).unwrap();
    let columns = footer.row_groups().iter().flat_map(RowGroupMetaData::columns);
    let named = columns.map(|column| {
        let (start, length) = column.byte_range();
        (column.column_path().parts()[0].clone(), start as usize..(start + length) as usize)
    });
    named.collect()
}

fn is_damaged(found: &Result<Vec<Series>, ArchiveFault>) -> bool {
    matches!(found, Err(ArchiveFault::File { state: FileState::Damaged, .. }))
}

#[test]
fn a_projection_notices_damage_of_what_it_reads_and_of_nothing_else() {
    let key = key_of("TRADE_AGG", "MINUTE");
    let series = [candles(None, 0..9_000)];
    let (_folder, archive, path, whole) = one_file(&key, &series);
    let wanted = ["buy_trades".to_owned()];
    let scan = Scan { window: minutes(0, MINUTES), columns: Some(&wanted) };
    let expected = only(series.to_vec(), &wanted);
    // Everything but the columns that are read and the end of the file may be anything.
    let needed = |name: &str| ["time", "buy_trades"].contains(&name);
    let columns = columns(&whole);
    let end = columns.iter().map(|(_, range)| range.end).max().unwrap();
    let mut damaged = whole.clone();
    damaged[..4].fill(0xff);
    for (_, range) in columns.iter().filter(|(name, _)| !needed(name)) {
        damaged[range.clone()].fill(0xff);
    }
    std::fs::write(&path, &damaged).unwrap();
    assert_eq!(archive.read(&key, scan).unwrap(), expected);
    assert!(archive.read(&key, scan.window).is_err());
    assert_eq!(archive.verify().unwrap().problems.len(), 1);
    // Flipped bits.
    for place in (0..end).step_by(2_999).chain((end..whole.len()).step_by(191)) {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        std::fs::write(&path, &bytes).unwrap();
        let is_needed = place >= end || columns.iter().any(|(name, range)| needed(name) && range.contains(&place));
        let read = archive.read(&key, scan);
        if is_needed {
            assert!(matches!(read, Err(ArchiveFault::File { .. })), "byte {place}");
        } else {
            assert_eq!(read.unwrap(), expected, "byte {place}");
        }
        assert!(matches!(archive.read(&key, scan.window), Err(ArchiveFault::File { .. })), "byte {place}");
        assert_eq!(archive.verify().unwrap().problems.len(), 1, "byte {place}");
    }
    // Shorter, longer, gone, and another file.
    for bytes in [&whole[..whole.len() - 1], &whole[..100], b"", &[&whole[..], b"more"].concat(), b"time,close\n1,2\n"]
    {
        std::fs::write(&path, bytes).unwrap();
        assert!(matches!(archive.read(&key, scan), Err(ArchiveFault::File { .. })), "{} bytes", bytes.len());
    }
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(archive.read(&key, scan), Err(ArchiveFault::File { state: FileState::Missing, .. })));
}

#[test]
fn a_window_of_a_file_is_read_without_the_other_pages() {
    let key = key_of("BLOCK_BOOK_SNAPSHOT_AGG", "MINUTE");
    let (_folder, archive) = archive();
    let mut writer = archive.try_writer(&key).unwrap().unwrap();
    let day = minutes(0, 24 * 60);
    // Values that can hardly be compressed.
    let mut one = books(0..24 * 60, 300);
    let mut state = 1_u64;
    for (_, column) in &mut one.columns {
        let Column::List(list) = column else { continue };
        list.values.fill_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64
        });
    }
    writer.commit(&[day], &[one], UnixMicros(AT)).unwrap();
    drop(writer);
    let name = files(archive.path()).into_keys().find(|name| name.ends_with(".parquet")).unwrap();
    let (path, whole) = (archive.path().join(&name), std::fs::read(archive.path().join(&name)).unwrap());
    let window = minutes(20 * 60, 21 * 60);
    let expected = archive.read(&key, window).unwrap();
    assert_eq!(expected[0].len(), 60);
    // Stretches whose damage the read does not notice, which is nowhere among the values it needs.
    let columns = columns(&whole);
    let (mut noticed, mut unnoticed) = (HashSet::new(), 0);
    let levels = |name: &str| ["price", "volume"].contains(&name);
    let mut damaged = whole.clone();
    for (name, range) in columns.iter().filter(|(name, _)| levels(name)) {
        for start in range.clone().step_by(STRETCH) {
            let stretch = start..range.end.min(start + STRETCH);
            let mut bytes = whole.clone();
            bytes[stretch.clone()].fill(0xff);
            std::fs::write(&path, &bytes).unwrap();
            match archive.read(&key, window) {
                Ok(read) => {
                    assert!(same(&read, &expected));
                    damaged[stretch.clone()].fill(0xff);
                    unnoticed += stretch.len();
                }
                Err(fault) => {
                    assert!(is_damaged(&Err(fault)));
                    noticed.insert(name.clone());
                }
            }
        }
    }
    let all: usize = columns.iter().filter(|(name, _)| levels(name)).map(|(_, range)| range.len()).sum();
    assert_eq!(noticed.len(), 2);
    assert!(unnoticed * 2 > all, "{unnoticed} of {all} bytes are not read");
    std::fs::write(&path, &damaged).unwrap();
    assert!(same(&archive.read(&key, window).unwrap(), &expected));
    assert!(archive.read(&key, day).is_err() && archive.verify().unwrap().problems.len() == 1);
}

/// Whether series are the same, bit by bit: NaN equals NaN.
fn same(one: &[Series], other: &[Series]) -> bool {
    format!("{one:?}") == format!("{other:?}")
}

#[test]
fn files_of_earlier_ledgers_are_read_completely_until_they_are_written_anew() {
    let key = key_of("TRADE_AGG", "MINUTE");
    let series = [candles(None, 0..9_000)];
    let (_folder, archive, path, whole) = one_file(&key, &series);
    let wanted = ["buy_trades".to_owned()];
    let scan = Scan { window: minutes(0, MINUTES), columns: Some(&wanted) };
    let damaged = {
        let mut bytes = whole.clone();
        let open = columns(&whole).into_iter().find(|(name, _)| name == "open").unwrap().1;
        bytes[open.start + 9] ^= 1;
        bytes
    };
    // The ledger as the third version wrote it.
    let ledger_path = archive.path().join(ledger::name(&key.name));
    let mut third = KeyLedger::parse(&key.name, &std::fs::read(&ledger_path).unwrap()).unwrap();
    for part in third.parts.values_mut() {
        assert!(part.end.take().is_some());
    }
    let text = String::from_utf8(third.seal_as(3)).unwrap();
    assert!(text.contains("\"version\": 3") && !text.contains("\"end\""));
    std::fs::write(&ledger_path, text).unwrap();
    assert_eq!(archive.read(&key, scan).unwrap(), only(series.to_vec(), &wanted));
    std::fs::write(&path, &damaged).unwrap();
    assert!(is_damaged(&archive.read(&key, scan)), "the complete file is verified");
    std::fs::write(&path, &whole).unwrap();
    let mut writer = archive.try_writer(&key).unwrap().unwrap();
    writer.commit(&[minutes(0, 1)], &[candles(None, 0..1)], UnixMicros(AT)).unwrap();
    drop(writer);
    let fourth = std::fs::read_to_string(&ledger_path).unwrap();
    assert!(fourth.contains("\"version\": 4") && fourth.contains("\"end\""));
    std::fs::write(&path, &damaged).unwrap();
    assert_eq!(archive.read(&key, scan).unwrap(), only(series.to_vec(), &wanted));
}

#[test]
fn wrong_checksums_in_a_file_are_not_taken_into_a_ledger() {
    let key = key_of("TRADE_AGG", "MINUTE");
    let (_folder, archive, path, whole) = one_file(&key, &[candles(None, 0..300)]);
    let name = "marketpoints.checksums";
    let place = whole.windows(name.len()).position(|window| window == name.as_bytes()).unwrap();
    let digits = whole[place..].windows(7).position(|window| window == b"xxh3\":[").unwrap() + place + 9;
    let mut wrong = whole.clone();
    wrong[digits] = if whole[digits] == b'0' { b'1' } else { b'0' };
    assert!(LedgerPart::of(&whole.into(), 300).end.is_some());
    assert!(LedgerPart::of(&wrong.clone().into(), 300).end.is_none());
    // A ledger that is made anew takes in the file, whose values are right.
    std::fs::write(&path, &wrong).unwrap();
    std::fs::remove_file(archive.path().join(ledger::name(&key.name))).unwrap();
    drop(archive.try_writer(&key).unwrap().unwrap());
    let wanted = ["buy_trades".to_owned()];
    let scan = Scan { window: minutes(0, 300), columns: Some(&wanted) };
    assert_eq!(archive.read(&key, scan).unwrap(), only(vec![candles(None, 0..300)], &wanted));
    assert!(part_file::series("a file", Bytes::from(wrong), None).is_ok());
}
