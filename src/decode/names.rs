//! Translates the names of a dialect. This happens once per series, where a table of columns is created and where an
//! identity is read, so points are read at the same speed.

use std::borrow::Cow;
use std::sync::Arc;

use crate::protocol::{Dialect, Field, SeriesId};

/// The dialect of a body; the default is the specification's names.
#[derive(Clone, Default)]
pub(super) struct BodyNames(Option<Arc<Dialect>>);

impl BodyNames {
    pub(super) fn new(dialect: Option<Arc<Dialect>>) -> Self {
        Self(dialect)
    }

    /// The name of a field on the wire.
    pub(super) fn wire(&self, field: &'static str) -> Cow<'static, str> {
        let renamed = self.0.as_ref().and_then(|dialect| dialect.renamed_field(field));
        renamed.map_or(Cow::Borrowed(field), |published| Cow::Owned(published.to_owned()))
    }

    /// The field of a name on the wire.
    #[inline]
    pub(super) fn field<'a>(&'a self, wire: &'a str) -> Cow<'a, str> {
        match &self.0 {
            None => Cow::Borrowed(wire),
            Some(dialect) => dialect.neutral_field(wire),
        }
    }

    /// Whether they are the specification's names.
    pub(super) fn are_neutral(&self) -> bool {
        self.0.is_none()
    }

    /// Whether any of these fields has another name on the wire.
    pub(super) fn rename(&self, fields: &[Field]) -> bool {
        self.0.as_ref().is_some_and(|dialect| fields.iter().any(|field| dialect.renamed_field(field.wire).is_some()))
    }

    /// Translates an identity to neutral names.
    pub(super) fn identity(&self, id: &mut SeriesId) {
        if let Some(dialect) = &self.0 {
            dialect.identity(id);
        }
    }
}
