//! The requests of a call: for one symbol, or for several symbols or coins.

use std::collections::HashSet;
use std::sync::Arc;

use super::error::ClientError;
use super::request::{PointsArguments, PointsRequest};
use crate::clock::UnixNanos;
use crate::columns::Series;
use crate::protocol::query::{Several, Spelling};
use crate::protocol::{PointsQuery, Selection, SeriesId, Tier, Weight};

pub use crate::protocol::query::RequestLists;

/// A checked call: one request for points, or several that differ only in exchange, symbol or coin.
#[derive(Debug, Clone)]
pub struct PointsRequests {
    /// At least one.
    each: Vec<PointsRequest>,
    /// Most total weight.
    pub(super) max_weight: Option<Weight>,
}

impl PointsRequests {
    /// Checks a call for `lists`, which replace the symbol, coin, token name and block size of the arguments.
    ///
    /// A symbol belongs to one exchange (section 4.1), so several exchanges make one request each, in their order. A
    /// coin is requested from all its exchanges at once, which weighs less (section 8.2). Duplicates are requested
    /// once.
    ///
    /// # Errors
    /// As [`PointsRequest::new`]; also for lists that cannot be paired.
    pub fn new(arguments: &PointsArguments, lists: &RequestLists) -> Result<Self, ClientError> {
        let request = |exchanges: &[String], place: usize| {
            let query = PointsQuery { exchanges: exchanges.to_vec(), ..arguments.query.clone() };
            PointsRequest::new(PointsArguments { query: lists.at(place, query), ..arguments.clone() })
        };
        let of_subjects = lists.lengths().filter(|(_, several, _)| *several == Several::Subject);
        let count = of_subjects.map(|(_, _, given)| given).max().unwrap_or(0).max(1);
        let symbols = &lists.symbols;
        let apart = arguments.query.exchanges.len() > 1 && !symbols.is_empty() && arguments.query.group_by.is_none();
        let alone = &arguments.query.exchanges[..arguments.query.exchanges.len().min(1)];
        // Errors that do not depend on the lists come first, such as a symbol and a coin where the type takes one of
        // them.
        let first = request(if apart { alone } else { &arguments.query.exchanges }, 0)?;
        let selection = first.spec.map(|spec| spec.selection);
        check_pairs(lists, count)?;
        let max_weight = first.max_weight;
        if count == 1 && !apart {
            return Ok(Self { each: vec![first], max_weight });
        }
        let apart = apart && matches!(selection, Some(Selection::SymbolOrCoin | Selection::OptionSummary));
        let groups: Vec<&[String]> =
            if apart { arguments.query.exchanges.chunks(1).collect() } else { vec![&arguments.query.exchanges] };
        let mut each: Vec<PointsRequest> = Vec::with_capacity(groups.len() * count);
        for exchanges in groups {
            for place in 0..count {
                each.push(request(exchanges, place)?);
            }
        }
        let mut seen = HashSet::new();
        each.retain(|request| seen.insert(request.query.to_query_string()));
        if each.len() > 1 {
            for request in &mut each {
                request.max_weight = None; // it bounds the whole call
            }
        }
        Ok(Self { each, max_weight })
    }

    /// The requests, in the order given.
    #[must_use]
    pub fn each(&self) -> &[PointsRequest] {
        &self.each
    }

    /// The first request; all have the same window and session.
    #[must_use]
    pub fn first(&self) -> &PointsRequest {
        &self.each[0]
    }

    /// Each exchange once, and the symbol and the coin if all requests have the same.
    #[must_use]
    pub fn selection(&self) -> (Vec<&str>, Option<&str>, Option<&str>) {
        let mut exchanges: Vec<&str> = Vec::new();
        for exchange in self.each.iter().flat_map(|request| &request.query.exchanges) {
            if !exchanges.contains(&exchange.as_str()) {
                exchanges.push(exchange);
            }
        }
        let query = &self.first().query;
        let (symbol, coin) = (query.raw_symbol.as_deref(), query.coin.as_deref());
        let symbol = symbol.filter(|_| self.each.iter().all(|request| request.query.raw_symbol == query.raw_symbol));
        let coin = coin.filter(|_| self.each.iter().all(|request| request.query.coin == query.coin));
        (exchanges, symbol, coin)
    }

    /// The only request; `None` when there are several.
    pub(super) fn only(&self) -> Option<&PointsRequest> {
        if let [one] = self.each.as_slice() { Some(one) } else { None }
    }

    /// Whether it asks for one answer that is small: a handful of buckets.
    pub(super) fn is_small(&self, now: UnixNanos, tier: Option<Tier>) -> bool {
        /// Bytes, by the estimate of [`crate::protocol::TypeSpec::bucket_bytes`].
        const SMALL: u64 = 512 << 10;
        let Some(request) = self.only() else { return false };
        let (Some(spec), 1) = (request.spec, request.query.exchanges.len()) else { return false };
        let window = request.window(now, tier);
        let buckets = (window.seconds() / request.interval.seconds.max(1)).unsigned_abs() + 1;
        buckets.saturating_mul(spec.bucket_bytes(request.query.max_depth)) <= SMALL
    }

    /// A label of each request for messages.
    pub(super) fn labels(&self) -> Vec<String> {
        let several_sizes = self.each.iter().any(|one| one.query.block_size != self.each[0].query.block_size);
        let label = |request: &PointsRequest| label(&request.query, several_sizes);
        self.each.iter().map(label).collect()
    }
}

impl From<PointsRequest> for PointsRequests {
    fn from(request: PointsRequest) -> Self {
        Self { max_weight: request.max_weight, each: vec![request] }
    }
}

fn check_pairs(lists: &RequestLists, count: usize) -> Result<(), ClientError> {
    let (refuse, asker) = (|what: String| Err(ClientError::invalid(what)), Spelling::caller());
    let (symbols, coins) = (lists.symbols.len(), lists.coins.len());
    if coins > 1 && symbols > 0 && symbols != coins {
        return refuse(format!("symbols and coins pair by position: {symbols} and {coins} do not; give one for each"));
    }
    let subject = if symbols == 0 { "coin" } else { "rawSymbol" };
    for (wire, several, given) in lists.lengths() {
        let name = asker.parameter(wire);
        match several {
            Several::Each if given > 1 && given != count || given == 1 && count > 1 => {
                let subject = asker.parameter(subject);
                return refuse(format!(
                    "{name} goes with {subject} by position: {given} for {count}; give one for each"
                ));
            }
            Several::AllOrEach if given > 1 && given != count => {
                return refuse(format!("{name} is one for all or one for each: there are {given} for {count}"));
            }
            Several::Subject | Several::Each | Several::AllOrEach => {}
        }
    }
    Ok(())
}

fn label(query: &PointsQuery, with_size: bool) -> String {
    let exchanges = (!query.exchanges.is_empty()).then(|| query.exchanges.join("+"));
    let subject = query.raw_symbol.clone().or_else(|| query.coin.clone()).or_else(|| query.normalized_symbol.clone());
    let size = query.block_size.filter(|_| with_size).map(|size| format!("in blocks of {size}"));
    let parts = [exchanges, subject, query.token_name.clone(), size];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Completes the identity of a request's series from the query: an aggregate, for example, does not name its coin. What
/// the service sends takes precedence.
pub(super) fn named(mut series: Vec<Series>, request: &PointsRequest) -> Vec<Series> {
    let query = &request.query;
    let exchange = if let [only] = query.exchanges.as_slice() { Some(only) } else { None };
    let asked = [query.raw_symbol.as_ref(), exchange, query.coin.as_ref(), query.token_name.as_ref()];
    for one in &mut series {
        let SeriesId { raw_symbol, exchange, coin, token_name, .. } = &*one.id;
        let known = [raw_symbol, exchange, coin, token_name];
        if asked.iter().zip(known).all(|(asked, known)| asked.is_none() || known.is_some()) {
            continue; // the series of one request share their identity: no copy if it does not change
        }
        let SeriesId { raw_symbol, exchange, coin, token_name, .. } = Arc::make_mut(&mut one.id);
        for (known, asked) in [raw_symbol, exchange, coin, token_name].into_iter().zip(asked) {
            if known.is_none() {
                *known = asked.cloned();
            }
        }
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(data_type: &str, exchanges: &[&str], lists: &RequestLists) -> Result<PointsRequests, ClientError> {
        let tenor = data_type.contains("OPTION").then(|| "ONE_W".to_owned());
        let exchanges = exchanges.iter().map(|name| (*name).to_owned()).collect();
        let query = PointsQuery {
            data_type: data_type.into(),
            exchanges,
            interval: Some("1h".into()),
            tenor,
            ..PointsQuery::default()
        };
        let arguments =
            PointsArguments { query, period: Some(3_600), max_weight: Some(Weight(7)), ..PointsArguments::default() };
        PointsRequests::new(&arguments, lists)
    }

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn symbols(names: &[&str]) -> RequestLists {
        RequestLists { symbols: list(names), ..RequestLists::default() }
    }

    fn coins(names: &[&str]) -> RequestLists {
        RequestLists { coins: list(names), ..RequestLists::default() }
    }

    const CANDLES: &str = "TRADE_SIDE_AGNOSTIC_AGG";
    const BOOK: &str = "BLOCK_BOOK_SNAPSHOT_AGG";
    const SKEW: &str = "SKEW_OPTION_SUMMARY_AGG";

    #[test]
    fn a_symbol_is_asked_of_each_exchange_and_a_coin_of_all() {
        let asked = call(CANDLES, &["BYBIT", "BINANCE_FUTURES"], &symbols(&["ETHUSDT", "BTCUSDT"])).unwrap();
        let labels = ["BYBIT ETHUSDT", "BYBIT BTCUSDT", "BINANCE_FUTURES ETHUSDT", "BINANCE_FUTURES BTCUSDT"];
        assert_eq!(asked.labels(), labels);
        let asked = call(CANDLES, &["BYBIT", "OKEX_SWAP"], &coins(&["ETH", "BTC"])).unwrap();
        assert_eq!(asked.labels(), ["BYBIT+OKEX_SWAP ETH", "BYBIT+OKEX_SWAP BTC"]);
        assert!(asked.each().iter().all(|one| one.query.exchanges.len() == 2));
        // For an unknown type, the exchanges are not checked.
        let asked = call("NEW_TYPE_AGG", &["BYBIT", "OKEX_SWAP"], &symbols(&["A", "B"])).unwrap();
        assert_eq!(asked.labels(), ["BYBIT+OKEX_SWAP A", "BYBIT+OKEX_SWAP B"]);
    }

    #[test]
    fn what_is_named_twice_is_asked_once_and_one_bound_holds_for_all() {
        let asked = call(CANDLES, &["BYBIT"], &symbols(&["ETHUSDT", "BTCUSDT", "ETHUSDT"])).unwrap();
        assert_eq!(asked.labels(), ["BYBIT ETHUSDT", "BYBIT BTCUSDT"]);
        assert_eq!((asked.max_weight, asked.each()[0].max_weight), (Some(Weight(7)), None));
        let one = call(CANDLES, &["BYBIT"], &symbols(&["ETHUSDT", "ETHUSDT"])).unwrap();
        assert_eq!((one.each().len(), one.only().and_then(|one| one.max_weight)), (1, Some(Weight(7))));
    }

    #[test]
    fn a_selection_names_what_all_share() {
        let asked = call(CANDLES, &["BYBIT", "BINANCE_FUTURES"], &symbols(&["ETHUSDT"])).unwrap();
        assert_eq!(asked.selection(), (vec!["BYBIT", "BINANCE_FUTURES"], Some("ETHUSDT"), None));
        let asked = call(CANDLES, &["BYBIT"], &coins(&["ETH", "BTC"])).unwrap();
        assert_eq!(asked.selection(), (vec!["BYBIT"], None, None));
        let asked = call(CANDLES, &["BYBIT"], &coins(&["ETH"])).unwrap();
        assert_eq!(asked.selection(), (vec!["BYBIT"], None, Some("ETH")));
    }

    #[test]
    fn lists_pair_by_position() {
        let summaries = RequestLists { coins: list(&["BTC", "ETH"]), ..symbols(&["BTC_25", "ETH_25"]) };
        let asked = call(SKEW, &["DERIBIT"], &summaries).unwrap();
        let pairs: Vec<_> = asked.each().iter().map(|one| (&one.query.raw_symbol, &one.query.coin)).collect();
        assert_eq!(pairs.len(), 2);
        assert!(
            pairs.iter().all(|(symbol, coin)| symbol.as_ref().unwrap().starts_with(coin.as_ref().unwrap().as_str()))
        );
        let one_coin = RequestLists { coins: list(&["BTC"]), ..symbols(&["BTC_25", "BTC_10"]) };
        assert_eq!(call(SKEW, &["DERIBIT"], &one_coin).unwrap().labels(), ["DERIBIT BTC_25", "DERIBIT BTC_10"]);
        let books = RequestLists { block_sizes: vec![10.0, 1.0], ..symbols(&["BTCUSDT", "ETHUSDT"]) };
        let asked = call(BOOK, &["BYBIT", "BITGET"], &books).unwrap();
        let sizes: Vec<_> = asked.each().iter().map(|one| one.query.block_size.unwrap()).collect();
        assert_eq!(sizes, [10.0, 1.0, 10.0, 1.0]);
        assert_eq!(asked.labels()[1], "BYBIT ETHUSDT in blocks of 1");
    }

    #[test]
    fn what_does_not_pair_is_refused() {
        let problem = |data_type, exchanges: &[&str], lists| call(data_type, exchanges, &lists).unwrap_err().message;
        let unlike = RequestLists { coins: list(&["BTC", "ETH"]), ..symbols(&["BTC_25"]) };
        assert!(problem(SKEW, &["DERIBIT"], unlike).contains("1 and 2"));
        let sizes = RequestLists { block_sizes: vec![10.0, 1.0, 5.0], ..symbols(&["BTCUSDT", "ETHUSDT"]) };
        assert!(problem(BOOK, &["BYBIT"], sizes).contains("3 for 2"));
        let names = RequestLists { token_names: list(&["Bitcoin"]), ..coins(&["BTC", "ETH"]) };
        assert!(problem("TOKEN_SUPPLY_AGG", &[], names).contains("token_name="));
        let both = RequestLists { coins: list(&["BTC", "ETH"]), ..symbols(&["BTCUSDT", "ETHUSDT"]) };
        assert!(problem(CANDLES, &["BYBIT"], both).contains("not both"));
    }
}
