//! Prediction markets.

use std::sync::Arc;

use super::feeds::Feed;
use super::positions::PositionTable;
use crate::clock::{UnixNanos, UnixSecond};

/// The one exchange of prediction markets.
pub(in crate::market) const PREDICTION_VENUE: &str = "PREDICTION_VENUE";

/// A prediction market at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictionState {
    /// The opening.
    pub opened: UnixSecond,
    /// The expiry; 0 where it is unknown.
    pub ends: UnixSecond,
    /// Whether the market has resolved.
    pub closed: bool,
    /// Price of the last trade of the first outcome, 0 to 1; NaN where it is unknown.
    pub price: f64,
    /// Price step of an order; NaN where it is unknown.
    pub tick: f64,
}

/// Figures of a prediction market that a source was given and need not compute (section 2.4); NaN or empty where it was
/// not. Volumes and open interest count outcome tokens.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PredictionFigures {
    /// Market URL slug.
    pub slug: String,
    /// Title within a grouped market.
    pub group_item_title: String,
    /// Sports market type.
    pub sports_market_type: String,
    /// Recent prices, the newest last.
    pub prices: Vec<f64>,
    /// Change of the price in 24 hours.
    pub one_day_price_change: f64,
    /// Volume from the beginning.
    pub total_volume: f64,
    /// Bought in 24 hours.
    pub buy_volume: f64,
    /// Sold in 24 hours.
    pub sell_volume: f64,
    /// Change of the 24-hour volume, percent.
    pub volume_change: f64,
    /// Open interest.
    pub open_interest: f64,
    /// Change of the open interest in 24 hours.
    pub one_day_oi_change: f64,
    /// Wallets that traded.
    pub unique_traders: f64,
    /// Liquidity, USD.
    pub liquidity: f64,
    /// Line of a sports market.
    pub line: f64,
}

/// Prediction markets and the positions on them.
pub trait PredictionFeed: Send + Sync {
    /// The positions on the prediction venue as of `now`, where the source knows when they were taken;
    /// `None` for a source without any.
    fn positions(&self, now: UnixNanos) -> Option<Arc<PositionTable>>;

    /// The state at a second of the prediction market with this place among the positions' events; `None` before its
    /// opening.
    fn prediction(&self, event: usize, at: UnixSecond) -> Option<PredictionState>;

    /// Tokens that the market of [`PredictionFeed::prediction`] traded up to a second; `None` where only the positions know.
    fn prediction_volume(&self, event: usize, at: UnixSecond) -> Option<f64>;

    /// Figures of a prediction market that the source was given, as of a second; `None` if it computes them from the
    /// positions.
    fn prediction_figures(&self, event: usize, at: UnixSecond) -> Option<&PredictionFigures>;
}

impl Feed for dyn PredictionFeed {
    const NAME: &'static str = "prediction markets";
}
