//! Discovery records (service.md 2.4). Fields whose value is zero or empty are left out when written and read as zero
//! or empty when absent (section 2.1); fields this version does not know are kept.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// A time on the wire: seconds since the epoch and nanoseconds (section 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Timestamp {
    /// Seconds since the Unix epoch.
    #[serde(deserialize_with = "integer")]
    pub s: i64,
    /// Nanoseconds within the second; left out when 0.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub ns: i64,
}

/// A market entry of `/v1/markets`. Messages on one that cannot be read call it `Market`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, rename = "Market", rename_all = "camelCase")]
pub struct MarketListing {
    /// Exchange identifier.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub exchange: String,
    /// Exchange-native symbol, used in data queries.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub raw_symbol: String,
    /// Cross-exchange symbol such as BASE-QUOTE.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub normalized_symbol: String,
    /// Base asset.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub coin: String,
    /// `SPOT` or `PERPETUAL`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub category: String,
    /// Option summary tenor when present.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tenor: String,
    /// Full coin name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub coin_name: String,
    /// Quote asset name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub quote_coin_name: String,
    /// Full market name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub full_name: String,
    /// Last traded price.
    #[serde(skip_serializing_if = "is_nothing")]
    pub last_price: f64,
    /// 24-hour volume.
    #[serde(rename = "volume24h", skip_serializing_if = "is_nothing")]
    pub volume_24h: f64,
    /// 24-hour volume change, percent.
    #[serde(rename = "volumeChange24h", skip_serializing_if = "is_nothing")]
    pub volume_change_24h: f64,
    /// 24-hour price change, percent.
    #[serde(rename = "priceChange24h", skip_serializing_if = "is_nothing")]
    pub price_change_24h: f64,
    /// 24-hour open interest change.
    #[serde(rename = "oiChange24h", skip_serializing_if = "is_nothing")]
    pub oi_change_24h: f64,
    /// Market capitalization.
    #[serde(skip_serializing_if = "is_nothing")]
    pub marketcap: f64,
    /// Asset icon URL.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub icon_url: String,
    /// When the market became available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_since: Option<Timestamp>,
    /// Recent price history, the newest last (supplement 5).
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "numbers")]
    pub prices: Vec<f64>,
    /// Distance of the last price to the highest one, percent, 0 or below (supplement 5).
    #[serde(rename = "pctFromATH", skip_serializing_if = "is_nothing")]
    pub pct_from_ath: f64,
    /// 24-hour volume, USD (supplement 5).
    #[serde(rename = "volume24hUsd", skip_serializing_if = "is_nothing")]
    pub volume_24h_usd: f64,
    /// Title of a prediction-market event (supplement 5).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Worth of the book of a prediction market, USD (supplement 5).
    #[serde(skip_serializing_if = "is_nothing")]
    pub liquidity: f64,
    /// Tags of a prediction market (supplement 5).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
    /// Present only when the exchange is the prediction venue.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prediction_markets: Vec<PredictionMarket>,
    /// Fields this version does not know, as sent.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A tag of a prediction market (supplement 5).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tag {
    /// Identifier.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Name as people read it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Name as addresses spell it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub slug: String,
    /// Fields this version does not know, as sent.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An element of `predictionMarkets` (section 2.4). Prices are probabilities, 0 to 1; volumes are outcome tokens.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PredictionMarket {
    /// Name of the market as its address spells it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub slug: String,
    /// The question.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub question: String,
    /// Title within a grouped market.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group_item_title: String,
    /// Possible outcomes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<String>,
    /// Last price of the first outcome.
    #[serde(skip_serializing_if = "is_nothing")]
    pub last_price: f64,
    /// 24-hour price change, as a difference of prices.
    #[serde(skip_serializing_if = "is_nothing")]
    pub one_day_price_change: f64,
    /// Recent price history, the newest last.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "numbers")]
    pub prices: Vec<f64>,
    /// Total volume.
    #[serde(skip_serializing_if = "is_nothing")]
    pub total_volume: f64,
    /// 24-hour volume that takers bought.
    #[serde(rename = "buyVolume24H", skip_serializing_if = "is_nothing")]
    pub buy_volume_24h: f64,
    /// 24-hour volume that takers sold.
    #[serde(rename = "sellVolume24H", skip_serializing_if = "is_nothing")]
    pub sell_volume_24h: f64,
    /// 24-hour volume change, percent.
    #[serde(rename = "volumeChange24H", skip_serializing_if = "is_nothing")]
    pub volume_change_24h: f64,
    /// Current open interest.
    #[serde(skip_serializing_if = "is_nothing")]
    pub open_interest: f64,
    /// 24-hour open interest change, as a difference.
    #[serde(rename = "oneDayOIChange", skip_serializing_if = "is_nothing")]
    pub one_day_oi_change: f64,
    /// Number of different traders.
    #[serde(skip_serializing_if = "is_nothing")]
    pub unique_traders: f64,
    /// Price step of an order.
    #[serde(skip_serializing_if = "is_nothing")]
    pub order_price_min_tick_size: f64,
    /// Market condition, `0x` and 64 hexadecimal digits: the `rawSymbol` of data queries.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub condition_id: String,
    /// Whether the market has resolved.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// Market opening.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_since: Option<Timestamp>,
    /// Market expiry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_to: Option<Timestamp>,
    /// Kind of a sports market, if it is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sports_market_type: String,
    /// Line of a sports market, if it has one.
    #[serde(skip_serializing_if = "is_nothing")]
    pub line: f64,
    /// Fields this version does not know, as sent.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The answer of `/v1/markets`: one page.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MarketsPage {
    /// Market entries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<MarketListing>,
    /// Offset of the next page.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub next_offset: i64,
}

/// The answer of `/v1/usage` (section 2.4).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Weight budget per window.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub limit: i64,
    /// Whole weight left, burst included.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub remaining: i64,
    /// Weight spent in the last window.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub used: i64,
    /// Unix second at which the bucket is full again, burst included.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub reset: i64,
    /// Length of the window in seconds.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "integer")]
    pub window_seconds: i64,
}

/// A record's field by its wire name as it is called here, in snake case: `buyVolume24H` is `buy_volume_24h`. A word begins at
/// a capital or a number behind a small letter, and at the last of several capitals in front of one.
pub fn attribute_name(wire: &str) -> String {
    let letters: Vec<char> = wire.chars().collect();
    let mut name = String::with_capacity(wire.len() + 4);
    for (place, letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).map_or('_', |place| letters[place]);
        let small_follows = letters.get(place + 1).is_some_and(char::is_ascii_lowercase);
        if (before.is_ascii_lowercase() && (letter.is_ascii_uppercase() || letter.is_ascii_digit()))
            || (before.is_ascii_uppercase() && letter.is_ascii_uppercase() && small_follows)
        {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde asks for
pub(super) fn is_zero(value: &i64) -> bool {
    *value == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde asks for
pub(super) fn is_nothing(value: &f64) -> bool {
    *value == 0.0
}

/// An integer field may come with an exponent or a point (supplement 2): any number with a whole value is one.
pub(super) fn integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let number = Option::<serde_json::Number>::deserialize(deserializer)?;
    let Some(number) = number else { return Ok(0) };
    let whole = number.as_i64().or_else(|| {
        let double = number.as_f64()?;
        (double.fract() == 0.0 && double.abs() < 9.2e18).then_some(double as i64)
    });
    whole.ok_or_else(|| serde::de::Error::custom(format_args!("{number} is not a whole number")))
}

/// Numbers of which some may be unknown: null reads as NaN.
pub(super) fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let values = Option::<Vec<Option<f64>>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_in_any_spelling() {
        let usage: Usage = serde_json::from_str(r#"{"limit":1.5e+02,"remaining":7.0,"used":null,"new":1}"#).unwrap();
        assert_eq!((usage.limit, usage.remaining, usage.used), (150, 7, 0));
        assert!(serde_json::from_str::<Usage>(r#"{"limit":1.5}"#).is_err());
    }

    #[test]
    fn fields_are_called_as_here() {
        for (wire, name) in [
            ("rawSymbol", "raw_symbol"),
            ("volume24h", "volume_24h"),
            ("volume24hUsd", "volume_24h_usd"),
            ("pctFromATH", "pct_from_ath"),
            ("buyVolume24H", "buy_volume_24h"),
            ("oneDayOIChange", "one_day_oi_change"),
            ("orderPriceMinTickSize", "order_price_min_tick_size"),
            ("wallet_address", "wallet_address"),
            ("", ""),
        ] {
            assert_eq!(attribute_name(wire), name);
        }
    }

    #[test]
    fn unknown_market_fields_are_kept_and_zeros_left_out() {
        let text = r#"{"exchange":"BYBIT","lastPrice":100.5,"availableSince":{"s":5},"pctFromATH":-3.5,"newer":7}"#;
        let market: MarketListing = serde_json::from_str(text).unwrap();
        assert_eq!((market.pct_from_ath, &market.extra["newer"]), (-3.5, &Value::from(7)));
        assert_eq!(serde_json::to_string(&market).unwrap(), text);
    }

    #[test]
    fn prediction_markets_are_read_and_written_by_their_wire_names() {
        let text = concat!(
            r#"{"exchange":"PREDICTION_VENUE","rawSymbol":"0xab","title":"T","liquidity":2.5,"#,
            r#""tags":[{"id":"1","label":"L","slug":"l"}],"predictionMarkets":[{"slug":"s","question":"Q?","#,
            r#""groupItemTitle":"G","outcomes":["Yes","No"],"lastPrice":0.5,"oneDayPriceChange":-0.25,"prices":[0.0,0.5],"#,
            r#""totalVolume":8.5,"buyVolume24H":1.5,"sellVolume24H":2.5,"volumeChange24H":3.5,"openInterest":4.5,"#,
            r#""oneDayOIChange":5.5,"uniqueTraders":6.5,"orderPriceMinTickSize":0.001,"conditionId":"0xab","closed":true,"#,
            r#""availableSince":{"s":1},"availableTo":{"s":2},"sportsMarketType":"total","line":7.5,"newer":[]}]}"#,
        );
        let market: MarketListing = serde_json::from_str(text).unwrap();
        let inner = &market.prediction_markets[0];
        assert!(market.extra.is_empty() && inner.extra.len() == 1 && inner.closed);
        assert_eq!((inner.buy_volume_24h, inner.one_day_oi_change, inner.line), (1.5, 5.5, 7.5));
        assert_eq!(serde_json::to_string(&market).unwrap(), text);
    }
}
