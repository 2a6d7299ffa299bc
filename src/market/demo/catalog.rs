//! The demo's coins, venues and markets.

use super::clock::BEGIN;
use super::history::{BITCOIN, History, Years};
use super::noise::place;
use super::path::Path;
use crate::clock::MINUTES_PER_DAY;
use crate::market::raw::{Instrument, RawData, RawDataSet};
use crate::protocol::symbol::Category;

struct Coin {
    ticker: &'static str,
    name: &'static str,
    /// Prices at the beginning of the years from 2015 to 2026, USD.
    years: Years,
    yearly_deviation: f64,
    /// Part of the variance that comes from the whole market.
    common: f64,
    /// USD traded in a day over all venues at the last of the years' prices.
    turnover: f64,
    /// Decimals of a price: a tick is below a thousandth of the lowest price.
    decimals: i32,
}

const COINS: [Coin; 10] = [
    Coin {
        ticker: "BTC",
        name: "Bitcoin",
        years: BITCOIN,
        yearly_deviation: 0.5,
        common: 0.83,
        turnover: 3.2e10,
        decimals: 1,
    },
    Coin {
        ticker: "ETH",
        name: "Ethereum",
        years: [0.9, 0.93, 8.2, 750.0, 133.0, 130.0, 735.0, 3_680.0, 1_195.0, 2_280.0, 3_330.0, 3_100.0],
        yearly_deviation: 0.65,
        common: 0.79,
        turnover: 1.2e10,
        decimals: 3,
    },
    Coin {
        ticker: "SOL",
        name: "Solana",
        years: [0.6, 0.6, 0.7, 2.5, 0.8, 0.9, 1.5, 170.0, 10.0, 101.0, 190.0, 165.0],
        yearly_deviation: 0.85,
        common: 0.72,
        turnover: 5e9,
        decimals: 4,
    },
    Coin {
        ticker: "XRP",
        name: "XRP",
        years: [0.0245, 0.006, 0.0064, 2.2, 0.36, 0.193, 0.22, 0.83, 0.34, 0.615, 2.08, 2.3],
        yearly_deviation: 0.85,
        common: 0.66,
        turnover: 3e9,
        decimals: 6,
    },
    Coin {
        ticker: "BNB",
        name: "BNB",
        years: [0.8, 0.9, 1.0, 8.4, 6.0, 13.7, 37.0, 511.0, 245.0, 312.0, 702.0, 820.0],
        yearly_deviation: 0.6,
        common: 0.69,
        turnover: 1.5e9,
        decimals: 3,
    },
    Coin {
        ticker: "DOGE",
        name: "Dogecoin",
        years: [0.00018, 0.00015, 0.00022, 0.009, 0.0024, 0.002, 0.0047, 0.17, 0.07, 0.09, 0.315, 0.21],
        yearly_deviation: 0.95,
        common: 0.66,
        turnover: 1.2e9,
        decimals: 7,
    },
    Coin {
        ticker: "ADA",
        name: "Cardano",
        years: [0.015, 0.015, 0.018, 0.72, 0.042, 0.033, 0.18, 1.31, 0.246, 0.6, 0.85, 0.72],
        yearly_deviation: 0.85,
        common: 0.7,
        turnover: 6e8,
        decimals: 6,
    },
    Coin {
        ticker: "LINK",
        name: "Chainlink",
        years: [0.12, 0.13, 0.15, 0.72, 0.3, 1.8, 11.3, 19.6, 5.6, 15.0, 20.0, 17.0],
        yearly_deviation: 0.85,
        common: 0.7,
        turnover: 5e8,
        decimals: 4,
    },
    Coin {
        ticker: "AVAX",
        name: "Avalanche",
        years: [0.4, 0.5, 0.6, 3.5, 0.9, 1.0, 3.2, 109.0, 10.9, 38.5, 35.7, 24.0],
        yearly_deviation: 0.9,
        common: 0.7,
        turnover: 4e8,
        decimals: 4,
    },
    Coin {
        ticker: "LTC",
        name: "Litecoin",
        years: [2.7, 3.5, 4.4, 226.0, 30.0, 41.0, 124.0, 146.0, 70.0, 72.0, 103.0, 95.0],
        yearly_deviation: 0.75,
        common: 0.72,
        turnover: 3.5e8,
        decimals: 4,
    },
];

/// Keeps the hashes of the whole market apart from those of the coins.
const MARKET: u64 = 0x4d41_524b;

struct DemoVenue {
    name: &'static str,
    /// Share of the turnover; all shares sum to 1.
    share: f64,
    /// Mean distance to the common price, in hundredths of a percent.
    premium: f64,
    symbol: fn(&str) -> String,
}

/// A venue's place is part of its seed: add new ones at the end, or every price of those behind changes.
const VENUES: [DemoVenue; 8] = [
    DemoVenue { name: "BINANCE_FUTURES", share: 0.36, premium: -1.0, symbol: plain },
    DemoVenue { name: "BYBIT", share: 0.17, premium: -0.5, symbol: plain },
    DemoVenue { name: "OKEX_SWAP", share: 0.14, premium: -0.8, symbol: swap },
    DemoVenue { name: "HYPERLIQUID_FUTURES", share: 0.08, premium: 0.5, symbol: bare },
    DemoVenue { name: "BINANCE", share: 0.13, premium: 0.0, symbol: plain },
    DemoVenue { name: "COINBASE", share: 0.06, premium: 2.5, symbol: dollar },
    DemoVenue { name: "OKEX", share: 0.04, premium: 0.3, symbol: dashed },
    DemoVenue { name: "BITSTAMP", share: 0.02, premium: 1.5, symbol: dollar },
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

/// Parameters of a market.
#[derive(Debug, Clone, Copy)]
pub(in crate::market) struct MarketTraits {
    /// Path of the coin, common to its venues.
    pub path: Path,
    /// Hash that distinguishes this market's details from another's.
    pub seed: u64,
    /// Mean distance to the common price, as a fraction.
    pub premium: f64,
    /// Decimals of a price.
    pub price_decimals: i32,
    /// Decimals of an amount.
    pub amount_decimals: i32,
    /// Mean coin traded in a minute.
    pub minute_amount: f64,
    /// Minutes between settlements of the funding; 0 for a market without funding.
    pub settlement: i64,
}

/// Spot markets have trades and books, perpetuals all raw data.
fn raw_data(perpetual: bool) -> RawDataSet {
    RawData::ALL.into_iter().filter(|kind| perpetual || matches!(kind, RawData::Trades | RawData::Books)).collect()
}

/// Every market: each coin on each venue. A coin's place is part of its seed as well.
pub(in crate::market) fn markets(seed: u64) -> (Vec<Instrument>, Vec<MarketTraits>) {
    let (mut instruments, mut traits) = (Vec::new(), Vec::new());
    let market = place(&[seed, MARKET]);
    for (coin_index, coin) in COINS.iter().enumerate() {
        let own = place(&[seed, coin_index as u64]);
        let history = History { years: &coin.years, seeds: [market, own], follows: coin.common.sqrt() };
        let path = Path::new(market, own, history, coin.yearly_deviation, coin.common);
        let price = coin.years[coin.years.len() - 1];
        let amount_decimals = (price.log10().floor() as i32).clamp(0, 4);
        for (venue_index, venue) in VENUES.iter().enumerate() {
            let mut instrument =
                Instrument::named(venue.name.to_owned(), (venue.symbol)(coin.ticker), BEGIN, RawDataSet::default());
            let perpetual = instrument.is(Category::Perpetual);
            coin.name.clone_into(&mut instrument.coin_name);
            instrument.raw_data = raw_data(perpetual);
            let settlement = if perpetual { instrument.funding_seconds() / 60 } else { 0 };
            instruments.push(instrument);
            traits.push(MarketTraits {
                path,
                seed: place(&[seed, coin_index as u64, 1 + venue_index as u64]),
                premium: venue.premium * 1e-4,
                price_decimals: coin.decimals,
                amount_decimals,
                minute_amount: coin.turnover * venue.share / MINUTES_PER_DAY as f64 / price,
                settlement,
            });
        }
    }
    (instruments, traits)
}
