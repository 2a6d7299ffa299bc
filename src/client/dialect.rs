//! A client's dialect: reading it from a file, and checking that callers use neutral names.

use std::path::Path;

use super::error::ClientError;
use super::inner::ClientInner;
use super::request::PointsRequest;
use crate::archive::read_settings_text;
use crate::protocol::{Dialect, DialectError};

/// Reads a dialect from a TOML file.
///
/// # Errors
/// [`super::ErrorKind::InvalidRequest`] for a file that cannot be read, and for what [`Dialect::from_toml`] refuses.
pub fn read_dialect(path: &Path) -> Result<Dialect, ClientError> {
    let file = path.display().to_string();
    let text = read_settings_text(path)
        .map_err(|error| ClientError::invalid(format!("dialect {file}: it cannot be read: {error}")))?;
    Ok(Dialect::from_toml(&text, &file)?)
}

impl From<DialectError> for ClientError {
    fn from(error: DialectError) -> Self {
        Self::invalid(error.to_string())
    }
}

impl ClientInner {
    /// As [`ClientInner::check_names`], for a request for points.
    pub(super) fn check_request(&self, request: &PointsRequest) -> Result<(), ClientError> {
        self.check_names([&request.query.data_type], &request.query.exchanges)
    }

    /// Refuses a published name where its neutral name is needed: weight, walls and archive keys depend on the neutral
    /// name.
    pub(super) fn check_names<'a>(
        &self,
        types: impl IntoIterator<Item = &'a String>,
        exchanges: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), ClientError> {
        let Some(dialect) = self.transport.dialect() else { return Ok(()) };
        let types = types.into_iter().map(|name| ("type", name, dialect.meant_type(name)));
        let exchanges = exchanges.into_iter().map(|name| ("exchange", name, dialect.meant_exchange(name)));
        match types.chain(exchanges).find_map(|(what, name, meant)| Some((what, name, meant?))) {
            None => Ok(()),
            Some((what, name, meant)) => {
                let message = format!("{what} {name:?} is the published name of {meant} in this client's dialect");
                Err(ClientError::invalid(format!("{message}; give {meant}")))
            }
        }
    }
}
