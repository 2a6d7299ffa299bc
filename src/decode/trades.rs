//! Reads frames of trades and liquidations (supplement 7) without a tree, because busy streams consist of them. Only
//! frames of nothing else in the service's own spelling are read here; others take the general path.

use std::borrow::Cow;

use memchr::memchr2;

use super::json::{Reader, Result};
use super::kernel::Kernel;
use super::number;
use crate::clock::{UnixNanos, UnixSecond};
use crate::columns::NO_TIME;

/// Longest identifier, in bytes.
pub const LONGEST_ID: usize = 64;

/// A trade or a liquidation in a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TradePoint<'a> {
    /// Whether it is a liquidation, by the key of its values.
    pub is_liquidation: bool,
    /// The JSON object of its series, without nested objects. Its grammar is not checked.
    pub series: &'a [u8],
    /// Identifier; empty if not sent.
    pub id: &'a str,
    /// Price in quote; 0 if not sent.
    pub price: f64,
    /// Amount in the venue's unit; 0 if not sent.
    pub amount: f64,
    /// When it happened; [`NO_TIME`] if not sent.
    pub time: UnixNanos,
}

/// Adds a frame's points to `found`; `false`, with nothing added, for any other frame. `likely` is the text of the last
/// frame's last series, which is likely to come again.
pub fn trades_of_frame<'a>(frame: &'a [u8], likely: &[u8], found: &mut Vec<TradePoint<'a>>) -> bool {
    let before = found.len();
    let mut reader = Reader::new(frame, Kernel::Scalar);
    let whole = points(&mut reader, likely, found).unwrap_or(false);
    if !whole {
        found.truncate(before);
    }
    whole
}

/// Reads a complete frame; `false` and an error mean the same.
fn points<'a>(reader: &mut Reader<'a>, likely: &[u8], found: &mut Vec<TradePoint<'a>>) -> Result<bool> {
    if !reader.open(b'{')? || !reader.pass(b"\"points\":") || !reader.open(b'[')? {
        return Ok(false);
    }
    let mut likely = likely;
    loop {
        if !reader.pass(b"{\"series\":") {
            return Ok(false);
        }
        let Some(series) = series(reader, likely) else { return Ok(false) };
        likely = series;
        let is_liquidation = reader.pass(b",\"liquidation\":");
        if !is_liquidation && !reader.pass(b",\"trade\":") {
            return Ok(false);
        }
        let mut point =
            TradePoint { is_liquidation, series, id: "", price: 0.0, amount: 0.0, time: UnixNanos(NO_TIME) };
        if !values(reader, &mut point)? || !reader.pass(b"}") {
            return Ok(false);
        }
        found.push(point);
        if !reader.another(b']')? {
            break;
        }
    }
    let is_all = !reader.another(b'}')?;
    reader.finish()?;
    Ok(is_all)
}

/// The text of an object without nested ones.
fn series<'a>(reader: &mut Reader<'a>, likely: &[u8]) -> Option<&'a [u8]> {
    let (start, bytes) = (reader.offset(), reader.bytes());
    let rest = &bytes[start..];
    if rest.first() != Some(&b'{') {
        return None;
    }
    // The likely case: exactly the object before.
    let length = if !likely.is_empty() && rest.starts_with(likely) {
        likely.len()
    } else {
        let end = memchr2(b'{', b'}', &rest[1..])? + 1;
        // A nested object, or a brace in a string: not handled here.
        if rest[end] == b'{' {
            return None;
        }
        end + 1
    };
    reader.jump(start + length);
    Some(&rest[..length])
}

/// The values of a point; `false` for an unknown key.
fn values<'a>(reader: &mut Reader<'a>, point: &mut TradePoint<'a>) -> Result<bool> {
    let mut more = reader.open(b'{')?;
    while more {
        let Some(name) = reader.plain_key() else { return Ok(false) };
        match name.bytes {
            b"id" => match reader.string()? {
                Cow::Borrowed(id) if id.len() <= LONGEST_ID => point.id = id,
                _ => return Ok(false),
            },
            b"price" => point.price = reader.number()?,
            b"amount" => point.amount = reader.number()?,
            b"timestamp" => match time(reader) {
                Some(time) => point.time = time,
                None => return Ok(false),
            },
            _ => return Ok(false),
        }
        more = reader.another(b'}')?;
    }
    Ok(true)
}

/// A time in the stream's spelling.
fn time(reader: &mut Reader<'_>) -> Option<UnixNanos> {
    let seconds = if reader.pass(b"{\"seconds\":") { reader.plain_integer()? } else { return None };
    let nanoseconds = if reader.pass(b",\"nanoseconds\":") { reader.plain_integer()? } else { 0 };
    reader.pass(b"}").then(|| number::moment(UnixSecond(seconds), nanoseconds).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERIES: &str =
        r#"{"type":"TRADE","symbol":"BTCUSDT","exchange":"BINANCE_FUTURES","side":"BUY","inverse":false}"#;

    fn read(frame: &str) -> Option<Vec<TradePoint<'_>>> {
        let mut found = Vec::new();
        let cold = trades_of_frame(frame.as_bytes(), b"", &mut found);
        // The likely text never changes the result.
        let mut warm = Vec::new();
        assert_eq!(trades_of_frame(frame.as_bytes(), SERIES.as_bytes(), &mut warm), cold);
        assert_eq!(warm, found);
        assert!(cold || found.is_empty());
        cold.then_some(found)
    }

    fn point(name: &str, values: &str) -> String {
        format!(r#"{{"series":{SERIES},"{name}":{values}}}"#)
    }

    #[test]
    fn the_points_of_the_supplement_are_read() {
        let trade = r#"{"id":"7126482260","price":90003,"amount":0.002,"timestamp":{"seconds":1769058875,"nanoseconds":830000000}}"#;
        let frame = format!(r#"{{"points":[{},{}]}}"#, point("trade", trade), point("liquidation", trade));
        let found = read(&frame).unwrap();
        let expected = TradePoint {
            is_liquidation: false,
            series: SERIES.as_bytes(),
            id: "7126482260",
            price: 90_003.0,
            amount: 0.002,
            time: UnixNanos(1_769_058_875_830_000_000),
        };
        assert_eq!(found, [expected, TradePoint { is_liquidation: true, ..expected }]);
    }

    #[test]
    fn what_is_not_sent_is_nothing_and_keys_come_in_any_order() {
        let frame = format!(r#"{{"points":[{}]}}"#, point("trade", "{}"));
        let found = read(&frame).unwrap();
        assert_eq!((found[0].id, found[0].price, found[0].amount, found[0].time), ("", 0.0, 0.0, UnixNanos(NO_TIME)));
        let turned = r#"{"timestamp":{"seconds":5}, "amount" :1e3,"id":"x"}"#;
        assert_eq!(read(&format!(r#"{{"points":[{}]}}"#, point("trade", turned))), None, "a space before a colon");
        let turned = turned.replace(" :", ":");
        let frame = format!("{{\"points\":[{}\n]}} ", point("trade", &turned.replace(", ", ",")));
        let found = read(&frame).unwrap();
        assert_eq!((found[0].id, found[0].amount, found[0].time), ("x", 1_000.0, UnixNanos(5_000_000_000)));
    }

    #[test]
    fn everything_else_is_left_to_the_general_way() {
        let whole = format!(r#"{{"points":[{}]}}"#, point("trade", r#"{"id":"1","price":1}"#));
        assert!(read(&whole).is_some());
        let long = format!(r#"{{"id":"{}"}}"#, "7".repeat(LONGEST_ID + 1));
        for values in [
            r#"{"price":"much"}"#,
            r#"{"price":null}"#,
            r#"{"price":1e999}"#,
            r#"{"fee":1}"#,
            r#"{"id":7}"#,
            r#"{"id":"\u0041"}"#,
            &long,
            r#"{"timestamp":{"seconds":"5"}}"#,
            r#"{"timestamp":{"s":5}}"#,
            r#"{"timestamp":{"seconds":5,"nanoseconds":1000000000}}"#,
            r#"{"timestamp":{"seconds":99999999999}}"#,
            "[]",
        ] {
            assert_eq!(read(&format!(r#"{{"points":[{}]}}"#, point("trade", values))), None, "{values}");
        }
        for frame in [
            "",
            "{}",
            r#"{"points":[]}"#,
            r#"{"points":null}"#,
            r#"{"points":[7]}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            &whole.replace("trade\":{", "funding\":{"),
            &whole.replace("inverse", "{"),
            &whole.replace("false", "{}"),
            &whole.replace("]}", "],\"seq\":1}"),
            &whole.replace("}]}", ",\"more\":1}]}"),
            &format!("{whole}x"),
        ] {
            assert_eq!(read(frame), None, "{frame}");
        }
        // A cut frame is never accepted.
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length]), None);
        }
    }

    #[test]
    fn a_series_that_begins_as_a_known_one_is_another() {
        let longer = SERIES.replace("false", "false,\"more\":1");
        let frame = format!(r#"{{"points":[{{"series":{longer},"trade":{{}}}}]}}"#);
        assert_eq!(read(&frame).unwrap()[0].series, longer.as_bytes());
    }
}
