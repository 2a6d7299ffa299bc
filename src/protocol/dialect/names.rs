//! One map of names, both ways.

use std::collections::BTreeMap;

use super::parts::DialectError;
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::exchange::{near_miss, venue};
use crate::protocol::field::{Field, FieldKind, TPO_WRAPPER};
use crate::protocol::identity::ID_FIELDS;
use crate::protocol::stream::CHANNELS;

/// Kinds of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// Data and channel types.
    Type,
    /// Exchanges.
    Exchange,
    /// Fields of answers.
    Field,
}

/// Names of the envelope of answers and errors: no answer can be read without them.
const ENVELOPE: [&str; 13] = [
    "series",
    "id",
    "points",
    "flat_points",
    "Point",
    TPO_WRAPPER,
    "s",
    "ns",
    "seconds",
    "nanoseconds",
    "error",
    "code",
    "message",
];
/// Below this length, a field's name two edits away from a known one is a name of its own and no slip.
const LONG: usize = 10;

impl NameKind {
    /// The key of the map.
    const fn key(self) -> &'static str {
        match self {
            Self::Type => "types",
            Self::Exchange => "exchanges",
            Self::Field => "fields",
        }
    }

    /// Whether the specification has the name.
    fn knows(self, name: &str) -> bool {
        match self {
            Self::Type => types().any(|known| known == name),
            Self::Exchange => venue(name).is_some(),
            Self::Field => fields().any(|known| known == name),
        }
    }

    /// The name of the specification that this one is a slip of.
    fn slip(self, name: &str) -> Option<&'static str> {
        if self.knows(name) {
            return None;
        }
        let near = |known: &&'static str| strsim::osa_distance(known, name) <= 2;
        match self {
            Self::Type => types().find(near),
            Self::Exchange => near_miss(name),
            Self::Field => fields().find(|known| known.len() >= LONG && near(known)),
        }
    }
}

fn types() -> impl Iterator<Item = &'static str> {
    DATA_TYPES.iter().map(|row| row.name).chain(CHANNELS.iter().map(|row| row.name))
}

fn fields() -> impl Iterator<Item = &'static str> {
    fn inner(field: &'static Field) -> &'static [Field] {
        if let FieldKind::Rows(fields) = field.kind { fields } else { &[] }
    }
    let own = DATA_TYPES.iter().flat_map(|row| row.fields);
    ID_FIELDS
        .into_iter()
        .chain(own.flat_map(|field| std::iter::once(field).chain(inner(field))).map(|field| field.wire))
}

/// Published names by neutral ones, and back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DialectNames {
    published: BTreeMap<String, String>,
    neutral: BTreeMap<String, String>,
}

impl DialectNames {
    /// Checks the entries. One that changes nothing is left out.
    pub(super) fn new(kind: NameKind, entries: BTreeMap<String, String>) -> Result<Self, DialectError> {
        let mut neutral: BTreeMap<String, String> = BTreeMap::new();
        for (name, published) in &entries {
            let wrong = |problem: String| {
                Err(DialectError { file: None, key: format!("{}.{}", kind.key(), shown(name)), problem })
            };
            if let Some(problem) = spelling(name, "neutral").or_else(|| spelling(published, "published")) {
                return wrong(problem);
            }
            if let Some(meant) = kind.slip(name) {
                return wrong(format!("the specification has no such name; did you mean {meant}?"));
            }
            if kind == NameKind::Field
                && let Some(fixed) = ENVELOPE.into_iter().find(|fixed| fixed == name || fixed == published)
            {
                return wrong(format!("{fixed} holds answers together and is the same everywhere; leave it out"));
            }
            if kind.knows(published) && !entries.contains_key(published) {
                return wrong(format!(
                    "{published:?} is itself a neutral name, so that an answer with it could mean both; map that one too, \
                     or mend the published name"
                ));
            }
            if let Some(other) = neutral.insert(published.clone(), name.clone()) {
                return wrong(format!(
                    "{published:?} is already the published name of {other}, so that an answer with it could mean both; \
                     give each a name of its own"
                ));
            }
        }
        neutral.retain(|published, name| published != name);
        let mut published = entries;
        published.retain(|name, published| name != published);
        Ok(Self { published, neutral })
    }

    /// The entries: published names by neutral ones.
    pub(super) fn entries(&self) -> &BTreeMap<String, String> {
        &self.published
    }

    pub(super) fn is_empty(&self) -> bool {
        self.published.is_empty()
    }

    /// The published name of a neutral one.
    pub(super) fn published<'a>(&'a self, neutral: &'a str) -> &'a str {
        self.published.get(neutral).map_or(neutral, String::as_str)
    }

    /// The neutral name of a published one.
    pub(super) fn neutral<'a>(&'a self, published: &'a str) -> &'a str {
        self.neutral.get(published).map_or(published, String::as_str)
    }

    /// The neutral name of a name that is only a published one.
    pub(super) fn meant(&self, name: &str) -> Option<&str> {
        self.neutral.get(name).filter(|_| !self.published.contains_key(name)).map(String::as_str)
    }
}

/// A name as a key of an error; an empty one must be seen.
fn shown(name: &str) -> String {
    if name.is_empty() { "\"\"".to_owned() } else { name.to_owned() }
}

fn spelling(name: &str, which: &str) -> Option<String> {
    if name.is_empty() {
        return Some(format!("the {which} name is empty; write it, or leave the entry out"));
    }
    let odd = |letter: char| letter.is_whitespace() || letter.is_control();
    name.contains(odd).then(|| format!("the {which} name {name:?} has a blank or control character; remove that"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::exchange::EXCHANGES;

    #[test]
    fn no_name_of_the_specification_is_a_slip_of_another() {
        let all = types().map(|name| (NameKind::Type, name));
        let all = all.chain(EXCHANGES.iter().map(|row| (NameKind::Exchange, row.name)));
        for (kind, name) in all.chain(fields().map(|name| (NameKind::Field, name))) {
            assert!(kind.knows(name) && kind.slip(name).is_none(), "{name}");
        }
    }
}
