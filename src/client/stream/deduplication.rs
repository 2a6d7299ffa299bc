//! Recognises repeated events: a new connection replays recent ones (supplement 7).

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher, RandomState};

use super::event::Event;

/// Least number of remembered events: minutes of busy markets, for 5 MB; at most twice as many are.
const REMEMBERED: usize = 200_000;

/// The identity as a hash, for keys that are hashes already.
#[derive(Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A market (kind, exchange and symbol), within which ids identify events.
#[derive(Clone)]
pub(super) struct SeenMarket(DefaultHasher);

/// The latest events by identity.
#[derive(Default)]
pub(super) struct SeenEvents {
    /// Keys that are random in each process, so that no service can choose events with equal hashes.
    keys: RandomState,
    latest: Identities,
    /// The events before those. Forgetting all of them at once is faster than one by one.
    before: Identities,
}

type Identities = HashSet<u64, BuildHasherDefault<IdentityHasher>>;

impl SeenEvents {
    /// Whether an event is new; it is remembered.
    ///
    /// An event with an id is identified by type, exchange, symbol and id, because some exchanges count ids for each
    /// symbol. One without an id is identified by its full content if it has a time; one without either is always new.
    pub(super) fn is_new(&mut self, event: &Event) -> bool {
        let market = self.market(&event.name, event.kind(), event.exchange(), event.symbol());
        if let Some(id) = event.id() {
            return self.is_new_id(&market, id);
        }
        if event.time().is_none() {
            return true;
        }
        let Ok(whole) = serde_json::to_string(&(&event.series, &event.values)) else { return true };
        self.note(identity(&market, (false, whole.as_str())))
    }

    /// The market of events with the key `name` and these fields of their series.
    pub(super) fn market(&self, name: &str, kind: &str, exchange: &str, symbol: &str) -> SeenMarket {
        let mut hasher = self.keys.build_hasher();
        (name, kind, exchange, symbol).hash(&mut hasher);
        SeenMarket(hasher)
    }

    /// Whether the event with an id is new in its market; it is remembered.
    pub(super) fn is_new_id(&mut self, market: &SeenMarket, id: &str) -> bool {
        self.note(identity(market, (true, id)))
    }

    fn note(&mut self, identity: u64) -> bool {
        if self.before.contains(&identity) || !self.latest.insert(identity) {
            return false;
        }
        if self.latest.len() == REMEMBERED {
            std::mem::swap(&mut self.latest, &mut self.before);
            self.latest.clear();
        }
        true
    }
}

/// 64 bits: among 400,000 events, an event collides by chance once in 5 × 10^13, which takes the busiest streams years.
/// A hash twice as long would cost a third of the time of a batched event, because the table would no longer fit into
/// the CPU caches.
fn identity(market: &SeenMarket, what: (bool, &str)) -> u64 {
    let mut hasher = market.0.clone();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Vec<Event> {
        Event::of_frame(serde_json::from_str(text).unwrap())
    }

    fn new(text: &str) -> Vec<bool> {
        let mut seen = SeenEvents::default();
        events(text).iter().map(|event| seen.is_new(event)).collect()
    }

    #[test]
    fn events_with_an_id_are_known_by_it_within_their_market() {
        let trade = |exchange: &str, symbol: &str, id: &str, price: u8| {
            format!(
                r#"{{"series":{{"type":"TRADE","exchange":"{exchange}","symbol":"{symbol}"}},
                   "trade":{{"id":"{id}","price":{price},"timestamp":{{"seconds":1}}}}}}"#
            )
        };
        let points = [
            trade("A", "X", "1", 1),
            trade("A", "X", "1", 1),
            trade("A", "X", "2", 1),
            trade("B", "X", "1", 1),
            trade("A", "Y", "1", 1),
            trade("A", "X", "1", 2),
        ];
        assert_eq!(new(&format!("{{\"points\":[{}]}}", points.join(","))), [true, false, true, true, true, false]);
    }

    #[test]
    fn events_without_are_known_by_all_they_say_and_when() {
        let point = |rate: u8, second: &str| {
            format!(r#"{{"series":{{"type":"FUNDING_RATE"}},"fundingRate":{{"fundingRate":{rate}{second}}}}}"#)
        };
        let at = r#","timestamp":{"seconds":5}"#;
        let points = [point(1, at), point(1, at), point(2, at), point(1, ""), point(1, "")];
        assert_eq!(new(&format!("{{\"points\":[{}]}}", points.join(","))), [true, false, true, true, true]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut seen = SeenEvents::default();
        let template = events(r#"{"points":[{"series":{},"trade":{"id":"0"}}]}"#).remove(0);
        let mut is_new = |id: usize| {
            let mut event = template.clone();
            event.values.insert("id".into(), id.to_string().into());
            seen.is_new(&event)
        };
        let last = 3 * REMEMBERED - 1;
        assert!((0..=last).all(&mut is_new));
        assert!(!is_new(last) && !is_new(last - REMEMBERED + 1), "the latest are known");
        assert!(is_new(0), "the oldest is forgotten");
        assert!(seen.latest.len() + seen.before.len() <= 2 * REMEMBERED);
    }
}
