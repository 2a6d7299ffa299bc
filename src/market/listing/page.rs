//! The market listing (service.md 2.4 and 4.2, supplement 5).
//!
//! All figures are of events up to now. A market is listed from its first event on; with `type`, from the first event of one
//! of the types on.

use super::figures::Figures;
use super::order;
use crate::clock::UnixNanos;
use crate::market::instruments::availability::Availability;
use crate::market::instruments::filter::{InstrumentView, OrderedEntry, asked, full_name, wants};
use crate::market::query::error::MarketError;
use crate::market::raw::{Instrument, PREDICTION_VENUE, Source};
use crate::market::subjects::options::answer::option_entries;
use crate::market::subjects::predictions::listing::prediction_entries;
use crate::market::subjects::supply::answer::Marketcaps;
use crate::protocol::query::{DEFAULT_PAGE_SIZE, MARKETS_PARAMETERS, refuse_unknown};
use crate::protocol::{MarketsPage, MarketsQuery};

/// Added to the row number of `nextOffset` while there are more rows: the plain number, offset plus rows, means "no more"
/// (section 4.2). Requests may give either.
const CURSOR: u32 = 1 << 20;

/// One page of the listing.
pub(in crate::market) fn page(
    source: &dyn Source,
    query: &MarketsQuery,
    now: UnixNanos,
) -> Result<MarketsPage, MarketError> {
    refuse_unknown(&query.extra, &MARKETS_PARAMETERS)?;
    let mut figures = Figures::new(source, now);
    let mut rows = prediction_entries(source, query, now)?;
    rows.extend(option_entries(source, query, now)?.into_iter().map(|entry| OrderedEntry {
        entry,
        market: None,
        volume: None,
        price_change: None,
    }));
    let mut marketcaps = Marketcaps::new(source, now);
    for (market, instrument) in source.instruments().iter().enumerate() {
        // Prediction markets are listed by question, above. An archive's answers over all markets of a coin are no market.
        if instrument.exchange == PREDICTION_VENUE || instrument.raw_symbol.is_empty() || !fits(instrument, query) {
            continue;
        }
        let Some(available) = Availability::of(source, market, now) else { continue };
        if asked(query, |data_type| available.serves(data_type)) {
            let mut row = figures.row(market)?;
            row.entry.available_since = Some(available.timestamp());
            row.entry.marketcap = marketcaps.of(&instrument.coin)?;
            rows.push(row);
        }
    }
    let rows = order::ordered(rows, query, &mut figures)?;
    let rows = if query.distinct { order::distinct(rows, &mut figures)? } else { rows };
    cut(rows, query, &mut figures)
}

/// The page that the query asks for.
fn cut(rows: Vec<OrderedEntry>, query: &MarketsQuery, figures: &mut Figures<'_>) -> Result<MarketsPage, MarketError> {
    let offset = query.page_offset.unwrap_or(0);
    let start = (offset % CURSOR) as usize;
    let size = query.page_size.unwrap_or(DEFAULT_PAGE_SIZE) as usize;
    let total = rows.len();
    let page = rows.into_iter().skip(start).take(size);
    let symbols = page.map(|row| figures.complete(row)).collect::<Result<Vec<_>, _>>()?;
    let end = offset.saturating_add(symbols.len() as u32);
    let more = start.saturating_add(symbols.len()) < total;
    let next = if more { end.saturating_add(CURSOR) } else { end };
    Ok(MarketsPage { symbols, next_offset: i64::from(next) })
}

fn fits(instrument: &Instrument, query: &MarketsQuery) -> bool {
    let texts =
        [&instrument.raw_symbol, &instrument.normalized_symbol(), &instrument.coin_name, &full_name(instrument)]
            .map(|text| text.to_lowercase());
    wants(
        query,
        &InstrumentView {
            exchange: &instrument.exchange,
            coin: &instrument.coin,
            category: &instrument.category,
            texts: &texts,
        },
    )
}
