//! The demo's coins, venues and markets.

use super::noise::place;
use super::path::Path;
use crate::market::feed::{Feed, Feeds};
use crate::market::source::Listing;

struct Coin {
    ticker: &'static str,
    name: &'static str,
    level: f64,
    yearly_deviation: f64,
    /// USD traded in a day over all venues.
    turnover: f64,
}

const fn coin(ticker: &'static str, name: &'static str, level: f64, yearly_deviation: f64, turnover: f64) -> Coin {
    Coin { ticker, name, level, yearly_deviation, turnover }
}

const COINS: [Coin; 10] = [
    coin("BTC", "Bitcoin", 88_000.0, 0.45, 3.2e10),
    coin("ETH", "Ethereum", 3_100.0, 0.6, 1.8e10),
    coin("SOL", "Solana", 165.0, 0.8, 5e9),
    coin("XRP", "XRP", 2.3, 0.8, 3e9),
    coin("BNB", "BNB", 820.0, 0.5, 1.5e9),
    coin("DOGE", "Dogecoin", 0.21, 0.95, 1.2e9),
    coin("ADA", "Cardano", 0.72, 0.85, 6e8),
    coin("LINK", "Chainlink", 17.0, 0.8, 5e8),
    coin("AVAX", "Avalanche", 24.0, 0.9, 4e8),
    coin("LTC", "Litecoin", 95.0, 0.7, 3.5e8),
];

struct Venue {
    name: &'static str,
    category: &'static str,
    quote: &'static str,
    /// Share of the turnover.
    share: f64,
    /// Mean distance to the common price, in hundredths of a percent.
    premium: f64,
    symbol: fn(&str) -> String,
}

const VENUES: [Venue; 8] = [
    Venue { name: "BINANCE_FUTURES", category: "PERPETUAL", quote: "USDT", share: 0.36, premium: -1.0, symbol: plain },
    Venue { name: "BYBIT", category: "PERPETUAL", quote: "USDT", share: 0.17, premium: -0.5, symbol: plain },
    Venue { name: "OKEX_SWAP", category: "PERPETUAL", quote: "USDT", share: 0.14, premium: -0.8, symbol: swap },
    Venue { name: "HYPERLIQUID_FUTURES", category: "PERPETUAL", quote: "USD", share: 0.08, premium: 0.5, symbol: bare },
    Venue { name: "BINANCE", category: "SPOT", quote: "USDT", share: 0.13, premium: 0.0, symbol: plain },
    Venue { name: "COINBASE", category: "SPOT", quote: "USD", share: 0.06, premium: 2.5, symbol: dollar },
    Venue { name: "OKEX", category: "SPOT", quote: "USDT", share: 0.04, premium: 0.3, symbol: dashed },
    Venue { name: "BITSTAMP", category: "SPOT", quote: "USD", share: 0.02, premium: 1.5, symbol: dollar },
];

fn plain(coin: &str) -> String {
    format!("{coin}USDT")
}

fn swap(coin: &str) -> String {
    format!("{coin}-USDT-SWAP")
}

fn bare(coin: &str) -> String {
    coin.to_owned()
}

fn dollar(coin: &str) -> String {
    format!("{coin}-USD")
}

fn dashed(coin: &str) -> String {
    format!("{coin}-USDT")
}

/// What the demo knows of a market beside its listing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Traits {
    /// Path of the coin, common to its venues.
    pub path: Path,
    /// Hash that tells this market's details from another's.
    pub seed: u64,
    /// Mean distance to the common price, as a fraction.
    pub premium: f64,
    /// Decimals of a price.
    pub price_decimals: i32,
    /// Decimals of an amount.
    pub amount_decimals: i32,
    /// Mean coin traded in a minute.
    pub minute_amount: f64,
}

fn feeds(category: &str) -> Feeds {
    let perpetual = category == "PERPETUAL";
    Feed::ALL.into_iter().filter(|feed| perpetual || matches!(feed, Feed::Trades | Feed::Books)).collect()
}

/// First minute of the demo market: 2015-01-01.
pub(super) const BEGIN: i64 = 1_420_070_400;

/// Last minute of the demo market: 2100-01-01.
pub(super) const END: i64 = 4_102_444_800;

/// Every market: each coin on each venue.
pub(super) fn markets(seed: u64) -> (Vec<Listing>, Vec<Traits>) {
    let (mut listings, mut traits) = (Vec::new(), Vec::new());
    for (coin_index, coin) in COINS.iter().enumerate() {
        let path = Path::new(place(&[seed, coin_index as u64]), coin.level, coin.yearly_deviation);
        // A tick of one to ten millionths of the price, as venues have it.
        let price_decimals = 5 - coin.level.log10().floor() as i32;
        let amount_decimals = (coin.level.log10().floor() as i32).clamp(0, 4);
        for (venue_index, venue) in VENUES.iter().enumerate() {
            listings.push(Listing {
                exchange: venue.name.to_owned(),
                raw_symbol: (venue.symbol)(coin.ticker),
                coin: coin.ticker.to_owned(),
                quote: venue.quote.to_owned(),
                category: venue.category.to_owned(),
                coin_name: coin.name.to_owned(),
                available_since: BEGIN,
                feeds: feeds(venue.category),
            });
            traits.push(Traits {
                path,
                seed: place(&[seed, coin_index as u64, 1 + venue_index as u64]),
                premium: venue.premium * 1e-4,
                price_decimals: price_decimals.max(1),
                amount_decimals,
                minute_amount: coin.turnover * venue.share / 1_440.0 / coin.level,
            });
        }
    }
    (listings, traits)
}
