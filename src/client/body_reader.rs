//! Readers that take the body of a successful answer as it arrives.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::{ClientError, ErrorKind};
use crate::columns::Series;
use crate::decode::{DecodeError, PointsDecoder};
use crate::protocol::Dialect;
use crate::protocol::excerpt::{excerpt, within};

/// Most bytes reserved for an announced length before the body arrives.
const MAX_RESERVE: u64 = 256 << 20;
/// Bytes that are decoded together: enough to outweigh the overhead of a call, few enough for the CPU caches.
const PORTION: usize = 64 << 10;

/// A complete 200 body that cannot be decoded.
pub(super) struct Unreadable {
    pub error: ClientError,
    /// The document ended too early: the transfer was cut off.
    pub cut: bool,
}

/// Reads one body in portions, in order. Every attempt uses a new reader.
pub(super) trait BodyReader: Send {
    type Value: Send;

    /// Called before the first portion, with the announced number of bytes, if any.
    fn begin(&mut self, announced: Option<u64>);

    /// The next portion. Errors are reported by [`Self::finish`]: only a complete body is judged.
    fn portion(&mut self, bytes: &[u8]);

    /// Most bytes of a body that are read.
    const MOST: u64 = u64::MAX;

    /// Why reading should stop, if it should.
    fn refusal(&self) -> Option<String> {
        None
    }

    /// The value of the complete body.
    fn finish(self) -> Result<Self::Value, Unreadable>;
}

/// Returns the body's bytes.
#[derive(Default)]
pub(super) struct BytesReader(BytesMut);

impl BytesReader {
    pub(super) fn into_bytes(self) -> Bytes {
        self.0.freeze()
    }
}

impl BodyReader for BytesReader {
    type Value = Bytes;

    fn begin(&mut self, announced: Option<u64>) {
        self.0.reserve(announced.unwrap_or(0).min(MAX_RESERVE) as usize);
    }

    fn portion(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(self) -> Result<Bytes, Unreadable> {
        Ok(self.into_bytes())
    }
}

/// The series of a `/v1/points` body, in the specification's names. They are decoded while the rest downloads, so that
/// the complete body is never in memory. Decoding is faster than any network; a portion takes microseconds.
pub(super) struct PointsReader {
    decoder: Result<PointsDecoder, DecodeError>,
    length: usize,
    gathered: Vec<u8>,
    panicked: bool,
    /// Most bytes that the columns may take in memory, and whether they take more.
    most: u64,
    too_large: bool,
}

impl PointsReader {
    /// For an answer whose columns may take so many bytes in memory.
    pub(super) fn new(dialect: Option<Arc<Dialect>>, most: u64) -> Self {
        let bound = usize::try_from(most).unwrap_or(usize::MAX);
        let decoder = PointsDecoder::new().map(|decoder| decoder.speaking(dialect).holding_at_most(bound));
        Self { decoder, length: 0, gathered: Vec::new(), panicked: false, most, too_large: false }
    }

    fn feed(&mut self, bytes: &[u8]) {
        if let Ok(decoder) = &mut self.decoder
            && !self.panicked
        {
            // The decoder remembers the error and reports it at the end.
            let fed = catch_unwind(AssertUnwindSafe(|| drop(decoder.feed(bytes))));
            self.panicked = fed.is_err();
            self.too_large = decoder.is_too_large();
        }
    }
}

impl BodyReader for PointsReader {
    type Value = Vec<Series>;

    fn begin(&mut self, announced: Option<u64>) {
        if let Ok(decoder) = &mut self.decoder {
            decoder.expect(announced.unwrap_or(0).min(MAX_RESERVE) as usize);
        }
    }

    fn portion(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        if self.gathered.is_empty() && bytes.len() >= PORTION {
            return self.feed(bytes);
        }
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= PORTION {
            let mut gathered = std::mem::take(&mut self.gathered);
            self.feed(&gathered);
            gathered.clear();
            self.gathered = gathered;
        }
    }

    fn refusal(&self) -> Option<String> {
        self.too_large.then(|| {
            format!(
                "the answer takes more than {} bytes in memory, more than what was asked can need; if it is right, set \
                 max_memory=",
                self.most
            )
        })
    }

    fn finish(self) -> Result<Vec<Series>, Unreadable> {
        let length = self.length;
        let unreadable =
            |error: DecodeError| Unreadable { cut: error.offset >= length, error: ClientError::undecodable(error) };
        let stopped = || Unreadable { cut: false, error: ClientError::new(ErrorKind::Decode, "the decoder stopped") };
        let decoder = self.decoder.map_err(unreadable)?;
        if self.panicked {
            return Err(stopped());
        }
        match catch_unwind(AssertUnwindSafe(|| decoder.finish_as_sent(&self.gathered))) {
            Ok(series) => series.map_err(unreadable),
            Err(_) => Err(stopped()),
        }
    }
}

/// The value of an answer's fields, after translating a dialect's names.
pub(super) fn record<T: DeserializeOwned>(
    fields: Map<String, Value>,
    dialect: Option<&Arc<Dialect>>,
) -> serde_json::Result<T> {
    let fields = match dialect {
        None => fields,
        Some(dialect) => dialect.record(fields),
    };
    let mut value = Value::Object(fields);
    remove_nulls(&mut value);
    serde_json::from_value(value)
}

/// Removes nulls, which mean the same as absent fields. They are removed from lists too, except lists of numbers, where
/// positions matter.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(remove_nulls);
        }
        Value::Array(values) => {
            if !values.iter().any(Value::is_number) {
                values.retain(|value| !value.is_null());
            }
            values.iter_mut().for_each(remove_nulls);
        }
        _ => {}
    }
}

/// Reads an answer that is one JSON object.
pub(super) struct ObjectReader<'a, T> {
    body: BytesReader,
    dialect: Option<&'a Arc<Dialect>>,
    of: PhantomData<fn() -> T>,
}

impl<'a, T> ObjectReader<'a, T> {
    pub(super) fn new(dialect: Option<&'a Arc<Dialect>>) -> Self {
        Self { body: BytesReader::default(), dialect, of: PhantomData }
    }
}

impl<T: DeserializeOwned + Send> BodyReader for ObjectReader<'_, T> {
    type Value = T;
    /// The parsed tree of such a body takes ten times as much memory.
    const MOST: u64 = 64 << 20;

    fn begin(&mut self, announced: Option<u64>) {
        self.body.begin(announced);
    }

    fn portion(&mut self, bytes: &[u8]) {
        self.body.portion(bytes);
    }

    fn finish(self) -> Result<T, Unreadable> {
        let unreadable = |message: String, cut: bool| Unreadable {
            cut,
            error: ClientError::new(ErrorKind::Decode, format!("the answer is not valid: {}", within(&message, 400))),
        };
        let fields: Map<String, Value> =
            serde_json::from_slice(&self.body.into_bytes()).map_err(|bad| unreadable(bad.to_string(), bad.is_eof()))?;
        if let Some(error) = ["error", "code", "message"].iter().find_map(|name| fields.get(*name)) {
            return Err(unreadable(format!("an error object, not data: {}", excerpt(&error.to_string())), false));
        }
        record(fields, self.dialect).map_err(|bad| unreadable(bad.to_string(), false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Column;

    fn body(rows: usize) -> String {
        let point = |row: usize| format!(r#"{{"Point":{{"close":{row}.5,"timestamp":{{"s":{}}}}}}}"#, row * 60);
        let points = (1..=rows).map(point).collect::<Vec<_>>().join(",");
        format!(r#"{{"series":[{{"id":{{"type":"TRADE_SIDE_AGNOSTIC_AGG"}},"points":[{points}]}}]}}"#)
    }

    fn read(body: &[u8], portion: usize, announced: Option<u64>) -> Result<Vec<Series>, Unreadable> {
        let mut reading = PointsReader::new(None, u64::MAX);
        reading.begin(announced);
        body.chunks(portion).for_each(|bytes| reading.portion(bytes));
        reading.finish()
    }

    #[test]
    fn nulls_in_records_are_absent_fields_and_unknown_numbers() {
        use crate::protocol::{MarketsPage, records::MarketListing};
        let text = r#"{"symbols":[null,{"exchange":"X","coin":null,"lastPrice":null,"prices":[0.5,null,1],
            "new":{"a":null,"b":[null,"c"]},"predictionMarkets":[{"outcomes":["Yes",null],"closed":null}]}],
            "nextOffset":null}"#;
        let page: MarketsPage = record(serde_json::from_str(text).unwrap(), None).unwrap();
        let MarketListing { exchange, coin, last_price, prices, extra, prediction_markets, .. } = &page.symbols[0];
        assert_eq!((page.symbols.len(), exchange.as_str(), coin.as_str(), *last_price), (1, "X", "", 0.0));
        assert!(prices[0] == 0.5 && prices[1].is_nan() && prices[2] == 1.0);
        assert_eq!(extra["new"], serde_json::json!({"b": ["c"]}));
        assert_eq!(prediction_markets[0].outcomes, ["Yes"]);
    }

    #[test]
    fn any_portions_and_any_announced_length_give_the_same_series() {
        let body = body(5_000);
        for portion in [100, 1_000, PORTION - 1, PORTION, 100_000, body.len()] {
            for announced in [None, Some(0), Some(7), Some(body.len() as u64), Some(u64::MAX)] {
                let series =
                    read(body.as_bytes(), portion, announced).unwrap_or_else(|bad| panic!("{}", bad.error.message));
                assert_eq!(series.len(), 1);
                assert!(series[0].timestamps.iter().copied().eq((1..=5_000).map(|row| row * 60_000_000_000)));
                let close = &series[0].columns.iter().find(|(name, _)| name == "close").unwrap().1;
                assert_eq!(close, &Column::Float((1..=5_000).map(|row| f64::from(row) + 0.5).collect()));
            }
        }
    }

    #[test]
    fn a_body_that_ends_early_is_cut_and_a_bad_one_is_not() {
        let whole = body(5_000);
        for portion in [1_000, PORTION, 1_000_000] {
            for length in [0, 1, 50, 70_000, whole.len() - 1] {
                assert!(read(&whole.as_bytes()[..length], portion, None).err().unwrap().cut, "{length}");
            }
            let bad = read(whole.replacen("4000.5", "4000.x", 1).as_bytes(), portion, None).err().unwrap();
            let place = whole.find("4000.5").unwrap() + "4000.".len();
            assert!(!bad.cut && bad.error.message.contains(&format!("byte {place}")), "{}", bad.error.message);
        }
    }
}
