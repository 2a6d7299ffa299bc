//! Errors of the engine: refused queries, and failures of files and sources.

use crate::archive::ArchiveError;
use crate::market::raw::SourceError;
use crate::protocol::ParamError;

/// A query without an answer.
#[derive(Debug, thiserror::Error)]
pub enum MarketError {
    /// The query breaks a rule of section 4.
    #[error(transparent)]
    Invalid(#[from] ParamError),
    /// No such exchange (supplement 6).
    #[error(transparent)]
    UnknownExchange(ParamError),
    /// No such symbol, coin or token on the exchange (supplement 6).
    #[error(transparent)]
    UnknownSymbol(ParamError),
    /// The archive does not have the window: it was never downloaded.
    #[error("{0}")]
    NotArchived(String),
    /// The data could not be read or written.
    #[error("{0}")]
    Internal(String),
}

impl MarketError {
    /// For listings: `None` if a file cannot be read, so that one damaged file does not hide the other markets. Queries for
    /// the data itself get the error.
    pub(in crate::market) fn listed<T, E: Into<Self>>(outcome: Result<T, E>) -> Result<Option<T>, Self> {
        match outcome.map_err(Into::into) {
            Ok(value) => Ok(Some(value)),
            Err(Self::Internal(_)) => Ok(None),
            Err(invalid) => Err(invalid),
        }
    }
}

impl From<SourceError> for MarketError {
    fn from(error: SourceError) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<ArchiveError> for MarketError {
    fn from(error: ArchiveError) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<std::io::Error> for MarketError {
    fn from(error: std::io::Error) -> Self {
        Self::Internal(error.to_string())
    }
}
