//! Query → series: selection, window, transforms (service.md 4.1).

use std::sync::Arc;

use super::archived::{Archived, OpenedArchive};
use super::instruments::names;
use super::listing::{discovery, page};
use super::query::context::QueryContext;
use super::query::error::MarketError;
use super::raw::{CancelFlag, CancellableSource, PredictionFeed, Source};
use super::sources::demo::Demo;
use super::sources::watched::Watched;
use super::subjects::TypeAnswer;
use super::subjects::books::block_size;
use super::subjects::predictions::analytics;
use crate::archive::points::Archive;
use crate::clock::UnixNanos;
use crate::columns::Series;
use crate::protocol::query::Spelling;
use crate::protocol::query::refuse_unknown;
use crate::protocol::{
    AnalyticsAnswer, AnalyticsQuery, DiscoveryList, Filters, MarketsPage, MarketsQuery, PointsQuery, SortDirection,
    has_block_size,
};

/// The market behind a service.
pub struct Market {
    pub(in crate::market) source: Arc<dyn Source>,
    pub(in crate::market) last_event: Option<UnixNanos>,
    /// The store that the source was read from, which may change.
    pub(in crate::market) watched: Option<Arc<Watched>>,
    /// The archived answers, in place of raw data.
    archived: Option<Arc<Archived>>,
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

    /// A market over an archive: it answers as the archived service did, without strict symbols. Data that is synced later is
    /// answered too, and listed by the next market.
    ///
    /// # Errors
    /// [`MarketError::Internal`] for an archive that is empty or cannot be read.
    pub fn of_archive(archive: Archive) -> Result<Self, MarketError> {
        let OpenedArchive { answers, source, last_event } = Archived::open(archive)?;
        let archived = Some(Arc::new(answers));
        Ok(Self { last_event, archived, ..Self::new(source) })
    }

    /// Whether answers are read from files and not computed.
    pub fn is_archive(&self) -> bool {
        self.archived.is_some()
    }

    /// Whether it answers from files that may change: [`Self::current`] then waits for a change in progress.
    #[must_use]
    pub fn follows_files(&self) -> bool {
        self.watched.is_some()
    }

    /// Fails for a market over an archive, which keeps no such data.
    pub(in crate::market) fn computes(&self, what: &str) -> Result<(), MarketError> {
        let refusal = || {
            let has = "an archive keeps points alone; a service of the demo market or of a store of dumps has them";
            MarketError::NotArchived(format!("{what}: {has}"))
        };
        if self.is_archive() { Err(refusal()) } else { Ok(()) }
    }

    pub(in crate::market) fn of(source: Arc<dyn Source>) -> Self {
        Self { source, last_event: None, watched: None, archived: None, strict_symbols: false, any_block_size: false }
    }

    /// A copy of the market over another source.
    pub(in crate::market) fn with_source(&self, source: Arc<dyn Source>, last_event: Option<UnixNanos>) -> Self {
        let archived = self.archived.clone();
        Self { source, last_event, watched: None, archived, ..*self }
    }

    /// Sets strict symbols: whether [`Self::check`] and [`Self::subscribe`] refuse symbols that the exchange never had, and
    /// published exchanges without data. Otherwise their answers are empty.
    #[must_use]
    pub fn with_strict_symbols(mut self, strict: bool) -> Self {
        self.strict_symbols = strict;
        self
    }

    /// Sets whether [`Self::check_block_size`] takes any size, or only multiples of the recommended one.
    #[must_use]
    pub fn with_any_block_size(mut self, any: bool) -> Self {
        self.any_block_size = any;
        self
    }

    pub(in crate::market) fn strict_symbols(&self) -> bool {
        self.strict_symbols
    }

    /// A copy of the market for one answer: soon after `stop` is set, its work fails with [`MarketError::Internal`].
    #[must_use]
    pub fn cancelled_by(&self, stop: &CancelFlag) -> Self {
        self.with_source(Arc::new(CancellableSource::shared(&self.source, stop)), self.last_event)
    }

    /// The end of the data's last day; `None` for the demo, which has no end.
    pub fn last_event(&self) -> Option<UnixNanos> {
        self.last_event
    }

    /// Checks a query before it is answered: the rules of its type (section 4.1), that its exchange exists and, with strict
    /// symbols, that the exchange has its symbol or coin. Reads no data.
    ///
    /// # Errors
    /// [`MarketError::Invalid`] for a rule that the query breaks, [`MarketError::UnknownExchange`] and
    /// [`MarketError::UnknownSymbol`] for a name that is not known.
    pub fn check(&self, query: &PointsQuery, now: UnixNanos) -> Result<(), MarketError> {
        let context = QueryContext::without_markets(self.source(), query, now)?;
        (TypeAnswer::of(context.spec.data_type).check)(&context)?;
        names::check(self.source(), query, context.spec, self.strict_symbols)?;
        // The archived service has already checked, by all its markets, whether a coin's markets can be added up.
        if self.is_archive() { Ok(()) } else { Ok(context.check_kinds()?) }
    }

    /// Whether [`Self::check_block_size`] applies to the query.
    pub fn has_block_size(&self, query: &PointsQuery) -> bool {
        has_block_size(&query.data_type) && query.block_size.is_some() && !self.any_block_size
    }

    /// Refuses a block size that is no multiple of the one recommended as of `now` (supplement 9). In USD
    /// it ignores markets in other quotes, whose recommendation is in their quote. Reads the last price.
    ///
    /// # Errors
    /// [`MarketError::Invalid`] with the nearest size that fits.
    pub fn check_block_size(&self, query: &PointsQuery, now: UnixNanos) -> Result<(), MarketError> {
        let Some(size) = query.block_size.filter(|_| self.has_block_size(query)) else { return Ok(()) };
        let mut markets = QueryContext::without_markets(self.source(), query, now)?.select();
        markets.retain(|&market| !query.usd || self.source.instruments()[market].is_usd_like());
        block_size::check(self.source(), &markets, size, now)
    }

    /// Answers a query as of `now`: nothing later is in the answer, the bucket that holds `now` is the newest
    /// point. Rows are in the order that the query asks for. An exchange or symbol without data gives no series.
    ///
    /// # Errors
    /// [`MarketError::Invalid`] when the query breaks a rule of its type, [`MarketError::Internal`] when the data cannot be
    /// read, [`MarketError::NotArchived`] when an archive does not have them.
    pub fn points(&self, query: &PointsQuery, now: UnixNanos) -> Result<Vec<Series>, MarketError> {
        let mut series = match &self.archived {
            Some(kept) => kept.points(query, now)?,
            None => {
                let context = QueryContext::new(self.source(), query, now)?;
                let TypeAnswer { check, answer } = TypeAnswer::of(context.spec.data_type);
                check(&context)?;
                answer(&context)?
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

    /// One page of the market listing as of `now`.
    ///
    /// # Errors
    /// [`MarketError::Invalid`] for unknown parameters, [`MarketError::Internal`] when the data cannot be read.
    pub fn markets(&self, query: &MarketsQuery, now: UnixNanos) -> Result<MarketsPage, MarketError> {
        page::page(self.source.as_ref(), query, now)
    }

    /// The array of a list endpoint (section 4.2) as of `now`: the distinct names, or block sizes, of the markets that pass
    /// the filters, ascending.
    ///
    /// # Errors
    /// [`MarketError::Invalid`] for unknown parameters, [`MarketError::Internal`] when the data cannot be read.
    pub fn list(
        &self,
        list: DiscoveryList,
        filters: &Filters,
        now: UnixNanos,
    ) -> Result<serde_json::Value, MarketError> {
        discovery::list(self.source.as_ref(), list, filters, now)
    }

    /// The answer of a prediction-market analytics endpoint as of `now`. A wallet or market without
    /// positions gives an empty answer, and so does a source without any.
    ///
    /// # Errors
    /// [`MarketError::Invalid`] when the query breaks a rule of section 4.3.
    pub fn analytics(&self, query: &AnalyticsQuery, now: UnixNanos) -> Result<AnalyticsAnswer, MarketError> {
        query.check(Spelling::Wire)?;
        query.check_offset()?;
        refuse_unknown(&query.extra, query.endpoint().spec().parameters)?;
        self.computes("prediction-market analytics")?;
        let positions = self.source().of::<dyn PredictionFeed>()?.positions(now);
        Ok(positions.map_or_else(AnalyticsAnswer::default, |table| analytics::answer(&table, &query.ask, now)))
    }

    pub(in crate::market) fn source(&self) -> &dyn Source {
        self.source.as_ref()
    }
}
