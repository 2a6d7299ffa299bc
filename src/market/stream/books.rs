//! States of the order book in price blocks.

use super::subscription::{StreamEvent, Subscription};
use crate::clock::{SECONDS_PER_DAY, UnixNanos, Window};
use crate::columns::List;
use crate::market::query::error::MarketError;
use crate::market::query::price_step::DecimalStep;
use crate::market::query::usd::LevelValue;
use crate::market::raw::{BookFeed, Source};
use crate::market::subjects::books::heatmap::{VolumeBlocks, snapshot};
use crate::protocol::DataType;
use crate::protocol::stream::Payload;

/// Largest age of a book's last event, seconds: a book that was silent for a day is no longer shown.
const CARRIED: i64 = SECONDS_PER_DAY;

/// `BLOCK_BOOK_SNAPSHOT`: the state at each tick, if it differs from the last one sent, in the form of the heatmap of
/// `/v1/points`.
pub(in crate::market) fn snapshots(
    source: &dyn Source,
    market: usize,
    subscription: &mut Subscription,
    until: UnixNanos,
    events: &mut Vec<StreamEvent>,
) -> Result<(), MarketError> {
    let Some(size) = subscription.series.block_size else { return Ok(()) };
    let step = DecimalStep::new(size);
    let included = DataType::BlockBookSnapshotAgg.spec().included_depth.unwrap_or(u32::MAX);
    let depth = subscription.channel.parameter("maxDepth").and_then(|depth| depth.parse().ok()).unwrap_or(included);
    let (mut bought, mut sold) = (VolumeBlocks::default(), VolumeBlocks::default());
    for tick in subscription.ticks(until) {
        let before = tick.plus(-1);
        let end = before.second().0 + 1;
        let books = source.of::<dyn BookFeed>()?;
        let Some(book) = books.last_book(market, Window { from: end - CARRIED, to: end }, before)? else { continue };
        bought.collect(&book.bids, &step, LevelValue::Amount);
        sold.collect(&book.asks, &step, LevelValue::Amount);
        let mut levels = List::default();
        let bids = snapshot(&mut levels, &mut bought, &mut sold, &step, depth) as usize * 2;
        let asks = levels.values.split_off(bids);
        // The stream lists bids from the best down.
        let sides = (levels.values.rchunks(2).flatten().copied().collect(), asks);
        if subscription.last_book.as_ref() == Some(&sides) {
            continue;
        }
        let payload =
            Payload::BlockBookSnapshot { bids: sides.0.clone(), asks: sides.1.clone(), timestamp: tick.into() };
        events.push(subscription.event(tick, None, payload));
        subscription.last_book = Some(sides);
    }
    Ok(())
}
