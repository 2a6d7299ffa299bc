//! One channel: what of which market is wanted (supplement 7).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::kind::{Accepts, ChannelKind, ChannelParameter, ChannelSpec, Family};
use crate::protocol::query::ParamError;
use crate::protocol::query::Spelling;
use crate::protocol::suggest::{did_you_mean, hint};

/// Category that stands for any.
const ANY: &str = "*";
/// Wire names of what every channel has.
const COMMON: [&str; 4] = ["type", "exchange", "symbol", "category"];

/// A channel as it stands in a subscription.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Channel {
    /// Channel type: a name of the table, or an open string.
    pub kind: String,
    /// Exchange identifier.
    pub exchange: String,
    /// Exchange-native symbol.
    pub symbol: String,
    /// Category of the market; `*` is any.
    pub category: String,
    /// Further parameters by wire name.
    pub parameters: BTreeMap<String, String>,
    /// Parameters that the table does not know; they are sent unchecked.
    pub extra: BTreeMap<String, String>,
}

impl Channel {
    /// A channel of any category without further parameters.
    pub fn new(kind: impl Into<String>, exchange: impl Into<String>, symbol: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            exchange: exchange.into(),
            symbol: symbol.into(),
            category: ANY.to_owned(),
            parameters: BTreeMap::new(),
            extra: BTreeMap::new(),
        }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// A parameter by its wire name.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Whether a market of any category is meant.
    pub fn takes_any_category(&self) -> bool {
        self.category == ANY
    }

    /// Whether a market of a category is meant.
    pub fn takes(&self, category: &str) -> bool {
        self.takes_any_category() || self.category == category
    }

    /// Which path serves it.
    pub fn family(&self) -> Family {
        Family::of(&self.kind)
    }

    /// Checks the channel against its row of the table.
    ///
    /// # Errors
    /// A missing exchange or symbol; a missing, unknown or ill-spelt parameter, named, with what would be right. A type
    /// that the table does not know has no rules beyond exchange and symbol.
    pub fn check(&self, spelling: Spelling) -> Result<(), ParamError> {
        for (name, value) in [("exchange", &self.exchange), ("symbol", &self.symbol)] {
            if value.is_empty() {
                return Err(ParamError::new(name, format!("missing; {} is of one market", self.kind)));
            }
        }
        let Some(kind) = ChannelKind::find(&self.kind) else { return Ok(()) };
        let spec = kind.spec();
        for (name, value) in &self.parameters {
            match spec.parameters.iter().find(|known| known.name == name) {
                Some(known) => accept(known, value, spelling)?,
                None => return Err(unknown(spec, name, spelling)),
            }
        }
        let missing = |known: &&ChannelParameter| known.required && !self.parameters.contains_key(known.name);
        match spec.parameters.iter().find(missing) {
            Some(missing) => {
                let problem = format!("missing; {} needs it, {}", spec.name, wanted(missing.accepts, spelling));
                Err(ParamError::new(missing.name, problem))
            }
            None => Ok(()),
        }
    }

    /// The channel as it stands in a request.
    pub fn to_json(&self) -> Value {
        let common = [&self.kind, &self.exchange, &self.symbol, &self.category];
        let named = COMMON.iter().map(|name| (*name).to_owned()).zip(common.map(|value| Value::from(value.as_str())));
        let further = self.parameters.iter().chain(&self.extra);
        let further = further.map(|(name, value)| (name.clone(), Value::from(value.as_str())));
        Value::Object(named.chain(further).collect())
    }

    /// Reads a channel of a request.
    ///
    /// # Errors
    /// When it is no object, the type is missing, or a value is no text.
    pub fn from_json(value: &Value) -> Result<Self, ParamError> {
        let Value::Object(fields) = value else {
            return Err(ParamError::new("channels", "each is an object such as {\"type\":\"TRADE\",…}"));
        };
        let mut parameters = BTreeMap::new();
        for (name, value) in fields {
            let Value::String(text) = value else {
                return Err(ParamError::new(name.as_str(), format!("{value} is no text; write it in quotes")));
            };
            parameters.insert(name.clone(), text.clone());
        }
        let [kind, exchange, symbol, category] = COMMON.map(|name| parameters.remove(name));
        let Some(kind) = kind else {
            let problem = ChannelKind::unknown("").replacen("\"\" is no channel type", "missing", 1);
            return Err(ParamError::new("type", problem));
        };
        let category = category.filter(|category| !category.is_empty()).unwrap_or_else(|| ANY.to_owned());
        Ok(Self {
            kind,
            exchange: exchange.unwrap_or_default(),
            symbol: symbol.unwrap_or_default(),
            category,
            parameters,
            extra: BTreeMap::new(),
        })
    }

    /// Reads the channels of a request's `params`.
    ///
    /// # Errors
    /// When there are none, or one cannot be read.
    pub fn list(params: &Map<String, Value>) -> Result<Vec<Self>, ParamError> {
        match params.get("channels") {
            Some(Value::Array(channels)) if !channels.is_empty() => channels.iter().map(Self::from_json).collect(),
            _ => Err(ParamError::new("channels", "missing; give a list of at least one channel")),
        }
    }
}

/// `rawSymbol` is the name of the queries and the commonest slip.
fn unknown(spec: &ChannelSpec, name: &str, spelling: Spelling) -> ParamError {
    let names = COMMON.into_iter().chain(spec.parameters.iter().map(|known| known.name));
    let names: Vec<String> = names.map(|name| spelling.bare(name)).collect();
    let near = match name {
        "rawSymbol" => did_you_mean("symbol"),
        _ => hint(&spelling.bare(name), names.iter().map(String::as_str)),
    };
    let takes = match spec.parameters {
        [] => "nothing beside exchange, symbol and category".to_owned(),
        _ => names[COMMON.len()..].join(", "),
    };
    ParamError::new(name, format!("unknown; {} takes {takes}{near}", spec.name))
}

fn accept(known: &ChannelParameter, value: &str, spelling: Spelling) -> Result<(), ParamError> {
    let right = match known.accepts {
        Accepts::OneOf(words) => words.contains(&value),
        Accepts::Price => value.parse::<f64>().is_ok_and(|number| number.is_finite() && number > 0.0),
        Accepts::Count => value.parse::<u32>().is_ok_and(|number| number > 0),
        Accepts::Text => !value.is_empty(),
    };
    if right {
        return Ok(());
    }
    Err(ParamError::new(known.name, format!("{value:?} cannot be; give {}", wanted(known.accepts, spelling))))
}

/// On the wire, numbers of channels are texts.
fn wanted(accepts: Accepts, spelling: Spelling) -> String {
    let number = |example: &str| match spelling {
        Spelling::Wire => format!(" as a text, such as {example:?}"),
        _ => format!(", such as {example}"),
    };
    match accepts {
        Accepts::OneOf(words) => format!("one of {}", words.join(", ")),
        Accepts::Price => format!("a number above 0{}", number("10")),
        Accepts::Count => format!("a whole number above 0{}", number("3500")),
        Accepts::Text => "a text".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(channel: &Channel) -> String {
        channel.check(Spelling::Wire).unwrap_err().to_string()
    }

    #[test]
    fn channels_are_written_as_the_supplement_writes_them() {
        let trade = Channel::new("TRADE", "BINANCE_FUTURES", "BTCUSDT");
        let text = r#"{"category":"*","exchange":"BINANCE_FUTURES","symbol":"BTCUSDT","type":"TRADE"}"#;
        assert_eq!(trade.to_json(), serde_json::from_str::<Value>(text).unwrap());
        let book = Channel::new("BLOCK_BOOK_SNAPSHOT", "BYBIT", "BTCUSDT").with("blockSize", "10");
        assert_eq!(Channel::from_json(&book.to_json()), Ok(book));
        assert_eq!(Channel::from_json(&serde_json::json!({"type": "X"})), Ok(Channel::new("X", "", "")));
    }

    #[test]
    fn what_is_missing_or_ill_spelt_is_named() {
        let book = |name: &str, value: &str| {
            Channel::new("BLOCK_BOOK_SNAPSHOT", "BYBIT", "BTCUSDT").with("blockSize", "10").with(name, value)
        };
        assert_eq!(Channel::new("TRADE", "BYBIT", "BTCUSDT").check(Spelling::Wire), Ok(()));
        for (name, value) in [
            ("maxDepth", "100"),
            ("updateFrequency", "500ms"),
            ("groupByType", "1"),
            ("blockSize", "0.5"),
            ("blockSize", "1e-3"),
        ] {
            assert_eq!(book(name, value).check(Spelling::Wire), Ok(()), "{name}={value}");
        }
        for (name, value) in [
            ("maxDepth", "0"),
            ("maxDepth", "1.5"),
            ("updateFrequency", "2s"),
            ("groupByType", "SUM"),
            ("blockSize", "-1"),
            ("blockSize", "NaN"),
            ("blockSize", "wide"),
        ] {
            assert!(problem(&book(name, value)).contains(name), "{name}={value}");
        }
        let bare = Channel::new("BLOCK_BOOK_SNAPSHOT", "BYBIT", "BTCUSDT");
        assert!(problem(&bare).contains("blockSize: missing"), "{}", problem(&bare));
        assert!(problem(&Channel::new("TRADE", "", "X")).contains("exchange"));
        assert!(problem(&Channel::new("TRADE", "X", "")).contains("symbol"));
        assert!(problem(&book("maxdepth", "1")).contains("did you mean maxDepth"));
        let slip = Channel::new("TRADE", "BYBIT", "BTCUSDT").with("rawSymbol", "X");
        assert!(problem(&slip).contains("did you mean symbol"));
    }

    #[test]
    fn unknown_types_have_no_rules_of_their_own() {
        assert_eq!(Channel::new("OPTION_TRADE", "DERIBIT", "X").with("depth", "many").check(Spelling::Wire), Ok(()));
    }

    #[test]
    fn lists_must_hold_channels() {
        let list = |text: &str| {
            let Value::Object(params) = serde_json::from_str(text).unwrap() else { panic!("no object") };
            Channel::list(&params)
        };
        assert_eq!(list(r#"{"channels":[{"type":"TRADE","exchange":"A","symbol":"B"}]}"#).unwrap().len(), 1);
        for text in [
            "{}",
            r#"{"channels":[]}"#,
            r#"{"channels":"TRADE"}"#,
            r#"{"channels":["TRADE"]}"#,
            r#"{"channels":[{}]}"#,
            r#"{"channels":[{"type":"TRADE","exchange":1}]}"#,
        ] {
            assert!(list(text).is_err(), "{text}");
        }
    }
}
