//! Books → price blocks (service.md 4.1, "Heatmap rules"; design, "Rules of the local service").

use crate::columns::{List, Series, heatmap_of_sides};
use crate::market::query::context::QueryContext;
use crate::market::query::error::MarketError;
use crate::market::query::price_step::{DecimalStep, level};
use crate::market::query::usd::{Converter, LevelValue};
use crate::market::raw::{BookFeed, PriceLevel};

/// `BLOCK_BOOK_SNAPSHOT_AGG`: the last book of each bucket, in blocks. Books of several markets add up. In USD the prices of
/// a market with another quote are converted by the rate of the minute of its last event, as a candle's close is.
///
/// # Errors
/// [`MarketError::Invalid`] for a block size that is too fine and where a quote has no rate in USD,
/// [`MarketError::Internal`] when the data cannot be read.
pub(in crate::market) fn answer(context: &QueryContext<'_>) -> Result<Vec<Series>, MarketError> {
    context.groups().into_iter().map(|group| book_heatmap(context, group)).collect()
}

fn book_heatmap(context: &QueryContext<'_>, markets: &[usize]) -> Result<Series, MarketError> {
    let (buckets, size, depth) = (&context.buckets, context.query.block_size.unwrap_or(1.0), context.depth());
    let step = DecimalStep::new(size);
    let mut books: Vec<(usize, Converter<'_>)> =
        markets.iter().map(|&market| (market, context.converter(market))).collect();
    let (mut timestamps, mut levels, mut split) = (Vec::new(), List::default(), Vec::new());
    let (mut bought, mut sold) = (VolumeBlocks::default(), VolumeBlocks::default());
    for start in buckets.starts() {
        let mut found = false;
        for (market, converter) in &mut books {
            let feed = context.source.of::<dyn BookFeed>()?;
            let Some(book) = feed.last_book(*market, buckets.interval.window(start), buckets.now)? else {
                continue;
            };
            found = true;
            let counted = converter.levels(book.time.second())??;
            // The highest prices, and with them all others.
            for (price, _) in book.bids.first().into_iter().chain(book.asks.last()) {
                level(&step, size, counted.price(*price))?;
            }
            bought.collect(&book.bids, &step, counted);
            sold.collect(&book.asks, &step, counted);
        }
        if found {
            timestamps.push(start.nanos().0);
            split.push(snapshot(&mut levels, &mut bought, &mut sold, &step, depth));
        }
    }
    Ok(heatmap_of_sides(context.identity(markets), timestamps, levels, split))
}

/// Volume by block, of one side of one or several books.
#[derive(Debug, Default)]
pub(in crate::market) struct VolumeBlocks(Vec<(i64, f64)>);

impl VolumeBlocks {
    /// Adds a side's levels.
    pub(in crate::market) fn collect(&mut self, levels: &[PriceLevel], step: &DecimalStep, counted: LevelValue) {
        self.0.reserve(levels.len());
        for &(price, amount) in levels {
            let price = counted.price(price);
            let volume = match counted {
                LevelValue::Amount => amount,
                LevelValue::Value(_) => price * amount,
                LevelValue::Contracts(contract) => amount * contract,
            };
            let block = step.block(price);
            match self.0.last_mut() {
                Some((last, sum)) if *last == block => *sum += volume,
                _ => self.0.push((block, volume)),
            }
        }
    }

    /// The blocks ascending, each once; volumes of a block add in the order in which they came.
    fn settle(&mut self) -> &[(i64, f64)] {
        // A book's sides come sorted, up or down; only several books have to be mixed.
        self.0.sort_by_key(|(block, _)| *block);
        self.0.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 += later.1;
            }
            same
        });
        &self.0
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// Appends a snapshot of (price, volume) pairs, ascending, bids and then asks, and empties the blocks: those within
/// `depth` blocks of each side's best, the best included. Gives the number of bids.
pub(in crate::market) fn snapshot(
    levels: &mut List,
    bought: &mut VolumeBlocks,
    sold: &mut VolumeBlocks,
    step: &DecimalStep,
    depth: u32,
) -> i64 {
    let (bids, asks) = (bought.settle(), sold.settle());
    let lowest = bids.last().map_or(0, |(best, _)| best.saturating_sub(i64::from(depth) - 1));
    let highest = asks.first().map_or(0, |(best, _)| best.saturating_add(i64::from(depth) - 1));
    let bids = &bids[bids.partition_point(|(block, _)| *block < lowest)..];
    let asks = &asks[..asks.partition_point(|(block, _)| *block <= highest)];
    levels.push(bids.iter().chain(asks).flat_map(|(block, volume)| [step.price(*block), *volume]));
    let split = bids.len() as i64;
    bought.clear();
    sold.clear();
    split
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(levels: &[PriceLevel], step: f64) -> (VolumeBlocks, DecimalStep) {
        let (mut blocks, step) = (VolumeBlocks::default(), DecimalStep::new(step));
        blocks.collect(levels, &step, LevelValue::Amount);
        (blocks, step)
    }

    fn bids(blocks: &mut VolumeBlocks, step: &DecimalStep, depth: u32) -> Vec<f64> {
        let mut levels = List::default();
        assert_eq!(
            snapshot(&mut levels, blocks, &mut VolumeBlocks::default(), step, depth) * 2,
            levels.values.len() as i64
        );
        levels.values
    }

    fn asks(blocks: &mut VolumeBlocks, step: &DecimalStep, depth: u32) -> Vec<f64> {
        let mut levels = List::default();
        assert_eq!(snapshot(&mut levels, &mut VolumeBlocks::default(), blocks, step, depth), 0);
        levels.values
    }

    #[test]
    fn levels_are_floored_and_added() {
        let (mut bought, step) = blocks(&[(100.9, 1.0), (100.1, 2.0), (98.0, 4.0)], 1.0);
        assert_eq!(bids(&mut bought, &step, 3_500), [98.0, 4.0, 100.0, 3.0]);
        let (mut sold, step) = blocks(&[(101.0, 1.0), (101.5, 2.0), (103.0, 4.0)], 1.0);
        assert_eq!(asks(&mut sold, &step, 3_500), [101.0, 3.0, 103.0, 4.0]);
        assert!(asks(&mut sold, &step, 3_500).is_empty(), "a snapshot is told once");
    }

    #[test]
    fn depth_counts_blocks_from_the_best() {
        let levels = [(10.0, 1.0), (11.0, 1.0), (13.0, 1.0)];
        let sold = || blocks(&levels, 1.0);
        let ((mut one, step), (mut three, _), (mut down, _)) = (sold(), sold(), sold());
        assert_eq!(asks(&mut one, &step, 1), [10.0, 1.0]);
        assert_eq!(asks(&mut three, &step, 3), [10.0, 1.0, 11.0, 1.0]); // 13 is the fourth block
        assert_eq!(bids(&mut down, &step, 3), [11.0, 1.0, 13.0, 1.0]);
    }

    #[test]
    fn usd_volumes_are_price_times_amount() {
        let (mut counted, step) = (VolumeBlocks::default(), DecimalStep::new(10.0));
        counted.collect(&[(101.0, 2.0), (102.0, 1.0)], &step, LevelValue::Value(1.0));
        assert_eq!(asks(&mut counted, &step, 9), [100.0, 304.0]);
    }

    #[test]
    fn several_books_make_one() {
        let (mut sold, step) = blocks(&[(11.0, 1.0), (12.0, 2.0), (14.0, 4.0)], 1.0);
        sold.collect(&[(10.0, 8.0), (12.5, 16.0), (14.0, 32.0)], &step, LevelValue::Amount);
        assert_eq!(asks(&mut sold, &step, 9), [10.0, 8.0, 11.0, 1.0, 12.0, 18.0, 14.0, 36.0]);
    }

    proptest! {
        /// A price on the step's grid stays where it is, to the last bit, and prints as short as it came.
        #[test]
        fn prices_on_the_grid_stay(mantissa in 1u32..1_000, decimals in 0i32..9, multiple in 1i64..2_000_000) {
            let step: f64 = format!("{mantissa}e-{decimals}").parse().unwrap();
            let price: f64 = format!("{}e-{decimals}", i64::from(mantissa) * multiple).parse().unwrap();
            let (mut found, step) = blocks(&[(price, 1.0)], step);
            prop_assert_eq!(bids(&mut found, &step, 1)[0].to_bits(), price.to_bits());
        }

        /// Whatever the price, its block begins at or below it and ends above it, up to rounding.
        #[test]
        fn blocks_hold_their_prices(price in 1e-6f64..1e6, step in 1e-6f64..1e4) {
            let (mut found, on_steps) = blocks(&[(price, 1.0)], step);
            let edge = bids(&mut found, &on_steps, 1)[0];
            prop_assert!(edge <= price * (1.0 + 1e-6) && price < (edge + step) * (1.0 + 1e-6));
        }
    }
}
