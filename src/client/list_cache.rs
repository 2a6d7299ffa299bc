//! The service's lists that a client has fetched.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::error::ClientError;
use super::listed::Listed;
use crate::protocol::{DiscoveryList, Filters};

/// How long to wait after a failure before fetching a list again.
pub(super) const AFTER_FAILURE: Duration = Duration::from_secs(300);
/// A name that is missing in a list older than this may be new: the list is fetched again.
pub(super) const FRESH: Duration = Duration::from_secs(60);

/// The cached lists of a client.
#[derive(Default)]
pub(in crate::client) struct ListCaches {
    /// Symbols, coins and categories.
    pub(super) names: ListCache<String>,
    /// Block sizes.
    pub(super) sizes: ListCache<f64>,
}

/// Identifies a list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ListQuery {
    pub list: DiscoveryList,
    pub filters: Filters,
}

/// Fetches lists from a service.
pub(super) trait ListSource {
    /// A list; `None` where it cannot be fetched.
    fn list_once<T: DeserializeOwned>(&self, query: &ListQuery) -> impl Future<Output = Option<Vec<T>>> + Send;
}

/// A question that a list answers.
pub(super) trait ListLookup<T> {
    /// The list to look in.
    fn query(&self) -> &ListQuery;

    /// The answer according to the list.
    fn evaluate(&self, list: &[T]) -> Result<Listed, ClientError>;
}

type ListSlot<T> = Arc<tokio::sync::Mutex<CachedList<T>>>;

/// Cached lists of one type of entries.
pub(super) struct ListCache<T>(Mutex<HashMap<ListQuery, ListSlot<T>>>);

impl<T> Default for ListCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// State of a cached list.
pub(super) enum CachedList<T> {
    Unasked,
    Had { list: Vec<T>, at: Instant },
    Failed(Instant),
}

impl<T: DeserializeOwned> ListCache<T> {
    fn slot(&self, query: &ListQuery) -> ListSlot<T> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match slots.get(query) {
            Some(slot) => Arc::clone(slot),
            None => {
                let slot = Arc::new(tokio::sync::Mutex::new(CachedList::Unasked));
                slots.insert(query.clone(), Arc::clone(&slot));
                slot
            }
        }
    }

    /// The answer; `None` if a list must be fetched for it.
    pub(super) fn cached(&self, question: &impl ListLookup<T>) -> Option<Result<Listed, ClientError>> {
        let slot = self.slot(question.query());
        // Whoever holds the lock is fetching the list.
        slot.try_lock().ok()?.cached(question)
    }

    /// The answer, from the cache or after fetching the list.
    pub(super) async fn ask(
        &self,
        client: &impl ListSource,
        question: &impl ListLookup<T>,
    ) -> Result<Listed, ClientError> {
        let slot = self.slot(question.query());
        let mut listing = slot.lock().await; // concurrent callers wait here and use the same answer
        if let Some(known) = listing.cached(question) {
            return known;
        }
        let list = client.list_once(question.query()).await;
        let at = Instant::now();
        *listing = list.map_or(CachedList::Failed(at), |list| CachedList::Had { list, at });
        listing.cached(question).unwrap_or(Ok(Listed::Unknown))
    }
}

impl<T> CachedList<T> {
    /// The answer; `None` if the list must be fetched, for the first time or again.
    pub(super) fn cached(&self, question: &impl ListLookup<T>) -> Option<Result<Listed, ClientError>> {
        match self {
            Self::Unasked => None,
            Self::Failed(at) => (at.elapsed() <= AFTER_FAILURE).then_some(Ok(Listed::Unknown)),
            Self::Had { list, at } => {
                let said = question.evaluate(list);
                (at.elapsed() <= FRESH || matches!(said, Ok(Listed::Yes))).then_some(said)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Is<'a>(&'a str, ListQuery);

    impl ListLookup<String> for Is<'_> {
        fn query(&self) -> &ListQuery {
            &self.1
        }

        fn evaluate(&self, list: &[String]) -> Result<Listed, ClientError> {
            if list.iter().any(|known| known == self.0) { Ok(Listed::Yes) } else { Err(ClientError::invalid(self.0)) }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_is_asked_again_for_what_it_lacks_and_after_a_failure() {
        let had = CachedList::Had { list: vec!["BTCUSDT".to_owned()], at: Instant::now() };
        let failed = CachedList::Failed(Instant::now());
        let asks = |listing: &CachedList<String>| {
            ["BTCUSDT", "NEWUSDT"].map(|name| {
                let query = ListQuery { list: DiscoveryList::Symbols, filters: Filters::default() };
                listing.cached(&Is(name, query)).is_none()
            })
        };
        assert_eq!((asks(&CachedList::Unasked), asks(&had), asks(&failed)), ([true; 2], [false; 2], [false; 2]));
        tokio::time::advance(FRESH + Duration::from_secs(1)).await;
        assert_eq!((asks(&had), asks(&failed)), ([false, true], [false; 2]));
        tokio::time::advance(AFTER_FAILURE).await;
        assert_eq!((asks(&had), asks(&failed)), ([false, true], [true; 2]));
    }
}
