//! Reading and writing single parameters.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use crate::protocol::suggest::hint;

/// A parameter that could not be read: which, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parameter {name}: {problem}")]
pub struct ParamError {
    /// Name of the parameter.
    pub name: String,
    /// The problem, and valid values.
    pub problem: String,
}

impl ParamError {
    /// A parameter and what is wrong with it.
    pub fn new(name: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { name: name.into(), problem: problem.into() }
    }
}

pub(super) type Pairs<'a> = Vec<(&'a str, Cow<'a, str>)>;

pub(super) fn push_text<'a>(pairs: &mut Pairs<'a>, name: &'a str, value: Option<&'a str>) {
    pairs.extend(value.map(|text| (name, Cow::Borrowed(text))));
}

pub(super) fn push_number<'a>(pairs: &mut Pairs<'a>, name: &'a str, value: Option<impl Display>) {
    pairs.extend(value.map(|number| (name, Cow::Owned(number.to_string()))));
}

pub(super) fn push_flag<'a>(pairs: &mut Pairs<'a>, name: &'a str, value: bool) {
    push_text(pairs, name, value.then_some("true"));
}

/// The error for parameters that nobody reads, with a hint at the nearest known name, or else all of them; `Ok` when there
/// are none.
pub fn refuse_unknown(extra: &[(String, String)], known: &[&str]) -> Result<(), ParamError> {
    let Some((name, _)) = extra.first() else { return Ok(()) };
    let near = hint(name, known.iter().copied());
    let remedy = match known {
        _ if !near.is_empty() => near,
        [] => "; this path takes no parameters".to_owned(),
        known => format!("; known are {}", known.join(", ")),
    };
    Err(ParamError::new(name.as_str(), format!("unknown{remedy}")))
}

pub(super) fn number<T: FromStr>(name: &str, value: &str, wanted: &str) -> Result<T, ParamError> {
    value.parse().map_err(|_| ParamError::new(name, format!("{value:?} is not {wanted}")))
}

pub(super) fn flag(name: &str, value: &str) -> Result<bool, ParamError> {
    choice(name, value, value.parse().ok(), &["true", "false"])
}

pub(super) fn choice<T>(name: &str, value: &str, found: Option<T>, valid: &[&str]) -> Result<T, ParamError> {
    found.ok_or_else(|| ParamError::new(name, format!("{value:?} is not one of {}", valid.join(", "))))
}
