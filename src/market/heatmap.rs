//! Books → price blocks (service.md 4.1, "Heatmap rules"; design, "Rules of the local service").

use std::collections::BTreeMap;

use super::source::Level;

/// A price step as an exact decimal, so that the multiples of 0.0001 are the doubles nearest to their decimals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    mantissa: f64,
    /// 10 to the number of decimals; below 1 for steps such as 1e6.
    scale: f64,
    size: f64,
}

impl Step {
    /// The step whose shortest decimal spelling is that of `size`, which must be above 0.
    pub(super) fn new(size: f64) -> Self {
        let spelt = format!("{size:e}");
        let (digits, exponent) = spelt.split_once('e').unwrap_or((&spelt, "0"));
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
        let mantissa: f64 = digits.replace('.', "").parse().unwrap_or(1.0);
        let exponent: i32 = exponent.parse().unwrap_or(0);
        Self { mantissa, scale: 10f64.powi(decimals - exponent), size }
    }

    /// Number of the block that holds a price. A price within rounding of the next multiple belongs to it.
    pub(super) fn block(&self, price: f64) -> i64 {
        let exact = price / self.size;
        let near = exact.round();
        let tolerance = 1e-9 * near.abs().max(1.0);
        (if (exact - near).abs() <= tolerance.min(1e-3) { near } else { exact.floor() }) as i64
    }

    /// Lower edge of a block.
    pub(super) fn price(&self, block: i64) -> f64 {
        block as f64 * self.mantissa / self.scale
    }
}

/// Volume by block.
pub(super) type Blocks = BTreeMap<i64, f64>;

/// What a level adds to its block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Counted {
    /// Its amount as it is told.
    Amount,
    /// Its price × amount × this rate, in USD.
    Value(f64),
    /// Its amount × this, the USD that a contract is worth.
    Contracts(f64),
}

/// Adds a side's levels to its blocks.
pub(super) fn collect(blocks: &mut Blocks, levels: &[Level], step: &Step, counted: Counted) {
    for &(price, amount) in levels {
        let volume = match counted {
            Counted::Amount => amount,
            Counted::Value(rate) => price * amount * rate,
            Counted::Contracts(contract) => amount * contract,
        };
        *blocks.entry(step.block(price)).or_insert(0.0) += volume;
    }
}

/// Bids as flat (price, volume) pairs from the best down: blocks within `depth` blocks of the best.
pub(super) fn bids(blocks: &Blocks, step: &Step, depth: u32) -> Vec<f64> {
    let lowest = blocks.last_key_value().map_or(0, |(best, _)| best.saturating_sub(i64::from(depth) - 1));
    blocks.range(lowest..).rev().flat_map(|(block, volume)| [step.price(*block), *volume]).collect()
}

/// Asks as flat (price, volume) pairs from the best up: blocks within `depth` blocks of the best.
pub(super) fn asks(blocks: &Blocks, step: &Step, depth: u32) -> Vec<f64> {
    let highest = blocks.first_key_value().map_or(0, |(best, _)| best.saturating_add(i64::from(depth) - 1));
    blocks.range(..=highest).flat_map(|(block, volume)| [step.price(*block), *volume]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(levels: &[Level], step: f64) -> (Blocks, Step) {
        let (mut blocks, step) = (Blocks::new(), Step::new(step));
        collect(&mut blocks, levels, &step, Counted::Amount);
        (blocks, step)
    }

    #[test]
    fn levels_are_floored_and_added() {
        let (bought, step) = blocks(&[(100.9, 1.0), (100.1, 2.0), (98.0, 4.0)], 1.0);
        assert_eq!(bids(&bought, &step, 3_500), [100.0, 3.0, 98.0, 4.0]);
        let (sold, step) = blocks(&[(101.0, 1.0), (101.5, 2.0), (103.0, 4.0)], 1.0);
        assert_eq!(asks(&sold, &step, 3_500), [101.0, 3.0, 103.0, 4.0]);
    }

    #[test]
    fn depth_counts_blocks_from_the_best() {
        let (sold, step) = blocks(&[(10.0, 1.0), (11.0, 1.0), (13.0, 1.0)], 1.0);
        assert_eq!(asks(&sold, &step, 1), [10.0, 1.0]);
        assert_eq!(asks(&sold, &step, 3), [10.0, 1.0, 11.0, 1.0]); // 13 is the fourth block
        assert_eq!(bids(&sold, &step, 3), [13.0, 1.0, 11.0, 1.0]);
        assert!(asks(&Blocks::new(), &step, 5).is_empty());
    }

    #[test]
    fn usd_volumes_are_price_times_amount() {
        let (mut counted, step) = (Blocks::new(), Step::new(10.0));
        collect(&mut counted, &[(101.0, 2.0), (102.0, 1.0)], &step, Counted::Value(1.0));
        assert_eq!(asks(&counted, &step, 9), [100.0, 304.0]);
    }

    proptest! {
        /// A price on the step's grid stays where it is, to the last bit, and prints as short as it came.
        #[test]
        fn prices_on_the_grid_stay(mantissa in 1u32..1_000, decimals in 0i32..9, multiple in 1i64..2_000_000) {
            let step: f64 = format!("{mantissa}e-{decimals}").parse().unwrap();
            let price: f64 = format!("{}e-{decimals}", i64::from(mantissa) * multiple).parse().unwrap();
            let (found, step) = blocks(&[(price, 1.0)], step);
            prop_assert_eq!(bids(&found, &step, 1)[0].to_bits(), price.to_bits());
        }

        /// Whatever the price, its block begins at or below it and ends above it, up to rounding.
        #[test]
        fn blocks_hold_their_prices(price in 1e-6f64..1e6, step in 1e-6f64..1e4) {
            let (found, step) = blocks(&[(price, 1.0)], step);
            let edge = bids(&found, &step, 1)[0];
            prop_assert!(edge <= price * (1.0 + 1e-6) && price < (edge + step.size) * (1.0 + 1e-6));
        }
    }
}
