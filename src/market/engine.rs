//! Query → series: selection, window, transforms (service.md 4.1).

use std::path::Path;

use super::analytics;
use super::candles::{self, Bars, Rates, Side};
use super::derivatives::Asked;
use super::discovery;
use super::feed::Feed;
use super::heatmap::{Blocks, Counted, Step, snapshot};
use super::listing;
use super::profiles::{TpoSettings, level, liquidation_heatmap, market_profiles, volume_profiles};
use super::source::{Listing, Source};
use super::store::Store;
use super::summaries::{SummaryKind, option_summaries, token_supply};
use super::window::Buckets;
use super::{Demo, MarketError};
use crate::clock::SECOND;
use crate::columns::{List, Series, heatmap_of_sides};
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::interval::INTERVALS;
use crate::protocol::query::refuse_unknown;
use crate::protocol::suggest::hint;
use crate::protocol::wire::USD_LIKE;
use crate::protocol::{
    AnalyticsAnswer, AnalyticsQuery, DataType, DiscoveryList, Filters, Interval, MarketsPage, MarketsQuery, ParamError,
    PointsQuery, Selection, SeriesId, SortDirection, TypeSpec,
};

/// The market behind a service.
pub struct Market {
    source: Box<dyn Source>,
    last_event: Option<i64>,
}

impl Market {
    /// The demo market of a seed: no files, every minute from 2015 on.
    pub fn demo(seed: u64) -> Self {
        Self { source: Box::new(Demo::new(seed)), last_event: None }
    }

    /// A store that [`super::ingest`] made.
    ///
    /// # Errors
    /// [`MarketError::Internal`] for a folder that is no store.
    pub fn open(store: &Path) -> Result<Self, MarketError> {
        let store = Store::open(store)?;
        Ok(Self { last_event: store.last_event(), source: Box::new(store) })
    }

    /// Unix nanoseconds of the end of the data's last day; `None` for the demo, which has no end.
    pub fn last_event(&self) -> Option<i64> {
        self.last_event
    }

    /// Answers a query as of `now` (Unix nanoseconds): nothing later is told, the bucket that holds `now` is the newest
    /// point. Rows are in the order that the query asks for. An exchange or symbol without data gives no series.
    ///
    /// # Errors
    /// [`MarketError::Invalid`] when the query breaks a rule of its type, [`MarketError::Internal`] when the data cannot be
    /// read.
    pub fn points(&self, query: &PointsQuery, now: i64) -> Result<Vec<Series>, MarketError> {
        let spec = check(query)?;
        let name = query.interval.as_deref().unwrap_or_default();
        let interval = Interval::find(name).ok_or_else(|| unknown_interval(name))?;
        let buckets = Buckets::new(interval, query.from, query.period, now);
        let markets = self.select(query);
        let asked = Asked {
            source: self.source.as_ref(),
            query,
            markets: self.serving(&markets, spec.data_type),
            buckets: &buckets,
            id: &|markets| self.id(query, markets),
        };
        self.check_kinds(query, spec, &asked.markets)?;
        let mut series = match spec.data_type {
            DataType::TradeSideAgnosticAgg => self.candles(query, &markets, &buckets, &[Side::Both])?,
            DataType::TradeAgg => self.candles(query, &markets, &buckets, &[Side::Buy, Side::Sell])?,
            DataType::LiquidationAgg => asked.liquidations()?,
            DataType::FundingRateAgg => asked.funding_rate()?,
            DataType::OpenInterestAgg => asked.open_interest()?,
            DataType::BlockBookSnapshotAgg => self.books(query, &markets, &buckets)?,
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
                let (markets, id) = (&asked.markets, self.id(query, &asked.markets));
                let depth = depth(query, spec);
                vec![liquidation_heatmap(self.source.as_ref(), id, markets, &buckets, query.usd, depth)?]
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
        listing::page(self.source.as_ref(), query, now)
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

    pub(super) fn source(&self) -> &dyn Source {
        self.source.as_ref()
    }

    fn select(&self, query: &PointsQuery) -> Vec<usize> {
        let fits = |row: &Listing| {
            (query.exchanges.is_empty() || query.exchanges.contains(&row.exchange))
                && query.raw_symbol.as_ref().is_none_or(|symbol| *symbol == row.raw_symbol)
                && query.coin.as_ref().is_none_or(|coin| *coin == row.coin)
                && query.normalized_symbol.as_ref().is_none_or(|symbol| *symbol == row.normalized_symbol())
        };
        let listings = self.source.listings().iter().enumerate();
        listings.filter(|(_, row)| fits(row)).map(|(market, _)| market).collect()
    }

    /// Those of the markets that have the data of a type: the others are no part of an aggregate or of its identity.
    fn serving(&self, markets: &[usize], data_type: DataType) -> Vec<usize> {
        let listings = self.source.listings();
        markets.iter().copied().filter(|&market| listings[market].feeds.serve(data_type)).collect()
    }

    /// What is added up must be of one kind, which in USD everything is: prices in unlike quotes have no mean and no common
    /// levels, and contracts do not add to coins. Rates are weighed, not added.
    fn check_kinds(&self, query: &PointsQuery, spec: &TypeSpec, markets: &[usize]) -> Result<(), ParamError> {
        let by_itself = spec.selection == Selection::CoinOnly; // aggregated without being asked to
        let together = query.group_by.is_some() || by_itself;
        if !together || query.usd || spec.data_type == DataType::FundingRateAgg {
            return Ok(());
        }
        let priced = by_itself || matches!(Feed::of(spec.data_type), Some(Feed::Trades | Feed::Books));
        let listings = markets.iter().map(|&market| &self.source.listings()[market]);
        let quote = |listing: &Listing| if listing.is_usd_like() { USD_LIKE[0] } else { &listing.quote }.to_owned();
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
        let mut parts: Vec<(Vec<usize>, Bars)> = Vec::new();
        for &market in markets {
            parts.push((vec![market], self.bars(query, market, buckets)?));
        }
        if query.group_by.is_some() && !parts.is_empty() {
            let (markets, bars): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
            parts = vec![(markets.concat(), candles::sum(bars))];
        }
        if query.gapfill {
            // After the sum: where one of its markets did not trade, the others make the bucket.
            for (markets, bars) in &mut parts {
                *bars = candles::gapfill(bars, self.close_before(query, markets, buckets)?, buckets);
            }
        }
        let mut series = Vec::new();
        for (markets, bars) in parts {
            let ids = std::iter::repeat_n(self.id(query, &markets), sides.len());
            series.extend(sides.iter().zip(ids).map(|(side, id)| candles::series(id, &bars, *side, query.usd)));
        }
        Ok(series)
    }

    fn bars(&self, query: &PointsQuery, market: usize, buckets: &Buckets) -> Result<Bars, MarketError> {
        let source = self.source.as_ref();
        let listing = &source.listings()[market];
        let mut rates =
            if query.usd && !listing.is_usd_like() { Some(Rates::new(source, &listing.quote, buckets)?) } else { None };
        let mut bars = candles::roll_up(source, market, buckets, rates.as_mut())?;
        if query.usd && listing.contract_usd().is_some() {
            // In USD, amounts are only the weights of a mean over markets: those count coins.
            for bar in &mut bars {
                (bar.buy, bar.sell) = (bar.buy_quote / bar.close, bar.sell_quote / bar.close);
            }
        }
        Ok(bars)
    }

    /// The close before the window: of the last bucket in which any of the markets traded, as that bucket shows it.
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
        let parts: Result<Vec<_>, _> = markets.iter().map(|&market| self.bars(query, market, &bucket)).collect();
        Ok(candles::sum(parts?).first().map(|bar| bar.close))
    }

    fn books(&self, query: &PointsQuery, markets: &[usize], buckets: &Buckets) -> Result<Vec<Series>, MarketError> {
        groups(query, markets).into_iter().map(|group| self.heatmap(query, group, buckets)).collect()
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

    fn heatmap(&self, query: &PointsQuery, markets: &[usize], buckets: &Buckets) -> Result<Series, MarketError> {
        let source = self.source.as_ref();
        let size = query.block_size.unwrap_or(1.0);
        let step = Step::new(size);
        let depth = depth(query, DataType::BlockBookSnapshotAgg.spec());
        let mut rates = Vec::new();
        for &market in markets {
            let listing = &source.listings()[market];
            let foreign = query.usd && !listing.is_usd_like();
            rates.push(if foreign { Some(Rates::new(source, &listing.quote, buckets)?) } else { None });
        }
        let (mut timestamps, mut levels, mut split) = (Vec::new(), List::default(), Vec::new());
        let (mut bought, mut sold) = (Blocks::default(), Blocks::default());
        for start in buckets.starts() {
            let mut found = false;
            for (&market, rates) in markets.iter().zip(&rates) {
                let end = start + buckets.interval.seconds;
                let Some(book) = source.last_book(market, start, end, buckets.now)? else { continue };
                found = true;
                // The highest prices, and with them all others.
                for (price, _) in book.bids.first().into_iter().chain(book.asks.last()) {
                    level(&step, size, *price)?;
                }
                let counted = match (rates, source.listings()[market].contract_usd()) {
                    (Some(rates), _) => Counted::Value(rates.at(end - 60).ok_or_else(|| rates.missing(start))?),
                    (None, Some(contract)) if query.usd => Counted::Contracts(contract),
                    (None, None) if query.usd => Counted::Value(1.0),
                    _ => Counted::Amount,
                };
                bought.collect(&book.bids, &step, counted);
                sold.collect(&book.asks, &step, counted);
            }
            if found {
                timestamps.push(start * SECOND);
                split.push(snapshot(&mut levels, &mut bought, &mut sold, &step, depth));
            }
        }
        Ok(heatmap_of_sides(self.id(query, markets), timestamps, levels, split))
    }

    /// The identity of a series over these markets: what they have in common.
    fn id(&self, query: &PointsQuery, markets: &[usize]) -> SeriesId {
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

/// Levels that a heatmap holds at most.
fn depth(query: &PointsQuery, spec: &TypeSpec) -> u32 {
    query.max_depth.or(spec.included_depth).unwrap_or(u32::MAX)
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

fn unknown_interval(name: &str) -> ParamError {
    let names = INTERVALS.map(|row| row.name);
    let what = if name.is_empty() { "missing".to_owned() } else { format!("{name:?} is not known") };
    ParamError::new("interval", format!("{what}; give one of {}{}", names.join(", "), hint(name, names)))
}

/// The selection and capability rules of the table.
fn check(query: &PointsQuery) -> Result<&'static TypeSpec, ParamError> {
    let Some(spec) = DataType::find(&query.data_type).map(DataType::spec) else {
        let near = hint(&query.data_type, DATA_TYPES.iter().map(|row| row.name));
        return Err(ParamError::new("type", format!("{:?} is not a data type{near}", query.data_type)));
    };
    let refuse = |name: &str, problem: &str| Err(ParamError::new(name, format!("{} {problem}", spec.name)));
    let (symbol, coin, normalized) =
        (query.raw_symbol.is_some(), query.coin.is_some(), query.normalized_symbol.is_some());
    // What has no coin, as a prediction market, is no part of any coin.
    for (name, value) in [("coin", &query.coin), ("normalizedSymbol", &query.normalized_symbol)] {
        if value.as_ref().is_some_and(String::is_empty) {
            return refuse(name, &format!("needs a {name} that is not empty, or none"));
        }
    }
    if normalized && spec.data_type != DataType::VolumeProfileAgg {
        return refuse("normalizedSymbol", "does not go by normalizedSymbol; only VOLUME_PROFILE_AGG does");
    }
    if spec.selection == Selection::SymbolOrCoin {
        if !symbol && !coin && !normalized {
            return refuse("rawSymbol", "takes exchange and rawSymbol, or exchanges and coin; both are missing");
        }
        // Section 4.1: TPO goes by coin alone as well.
        let by_coin_alone = coin && spec.data_type == DataType::TpoAgg;
        if query.exchanges.is_empty() && !by_coin_alone {
            return refuse("exchange", "takes at least one exchange");
        }
        if symbol && query.exchanges.len() > 1 {
            return refuse("exchange", "takes one exchange with rawSymbol; several go with coin");
        }
    }
    if spec.selection == Selection::CoinOnly {
        if symbol {
            return refuse("rawSymbol", "is of a coin, not of one market; give coin and leave rawSymbol out");
        }
        if !coin {
            return refuse("coin", "takes a coin, and exchanges where not all of them are meant; coin is missing");
        }
    }
    if query.gapfill && !spec.gapfill {
        return refuse("gapfill", "has no gapfill");
    }
    if query.usd && !spec.usd {
        return refuse("transform.normalize.quote", "cannot be normalized to USD");
    }
    match query.group_by {
        Some(asked) if spec.group_by != Some(asked) => {
            return refuse("transform.groupBy.type", &format!("does not aggregate by {}", asked.name()));
        }
        Some(_) if !coin && !normalized => {
            return refuse("transform.groupBy.type", "aggregates by coin; give coin");
        }
        _ => {}
    }
    match query.funding_interval {
        Some(_) if spec.data_type != DataType::FundingRateAgg => {
            return refuse(
                "transform.normalize.fundingInterval",
                "has no rates to normalize; only FUNDING_RATE_AGG has",
            );
        }
        Some(..=0) => {
            return refuse(
                "transform.normalize.fundingInterval",
                "needs milliseconds above 0, such as 28800000 for 8 h",
            );
        }
        _ => {}
    }
    if spec.needs_block_size && query.block_size.is_none() {
        return refuse("blockSize", "needs blockSize, the price step in USD");
    }
    Ok(spec)
}
