//! Which events came already: connections that are made again replay (supplement 7).

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::event::Event;

/// Events that are remembered: minutes of the busiest markets, for 10 MB.
const REMEMBERED: usize = 200_000;

/// The latest events by what identifies them.
#[derive(Default)]
pub(super) struct Seen {
    known: HashSet<u128>,
    order: VecDeque<u128>,
}

impl Seen {
    /// Whether an event is new; it then no longer is.
    ///
    /// An event with an id is known by its type, exchange, symbol and id: some exchanges count ids for each symbol. One
    /// without is known by all that it says, if it says when; one that does not say when is always new.
    pub(super) fn is_new(&mut self, event: &Event) -> bool {
        let Some(identity) = identity(event) else { return true };
        if !self.known.insert(identity) {
            return false;
        }
        self.order.push_back(identity);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

/// 128 bits, so that two events never meet by chance.
fn identity(event: &Event) -> Option<u128> {
    let whole = match event.id() {
        Some(_) => None,
        None => {
            event.time()?;
            Some(serde_json::to_string(&(&event.series, &event.values)).ok()?)
        }
    };
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, &event.name, event.kind(), event.exchange(), event.symbol(), event.id(), &whole).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    Some(half(1) << 64 | half(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Vec<Event> {
        Event::of_frame(serde_json::from_str(text).unwrap())
    }

    fn new(text: &str) -> Vec<bool> {
        let mut seen = Seen::default();
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
        let mut seen = Seen::default();
        let template = events(r#"{"points":[{"series":{},"trade":{"id":"0"}}]}"#).remove(0);
        for id in 0..REMEMBERED + 10 {
            let mut event = template.clone();
            event.values.insert("id".into(), id.to_string().into());
            assert!(seen.is_new(&event));
        }
        assert_eq!((seen.known.len(), seen.order.len()), (REMEMBERED, REMEMBERED));
    }
}
