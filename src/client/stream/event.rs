//! Parses data frames into events. Names and values are kept as sent: types, keys and exchanges are open (supplement 1
//! and 7).

use serde_json::{Map, Value};

use crate::clock::{SECOND, UnixNanos};

/// Key of the points of a data frame, and of a point's series.
const POINTS: &str = "points";
const SERIES: &str = "series";

/// One event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Event {
    /// Its series by wire name; empty for a frame that is no data frame.
    pub series: Map<String, Value>,
    /// Key of its values, such as `trade`; empty for a frame that is no data frame.
    pub name: String,
    /// Its values by wire name.
    pub values: Map<String, Value>,
    /// The other fields of the point.
    pub extra: Map<String, Value>,
}

impl Event {
    /// The events of a frame. A frame without points becomes a single event without a name.
    pub(super) fn of_frame(mut frame: Map<String, Value>) -> Vec<Self> {
        match frame.remove(POINTS) {
            Some(Value::Array(points)) => points.into_iter().map(Self::of_point).collect(),
            Some(Value::Null) => Vec::new(),
            Some(other) => {
                frame.insert(POINTS.to_owned(), other);
                vec![Self { values: frame, ..Self::default() }]
            }
            None => vec![Self { values: frame, ..Self::default() }],
        }
    }

    fn of_point(point: Value) -> Self {
        let mut rest = match point {
            Value::Object(fields) => fields,
            other => Map::from_iter([(String::new(), other)]),
        };
        let series = match rest.remove(SERIES) {
            Some(Value::Object(series)) => series,
            _ => Map::new(),
        };
        let payload = rest.iter().find(|(_, value)| value.is_object()).map(|(name, _)| name.clone());
        let values = payload.as_ref().and_then(|name| rest.remove(name));
        let values = if let Some(Value::Object(values)) = values { values } else { Map::new() };
        Self { series, name: payload.unwrap_or_default(), values, extra: rest }
    }

    fn text(&self, name: &str) -> &str {
        self.series.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Channel type; empty if not sent.
    pub fn kind(&self) -> &str {
        self.text("type")
    }

    /// Exchange identifier; empty if not sent.
    pub fn exchange(&self) -> &str {
        self.text("exchange")
    }

    /// Exchange-native symbol; empty if not sent.
    pub fn symbol(&self) -> &str {
        self.text("symbol")
    }

    /// Identifier of the event, if any.
    pub fn id(&self) -> Option<&str> {
        self.values.get("id").and_then(Value::as_str).filter(|id| !id.is_empty())
    }

    /// The event's time, if it has one that fits into nanoseconds.
    pub fn time(&self) -> Option<UnixNanos> {
        nanoseconds(self.values.get("timestamp")?)
    }
}

/// Parses a time object. `{"s","ns"}`, used elsewhere in the service, is accepted too.
pub fn nanoseconds(time: &Value) -> Option<UnixNanos> {
    let part = |names: [&str; 2]| names.into_iter().find_map(|name| time.get(name));
    let seconds = whole(part(["seconds", "s"])?)?;
    let beyond = part(["nanoseconds", "ns"]).map_or(Some(0), whole)?;
    seconds.checked_mul(SECOND)?.checked_add(beyond).map(UnixNanos)
}

/// An integer, which may be written with an exponent or as a string.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Some(whole),
            None => number
                .as_f64()
                .filter(|number| number.fract() == 0.0 && number.abs() < 9e18)
                .map(|number| number as i64),
        },
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Vec<Event> {
        Event::of_frame(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn the_frame_of_the_supplement_is_read() {
        let event = events(
            r#"{"points":[{"series":{"type":"TRADE","symbol":"BTCUSDT","exchange":"BINANCE_FUTURES",
            "normalizedSymbol":"BTC-USDT","category":"PERPETUAL","side":"BUY","coin":"BTC","inverse":false},
            "trade":{"id":"7126482260","price":90003,"amount":0.002,
            "timestamp":{"seconds":1769058875,"nanoseconds":830000000}}}]}"#,
        )
        .remove(0);
        assert_eq!((event.kind(), event.exchange(), event.symbol()), ("TRADE", "BINANCE_FUTURES", "BTCUSDT"));
        assert_eq!((event.name.as_str(), event.id()), ("trade", Some("7126482260")));
        assert_eq!(event.time(), Some(UnixNanos(1_769_058_875_830_000_000)));
        assert_eq!((event.values["price"].as_f64(), event.values["amount"].as_f64()), (Some(90_003.0), Some(0.002)));
    }

    #[test]
    fn times_are_read_in_every_spelling() {
        let time = |text: &str| nanoseconds(&serde_json::from_str(text).unwrap()).map(|time| time.0);
        assert_eq!(time(r#"{"seconds":5}"#), Some(5 * SECOND));
        assert_eq!(time(r#"{"seconds":1.769058875e+09,"nanoseconds":7}"#), Some(1_769_058_875_000_000_007));
        assert_eq!(time(r#"{"seconds":"5","nanoseconds":"1"}"#), Some(5 * SECOND + 1));
        assert_eq!(time(r#"{"s":5,"ns":2}"#), Some(5 * SECOND + 2));
        for text in ["{}", "5", r#"{"seconds":1e300}"#, r#"{"seconds":99999999999999}"#, r#"{"seconds":1.5}"#] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_passes() {
        let unknown = events(r#"{"points":[{"series":{"type":"NEW"},"note":"x","new":{"a":1},"more":[2]}],"seq":4}"#);
        assert_eq!((unknown[0].name.as_str(), unknown[0].values["a"].as_i64()), ("new", Some(1)));
        assert_eq!(unknown[0].extra.len(), 2);
        let frame = events(r#"{"heartbeat":1}"#).remove(0);
        assert_eq!((frame.name.as_str(), frame.values["heartbeat"].as_i64()), ("", Some(1)));
        assert_eq!(events(r#"{"points":[]}"#), []);
        assert_eq!(events(r#"{"points":[7]}"#)[0].extra[""], 7);
        assert_eq!(events(r#"{"points":"none"}"#)[0].values["points"], "none");
    }
}
