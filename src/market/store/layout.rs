//! The paths of a store's files, and the markets that they name.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::changes::{CHANGES, GATE};
use super::file_list::{self, FILE_LIST};
use crate::archive::{ArchiveError, is_foreign};
use crate::clock::UnixDay;
use crate::market::raw::SourceError;

/// A folder of a store, for one kind of files. Each subject names its own; [`crate::market::subjects`] has the list of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::market) struct Dataset(&'static str);

impl Dataset {
    /// The folder of this name.
    pub(in crate::market) const fn new(name: &'static str) -> Self {
        Self(name)
    }

    const fn name(self) -> &'static str {
        self.0
    }
}

/// Name of the file in a day's folder: readers of `key=value` folders then see the date as a column.
pub(in crate::market) const FILE: &str = "part.parquet";

/// The path of a market's file of a day.
pub(in crate::market) fn file(root: &Path, dataset: Dataset, exchange: &str, symbol: &str, day: UnixDay) -> PathBuf {
    let folder = root.join(dataset.name()).join(format!("exchange={}", encode(exchange)));
    folder.join(format!("symbol={}", encode(symbol))).join(format!("date={}", date(day))).join(FILE)
}

/// Every file of a dataset, missing ones included: exchange, symbol, day. A file with another form of name is not the
/// store's.
///
/// # Errors
/// A link: none is followed.
pub(in crate::market) fn files(root: &Path, dataset: Dataset) -> Result<Vec<(String, String, UnixDay)>, SourceError> {
    let mut found = Vec::new();
    for (exchange, folder) in entries(&top(root, dataset)?, "exchange=")? {
        for (symbol, folder) in entries(&folder, "symbol=")? {
            for (day, folder) in entries(&folder, "date=")? {
                if !is_file(&folder.join(FILE))? {
                    continue;
                }
                found.extend(place(&exchange, &symbol, &day));
            }
        }
    }
    let had = file_list::names(root);
    let had = had.iter().filter_map(|name| {
        let mut parts = name.strip_prefix(dataset.name())?.strip_prefix('/')?.split('/');
        let [exchange, symbol, day] = ["exchange=", "symbol=", "date="].map(|key| parts.next()?.strip_prefix(key));
        let is_file = parts.next() == Some(FILE) && parts.next().is_none();
        if is_file { place(exchange?, symbol?, day?) } else { None }
    });
    found.extend(had);
    found.sort();
    found.dedup();
    Ok(found)
}

/// The partition that the folders name.
fn place(exchange: &str, symbol: &str, day: &str) -> Option<(String, String, UnixDay)> {
    Some((decode(exchange)?, decode(symbol)?, parse_date(day)?))
}

/// The path of a table that is not partitioned by market and day.
pub(in crate::market) fn table_file(root: &Path, dataset: Dataset, source: &str) -> PathBuf {
    root.join(dataset.name()).join(format!("source={}", encode(source))).join(FILE)
}

/// Every table of a dataset, missing ones included, by the name of its source.
///
/// # Errors
/// A link: none is followed.
pub(in crate::market) fn table_files(root: &Path, dataset: Dataset) -> Result<Vec<PathBuf>, SourceError> {
    let mut found = Vec::new();
    for (source, folder) in entries(&top(root, dataset)?, "source=")? {
        let file = folder.join(FILE);
        if let (Some(source), true) = (decode(&source), is_file(&file)?) {
            found.push((source, file));
        }
    }
    for name in file_list::names(root) {
        let source = name.strip_prefix(dataset.name()).and_then(|rest| rest.strip_prefix("/source="));
        let source = source.and_then(|rest| decode(rest.strip_suffix(FILE)?.strip_suffix('/')?));
        found.extend(source.map(|source| (source, file_list::path(root, &name))));
    }
    found.sort();
    found.dedup();
    Ok(found.into_iter().map(|(_, file)| file).collect())
}

/// The folder of a dataset, which may not exist.
fn top(root: &Path, dataset: Dataset) -> Result<PathBuf, SourceError> {
    let folder = root.join(dataset.name());
    let is_link = fs::symlink_metadata(&folder).is_ok_and(|about| about.is_symlink());
    if is_link { Err(link(&folder)) } else { Ok(folder) }
}

/// Whether a file of the store exists.
fn is_file(path: &Path) -> Result<bool, SourceError> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_symlink() => Err(link(path)),
        about => Ok(about.is_ok_and(|about| about.is_file())),
    }
}

fn link(path: &Path) -> SourceError {
    SourceError(format!("{} is {LINK}", path.display()))
}

const LINK: &str = "a link, and a store follows none; put what it points to in its place";

/// The first thing that must not be in a store, and how to repair it: a link, by which a write could leave the store,
/// or anything but a file or folder, since reading it might block. `None` if there is nothing such.
pub(in crate::market) fn foreign(root: &Path, datasets: &[Dataset]) -> Option<String> {
    for own in [GATE, CHANGES, FILE_LIST].map(|name| root.join(name)) {
        if let Some(problem) = is_foreign(&own) {
            return Some(format!("{} is {problem}", own.display()));
        }
    }
    let kind = |path: &Path| fs::symlink_metadata(path).ok().map(|about| about.file_type());
    let mut folders: Vec<PathBuf> = Vec::new();
    let check = |path: PathBuf, kind: fs::FileType, folders: &mut Vec<PathBuf>| {
        if kind.is_symlink() {
            return Some(format!("{} is {LINK}", path.display()));
        }
        if kind.is_dir() {
            folders.push(path);
            return None;
        }
        (!kind.is_file())
            .then(|| format!("{} is neither a file nor a folder; remove it from the store", path.display()))
    };
    for dataset in datasets {
        let folder = root.join(dataset.name());
        let found = kind(&folder).and_then(|kind| check(folder, kind, &mut folders));
        if found.is_some() {
            return found;
        }
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let found = entry.file_type().ok().and_then(|kind| check(entry.path(), kind, &mut folders));
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// Longest name of a folder on all usual file systems, bytes.
const LONGEST_NAME: usize = 255;

/// Reason why a name is unfit for a folder `KEY=name` of a store; `None` if it is fit.
pub(in crate::market) fn unfit(name: &str) -> Option<String> {
    let (length, most) = (encode(name).len(), LONGEST_NAME - "exchange=".len());
    let reason = "characters other than letters, digits, '-', '_' and '.' take three bytes each";
    (length > most)
        .then(|| format!("takes {length} bytes in a store, at most {most} fit ({reason}); give it a shorter name"))
}

/// All folders of a store's datasets that may hold files.
pub(in crate::market) fn folders(root: &Path, datasets: &[Dataset]) -> Vec<PathBuf> {
    let datasets = datasets.iter().map(|dataset| root.join(dataset.name()));
    let is_folder = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
    let mut found: Vec<PathBuf> = datasets.filter(is_folder).collect();
    let mut next = 0;
    while let Some(folder) = found.get(next) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        // A link may lead out of the store, so it is not followed.
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let below: Vec<PathBuf> = below.map(|entry| entry.path()).collect();
        found.extend(below);
        next += 1;
    }
    found
}

/// Lists the unlisted files of a store, which an earlier version or a killed ingest put there.
pub(in crate::market) fn note_files(root: &Path, datasets: &[Dataset]) -> Result<(), ArchiveError> {
    let known: HashSet<String> = file_list::names(root).into_iter().collect();
    let files = folders(root, datasets).into_iter().map(|folder| folder.join(FILE)).filter(|file| file.is_file());
    let names = files.filter_map(|file| file_list::name(root, &file)).filter(|name| !known.contains(name));
    file_list::add(root, &names.collect::<Vec<_>>())
}

fn entries(folder: &Path, prefix: &str) -> Result<Vec<(String, PathBuf)>, SourceError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let Some(value) = name.strip_prefix(prefix) else { continue };
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            return Err(link(&entry.path()));
        }
        found.push((value.to_owned(), entry.path()));
    }
    found.sort();
    Ok(found)
}

/// The day of a date such as `2024-12-01`.
pub(in crate::market) fn parse_date(text: &str) -> Option<UnixDay> {
    let date: Date = text.parse().ok().filter(|date: &Date| date.to_string() == text)?;
    let epoch = Date::constant(1970, 1, 1);
    Some(UnixDay(i64::from((date - epoch).get_days())))
}

fn date(day: UnixDay) -> String {
    let since = jiff::Span::new().try_days(day.0);
    let date = since.and_then(|since| Date::constant(1970, 1, 1).checked_add(since));
    date.map_or_else(|_| format!("day{}", day.0), |date| date.to_string())
}

/// Characters that stay unencoded in a folder's name; others could mean something to a file system or a `key=value`
/// reader.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

fn encode(name: &str) -> String {
    utf8_percent_encode(name, ENCODED).to_string()
}

/// The decoded name; `None` if it is not UTF-8.
fn decode(name: &str) -> Option<String> {
    percent_decode_str(name).decode_utf8().ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_are_days() {
        assert_eq!(parse_date("1970-01-02"), Some(UnixDay(1)));
        assert_eq!(parse_date("2019-10-11").map(date).as_deref(), Some("2019-10-11"));
        for wrong in ["2019-10-32", "20191011", "today", "2019-10-11T00"] {
            assert_eq!(parse_date(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_name_makes_one_safe_folder_and_comes_back(name in "\\PC{1,20}") {
            let encoded = encode(&name);
            prop_assert!(!encoded.contains(['/', '\\', ':', '=', ' ']));
            prop_assert_eq!(decode(&encoded).unwrap(), name);
        }
    }
}
