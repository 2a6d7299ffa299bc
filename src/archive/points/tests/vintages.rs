//! What was known at a moment: against a list of what was learned when, and whatever a writer that stopped left behind.

use fastrand::Rng;

use super::*;
use crate::clock::UnixMicros;

const SECOND_OF: i64 = 1_000_000;

fn closes_as_of(archive: &Archive, window: Window, moment: i64) -> Result<BTreeMap<i64, f64>, Vec<Window>> {
    match archive.read_as_of(&key(), window, UnixMicros(moment)) {
        Ok(series) => Ok(series
            .iter()
            .flat_map(|one| one.timestamps.iter().zip(one.floats("close").unwrap()))
            .map(|(time, close)| (time / HOUR / SECOND, *close))
            .collect()),
        Err(ArchiveFault::NotKnown { missing, .. } | ArchiveFault::NotAsked { missing, .. }) => Err(missing),
        Err(fault) => panic!("{fault}"),
    }
}

/// Rows of hours with these closes.
fn rows(closes: &BTreeMap<i64, f64>) -> Vec<Series> {
    let mut series = super::closes(&closes.keys().copied().collect::<Vec<_>>(), 0.0);
    series[0].columns[0].1 = Column::Float(closes.values().copied().collect());
    series
}

/// An answer: when it came, what was asked, and the closes by hour.
struct Answer {
    at: i64,
    from: i64,
    to: i64,
    closes: BTreeMap<i64, f64>,
}

/// What was known of an hour at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Unknown,
    NoRow,
    Close(f64),
}

impl State {
    fn close(self) -> Option<f64> {
        if let Self::Close(close) = self { Some(close) } else { None }
    }
}

fn model(answers: &[Answer], hour: i64, moment: i64) -> State {
    let mut known = answers.iter().filter(|answer| answer.at <= moment && (answer.from..answer.to).contains(&hour));
    let Some(last) = known.next_back() else { return State::Unknown };
    last.closes.get(&hour).map_or(State::NoRow, |close| State::Close(*close))
}

fn agree(archive: &Archive, answers: &[Answer], hours: std::ops::Range<i64>, moments: &[i64]) {
    for &moment in moments {
        let hours: Vec<i64> = hours.clone().collect();
        for some in hours.chunks(11).chain([&hours[..]]) {
            let (first, last) = (some[0], some[some.len() - 1] + 1);
            let expected: Vec<_> = some.iter().map(|hour| (*hour, model(answers, *hour, moment))).collect();
            let found = closes_as_of(archive, window(first, last), moment);
            let unknown: Vec<i64> =
                expected.iter().filter(|(_, known)| *known == State::Unknown).map(|(hour, _)| *hour).collect();
            match found {
                Ok(found) => {
                    assert!(unknown.is_empty(), "{moment}: {unknown:?}");
                    let rows = expected.iter().filter_map(|(hour, known)| Some((*hour, known.close()?)));
                    assert_eq!(found, rows.collect(), "{moment}");
                }
                Err(missing) => {
                    let missing = missing.iter().flat_map(|window| window.from / HOUR..window.to / HOUR);
                    assert_eq!(missing.collect::<Vec<_>>(), unknown, "{moment}");
                }
            }
            let known = archive.known(&key(), UnixMicros(moment)).unwrap();
            for (hour, state) in &expected {
                assert_eq!(
                    gaps(&known, window(*hour, hour + 1)).is_empty(),
                    *state != State::Unknown,
                    "{moment}: {hour}"
                );
            }
        }
    }
}

#[test]
fn what_was_known_at_a_moment_is_what_was_learned_by_then() {
    const HOURS: i64 = 40;
    let mut rng = Rng::with_seed(17);
    for round in 0..25 {
        let (_folder, archive) = archive();
        let mut answers: Vec<Answer> = Vec::new();
        for step in 0..rng.i64(1..9) {
            // Across the border of two files; values of few kinds, so that many stay as they are.
            let start = rng.i64(0..HOURS);
            let (from, to) = (MONTH - 20 + start, MONTH - 20 + (start + rng.i64(1..20)).min(HOURS));
            let drawn: Vec<(i64, u8)> = (from..to).map(|hour| (hour, rng.u8(..8))).collect();
            let closes = drawn.into_iter().filter(|(_, one)| *one > 1).map(|(hour, one)| (hour, f64::from(one % 2)));
            let closes = closes.collect();
            // Several may come at one moment.
            let at = AT + (step - i64::from(rng.u8(..5) == 0)).max(0) * SECOND_OF;
            key_writer(&archive).commit(&[window(from, to)], &rows(&closes), UnixMicros(at)).unwrap();
            answers.push(Answer { at, from, to, closes });
        }
        let moments: Vec<i64> = (-1..10).flat_map(|step| [AT + step * SECOND_OF - 1, AT + step * SECOND_OF]).collect();
        agree(&archive, &answers, MONTH - HOURS / 2..MONTH + HOURS / 2, &moments[round % 2..]);
        assert!(archive.verify().unwrap().problems.is_empty());
        // Vintages name rows that were there and have changed, each once.
        for one in archive.vintages(&key()).unwrap() {
            if one.known == Some(one.replaced) {
                continue; // replaced at the moment of its download: no `as_of` can select it
            }
            let (first, last) = (one.window.from / HOUR, one.window.to / HOUR);
            let known = (first..last).filter(|hour| model(&answers, *hour, one.replaced.0 - 1).close().is_some());
            assert_eq!(known.count() as u64, one.rows);
            for hour in first..last {
                assert_ne!(model(&answers, hour, one.replaced.0 - 1), model(&answers, hour, one.replaced.0));
            }
        }
    }
}

#[test]
fn only_buckets_that_changed_are_kept() {
    let (_folder, archive) = archive();
    let mut writer = key_writer(&archive);
    writer.commit(&[window(0, 10)], &closes(&(0..10).collect::<Vec<_>>(), 0.5), UnixMicros(AT)).unwrap();
    writer.commit(&[window(0, 10)], &closes(&(0..10).collect::<Vec<_>>(), 0.5), UnixMicros(AT + 1)).unwrap();
    assert_eq!(archive.vintages(&key()).unwrap(), []);
    let mut other = closes(&(0..10).collect::<Vec<_>>(), 0.5);
    other[0].columns[0].1 =
        Column::Float((0..10).map(|hour| if hour % 5 == 0 { 9.0 } else { f64::from(hour) + 0.5 }).collect());
    writer.commit(&[window(0, 10)], &other, UnixMicros(AT + 2)).unwrap();
    writer.commit(&[window(0, 1)], &[], UnixMicros(AT + 3)).unwrap();
    let of = |from, known, replaced| {
        let (known, replaced) = (Some(UnixMicros(known)), UnixMicros(replaced));
        Replaced { window: window(from, from + 1), known, replaced, rows: 1 }
    };
    let all = [of(0, AT, AT + 2), of(5, AT, AT + 2), of(0, AT + 2, AT + 3)];
    assert_eq!(archive.vintages(&key()).unwrap(), all);
    assert_eq!(archive.read(&key(), window(0, 2)).unwrap()[0].floats("close").unwrap(), [1.5]);
}

#[test]
fn damaged_buckets_that_are_asked_again_are_no_vintage_and_are_known_anew() {
    let (_folder, archive) = archive();
    key_writer(&archive).commit(&[window(0, 4)], &closes(&[0, 1, 2], 0.5), UnixMicros(AT)).unwrap();
    let part = archive.path().join(part_name(&key(), "1970-01-01"));
    std::fs::write(&part, "damaged").unwrap();
    let mut writer = key_writer(&archive);
    writer.mend(window(0, 4), true).unwrap();
    writer.commit(&[window(0, 4)], &closes(&[0, 1], 0.25), UnixMicros(AT + 10)).unwrap();
    assert_eq!(archive.vintages(&key()).unwrap(), []);
    assert_eq!(closes_as_of(&archive, window(0, 4), AT + 9), Err(vec![window(0, 4)]));
    assert_eq!(closes_as_of(&archive, window(0, 4), AT + 10).unwrap()[&1], 1.25);
}

/// The bytes of files, by name.
type Files = BTreeMap<String, Vec<u8>>;

/// The files before and after a replacement, and the ledger that announces it.
fn steps(archive: &Archive) -> (Files, Files, KeyLedger) {
    let ask = [window(0, 2), window(MONTH, MONTH + 2)];
    let mut writer = key_writer(archive);
    writer.commit(&ask, &closes(&[0, 1, MONTH, MONTH + 1], 0.5), UnixMicros(AT)).unwrap();
    let old = files(archive.path());
    writer.commit(&ask, &closes(&[1, MONTH], 0.25), UnixMicros(AT + 10)).unwrap();
    drop(writer);
    let new = files(archive.path());
    let name = ledger::name(&key().name);
    let (before, after) = [&old, &new].map(|files| KeyLedger::parse(&key().name, &files[&name]).unwrap()).into();
    let mut announced = before.clone();
    for ((partition, window), vintage) in ["1970-01-01", "1970-02-01"].iter().zip(ask).zip(&after.vintages) {
        let pending = Pending::new(
            after.parts.get(*partition).cloned(),
            &[window],
            Some(UnixMicros(AT + 10)),
            Some((vintage.0.clone(), vintage.1.clone())),
        );
        announced.pending.insert((*partition).to_owned(), pending);
    }
    (old, new, announced)
}

/// A commit that stops after any of its steps leaves what was known before as it was, file by file.
#[test]
fn a_replacement_that_stops_anywhere_loses_nothing() {
    let (_folder, archive) = archive();
    let (old, new, mut announced) = steps(&archive);
    let ledger = ledger::name(&key().name);
    // Each file's vintage is put in place before it, one file after the other.
    let vintages: Vec<&String> = new.keys().filter(|name| name.ends_with(".vintage")).collect();
    let parts = ["1970-01-01", "1970-02-01"].map(|partition| part_name(&key(), partition));
    let order = [vintages[0], &parts[0], vintages[1], &parts[1]];
    for arrived in 0..=order.len() {
        std::fs::remove_dir_all(archive.path()).unwrap();
        for (name, bytes) in &old {
            std::fs::create_dir_all(archive.path().join(name).parent().unwrap()).unwrap();
            std::fs::write(archive.path().join(name), bytes).unwrap();
        }
        std::fs::write(archive.path().join(&ledger), announced.seal()).unwrap();
        for name in &order[..arrived] {
            std::fs::create_dir_all(archive.path().join(name).parent().unwrap()).unwrap();
            std::fs::write(archive.path().join(name), &new[*name]).unwrap();
        }
        let replaced = |place: usize| arrived >= 2 * place + 2;
        let look = |archive: &Archive| {
            assert!(archive.verify().unwrap().problems.is_empty(), "{arrived}");
            for (place, from) in [0, MONTH].into_iter().enumerate() {
                let (early, late) = [AT + 9, AT + 10]
                    .map(|moment| closes_as_of(archive, window(from, from + 2), moment).unwrap())
                    .into();
                let before: BTreeMap<i64, f64> = [(from, from as f64 + 0.5), (from + 1, from as f64 + 1.5)].into();
                assert_eq!(early, before, "{arrived}: {place}");
                assert_eq!(late != before, replaced(place), "{arrived}: {place}");
                let now = archive.read(&key(), window(from, from + 2)).unwrap();
                assert_eq!(now[0].len(), late.len());
            }
            assert_eq!(closes_as_of(archive, window(0, 2), AT - 1), Err(vec![window(0, 2)]));
        };
        look(&archive);
        drop(key_writer(&archive));
        look(&archive);
        // After downloading again, the only difference is a vintage that is listed twice.
        let ask = [window(0, 2), window(MONTH, MONTH + 2)];
        key_writer(&archive).commit(&ask, &closes(&[1, MONTH], 0.25), UnixMicros(AT + 10)).unwrap();
        assert_eq!(closes_as_of(&archive, window(0, 2), AT + 9).unwrap().len(), 2);
        assert_eq!(closes_as_of(&archive, window(0, 2), AT + 10).unwrap(), [(1, 1.25)].into());
        assert!(archive.verify().unwrap().problems.is_empty(), "{arrived}");
    }
}

#[test]
fn what_is_compacted_is_gone_and_nobody_tells_what_was_known_before() {
    let shared = objects::Shared::new();
    let (_folder, near) = archive();
    for archive in [near, shared.archive()] {
        let mut writer = key_writer(&archive);
        for step in 0..4 {
            let hours = closes(&[0, MONTH], f64::from(step));
            writer.commit(&[window(0, 2), window(MONTH, MONTH + 2)], &hours, UnixMicros(AT + i64::from(step))).unwrap();
        }
        let done = writer.compact(UnixMicros(AT + 2)).unwrap();
        assert_eq!((done.files, done.rows), (4, 4));
        assert_eq!(writer.compact(UnixMicros(AT + 2)).unwrap(), Compacted::default());
        writer.release();
        let look = |archive: &Archive| {
            for moment in [AT, AT + 1] {
                let missing = vec![window(0, 2)];
                assert_eq!(closes_as_of(archive, window(0, 2), moment), Err(missing));
                assert_eq!(archive.known(&key(), UnixMicros(moment)).unwrap(), []);
            }
            for step in 2..4 {
                assert_eq!(closes_as_of(archive, window(0, 2), AT + i64::from(step)).unwrap()[&0], f64::from(step));
            }
            assert_eq!(archive.vintages(&key()).unwrap().len(), 2);
            assert!(archive.verify().unwrap().problems.is_empty());
        };
        look(&archive);
        let vintages = |archive: &Archive| {
            let names = archive.store.list(&vintage::folder(&key())).unwrap();
            names.into_iter().map(|name| archive.store.length(&name).unwrap().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(vintages(&archive).len(), if archive.store.removes() { 3 } else { 6 });
        // A ledger that is lost is made anew, and knows what was dropped.
        let name = ledger::name(&key().name);
        let found = archive.store.read(&name).unwrap().unwrap();
        archive.store.stage("test", &name, b"lost".to_vec()).unwrap().place(&found.version).unwrap();
        drop(key_writer(&archive));
        look(&archive);
        let done = key_writer(&archive).compact(UnixMicros(i64::MAX)).unwrap();
        assert_eq!(done.files, 2);
        assert_eq!(archive.vintages(&key()).unwrap(), []);
        assert_eq!(vintages(&archive).len(), if archive.store.removes() { 1 } else { 6 });
        assert_eq!(closes_as_of(&archive, window(0, 2), AT + 3).unwrap()[&0], 3.0);
    }
}

#[test]
fn a_compaction_that_stops_anywhere_is_brought_to_its_end() {
    let (_folder, archive) = archive();
    let mut writer = key_writer(&archive);
    for step in 0..3 {
        writer.commit(&[window(0, 1)], &closes(&[0], f64::from(step)), UnixMicros(AT + i64::from(step))).unwrap();
    }
    let before = files(archive.path());
    writer.compact(UnixMicros(AT + 1)).unwrap();
    writer.compact(UnixMicros(AT + 2)).unwrap();
    drop(writer);
    let after = files(archive.path());
    let name = ledger::name(&key().name);
    let mut going = KeyLedger::parse(&key().name, &after[&name]).unwrap();
    going.going = KeyLedger::parse(&key().name, &before[&name]).unwrap().vintages.into_keys().collect();
    assert_eq!(going.going.len(), 2);
    for gone in 0..=2 {
        for (name, bytes) in &before {
            std::fs::write(archive.path().join(name), bytes).unwrap();
        }
        std::fs::write(archive.path().join(&name), going.seal()).unwrap();
        for name in &going.going[..gone] {
            let file = vintage::file(&key(), name);
            match after.get(&file) {
                Some(bytes) => std::fs::write(archive.path().join(&file), bytes).unwrap(),
                None => std::fs::remove_file(archive.path().join(&file)).unwrap(),
            }
        }
        assert!(archive.verify().unwrap().problems.is_empty(), "{gone}");
        assert_eq!(closes_as_of(&archive, window(0, 1), AT + 2).unwrap()[&0], 2.0);
        assert!(closes_as_of(&archive, window(0, 1), AT + 1).is_err());
        drop(key_writer(&archive));
        assert_eq!(files(archive.path()), after, "{gone}");
    }
}

#[test]
fn vintages_that_are_not_what_was_written_are_reported() {
    let (_folder, archive) = archive();
    key_writer(&archive).commit(&[window(0, 3)], &closes(&[0, 1, 2], 0.5), UnixMicros(AT)).unwrap();
    key_writer(&archive).commit(&[window(0, 3)], &closes(&[0, 1, 2], 0.25), UnixMicros(AT + 10)).unwrap();
    let name = files(archive.path()).into_keys().find(|name| name.ends_with(".vintage")).unwrap();
    let path = archive.path().join(&name);
    let whole = std::fs::read(&path).unwrap();
    let before = closes_as_of(&archive, window(0, 3), AT).unwrap();
    for bit in (0..whole.len() * 8).step_by(31) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &bytes).unwrap();
        assert!(
            matches!(archive.read_as_of(&key(), window(0, 3), UnixMicros(AT)), Err(ArchiveFault::File { .. })),
            "{bit}"
        );
        assert_eq!(archive.verify().unwrap().problems.len(), 1);
    }
    std::fs::remove_file(&path).unwrap();
    let fault = archive.read_as_of(&key(), window(0, 3), UnixMicros(AT)).unwrap_err();
    assert!(matches!(fault, ArchiveFault::File { state: FileState::Missing, .. }), "{fault}");
    // What is kept now is none of its business, and what is dropped is looked for no more.
    assert_eq!(archive.read(&key(), window(0, 3)).unwrap()[0].len(), 3);
    assert_eq!(closes_as_of(&archive, window(0, 3), AT + 10).unwrap().len(), 3);
    key_writer(&archive).compact(UnixMicros(AT + 10)).unwrap();
    assert!(archive.verify().unwrap().problems.is_empty());
    // A data file in its place is none.
    std::fs::write(&path, &whole).unwrap();
    std::fs::copy(archive.path().join(part_name(&key(), "1970-01-01")), &path).unwrap();
    assert_eq!(archive.verify().unwrap().problems[0].state, FileState::Foreign);
    assert_eq!(before[&2], 2.5);
}

/// A file as ledgers of the first two versions have it.
#[derive(serde::Serialize, serde::Deserialize)]
struct FirstPart {
    sha256: String,
    bytes: u64,
    rows: u64,
}

/// A ledger of the first version.
#[derive(serde::Serialize)]
struct First<'a> {
    format: &'a serde_json::Value,
    version: u32,
    key: &'a serde_json::Value,
    source: &'a serde_json::Value,
    query: &'a serde_json::Value,
    asked: &'a serde_json::Value,
    parts: BTreeMap<String, FirstPart>,
    check: String,
}

#[test]
fn a_ledger_of_the_first_version_is_read_and_written_anew() {
    let (_folder, archive) = archive();
    key_writer(&archive).commit(&[window(0, 2)], &closes(&[0, 1], 0.5), UnixMicros(AT)).unwrap();
    let path = archive.path().join(ledger::name(&key().name));
    // As it was written: no word of since when anything is known.
    let value: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(value["version"], 4);
    let [format, key_of, source, query, asked] = ["format", "key", "source", "query", "asked"].map(|name| &value[name]);
    let parts: BTreeMap<String, FirstPart> = serde_json::from_value(value["parts"].clone()).unwrap();
    let mut first = First { format, version: 1, key: key_of, source, query, asked, parts, check: String::new() };
    first.check = sha256(&serde_json::to_vec(&first).unwrap());
    std::fs::write(&path, serde_json::to_vec_pretty(&first).unwrap()).unwrap();
    // Its files have a SHA-256 alone, which is compared then.
    let file =
        archive.path().join(ledger::part_name(&key(), value["parts"].as_object().unwrap().keys().next().unwrap()));
    let written = std::fs::read(&file).unwrap();
    let mut rotten = written.clone();
    rotten[written.len() / 2] ^= 1;
    std::fs::write(&file, rotten).unwrap();
    assert!(archive.read(&key(), window(0, 2)).is_err());
    std::fs::write(&file, written).unwrap();
    // Since the time of their download was not recorded, buckets count from their close.
    assert_eq!(closes_as_of(&archive, window(0, 2), 2 * HOUR * SECOND_OF).unwrap().len(), 2);
    assert_eq!(closes_as_of(&archive, window(0, 2), 2 * HOUR * SECOND_OF - 1), Err(vec![window(1, 2)]));
    key_writer(&archive).commit(&[window(1, 3)], &closes(&[1], 0.25), UnixMicros(AT)).unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().contains("\"version\": 4"));
    assert_eq!(closes_as_of(&archive, window(0, 2), AT - 1).unwrap()[&1], 1.5);
    assert_eq!(closes_as_of(&archive, window(0, 3), AT).unwrap()[&1], 1.25);
    assert_eq!(closes_as_of(&archive, window(0, 3), AT - 1), Err(vec![window(2, 3)]));
    assert_eq!(archive.vintages(&key()).unwrap()[0].known, None);
}

/// A writer of an object store that was overtaken in its sleep goes on: what it replaces is kept all the same.
#[test]
fn a_writer_that_lost_its_lock_loses_no_vintage() {
    let shared = objects::Shared::new();
    let mut first = shared.take_over();
    first.commit(&[window(0, 2)], &closes(&[0, 1], 0.5), UnixMicros(AT)).unwrap();
    let mut second = shared.take_over();
    second.commit(&[window(0, 2)], &closes(&[0, 1], 0.25), UnixMicros(AT + 10)).unwrap();
    first.commit(&[window(0, 2)], &closes(&[0], 0.125), UnixMicros(AT + 20)).unwrap();
    second.commit(&[window(0, 1)], &[], UnixMicros(AT + 30)).unwrap();
    let archive = shared.archive();
    for (moment, expected) in [(AT, Some(0.5)), (AT + 10, Some(0.25)), (AT + 20, Some(0.125)), (AT + 30, None)] {
        let found = closes_as_of(&archive, window(0, 2), moment).unwrap();
        assert_eq!(found.get(&0).copied(), expected);
    }
    assert!(archive.verify().unwrap().problems.is_empty());
}
