//! Markets of the prediction venue and positions on it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::clock::{UnixNanos, UnixSecond};
use crate::market::raw::{
    OutcomeToken, Position, PositionTable, PredictionEvent, PredictionFeed, PredictionFigures, PredictionState,
    SourceError,
};
use crate::market::store::layout::Dataset;
use crate::market::store::opened::OpenedStore;
use crate::market::store::unpartitioned::{BETWEEN, UnpartitionedTable};

/// One row about a prediction market.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::market) struct MarketRow {
    /// Start of its validity; `NO_TIME` if the row has none.
    pub time: UnixNanos,
    /// Its identity.
    pub event: PredictionEvent,
    /// Labels of the outcomes.
    pub outcomes: String,
    /// Tokens of the outcomes.
    pub asset_ids: String,
    /// Prices that the outcomes paid; empty before the market is resolved.
    pub resolved_prices: String,
    /// The opening.
    pub opened: UnixSecond,
    /// The expiry; 0 where it is unknown.
    pub ends: UnixSecond,
    /// 1 when the market has resolved.
    pub closed: i64,
    /// Price of the first outcome.
    pub price: f64,
    /// Price step of an order.
    pub tick: f64,
    /// Earlier prices, as a list.
    pub prices: String,
    /// Figures that are taken from the row, not computed.
    pub figures: PredictionFigures,
}

/// Tables of prediction markets.
pub(in crate::market) const PREDICTION_MARKETS: UnpartitionedTable<MarketRow> = UnpartitionedTable {
    dataset: Dataset::new("prediction_markets"),
    times: &[("time", |line| &mut line.time.0)],
    texts: &[
        ("condition_id", |line| &mut line.event.condition_id),
        ("event_id", |line| &mut line.event.event_id),
        ("question", |line| &mut line.event.market_name),
        ("category", |line| &mut line.event.category),
        ("sub_category", |line| &mut line.event.sub_category),
        ("outcomes", |line| &mut line.outcomes),
        ("asset_ids", |line| &mut line.asset_ids),
        ("resolved_prices", |line| &mut line.resolved_prices),
        ("prices", |line| &mut line.prices),
        ("slug", |line| &mut line.figures.slug),
        ("group_item_title", |line| &mut line.figures.group_item_title),
        ("sports_market_type", |line| &mut line.figures.sports_market_type),
    ],
    numbers: &[
        ("last_price", |line| &mut line.price),
        ("order_price_min_tick_size", |line| &mut line.tick),
        ("one_day_price_change", |line| &mut line.figures.one_day_price_change),
        ("total_volume", |line| &mut line.figures.total_volume),
        ("buy_volume_24h", |line| &mut line.figures.buy_volume),
        ("sell_volume_24h", |line| &mut line.figures.sell_volume),
        ("volume_change_24h", |line| &mut line.figures.volume_change),
        ("open_interest", |line| &mut line.figures.open_interest),
        ("one_day_oi_change", |line| &mut line.figures.one_day_oi_change),
        ("unique_traders", |line| &mut line.figures.unique_traders),
        ("liquidity", |line| &mut line.figures.liquidity),
        ("line", |line| &mut line.figures.line),
    ],
    wholes: &[
        ("available_since", |line| &mut line.opened.0),
        ("available_to", |line| &mut line.ends.0),
        ("closed", |line| &mut line.closed),
    ],
};

/// One row of a table of positions.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::market) struct PositionRow {
    /// Address of the wallet.
    pub wallet: String,
    /// The market of the row.
    pub event: PredictionEvent,
    /// Token of the outcome.
    pub asset_id: String,
    /// Label of the outcome.
    pub outcome: String,
    /// Price that the outcome paid; NaN before the market is resolved.
    pub resolved_price: f64,
    /// The position; its places are filled in when a store is opened.
    pub position: Position,
}

/// Tables of positions.
pub(in crate::market) const PREDICTION_POSITIONS: UnpartitionedTable<PositionRow> = UnpartitionedTable {
    dataset: Dataset::new("prediction_positions"),
    times: &[],
    texts: &[
        ("wallet_address", |line| &mut line.wallet),
        ("asset_id", |line| &mut line.asset_id),
        ("outcome_name", |line| &mut line.outcome),
        ("condition_id", |line| &mut line.event.condition_id),
        ("event_id", |line| &mut line.event.event_id),
        ("market_name", |line| &mut line.event.market_name),
        ("category", |line| &mut line.event.category),
        ("sub_category", |line| &mut line.event.sub_category),
    ],
    numbers: &[
        ("unrealized_size", |line| &mut line.position.unrealized_size),
        ("realized_size", |line| &mut line.position.realized_size),
        ("avg_price", |line| &mut line.position.avg_price),
        ("avg_exit_price", |line| &mut line.position.avg_exit_price),
        ("realized_pnl", |line| &mut line.position.realized_pnl),
        ("resolved_price", |line| &mut line.resolved_price),
    ],
    wholes: &[
        ("latest_open_ts", |line| &mut line.position.latest_open_ts.0),
        ("prev_hold_duration", |line| &mut line.position.prev_hold_duration),
        ("last_trade_ts", |line| &mut line.position.last_trade.0),
        ("buy_count", |line| &mut line.position.counts.buy),
        ("sell_count", |line| &mut line.position.counts.sell),
        ("split_count", |line| &mut line.position.counts.split),
        ("merge_count", |line| &mut line.position.counts.merge),
        ("transfer_in_count", |line| &mut line.position.counts.transfer_in),
        ("transfer_out_count", |line| &mut line.position.counts.transfer_out),
        ("conversion_in_count", |line| &mut line.position.counts.conversion_in),
        ("conversion_out_count", |line| &mut line.position.counts.conversion_out),
    ],
};

/// The prediction venue of a store.
pub(in crate::market) struct Predictions {
    table: Arc<PositionTable>,
    /// The rows of each market, in order of time.
    states: Vec<Vec<MarketRow>>,
}

impl Predictions {
    /// Opens the prediction venue of a store; `None` if it has none. If two files have a row of a market at one time,
    /// or a wallet's position in one outcome, the last file by name counts.
    pub(in crate::market) fn open(root: &Path) -> Result<Option<Self>, SourceError> {
        let markets = PREDICTION_MARKETS.read_all(root)?.into_iter().flatten();
        let positions = PREDICTION_POSITIONS.read_all(root)?.into_iter().flatten();
        let mut builder = PredictionBuilder::default();
        markets.for_each(|line| builder.market(line));
        builder.outcomes_of_markets();
        positions.for_each(|line| builder.position(line));
        Ok((!builder.events.is_empty()).then(|| builder.finish()))
    }

    /// The latest time of any row of markets or positions.
    fn last_time(&self) -> Option<UnixSecond> {
        let times = self.states.iter().flatten().map(|line| line.opened.max(line.time.second()));
        times.chain(self.table.positions().iter().map(|row| row.last_trade)).max()
    }

    fn line(&self, event: usize, at: UnixSecond) -> Option<&MarketRow> {
        let lines = self.states.get(event)?;
        let known = lines.partition_point(|line| line.time <= at.nanos());
        lines.get(known.checked_sub(1)?).filter(|line| line.opened <= at)
    }

    /// The state of a market at a second; `None` before its opening, or before anything is known of it.
    fn state(&self, event: usize, at: UnixSecond) -> Option<PredictionState> {
        let line = self.line(event, at)?;
        Some(PredictionState {
            opened: line.opened,
            ends: line.ends,
            closed: line.closed != 0,
            price: line.price,
            tick: line.tick,
        })
    }

    /// The figures that rows report of a market at a second.
    fn figures(&self, event: usize, at: UnixSecond) -> Option<&PredictionFigures> {
        self.line(event, at).map(|line| &line.figures)
    }
}

/// Adds the prediction venue of a store that is being opened.
pub(in crate::market) fn open(store: OpenedStore) -> Result<OpenedStore, SourceError> {
    let venue = StoredVenue(Predictions::open(&store.root)?);
    let last_day = venue.0.as_ref().and_then(Predictions::last_time).map(UnixSecond::day);
    Ok(store.reaching(last_day).with::<dyn PredictionFeed>(Arc::new(venue)))
}

/// The prediction venue of a store; `None` in one that has none.
struct StoredVenue(Option<Predictions>);

impl PredictionFeed for StoredVenue {
    fn positions(&self, _now: UnixNanos) -> Option<Arc<PositionTable>> {
        self.0.as_ref().map(|venue| Arc::clone(&venue.table))
    }

    fn prediction(&self, event: usize, at: UnixSecond) -> Option<PredictionState> {
        self.0.as_ref()?.state(event, at)
    }

    fn prediction_volume(&self, _event: usize, _at: UnixSecond) -> Option<f64> {
        None // only the positions know
    }

    fn prediction_figures(&self, event: usize, at: UnixSecond) -> Option<&PredictionFigures> {
        self.0.as_ref()?.figures(event, at)
    }
}

/// Lines → tables.
#[derive(Default)]
struct PredictionBuilder {
    events: Vec<PredictionEvent>,
    states: Vec<Vec<MarketRow>>,
    outcomes: Vec<OutcomeToken>,
    wallets: Vec<String>,
    positions: Vec<Position>,
    event_places: HashMap<String, usize>,
    outcome_places: HashMap<String, usize>,
    wallet_places: HashMap<String, usize>,
    position_places: HashMap<(usize, usize), usize>,
}

impl PredictionBuilder {
    fn event(&mut self, event: &PredictionEvent) -> usize {
        let place = *self.event_places.entry(event.condition_id.clone()).or_insert(self.events.len());
        if place == self.events.len() {
            self.events.push(event.clone());
            self.states.push(Vec::new());
        }
        place
    }

    /// Adds a token of a market; a known one keeps its place.
    fn outcome(&mut self, asset_id: &str, name: &str, event: usize) -> usize {
        let place = *self.outcome_places.entry(asset_id.to_owned()).or_insert(self.outcomes.len());
        if place == self.outcomes.len() {
            let (asset_id, name) = (asset_id.to_owned(), name.to_owned());
            self.outcomes.push(OutcomeToken { asset_id, name, event, resolved_price: None });
        }
        place
    }

    fn market(&mut self, mut line: MarketRow) {
        line.figures.prices = numbers(&line.prices);
        let event = self.event(&line.event);
        let lines = &mut self.states[event];
        match lines.iter_mut().find(|known| known.time == line.time) {
            Some(known) => *known = line,
            None => lines.push(line),
        }
    }

    /// Fields that do not change with time are those of the latest row.
    fn outcomes_of_markets(&mut self) {
        for event in 0..self.events.len() {
            self.states[event].sort_by_key(|line| line.time);
            let Some(last) = self.states[event].last().cloned() else { continue };
            let paid = numbers(&last.resolved_prices);
            for (index, (asset_id, name)) in entries(&last.asset_ids).zip(entries(&last.outcomes)).enumerate() {
                let outcome = self.outcome(asset_id, name, event);
                self.outcomes[outcome].resolved_price = paid.get(index).copied().filter(|price| !price.is_nan());
            }
            self.events[event] = last.event;
            // Fields that the latest row leaves empty come from earlier ones.
            for line in self.states[event].iter().rev() {
                self.events[event].complete(&line.event);
            }
        }
    }

    fn position(&mut self, line: PositionRow) {
        let event = self.event(&line.event);
        self.events[event].complete(&line.event);
        let outcome = self.outcome(&line.asset_id, &line.outcome, event);
        let paid = &mut self.outcomes[outcome].resolved_price;
        *paid = paid.or(Some(line.resolved_price).filter(|price| !price.is_nan()));
        let wallet = *self.wallet_places.entry(line.wallet.clone()).or_insert(self.wallets.len());
        if wallet == self.wallets.len() {
            self.wallets.push(line.wallet);
        }
        let position = Position { wallet, outcome, ..line.position };
        let place = *self.position_places.entry((wallet, outcome)).or_insert(self.positions.len());
        match self.positions.get_mut(place) {
            Some(known) => *known = position,
            None => self.positions.push(position),
        }
    }

    fn finish(self) -> Predictions {
        let table = PositionTable::new(self.wallets, self.events, self.outcomes, self.positions);
        Predictions { table: Arc::new(table), states: self.states }
    }
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(BETWEEN).filter(move |_| !list.is_empty())
}

fn numbers(list: &str) -> Vec<f64> {
    entries(list).map(|text| text.parse().unwrap_or(f64::NAN)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;
    use crate::columns::NO_TIME;
    use crate::market::raw::PositionCounts;
    use crate::market::store::origin::DumpOrigin;

    const NAN: f64 = f64::NAN;

    fn market(condition: &str, time: i64, price: f64, paid: &str) -> MarketRow {
        MarketRow {
            time: UnixNanos(time),
            event: PredictionEvent { condition_id: condition.to_owned(), ..PredictionEvent::default() },
            outcomes: "Yes|No".to_owned(),
            asset_ids: format!("{condition}1|{condition}2"),
            resolved_prices: paid.to_owned(),
            opened: UnixSecond(100),
            price,
            prices: "0.25||0.5".to_owned(),
            ..MarketRow::default()
        }
    }

    fn position(wallet: &str, condition: &str, asset: &str, size: f64) -> PositionRow {
        PositionRow {
            wallet: wallet.to_owned(),
            event: PredictionEvent { condition_id: condition.to_owned(), ..PredictionEvent::default() },
            asset_id: asset.to_owned(),
            outcome: "told by the position".to_owned(),
            resolved_price: NAN,
            position: Position {
                unrealized_size: size,
                counts: PositionCounts { buy: 2, ..PositionCounts::default() },
                ..Position::default()
            },
        }
    }

    #[test]
    fn a_store_without_tables_has_no_venue() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Predictions::open(folder.path()).unwrap().is_none());
    }

    #[test]
    fn what_a_table_leaves_empty_another_one_fills() {
        let folder = tempfile::tempdir().unwrap();
        let event = |category: &str, sub: &str, event: &str, name: &str| PredictionEvent {
            condition_id: "A".to_owned(),
            event_id: event.to_owned(),
            market_name: name.to_owned(),
            category: category.to_owned(),
            sub_category: sub.to_owned(),
        };
        let row = |time: i64, event: PredictionEvent| MarketRow { event, ..market("A", time * SECOND, 0.5, "") };
        let held = |event| PositionRow { event, ..position("w", "A", "A1", 1.0) };
        for (markets, positions, expected) in [
            (event("", "", "", ""), event("Weather", "Rain", "ev", "q"), event("Weather", "Rain", "ev", "q")),
            (event("Weather", "", "", "Q"), event("Weather", "Rain", "ev", "q"), event("Weather", "Rain", "ev", "Q")),
            (event("Climate", "", "E", ""), event("Weather", "Rain", "ev", "q"), event("Climate", "", "E", "q")),
        ] {
            let rows = vec![row(200, event("", "", "", "")), row(300, markets)];
            PREDICTION_MARKETS.write(folder.path(), "1.csv", rows, &DumpOrigin::default()).unwrap();
            PREDICTION_POSITIONS.write(folder.path(), "1.csv", vec![held(positions)], &DumpOrigin::default()).unwrap();
            let venue = Predictions::open(folder.path()).unwrap().unwrap();
            assert_eq!(venue.table.events(), [expected]);
        }
    }

    #[test]
    fn tables_are_joined_and_the_last_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let first = vec![market("A", 300 * SECOND, 0.5, ""), market("A", 200 * SECOND, 0.4, "")];
        PREDICTION_MARKETS.write(root, "1.csv", first, &DumpOrigin::default()).unwrap();
        let second = vec![market("A", 300 * SECOND, 0.9, "1|"), market("B", NO_TIME, 0.1, "")];
        PREDICTION_MARKETS.write(root, "2.csv", second, &DumpOrigin::default()).unwrap();
        let old = vec![position("w", "A", "A1", 1.0), position("v", "A", "A1", 2.0)];
        PREDICTION_POSITIONS.write(root, "1.csv", old, &DumpOrigin::default()).unwrap();
        let new = vec![position("w", "A", "A1", 3.0), position("w", "C", "77", 4.0)];
        PREDICTION_POSITIONS.write(root, "2.csv", new, &DumpOrigin::default()).unwrap();

        let venue = Predictions::open(root).unwrap().unwrap();
        let price = |event, at| venue.state(event, UnixSecond(at)).map(|state| state.price);
        assert_eq!(
            [price(0, 199), price(0, 200), price(0, 299), price(0, 300)],
            [None, Some(0.4), Some(0.4), Some(0.9)]
        );
        assert_eq!([price(1, 99), price(1, 100), price(2, 1_000)], [None, Some(0.1), None]);
        let prices = &venue.figures(0, UnixSecond(300)).unwrap().prices;
        assert!(prices[0] == 0.25 && prices[1].is_nan() && prices[2] == 0.5 && prices.len() == 3);
        let table = venue.table;
        let outcomes: Vec<(&str, &str, Option<f64>)> =
            table.outcomes().iter().map(|one| (&*one.asset_id, &*one.name, one.resolved_price)).collect();
        assert_eq!(
            outcomes,
            [
                ("A1", "Yes", Some(1.0)),
                ("A2", "No", None),
                ("B1", "Yes", None),
                ("B2", "No", None),
                ("77", "told by the position", None),
            ]
        );
        let sizes: Vec<f64> = table.positions().iter().map(|row| row.unrealized_size).collect();
        assert_eq!((sizes, table.wallets()), (vec![3.0, 2.0, 4.0], &["w".to_owned(), "v".to_owned()][..]));
        assert_eq!(table.positions()[0].counts.buy, 2);
    }
}
