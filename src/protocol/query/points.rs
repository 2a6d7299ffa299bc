//! The query of the time-series endpoint (service.md 4.1).

use std::borrow::Cow;

use super::parameters::{Pairs, ParamError, choice, flag, number, push_flag, push_number, push_text};
use super::transform::{GroupBy, SortDirection};
use crate::protocol::{DataType, Selection};

/// A query of `GET /v1/points` (section 4.1). Names stay open strings: the service adds values over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PointsQuery {
    /// `type`
    pub data_type: String,
    /// `exchange`, repeated
    pub exchanges: Vec<String>,
    /// `coin`
    pub coin: Option<String>,
    /// `rawSymbol`
    pub raw_symbol: Option<String>,
    /// `normalizedSymbol`; volume profiles only (supplement 4)
    pub normalized_symbol: Option<String>,
    /// `interval`, wire name
    pub interval: Option<String>,
    /// `from`, Unix seconds
    pub from: Option<i64>,
    /// `period`, seconds
    pub period: Option<i64>,
    /// `sortDirection`
    pub sort: Option<SortDirection>,
    /// `gapfill`
    pub gapfill: bool,
    /// `transform.groupBy.type`
    pub group_by: Option<GroupBy>,
    /// `transform.normalize.quote=USD`
    pub usd: bool,
    /// `transform.normalize.fundingInterval`, milliseconds
    pub funding_interval: Option<i64>,
    /// `flatten`
    pub flatten: bool,
    /// `blockSize`
    pub block_size: Option<f64>,
    /// `maxDepth`
    pub max_depth: Option<u32>,
    /// `tpoBlockSizeMinutes`
    pub block_minutes: Option<u32>,
    /// `tpoSession`
    pub session: Option<String>,
    /// `tenor`
    pub tenor: Option<String>,
    /// `tokenName`
    pub token_name: Option<String>,
    /// Parameters this version does not know, passed through in order.
    pub extra: Vec<(String, String)>,
}

/// A parameter of `/v1/points`.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Name in a URL.
    pub wire: &'static str,
    /// Name of the client's argument; `None` where the client sets it by itself or takes it among `extra`.
    pub argument: Option<&'static str>,
}

const fn parameter(wire: &'static str, argument: &'static str) -> Parameter {
    Parameter { wire, argument: Some(argument) }
}

/// Every parameter of `/v1/points`.
pub const PARAMETERS: [Parameter; 20] = [
    parameter("type", "type"),
    parameter("exchange", "exchange"),
    parameter("coin", "coin"),
    parameter("rawSymbol", "symbol"),
    Parameter { wire: "normalizedSymbol", argument: None },
    parameter("interval", "interval"),
    parameter("from", "start"),
    parameter("period", "period"),
    parameter("sortDirection", "sort"),
    parameter("gapfill", "gapfill"),
    parameter("transform.groupBy.type", "group_by"),
    parameter("transform.normalize.quote", "usd"),
    Parameter { wire: "transform.normalize.fundingInterval", argument: None },
    Parameter { wire: "flatten", argument: None },
    parameter("blockSize", "block_size"),
    parameter("maxDepth", "max_depth"),
    parameter("tpoBlockSizeMinutes", "block_minutes"),
    parameter("tpoSession", "session"),
    parameter("tenor", "tenor"),
    parameter("tokenName", "token_name"),
];

/// The parameters' names in a URL, for hints on a misspelt one.
pub const POINTS_PARAMETERS: [&str; PARAMETERS.len()] = {
    let mut names = [""; PARAMETERS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = PARAMETERS[index].wire;
        index += 1;
    }
    names
};

impl PointsQuery {
    /// The parameters in their canonical order; two equal queries give the same list.
    pub fn pairs(&self) -> Vec<(&str, Cow<'_, str>)> {
        let mut pairs: Pairs<'_> = vec![("type", Cow::Borrowed(self.data_type.as_str()))];
        pairs.extend(self.exchanges.iter().map(|name| ("exchange", Cow::Borrowed(name.as_str()))));
        push_text(&mut pairs, "coin", self.coin.as_deref());
        push_text(&mut pairs, "rawSymbol", self.raw_symbol.as_deref());
        push_text(&mut pairs, "normalizedSymbol", self.normalized_symbol.as_deref());
        push_text(&mut pairs, "interval", self.interval.as_deref());
        push_number(&mut pairs, "from", self.from);
        push_number(&mut pairs, "period", self.period);
        push_text(&mut pairs, "sortDirection", self.sort.map(SortDirection::name));
        push_flag(&mut pairs, "gapfill", self.gapfill);
        push_text(&mut pairs, "transform.groupBy.type", self.group_by.map(GroupBy::name));
        push_text(&mut pairs, "transform.normalize.quote", self.usd.then_some("USD"));
        push_number(&mut pairs, "transform.normalize.fundingInterval", self.funding_interval);
        push_flag(&mut pairs, "flatten", self.flatten);
        push_number(&mut pairs, "blockSize", self.block_size);
        push_number(&mut pairs, "maxDepth", self.max_depth);
        push_number(&mut pairs, "tpoBlockSizeMinutes", self.block_minutes);
        push_text(&mut pairs, "tpoSession", self.session.as_deref());
        push_text(&mut pairs, "tenor", self.tenor.as_deref());
        push_text(&mut pairs, "tokenName", self.token_name.as_deref());
        pairs.extend(self.extra.iter().map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_str()))));
        pairs
    }

    /// Whether the answer is a sum or mean over markets whose identity keeps only type, interval and side (supplement 2).
    /// The liquidation heatmap is of a coin whatever is asked, and tells it (section 2.3).
    pub fn is_aggregated(&self) -> bool {
        let of_coin = || DataType::find(&self.data_type).is_some_and(|one| one.spec().selection == Selection::CoinOnly);
        self.group_by.is_some() && !of_coin()
    }

    /// The query string, percent-encoded, without a leading `?`.
    pub fn to_query_string(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(self.pairs()).finish()
    }

    /// Reads a query string. Unknown parameters are kept in `extra`; the caller decides what they mean.
    pub fn parse(query: &str) -> Result<Self, ParamError> {
        let mut parsed = Self::default();
        let mut seen: Vec<Cow<'_, str>> = Vec::with_capacity(8);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let repeatable = name == "exchange" || !POINTS_PARAMETERS.contains(&name.as_ref());
            if !repeatable && seen.contains(&name) {
                return Err(ParamError::new(name, "given twice; give it once"));
            }
            parsed.read(&name, value.into_owned())?;
            seen.push(name);
        }
        if parsed.data_type.is_empty() {
            return Err(ParamError::new("type", "missing; name a data type such as TRADE_SIDE_AGNOSTIC_AGG"));
        }
        Ok(parsed)
    }

    fn read(&mut self, name: &str, value: String) -> Result<(), ParamError> {
        match name {
            "type" => self.data_type = value,
            "exchange" => self.exchanges.push(value),
            "coin" => self.coin = Some(value),
            "rawSymbol" => self.raw_symbol = Some(value),
            "normalizedSymbol" => self.normalized_symbol = Some(value),
            "interval" => self.interval = Some(value),
            "from" => self.from = Some(number(name, &value, "Unix seconds, a whole number")?),
            "period" => self.period = Some(number(name, &value, "seconds, a whole number")?),
            "sortDirection" => {
                let names = [SortDirection::Ascending.name(), SortDirection::Descending.name()];
                self.sort = Some(choice(name, &value, SortDirection::find(&value), &names)?);
            }
            "gapfill" => self.gapfill = flag(name, &value)?,
            "transform.groupBy.type" => {
                let names = [GroupBy::Sum.name(), GroupBy::OpenInterestWeighted.name()];
                self.group_by = Some(choice(name, &value, GroupBy::find(&value), &names)?);
            }
            "transform.normalize.quote" => {
                self.usd = choice(name, &value, (value == "USD").then_some(true), &["USD"])?;
            }
            "transform.normalize.fundingInterval" => {
                self.funding_interval = Some(number(name, &value, "milliseconds, a whole number")?);
            }
            "flatten" => self.flatten = flag(name, &value)?,
            "blockSize" => {
                let size: f64 = number(name, &value, "a price step above 0")?;
                if !(size.is_finite() && size > 0.0) {
                    return Err(ParamError::new(name, format!("{value:?} is not a price step above 0")));
                }
                self.block_size = Some(size);
            }
            "maxDepth" => {
                let depth: u32 = number(name, &value, "a number of levels, 1 to 4294967295")?;
                if depth == 0 {
                    return Err(ParamError::new(name, "0 levels asked; give 1 or more"));
                }
                self.max_depth = Some(depth);
            }
            "tpoBlockSizeMinutes" => self.block_minutes = Some(number(name, &value, "5, 30, 60 or 240")?),
            "tpoSession" => self.session = Some(value),
            "tenor" => self.tenor = Some(value),
            "tokenName" => self.token_name = Some(value),
            _ => self.extra.push((name.to_owned(), value)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::query::refuse_unknown;
    use proptest::prelude::*;

    #[test]
    fn parameters_take_the_wire_names_and_order() {
        let query = PointsQuery {
            data_type: "BLOCK_BOOK_SNAPSHOT_AGG".into(),
            exchanges: vec!["BYBIT".into(), "OKEX_SWAP".into()],
            coin: Some("BTC".into()),
            interval: Some("MINUTE".into()),
            from: Some(1_776_880_800),
            period: Some(3_600),
            group_by: Some(GroupBy::Sum),
            usd: true,
            flatten: true,
            block_size: Some(0.001),
            ..PointsQuery::default()
        };
        assert_eq!(
            query.to_query_string(),
            "type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BYBIT&exchange=OKEX_SWAP&coin=BTC&interval=MINUTE\
             &from=1776880800&period=3600&transform.groupBy.type=GROUP_BY_TYPE_SUM\
             &transform.normalize.quote=USD&flatten=true&blockSize=0.001"
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let problem = |query: &str| PointsQuery::parse(query).unwrap_err().to_string();
        assert!(problem("").contains("parameter type: missing"));
        assert!(problem("type=A&from=yesterday").contains("\"yesterday\" is not Unix seconds"));
        assert!(problem("type=A&type=B").contains("given twice"));
        assert!(problem("type=A&gapfill=maybe").contains("not one of true, false"));
        assert!(problem("type=A&maxDepth=0").contains("1 or more"));
        assert!(problem("type=A&blockSize=-1").contains("above 0"));
        assert!(problem("type=A&blockSize=NaN").contains("above 0"));
        assert!(problem("type=A&transform.normalize.quote=EUR").contains("not one of USD"));
    }

    #[test]
    fn a_misspelt_parameter_is_hinted_at() {
        let query = PointsQuery::parse("type=A&rawsymbol=BTCUSDT").unwrap();
        let problem = refuse_unknown(&query.extra, &POINTS_PARAMETERS).unwrap_err().to_string();
        assert!(problem.contains("did you mean rawSymbol?"), "{problem}");
        assert_eq!(refuse_unknown(&[], &POINTS_PARAMETERS), Ok(()));
    }

    #[test]
    fn numeric_sort_form_is_read() {
        let query = PointsQuery::parse("type=A&sortDirection=2").unwrap();
        assert_eq!(query.sort, Some(SortDirection::Descending));
    }

    proptest! {
        /// Whatever text a symbol holds, the service reads back what the client wrote.
        #[test]
        fn the_service_reads_what_the_client_writes(
            data_type in "[A-Z_]{1,20}", exchanges in prop::collection::vec("\\PC{0,12}", 0..4),
            symbol in prop::option::of("\\PC{0,24}"), from in prop::option::of(any::<i64>()),
            period in prop::option::of(any::<i64>()), depth in prop::option::of(1u32..),
            size in prop::option::of(1e-9f64..1e9), flags in any::<[bool; 3]>(),
        ) {
            let query = PointsQuery {
                data_type, exchanges, raw_symbol: symbol.clone(), normalized_symbol: symbol.clone(), tenor: symbol, from, period, max_depth: depth,
                block_size: size, gapfill: flags[0], usd: flags[1], flatten: flags[2],
                sort: Some(SortDirection::Descending), ..PointsQuery::default()
            };
            prop_assert_eq!(PointsQuery::parse(&query.to_query_string()).unwrap(), query);
        }
    }
}
