//! Lists of a service that a client asked for and keeps.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use super::Listed;
use crate::client::Inner;
use crate::client::error::{ClientError, ErrorKind};
use crate::client::pace::Patience;
use crate::client::reading::{Reading, Record};
use crate::protocol::discovery::ListEndpoint;
use crate::protocol::{DiscoveryList, ErrorBody, Filters, excerpt};

/// Longest that a call waits for a list.
const MOMENT: Duration = Duration::from_secs(2);
/// How long a list that could not be had is left alone.
pub(super) const AFTER_FAILURE: Duration = Duration::from_secs(300);
/// What an older list does not have may be new: it is looked for in another.
pub(super) const FRESH: Duration = Duration::from_secs(60);

/// The lists that a client knows.
#[derive(Default)]
pub(in crate::client) struct Listings {
    /// Symbols, coins and categories.
    pub(super) names: Kept<String>,
    /// Block sizes.
    pub(super) sizes: Kept<f64>,
}

/// Which list it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub list: DiscoveryList,
    pub filters: Filters,
}

/// Something that a list answers.
pub(super) trait Question<T> {
    /// The list.
    fn place(&self) -> &Place;

    /// What the list says.
    fn judge(&self, list: &[T]) -> Result<Listed, ClientError>;
}

type Slot<T> = Arc<tokio::sync::Mutex<Listing<T>>>;

/// Lists of one kind of entries.
pub(super) struct Kept<T>(Mutex<HashMap<Place, Slot<T>>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// What is known of a list.
pub(super) enum Listing<T> {
    Unasked,
    Had { list: Vec<T>, at: Instant },
    Failed(Instant),
}

impl<T: DeserializeOwned> Kept<T> {
    fn slot(&self, place: &Place) -> Slot<T> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match slots.get(place) {
            Some(slot) => Arc::clone(slot),
            None => {
                let slot = Arc::new(tokio::sync::Mutex::new(Listing::Unasked));
                slots.insert(place.clone(), Arc::clone(&slot));
                slot
            }
        }
    }

    /// The answer, where no list must be asked for it.
    pub(super) fn says(&self, question: &impl Question<T>) -> Option<Result<Listed, ClientError>> {
        let slot = self.slot(question.place());
        // Who holds it is asking.
        slot.try_lock().ok()?.says(question)
    }

    /// The answer; the list is asked where it must be.
    pub(super) async fn ask(&self, client: &Inner, question: &impl Question<T>) -> Result<Listed, ClientError> {
        let slot = self.slot(question.place());
        let mut listing = slot.lock().await; // those who come meanwhile need not ask
        if let Some(said) = listing.says(question) {
            return said;
        }
        let list = client.list_once(question.place()).await;
        let at = Instant::now();
        *listing = list.map_or(Listing::Failed(at), |list| Listing::Had { list, at });
        listing.says(question).unwrap_or(Ok(Listed::Unknown))
    }
}

impl<T> Listing<T> {
    /// The answer; `None` where the list must be asked, for the first time or again.
    pub(super) fn says(&self, question: &impl Question<T>) -> Option<Result<Listed, ClientError>> {
        match self {
            Self::Unasked => None,
            Self::Failed(at) => (at.elapsed() <= AFTER_FAILURE).then_some(Ok(Listed::Unknown)),
            Self::Had { list, at } => {
                let said = question.judge(list);
                (at.elapsed() <= FRESH || matches!(said, Ok(Listed::Yes))).then_some(said)
            }
        }
    }
}

impl Inner {
    /// A list; `None` where it cannot be had. One attempt: it must not hold up what it is asked for.
    async fn list_once<T: DeserializeOwned>(&self, place: &Place) -> Option<Vec<T>> {
        let endpoint = place.list.endpoint();
        let url = self.transport.url(endpoint.path, &place.filters.to_query_string());
        let end = Instant::now() + MOMENT;
        let patience = Patience { max_wait: Some(MOMENT), deadline: Some(end) };
        let permit = self.pacer.acquire(0, patience).await.ok()?;
        let sent = Instant::now();
        let mut reading = Record::<Map<String, Value>>::new(self.transport.dialect());
        let got = timeout_at(end, self.transport.get(&url, &mut reading)).await;
        let (status, list) = match got {
            Err(_) => {
                let message =
                    format!("no whole answer within {} s, which is as long as a list is waited for", MOMENT.as_secs());
                (None, Err(ClientError::new(ErrorKind::Timeout, message)))
            }
            Ok(Err(broken)) => (None, Err(broken.error)),
            Ok(Ok(answer)) => {
                permit.answered(answer.told).await;
                let list = match answer.status {
                    200 => reading.finish().map_err(|unreadable| unreadable.error).and_then(|mut record| {
                        serde_json::from_value(entries(endpoint, &mut record)).map_err(|bad| {
                            let message =
                                format!("the answer's {} are not valid: {}", endpoint.key, excerpt(&bad.to_string()));
                            ClientError::new(ErrorKind::Decode, message)
                        })
                    }),
                    status => Err(ClientError::refused(ErrorBody::parse(status, &answer.refusal))),
                };
                (Some(answer.status), list)
            }
        };
        self.tell_attempt(&url, sent, status, list.as_ref().err());
        list.ok()
    }
}

/// The list in an endpoint's answer; an empty one is an absent key.
pub(in crate::client) fn entries(endpoint: &ListEndpoint, answer: &mut Map<String, Value>) -> Value {
    let mut keys = [endpoint.key].into_iter().chain(endpoint.also.iter().copied());
    let found = keys.find_map(|key| answer.remove(key).filter(|list| !list.is_null()));
    found.unwrap_or_else(|| Value::Array(Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Is<'a>(&'a str, Place);

    impl Question<String> for Is<'_> {
        fn place(&self) -> &Place {
            &self.1
        }

        fn judge(&self, list: &[String]) -> Result<Listed, ClientError> {
            if list.iter().any(|known| known == self.0) { Ok(Listed::Yes) } else { Err(ClientError::invalid(self.0)) }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_is_asked_again_for_what_it_lacks_and_after_a_failure() {
        let had = Listing::Had { list: vec!["BTCUSDT".to_owned()], at: Instant::now() };
        let failed = Listing::Failed(Instant::now());
        let asks = |listing: &Listing<String>| {
            ["BTCUSDT", "NEWUSDT"].map(|name| {
                let place = Place { list: DiscoveryList::Symbols, filters: Filters::default() };
                listing.says(&Is(name, place)).is_none()
            })
        };
        assert_eq!((asks(&Listing::Unasked), asks(&had), asks(&failed)), ([true; 2], [false; 2], [false; 2]));
        tokio::time::advance(FRESH + Duration::from_secs(1)).await;
        assert_eq!((asks(&had), asks(&failed)), ([false, true], [false; 2]));
        tokio::time::advance(AFTER_FAILURE).await;
        assert_eq!((asks(&had), asks(&failed)), ([false, true], [true; 2]));
    }
}
