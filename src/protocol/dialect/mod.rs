//! Published names behind the specification's neutral ones (service.md, "Neutral naming"): requests go out with the
//! names that a live deployment publishes, answers come back with the specification's. A name without an entry is the
//! same on both sides.

mod file;
mod names;
mod parts;

pub use self::parts::{DialectError, DialectParts};

use std::borrow::Cow;

use serde_json::{Map, Value};

use self::names::{DialectNames, NameKind};
use super::analytics::ANALYTICS_PREFIX;
use super::identity::SeriesId;
use super::redacted::redacted;
use super::stream::Channel;

/// Names in both directions, checked: no two neutral names share a published one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dialect {
    key_header: Option<String>,
    base_url: Option<String>,
    analytics_prefix: Option<String>,
    types: DialectNames,
    exchanges: DialectNames,
    fields: DialectNames,
}

/// Headers that say how a message travels: a key in one of them would break the connection, or never arrive.
const TRANSPORT_HEADERS: [&str; 15] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

impl Dialect {
    /// Checks the parts.
    ///
    /// # Errors
    /// The entry that cannot be right: an empty name, a header that HTTP does not allow, a slip of a known neutral name,
    /// two neutral names with one published name, a published name that is another neutral one.
    pub fn new(parts: DialectParts) -> Result<Self, DialectError> {
        let wrong = |key: &str, problem: String| Err(DialectError { file: None, key: key.to_owned(), problem });
        if let Some(problem) = parts.key_header.as_deref().and_then(header_problem) {
            return wrong("key_header", problem);
        }
        if let Some(problem) = parts.base_url.as_deref().and_then(address_problem) {
            return wrong("base_url", problem);
        }
        if let Some(problem) = parts.analytics_prefix.as_deref().and_then(prefix_problem) {
            return wrong("analytics_prefix", problem);
        }
        Ok(Self {
            key_header: parts.key_header,
            base_url: parts.base_url,
            analytics_prefix: parts.analytics_prefix,
            types: DialectNames::new(NameKind::Type, parts.types)?,
            exchanges: DialectNames::new(NameKind::Exchange, parts.exchanges)?,
            fields: DialectNames::new(NameKind::Field, parts.fields)?,
        })
    }

    /// Reads a dialect from the text of a TOML file; `file` names it in errors. The keys are those of [`DialectParts`].
    ///
    /// # Errors
    /// As [`Dialect::new`]; text that is no TOML, an unknown key, and a value that is no text.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, DialectError> {
        let made = file::parts(text).and_then(Self::new);
        made.map_err(|error| DialectError { file: Some(file.to_owned()), ..error })
    }

    /// Its parts, without entries that change nothing.
    pub fn parts(&self) -> DialectParts {
        DialectParts {
            key_header: self.key_header.clone(),
            base_url: self.base_url.clone(),
            analytics_prefix: self.analytics_prefix.clone(),
            types: self.types.entries().clone(),
            exchanges: self.exchanges.entries().clone(),
            fields: self.fields.entries().clone(),
        }
    }

    /// Header that carries the key; `None` for the neutral one.
    pub fn key_header(&self) -> Option<&str> {
        self.key_header.as_deref()
    }

    /// Base address of the deployment.
    pub fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref()
    }

    /// Whether any name within requests or answers differs.
    pub fn translates(&self) -> bool {
        self.analytics_prefix.is_some() || self.reads()
    }

    fn reads(&self) -> bool {
        !(self.types.is_empty() && self.exchanges.is_empty() && self.fields.is_empty())
    }

    /// The published path of a neutral one.
    pub fn path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let below = |prefix: &String| {
            let rest = path.strip_prefix(ANALYTICS_PREFIX).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
            Some(Cow::Owned(format!("{prefix}{rest}")))
        };
        self.analytics_prefix.as_ref().and_then(below).unwrap_or(Cow::Borrowed(path))
    }

    /// The published query string of a neutral one: the values of its parameters `type` and `exchange`.
    pub fn query<'a>(&self, query: &'a str) -> Cow<'a, str> {
        if self.types.is_empty() && self.exchanges.is_empty() {
            return Cow::Borrowed(query);
        }
        let pairs = form_urlencoded::parse(query.as_bytes()).map(|(name, value)| {
            let value = match &*name {
                "type" => self.types.published(&value).to_owned(),
                "exchange" => self.exchanges.published(&value).to_owned(),
                _ => value.into_owned(),
            };
            (name, value)
        });
        Cow::Owned(form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish())
    }

    /// The published form of a channel.
    #[must_use]
    pub fn channel(&self, channel: &Channel) -> Channel {
        let kind = self.types.published(&channel.kind).to_owned();
        let exchange = self.exchanges.published(&channel.exchange).to_owned();
        Channel { kind, exchange, ..channel.clone() }
    }

    /// The neutral identity of a published one. Its field names are neutral already.
    pub fn identity(&self, id: &mut SeriesId) {
        for (name, names) in [(&mut id.data_type, &self.types), (&mut id.exchange, &self.exchanges)] {
            if let Some(published) = name {
                let neutral = names.neutral(published);
                if neutral != published {
                    *published = neutral.to_owned();
                }
            }
        }
    }

    /// The published name of a field; `None` where it is the neutral one.
    pub fn renamed_field(&self, neutral: &str) -> Option<&str> {
        self.fields.entries().get(neutral).map(String::as_str)
    }

    /// The neutral name of a field on the wire. A field that has the neutral name of another one is a stranger: it must
    /// not pass for that, and gets a `_`.
    pub fn neutral_field<'a>(&'a self, published: &'a str) -> Cow<'a, str> {
        match self.fields.neutral(published) {
            same if same == published && self.renamed_field(same).is_some() => Cow::Owned(format!("{same}_")),
            neutral => Cow::Borrowed(neutral),
        }
    }

    /// The neutral form of a record and all that it holds: names of fields, and the types and exchanges that stand under
    /// `type`, `types`, `exchange` and `exchanges`.
    #[must_use]
    pub fn record(&self, record: Map<String, Value>) -> Map<String, Value> {
        if !self.reads() {
            return record;
        }
        let mut neutral = Map::new();
        for (name, value) in record {
            let mut name = self.neutral_field(&name).into_owned();
            let value = self.value(&name, value);
            while neutral.contains_key(&name) {
                name.push('_');
            }
            neutral.insert(name, value);
        }
        neutral
    }

    fn value(&self, name: &str, value: Value) -> Value {
        match value {
            Value::Object(record) => Value::Object(self.record(record)),
            Value::Array(list) => Value::Array(list.into_iter().map(|one| self.value(name, one)).collect()),
            Value::String(word) => Value::String(match name {
                "type" | "types" => self.types.neutral(&word).to_owned(),
                "exchange" | "exchanges" => self.exchanges.neutral(&word).to_owned(),
                _ => word,
            }),
            other => other,
        }
    }

    /// The neutral name of a data or channel type that was given by its published one.
    pub fn meant_type(&self, name: &str) -> Option<&str> {
        self.types.meant(name)
    }

    /// The neutral name of an exchange that was given by its published one.
    pub fn meant_exchange(&self, name: &str) -> Option<&str> {
        self.exchanges.meant(name)
    }
}

fn header_problem(name: &str) -> Option<String> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() {
        return Some("the name is empty; write the header that carries the key, such as X-Service-Key".to_owned());
    }
    if !name.bytes().all(token) {
        return Some(format!("{} is no name of a header; use letters, digits and hyphens", redacted(name)));
    }
    let lower = name.to_ascii_lowercase();
    if TRANSPORT_HEADERS.contains(&lower.as_str()) || lower.starts_with("sec-") {
        return Some(format!(
            "{name:?} says how a message travels and cannot carry a key; name the service's own header"
        ));
    }
    None
}

fn address_problem(address: &str) -> Option<String> {
    let host = ["http://", "https://"].iter().find_map(|scheme| address.strip_prefix(scheme));
    if host.is_some_and(|host| !host.is_empty() && !host.contains(['@', '?', '#'])) {
        return None;
    }
    // Not shown: it may hold a password.
    Some("it must be http:// or https:// with a host and without user, password, query or fragment".to_owned())
}

fn prefix_problem(prefix: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte);
    let segments = prefix.strip_prefix('/').map(|path| path.split('/'));
    let right = |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(plain);
    if segments.is_some_and(|mut segments| segments.all(right)) {
        return None;
    }
    // One without the slash at its begin may be anything.
    let shown = if prefix.starts_with('/') { format!("{prefix:?}") } else { redacted(prefix) };
    Some(format!(
        "{shown} is no path; write one that starts with / and does not end with it, such as {ANALYTICS_PREFIX}"
    ))
}

#[cfg(test)]
mod tests;
