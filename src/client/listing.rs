//! What a service lists (service.md 4.2), so that a symbol or a coin that it does not have is refused before it costs:
//! asked, such a request is charged in full and answered with nothing.
//!
//! A listing weighs nothing, is asked once for each type and exchange and kept. One that cannot be had within a moment
//! refuses nothing and is left alone for some minutes.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{Instant, timeout};

use super::error::ClientError;
use super::keeping::blocking;
use super::pace::Patience;
use super::reading::{Reading, Record};
use super::request::PointsRequest;
use super::{Client, Inner};
use crate::archive::points::{Archive, Key, gaps};
use crate::protocol::discovery::ListEndpoint;
use crate::protocol::exchange::{Venue, venue};
use crate::protocol::{DataType, DiscoveryList, Filters, PointsQuery};

/// Longest that a call waits for a listing.
const MOMENT: Duration = Duration::from_secs(2);
/// How long a listing that could not be had is left alone.
const AFTER_FAILURE: Duration = Duration::from_secs(300);
/// A name that an older listing lacks may be new: it is looked for in another.
const FRESH: Duration = Duration::from_secs(60);

/// The listings that a client knows.
#[derive(Default)]
pub(super) struct Listings(Mutex<HashMap<Place, Arc<tokio::sync::Mutex<Listing>>>>);

/// Which listing it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    list: DiscoveryList,
    data_type: String,
    exchanges: Vec<String>,
}

#[derive(Default)]
enum Listing {
    #[default]
    Unasked,
    Had {
        names: Vec<String>,
        at: Instant,
    },
    Failed(Instant),
}

/// What a listing says of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// It is there.
    Yes,
    /// It may not be there, in words for the caller; the listing is not sure.
    Unsure(String),
    /// Nobody knows, or there is nothing to look up.
    Unknown,
}

impl Client {
    /// What the listings that are known say of a request's symbol or coin. Sends nothing. `None` where one must be asked.
    ///
    /// # Errors
    /// [`super::ErrorKind::InvalidRequest`] for a name that the service surely does not have, with the nearest that it
    /// has.
    pub fn listed(&self, request: &PointsRequest) -> Result<Option<Listed>, ClientError> {
        let Some((place, name)) = wanted(&request.query) else { return Ok(Some(Listed::Unknown)) };
        let slot = self.inner.listings.slot(&place);
        let Ok(listing) = slot.try_lock() else { return Ok(None) };
        if listing.is_to_be_asked(name) { Ok(None) } else { listing.judge(&place, name).map(Some) }
    }

    /// As [`Client::listed`], with the listing asked where it must be: one request of weight 0, for which the call waits two
    /// seconds at most. A listing that cannot be had is [`Listed::Unknown`]. Nothing is asked for a request that would send
    /// nothing at `now` (Unix seconds), such as one that an archive answers: the client's, or `archive` where one is given.
    ///
    /// # Errors
    /// As [`Client::listed`].
    pub async fn look_up(
        &self,
        request: &PointsRequest,
        now: f64,
        archive: Option<&Archive>,
    ) -> Result<Listed, ClientError> {
        if let Some(known) = self.listed(request)? {
            return Ok(known);
        }
        let Some((place, name)) = wanted(&request.query) else { return Ok(Listed::Unknown) };
        if !self.inner.sends(request, now, archive).await {
            return Ok(Listed::Unknown);
        }
        let slot = self.inner.listings.slot(&place);
        let mut listing = slot.lock().await; // those who come meanwhile need not ask
        if listing.is_to_be_asked(name) {
            let names = timeout(MOMENT, self.inner.ask(&place)).await.ok().flatten();
            let at = Instant::now();
            *listing = names.map_or(Listing::Failed(at), |names| Listing::Had { names, at });
        }
        listing.judge(&place, name)
    }
}

impl Inner {
    /// Whether a request sends anything, as far as that is known without sending.
    async fn sends(&self, request: &PointsRequest, now: f64, archive: Option<&Archive>) -> bool {
        let window = request.window(now, self.tier);
        if window.from >= window.to {
            return false;
        }
        // What the client refuses by itself costs nothing either, and says so.
        if self.tier.is_some_and(|tier| request.check_walls(tier, window, now).is_err()) {
            return false;
        }
        let Some(archive) = archive.or(self.archive.as_ref()) else { return true };
        let Some(key) = Key::new(&self.source, &request.query) else { return true };
        match blocking(archive, &key, Archive::asked).await {
            Ok(asked) => !gaps(&asked, window).is_empty(),
            Err(_) => false, // told by the call itself
        }
    }

    /// The names of a listing; `None` where it cannot be had. One attempt: it must not hold up what it is asked for.
    async fn ask(&self, place: &Place) -> Option<Vec<String>> {
        let endpoint = place.list.endpoint();
        let types = vec![place.data_type.clone()];
        let filters = Filters { types, exchanges: place.exchanges.clone(), ..Filters::default() };
        let url = self.transport.url(endpoint.path, &filters.to_query_string());
        let patience = Patience { max_wait: Some(MOMENT), deadline: None };
        let permit = self.pacer.acquire(0, patience).await.ok()?;
        let mut reading = Record::<Map<String, Value>>::new(self.transport.dialect());
        let answer = self.transport.get(&url, &mut reading).await.ok()?;
        permit.answered(answer.told).await;
        if answer.status != 200 {
            return None;
        }
        let names = serde_json::from_value(entries(endpoint, &mut reading.finish().ok()?)).ok()?;
        Some(names)
    }
}

/// The list in an endpoint's answer; an empty one is an absent key.
pub(super) fn entries(endpoint: &ListEndpoint, answer: &mut Map<String, Value>) -> Value {
    let mut keys = [endpoint.key].into_iter().chain(endpoint.also.iter().copied());
    let found = keys.find_map(|key| answer.remove(key).filter(|list| !list.is_null()));
    found.unwrap_or_else(|| Value::Array(Vec::new()))
}

/// The listing in which a query's symbol, or else its coin, must stand.
fn wanted(query: &PointsQuery) -> Option<(Place, &str)> {
    let (list, name) = match (&query.raw_symbol, &query.normalized_symbol, &query.coin) {
        (Some(symbol), ..) => (DiscoveryList::Symbols, symbol),
        (None, Some(symbol), _) => (DiscoveryList::NormalizedSymbols, symbol),
        (None, None, Some(coin)) => (DiscoveryList::Coins, coin),
        (None, None, None) => return None,
    };
    let (data_type, mut exchanges) = (query.data_type.clone(), query.exchanges.clone());
    exchanges.sort_unstable();
    Some((Place { list, data_type, exchanges }, name))
}

impl Listings {
    fn slot(&self, place: &Place) -> Arc<tokio::sync::Mutex<Listing>> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match slots.get(place) {
            Some(slot) => Arc::clone(slot),
            None => Arc::clone(slots.entry(place.clone()).or_default()),
        }
    }
}

impl Listing {
    fn is_to_be_asked(&self, name: &str) -> bool {
        match self {
            Self::Unasked => true,
            Self::Had { names, at } => at.elapsed() > FRESH && !names.iter().any(|known| known == name),
            Self::Failed(at) => at.elapsed() > AFTER_FAILURE,
        }
    }

    fn judge(&self, place: &Place, name: &str) -> Result<Listed, ClientError> {
        let Self::Had { names, .. } = self else { return Ok(Listed::Unknown) };
        if names.iter().any(|known| known == name) {
            return Ok(Listed::Yes);
        }
        let of = &place.data_type;
        let at = if place.exchanges.is_empty() { "the service".to_owned() } else { place.exchanges.join(" with ") };
        if names.is_empty() && DataType::find(of).is_none() {
            return Ok(Listed::Unknown); // of a type that this version does not know it may list nothing at all
        }
        if names.is_empty() {
            let words = format!("the service lists nothing of {of} for {at}: {name} may be answered with nothing");
            return Ok(Listed::Unsure(words));
        }
        let near = nearest(name, names).map_or_else(String::new, |near| format!("; did you mean {near}?"));
        let (what, count) = (place.list.endpoint().key, names.len());
        let words = format!("{at} has no {name}{near} (of {of} the service lists {count} {what} there");
        // A venue with so many markets may not list them all.
        if place.exchanges.iter().any(|exchange| venue(exchange) == Some(Venue::Prediction)) {
            return Ok(Listed::Unsure(format!(
                "{words}, maybe not all: markets go by their conditionId, not by a slug)"
            )));
        }
        Err(ClientError::invalid(format!("{words}; check_symbols=False asks all the same)")))
    }
}

/// The listed name that was most likely meant: the same letters in another case or with other separators; else the name
/// that continues it or that it continues, or one within two edits. Of equals one in USDT, then the first.
fn nearest<'a>(name: &str, names: &'a [String]) -> Option<&'a str> {
    let wanted = letters(name);
    let candidates = names.iter().filter_map(|known| {
        let known_letters = letters(known);
        let edits = strsim::osa_distance(&wanted, &known_letters);
        let continues = known_letters.len().min(wanted.len()) >= 2
            && (known_letters.starts_with(&wanted) || wanted.starts_with(&known_letters));
        let slip = if wanted.len() <= 4 { edits <= 1 } else { edits <= 2 };
        (slip || continues).then_some((edits, Reverse(known_letters.ends_with("USDT")), known))
    });
    candidates.min_by_key(|(edits, in_usdt, _)| (*edits, *in_usdt)).map(|(_, _, known)| known.as_str())
}

fn letters(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_uppercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_was_meant_is_found() {
        let futures = list(&["1000SATSUSDT", "BTCUSDC", "BTCUSDT", "BTCUSDT_260925", "ETHBTC", "ETHUSDT", "XRPUSDT"]);
        let swaps = list(&["BTC-USD-SWAP", "BTC-USDT-SWAP", "ETH-USDT-SWAP"]);
        let coins = list(&["AVAX", "BTC", "ETH"]);
        for (names, given, meant) in [
            (&futures, "BTCUSD", "BTCUSDT"),
            (&futures, "btcusdt", "BTCUSDT"),
            (&futures, "BTC/USDT", "BTCUSDT"),
            (&futures, "BTC-USDT-SWAP", "BTCUSDT"),
            (&futures, "BTC", "BTCUSDT"),
            (&futures, "BTCUSTD", "BTCUSDT"),
            (&swaps, "BTC-USDT", "BTC-USDT-SWAP"),
            (&swaps, "BTCUSDT", "BTC-USDT-SWAP"),
            (&coins, "btc", "BTC"),
            (&coins, "BTCUSDT", "BTC"),
        ] {
            assert_eq!(nearest(given, names), Some(meant), "{given}");
        }
        assert_eq!(nearest("DOGECOIN", &futures), None);
        assert_eq!(nearest("TRX", &list(&["XRP", "BTC"])), None);
        assert_eq!(nearest("", &list(&["BTCUSDT"])), None);
    }

    fn place(exchange: &str) -> Place {
        Place {
            list: DiscoveryList::Symbols,
            data_type: "TRADE_AGG".into(),
            exchanges: list(&[exchange]).into_iter().filter(|name| !name.is_empty()).collect(),
        }
    }

    #[tokio::test]
    async fn only_a_listing_that_is_sure_refuses() {
        let had = |names: &[&str]| Listing::Had { names: list(names), at: Instant::now() };
        let futures = place("BINANCE_FUTURES");
        assert_eq!(had(&["BTCUSDT"]).judge(&futures, "BTCUSDT").unwrap(), Listed::Yes);
        let refused = had(&["BTCUSDT"]).judge(&futures, "BTCUSD").unwrap_err().message;
        assert!(refused.starts_with("BINANCE_FUTURES has no BTCUSD; did you mean BTCUSDT? ("), "{refused}");
        let refused = had(&["BTCUSDT"]).judge(&futures, "NOSUCH").unwrap_err().message;
        assert!(refused.starts_with("BINANCE_FUTURES has no NOSUCH (of TRADE_AGG the service lists 1 rawSymbols"));
        let unsure = [
            had(&[]).judge(&futures, "BTCUSD").unwrap(),
            had(&["0xabc"]).judge(&place("PREDICTION_VENUE"), "some-slug").unwrap(),
        ];
        assert!(unsure.iter().all(|one| matches!(one, Listed::Unsure(_))), "{unsure:?}");
        for unknown in [Listing::Unasked, Listing::Failed(Instant::now())] {
            assert_eq!(unknown.judge(&futures, "BTCUSD").unwrap(), Listed::Unknown);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_listing_is_asked_again_for_a_name_it_lacks_and_after_a_failure() {
        let had = Listing::Had { names: list(&["BTCUSDT"]), at: Instant::now() };
        let failed = Listing::Failed(Instant::now());
        let asks = |listing: &Listing| (listing.is_to_be_asked("BTCUSDT"), listing.is_to_be_asked("NEWUSDT"));
        assert_eq!(
            (asks(&Listing::Unasked), asks(&had), asks(&failed)),
            ((true, true), (false, false), (false, false))
        );
        tokio::time::advance(FRESH + Duration::from_secs(1)).await;
        assert_eq!((asks(&had), asks(&failed)), ((false, true), (false, false)));
        tokio::time::advance(AFTER_FAILURE).await;
        assert_eq!((asks(&had), asks(&failed)), ((false, true), (true, true)));
    }
}
