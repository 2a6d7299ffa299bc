//! A full sample of each record: every field that answers may hold, none of them zero or empty.

use serde_json::Map;

use crate::protocol::analytics::{
    AnalyticsAnswer, CategoryRow, MarketSummary, OutcomePricing, TraderProfile, UserCategories, UserPosition,
};
use crate::protocol::{MarketListing, MarketsPage, PredictionMarket, Tag, Timestamp, Usage};

const TIME: Timestamp = Timestamp { s: 1, ns: 1 };

fn text() -> String {
    "text".to_owned()
}

/// A page of `/v1/markets`.
pub(super) fn markets() -> MarketsPage {
    let market = MarketListing {
        exchange: text(),
        raw_symbol: text(),
        normalized_symbol: text(),
        coin: text(),
        category: text(),
        tenor: text(),
        coin_name: text(),
        quote_coin_name: text(),
        full_name: text(),
        last_price: 0.5,
        volume_24h: 0.5,
        volume_change_24h: 0.5,
        price_change_24h: 0.5,
        oi_change_24h: 0.5,
        marketcap: 0.5,
        icon_url: text(),
        available_since: Some(TIME),
        prices: vec![0.5],
        pct_from_ath: 0.5,
        volume_24h_usd: 0.5,
        title: text(),
        liquidity: 0.5,
        tags: vec![Tag { id: text(), label: text(), slug: text(), extra: Map::new() }],
        prediction_markets: vec![prediction_market()],
        extra: Map::new(),
    };
    MarketsPage { symbols: vec![market], next_offset: 1 }
}

fn prediction_market() -> PredictionMarket {
    PredictionMarket {
        slug: text(),
        question: text(),
        group_item_title: text(),
        outcomes: vec![text()],
        last_price: 0.5,
        one_day_price_change: 0.5,
        prices: vec![0.5],
        total_volume: 0.5,
        buy_volume_24h: 0.5,
        sell_volume_24h: 0.5,
        volume_change_24h: 0.5,
        open_interest: 0.5,
        one_day_oi_change: 0.5,
        unique_traders: 0.5,
        order_price_min_tick_size: 0.5,
        condition_id: text(),
        closed: true,
        available_since: Some(TIME),
        available_to: Some(TIME),
        sports_market_type: text(),
        line: 0.5,
        extra: Map::new(),
    }
}

/// The answer of `/v1/usage`.
pub(super) fn usage() -> Usage {
    Usage { limit: 1, remaining: 1, used: 1, reset: 1, window_seconds: 1 }
}

/// The answers of all analytics endpoints in one object.
pub(super) fn analytics() -> AnalyticsAnswer {
    AnalyticsAnswer {
        trader_profiles: vec![profile()],
        trader_profile: Some(profile()),
        user_positions: vec![position()],
        market_summary: Some(summary()),
        user_categories: Some(categories()),
    }
}

fn profile() -> TraderProfile {
    TraderProfile {
        wallet_address: text(),
        total_position_count: 1,
        open_position_count: 1,
        closed_position_count: 1,
        latest_open_position_ts: Some(TIME),
        total_size: 0.5,
        total_realized_pnl: 0.5,
        total_unrealized_pnl: 0.5,
        total_roi: 0.5,
        win_rate_by_positions: 0.5,
        largest_win: 0.5,
        largest_loss: 0.5,
        avg_holding_duration: 1,
        total_open_pos_value: 0.5,
        total_closed_pos_value: 0.5,
        extra: Map::new(),
    }
}

fn position() -> UserPosition {
    UserPosition {
        wallet_address: text(),
        asset_id: text(),
        unrealized_size: 0.5,
        realized_size: 0.5,
        avg_price: 0.5,
        avg_exit_price: 0.5,
        realized_pnl: 0.5,
        resolved_price: 0.5,
        latest_open_ts: 1,
        prev_hold_duration: 1,
        buy_count: 1,
        sell_count: 1,
        split_count: 1,
        merge_count: 1,
        transfer_in_count: 1,
        transfer_out_count: 1,
        conversion_in_count: 1,
        conversion_out_count: 1,
        market_name: text(),
        outcome_name: text(),
        category: text(),
        sub_category: text(),
        condition_id: text(),
        extra: Map::new(),
    }
}

fn summary() -> MarketSummary {
    MarketSummary {
        event_id: text(),
        condition_id: vec![text()],
        total_open_positions: 1,
        total_closed_positions: 1,
        total_cost_basis: 0.5,
        total_size: 0.5,
        largest_open_position: 0.5,
        total_buy_count: 1,
        total_sell_count: 1,
        total_split_count: 1,
        total_merge_count: 1,
        total_transfer_in_count: 1,
        total_transfer_out_count: 1,
        total_conversion_in_count: 1,
        total_conversion_out_count: 1,
        net_transfer_flow: 1,
        net_conversion_flow: 1,
        median_hold_duration: 0.5,
        mean_hold_duration: 0.5,
        realized_pnl_min: 0.5,
        realized_pnl_max: 0.5,
        realized_pnl_distribution: vec![0.5],
        win_rate: 0.5,
        avg_buy_count: 0.5,
        avg_sell_count: 0.5,
        avg_size: 0.5,
        outcome_pricing: vec![pricing()],
        extra: Map::new(),
    }
}

fn pricing() -> OutcomePricing {
    OutcomePricing {
        condition_id: text(),
        token_id: text(),
        outcome_name: text(),
        weighted_avg_entry_price: 0.5,
        weighted_avg_exit_price: 0.5,
        open_pos_avg_price_distribution: vec![0.5],
        closed_pos_avg_exit_price_distribution: vec![0.5],
        extra: Map::new(),
    }
}

fn categories() -> UserCategories {
    UserCategories { wallet_address: text(), category_breakdown: vec![category()], extra: Map::new() }
}

fn category() -> CategoryRow {
    CategoryRow {
        market_category: text(),
        market_sub_category: text(),
        count: 1,
        realized_size: 0.5,
        unrealized_size: 0.5,
        realized_pnl: 0.5,
        extra: Map::new(),
    }
}
