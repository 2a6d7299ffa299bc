//! Token supply: daily snapshots, carried forward into every bucket.

use std::collections::HashMap;

use crate::clock::{UnixNanos, Window};
use crate::columns::{Column, ColumnName, Series};
use crate::market::query::context::QueryContext;
use crate::market::query::error::MarketError;
use crate::market::raw::{Source, SourceError, SupplyFeed, SupplyRow, Token};
use crate::protocol::{SeriesId, Shape};

/// `TOKEN_SUPPLY_AGG`: one series or none.
///
/// # Errors
/// [`MarketError::Internal`] when the data cannot be read.
pub(in crate::market) fn answer(context: &QueryContext<'_>) -> Result<Vec<Series>, MarketError> {
    let QueryContext { source, query, buckets, .. } = context;
    let coin = query.coin.as_deref().unwrap_or_default(); // given, by the rules
    let fits = |token: &Token| {
        let named = |name: &String| name.to_lowercase() == token.name.to_lowercase();
        token.coin == coin && query.token_name.as_ref().is_none_or(named)
    };
    let supply = source.of::<dyn SupplyFeed>()?;
    let tokens = supply.tokens();
    let Some((place, _)) = largest(supply, fits, buckets.now)? else { return Ok(Vec::new()) };
    let mut snapshots = Vec::new();
    supply.supply(place, buckets.window, buckets.now, &mut |snapshot| snapshots.push(snapshot))?;

    let mut table = SupplyTable::default();
    let mut pending = snapshots.iter().peekable();
    let mut latest = None;
    for start in buckets.starts() {
        while let Some(next) = pending.next_if(|next| next.time < start.plus(buckets.interval.seconds)) {
            latest = Some(next);
        }
        for row in latest.into_iter().flat_map(|snapshot| &snapshot.rows) {
            table.push(start.nanos().0, row);
        }
    }
    let id = SeriesId {
        data_type: Some(query.data_type.clone()),
        interval: query.interval.clone(),
        coin: Some(tokens[place].coin.clone()),
        token_name: Some(tokens[place].name.clone()),
        ..SeriesId::default()
    };
    Ok(vec![table.series(id)])
}

/// Of the tokens that fit, the one with the largest market capitalization at `now`: its place, and that. Several may have one
/// ticker, and the one that is meant without a name is the largest.
fn largest(
    supply: &dyn SupplyFeed,
    fits: impl Fn(&Token) -> bool,
    now: UnixNanos,
) -> Result<Option<(usize, f64)>, SourceError> {
    let after = now.second().0 + 1;
    let mut found: Option<(usize, f64)> = None;
    for (place, _) in supply.tokens().iter().enumerate().filter(|(_, token)| fits(token)) {
        let mut latest = 0.0; // where it is not known
        supply.supply(place, Window { from: after, to: after }, now, &mut |snapshot| {
            latest = snapshot.rows.first().map_or(0.0, |row| row.marketcap.max(0.0));
        })?;
        if found.is_none_or(|(_, size)| latest > size) {
            found = Some((place, latest));
        }
    }
    Ok(found)
}

/// Market capitalizations as of a moment, each looked up once.
pub(in crate::market) struct Marketcaps<'a> {
    source: &'a dyn Source,
    now: UnixNanos,
    known: HashMap<String, f64>,
}

impl<'a> Marketcaps<'a> {
    /// The capitalizations of a source as of `now`.
    pub(in crate::market) fn new(source: &'a dyn Source, now: UnixNanos) -> Self {
        Self { source, now, known: HashMap::new() }
    }

    /// A coin's market capitalization, USD; 0 where it is unknown.
    ///
    /// # Errors
    /// [`MarketError::Internal`] when the data cannot be read.
    pub(in crate::market) fn of(&mut self, coin: &str) -> Result<f64, MarketError> {
        if let Some(known) = self.known.get(coin) {
            return Ok(*known);
        }
        let supply = self.source.of::<dyn SupplyFeed>()?;
        let latest = largest(supply, |token| token.coin == coin, self.now)?.map_or(0.0, |(_, marketcap)| marketcap);
        self.known.insert(coin.to_owned(), latest);
        Ok(latest)
    }
}

/// Rows as columns.
#[derive(Default)]
struct SupplyTable {
    timestamps: Vec<i64>,
    numbers: [Vec<f64>; NUMBERS.len()],
    chains: Vec<Option<String>>,
    contracts: Vec<Option<String>>,
}

/// Numeric columns before the texts.
const AMOUNTS: usize = 8;

/// The numeric columns, in the order of [`SupplyTable::push`].
const NUMBERS: [&str; 11] = [
    "marketcap",
    "first_marketcap",
    "marketcap_dominance_percent",
    "circulating_supply",
    "total_supply",
    "max_supply",
    "total_value_locked",
    "fully_diluted_valuation",
    "src_marketcap_rank",
    "total_volume",
    "usd_price",
];

impl SupplyTable {
    fn push(&mut self, timestamp: i64, row: &SupplyRow) {
        self.timestamps.push(timestamp);
        let values = [
            row.marketcap,
            row.first_marketcap,
            row.dominance,
            row.circulating,
            row.total,
            row.max,
            row.locked,
            row.diluted,
            row.rank,
            row.volume,
            row.price,
        ];
        for (column, value) in self.numbers.iter_mut().zip(values) {
            column.push(value);
        }
        let text = |value: &String| Some(value.clone()).filter(|value| !value.is_empty());
        self.chains.push(text(&row.chain));
        self.contracts.push(text(&row.contract));
    }

    fn series(self, id: SeriesId) -> Series {
        let named = |(name, values): (&'static str, Vec<f64>)| (name.into(), Column::Float(values));
        let mut columns: Vec<(ColumnName, Column)> = NUMBERS.into_iter().zip(self.numbers).map(named).collect();
        // In the wire's order: between the amounts and the rank.
        let texts = [("chain", self.chains), ("contract_address", self.contracts)];
        let texts = texts.map(|(name, values)| (name.into(), Column::Text(values)));
        columns.splice(AMOUNTS..AMOUNTS, texts);
        Series { id: id.into(), shape: Shape::Table, timestamps: self.timestamps, columns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::UnixSecond;
    use crate::market::raw::Supply;

    /// Two tokens of one ticker: the first has 1 throughout, the second 9 and, from second 60 on, a half.
    struct TwoTokens([Token; 2]);

    impl SupplyFeed for TwoTokens {
        fn tokens(&self) -> &[Token] {
            &self.0
        }

        fn supply(
            &self,
            token: usize,
            _window: Window,
            now: UnixNanos,
            visit: &mut dyn FnMut(Supply),
        ) -> Result<(), SourceError> {
            let marketcap = [1.0, if now.second().0 < 60 { 9.0 } else { 0.5 }][token];
            let row = SupplyRow { marketcap, ..SupplyRow::default() };
            visit(Supply { time: UnixSecond(0), rows: vec![row] });
            Ok(())
        }
    }

    #[test]
    fn the_largest_token_is_that_of_the_moment_and_not_of_the_future() {
        let token = |name: &str| Token { coin: "LUNA".into(), name: name.into(), available_since: UnixSecond(0) };
        let supply = TwoTokens([token("Terra"), token("Terra Classic")]);
        let at = |second| largest(&supply, |token| token.coin == "LUNA", UnixSecond(second).nanos()).unwrap();
        assert_eq!((at(30), at(60)), (Some((1, 9.0)), Some((0, 1.0))));
        let named = |second| largest(&supply, |token| token.name == "Terra", UnixSecond(second).nanos()).unwrap();
        assert_eq!((named(30), named(60)), (Some((0, 1.0)), Some((0, 1.0))));
        assert_eq!(largest(&supply, |token| token.coin == "BTC", UnixSecond(0).nanos()).unwrap(), None);
    }
}
