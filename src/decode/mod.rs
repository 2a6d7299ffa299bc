//! Bytes → columns. The entry point [`points`] takes a `/v1/points` body and returns sorted series, or an error with
//! the position in the body. [`Delimited`] reads the rows of dumps with the same kernels. No HTTP, no Python.

mod batch;
mod delimited;
mod delimiters;
mod eisel_lemire;
mod error;
mod fields;
mod heatmap;
mod json;
mod kernel;
mod list;
mod names;
mod number;
mod open_series;
mod powers;
mod refusal;
mod row_template;
mod row_templates;
mod series;
mod stream;
mod table;
#[cfg(test)]
mod tests;
mod trades;
mod unknown_fields;
mod unordered;
mod values;

pub use delimited::Delimited;
pub use error::DecodeError;
pub use kernel::{KERNEL_VARIABLE, Kernel};
pub use stream::PointsDecoder;
pub use trades::{LONGEST_ID, TradePoint, trades_of_frame};
pub use unknown_fields::{column_name, is_settled, settled};

use std::sync::Arc;

use crate::columns::Series;
use crate::protocol::{Dialect, SeriesId};

/// Decodes the body of a `GET /v1/points` answer (service.md 2.2 and 2.3, supplement 2 and 3).
///
/// Keys may be in any order, and unknown fields are kept as columns. Rows are sorted by time; equal duplicates are
/// dropped. `{}`, `{"series":[]}` and series without points are empty, not errors.
///
/// # Errors
/// Anything that is not one complete, valid JSON document of that shape: truncated or malformed JSON, duplicate keys,
/// invalid UTF-8, a number out of range, a point without a timestamp, unpaired levels, two different points for one
/// time.
///
/// ```
/// let body = br#"{"series":[{"id":{"type":"TRADE_SIDE_AGNOSTIC_AGG","exchange":"BYBIT","rawSymbol":"BTCUSDT"},
///   "points":[{"Point":{"open":1,"high":3,"low":1,"close":2,"timestamp":{"s":1776880800}}}]}]}"#;
/// let series = marketpoints::decode::points(body)?;
/// assert_eq!(series[0].timestamps, [1_776_880_800_000_000_000]);
/// assert_eq!(series[0].floats("close"), Some(&[2.0][..]));
///
/// let cut = marketpoints::decode::points(&body[..body.len() - 2]).unwrap_err();
/// assert!(cut.to_string().contains("ends"), "{cut}");
/// # Ok::<(), marketpoints::decode::DecodeError>(())
/// ```
pub fn points(body: &[u8]) -> Result<Vec<Series>, DecodeError> {
    PointsDecoder::new()?.rest(body).map(settled)
}

/// As [`points`], for a service with a dialect: the series have the specification's names.
pub fn points_in(dialect: Option<Arc<Dialect>>, body: &[u8]) -> Result<Vec<Series>, DecodeError> {
    PointsDecoder::new()?.speaking(dialect).rest(body).map(settled)
}

/// The same with a given kernel; one that the processor lacks is replaced by the portable one.
pub fn points_with(kernel: Kernel, body: &[u8]) -> Result<Vec<Series>, DecodeError> {
    PointsDecoder::with(kernel).rest(body).map(settled)
}

/// An empty series with that identity and the columns of its type.
pub fn nothing(id: SeriesId) -> Series {
    series::nothing(Arc::new(id))
}
