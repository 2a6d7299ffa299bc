//! An archive: what is kept, what a writer that stopped leaves behind, who may write.

mod conflicts;
mod objects;
mod partial;
mod reading;
mod split;
mod vintages;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use super::checksum::sha256;
use super::ledger::{KeyLedger, LedgerPart, Pending, part_name};
use super::store::{Address, ArchiveStore, Folder, Found, Objects, own};
use super::*;
use crate::clock::{SECOND, UnixMicros, Window};
use crate::columns::{Column, Series, join};
use crate::protocol::{PointsQuery, SeriesId, Shape};

const HOUR: i64 = 3_600;
/// When answers came, Unix microseconds: long after every bucket's close.
const AT: i64 = 1_000_000_000_000_000;

fn query() -> PointsQuery {
    PointsQuery {
        data_type: "TRADE_AGG".into(),
        exchanges: vec!["BYBIT".into()],
        raw_symbol: Some("BTCUSDT".into()),
        interval: Some("HOUR".into()),
        ..PointsQuery::default()
    }
}

fn key() -> ArchiveKey {
    ArchiveKey::new("https://host", &query()).unwrap()
}

fn archive() -> (TempDir, Archive) {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::new(&folder.path().join("archive"));
    (folder, archive)
}

fn window(from: i64, to: i64) -> Window {
    Window { from: from * HOUR, to: to * HOUR }
}

fn closes(hours: &[i64], close: f64) -> Vec<Series> {
    let id = SeriesId { data_type: Some("TRADE_AGG".into()), side: Some("BUY".into()), ..SeriesId::default() };
    let columns = vec![("close".into(), Column::Float(hours.iter().map(|hour| close + *hour as f64).collect()))];
    vec![Series {
        id: id.into(),
        shape: Shape::Table,
        timestamps: hours.iter().map(|hour| hour * HOUR * SECOND).collect(),
        columns,
    }]
}

fn key_writer(archive: &Archive) -> KeyWriter {
    archive.try_writer(&key()).unwrap().unwrap()
}

/// The bytes of every file.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = Folder::new(folder).list("").unwrap();
    names.into_iter().map(|name| (name.clone(), std::fs::read(folder.join(&name)).unwrap())).collect()
}

/// Two months lie in two files.
const MONTH: i64 = 31 * 24;

#[test]
fn what_is_committed_is_read_and_nothing_else() {
    let (_folder, archive) = archive();
    assert!(matches!(archive.read(&key(), window(0, 1)), Err(ArchiveFault::NotAsked { .. })));
    let mut writer = key_writer(&archive);
    writer.commit(&[window(0, 4), window(6, 8)], &closes(&[0, 2, 5, 7, 9], 0.5), UnixMicros(AT)).unwrap();
    assert_eq!(archive.asked(&key()).unwrap(), [window(0, 4), window(6, 8)]);
    assert_eq!(archive.read(&key(), window(0, 4)).unwrap(), closes(&[0, 2], 0.5));
    assert_eq!(archive.read(&key(), window(6, 8)).unwrap(), closes(&[7], 0.5));
    assert_eq!(archive.read(&key(), window(3, 4)).unwrap(), [], "asked and empty");
    let missing = vec![window(4, 6), window(8, 9)];
    assert!(
        matches!(archive.read(&key(), window(3, 9)), Err(ArchiveFault::NotAsked { missing: reported, .. }) if reported == missing)
    );
    // What is asked again takes the place of what was there; what it no longer has is gone.
    writer.commit(&[window(0, 1), window(4, 6)], &closes(&[5], 0.25), UnixMicros(AT)).unwrap();
    assert_eq!(archive.read(&key(), window(0, 8)).unwrap()[0].floats("close").unwrap(), [2.5, 5.25, 7.5]);
    writer.commit(&[window(0, 8)], &[], UnixMicros(AT)).unwrap();
    assert_eq!(archive.read(&key(), window(0, 8)).unwrap(), []);
    assert!(!files(archive.path()).keys().any(|name| name.ends_with(".parquet")), "no rows, no file");
    assert!(archive.verify().unwrap().problems.is_empty());
}

#[cfg(unix)]
#[test]
fn a_folder_that_goes_while_it_is_written_to_fails_the_next_commit_and_is_not_made_anew() {
    type Going = fn(&Path) -> std::io::Result<()>;
    let goings: [Going; 2] =
        [|folder| std::fs::remove_dir_all(folder), |folder| std::fs::rename(folder, folder.with_extension("moved"))];
    for go in goings {
        let (_folder, archive) = archive();
        let mut writer = key_writer(&archive);
        writer.commit(&[window(0, 1)], &closes(&[0], 0.5), UnixMicros(AT)).unwrap();
        go(archive.path()).unwrap();
        let fault = writer.commit(&[window(1, 2)], &closes(&[1], 0.5), UnixMicros(AT)).unwrap_err();
        assert!(fault.to_string().contains("removed or moved while this wrote to it"), "{fault}");
        assert!(!archive.path().exists());
        // Another writer begins there: the first has no right to what it writes.
        let mut other = key_writer(&archive);
        other.commit(&[window(2, 3)], &closes(&[2], 0.5), UnixMicros(AT)).unwrap();
        assert!(writer.commit(&[window(1, 2)], &closes(&[1], 0.5), UnixMicros(AT)).is_err());
        assert_eq!(archive.asked(&key()).unwrap(), [window(2, 3)]);
    }
}

/// A commit that stops after any of its steps leaves what was before or what was to be, file by file, and nothing that
/// was paid for is lost.
// faults.md row 45
#[test]
fn a_commit_that_stops_anywhere_is_brought_to_an_end_or_taken_back() {
    let (before, after) = (closes(&[1, MONTH + 1], 0.5), closes(&[2, MONTH + 2], 0.25));
    let ask = [window(2, 3), window(MONTH + 2, MONTH + 3)];
    let (_folder, archive) = archive();
    let mut writer = key_writer(&archive);
    writer.commit(&[window(0, 2), window(MONTH, MONTH + 2)], &before, UnixMicros(AT)).unwrap();
    let old = files(archive.path());
    writer.commit(&ask, &after, UnixMicros(AT)).unwrap();
    drop(writer);
    let new = files(archive.path());
    let parts = ["1970-01-01", "1970-02-01"];
    let ledger = ledger::name(&key().name);
    // The ledger of the first step: what is there, and what is coming.
    let mut announced = KeyLedger::parse(&key().name, &old[&ledger]).unwrap();
    for (partition, window) in parts.iter().zip(ask) {
        let bytes = &new[&part_name(&key(), partition)];
        let part = LedgerPart::of(&bytes.clone().into(), 2);
        announced
            .pending
            .insert((*partition).to_owned(), Pending::new(Some(part), &[window], Some(UnixMicros(AT)), None));
    }
    for arrived in 0..4_usize {
        let placed = |place: usize| arrived & (1 << place) != 0;
        for (name, bytes) in &old {
            std::fs::write(archive.path().join(name), bytes).unwrap();
        }
        std::fs::write(archive.path().join(&ledger), announced.seal()).unwrap();
        let left = own(&format!("unfinished/{}-aB3xY9", key().name));
        std::fs::write(archive.path().join(&left), "half a file").unwrap();
        for (_, partition) in parts.iter().enumerate().filter(|(place, _)| placed(*place)) {
            let name = part_name(&key(), partition);
            std::fs::write(archive.path().join(&name), &new[&name]).unwrap();
        }
        // A reader needs no writer to have mended it: what was committed is there, and so is what arrived.
        assert_eq!(archive.read(&key(), window(0, 2)).unwrap()[0].len(), 1);
        let asked = archive.asked(&key()).unwrap();
        for (place, window) in ask.into_iter().enumerate() {
            assert_eq!(gaps(&asked, window).is_empty(), placed(place), "{arrived}: {place}");
            assert_eq!(archive.read(&key(), window).is_ok(), placed(place), "{arrived}: {place}");
        }
        assert!(gaps(&asked, window(0, 2)).is_empty() && gaps(&asked, window(MONTH, MONTH + 2)).is_empty());
        assert_eq!(archive.contents().unwrap().0[0].windows, asked);
        assert!(archive.verify().unwrap().problems.is_empty(), "{arrived}");
        let mut mended = key_writer(&archive);
        for (place, window) in ask.into_iter().enumerate() {
            assert_eq!(mended.gaps(window).is_empty(), placed(place), "{arrived}: {place}");
        }
        assert!(mended.take_aside().is_empty());
        assert!(!archive.path().join(&left).exists());
        let lost: Vec<Window> = ask.into_iter().flat_map(|window| mended.gaps(window)).collect();
        mended.commit(&lost, &after, UnixMicros(AT)).unwrap();
        drop(mended);
        assert_eq!(files(archive.path()), new, "{arrived}: as if nothing had happened");
    }
}

#[test]
fn a_file_that_a_killed_writer_removed_is_no_problem() {
    let (_folder, archive) = archive();
    key_writer(&archive).commit(&[window(0, 2)], &closes(&[0, 1], 0.5), UnixMicros(AT)).unwrap();
    let path = archive.path().join(ledger::name(&key().name));
    let mut announced = KeyLedger::parse(&key().name, &std::fs::read(&path).unwrap()).unwrap();
    announced.pending.insert("1970-01-01".to_owned(), Pending::new(None, &[window(0, 2)], Some(UnixMicros(AT)), None));
    std::fs::write(&path, announced.seal()).unwrap();
    assert!(archive.verify().unwrap().problems.is_empty());
    std::fs::remove_file(archive.path().join(part_name(&key(), "1970-01-01"))).unwrap();
    assert!(archive.verify().unwrap().problems.is_empty());
    assert_eq!(archive.read(&key(), window(0, 2)).unwrap(), []);
}

#[test]
fn one_writer_at_a_time_holds_a_key() {
    let (_folder, archive) = archive();
    let first = key_writer(&archive);
    assert!(archive.try_writer(&key()).unwrap().is_none());
    let other = ArchiveKey::new("https://host", &PointsQuery { usd: true, ..query() }).unwrap();
    assert!(archive.try_writer(&other).unwrap().is_some());
    drop(first);
    assert!(archive.try_writer(&key()).unwrap().is_some());
    let foreign = ArchiveKey::new("https://elsewhere", &query()).unwrap();
    assert!(matches!(archive.try_writer(&foreign), Err(ArchiveFault::Source { .. })));
}

#[test]
fn several_rows_of_one_time_stay_several() {
    let query = PointsQuery { data_type: "TOKEN_SUPPLY_AGG".into(), interval: Some("DAY".into()), ..query() };
    let key = ArchiveKey::new("https://host", &query).unwrap();
    let (_folder, archive) = archive();
    let mut writer = archive.try_writer(&key).unwrap().unwrap();
    let rows = closes(&[0, 0, 24], 0.5);
    writer.commit(&[window(0, 48)], &rows, UnixMicros(AT)).unwrap();
    writer.commit(&[window(48, 72)], &closes(&[48, 48], 0.5), UnixMicros(AT)).unwrap();
    assert_eq!(archive.read(&key, window(0, 72)).unwrap(), closes(&[0, 0, 24, 48, 48], 0.5));
}

#[test]
fn answers_that_do_not_fit_leave_what_is_there() {
    let (_folder, archive) = archive();
    let mut writer = key_writer(&archive);
    writer.commit(&[window(0, 2)], &closes(&[0, 1], 0.5), UnixMicros(AT)).unwrap();
    let mut odd = closes(&[2, 2], 0.5);
    odd[0].columns[0].1 = Column::Float(vec![1.0, 2.0]);
    assert!(matches!(writer.commit(&[window(2, 3)], &odd, UnixMicros(AT)), Err(ArchiveFault::Content(_))));
    assert_eq!(archive.read(&key(), window(0, 2)).unwrap(), closes(&[0, 1], 0.5));
    assert_eq!(archive.asked(&key()).unwrap(), [window(0, 2)]);
    writer.commit(&[window(2, 3)], &closes(&[2], 0.5), UnixMicros(AT)).unwrap();
    assert_eq!(archive.read(&key(), window(0, 3)).unwrap(), closes(&[0, 1, 2], 0.5));
}

#[test]
fn a_column_whose_kind_changes_between_answers_is_text() {
    let (_folder, archive) = archive();
    let mut writer = key_writer(&archive);
    let with = |hours: &[i64], column: Column| {
        let mut series = closes(hours, 0.5);
        series[0].columns.push(("note".into(), column));
        series
    };
    let text = |values: &[Option<&str>]| Column::Text(values.iter().map(|value| value.map(str::to_owned)).collect());
    writer.commit(&[window(0, 2)], &with(&[0, 1], Column::Float(vec![7.0, f64::NAN])), UnixMicros(AT)).unwrap();
    // In the same file, and in one of another month.
    writer.commit(&[window(2, 3)], &with(&[2], text(&[Some("high")])), UnixMicros(AT)).unwrap();
    let far = 24 * 40;
    writer.commit(&[window(far, far + 1)], &with(&[far], Column::Float(vec![8.0])), UnixMicros(AT)).unwrap();
    let notes = |from, to| archive.read(&key(), window(from, to)).unwrap()[0].column("note").unwrap().clone();
    assert_eq!(notes(0, 3), text(&[Some("7"), None, Some("high")]));
    assert_eq!(notes(far, far + 1), Column::Float(vec![8.0]));
    writer.commit(&[window(3, far)], &[], UnixMicros(AT)).unwrap();
    assert_eq!(notes(0, far + 1), text(&[Some("7"), None, Some("high"), Some("8")]));
}

fn assert_source(archive: &Archive, bit: usize) {
    match archive.source() {
        Ok(source) => assert_eq!(source.as_deref(), Some("https://host"), "bit {bit}"),
        Err(ArchiveFault::File { state, problem, .. }) => panic!("bit {bit}: {state:?} {problem}"),
        Err(other) => panic!("bit {bit}: {other:?}"),
    }
}

#[test]
fn an_archive_of_a_version_without_checksums_is_read_and_gets_one() {
    let (_folder, archive) = archive();
    key_writer(&archive).commit(&[window(0, 4)], &closes(&[0, 1], 0.1), UnixMicros(AT)).unwrap();
    let about = archive.path().join(own("archive.json"));
    let write = |source: &str| {
        let text = format!(r#"{{"format": "marketpoints archive", "version": 1, "source": "{source}"}}"#);
        std::fs::write(&about, text).unwrap();
    };
    for source in ["https://host", "https://hosu"] {
        write(source);
        // The ledgers know better than a name without a checksum.
        assert_eq!(archive.source().unwrap().as_deref(), Some("https://host"));
        assert!(archive.key(&query()).unwrap().is_some_and(|found| found.name() == key().name()));
        key_writer(&archive);
        let text = std::fs::read_to_string(&about).unwrap();
        let expected = sha256(b"marketpoints archive\n1\nhttps://host");
        assert!(text.contains(&expected) && text.contains("https://host"), "{text}");
    }
    // One that is no archive's and is not named by any ledger stays another's.
    write("https://other");
    std::fs::remove_dir_all(archive.path().join(own("ledger"))).unwrap();
    std::fs::remove_dir_all(archive.path().join("type=TRADE_AGG")).unwrap();
    assert_eq!(archive.source().unwrap().as_deref(), Some("https://other"));
}

#[test]
fn foreign_files_among_the_ledgers_are_named_and_left_alone() {
    let (_folder, archive) = archive();
    key_writer(&archive).commit(&[window(0, 4)], &closes(&[0, 1], 0.1), UnixMicros(AT)).unwrap();
    let ledgers = archive.path().join(own("ledger"));
    let foreign = ["foo.json", "notes.txt", &format!("k{}.json", "0".repeat(32))];
    for name in foreign {
        std::fs::write(ledgers.join(name), "{}").unwrap();
    }
    let (kept, problems) = archive.contents().unwrap();
    assert_eq!((kept.len(), kept[0].rows), (1, 2));
    let mut names: Vec<String> = problems.iter().map(|one| one.path.clone()).collect();
    names.sort_unstable();
    let mut expected = foreign.map(|name| own(&format!("ledger/{name}")));
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert!(problems.iter().all(|one| one.state == FileState::Foreign));
    assert_eq!(archive.verify().unwrap().problems.len(), 3);
    // Also where they must say whose the data are.
    std::fs::write(archive.path().join(own("archive.json")), "damaged").unwrap();
    assert_eq!(archive.source().unwrap().as_deref(), Some("https://host"));
    key_writer(&archive).commit(&[window(4, 8)], &closes(&[5], 0.1), UnixMicros(AT)).unwrap();
    for name in foreign {
        assert_eq!(std::fs::read_to_string(ledgers.join(name)).unwrap(), "{}");
    }
}

// faults.md row 47
#[test]
fn no_flipped_bit_of_any_file_is_read_as_data() {
    let (_folder, archive) = archive();
    key_writer(&archive).commit(&[window(0, 40)], &closes(&(0..40).collect::<Vec<_>>(), 0.1), UnixMicros(AT)).unwrap();
    let expected = archive.read(&key(), window(0, 40)).unwrap();
    for (name, whole) in files(archive.path()) {
        for bit in (0..whole.len() * 8).step_by(11) {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(archive.path().join(&name), &bytes).unwrap();
            // A flipped space of a ledger, or of what says whose data they are, may pass; a value never.
            if let Ok(read) = archive.read(&key(), window(0, 40)) {
                assert!(read == expected && !name.ends_with(".parquet"), "{name}: bit {bit}");
            }
            if name.ends_with("archive.json") {
                // What it says of itself is checked: a flipped bit never makes it another service's.
                assert_source(&archive, bit);
            }
        }
        std::fs::write(archive.path().join(&name), &whole).unwrap();
    }
}
