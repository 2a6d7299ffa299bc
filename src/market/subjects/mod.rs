//! The subjects of market data, and their table: datasets in a store, dumps, feeds of the demo and of a store, and the answer
//! of each data type.
//!
//! The sources and the engine read this table; no subject does. So a new subject is a folder, its `mod` line and its row here.

pub(in crate::market) mod books;
pub(in crate::market) mod demo_markets;
pub(in crate::market) mod funding;
pub(in crate::market) mod liquidations;
pub(in crate::market) mod options;
pub(in crate::market) mod predictions;
pub(in crate::market) mod profiles;
pub(in crate::market) mod supply;
pub(in crate::market) mod trades;

use std::sync::Arc;

use self::books::heatmap;
use self::books::snapshots;
use self::books::store::BookSource::{Snapshots5, Snapshots25};
use self::demo_markets::DemoMarkets;
use self::options::demo::DemoOptions;
use self::supply::demo::DemoSupply;
use self::trades::files::{LIQUIDATIONS, TRADES};
use self::trades::ingest::ingest_files;
use super::ingest::folders::DumpFolder;
use super::ingest::folders::FolderLayout::{Days, Overlapping, Tables};
use super::query::context::QueryContext;
use super::query::error::MarketError;
use super::raw::{
    BookFeed, Feeds, LiquidationFeed, OptionFeed, PredictionFeed, RawData, SourceError, SupplyFeed, TickerFeed,
    TradeFeed,
};
use super::store::layout::Dataset;
use super::store::opened::{OpenedStore, StoredKind};
use crate::columns::Series;
use crate::protocol::DataType;
use crate::protocol::dump::{self, BOOK_CHANGES, TICKERS};

/// A subject with raw data of its own.
pub(in crate::market) struct Subject {
    /// Its kinds of raw data, each with its storage.
    kinds: &'static [(RawData, StoredKind)],
    /// Its other datasets: events, and data that belong to no market.
    others: &'static [Dataset],
    /// Its folders of dumps, in groups; the folders of a group are read in this order.
    pub(in crate::market) dumps: &'static [&'static [DumpFolder]],
    /// Adds its feed of the demo.
    pub(in crate::market) demo: fn(Feeds, &Arc<DemoMarkets>) -> Feeds,
    /// Adds its feed of a store.
    pub(in crate::market) store: fn(OpenedStore) -> Result<OpenedStore, SourceError>,
}

/// Every subject with raw data of its own, each after those that its feed of a store reads.
pub(in crate::market) const SUBJECTS: [Subject; 7] = [
    Subject {
        kinds: &[(RawData::Trades, StoredKind::alone(TRADES.minutes))],
        others: &[TRADES.events],
        dumps: &[&[(dump::TRADES, Overlapping(|files, rules, report| ingest_files(TRADES, files, rules, report)))]],
        demo: |feeds, markets| feeds.with::<dyn TradeFeed>(Arc::<DemoMarkets>::clone(markets)),
        store: |store| {
            let priced = &[(RawData::Trades, TRADES.minutes), (RawData::Books, books::store::MINUTES)];
            Ok(trades::store::open(store, priced))
        },
    },
    Subject {
        kinds: &[(RawData::Books, StoredKind::alone(books::store::MINUTES))],
        others: &[books::store::EVENTS],
        // The most detailed books of a day come first.
        dumps: &[&[
            (BOOK_CHANGES, Days(books::ingest::ingest_file)),
            ("book_snapshot_25", Days(|market, day, task| snapshots::ingest_file(Snapshots25, market, day, task))),
            ("book_snapshot_5", Days(|market, day, task| snapshots::ingest_file(Snapshots5, market, day, task))),
        ]],
        demo: |feeds, markets| feeds.with::<dyn BookFeed>(Arc::<DemoMarkets>::clone(markets)),
        store: |store| Ok(books::store::open(store)),
    },
    Subject {
        kinds: &[(RawData::Liquidations, StoredKind::alone(LIQUIDATIONS.minutes))],
        others: &[LIQUIDATIONS.events],
        dumps: &[&[(
            dump::LIQUIDATIONS,
            Overlapping(|files, rules, report| ingest_files(LIQUIDATIONS, files, rules, report)),
        )]],
        demo: |feeds, markets| feeds.with::<dyn LiquidationFeed>(Arc::<DemoMarkets>::clone(markets)),
        store: |store| Ok(trades::store::open_liquidations(store)),
    },
    Subject {
        kinds: &[
            (RawData::FundingRates, funding::store::FUNDING_RATES),
            (RawData::OpenInterest, funding::store::OPEN_INTEREST),
        ],
        others: &[funding::store::READINGS],
        dumps: &[&[(TICKERS, Days(funding::ingest::ingest_file))]],
        demo: |feeds, markets| feeds.with::<dyn TickerFeed>(Arc::<DemoMarkets>::clone(markets)),
        store: |store| Ok(funding::store::open(store)),
    },
    Subject {
        kinds: &[],
        others: &[supply::store::SUPPLY.dataset],
        dumps: &[&[("token_supply", Tables(supply::ingest::ingest_file))]],
        demo: |feeds, markets| {
            feeds.with::<dyn SupplyFeed>(Arc::new(DemoSupply::new(&markets.coins.instruments, &markets.coins.traits)))
        },
        store: supply::store::open,
    },
    Subject {
        kinds: &[],
        others: &[options::store::MINUTES],
        dumps: &[&[("options_chain", Days(options::ingest::ingest_file))]],
        demo: |feeds, markets| {
            feeds.with::<dyn OptionFeed>(Arc::new(DemoOptions::new(&markets.coins.instruments, &markets.coins.traits)))
        },
        store: options::store::open,
    },
    Subject {
        kinds: &[],
        others: &[predictions::store::PREDICTION_MARKETS.dataset, predictions::store::PREDICTION_POSITIONS.dataset],
        dumps: &[
            &[("markets", Tables(predictions::ingest::ingest_markets))],
            &[("positions", Tables(predictions::ingest::ingest_positions))],
        ],
        demo: |feeds, markets| {
            let venue: Arc<dyn PredictionFeed> =
                Arc::<predictions::demo::venue::DemoPredictionVenue>::clone(&markets.venue);
            feeds.with(venue)
        },
        store: predictions::store::open,
    },
];

/// Storage of each kind of raw data, by `kind as usize`.
const STORED: [StoredKind; RawData::ALL.len()] = {
    let mut stored = [None; RawData::ALL.len()];
    let mut subject = 0;
    while subject < SUBJECTS.len() {
        let (kinds, mut place) = (SUBJECTS[subject].kinds, 0);
        while place < kinds.len() {
            stored[kinds[place].0 as usize] = Some(kinds[place].1);
            place += 1;
        }
        subject += 1;
    }
    let (mut every, mut kind) = ([StoredKind::alone(TRADES.minutes); RawData::ALL.len()], 0);
    while kind < every.len() {
        every[kind] = stored[kind].expect("a kind of raw data is in no row of SUBJECTS");
        kind += 1;
    }
    every
};

/// Storage of a kind of raw data.
pub(in crate::market) const fn stored(kind: RawData) -> StoredKind {
    STORED[kind as usize]
}

/// Every folder of a store that has files.
pub(in crate::market) fn datasets() -> Vec<Dataset> {
    let others = SUBJECTS.iter().flat_map(|subject| subject.others).copied();
    let mut datasets = Vec::new();
    for dataset in STORED.iter().map(|stored| stored.minutes).chain(others) {
        // Kinds may share one.
        if !datasets.contains(&dataset) {
            datasets.push(dataset);
        }
    }
    datasets
}

/// Functions that answer queries of one type, once these keep the rules of its row in [`crate::protocol::DATA_TYPES`].
pub(in crate::market) struct TypeAnswer {
    /// Checks rules beyond the row. Reads no market data, and may be called before the markets are looked up.
    pub(in crate::market) check: fn(&QueryContext<'_>) -> Result<(), MarketError>,
    /// The series of the query, ascending. A market without data in the window may give an empty one.
    pub(in crate::market) answer: fn(&QueryContext<'_>) -> Result<Vec<Series>, MarketError>,
}

/// The answer of a type whose rules are all in its row.
const fn plain(answer: fn(&QueryContext<'_>) -> Result<Vec<Series>, MarketError>) -> TypeAnswer {
    TypeAnswer { check: |_| Ok(()), answer }
}

impl TypeAnswer {
    /// The functions of a data type.
    pub(in crate::market) const fn of(data_type: DataType) -> Self {
        match data_type {
            DataType::TradeSideAgnosticAgg => plain(trades::candles::of_both_sides),
            DataType::TradeAgg => plain(trades::candles::by_side),
            DataType::LiquidationAgg => plain(liquidations::sums::answer),
            DataType::FundingRateAgg => plain(funding::funding_rate::answer),
            DataType::OpenInterestAgg => plain(funding::open_interest::answer),
            DataType::BlockBookSnapshotAgg => plain(heatmap::answer),
            DataType::VolumeProfileAgg => plain(profiles::volume::answer),
            DataType::TpoAgg => {
                Self { check: |context| Ok(profiles::tpo::check(context)?), answer: profiles::tpo::answer }
            }
            DataType::VenueLiquidationAgg => plain(liquidations::heatmap::answer),
            DataType::SkewOptionSummaryAgg | DataType::ImpliedVolatilityOptionSummaryAgg => {
                Self { check: options::answer::check, answer: options::answer::answer }
            }
            DataType::TokenSupplyAgg => plain(supply::answer::answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_subjects_have_one_folder() {
        let own = |subject: &Subject| -> Vec<Dataset> {
            let mut own: Vec<Dataset> = subject.kinds.iter().map(|(_, stored)| stored.minutes).collect();
            own.dedup(); // kinds of one subject may share it
            own.into_iter().chain(subject.others.iter().copied()).collect()
        };
        assert_eq!(SUBJECTS.iter().map(|subject| own(subject).len()).sum::<usize>(), datasets().len());
        let dumps: Vec<_> = SUBJECTS.iter().flat_map(|subject| subject.dumps.concat()).map(|(name, _)| name).collect();
        assert!(dumps.iter().all(|name| dumps.iter().filter(|other| *other == name).count() == 1), "{dumps:?}");
    }
}
