//! The table of positions: one row for each wallet and outcome token.

use std::collections::HashMap;

use crate::clock::UnixSecond;
use crate::protocol::analytics::UserPosition;

/// A prediction market: one question with its outcomes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PredictionEvent {
    /// Event that the question belongs to; several questions may share one.
    pub event_id: String,
    /// Market condition, `0x` and 64 hexadecimal digits.
    pub condition_id: String,
    /// The question.
    pub market_name: String,
    /// Category, as it is to be sent.
    pub category: String,
    /// Sub-category.
    pub sub_category: String,
}

impl PredictionEvent {
    /// Fills empty fields from `other`. A sub-category is taken only with its category.
    pub fn complete(&mut self, other: &Self) {
        if self.category.is_empty() || self.category == other.category && self.sub_category.is_empty() {
            self.category.clone_from(&other.category);
            self.sub_category.clone_from(&other.sub_category);
        }
        for (own, other) in [(&mut self.event_id, &other.event_id), (&mut self.market_name, &other.market_name)] {
            if own.is_empty() {
                own.clone_from(other);
            }
        }
    }
}

/// An outcome of a prediction market: a token that pays 1 USD when it comes true.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OutcomeToken {
    /// Decimal number of up to 78 digits.
    pub asset_id: String,
    /// Label.
    pub name: String,
    /// Place of its market in the table.
    pub event: usize,
    /// Price that it paid; `None` until the market is resolved.
    pub resolved_price: Option<f64>,
}

/// Number of events of a position, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PositionCounts {
    /// Purchases.
    pub buy: i64,
    /// Sales.
    pub sell: i64,
    /// Splits of collateral into both outcomes.
    pub split: i64,
    /// Merges of both outcomes into collateral.
    pub merge: i64,
    /// Transfers received.
    pub transfer_in: i64,
    /// Transfers sent.
    pub transfer_out: i64,
    /// Conversions into the outcome.
    pub conversion_in: i64,
    /// Conversions out of the outcome.
    pub conversion_out: i64,
}

/// A wallet's position in one outcome.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Position {
    /// Place of the wallet in the table.
    pub wallet: usize,
    /// Place of the outcome in the table.
    pub outcome: usize,
    /// Tokens still held; the position is open while there are any.
    pub unrealized_size: f64,
    /// Tokens sold, merged or redeemed.
    pub realized_size: f64,
    /// Average entry price, 0 to 1.
    pub avg_price: f64,
    /// Average exit price, 0 to 1.
    pub avg_exit_price: f64,
    /// Realized profit and loss, USD.
    pub realized_pnl: f64,
    /// Opening of an open position; 0 for a closed one.
    pub latest_open_ts: UnixSecond,
    /// How long the closed position was held, seconds; 0 for an open one.
    pub prev_hold_duration: i64,
    /// Events.
    pub counts: PositionCounts,
    /// The latest event. It is not on the wire; the leaderboard filters by it.
    pub last_trade: UnixSecond,
}

impl Position {
    /// Whether anything is still held.
    pub fn is_open(&self) -> bool {
        self.unrealized_size > 0.0
    }

    /// When the position was entered.
    pub fn entered(&self) -> UnixSecond {
        if self.is_open() { self.latest_open_ts } else { UnixSecond(self.last_trade.0 - self.prev_hold_duration) }
    }

    /// Tokens held and realized.
    pub fn size(&self) -> f64 {
        self.unrealized_size + self.realized_size
    }
}

/// Positions by wallet and by outcome.
#[derive(Debug, Default)]
pub struct PositionTable {
    wallets: Vec<String>,
    events: Vec<PredictionEvent>,
    outcomes: Vec<OutcomeToken>,
    positions: Vec<Position>,
    wallet_index: HashMap<String, usize>,
    outcome_index: HashMap<String, usize>,
    event_index: HashMap<String, usize>,
    by_wallet: Vec<Vec<usize>>,
    by_outcome: Vec<Vec<usize>>,
}

impl PositionTable {
    /// A table of these rows. A row that points beyond the other lists is left out.
    pub fn new(
        wallets: Vec<String>,
        events: Vec<PredictionEvent>,
        outcomes: Vec<OutcomeToken>,
        mut positions: Vec<Position>,
    ) -> Self {
        let known = |row: &Position| {
            row.wallet < wallets.len() && outcomes.get(row.outcome).is_some_and(|one| one.event < events.len())
        };
        positions.retain(known);
        let mut by_wallet = vec![Vec::new(); wallets.len()];
        let mut by_outcome = vec![Vec::new(); outcomes.len()];
        for (place, row) in positions.iter().enumerate() {
            by_wallet[row.wallet].push(place);
            by_outcome[row.outcome].push(place);
        }
        // Stable: rows that are equal stay in the table's order.
        for rows in &mut by_wallet {
            rows.sort_by(|&left, &right| positions[right].realized_pnl.total_cmp(&positions[left].realized_pnl));
        }
        Self {
            wallet_index: index(wallets.iter()),
            event_index: index(events.iter().map(|event| &event.condition_id)),
            outcome_index: index(outcomes.iter().map(|outcome| &outcome.asset_id)),
            wallets,
            events,
            outcomes,
            positions,
            by_wallet,
            by_outcome,
        }
    }

    /// Wallet addresses.
    pub fn wallets(&self) -> &[String] {
        &self.wallets
    }

    /// Prediction markets.
    pub fn events(&self) -> &[PredictionEvent] {
        &self.events
    }

    /// Outcomes of all markets.
    pub fn outcomes(&self) -> &[OutcomeToken] {
        &self.outcomes
    }

    /// Every position.
    pub fn positions(&self) -> &[Position] {
        &self.positions
    }

    /// A wallet that has positions, by its address as it is sent.
    pub(in crate::market) fn wallet(&self, address: &str) -> Option<usize> {
        self.wallet_index.get(address).copied().filter(|&wallet| !self.by_wallet[wallet].is_empty())
    }

    pub(in crate::market) fn outcome(&self, asset_id: &str) -> Option<usize> {
        self.outcome_index.get(asset_id).copied()
    }

    pub(in crate::market) fn event(&self, condition_id: &str) -> Option<usize> {
        self.event_index.get(condition_id).copied()
    }

    pub(in crate::market) fn outcomes_of(&self, event: usize) -> Vec<usize> {
        (0..self.outcomes.len()).filter(|&outcome| self.outcomes[outcome].event == event).collect()
    }

    /// A wallet's positions, the largest realized profit first.
    pub(in crate::market) fn of_wallet(&self, wallet: usize) -> impl Iterator<Item = &Position> {
        self.by_wallet[wallet].iter().map(|&place| &self.positions[place])
    }

    /// The positions in any of these outcomes, the largest still held first, then in the table's order.
    pub(in crate::market) fn held(&self, outcomes: &[usize]) -> Vec<&Position> {
        let mut places: Vec<usize> = outcomes.iter().flat_map(|&outcome| self.by_outcome[outcome].clone()).collect();
        places.sort_by(|&left, &right| {
            let held = |place: usize| self.positions[place].unrealized_size;
            held(right).total_cmp(&held(left)).then(left.cmp(&right))
        });
        places.into_iter().map(|place| &self.positions[place]).collect()
    }

    /// The market of a position.
    pub(in crate::market) fn event_of(&self, row: &Position) -> &PredictionEvent {
        &self.events[self.outcomes[row.outcome].event]
    }

    /// A position as it is sent.
    pub(in crate::market) fn record(&self, row: &Position) -> UserPosition {
        let (outcome, event, counts) = (&self.outcomes[row.outcome], self.event_of(row), &row.counts);
        UserPosition {
            wallet_address: self.wallets[row.wallet].clone(),
            asset_id: outcome.asset_id.clone(),
            unrealized_size: row.unrealized_size,
            realized_size: row.realized_size,
            avg_price: row.avg_price,
            avg_exit_price: row.avg_exit_price,
            realized_pnl: row.realized_pnl,
            resolved_price: outcome.resolved_price.unwrap_or(0.0),
            latest_open_ts: row.latest_open_ts.0,
            prev_hold_duration: row.prev_hold_duration,
            buy_count: counts.buy,
            sell_count: counts.sell,
            split_count: counts.split,
            merge_count: counts.merge,
            transfer_in_count: counts.transfer_in,
            transfer_out_count: counts.transfer_out,
            conversion_in_count: counts.conversion_in,
            conversion_out_count: counts.conversion_out,
            market_name: event.market_name.clone(),
            outcome_name: outcome.name.clone(),
            category: event.category.clone(),
            sub_category: event.sub_category.clone(),
            condition_id: event.condition_id.clone(),
            ..UserPosition::default()
        }
    }
}

/// Places by name; of two that are named alike the first counts.
fn index<'a>(names: impl Iterator<Item = &'a String>) -> HashMap<String, usize> {
    let mut places = HashMap::new();
    for (place, name) in names.enumerate() {
        places.entry(name.clone()).or_insert(place);
    }
    places
}
