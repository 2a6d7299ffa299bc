//! The query behind `GET /v1/points` (section 4.1; supplement 4). Each parameter is written once, in the table below: its
//! field, its name in a URL and as an argument, how both are read, and what it means. The wire form, the client's arguments,
//! the archive's keys, the `OpenAPI` page and the options of the command line follow from it.

use std::borrow::Cow;

use super::argument::{Argument, Depth, Named, ParameterKind, Plain, PriceStep, Several, UsdQuote, WholeNumber};
use super::parameters::{Pairs, ParamError};
use crate::protocol::data_type::{DataType, Selection};
use crate::protocol::group_by::GroupBy;
use crate::protocol::sort_direction::SortDirection;

/// A parameter of `/v1/points`.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Name in a URL.
    pub wire: &'static str,
    /// Name of the client's argument; `None` where the client sets it by itself or takes it among `extra`.
    pub argument: Option<&'static str>,
    /// Kind of its values.
    pub kind: ParameterKind,
    /// Its meaning.
    pub about: &'static str,
    /// Reason why other types do not read it, such as `has no tenors`; `None` if every type may read it.
    /// [`TypeSpec::parameters`](crate::protocol::TypeSpec::parameters) lists the parameters of a type.
    pub lacking: Option<&'static str>,
    /// How a call of the client gives several of it, one for each request; `None` where a call gives one.
    pub several: Option<Several>,
}

impl Parameter {
    /// Kind of the client's argument: the name of the parameter's kind, in the plural if a call may give several.
    pub const fn argument_kind(&self) -> &'static str {
        match (self.several, self.kind) {
            (Some(_), ParameterKind::Text) => ParameterKind::Texts.name(),
            (Some(_), ParameterKind::Number) => "numbers",
            (_, kind) => kind.name(),
        }
    }
}

/// The one of at most one.
const fn optional<T: Copy>(values: &[T]) -> Option<T> {
    if let [value, ..] = values { Some(*value) } else { None }
}

/// A row is `field: type, how it is spelled, name in a URL, name as an argument, meaning`; then, where not every type reads
/// it, `unless` and what the others lack; then, where a call of the client may give one for each request,
/// `several` with the name of the list, its values and how they pair. The rows' order is the canonical order of a URL.
macro_rules! parameters {
    ($($field:ident: $type:ty, $spelled:ident $(($words:literal))?, $wire:literal, $argument:expr, $about:literal
        $(, unless $lacking:literal)? $(, several $list:ident: $one:ty, $pairing:ident)?;)*) => {
        /// A query of `GET /v1/points` (section 4.1). Names stay open strings: the service adds values over time.
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct PointsQuery {
            $(#[doc = concat!("`", $wire, "`: ", $about)] pub $field: $type,)*
            /// Parameters this version does not know, passed through in order.
            pub extra: Vec<(String, String)>,
        }

        /// Lists of arguments that a call of the client may give several of, a request for each. The lists pair by position; a
        /// list of one goes with every other.
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct RequestLists {
            $($(#[doc = concat!("`", $wire, "` of each request: ", $about)] pub $list: Vec<$one>,)?)*
        }

        /// Every parameter of `/v1/points`, in the order of a URL.
        pub const PARAMETERS: &[Parameter] = &[
            $(Parameter {
                wire: $wire,
                argument: $argument,
                kind: <$spelled as Argument<$type>>::KIND,
                about: $about,
                lacking: optional::<&str>(&[$($lacking)?]),
                several: optional::<Several>(&[$(Several::$pairing)?]),
            },)*
        ];

        impl PointsQuery {
            /// The parameters in their canonical order; two equal queries give the same list.
            pub fn pairs(&self) -> Vec<(&str, Cow<'_, str>)> {
                let mut pairs = self.known_pairs();
                pairs.extend(self.extra.iter().map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_str()))));
                pairs
            }

            /// As [`pairs`](Self::pairs), without those of `extra`.
            pub(super) fn known_pairs(&self) -> Pairs<'_> {
                let mut pairs: Pairs<'_> = Vec::with_capacity(8);
                $($spelled$(($words))?.write($wire, &self.$field, &mut pairs);)*
                pairs
            }

            /// Sets an argument of the client's by the words that users write: `group_by` is `sum`, `sort` is `asc`.
            ///
            /// # Errors
            /// The value is none of the argument's, or no parameter has that argument.
            pub fn set_argument(&mut self, argument: &str, value: &str) -> Result<(), ParamError> {
                match Some(argument) {
                    $(row if row == $argument => $spelled$(($words))?.set(argument, value, &mut self.$field),)*
                    _ => Err(ParamError::new(argument, "is no argument of a query for points")),
                }
            }

            fn read(&mut self, name: &str, value: String) -> Result<(), ParamError> {
                match name {
                    $($wire => $spelled$(($words))?.read($wire, value, &mut self.$field),)*
                    _ => {
                        self.extra.push((name.to_owned(), value));
                        Ok(())
                    }
                }
            }
        }

        impl RequestLists {
            /// Adds a value of an argument, as [`PointsQuery::set_argument`] reads it; `false` for an argument that a call
            /// gives once.
            ///
            /// # Errors
            /// The value is none of the argument's.
            pub fn add_argument(&mut self, argument: &str, value: &str) -> Result<bool, ParamError> {
                let read = || {
                    let mut query = PointsQuery::default();
                    query.set_argument(argument, value).map(|()| query)
                };
                match Some(argument) {
                    $($(row if row == $argument => self.$list.extend(read()?.$field),)?)*
                    _ => return Ok(false),
                }
                Ok(true)
            }

            /// The query of the request at a place: its own values of what the lists hold, all else as in `query`.
            pub fn at(&self, place: usize, query: PointsQuery) -> PointsQuery {
                PointsQuery { $($($field: paired(&self.$list, place),)?)* ..query }
            }

            /// The lists: of which parameter by its name in a URL, how they pair, and how many values they hold.
            pub fn lengths(&self) -> impl Iterator<Item = (&'static str, Several, usize)> {
                [$($(($wire, Several::$pairing, self.$list.len()),)?)*].into_iter()
            }
        }
    };
}

/// The value at a place of a list, or of a list of one.
fn paired<T: Clone>(list: &[T], place: usize) -> Option<T> {
    if list.len() == 1 { list.first().cloned() } else { list.get(place).cloned() }
}

parameters! {
    data_type: String, Plain, "type", Some("type"), "data type, such as TRADE_SIDE_AGNOSTIC_AGG";
    exchanges: Vec<String>, Plain, "exchange", Some("exchange"), "venue, case-sensitive; repeated for several";
    coin: Option<String>, Plain, "coin", Some("coin"), "base asset, instead of a symbol", several coins: String, Subject;
    raw_symbol: Option<String>, Plain, "rawSymbol", Some("symbol"), "exchange-native symbol", several symbols: String, Subject;
    normalized_symbol: Option<String>, Plain, "normalizedSymbol", None, "symbol in BASE-QUOTE form; volume profiles only";
    interval: Option<String>, Plain, "interval", Some("interval"), "bucket size";
    from: Option<i64>, WholeNumber("Unix seconds, a whole number"), "from", Some("start"), "start of the window, Unix seconds; absent: the last `period` seconds up to now";
    period: Option<i64>, WholeNumber("seconds, a whole number"), "period", Some("period"), "length of the window in seconds; absent or 0: an empty answer";
    sort: Option<SortDirection>, Named, "sortDirection", Some("sort"), "order of the points on the wire: asc or desc; in a URL also 1 or 2";
    gapfill: bool, Plain, "gapfill", Some("gapfill"), "fill missing buckets with the last close";
    group_by: Option<GroupBy>, Named, "transform.groupBy.type", Some("group_by"), "one series over all exchanges: sum, or oi_weighted for funding rates";
    usd: bool, UsdQuote, "transform.normalize.quote", Some("usd"), "values in USD; absent: coin units";
    funding_interval: Option<i64>, WholeNumber("milliseconds, a whole number"), "transform.normalize.fundingInterval", None, "milliseconds that funding rates are for";
    flatten: bool, Plain, "flatten", None, "heatmaps: flat_points instead of points";
    block_size: Option<f64>, PriceStep, "blockSize", Some("block_size"), "height of a heatmap's or market profile's price level; heatmaps need it", unless "has no levels of a height", several block_sizes: f64, AllOrEach;
    max_depth: Option<u32>, Depth, "maxDepth", Some("max_depth"), "price levels of a heatmap, from the best of each side", unless "has no depth";
    block_minutes: Option<u32>, WholeNumber("5, 30, 60 or 240"), "tpoBlockSizeMinutes", Some("block_minutes"), "block length of a market profile in minutes: 5, 30, 60 or 240; absent: 30", unless "has no time blocks";
    session: Option<String>, Plain, "tpoSession", Some("session"), "session of a market profile: daily, weekly or monthly; absent: follows the interval", unless "has no sessions";
    tenor: Option<String>, Plain, "tenor", Some("tenor"), "tenor of an option summary, such as ONE_W", unless "has no tenors";
    token_name: Option<String>, Plain, "tokenName", Some("token_name"), "token name, recommended together with coin", unless "has no token names", several token_names: String, Each;
}

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
    /// A query for one market of an exchange.
    ///
    /// ```
    /// use marketpoints::protocol::PointsQuery;
    ///
    /// let query = PointsQuery { from: Some(0), ..PointsQuery::of_market("TRADE_AGG", "BYBIT", "BTCUSDT", "MINUTE") };
    /// assert_eq!(query.to_query_string(), "type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=MINUTE&from=0");
    /// assert_eq!(PointsQuery::parse(&query.to_query_string()), Ok(query));
    /// ```
    pub fn of_market(data_type: &str, exchange: &str, raw_symbol: &str, interval: &str) -> Self {
        Self {
            data_type: data_type.to_owned(),
            exchanges: vec![exchange.to_owned()],
            raw_symbol: Some(raw_symbol.to_owned()),
            interval: Some(interval.to_owned()),
            ..Self::default()
        }
    }

    /// Whether the answer is a sum or mean over markets whose identity keeps only type, interval and side (supplement 2).
    /// The liquidation heatmap always covers one coin, and its identity names it (section 2.3).
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
            let known = PARAMETERS.iter().find(|row| row.wire == name);
            let repeatable = known.is_none_or(|row| row.kind == ParameterKind::Texts);
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
    fn what_may_be_several_is_read_as_the_query_reads_one() {
        let mut lists = RequestLists::default();
        for (argument, value) in [("symbol", "A"), ("block_size", "0.1"), ("symbol", "B"), ("token_name", "C,D")] {
            assert_eq!(lists.add_argument(argument, value), Ok(true));
        }
        assert_eq!(lists.add_argument("tenor", "ONE_W"), Ok(false));
        assert!(lists.add_argument("block_size", "-1").unwrap_err().to_string().contains("above 0"));
        let query = lists.at(1, PointsQuery { coin: Some("of no list".into()), ..PointsQuery::default() });
        assert_eq!(query.to_query_string(), "type=&rawSymbol=B&blockSize=0.1&tokenName=C%2CD");
        let arguments = PARAMETERS.iter().filter(|row| row.several.is_some()).map(|row| row.wire);
        assert!(lists.lengths().map(|(wire, _, _)| wire).eq(arguments));
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
