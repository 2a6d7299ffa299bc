//! Token supply: snapshots by token and time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::clock::{UnixNanos, UnixSecond, Window};
use crate::market::raw::{SourceError, Supply, SupplyFeed, SupplyRow, Token};
use crate::market::store::layout::Dataset;
use crate::market::store::opened::OpenedStore;
use crate::market::store::unpartitioned::UnpartitionedTable;

/// One row of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::market) struct SupplyRecord {
    /// Ticker.
    pub coin: String,
    /// Full name.
    pub name: String,
    /// When the row was taken.
    pub time: UnixNanos,
    /// The figures, NaN where one is unknown.
    pub row: SupplyRow,
}

/// Tables of token supply.
pub(in crate::market) const SUPPLY: UnpartitionedTable<SupplyRecord> = UnpartitionedTable {
    dataset: Dataset::new("token_supply"),
    times: &[("time", |line| &mut line.time.0)],
    texts: &[
        ("coin", |line| &mut line.coin),
        ("token_name", |line| &mut line.name),
        ("chain", |line| &mut line.row.chain),
        ("contract_address", |line| &mut line.row.contract),
    ],
    numbers: &[
        ("marketcap", |line| &mut line.row.marketcap),
        ("first_marketcap", |line| &mut line.row.first_marketcap),
        ("marketcap_dominance_percent", |line| &mut line.row.dominance),
        ("circulating_supply", |line| &mut line.row.circulating),
        ("total_supply", |line| &mut line.row.total),
        ("max_supply", |line| &mut line.row.max),
        ("total_value_locked", |line| &mut line.row.locked),
        ("fully_diluted_valuation", |line| &mut line.row.diluted),
        ("src_marketcap_rank", |line| &mut line.row.rank),
        ("total_volume", |line| &mut line.row.volume),
        ("usd_price", |line| &mut line.row.price),
    ],
    wholes: &[],
};

/// The token supply of a store. Snapshots are few, such as one a day, so all are in memory.
#[derive(Default)]
pub(in crate::market) struct Supplies {
    tokens: Vec<Token>,
    /// By token, in order of time.
    snapshots: Vec<Vec<Supply>>,
}

impl Supplies {
    /// Opens the supply of a store. If two files have a token's snapshot of one time, the last by name counts.
    pub(in crate::market) fn open(root: &Path) -> Result<Self, SourceError> {
        let mut known: BTreeMap<(String, String), BTreeMap<UnixSecond, Vec<SupplyRow>>> = BTreeMap::new();
        for lines in SUPPLY.read_all(root)? {
            let mut of_file: BTreeMap<(String, String), BTreeMap<UnixSecond, Vec<SupplyRow>>> = BTreeMap::new();
            for line in lines {
                let snapshots = of_file.entry((line.coin, line.name)).or_default();
                snapshots.entry(line.time.second()).or_default().push(line.row);
            }
            for (token, snapshots) in of_file {
                known.entry(token).or_default().extend(snapshots);
            }
        }
        let mut supplies = Self::default();
        for ((coin, name), snapshots) in known {
            let Some((&available_since, first)) = snapshots.first_key_value() else { continue };
            let baseline = first.first().map_or(f64::NAN, |row| row.marketcap);
            supplies.tokens.push(Token { coin, name, available_since });
            let complete = |(time, mut rows): (UnixSecond, Vec<SupplyRow>)| {
                for row in rows.iter_mut().filter(|row| row.first_marketcap.is_nan()) {
                    row.first_marketcap = baseline;
                }
                Supply { time, rows }
            };
            supplies.snapshots.push(snapshots.into_iter().map(complete).collect());
        }
        Ok(supplies)
    }

    /// The last snapshot of any token.
    fn last_time(&self) -> Option<UnixSecond> {
        self.snapshots.iter().filter_map(|snapshots| Some(snapshots.last()?.time)).max()
    }
}

/// Adds the supply of a store that is being opened.
pub(in crate::market) fn open(store: OpenedStore) -> Result<OpenedStore, SourceError> {
    let supplies = Supplies::open(&store.root)?;
    let last_day = supplies.last_time().map(UnixSecond::day);
    Ok(store.reaching(last_day).with::<dyn SupplyFeed>(Arc::new(supplies)))
}

impl SupplyFeed for Supplies {
    fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    fn supply(
        &self,
        token: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(Supply),
    ) -> Result<(), SourceError> {
        let snapshots = &self.snapshots[token];
        let end = snapshots.partition_point(|snapshot| snapshot.time <= now.second());
        let begin = snapshots[..end].partition_point(|snapshot| snapshot.time.0 < window.from).saturating_sub(1);
        let within = snapshots[begin..end].iter().filter(|snapshot| snapshot.time.0 < window.to.max(window.from));
        within.for_each(|snapshot| visit(snapshot.clone()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;
    use crate::market::raw::coin_name;
    use crate::market::store::origin::DumpOrigin;

    fn line(coin: &str, name: &str, time: i64, chain: &str, marketcap: f64, first: f64) -> SupplyRecord {
        let row = SupplyRow { marketcap, first_marketcap: first, chain: chain.to_owned(), ..SupplyRow::default() };
        SupplyRecord { coin: coin.to_owned(), name: name.to_owned(), time: UnixNanos(time * SECOND), row }
    }

    fn visited(supplies: &Supplies, token: usize, from: i64, to: i64, now: i64) -> Vec<(i64, usize)> {
        let mut seen = Vec::new();
        let keep = &mut |supply: Supply| seen.push((supply.time.0, supply.rows.len()));
        supplies.supply(token, Window { from, to }, UnixSecond(now).nanos(), keep).unwrap();
        seen
    }

    #[test]
    fn every_number_comes_back_in_its_place() {
        let mut one = line("LINK", "Chainlink", 86_400, "ETHEREUM", 0.0, 0.0);
        one.row.contract = "0x1".to_owned();
        for (place, (_, number)) in SUPPLY.numbers.iter().enumerate() {
            *number(&mut one) = place as f64;
        }
        let folder = tempfile::tempdir().unwrap();
        SUPPLY.write(folder.path(), "a/b c.csv", vec![one.clone()], &DumpOrigin::new("hash", 1, 0)).unwrap();
        assert_eq!(SUPPLY.read_origin(folder.path(), "a/b c.csv"), Some(DumpOrigin::new("hash", 1, 0)));
        assert_eq!(SUPPLY.read_origin(folder.path(), "a/b.csv"), None);
        assert_eq!(SUPPLY.read_all(folder.path()).unwrap(), [[one]]);
    }

    #[test]
    fn snapshots_are_joined_over_files_and_the_last_file_counts() {
        const NAN: f64 = f64::NAN;
        let folder = tempfile::tempdir().unwrap();
        let write = |source: &str, lines: &[SupplyRecord]| {
            SUPPLY.write(folder.path(), source, lines.to_vec(), &DumpOrigin::default()).unwrap();
        };
        let two = [line("LINK", "Chainlink", 20, "BSC", 7.0, NAN), line("LINK", "Chainlink", 20, "ARBITRUM", 7.0, 3.0)];
        write("b.csv", &[&two[..], &[line("LUNA", "Terra", 30, "", 1.0, NAN)]].concat());
        write(
            "a.csv",
            &[
                line("LINK", "Chainlink", 10, "BSC", 5.0, NAN),
                line("LINK", "Chainlink", 20, "BSC", 6.0, NAN),
                line("LUNA", "Terra Classic", 15, "", 9.0, NAN),
            ],
        );
        let supplies = Supplies::open(folder.path()).unwrap();
        let tokens: Vec<(&str, i64)> =
            supplies.tokens().iter().map(|token| (&*token.name, token.available_since.0)).collect();
        assert_eq!(tokens, [("Chainlink", 10), ("Terra", 30), ("Terra Classic", 15)]);
        assert_eq!(visited(&supplies, 0, 0, 100, 100), [(10, 1), (20, 2)]);
        assert_eq!(visited(&supplies, 0, 15, 20, 100), [(10, 1)]);
        assert_eq!(visited(&supplies, 0, 20, 21, 100), [(10, 1), (20, 2)]);
        assert_eq!(visited(&supplies, 0, 50, 50, 100), [(20, 2)]);
        assert_eq!(visited(&supplies, 0, 50, 60, 19), [(10, 1)]);
        assert!(visited(&supplies, 0, 0, 10, 100).is_empty() && visited(&supplies, 0, 0, 10, 9).is_empty());
        let mut baselines = Vec::new();
        let keep = &mut |supply: Supply| baselines.extend(supply.rows.iter().map(|row| row.first_marketcap));
        supplies.supply(0, Window { from: 0, to: 100 }, UnixSecond(100).nanos(), keep).unwrap();
        assert_eq!(baselines, [5.0, 5.0, 3.0]); // what a file says stays
        assert_eq!(
            (supplies.last_time(), &*coin_name(supplies.tokens(), "LUNA"), &*coin_name(supplies.tokens(), "X")),
            (Some(UnixSecond(30)), "Terra", "")
        );
    }
}
