//! Files of trades and of their minute bars.

use std::path::{Path, PathBuf};

use crate::archive::{Table, read_parquet_within};
use crate::clock::{UnixDay, UnixNanos};
use crate::columns::Column;
use crate::market::raw::{Bar, SourceError, Trade};
use crate::market::store::changes::Change;
use crate::market::store::columns::FileColumns;
use crate::market::store::layout::{self, Dataset};
use crate::market::store::origin::DumpOrigin;

/// The datasets of events in the form of trades, and of their minute bars.
#[derive(Debug, Clone, Copy)]
pub(in crate::market) struct TradeFiles {
    pub(in crate::market) events: Dataset,
    pub(in crate::market) minutes: Dataset,
}

/// Trades and candles.
pub(in crate::market) const TRADES: TradeFiles =
    TradeFiles { events: Dataset::new("trades"), minutes: Dataset::new("candles_1m") };

/// Liquidations: forced orders, each with the side of the order.
pub(in crate::market) const LIQUIDATIONS: TradeFiles =
    TradeFiles { events: Dataset::new("liquidations"), minutes: Dataset::new("liquidations_1m") };

/// The place of a day's trades, or liquidations.
#[derive(Debug, Clone, Copy)]
pub(in crate::market) struct PartitionPath<'a> {
    pub(in crate::market) pair: TradeFiles,
    /// The store's folder.
    pub(in crate::market) store: &'a Path,
    /// Exchange and symbol.
    pub(in crate::market) market: (&'a str, &'a str),
    pub(in crate::market) day: UnixDay,
    /// The change that it is part of; its files count as if they were in the store.
    pub(in crate::market) change: &'a Change,
}

impl PartitionPath<'_> {
    /// The file from which the events, or the minutes, are read.
    pub(in crate::market) fn found(&self, dataset: Dataset) -> PathBuf {
        self.change.found(self.file(dataset))
    }

    /// Their file in the store.
    pub(in crate::market) fn file(&self, dataset: Dataset) -> PathBuf {
        layout::file(self.store, dataset, self.market.0, self.market.1, self.day)
    }
}

/// The dump file that a day's trades and bars were made of; `None` when there are none yet, or they are damaged.
pub(in crate::market) fn read_origin(place: &PartitionPath<'_>) -> Option<DumpOrigin> {
    DumpOrigin::read([place.pair.events, place.pair.minutes].map(|dataset| place.found(dataset)))
}

/// Trades, column by column.
#[derive(Default)]
pub(in crate::market) struct TradeColumns {
    pub(in crate::market) times: Vec<i64>,
    prices: Vec<f64>,
    amounts: Vec<f64>,
    buys: Vec<i64>,
}

impl TradeColumns {
    pub(in crate::market) fn extend(&mut self, trades: &[Trade]) {
        self.times.extend(trades.iter().map(|trade| trade.time.0));
        self.prices.extend(trades.iter().map(|trade| trade.price));
        self.amounts.extend(trades.iter().map(|trade| trade.amount));
        self.buys.extend(trades.iter().map(|trade| i64::from(trade.buy)));
    }

    pub(in crate::market) fn into_table(self) -> Table {
        vec![
            ("time".to_owned(), Column::Time(self.times)),
            ("price".to_owned(), Column::Float(self.prices)),
            ("amount".to_owned(), Column::Float(self.amounts)),
            ("is_buy".to_owned(), Column::Int(self.buys)),
        ]
    }

    /// No trades, in the memory of a written table: new pages for each group would cost as much as packing it.
    pub(in crate::market) fn emptied(table: Table) -> Self {
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

pub(in crate::market) fn bar_table(bars: &[Bar]) -> Table {
    let floats =
        |name: &str, value: fn(&Bar) -> f64| (name.to_owned(), Column::Float(bars.iter().map(value).collect()));
    let times = |name: &str, value: fn(&Bar) -> UnixNanos| (name.to_owned(), Column::times(bars.iter().map(value)));
    vec![
        times("time", |bar| bar.start.nanos()),
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

pub(in crate::market) fn read_trades(path: &Path) -> Result<Vec<Trade>, SourceError> {
    trades_of(FileColumns::read(path)?)
}

/// The trades of a file whose times lie in `[from, to)`; reads as little else as possible.
pub(in crate::market) fn read_trades_within(
    path: &Path,
    from: UnixNanos,
    to: UnixNanos,
) -> Result<Vec<Trade>, SourceError> {
    let table = read_parquet_within(path, "time", from.0, to.0).map_err(|error| SourceError(error.to_string()))?;
    let mut trades = trades_of(FileColumns::of(path, table))?;
    trades.retain(|trade| (from..to).contains(&trade.time));
    Ok(trades)
}

fn trades_of(mut columns: FileColumns<'_>) -> Result<Vec<Trade>, SourceError> {
    let (times, prices) = (columns.whole("time")?, columns.floats("price")?);
    let (amounts, buys) = (columns.floats("amount")?, columns.whole("is_buy")?);
    let rows = times.into_iter().zip(prices).zip(amounts.into_iter().zip(buys));
    Ok(rows
        .map(|((time, price), (amount, buy))| Trade { time: UnixNanos(time), price, amount, buy: buy != 0 })
        .collect())
}

pub(in crate::market) fn read_bars(path: &Path) -> Result<Vec<Bar>, SourceError> {
    let mut columns = FileColumns::read(path)?;
    let [starts, first, last] = ["time", "first_timestamp", "last_timestamp"].map(|name| columns.whole(name));
    let (starts, first, last) = (starts?, first?, last?);
    let names = ["open", "high", "low", "close", "buy_volume", "sell_volume", "buy_quote_volume", "sell_quote_volume"];
    let values = names.iter().map(|name| columns.floats(name)).collect::<Result<Vec<_>, _>>()?;
    let bar = |row: usize| Bar {
        start: UnixNanos(starts[row]).second(),
        open: values[0][row],
        high: values[1][row],
        low: values[2][row],
        close: values[3][row],
        buy: values[4][row],
        sell: values[5][row],
        buy_quote: values[6][row],
        sell_quote: values[7][row],
        first: UnixNanos(first[row]),
        last: UnixNanos(last[row]),
    };
    Ok((0..starts.len()).map(bar).collect())
}
