//! A resolved points query: its markets and buckets, and the parts that the answers of all types share.

use std::collections::BTreeSet;

use super::usd::{Converter, price_unit};
use super::window::Buckets;
use crate::clock::UnixNanos;
use crate::market::raw::{Instrument, RawData, Source};
use crate::protocol::interval::INTERVALS;
use crate::protocol::query::{Spelling, known_type};
use crate::protocol::suggest::hint;
use crate::protocol::symbol::Category;
use crate::protocol::{GroupBy, Interval, ParamError, PointsQuery, Selection, SeriesId, TypeSpec};

/// Input of every answer: the query, its markets, the source and the window.
pub(in crate::market) struct QueryContext<'a> {
    pub(in crate::market) source: &'a dyn Source,
    pub(in crate::market) query: &'a PointsQuery,
    /// The row of the query's type.
    pub(in crate::market) spec: &'static TypeSpec,
    /// The markets that the query names and that have data of its type.
    pub(in crate::market) markets: Vec<usize>,
    /// The window, as of now.
    pub(in crate::market) buckets: Buckets,
}

impl<'a> QueryContext<'a> {
    /// A query as of `now`, with its markets.
    ///
    /// # Errors
    /// The query breaks a rule of its type (section 4.1), or asks for a sum of markets that have none.
    pub(in crate::market) fn new(
        source: &'a dyn Source,
        query: &'a PointsQuery,
        now: UnixNanos,
    ) -> Result<Self, ParamError> {
        let mut context = Self::without_markets(source, query, now)?;
        context.markets = context.select();
        check_kinds(&context, &context.markets)?;
        Ok(context)
    }

    /// The context before its markets are looked up.
    ///
    /// # Errors
    /// The query breaks a rule of its type.
    pub(in crate::market) fn without_markets(
        source: &'a dyn Source,
        query: &'a PointsQuery,
        now: UnixNanos,
    ) -> Result<Self, ParamError> {
        let spec = known_type(&query.data_type)?;
        query.validate(spec, Spelling::Wire)?;
        let buckets = Buckets::new(interval(query)?, query, now);
        Ok(Self { source, query, spec, markets: Vec::new(), buckets })
    }

    /// Fails if the query asks for a sum of a type that has none.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(in crate::market) fn check_kinds(&self) -> Result<(), ParamError> {
        // The lookup of the markets is most of the work of a check.
        if self.is_together() { check_kinds(self, &self.select()) } else { Ok(()) }
    }

    /// The markets of each series: all together when the query aggregates, else each by itself.
    pub(in crate::market) fn groups(&self) -> Vec<&[usize]> {
        match self.query.group_by {
            Some(_) if self.markets.is_empty() => Vec::new(),
            Some(_) => vec![&self.markets],
            None => self.markets.chunks(1).collect(),
        }
    }

    /// The converter of a market to the unit of the query.
    pub(in crate::market) fn converter(&self, market: usize) -> Converter<'a> {
        Converter::new(self.source, market, self.query.usd, self.buckets.now)
    }

    /// Levels that a heatmap holds at most.
    pub(in crate::market) fn depth(&self) -> u32 {
        self.query.max_depth.or(self.spec.included_depth).unwrap_or(u32::MAX)
    }

    /// The identity of a series over these markets: the fields that they share. A requested sum or mean keeps type and
    /// interval only (supplement 2), a liquidation heatmap its coin as well (section 2.3).
    pub(in crate::market) fn identity(&self, markets: &[usize]) -> SeriesId {
        let query = self.query;
        if query.is_aggregated() {
            let (data_type, interval) = (Some(query.data_type.clone()), query.interval.clone());
            return SeriesId { data_type, interval, ..SeriesId::default() };
        }
        let instruments = self.source.instruments();
        let common = |field: fn(&Instrument) -> String| {
            let mut values = markets.iter().map(|&market| field(&instruments[market]));
            let first = values.next()?;
            values.all(|value| value == first).then_some(first)
        };
        SeriesId {
            data_type: Some(query.data_type.clone()),
            raw_symbol: common(|row| row.raw_symbol.clone()),
            exchange: common(|row| row.exchange.clone()),
            normalized_symbol: common(Instrument::normalized_symbol),
            category: common(|row| row.category.clone()),
            interval: query.interval.clone(),
            coin: common(|row| row.coin.clone()),
            ..SeriesId::default()
        }
    }

    /// The markets that the query means.
    pub(in crate::market) fn select(&self) -> Vec<usize> {
        let query = self.query;
        let fits = |row: &Instrument| {
            row.raw_data.serve(self.spec.data_type)
                && (query.exchanges.is_empty() || query.exchanges.contains(&row.exchange))
                && query.raw_symbol.as_ref().is_none_or(|symbol| *symbol == row.raw_symbol)
                && query.coin.as_ref().is_none_or(|coin| *coin == row.coin)
                && query.normalized_symbol.as_ref().is_none_or(|symbol| *symbol == row.normalized_symbol())
        };
        let instruments = self.source.instruments();
        let mut markets: Vec<usize> = (0..instruments.len()).filter(|&market| fits(&instruments[market])).collect();
        if query.coin.is_some() && self.is_together() {
            // Contracts that end on a day differ in price from the coin: they count only if the exchange has no other market.
            let is_lasting = |row: &Instrument| !Category::ENDING.into_iter().any(|category| row.is(category));
            let lasting = markets.iter().map(|&market| &instruments[market]).filter(|row| is_lasting(row));
            let exchanges: BTreeSet<&str> = lasting.map(|row| &*row.exchange).collect();
            let kept = |row: &Instrument| is_lasting(row) || !exchanges.contains(&*row.exchange);
            markets.retain(|&market| kept(&instruments[market]));
        }
        markets
    }

    /// Whether the markets of the query make one series.
    fn is_together(&self) -> bool {
        self.query.group_by.is_some() || self.is_of_coin()
    }

    /// Whether the type always adds its markets up.
    fn is_of_coin(&self) -> bool {
        self.spec.selection == Selection::CoinOnly
    }
}

/// Checks that the markets of a sum are alike, as all are in USD: prices in different quotes have no mean and no common
/// levels, and contracts do not add to coins. Rates are weighted, not added.
fn check_kinds(context: &QueryContext<'_>, markets: &[usize]) -> Result<(), ParamError> {
    let spec = context.spec;
    if !context.is_together() || context.query.usd || spec.group_by == Some(GroupBy::OpenInterestWeighted) {
        return Ok(());
    }
    let priced = context.is_of_coin() || matches!(spec.made_of, Some(RawData::Trades | RawData::Books));
    let instruments = markets.iter().map(|&market| &context.source.instruments()[market]);
    let quote = |instrument: &Instrument| price_unit(instrument).to_owned();
    let unit = |instrument: &Instrument| match instrument.contract_usd() {
        Some(usd) => format!("contracts of {usd} USD"),
        None => "coins".to_owned(),
    };
    let quotes = two_kinds(instruments.clone().map(quote)).filter(|_| priced);
    let kinds = quotes.map(|(one, other)| format!("quoted in {one} and {other}"));
    let units = || two_kinds(instruments.map(unit)).map(|(one, other)| format!("counted in {one} and in {other}"));
    match kinds.or_else(units) {
        Some(kinds) => {
            let name = if context.is_of_coin() { "transform.normalize.quote" } else { "transform.groupBy.type" };
            let remedy = "add transform.normalize.quote=USD, or name exchanges that are alike";
            Err(ParamError::new(name, format!("the coin's markets are {kinds}; {remedy}")))
        }
        None => Ok(()),
    }
}

fn interval(query: &PointsQuery) -> Result<&'static Interval, ParamError> {
    let name = query.interval.as_deref().unwrap_or_default();
    Interval::find(name).ok_or_else(|| {
        let names = INTERVALS.map(|row| row.name);
        let what = if name.is_empty() { "missing".to_owned() } else { format!("{name:?} is not known") };
        ParamError::new("interval", format!("{what}; give one of {}{}", names.join(", "), hint(name, names)))
    })
}

/// The first of some kinds, and one that differs from it.
fn two_kinds(mut kinds: impl Iterator<Item = String>) -> Option<(String, String)> {
    let first = kinds.next()?;
    kinds.find(|kind| *kind != first).map(|other| (first, other))
}
