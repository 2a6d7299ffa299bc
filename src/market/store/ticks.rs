//! Price steps: the finest decimal of all prices of a market's trades and books, from the footers of its files of
//! minutes.

use std::path::Path;

use super::columns::FileColumns;
use crate::archive::read_metadata;
use crate::market::query::rounding::{round, scale};
use crate::market::raw::SourceError;

/// Metadata key: decimals of the finest price of a day's events.
const KEY: &str = "marketpoints.price_decimals";
/// No venue quotes finer: more decimals come from arithmetic.
const MOST: i32 = 12;

/// Decimals of the finest price so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::market) struct PriceDecimals(i32);

impl PriceDecimals {
    /// Adds a price.
    pub(in crate::market) fn add(&mut self, price: f64) {
        while self.0 < MOST && round(price, self.0) != price {
            self.0 += 1;
        }
    }

    /// The decimal step on which the prices lie: 0.01 when the finest has two decimals, 1 for whole prices.
    pub(in crate::market) fn tick(self) -> f64 {
        1.0 / scale(self.0)
    }

    /// The metadata of a file of minutes.
    pub(in crate::market) fn metadata(self) -> (String, String) {
        (KEY.to_owned(), self.0.to_string())
    }

    /// Reads the decimals from the footer of a file of minutes, or, in files of earlier versions, from its prices.
    pub(in crate::market) fn read(file: &Path) -> Result<Self, SourceError> {
        let metadata = read_metadata(file).map_err(|error| SourceError(error.to_string()))?;
        let declared = metadata.iter().find(|(name, _)| name == KEY).and_then(|(_, decimals)| decimals.parse().ok());
        if let Some(decimals) = declared {
            return Ok(Self(decimals).min(Self(MOST)));
        }
        let (mut columns, mut decimals) = (FileColumns::read(file)?, Self::default());
        let prices = ["price", "open", "high", "low", "close"].into_iter().filter_map(|name| columns.floats(name).ok());
        prices.flatten().for_each(|price| decimals.add(price));
        Ok(decimals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_finest_price_determines_the_step() {
        for (prices, tick) in [
            (&[100.0, 2_500.0][..], 1.0),
            (&[100.0, 0.25, 7.5], 0.01),
            (&[0.001_413_42, 0.001_4], 1e-8),
            (&[1.0 / 3.0], 1e-12),
            (&[], 1.0),
        ] {
            let mut decimals = PriceDecimals::default();
            for price in prices {
                decimals.add(*price);
            }
            assert_eq!(decimals.tick(), tick, "{prices:?}");
        }
    }
}
