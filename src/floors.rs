//! The order of the rooms, as a test: whoever imports from a room above its own fails here.

use std::collections::BTreeSet;
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

/// The rooms that a text names by `crate::room` or `crate::{room, …}`, comments and tests at its end apart.
fn rooms_named(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code: Vec<&str> = code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let identifier = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut named = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => drop(named.insert(identifier(rest))),
            Some(group) => {
                let (mut depth, mut starts) = (1, true);
                for (index, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        ',' if depth == 1 => starts = true,
                        _ if starts && !c.is_whitespace() => {
                            named.insert(identifier(&group[index..]));
                            starts = false;
                        }
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
        }
    }
    named
}

#[test]
fn names_are_found_in_groups_and_not_in_comments() {
    let text = "use crate::{a::{b, c}, d};\n/// [`crate::e`]\nlet x = crate::f::g(); // crate::h\n\
                pub(in crate::i) fn f() {}\n#[cfg(test)]\nmod tests { use crate::j; }";
    assert_eq!(rooms_named(text), ["a", "d", "f", "i"].map(String::from).into());
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
