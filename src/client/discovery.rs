//! Discovery calls: weight 0, page by page (service.md 4.2, supplement 5).

use std::collections::HashSet;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::body_reader::ObjectReader;
use super::error::{ClientError, ErrorKind};
use super::inner::{Client, ClientInner};
use super::listing::fetch::entries;
use super::typos::check_exchanges;
use crate::protocol::wire::{MARKETS_PATH, USAGE_PATH};
use crate::protocol::{DiscoveryList, Filters, MarketListing, MarketsPage, MarketsQuery, Usage, Weight, excerpt};

/// Rows per page. No service is known to take more.
const PAGE: u32 = 100;
/// A listing longer than this is a service that repeats itself.
const MOST_PAGES: usize = 1_000;
/// How often a listing is fetched again when its order changes between pages. Fetching all pages takes a second or two,
/// and the sort key changes slowly.
const MOST_WALKS: usize = 5;

/// The pages of a listing.
struct ListingWalk {
    rows: Vec<MarketListing>,
    /// Whether a row was on two pages, so that another may be missing.
    moved: bool,
}

/// The identity of a row of the listing; figures are not part of it.
fn name(market: &MarketListing) -> [String; 5] {
    // Rows of the prediction venue may differ only in their condition id.
    let conditions: Vec<_> = market.prediction_markets.iter().map(|one| one.condition_id.as_str()).collect();
    let condition = conditions.join(" ");
    [&market.exchange, &market.raw_symbol, &market.category, &market.tenor, &condition].map(String::clone)
}

impl Client {
    /// Every market that passes the filters, each once, in the service's order, up to `limit`. The query's `page_size`
    /// and `page_offset` are ignored.
    ///
    /// The order may change between two pages: a row that moves to an earlier page is missed, and pushes a row that was
    /// already sent to the next page. So when a row appears again on a later page, all pages are fetched again, until
    /// no row repeats or [`MOST_WALKS`] is reached. The order is that of the last time; rows that were only in an
    /// earlier one follow. All of it weighs nothing.
    ///
    /// # Errors
    /// Every kind.
    pub async fn markets(&self, query: &MarketsQuery, limit: Option<usize>) -> Result<Vec<MarketListing>, ClientError> {
        self.inner.check_names(&query.types, &query.exchanges)?;
        check_exchanges(&query.exchanges)?;
        let limit = limit.unwrap_or(usize::MAX);
        let mut markets: Vec<MarketListing> = Vec::new();
        for _ in 0..MOST_WALKS {
            let ListingWalk { rows, moved } = self.walk(query, limit).await?;
            let met: HashSet<_> = rows.iter().map(name).collect();
            markets.retain(|market| !met.contains(&name(market)));
            markets.splice(..0, rows);
            if !moved {
                break;
            }
        }
        markets.truncate(limit);
        Ok(markets)
    }

    /// All pages of the listing.
    ///
    /// Continues while pages are full, contain something new and `nextOffset` advances. By section 4.2, a full page
    /// whose `nextOffset` is offset plus rows should be the last; one more request weighs nothing and loses no rows if
    /// a service uses a plain count.
    async fn walk(&self, query: &MarketsQuery, limit: usize) -> Result<ListingWalk, ClientError> {
        let mut walk = ListingWalk { rows: Vec::new(), moved: false };
        let (mut seen, mut last) = (HashSet::new(), HashSet::new());
        let mut offset = 0;
        for _ in 0..MOST_PAGES {
            let size = PAGE.min(u32::try_from(limit - walk.rows.len().min(limit)).unwrap_or(PAGE));
            if size == 0 {
                break;
            }
            let page_query = MarketsQuery { page_size: Some(size), page_offset: Some(offset), ..query.clone() };
            let page: MarketsPage =
                self.inner.record(MARKETS_PATH, &page_query.to_query_string(), Weight::ZERO).await?;
            let rows = page.symbols.len();
            let before = walk.rows.len();
            let names: HashSet<_> = page.symbols.iter().map(name).collect();
            if names == last {
                break; // the same page again: the service ignores the offset
            }
            walk.moved |= !names.is_disjoint(&seen);
            walk.rows.extend(page.symbols.into_iter().filter(|market| seen.insert(name(market))));
            last = names;
            let next = u32::try_from(page.next_offset).unwrap_or(0);
            if rows < size as usize || walk.rows.len() == before || next <= offset {
                break;
            }
            offset = next;
        }
        Ok(walk)
    }

    /// One of the lists of names (section 4.2); an empty list when the answer has none.
    ///
    /// # Errors
    /// Every kind; [`ErrorKind::InvalidRequest`] at once where the service would answer 500 without a type.
    pub async fn names(&self, list: DiscoveryList, filters: &Filters) -> Result<Vec<String>, ClientError> {
        self.inner.list(list, filters).await
    }

    /// Recommended block sizes (section 4.2); 0 where there is no data.
    ///
    /// # Errors
    /// Every kind.
    pub async fn block_sizes(&self, filters: &Filters) -> Result<Vec<f64>, ClientError> {
        self.inner.list(DiscoveryList::BlockSizes, filters).await
    }

    /// The usage record of the key (section 2.4).
    pub async fn usage(&self) -> Result<Usage, ClientError> {
        self.inner.record(USAGE_PATH, "", Weight::ZERO).await
    }
}

impl ClientInner {
    async fn list<T: DeserializeOwned>(&self, list: DiscoveryList, filters: &Filters) -> Result<Vec<T>, ClientError> {
        let endpoint = list.endpoint();
        if endpoint.needs_type && filters.types.is_empty() {
            let message = format!("{} answers only with a type: give type=", endpoint.path);
            return Err(ClientError::invalid(message));
        }
        self.check_names(&filters.types, &filters.exchanges)?;
        check_exchanges(&filters.exchanges)?;
        let mut answer: Map<String, Value> =
            self.record(endpoint.path, &filters.to_query_string(), Weight::ZERO).await?;
        serde_json::from_value(entries(endpoint, &mut answer)).map_err(|bad| {
            let url = self.transport.url(endpoint.path, "");
            let message = format!("the answer's {} are not valid: {}", endpoint.key, excerpt(&bad.to_string()));
            ClientError::new(ErrorKind::Decode, message).of(&url)
        })
    }

    /// One answer without points, at its weight.
    pub(super) async fn record<T: DeserializeOwned + Send>(
        &self,
        path: &str,
        query: &str,
        weight: Weight,
    ) -> Result<T, ClientError> {
        let url = self.transport.url(path, query);
        let (value, _) = self.fetch(&url, weight, &|_| {}, || ObjectReader::new(self.transport.dialect())).await?;
        Ok(value)
    }
}
