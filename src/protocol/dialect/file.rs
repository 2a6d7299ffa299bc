//! The parts of a dialect from TOML.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::parts::{DialectError, DialectParts};
use crate::protocol::suggest::hint;

/// Keys of the file.
const KEYS: [&str; 6] = ["key_header", "base_url", "analytics_prefix", "types", "exchanges", "fields"];

/// Reads the parts, which are not checked yet.
pub(super) fn parts(text: &str) -> Result<DialectParts, DialectError> {
    let table: Table = text.parse().map_err(|bad: toml::de::Error| {
        let before = bad.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        wrong(format!("line {line}"), format!("the file is not valid TOML: {}", bad.message().trim()))
    })?;
    let mut parts = DialectParts::default();
    for (key, value) in table {
        match key.as_str() {
            "key_header" => parts.key_header = Some(word(key, value)?),
            "base_url" => parts.base_url = Some(word(key, value)?),
            "analytics_prefix" => parts.analytics_prefix = Some(word(key, value)?),
            "types" => parts.types = names(key, value)?,
            "exchanges" => parts.exchanges = names(key, value)?,
            "fields" => parts.fields = names(key, value)?,
            _ => {
                let near = hint(&key, KEYS);
                return Err(wrong(key, format!("unknown; a dialect has {}{near}", KEYS.join(", "))));
            }
        }
    }
    Ok(parts)
}

fn word(key: String, value: Value) -> Result<String, DialectError> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(wrong(key, format!("a text is wanted, in quotes; this is of TOML's type {}", other.type_str()))),
    }
}

fn names(key: String, value: Value) -> Result<BTreeMap<String, String>, DialectError> {
    match value {
        Value::Table(entries) => {
            let named = |(name, value): (String, Value)| Ok((name.clone(), word(format!("{key}.{name}"), value)?));
            entries.into_iter().map(named).collect()
        }
        other => {
            let problem = format!(
                "a table is wanted, with a line NEUTRAL = \"PUBLISHED\" for each name; this is of TOML's type {}",
                other.type_str()
            );
            Err(wrong(key, problem))
        }
    }
}

fn wrong(key: String, problem: String) -> DialectError {
    DialectError { file: None, key, problem }
}
