//! The order of the rooms, as a test: whoever imports from a room above its own fails here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// From the ground floor up: a room uses only rooms named before it.
const ROOMS: [&str; 13] = [
    "clock", "protocol", "weight", "budget", "columns", "raster", "decode", "encode", "archive", "client", "market",
    "service", "bindings",
];
/// The wings, which never meet although the order would allow it.
const APART: [(&str, &str); 3] = [("market", "client"), ("service", "client"), ("encode", "decode")];

fn source_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            source_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The code of a text, without comments and without the tests at its end.
fn code_of(text: &str) -> String {
    // Tests that stand in a file of their own end nothing: `mod tests;`.
    let ends = text.match_indices("\n#[cfg(").find(|(at, _)| {
        let (condition, rest) = text[at + 1..].split_once('\n').unwrap_or_default();
        condition.contains("test") && rest.starts_with("mod tests {")
    });
    let code = &text[..ends.map_or(text.len(), |(at, _)| at)];
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The paths that a code names from `crate`, `super` or `self` on, groups resolved: `a::{b, c::d}` is `a::b` and `a::c::d`.
/// Names in a `use` of a child module begin with that.
fn paths_named(code: &str, children: &[String]) -> Vec<Vec<String>> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = code[at..].find(is_name).map(|offset| at + offset) {
        let end = code[start..].find(|c| !is_name(c)).map_or(code.len(), |length| start + length);
        let word = &code[start..end];
        at = end;
        let before = code[..start].trim_end();
        // Who may see something is no import.
        let shown_to = before.ends_with("pub(in");
        let begins = matches!(word, "crate" | "super" | "self") && !before.ends_with("::");
        let of_child = children.iter().any(|child| child == word) && before.ends_with("use");
        if (begins || of_child) && !shown_to && code[end..].starts_with("::") {
            at += tree(&code[end + 2..], &[word.to_owned()], &mut found) + 2;
        }
    }
    found
}

/// Reads what follows `prefix::`, and gives its length.
fn tree(rest: &str, prefix: &[String], found: &mut Vec<Vec<String>>) -> usize {
    if let Some(group) = rest.strip_prefix('{') {
        let mut at = 0;
        loop {
            at += group[at..].len() - group[at..].trim_start_matches([',', ' ', '\n']).len();
            match group[at..].chars().next() {
                None => return rest.len(),
                Some('}') => return at + 2,
                Some(_) => {
                    at += tree(&group[at..], prefix, found).max(1);
                    // Another name, if any, ends the part.
                    at += group[at..].find([',', '}']).unwrap_or(0);
                }
            }
        }
    }
    let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let path = [prefix, &[rest[..length].to_owned()]].concat();
    match rest[length..].strip_prefix("::") {
        Some(more) if length > 0 => length + 2 + tree(more, &path, found),
        _ => {
            found.push(path);
            length
        }
    }
}

/// The rooms that a text names, comments and tests at its end apart.
fn rooms_named(text: &str) -> BTreeSet<String> {
    let paths = paths_named(&code_of(text), &[]).into_iter();
    paths.filter(|path| path[0] == "crate").filter_map(|path| path.get(1).cloned()).collect()
}

/// Where a path leads, from a module on: `super::a` is a sibling of the module.
fn resolved(module: &[String], path: &[String]) -> Vec<String> {
    if path[0] == "crate" {
        return path[1..].to_vec();
    }
    let ups = path.iter().take_while(|part| *part == "super").count();
    let rest = path.iter().skip(if path[0] == "self" { 1 } else { ups });
    module[..module.len().saturating_sub(ups)].iter().chain(rest).cloned().collect()
}

/// Which files of a room name which: `market/trades/store` and so on, a folder's `mod.rs` by the folder.
fn imports_within(room: &Path, top: &Path) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let mut files = Vec::new();
    source_files(room, &mut files);
    let module = |file: &PathBuf| {
        let within = file.strip_prefix(top).expect("a file of the sources").with_extension("");
        let mut parts: Vec<String> = within.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        parts.pop_if(|last| last == "mod");
        parts
    };
    files.retain(|file| !module(file).iter().any(|part| part == "tests"));
    let modules: BTreeSet<Vec<String>> = files.iter().map(module).collect();
    let mut imports = BTreeMap::new();
    for file in &files {
        let own = module(file);
        let children: Vec<String> = modules
            .iter()
            .filter(|one| one.len() == own.len() + 1 && one.starts_with(&own))
            .map(|one| one[own.len()].clone())
            .collect();
        let code = code_of(&fs::read_to_string(file).expect("a source"));
        let named = paths_named(&code, &children).into_iter().filter_map(|path| {
            let of_child = !matches!(&*path[0], "crate" | "super" | "self");
            let whole = if of_child { [own.clone(), path].concat() } else { resolved(&own, &path) };
            // What stands behind the module is an item of it.
            (1..=whole.len()).rev().map(|length| whole[..length].to_vec()).find(|part| modules.contains(part))
        });
        imports.insert(own.clone(), named.filter(|other| *other != own).collect());
    }
    imports
}

/// The names in a circle of imports; empty where there is none.
fn circle<T: Ord + Clone>(imports: &BTreeMap<T, BTreeSet<T>>) -> BTreeSet<T> {
    let mut left = imports.clone();
    // Drops modules without imports and modules that nothing imports, until none is left to drop: the rest is a circle.
    loop {
        let names: BTreeSet<T> = left.keys().cloned().collect();
        let imported: BTreeSet<T> = left.values().flatten().cloned().collect();
        left.retain(|name, others| imported.contains(name) && others.iter().any(|other| names.contains(other)));
        for others in left.values_mut() {
            others.retain(|other| names.contains(other));
        }
        if left.len() == names.len() {
            return names;
        }
    }
}

#[test]
fn names_are_found_in_groups_and_not_in_comments() {
    let text = "use crate::{a::{b, c}, d};\n/// [`crate::e`]\nlet x = crate::f::g(); // crate::h\n\
                pub(in crate::i) fn f() {}\n#[cfg(test)]\nmod tests;\nuse crate::k::L;\n\
                #[cfg(all(test, unix))]\nmod tests { use crate::j; }";
    assert_eq!(rooms_named(text), ["a", "d", "f", "k"].map(String::from).into());
}

#[test]
fn no_room_imports_from_one_above() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    source_files(&top, &mut files);
    assert!(files.len() > 100, "the sources were found");
    let floor = |room: &str| ROOMS.iter().position(|one| *one == room);
    let mut wrong = Vec::new();
    for file in files {
        let within = file.strip_prefix(&top).expect("a file of the sources");
        let first = within.iter().next().and_then(|part| part.to_str()).expect("a name").trim_end_matches(".rs");
        if matches!(first, "lib" | "floors") {
            continue;
        }
        let own = floor(first).unwrap_or_else(|| panic!("src/{first} is no room: name its floor in src/floors.rs"));
        let is_test = within.iter().any(|part| part == "tests" || part == "tests.rs");
        for room in rooms_named(&fs::read_to_string(&file).expect("a source")) {
            let Some(other) = floor(&room) else {
                wrong.push(format!("{} names crate::{room}, which is no room", within.display()));
                continue;
            };
            let apart =
                APART.iter().any(|(a, b)| (*a, *b) == (first, room.as_str()) || (*b, *a) == (first, room.as_str()));
            if !is_test && (other > own || apart) {
                wrong.push(format!("{} imports from crate::{room}", within.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "imports that run up, or between rooms apart:\n{}", wrong.join("\n"));
}

#[test]
fn no_files_and_no_folders_import_each_other_in_a_circle() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for room in ROOMS.into_iter().filter(|room| top.join(room).is_dir()) {
        let files = imports_within(&top.join(room), &top);
        wrong.extend(circle(&files).iter().map(|file| file.join("/")));
        // The folders of a room, and those of the market's subjects.
        for depth in [2, 3] {
            let mut folders: BTreeMap<&[String], BTreeSet<&[String]>> = BTreeMap::new();
            let is_deep = |file: &&Vec<String>| file.len() >= depth && (depth == 2 || file[1] == "subjects");
            for (file, others) in files.iter().filter(|(file, _)| is_deep(file)) {
                let others = others.iter().filter(is_deep).map(|other| &other[..depth]);
                folders.entry(&file[..depth]).or_default().extend(others.filter(|other| *other != &file[..depth]));
            }
            wrong.extend(circle(&folders).iter().map(|folder| folder.join("/") + "/"));
        }
    }
    assert!(wrong.is_empty(), "in a circle of imports stand:\n{}", wrong.join("\n"));
}

#[test]
fn circles_are_found() {
    let imports = |rows: &[(&'static str, &[&'static str])]| -> BTreeMap<&str, BTreeSet<&str>> {
        rows.iter().map(|(name, others)| (*name, others.iter().copied().collect())).collect()
    };
    let none = imports(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]);
    assert!(circle(&none).is_empty());
    let three = imports(&[("top", &["a"]), ("a", &["b"]), ("b", &["c"]), ("c", &["a", "low"]), ("low", &[])]);
    assert_eq!(circle(&three), BTreeSet::from(["a", "b", "c"]));
}

#[test]
fn paths_lead_where_the_compiler_says() {
    let part = |path: &str| path.split("::").map(str::to_owned).collect::<Vec<_>>();
    let code = "pub use child::Name;\nuse super::{a::{self, B}, c};\nuse crate::{x, y::Z as W};\nlet v = self::f();";
    let found = paths_named(code, &["child".to_owned()]);
    let expected = ["child::Name", "super::a::self", "super::a::B", "super::c", "crate::x", "crate::y::Z", "self::f"];
    assert_eq!(found, expected.map(part));
    let own = part("market::trades::store");
    assert_eq!(resolved(&own, &part("super::files::Place")), part("market::trades::files::Place"));
    assert_eq!(resolved(&own, &part("super::super::query")), part("market::query"));
    assert_eq!(resolved(&own, &part("self::inner")), part("market::trades::store::inner"));
    assert_eq!(resolved(&own, &part("crate::clock")), part("clock"));
}

/// Where `unsafe` may stand; CONTRIBUTING.md names the same places.
const UNSAFE: [&str; 4] = ["columns/pages.rs", "decode/kernel/", "bindings/arrays.rs", "bindings/arrow.rs"];

#[test]
fn unsafe_stands_where_the_rules_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rules = fs::read_to_string(root.join("CONTRIBUTING.md")).expect("the rules");
    let top = root.join("src");
    let mut files = Vec::new();
    source_files(&top, &mut files);
    let mut found = BTreeSet::new();
    for file in files {
        let within = file.strip_prefix(&top).expect("a file of the sources").to_string_lossy().into_owned();
        let code = code_of(&fs::read_to_string(&file).expect("a source"));
        if within != "floors.rs" && code.contains("unsafe {") {
            let place = UNSAFE.into_iter().find(|place| within.starts_with(place));
            found.insert(place.unwrap_or_else(|| panic!("src/{within} has an unsafe block")));
        }
    }
    assert_eq!(found, BTreeSet::from(UNSAFE), "a place that has none");
    for place in UNSAFE {
        assert!(rules.contains(&format!("`src/{place}`")), "CONTRIBUTING.md does not name src/{place}");
    }
}

/// How a moment, a weight or a number of points is spelled as a bare number; their types stand in `clock/units.rs` and
/// `protocol/units.rs`.
const BARE: [&str; 19] = [
    "now: i64",
    "now: f64",
    "minute: i64",
    "day: i64",
    "before: i64",
    "taken: i64",
    "time: i64",
    "first: i64",
    "last: i64",
    "start: i64",
    "since: i64",
    "second: i64",
    "at: i64",
    "end: i64",
    "moment: i64",
    "until: i64",
    "weight: u64",
    "weight: u32",
    "points: u64",
];
/// Where they are bare with a reason: Python gives and takes plain numbers; the first and last pixel of a picture are no
/// times.
const BARE_WITH_REASON: [(&str, &str); 8] = [
    ("bindings/archive.rs", "end: i64"),
    ("bindings/archive.rs", "start: i64"),
    ("bindings/client.rs", "now: f64"),
    ("bindings/plan.rs", "points: u64"),
    ("bindings/plan.rs", "weight: u64"),
    ("bindings/query.rs", "now: f64"),
    ("raster/pixel_coverage.rs", "first: i64"),
    ("raster/pixel_coverage.rs", "last: i64"),
];

/// The bare numbers that a code declares: parameters, of a name that is not used too, and fields.
fn bare_numbers(code: &str) -> Vec<&'static str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let declares = |spelling: &&str| {
        code.match_indices(*spelling).any(|(at, _)| {
            let before = code[..at].trim_end_matches('_');
            !before.ends_with(is_name) && !code[at + spelling.len()..].starts_with(is_name)
        })
    };
    BARE.into_iter().filter(declares).collect()
}

/// Every source file without its tests: its path within `src`, and its code.
fn sources() -> Vec<(String, String)> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    source_files(&top, &mut files);
    let is_test =
        |within: &Path| within.iter().any(|part| part == "tests" || part == "tests.rs" || part == "floors.rs");
    let within = |file: &Path| file.strip_prefix(&top).expect("a file of the sources").to_owned();
    let kept = files.into_iter().filter(|file| !is_test(&within(file)));
    let read = |file: PathBuf| {
        let code = code_of(&fs::read_to_string(&file).expect("a source"));
        (within(&file).to_string_lossy().into_owned(), code)
    };
    kept.map(read).collect()
}

#[test]
fn moments_weights_and_points_are_types() {
    let mut found = BTreeSet::new();
    for (within, code) in sources() {
        found.extend(bare_numbers(&code).into_iter().map(|bare| (within.clone(), bare)));
    }
    let expected = BARE_WITH_REASON.into_iter().map(|(file, bare)| (file.to_owned(), bare)).collect();
    assert_eq!(found, expected, "bare numbers, or a reason that is none");
}

#[test]
fn bare_numbers_are_found_whole() {
    assert_eq!(bare_numbers("fn f(now: i64) {}"), ["now: i64"]);
    assert_eq!(bare_numbers("fn f(_: u8, _day: i64)"), ["day: i64"]);
    assert_eq!(bare_numbers("struct S {\n    pub(super) minute: i64,\n    now: f64,\n}"), ["now: f64", "minute: i64"]);
    assert_eq!(bare_numbers("struct Bar {\n    pub start: i64,\n    last: i64,\n}"), ["last: i64", "start: i64"]);
    assert!(bare_numbers("fn f(now: UnixNanos, per_minute: i64, day: UnixDay, today: i64, format: i64) {}").is_empty());
}

/// Seconds and minutes of a day, nanoseconds of a second, microseconds of a day.
const LENGTHS: [&str; 4] = ["86400", "1440", "1000000000", "86400000000"];

#[test]
fn the_lengths_of_days_and_seconds_are_written_once() {
    let mut found = BTreeSet::new();
    for (within, code) in sources() {
        let numbers =
            code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).map(|word| word.replace('_', ""));
        if numbers.into_iter().any(|number| LENGTHS.contains(&number.trim_end_matches('.').trim_end_matches(".0"))) {
            found.insert(within);
        }
    }
    assert_eq!(found, BTreeSet::from(["clock/units.rs".to_owned()]), "where the length of a day or a second stands");
}

/// The types and traits that a code declares. Types that belong to a trait have their names from it.
fn declared(code: &str) -> Vec<&str> {
    let name = |line| {
        let is_inner = str::starts_with(line, ' ');
        let line = line.trim_start();
        let seen_by = line.strip_prefix("pub").map_or(line, |rest| match rest.split_once(") ") {
            Some((_, item)) if rest.starts_with('(') => item,
            _ => rest.trim_start(),
        });
        let (kind, rest) = seen_by.strip_prefix("unsafe ").unwrap_or(seen_by).split_once(' ')?;
        let is_one = matches!(kind, "struct" | "enum" | "union" | "trait") || kind == "type" && !is_inner;
        rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().filter(|name| is_one && !name.is_empty())
    };
    code.lines().filter_map(name).collect()
}

/// Classes of the bindings with the name of the one type that they wrap: Python shows that name.
const WRAPPED: [&str; 9] = [
    "Archive",
    "Client",
    "Dialect",
    "EventStream",
    "FaultRule",
    "IngestReport",
    "Plan",
    "PlannedRequest",
    "RowBuckets",
];

#[test]
fn no_type_has_the_name_of_another() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (within, code) in sources() {
        for name in declared(&code) {
            places.entry(name.to_owned()).or_default().push(within.clone());
        }
    }
    assert!(places.len() > 500, "the types were found");
    places.retain(|_, files| files.len() > 1);
    for name in WRAPPED {
        let files = places.remove(name).unwrap_or_default();
        let of_bindings = files.iter().filter(|file| file.starts_with("bindings/")).count();
        assert_eq!((files.len(), of_bindings), (2, 1), "{name} is a class and the type that it wraps: {files:?}");
    }
    assert!(places.is_empty(), "names with two meanings: {places:#?}");
}

#[test]
fn declared_types_are_found_wherever_they_may_be_seen() {
    let code = "struct A;\npub enum B<T> {\n    C(T),\n}\npub(super) trait D: Send {\n    type Item;\n}\n\
                pub(in crate::market) type E = u8;\nfn f() {\n    struct F(u8);\n    let structure = 1;\n}\nunsafe trait G {}";
    assert_eq!(declared(code), ["A", "B", "D", "E", "F", "G"]);
}
