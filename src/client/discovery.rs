//! Discovery calls: zero weight, page by page (service.md 4.2, supplement 5).

use std::collections::HashSet;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::error::{ClientError, ErrorKind};
use super::fetch::Unreadable;
use super::{Client, Inner};
use crate::protocol::wire::{MARKETS_PATH, USAGE_PATH};
use crate::protocol::{Market, MarketsPage, MarketsQuery, Usage};

/// Rows asked per page; more is known to work nowhere.
const PAGE: u32 = 100;
/// A listing longer than this is a service that repeats itself.
const MOST_PAGES: usize = 10_000;

impl Client {
    /// Every market that passes the filters, in the service's order, up to `limit`. `page_size` and `page_offset` of the
    /// query are ignored.
    ///
    /// Paging goes on while pages are full, bring something new and `nextOffset` advances. A full page whose
    /// `nextOffset` is offset plus rows should be the last by section 4.2; one more look costs no weight and loses
    /// nothing where a service counts plainly.
    pub async fn markets(&self, query: &MarketsQuery, limit: Option<usize>) -> Result<Vec<Market>, ClientError> {
        let limit = limit.unwrap_or(usize::MAX);
        let mut markets: Vec<Market> = Vec::new();
        let mut seen = HashSet::new();
        let mut offset = 0;
        for _ in 0..MOST_PAGES {
            let size = PAGE.min(u32::try_from(limit - markets.len()).unwrap_or(PAGE));
            if size == 0 {
                break;
            }
            let page_query = MarketsQuery { page_size: Some(size), page_offset: Some(offset), ..query.clone() };
            let page: MarketsPage = self.inner.record(MARKETS_PATH, &page_query.to_query_string()).await?;
            let rows = page.symbols.len();
            let before = markets.len();
            markets.extend(page.symbols.into_iter().filter(|market| {
                seen.insert((market.exchange.clone(), market.raw_symbol.clone(), market.tenor.clone()))
            }));
            let next = u32::try_from(page.next_offset).unwrap_or(0);
            if rows < size as usize || markets.len() == before || next <= offset {
                break;
            }
            offset = next;
        }
        markets.truncate(limit);
        Ok(markets)
    }

    /// The usage record of the key (section 2.4).
    pub async fn usage(&self) -> Result<Usage, ClientError> {
        self.inner.record(USAGE_PATH, "").await
    }
}

impl Inner {
    async fn record<T: DeserializeOwned>(&self, path: &str, query: &str) -> Result<T, ClientError> {
        let url = self.transport.url(path, query);
        self.fetch(&url, 0, |body: Bytes| async move {
            serde_json::from_slice(&body).map_err(|bad| {
                let message = format!("the answer is not valid: {bad}");
                Unreadable { cut: bad.is_eof(), error: ClientError::new(ErrorKind::Decode, message) }
            })
        })
        .await
    }
}
