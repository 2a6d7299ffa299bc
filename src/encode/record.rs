//! Records (markets, usage, errors) as JSON with the service's spelling of doubles (supplement 2).

use std::io;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use super::number::double;

/// Compact JSON, except for the spelling of doubles.
struct WireStyle;

impl Formatter for WireStyle {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let mut text = Vec::with_capacity(24);
        double(&mut text, value);
        writer.write_all(&text)
    }

    fn write_f32<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        self.write_f64(writer, f64::from(value))
    }
}

/// A record on one line without a trailing newline. What is left out is the record's own rule; whole numbers stay plain.
///
/// # Errors
/// A record that JSON cannot hold: a map whose keys are not strings, or a `Serialize` that fails by itself.
pub fn record(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = Vec::with_capacity(256);
    value.serialize(&mut Serializer::with_formatter(&mut out, WireStyle))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{MarketListing, MarketsPage, Timestamp, Usage};

    fn text(value: &impl Serialize) -> String {
        String::from_utf8(record(value).unwrap()).unwrap()
    }

    #[test]
    fn usage_leaves_zeros_out_and_stays_plain() {
        let usage = Usage { limit: 1_000_000, remaining: 20, used: 0, reset: 1_776_880_800, window_seconds: 60 };
        assert_eq!(text(&usage), r#"{"limit":1000000,"remaining":20,"reset":1776880800,"window_seconds":60}"#);
    }

    #[test]
    fn markets_spell_doubles_as_the_service_does_in_known_and_unknown_fields() {
        let mut market = MarketListing {
            exchange: "BYBIT".into(),
            last_price: 100.0,
            volume_24h: 19_340_026.0,
            price_change_24h: -8.81e-6,
            available_since: Some(Timestamp { s: 1_776_880_800, ns: 0 }),
            liquidity: 2.5e6,
            ..MarketListing::default()
        };
        market.extra.insert("marketRank".into(), 7.into());
        market.extra.insert("newer".into(), 1e-5.into());
        let page = MarketsPage { symbols: vec![market], next_offset: 1 };
        assert_eq!(
            text(&page),
            "{\"symbols\":[{\"exchange\":\"BYBIT\",\"lastPrice\":100,\"volume24h\":1.9340026e+07,\
             \"priceChange24h\":-8.81e-06,\"availableSince\":{\"s\":1776880800},\"liquidity\":2.5e+06,\
             \"marketRank\":7,\"newer\":1e-05}],\"nextOffset\":1}"
        );
        assert_eq!(text(&MarketsPage::default()), "{}");
    }

    #[test]
    fn what_json_cannot_hold_is_an_error() {
        let by_pair = std::collections::BTreeMap::from([((1, 2), 3)]);
        assert!(record(&by_pair).is_err());
    }
}
