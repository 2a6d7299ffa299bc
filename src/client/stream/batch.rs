//! Trades and liquidations as columns, and the table of their series.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use super::event::{Event, nanoseconds};
use crate::clock::UnixNanos;
use crate::columns::NO_TIME;
use crate::decode::{LONGEST_ID, TradePoint};
use crate::protocol::identity::{BUY, SELL};

/// Keys of their values on the wire.
const TRADE: &str = "trade";
const LIQUIDATION: &str = "liquidation";
/// Most different series; events of further ones are delivered one by one.
const MOST_SERIES: usize = 4_096;
/// Longest series as JSON text, in bytes.
const LONGEST_SERIES: usize = 1_024;
/// Size of an empty batch, and of a row without its id.
const EMPTY: usize = 256;
const ROW: usize = 40;

/// Trades, or liquidations, in the order of arrival.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trades {
    /// Whether they are liquidations.
    pub are_liquidations: bool,
    /// Unix nanoseconds; [`NO_TIME`] if none was sent.
    pub times: Vec<i64>,
    /// Prices in quote.
    pub prices: Vec<f64>,
    /// Amounts in the venue's native unit.
    pub amounts: Vec<f64>,
    /// Each one's series, as an index into [`TradeTable::all`].
    pub series: Vec<u32>,
    /// All identifiers concatenated, and where each ends.
    ids: String,
    ends: Vec<usize>,
}

/// The key of a trade's, or a liquidation's, values on the wire.
pub(super) fn name_of(is_liquidation: bool) -> &'static str {
    if is_liquidation { LIQUIDATION } else { TRADE }
}

impl Trades {
    /// An empty batch.
    pub(super) fn of(are_liquidations: bool) -> Self {
        Self { are_liquidations, ..Self::default() }
    }

    /// An empty batch with room for as many again: a busy stream stays busy.
    pub(super) fn of_no_rows(&self) -> Self {
        let rows = self.len();
        Self {
            times: Vec::with_capacity(rows),
            prices: Vec::with_capacity(rows),
            amounts: Vec::with_capacity(rows),
            series: Vec::with_capacity(rows),
            ids: String::with_capacity(self.ids.len()),
            ends: Vec::with_capacity(rows),
            ..Self::of(self.are_liquidations)
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// The key of their values on the wire.
    pub fn name(&self) -> &'static str {
        name_of(self.are_liquidations)
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The identifiers; empty where none was sent.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.ids[start..*end])
    }

    /// Approximate size in bytes.
    pub(super) fn bytes(&self) -> usize {
        EMPTY + self.len() * ROW + self.ids.len()
    }

    pub(super) fn push(&mut self, series: u32, point: &TradePoint<'_>) {
        self.times.push(point.time.0);
        self.prices.push(point.price);
        self.amounts.push(point.amount);
        self.series.push(series);
        self.ids.push_str(point.id);
        self.ends.push(self.ids.len());
    }

    pub(super) fn append(&mut self, mut more: Self) {
        let before = self.ids.len();
        self.times.append(&mut more.times);
        self.prices.append(&mut more.prices);
        self.amounts.append(&mut more.amounts);
        self.series.append(&mut more.series);
        self.ids.push_str(&more.ids);
        self.ends.extend(more.ends.iter().map(|end| before + end));
    }
}

/// A series of trades.
#[derive(Debug, Clone, PartialEq)]
pub struct TradeSeries {
    /// Its fields by wire name, as sent.
    pub fields: Map<String, Value>,
    /// Index of its exchange and symbol in [`TradeTable::markets`].
    pub market: u32,
    /// 1 for buys, -1 for sells, 0 if not sent.
    pub side: i8,
}

/// All series of a stream's trades so far. It only grows.
#[derive(Debug, Clone, Default)]
pub struct TradeTable {
    /// In the order of their first event.
    pub all: Vec<Arc<TradeSeries>>,
    /// Exchange and symbol of each market, in the order of their first event.
    pub markets: Vec<(String, String)>,
    by_text: HashMap<String, u32>,
}

impl TradeTable {
    /// The index of a series; `None` if there are too many.
    fn place(&mut self, fields: &Map<String, Value>) -> Option<u32> {
        let text = serde_json::to_string(fields).ok().filter(|text| text.len() <= LONGEST_SERIES)?;
        if let Some(place) = self.by_text.get(&text) {
            return Some(*place);
        }
        if self.all.len() == MOST_SERIES {
            return None;
        }
        let word = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let market = (word("exchange").to_owned(), word("symbol").to_owned());
        let at = self.markets.iter().position(|known| *known == market).unwrap_or_else(|| {
            self.markets.push(market);
            self.markets.len() - 1
        });
        let side = match word("side") {
            BUY => 1,
            SELL => -1,
            _ => 0,
        };
        let place = self.all.len() as u32;
        self.all.push(Arc::new(TradeSeries { fields: fields.clone(), market: at as u32, side }));
        self.by_text.insert(text, place);
        Some(place)
    }
}

/// The table of a stream, shared by its connections.
#[derive(Default)]
pub(super) struct SharedTable(Mutex<TradeTable>);

impl SharedTable {
    pub(super) fn look<T>(&self, at: impl FnOnce(&TradeTable) -> T) -> T {
        at(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn place(&self, fields: &Map<String, Value>) -> Option<u32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).place(fields)
    }

    /// The series and the point of an event that has no other fields than a row.
    pub(super) fn row<'a>(&self, event: &'a Event) -> Option<(u32, TradePoint<'a>)> {
        let is_liquidation = match event.name.as_str() {
            TRADE => false,
            LIQUIDATION => true,
            _ => return None,
        };
        let mut point =
            TradePoint { is_liquidation, series: b"", id: "", price: 0.0, amount: 0.0, time: UnixNanos(NO_TIME) };
        for (name, value) in &event.values {
            match name.as_str() {
                "id" => point.id = value.as_str().filter(|id| id.len() <= LONGEST_ID)?,
                "price" => point.price = value.as_f64()?,
                "amount" => point.amount = value.as_f64()?,
                "timestamp" => point.time = nanoseconds(value)?,
                _ => return None,
            }
        }
        (event.extra.is_empty()).then(|| self.place(&event.series))?.map(|series| (series, point))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(points: &str) -> Vec<Event> {
        Event::of_frame(serde_json::from_str(&format!(r#"{{"points":[{points}]}}"#)).unwrap())
    }

    #[test]
    fn rows_keep_what_events_say() {
        let table = SharedTable::default();
        let trade = |symbol: &str, side: &str, rest: &str| {
            format!(r#"{{"series":{{"type":"TRADE","exchange":"A","symbol":"{symbol}","side":"{side}"}},{rest}}}"#)
        };
        let points = [
            trade("X", "BUY", r#""trade":{"id":"1","price":2,"amount":0.5,"timestamp":{"seconds":1,"nanoseconds":5}}"#),
            trade("X", "SELL", r#""trade":{}"#),
            trade("Y", "", r#""trade":{"id":"22"}"#),
            trade("X", "BUY", r#""trade":{"id":"é"}"#),
        ];
        let mut trades = Trades::of(false);
        for event in events(&points.join(",")) {
            let (series, point) = table.row(&event).unwrap();
            trades.push(series, &point);
        }
        let mut twice = trades.clone();
        twice.append(trades.clone());
        assert_eq!(twice.ids().collect::<Vec<_>>(), ["1", "", "22", "é", "1", "", "22", "é"]);
        assert_eq!(trades.times, [1_000_000_005, NO_TIME, NO_TIME, NO_TIME]);
        assert_eq!((&trades.prices[..2], &trades.amounts[..2], trades.len()), (&[2.0, 0.0][..], &[0.5, 0.0][..], 4));
        assert_eq!(trades.series, [0, 1, 2, 0]);
        table.look(|table| {
            assert_eq!(
                table.all.iter().map(|one| (one.market, one.side)).collect::<Vec<_>>(),
                [(0, 1), (0, -1), (1, 0)]
            );
            assert_eq!(table.markets, [("A".to_owned(), "X".to_owned()), ("A".to_owned(), "Y".to_owned())]);
            assert_eq!(table.all[0].fields["type"], "TRADE");
        });
    }

    #[test]
    fn what_says_more_is_no_row() {
        let table = SharedTable::default();
        for point in [
            r#"{"series":{},"trade":{"fee":1}}"#,
            r#"{"series":{},"trade":{"price":"much"}}"#,
            r#"{"series":{},"trade":{"timestamp":{}}}"#,
            r#"{"series":{},"trade":{"id":7}}"#,
            r#"{"series":{},"trade":{},"seq":1}"#,
            r#"{"series":{},"fundingRate":{}}"#,
        ] {
            assert_eq!(table.row(&events(point)[0]), None, "{point}");
        }
        let long = format!(r#"{{"series":{{"symbol":"{}"}},"trade":{{}}}}"#, "x".repeat(LONGEST_SERIES));
        assert_eq!(table.row(&events(&long)[0]), None);
    }

    #[test]
    fn the_table_is_bounded() {
        let table = SharedTable::default();
        let row = |number: usize| {
            let event = events(&format!(r#"{{"series":{{"symbol":"{number}"}},"trade":{{}}}}"#)).remove(0);
            table.row(&event).map(|(series, _)| series as usize)
        };
        assert!((0..MOST_SERIES).all(|number| row(number) == Some(number)));
        assert_eq!((row(MOST_SERIES), row(7)), (None, Some(7)));
    }
}
