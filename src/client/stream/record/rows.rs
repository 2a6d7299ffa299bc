//! Events as rows of dumps. The columns are those that the ingest reads, in an order such that a truncated row lacks a
//! column: it is then invalid, and never a row with half a number.

use std::fmt::Write;

use serde_json::Value;

use super::row_prefix::RowPrefix;
use crate::client::stream::event::Event;
use crate::clock::UnixNanos;
use crate::protocol::dump;
use crate::protocol::identity::{BUY, SELL};
use crate::protocol::stream::ChannelKind;

const TRADE_HEADER: &str = "exchange,symbol,timestamp,local_timestamp,price,amount,side,id\n";
const BOOK_HEADER: &str = "exchange,symbol,timestamp,local_timestamp,is_snapshot,price,amount,side\n";
const TICKER_HEADER: &str = "exchange,symbol,timestamp,local_timestamp,funding_timestamp,funding_rate,\
                             predicted_funding_rate,open_interest,last_price,index_price,mark_price\n";

/// A kind of dump that can be recorded from a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RecordedDump {
    Trades,
    Liquidations,
    Tickers,
    BookChanges,
}

impl RecordedDump {
    /// The channels that carry raw data.
    pub(super) const KINDS: [ChannelKind; 5] = [
        ChannelKind::Trade,
        ChannelKind::Liquidation,
        ChannelKind::BlockBookSnapshot,
        ChannelKind::FundingRate,
        ChannelKind::OpenInterest,
    ];

    /// The kind for a channel; `None` if it carries no raw data.
    pub(super) const fn of(kind: ChannelKind) -> Option<Self> {
        match kind {
            ChannelKind::Trade => Some(Self::Trades),
            ChannelKind::Liquidation => Some(Self::Liquidations),
            ChannelKind::FundingRate | ChannelKind::OpenInterest => Some(Self::Tickers),
            ChannelKind::BlockBookSnapshot => Some(Self::BookChanges),
            ChannelKind::TradeAgg | ChannelKind::VolumeProfileAgg => None,
        }
    }

    pub(super) const fn folder(self) -> &'static str {
        match self {
            Self::Trades => dump::TRADES,
            Self::Liquidations => dump::LIQUIDATIONS,
            Self::Tickers => dump::TICKERS,
            Self::BookChanges => dump::BOOK_CHANGES,
        }
    }

    pub(super) const fn header(self) -> &'static str {
        match self {
            Self::Trades | Self::Liquidations => TRADE_HEADER,
            Self::Tickers => TICKER_HEADER,
            Self::BookChanges => BOOK_HEADER,
        }
    }

    /// Whether its rows end in an id.
    pub(super) const fn has_ids(self) -> bool {
        matches!(self, Self::Trades | Self::Liquidations)
    }
}

/// The rows of an event, all with the same time.
pub(super) struct RecordedRow<'a> {
    /// Time of the event; dumps have microseconds.
    pub(super) time: UnixNanos,
    pub(super) what: RowPayload<'a>,
}

pub(super) enum RowPayload<'a> {
    Trade {
        id: &'a str,
        side: &'static str,
        price: f64,
        amount: f64,
    },
    Funding {
        rate: Option<f64>,
        predicted: Option<f64>,
    },
    OpenInterest(f64),
    /// Price, amount pairs.
    Book {
        bids: Vec<f64>,
        asks: Vec<f64>,
    },
}

impl<'a> RecordedRow<'a> {
    /// `None` for an event without a field that its row needs.
    pub(super) fn of(dump: RecordedDump, event: &'a Event) -> Option<Self> {
        let time = event.time()?;
        let value = |name: &str| event.values.get(name).and_then(number);
        let what = match dump {
            RecordedDump::Trades | RecordedDump::Liquidations => RowPayload::Trade {
                id: event.id().filter(|id| is_plain(id)).unwrap_or_default(),
                side: match event.series.get("side").and_then(Value::as_str)? {
                    BUY => "buy",
                    SELL => "sell",
                    _ => return None,
                },
                price: value("price")?,
                // An omitted amount is 0 (service.md 7).
                amount: value("amount").unwrap_or(0.0),
            },
            RecordedDump::Tickers if event.kind() == ChannelKind::OpenInterest.spec().name => {
                RowPayload::OpenInterest(value("openInterest")?)
            }
            RecordedDump::Tickers => {
                RowPayload::Funding { rate: value("fundingRate"), predicted: value("predictedFundingRate") }
            }
            RecordedDump::BookChanges => {
                let side = |name: &str| match event.values.get(name) {
                    None | Some(Value::Null) => Some(Vec::new()),
                    Some(Value::Array(levels)) if levels.len() % 2 == 0 => levels.iter().map(number).collect(),
                    Some(_) => None,
                };
                let what = RowPayload::Book { bids: side("bids")?, asks: side("asks")? };
                // A state sent at a moment describes what happened before it: it is the last of the bucket that ends
                // there, not the first of the next.
                return Some(Self { time: time.plus(-1_000), what });
            }
        };
        Some(Self { time, what })
    }
}

impl RowPayload<'_> {
    /// Writes the row; returns the number of rows.
    pub(super) fn write(&self, begin: &RowPrefix<'_>, out: &mut String) -> u64 {
        // Writing to a string cannot fail. Doubles are written so that they are read back exactly.
        let written = match self {
            Self::Trade { id, side, price, amount } => writeln!(out, "{begin},{price},{amount},{side},{id}"),
            Self::Funding { rate, predicted } => {
                let spelt = |value: &Option<f64>| value.map_or_else(String::new, |value| value.to_string());
                writeln!(out, "{begin},,{},{},,,,", spelt(rate), spelt(predicted))
            }
            Self::OpenInterest(value) => writeln!(out, "{begin},,,,{value},,,"),
            Self::Book { .. } => return 0, // depends on the states before it: see `book`
        };
        u64::from(written.is_ok())
    }
}

/// The id of a row of trades.
pub(super) fn id_of(line: &str) -> &str {
    line.rsplit(',').next().unwrap_or_default()
}

/// Whether a text can be a field without quotes.
fn is_plain(text: &str) -> bool {
    text.len() <= 200 && text.chars().all(|one| !one.is_control() && one != ',' && one != '"')
}

/// A number, which may be sent as a string.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}
