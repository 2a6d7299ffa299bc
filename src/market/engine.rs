//! Query → series: selection, window, transforms (service.md 4.1).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::columns::Series;
use crate::market::books::block_size;
use crate::market::books::heatmap::{BookSettings, book_heatmap};
use crate::market::funding::answer::Asked;
use crate::market::instruments::names;
use crate::market::liquidations::heatmap::liquidation_heatmap;
use crate::market::listing::{discovery, page};
use crate::market::options::answer::{check_option_summary, option_summaries};
use crate::market::predictions::analytics;
use crate::market::profiles::tpo::{TpoSettings, market_profiles};
use crate::market::profiles::volume::volume_profiles;
use crate::market::query::error::MarketError;
use crate::market::query::usd::{Converter, NoRate, price_unit};
use crate::market::query::window::Buckets;
use crate::market::raw::{Bar, Feed, Listing, Source, Stop, Stoppable, SummaryKind};
use crate::market::sources::demo::Demo;
use crate::market::sources::watched::Watched;
use crate::market::supply::answer::token_supply;
use crate::market::trades::candles;
use crate::market::trades::candles::{Bars, Side};
use crate::protocol::interval::INTERVALS;
use crate::protocol::query::{Spelling, known_type, refuse_unknown};
use crate::protocol::suggest::hint;
use crate::protocol::symbol::Category;
use crate::protocol::{
    AnalyticsAnswer, AnalyticsQuery, DataType, DiscoveryList, Filters, Interval, MarketsPage, MarketsQuery, ParamError,
    PointsQuery, Selection, SeriesId, SortDirection, TypeSpec, has_block_size,
};

/// The market behind a service.
pub struct Market {
    pub(in crate::market) source: Arc<dyn Source>,
    pub(in crate::market) last_event: Option<i64>,
    /// The store that the source was read from, which may change.
    pub(in crate::market) watched: Option<Arc<Watched>>,
    strict_symbols: bool,
    any_block_size: bool,
}

impl Market {
    /// The market of a source, without strict symbols.
    pub fn new(source: Box<dyn Source>) -> Self {
        Self::of(Arc::from(source))
    }

    /// The demo market of a seed: no files, every minute from 2015 on, strict symbols.
    pub fn demo(seed: u64) -> Self {
        Self::new(Box::new(Demo::new(seed))).with_strict_symbols(true)
    }

    pub(in crate::market) fn of(source: Arc<dyn Source>) -> Self {
        Self { source, last_event: None, watched: None, strict_symbols: false, any_block_size: false }
    }

    /// The same market over another source.
    pub(in crate::market) fn with_source(&self, source: Arc<dyn Source>, last_event: Option<i64>) -> Self {
        Self { source, last_event, watched: None, ..*self }
    }

    /// The market with [`Self::check`] and [`Self::subscribe`] refusing symbols that the exchange never had, and published
    /// exchanges that there are no data of, or answering them with nothing.
    #[must_use]
    pub fn with_strict_symbols(mut self, strict: bool) -> Self {
        self.strict_symbols = strict;
        self
    }

    /// The market with [`Self::check_block_size`] taking any size, or only multiples of the recommended one.
    #[must_use]
    pub fn with_any_block_size(mut self, any: bool) -> Self {
        self.any_block_size = any;
        self
    }

    pub(in crate::market) fn strict_symbols(&self) -> bool {
        self.strict_symbols
    }

    /// The same market for one answer: once `stop` is set its work fails soon, as [`MarketError::Internal`].
    #[must_use]
    pub fn stopped_by(&self, stop: &Stop) -> Self {
        self.with_source(Arc::new(Stoppable::shared(&self.source, stop)), self.last_event)
    }

    /// Unix nanoseconds of the end of the data's last day; `None` for the demo, which has no end.
    pub fn last_event(&self) -> Option<i64> {
        self.last_event
    }

    /// What a query must pass before it is worth answering: the rules of its type (section 4.1), an exchange that there is
    /// and, with strict symbols, a symbol or coin that it has. Reads no data. `now` is in Unix nanoseconds.
    ///
    /// # Errors
    /// [`MarketError::Invalid`] for a rule that the query breaks, [`MarketError::UnknownExchange`] and
    /// [`MarketError::UnknownSymbol`] for a name that is not known.
    pub fn check(&self, query: &PointsQuery, now: i64) -> Result<(), MarketError> {
        let spec = checked(query)?;
        let interval = interval(query)?;
        match spec.data_type {
            DataType::SkewOptionSummaryAgg => check_option_summary(self.source(), query, SummaryKind::Skew)?,
            DataType::ImpliedVolatilityOptionSummaryAgg => {
                check_option_summary(self.source(), query, SummaryKind::ImpliedVolatility)?;
            }
            DataType::TpoAgg => drop(TpoSettings::of(query, interval, now)?),
            _ => {}
        }
        names::check(self.source(), query, spec, self.strict_symbols)?;
        Ok(self.check_kinds(query, spec, || self.select(query, spec))?)
    }

    /// Whether [`Self::check_block_size`] looks at this query.
    pub fn has_block_size(&self, query: &PointsQuery) -> bool {
        has_block_size(&query.data_type) && query.block_size.is_some() && !self.any_block_size
    }

    /// Refuses a block size that is no multiple of the one recommended as of `now` (Unix nanoseconds; supplement 9). In USD
    /// the markets in other quotes are left out: theirs is recommended in their quote. Reads the last price.
    ///
    /// # Errors
    /// [`MarketError::Invalid`] with the nearest size that fits.
    pub fn check_block_size(&self, query: &PointsQuery, now: i64) -> Result<(), MarketError> {
        let Some(size) = query.block_size.filter(|_| self.has_block_size(query)) else { return Ok(()) };
        let spec = checked(query)?;
        let mut markets = self.select(query, spec);
        markets.retain(|&market| !query.usd || self.source.listings()[market].is_usd_like());
        block_size::check(self.source(), &markets, size, now)
    }

    /// Answers a query as of `now` (Unix nanoseconds): nothing later is told, the bucket that holds `now` is the newest
    /// point. Rows are in the order that the query asks for. An exchange or symbol without data gives no series.
    ///
    /// # Errors
    /// [`MarketError::Invalid`] when the query breaks a rule of its type, [`MarketError::Internal`] when the data cannot be
    /// read.
    pub fn points(&self, query: &PointsQuery, now: i64) -> Result<Vec<Series>, MarketError> {
        let spec = checked(query)?;
        let interval = interval(query)?;
        let buckets = Buckets::new(interval, query.from, query.period, now);
        let markets = self.select(query, spec);
        self.check_kinds(query, spec, || markets.clone())?;
        let asked = Asked {
            source: self.source.as_ref(),
            query,
            markets: &markets,
            buckets: &buckets,
            id: &|markets| self.id(query, markets),
        };
        let mut series = match spec.data_type {
            DataType::TradeSideAgnosticAgg => self.candles(query, &markets, &buckets, &[Side::Both])?,
            DataType::TradeAgg => self.candles(query, &markets, &buckets, &[Side::Buy, Side::Sell])?,
            DataType::LiquidationAgg => asked.liquidations()?,
            DataType::FundingRateAgg => asked.funding_rate()?,
            DataType::OpenInterestAgg => asked.open_interest()?,
            DataType::BlockBookSnapshotAgg => {
                let (size, depth) = (query.block_size.unwrap_or(1.0), depth(query, spec));
                let settings = BookSettings { size, depth, usd: query.usd };
                self.grouped(query, &markets, |id, group| {
                    book_heatmap(self.source.as_ref(), id, group, &buckets, settings)
                })?
            }
            DataType::VolumeProfileAgg => self.grouped(query, &markets, |id, group| {
                volume_profiles(self.source.as_ref(), id, group, &buckets, query.usd)
            })?,
            DataType::TpoAgg => {
                let settings = TpoSettings::of(query, interval, now)?;
                self.grouped(query, &markets, |id, group| market_profiles(self.source.as_ref(), id, group, &settings))?
            }
            DataType::SkewOptionSummaryAgg => {
                option_summaries(self.source.as_ref(), query, SummaryKind::Skew, &buckets)?
            }
            DataType::ImpliedVolatilityOptionSummaryAgg => {
                option_summaries(self.source.as_ref(), query, SummaryKind::ImpliedVolatility, &buckets)?
            }
            DataType::TokenSupplyAgg => token_supply(self.source.as_ref(), query, &buckets)?,
            DataType::VenueLiquidationAgg => {
                let (id, depth) = (self.id(query, &markets), depth(query, spec));
                vec![liquidation_heatmap(self.source.as_ref(), id, &markets, &buckets, query.usd, depth)?]
            }
        };
        series.retain(|one| !one.is_empty());
        if query.sort == Some(SortDirection::Descending) {
            for one in &mut series {
                one.take(&(0..one.len()).rev().collect::<Vec<_>>());
            }
        }
        Ok(series)
    }

    /// One page of the market listing as of `now` (Unix nanoseconds).
    ///
    /// # Errors
    /// [`MarketError::Invalid`] for unknown parameters, [`MarketError::Internal`] when the data cannot be read.
    pub fn markets(&self, query: &MarketsQuery, now: i64) -> Result<MarketsPage, MarketError> {
        page::page(self.source.as_ref(), query, now)
    }

    /// What a list endpoint of section 4.2 holds as of `now` (Unix nanoseconds): the names, or the block sizes, of the
    /// markets that pass the filters, distinct and ascending; the array under the endpoint's key.
    ///
    /// # Errors
    /// [`MarketError::Invalid`] for unknown parameters, [`MarketError::Internal`] when the data cannot be read.
    pub fn list(&self, list: DiscoveryList, filters: &Filters, now: i64) -> Result<serde_json::Value, MarketError> {
        discovery::list(self.source.as_ref(), list, filters, now)
    }

    /// The answer of a prediction-market analytics endpoint as of `now` (Unix nanoseconds). A wallet or market without
    /// positions gives an empty answer, and so does a source without any.
    ///
    /// # Errors
    /// [`MarketError::Invalid`] when the query breaks a rule of section 4.3.
    pub fn analytics(&self, query: &AnalyticsQuery, now: i64) -> Result<AnalyticsAnswer, MarketError> {
        query.check()?;
        query.check_offset()?;
        refuse_unknown(&query.extra, query.endpoint().spec().parameters)?;
        let positions = self.source.positions(now);
        Ok(positions.map_or_else(AnalyticsAnswer::default, |table| analytics::answer(&table, &query.ask, now)))
    }

    pub(in crate::market) fn source(&self) -> &dyn Source {
        self.source.as_ref()
    }

    /// The markets that a query means: of those that it names, those that have the data of its type.
    fn select(&self, query: &PointsQuery, spec: &TypeSpec) -> Vec<usize> {
        let fits = |row: &Listing| {
            row.feeds.serve(spec.data_type)
                && (query.exchanges.is_empty() || query.exchanges.contains(&row.exchange))
                && query.raw_symbol.as_ref().is_none_or(|symbol| *symbol == row.raw_symbol)
                && query.coin.as_ref().is_none_or(|coin| *coin == row.coin)
                && query.normalized_symbol.as_ref().is_none_or(|symbol| *symbol == row.normalized_symbol())
        };
        let listings = self.source.listings();
        let mut markets: Vec<usize> = (0..listings.len()).filter(|&market| fits(&listings[market])).collect();
        if query.coin.is_some() && is_together(query, spec) {
            // What ends on a day has another price than the coin: it counts where an exchange has nothing else of the coin.
            let is_lasting = |row: &Listing| !Category::ENDING.into_iter().any(|category| row.is(category));
            let lasting = markets.iter().map(|&market| &listings[market]).filter(|row| is_lasting(row));
            let exchanges: BTreeSet<&str> = lasting.map(|row| &*row.exchange).collect();
            let kept = |row: &Listing| is_lasting(row) || !exchanges.contains(&*row.exchange);
            markets.retain(|&market| kept(&listings[market]));
        }
        markets
    }

    /// What is added up must be of one kind, which in USD everything is: prices in unlike quotes have no mean and no common
    /// levels, and contracts do not add to coins. Rates are weighed, not added.
    fn check_kinds(
        &self,
        query: &PointsQuery,
        spec: &TypeSpec,
        markets: impl FnOnce() -> Vec<usize>,
    ) -> Result<(), ParamError> {
        let by_itself = spec.selection == Selection::CoinOnly; // aggregated without being asked to
        if !is_together(query, spec) || query.usd || spec.data_type == DataType::FundingRateAgg {
            return Ok(());
        }
        let markets = markets();
        let priced = by_itself || matches!(Feed::of(spec.data_type), Some(Feed::Trades | Feed::Books));
        let listings = markets.iter().map(|&market| &self.source.listings()[market]);
        let quote = |listing: &Listing| price_unit(listing).to_owned();
        let unit = |listing: &Listing| match listing.contract_usd() {
            Some(usd) => format!("contracts of {usd} USD"),
            None => "coins".to_owned(),
        };
        let quotes = two_kinds(listings.clone().map(quote)).filter(|_| priced);
        let kinds = quotes.map(|(one, other)| format!("quoted in {one} and {other}"));
        let units = || two_kinds(listings.map(unit)).map(|(one, other)| format!("counted in {one} and in {other}"));
        match kinds.or_else(units) {
            Some(kinds) => {
                let name = if by_itself { "transform.normalize.quote" } else { "transform.groupBy.type" };
                let remedy = "add transform.normalize.quote=USD, or name exchanges that are alike";
                Err(ParamError::new(name, format!("the coin's markets are {kinds}; {remedy}")))
            }
            None => Ok(()),
        }
    }

    fn candles(
        &self,
        query: &PointsQuery,
        markets: &[usize],
        buckets: &Buckets,
        sides: &[Side],
    ) -> Result<Vec<Series>, MarketError> {
        let mut series = Vec::new();
        for group in groups(query, markets) {
            let mut bars = self.bars(query, group, buckets)??;
            if query.gapfill {
                // After the sum: where one of its markets did not trade, the others make the bucket.
                bars = candles::gapfill(&bars, self.close_before(query, group, buckets)?, buckets);
            }
            let ids = std::iter::repeat_n(self.id(query, group), sides.len());
            series.extend(sides.iter().zip(ids).map(|(side, id)| candles::series(id, &bars, *side, query.usd)));
        }
        Ok(series)
    }

    /// The bars of some markets together.
    fn bars(
        &self,
        query: &PointsQuery,
        markets: &[usize],
        buckets: &Buckets,
    ) -> Result<Result<Bars, NoRate>, MarketError> {
        let (source, Buckets { interval, from, end, now }) = (self.source.as_ref(), *buckets);
        let mut parts = Vec::new();
        for &market in markets {
            let mut converter = Converter::new(source, market, query.usd, now);
            let visit = |visit: &mut dyn FnMut(&Bar)| source.bars(market, from, end, now, visit);
            let mut bars = match candles::roll_up(visit, interval, &mut converter)? {
                Ok(bars) => bars,
                Err(missing) => return Ok(Err(missing)),
            };
            converter.weigh_by_coins(&mut bars);
            parts.push(bars);
        }
        Ok(Ok(candles::sum(parts)))
    }

    /// The close before the window: of the last bucket in which any of the markets traded, as that bucket shows it. `None`
    /// where nothing tells that bucket in the unit of the query: the window itself is not worse for it.
    fn close_before(
        &self,
        query: &PointsQuery,
        markets: &[usize],
        buckets: &Buckets,
    ) -> Result<Option<f64>, MarketError> {
        let mut last = None;
        for &market in markets {
            let bar = self.source.bar_before(market, buckets.from, buckets.now)?;
            last = last.max(bar.map(|bar| buckets.interval.floor(bar.start)));
        }
        let Some(start) = last else { return Ok(None) };
        let bucket = Buckets { from: start, end: start + buckets.interval.seconds, ..*buckets };
        let bars = self.bars(query, markets, &bucket)?;
        Ok(bars.ok().and_then(|bars| bars.first().map(|bar| bar.close)))
    }

    /// A series of each group of markets that the query wants together.
    fn grouped(
        &self,
        query: &PointsQuery,
        markets: &[usize],
        make: impl Fn(SeriesId, &[usize]) -> Result<Series, MarketError>,
    ) -> Result<Vec<Series>, MarketError> {
        groups(query, markets).into_iter().map(|group| make(self.id(query, group), group)).collect()
    }

    /// The identity of a series over these markets: what they have in common. A sum or mean that was asked for keeps only
    /// its type and interval (supplement 2); the liquidation heatmap, which is of a coin anyhow, its coin (section 2.3).
    fn id(&self, query: &PointsQuery, markets: &[usize]) -> SeriesId {
        if query.is_aggregated() {
            let (data_type, interval) = (Some(query.data_type.clone()), query.interval.clone());
            return SeriesId { data_type, interval, ..SeriesId::default() };
        }
        let listings = self.source.listings();
        let common = |field: fn(&Listing) -> String| {
            let mut values = markets.iter().map(|&market| field(&listings[market]));
            let first = values.next()?;
            values.all(|value| value == first).then_some(first)
        };
        SeriesId {
            data_type: Some(query.data_type.clone()),
            raw_symbol: common(|row| row.raw_symbol.clone()),
            exchange: common(|row| row.exchange.clone()),
            normalized_symbol: common(Listing::normalized_symbol),
            category: common(|row| row.category.clone()),
            interval: query.interval.clone(),
            coin: common(|row| row.coin.clone()),
            ..SeriesId::default()
        }
    }
}

/// The row of a query's type, when the query keeps that row's rules.
fn checked(query: &PointsQuery) -> Result<&'static TypeSpec, ParamError> {
    let spec = known_type(&query.data_type)?;
    query.validate(spec, Spelling::Wire)?;
    Ok(spec)
}

fn interval(query: &PointsQuery) -> Result<&'static Interval, ParamError> {
    let name = query.interval.as_deref().unwrap_or_default();
    Interval::find(name).ok_or_else(|| {
        let names = INTERVALS.map(|row| row.name);
        let what = if name.is_empty() { "missing".to_owned() } else { format!("{name:?} is not known") };
        ParamError::new("interval", format!("{what}; give one of {}{}", names.join(", "), hint(name, names)))
    })
}

/// Levels that a heatmap holds at most.
fn depth(query: &PointsQuery, spec: &TypeSpec) -> u32 {
    query.max_depth.or(spec.included_depth).unwrap_or(u32::MAX)
}

/// Whether the markets of a query make one series.
fn is_together(query: &PointsQuery, spec: &TypeSpec) -> bool {
    query.group_by.is_some() || spec.selection == Selection::CoinOnly
}

/// All markets together when the query aggregates, else each for itself.
fn groups<'a>(query: &PointsQuery, markets: &'a [usize]) -> Vec<&'a [usize]> {
    let together = query.group_by.is_some() && !markets.is_empty();
    if together { vec![markets] } else { markets.chunks(1).collect() }
}

/// The first of some kinds and one that is unlike it.
fn two_kinds(mut kinds: impl Iterator<Item = String>) -> Option<(String, String)> {
    let first = kinds.next()?;
    kinds.find(|kind| *kind != first).map(|other| (first, other))
}
