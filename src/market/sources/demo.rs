//! The demo market: deterministic in seed, market and minute, without files.
//!
//! Everything derives from the trades of a minute, and these from the coin's path: candles sum them, the book is placed
//! around the last one, liquidations are some of them, open interest moves with their volume.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::clock::UnixNanos;
use crate::market::raw::{Feeds, Instrument, Source, SourceError};
use crate::market::subjects::SUBJECTS;
use crate::market::subjects::demo_markets::DemoMarkets;
use crate::protocol::DataType;

/// The demo market.
pub struct Demo {
    pub(in crate::market) markets: Arc<DemoMarkets>,
    feeds: Feeds,
}

impl Demo {
    /// The demo market of a seed.
    pub fn new(seed: u64) -> Self {
        let markets = Arc::new(DemoMarkets::new(seed));
        let feeds = SUBJECTS.iter().fold(Feeds::default(), |feeds, subject| (subject.demo)(feeds, &markets));
        Self { markets, feeds }
    }
}

impl Source for Demo {
    fn instruments(&self) -> &[Instrument] {
        &self.markets.instruments
    }

    fn feeds(&self) -> &Feeds {
        &self.feeds
    }

    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<UnixNanos>, SourceError> {
        Ok(self.markets.first_event(market, data_type))
    }

    fn icon_url(&self, market: usize) -> String {
        let icon = |folder: &str, name: &str| format!("https://icons.example/{folder}/{}.svg", name.to_lowercase());
        match self.markets.event(market) {
            Some(event) => icon("predictions", self.markets.venue.category(event)),
            None => icon("coins", &self.markets.instruments[market].coin),
        }
    }
}
