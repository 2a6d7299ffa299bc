//! The query of the market listing (service.md 4.2).

use std::borrow::Cow;

use super::parameters::{Pairs, ParamError, number, push_number, push_text};

/// A query of `GET /v1/markets` (section 4.2).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MarketsQuery {
    /// `exchange`, repeated
    pub exchanges: Vec<String>,
    /// `coin`, repeated
    pub coins: Vec<String>,
    /// `category`, repeated
    pub categories: Vec<String>,
    /// `type`, repeated
    pub types: Vec<String>,
    /// `symbolFilter`
    pub symbol_filter: Option<String>,
    /// `pageSize`
    pub page_size: Option<u32>,
    /// `pageOffset`
    pub page_offset: Option<u32>,
    /// Parameters this version does not know, passed through in order.
    pub extra: Vec<(String, String)>,
}

/// Parameter names of `/v1/markets` that this version reads.
pub const MARKETS_PARAMETERS: [&str; 7] =
    ["exchange", "coin", "category", "type", "symbolFilter", "pageSize", "pageOffset"];

impl MarketsQuery {
    /// The query string, percent-encoded, without a leading `?`.
    pub fn to_query_string(&self) -> String {
        let mut pairs: Pairs<'_> = Vec::new();
        for (name, values) in [
            ("exchange", &self.exchanges),
            ("coin", &self.coins),
            ("category", &self.categories),
            ("type", &self.types),
        ] {
            pairs.extend(values.iter().map(|value| (name, Cow::Borrowed(value.as_str()))));
        }
        push_text(&mut pairs, "symbolFilter", self.symbol_filter.as_deref());
        push_number(&mut pairs, "pageSize", self.page_size);
        push_number(&mut pairs, "pageOffset", self.page_offset);
        pairs.extend(self.extra.iter().map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_str()))));
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }

    /// Reads a query string. Unknown parameters are kept in `extra`.
    pub fn parse(query: &str) -> Result<Self, ParamError> {
        let mut parsed = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = value.into_owned();
            match &*name {
                "exchange" => parsed.exchanges.push(value),
                "coin" => parsed.coins.push(value),
                "category" => parsed.categories.push(value),
                "type" => parsed.types.push(value),
                "symbolFilter" => parsed.symbol_filter = Some(value),
                "pageSize" => parsed.page_size = Some(number(&name, &value, "a number of rows")?),
                "pageOffset" => parsed.page_offset = Some(number(&name, &value, "a row number from 0")?),
                _ => parsed.extra.push((name.into_owned(), value)),
            }
        }
        Ok(parsed)
    }
}
