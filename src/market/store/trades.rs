//! Trades and their minute bars as tables.

use std::path::{Path, PathBuf};

use super::changes::{self, prepared};
use super::layout::{self, Dataset};
use super::origin::Origin;
use super::overlap::{self, Overlap};
use super::ticks::Decimals;
use crate::archive::{ArchiveError, ParquetWriter, Table, read_metadata, read_parquet, read_parquet_within};
use crate::clock::SECOND;
use crate::columns::Column;
use crate::market::source::{Bar, SourceError, Trade};

/// Where events of the form of trades, and their minute bars, lie.
#[derive(Debug, Clone, Copy)]
pub(in crate::market) struct Pair {
    pub(super) events: Dataset,
    pub(super) minutes: Dataset,
}

/// Trades and candles.
pub(in crate::market) const TRADES: Pair = Pair { events: Dataset::Trades, minutes: Dataset::Candles };
/// Liquidations: forced orders, each with the side of the order.
pub(in crate::market) const LIQUIDATIONS: Pair =
    Pair { events: Dataset::Liquidations, minutes: Dataset::LiquidationMinutes };

/// Where a day's trades, or liquidations, belong.
#[derive(Debug, Clone, Copy)]
pub(in crate::market) struct Place<'a> {
    pub(in crate::market) pair: Pair,
    /// The store's folder.
    pub(in crate::market) store: &'a Path,
    /// Exchange and symbol.
    pub(in crate::market) market: (&'a str, &'a str),
    /// Unix day.
    pub(in crate::market) day: i64,
}

impl Place<'_> {
    pub(super) fn file(&self, dataset: Dataset) -> PathBuf {
        layout::file(self.store, dataset, self.market.0, self.market.1, self.day)
    }
}

/// Metadata key: trades of the dump file that a neighbouring day has.
const LEFT_OUT: &str = "marketpoints.trades_left_out";
/// Metadata key: the neighbouring days that have them, and what they held then.
const CUT_AGAINST: &str = "marketpoints.trades_left_out_for";
/// Trades of a group of rows, which are written together.
const GROUP: usize = 1 << 19;

/// Writes a day's trades and their minute bars.
pub(in crate::market) struct TradeWriter<'a> {
    place: &'a Place<'a>,
    events: ParquetWriter,
    /// Trades that make no group yet.
    waiting: TradeColumns,
    bars: Vec<Bar>,
    decimals: Decimals,
    overlap: Overlap,
}

impl<'a> TradeWriter<'a> {
    /// Begins a day; nothing is in the store until it is finished.
    pub(in crate::market) fn begin(place: &'a Place<'a>) -> Result<Self, ArchiveError> {
        let events = ParquetWriter::begin(&place.file(place.pair.events), &TradeColumns::default().into_table())?;
        let overlap = Overlap::of(place);
        let (waiting, decimals) = (TradeColumns::default(), Decimals::default());
        Ok(Self { place, events, waiting, bars: Vec::new(), decimals, overlap })
    }

    /// The next trades, in time order. Those that the store holds of a neighbouring day's file are left out.
    pub(in crate::market) fn push(&mut self, trades: &[Trade]) -> Result<(), ArchiveError> {
        let trades = &*self.overlap.new_among(trades);
        for trade in trades {
            self.decimals.add(trade.price);
            let start = trade.time.div_euclid(60 * SECOND) * 60;
            match self.bars.last_mut() {
                Some(bar) if bar.start == start => bar.add(trade),
                _ => self.bars.push(Bar::of(start, trade)),
            }
        }
        let mut rest = trades;
        while !rest.is_empty() {
            let (fitting, others) = rest.split_at(rest.len().min(GROUP - self.waiting.times.len()));
            self.waiting.extend(fitting);
            if self.waiting.times.len() == GROUP {
                self.flush()?;
            }
            rest = others;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ArchiveError> {
        let table = std::mem::take(&mut self.waiting).into_table();
        let pushed = self.events.push(&table);
        self.waiting = TradeColumns::emptied(table);
        pushed
    }

    /// Puts trades and bars in place. The bars come last: where they are, both are.
    pub(in crate::market) fn finish(mut self, origin: &Origin) -> Result<(), ArchiveError> {
        self.flush()?;
        let metadata = origin.metadata();
        let left_out = (LEFT_OUT.to_owned(), self.overlap.left_out.to_string());
        let cut_against = (CUT_AGAINST.to_owned(), self.overlap.cut_against());
        let of_bars = [metadata.clone(), vec![self.decimals.metadata(), left_out, cut_against]].concat();
        let bars = prepared(&self.place.file(self.place.pair.minutes), &bar_table(&self.bars))?;
        changes::place(self.place.store, [(self.events, metadata), (bars, of_bars)])
    }
}

/// Writes a day's trades, in time order, and their minute bars.
pub(in crate::market) fn write(place: &Place<'_>, trades: &[Trade], origin: &Origin) -> Result<(), ArchiveError> {
    let mut writer = TradeWriter::begin(place)?;
    writer.push(trades)?;
    writer.finish(origin)
}

/// Whether trades of the day's dump file were left out because a neighbouring day had them, which holds something else now.
pub(in crate::market) fn is_outdated(place: &Place<'_>) -> bool {
    let metadata = read_metadata(&place.file(place.pair.minutes)).unwrap_or_default();
    let value = |key: &str| metadata.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    match value(CUT_AGAINST) {
        Some(told) => overlap::is_outdated(place, told),
        // An earlier version did not say against what.
        None => value(LEFT_OUT).is_some_and(|count| count != "0"),
    }
}

/// The dump file that a day's trades and bars were made of; `None` when there are none yet, or they are damaged.
pub(in crate::market) fn read_origin(place: &Place<'_>) -> Option<Origin> {
    Origin::read([place.pair.events, place.pair.minutes].map(|dataset| place.file(dataset)))
}

/// Trades, column by column.
#[derive(Default)]
struct TradeColumns {
    times: Vec<i64>,
    prices: Vec<f64>,
    amounts: Vec<f64>,
    buys: Vec<i64>,
}

impl TradeColumns {
    fn extend(&mut self, trades: &[Trade]) {
        self.times.extend(trades.iter().map(|trade| trade.time));
        self.prices.extend(trades.iter().map(|trade| trade.price));
        self.amounts.extend(trades.iter().map(|trade| trade.amount));
        self.buys.extend(trades.iter().map(|trade| i64::from(trade.buy)));
    }

    fn into_table(self) -> Table {
        vec![
            ("time".to_owned(), Column::Time(self.times)),
            ("price".to_owned(), Column::Float(self.prices)),
            ("amount".to_owned(), Column::Float(self.amounts)),
            ("is_buy".to_owned(), Column::Int(self.buys)),
        ]
    }

    /// No trades, in the memory of a table that is written: fresh pages for each group would cost as much as packing it.
    fn emptied(table: Table) -> Self {
        let mut emptied = Self::default();
        for (name, column) in table {
            match (name.as_str(), column) {
                ("time", Column::Time(values)) => emptied.times = values,
                ("price", Column::Float(values)) => emptied.prices = values,
                ("amount", Column::Float(values)) => emptied.amounts = values,
                ("is_buy", Column::Int(values)) => emptied.buys = values,
                _ => {} // then that column gets new memory
            }
        }
        emptied.times.clear();
        emptied.prices.clear();
        emptied.amounts.clear();
        emptied.buys.clear();
        emptied
    }
}

fn bar_table(bars: &[Bar]) -> Table {
    let floats =
        |name: &str, value: fn(&Bar) -> f64| (name.to_owned(), Column::Float(bars.iter().map(value).collect()));
    let times = |name: &str, value: fn(&Bar) -> i64| (name.to_owned(), Column::Time(bars.iter().map(value).collect()));
    vec![
        times("time", |bar| bar.start * SECOND),
        floats("open", |bar| bar.open),
        floats("high", |bar| bar.high),
        floats("low", |bar| bar.low),
        floats("close", |bar| bar.close),
        floats("buy_volume", |bar| bar.buy),
        floats("sell_volume", |bar| bar.sell),
        floats("buy_quote_volume", |bar| bar.buy_quote),
        floats("sell_quote_volume", |bar| bar.sell_quote),
        times("first_timestamp", |bar| bar.first),
        times("last_timestamp", |bar| bar.last),
    ]
}

/// The columns of a file, by name and kind.
pub(super) struct Columns<'a> {
    path: &'a Path,
    table: Table,
}

impl<'a> Columns<'a> {
    pub(super) fn read(path: &'a Path) -> Result<Self, SourceError> {
        let (table, _) = read_parquet(path).map_err(|error| SourceError(error.to_string()))?;
        Ok(Self { path, table })
    }

    fn take(&mut self, name: &str) -> Result<Column, SourceError> {
        let found = self.table.iter().position(|(known, _)| known == name);
        found.map(|index| self.table.swap_remove(index).1).ok_or_else(|| self.foreign(name))
    }

    pub(super) fn floats(&mut self, name: &str) -> Result<Vec<f64>, SourceError> {
        match self.take(name)? {
            Column::Float(values) => Ok(values),
            _ => Err(self.foreign(name)),
        }
    }

    pub(super) fn whole(&mut self, name: &str) -> Result<Vec<i64>, SourceError> {
        match self.take(name)? {
            Column::Int(values) | Column::Time(values) => Ok(values),
            _ => Err(self.foreign(name)),
        }
    }

    /// Strings, empty where there is none.
    pub(super) fn texts(&mut self, name: &str) -> Result<Vec<String>, SourceError> {
        match self.take(name)? {
            Column::Text(values) => Ok(values.into_iter().map(Option::unwrap_or_default).collect()),
            _ => Err(self.foreign(name)),
        }
    }

    fn foreign(&self, name: &str) -> SourceError {
        SourceError(format!("{}: no column {name} as this store has it; ingest the dump again", self.path.display()))
    }
}

pub(super) fn read_trades(path: &Path) -> Result<Vec<Trade>, SourceError> {
    trades_of(Columns::read(path)?)
}

/// The trades of a file whose times lie in `[from, to)`, in Unix nanoseconds; of the rest as little is read as possible.
pub(super) fn read_trades_within(path: &Path, from: i64, to: i64) -> Result<Vec<Trade>, SourceError> {
    let table = read_parquet_within(path, "time", from, to).map_err(|error| SourceError(error.to_string()))?;
    let mut trades = trades_of(Columns { path, table })?;
    trades.retain(|trade| (from..to).contains(&trade.time));
    Ok(trades)
}

fn trades_of(mut columns: Columns<'_>) -> Result<Vec<Trade>, SourceError> {
    let (times, prices) = (columns.whole("time")?, columns.floats("price")?);
    let (amounts, buys) = (columns.floats("amount")?, columns.whole("is_buy")?);
    let rows = times.into_iter().zip(prices).zip(amounts.into_iter().zip(buys));
    Ok(rows.map(|((time, price), (amount, buy))| Trade { time, price, amount, buy: buy != 0 }).collect())
}

pub(super) fn read_bars(path: &Path) -> Result<Vec<Bar>, SourceError> {
    let mut columns = Columns::read(path)?;
    let [starts, first, last] = ["time", "first_timestamp", "last_timestamp"].map(|name| columns.whole(name));
    let (starts, first, last) = (starts?, first?, last?);
    let names = ["open", "high", "low", "close", "buy_volume", "sell_volume", "buy_quote_volume", "sell_quote_volume"];
    let values = names.iter().map(|name| columns.floats(name)).collect::<Result<Vec<_>, _>>()?;
    let bar = |row: usize| Bar {
        start: starts[row].div_euclid(SECOND),
        open: values[0][row],
        high: values[1][row],
        low: values[2][row],
        close: values[3][row],
        buy: values[4][row],
        sell: values[5][row],
        buy_quote: values[6][row],
        sell_quote: values[7][row],
        first: first[row],
        last: last[row],
    };
    Ok((0..starts.len()).map(bar).collect())
}
