//! Source over an archive: it lists the markets that have archived answers, and has no raw data.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::archive::points::Content;
use crate::clock::{UnixNanos, UnixSecond, Window};
use crate::market::raw::{
    Bar, Book, BookFeed, Feeds, Instrument, OhlcBar, OptionFeed, OptionSummary, PositionTable, PredictionFeed,
    PredictionFigures, PredictionState, RawDataSet, Source, SourceError, SummaryKind, Supply, SupplyFeed, Ticker,
    TickerFeed, TickerField, Token, Trade, TradeFeed,
};
use crate::protocol::{DataType, Selection};

/// Markets, option summaries and tokens of which something was asked.
#[derive(Default)]
pub(super) struct AskedInstruments {
    instruments: Vec<Instrument>,
    /// By market: its archived types, each with the start of its first bucket.
    asked: Vec<BTreeMap<&'static str, UnixSecond>>,
    feeds: Feeds,
}

impl AskedInstruments {
    pub(super) fn of(contents: &[Content]) -> Self {
        let (mut listed, mut others) = (Self::default(), ListedContent::default());
        let mut markets: BTreeMap<(String, String, String), BTreeMap<&'static str, UnixSecond>> = BTreeMap::new();
        for content in contents {
            let query = content.key.query();
            let (Some(data_type), Some(first)) = (DataType::find(&query.data_type), content.windows.first()) else {
                continue;
            };
            let (coin, since) = (query.coin.clone().unwrap_or_default(), UnixSecond(first.from));
            let exchanges = if query.exchanges.is_empty() { vec![String::new()] } else { query.exchanges.clone() };
            match (data_type, summary(data_type)) {
                (_, Some(kind)) => others.summaries.extend(exchanges.into_iter().map(|exchange| OptionSummary {
                    exchange,
                    raw_symbol: query.raw_symbol.clone().unwrap_or_default(),
                    coin: coin.clone(),
                    coin_name: String::new(),
                    tenor: query.tenor.clone().unwrap_or_default(),
                    kind,
                    available_since: since,
                })),
                (one, None) if one.spec().selection == Selection::Token => {
                    let name = query.token_name.clone().unwrap_or_default();
                    others.tokens.push(Token { coin, name, available_since: since });
                }
                _ => {
                    for exchange in exchanges {
                        let symbol = query.raw_symbol.clone().unwrap_or_default();
                        let types = markets.entry((exchange, symbol, coin.clone())).or_default();
                        let known = types.entry(data_type.spec().name).or_insert(since);
                        *known = since.min(*known);
                    }
                }
            }
        }
        for ((exchange, symbol, coin), types) in markets {
            let kinds = types.keys().filter_map(|name| DataType::find(name)?.spec().made_of);
            let raw_data: RawDataSet = kinds.collect();
            let since = types.values().copied().min().unwrap_or_default();
            let mut instrument = Instrument::named(exchange, symbol, since, raw_data);
            if instrument.raw_symbol.is_empty() {
                // Over all markets of a coin: none of them is known by name.
                (instrument.coin, instrument.quote, instrument.category) = (coin, String::new(), String::new());
            }
            listed.instruments.push(instrument);
            listed.asked.push(types);
        }
        listed.feeds = others.feeds();
        listed
    }
}

fn summary(data_type: DataType) -> Option<SummaryKind> {
    [SummaryKind::Skew, SummaryKind::ImpliedVolatility].into_iter().find(|kind| kind.data_type() == data_type)
}

impl Source for AskedInstruments {
    fn instruments(&self) -> &[Instrument] {
        &self.instruments
    }

    fn feeds(&self) -> &Feeds {
        &self.feeds
    }

    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<UnixNanos>, SourceError> {
        Ok(self.asked[market].get(data_type.spec().name).copied().map(UnixSecond::nanos))
    }

    fn icon_url(&self, _: usize) -> String {
        String::new()
    }
}

/// Option summaries, tokens and prediction markets of the archive. It has no raw data, so the figures of the listing are
/// unknown.
#[derive(Default)]
struct ListedContent {
    summaries: Vec<OptionSummary>,
    tokens: Vec<Token>,
}

impl ListedContent {
    fn feeds(self) -> Feeds {
        let content = Arc::new(self);
        Feeds::default()
            .with::<dyn TradeFeed>(Arc::<Self>::clone(&content))
            .with::<dyn BookFeed>(Arc::<Self>::clone(&content))
            .with::<dyn TickerFeed>(Arc::<Self>::clone(&content))
            .with::<dyn OptionFeed>(Arc::<Self>::clone(&content))
            .with::<dyn SupplyFeed>(Arc::<Self>::clone(&content))
            .with::<dyn PredictionFeed>(content)
    }
}

impl TradeFeed for ListedContent {
    fn bars(&self, _: usize, _: Window, _: UnixNanos, _: &mut dyn FnMut(&Bar)) -> Result<(), SourceError> {
        Ok(())
    }

    fn bar_before(&self, _: usize, _: UnixSecond, _: UnixNanos) -> Result<Option<Bar>, SourceError> {
        Ok(None)
    }

    fn trades(&self, _: usize, _: Window, _: UnixNanos, _: &mut dyn FnMut(&Trade)) -> Result<(), SourceError> {
        Ok(())
    }

    fn tick(&self, _: usize) -> Result<f64, SourceError> {
        Ok(1.0)
    }
}

impl BookFeed for ListedContent {
    fn last_book(&self, _: usize, _: Window, _: UnixNanos) -> Result<Option<Book>, SourceError> {
        Ok(None)
    }
}

impl TickerFeed for ListedContent {
    fn ticker_bars(
        &self,
        _: usize,
        _: TickerField,
        _: Window,
        _: UnixNanos,
        _: &mut dyn FnMut(&OhlcBar),
    ) -> Result<(), SourceError> {
        Ok(())
    }

    fn ticker_before(
        &self,
        _: usize,
        _: TickerField,
        _: UnixSecond,
        _: UnixNanos,
    ) -> Result<Option<OhlcBar>, SourceError> {
        Ok(None)
    }

    fn readings(&self, _: usize, _: Window, _: UnixNanos, _: &mut dyn FnMut(&Ticker)) -> Result<(), SourceError> {
        Ok(())
    }
}

impl OptionFeed for ListedContent {
    fn option_summaries(&self) -> &[OptionSummary] {
        &self.summaries
    }

    fn option_summary(&self, _: usize, _: UnixSecond, _: UnixSecond) -> Result<Option<f64>, SourceError> {
        Ok(None)
    }
}

impl SupplyFeed for ListedContent {
    fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    fn supply(&self, _: usize, _: Window, _: UnixNanos, _: &mut dyn FnMut(Supply)) -> Result<(), SourceError> {
        Ok(())
    }
}

impl PredictionFeed for ListedContent {
    fn positions(&self, _: UnixNanos) -> Option<Arc<PositionTable>> {
        None
    }

    fn prediction(&self, _: usize, _: UnixSecond) -> Option<PredictionState> {
        None
    }

    fn prediction_volume(&self, _: usize, _: UnixSecond) -> Option<f64> {
        None
    }

    fn prediction_figures(&self, _: usize, _: UnixSecond) -> Option<&PredictionFigures> {
        None
    }
}
