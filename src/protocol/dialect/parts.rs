//! Parts of a dialect, and its errors.

use std::collections::BTreeMap;

/// Parts of a dialect: a part is absent or empty if the neutral names hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DialectParts {
    /// Header that carries the key, instead of `X-Service-Key` (section 5).
    pub key_header: Option<String>,
    /// Base address of the deployment; a client may have another one.
    pub base_url: Option<String>,
    /// Base path of the analytics, instead of `/v1/prediction/analytics` (section 4.3).
    pub analytics_prefix: Option<String>,
    /// Published data and channel types by their neutral names.
    pub types: BTreeMap<String, String>,
    /// Published exchange values by their neutral names.
    pub exchanges: BTreeMap<String, String>,
    /// Published names of fields in answers by their neutral names; URL parameters are no fields.
    pub fields: BTreeMap<String, String>,
}

/// Error in a dialect: its place, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {key}: {problem}", file.as_deref().unwrap_or("dialect"))]
pub struct DialectError {
    /// The file it is read from, if it is.
    pub file: Option<String>,
    /// The entry, such as `types.VENUE_LIQUIDATION_AGG`, or the line.
    pub key: String,
    /// The problem, and valid values.
    pub problem: String,
}
