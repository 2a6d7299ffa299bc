//! Trades on their way into the store.

use super::files::{PartitionPath, TradeColumns, bar_table};
use super::overlap::Overlap;
use crate::archive::{ArchiveError, ParquetWriter, Unplaced};
use crate::market::raw::{Bar, Trade};
use crate::market::store::changes::prepared;
use crate::market::store::origin::DumpOrigin;
use crate::market::store::ticks::PriceDecimals;

/// Trades of a group of rows, which are written together.
const GROUP: usize = 1 << 19;

/// Writes a day's trades and their minute bars.
pub(in crate::market) struct TradeWriter<'a> {
    place: &'a PartitionPath<'a>,
    events: ParquetWriter,
    /// Trades that do not fill a group yet.
    waiting: TradeColumns,
    bars: Vec<Bar>,
    decimals: PriceDecimals,
    overlap: Overlap,
}

impl<'a> TradeWriter<'a> {
    /// Begins a day; nothing is in the store until it is finished.
    pub(in crate::market) fn begin(place: &'a PartitionPath<'a>) -> Result<Self, ArchiveError> {
        let events = ParquetWriter::begin(&place.file(place.pair.events), &TradeColumns::default().into_table())?;
        let overlap = Overlap::of(place);
        let (waiting, decimals) = (TradeColumns::default(), PriceDecimals::default());
        Ok(Self { place, events, waiting, bars: Vec::new(), decimals, overlap })
    }

    /// Adds trades, in time order. Those that the store has from a neighbouring day's file are left out.
    pub(in crate::market) fn push(&mut self, trades: &[Trade]) -> Result<(), ArchiveError> {
        let trades = &*self.overlap.new_among(trades);
        for trade in trades {
            self.decimals.add(trade.price);
            let start = trade.time.minute().second();
            match self.bars.last_mut() {
                Some(bar) if bar.start == start => bar.add(trade),
                _ => self.bars.push(Bar::of(start, trade)),
            }
        }
        let mut rest = trades;
        while !rest.is_empty() {
            let (fitting, others) = rest.split_at(rest.len().min(GROUP - self.waiting.times.len()));
            self.waiting.extend(fitting);
            if self.waiting.times.len() == GROUP {
                self.flush()?;
            }
            rest = others;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ArchiveError> {
        let table = std::mem::take(&mut self.waiting).into_table();
        let pushed = self.events.push(&table);
        self.waiting = TradeColumns::emptied(table);
        pushed
    }

    /// The files of trades and bars, not yet in their places. The bars are placed last: if they are there, both are.
    pub(in crate::market) fn finish(mut self, origin: &DumpOrigin) -> Result<[Unplaced; 2], ArchiveError> {
        self.flush()?;
        let metadata = origin.metadata();
        let events = self.events.complete(&metadata)?;
        let of_bars = [metadata, vec![self.decimals.metadata()], self.overlap.metadata()].concat();
        let bars = prepared(&self.place.file(self.place.pair.minutes), &bar_table(&self.bars), &of_bars)?;
        Ok([events, bars])
    }
}

/// The files of a day's trades, which are in time order, and of their minute bars.
pub(in crate::market) fn write(
    place: &PartitionPath<'_>,
    trades: &[Trade],
    origin: &DumpOrigin,
) -> Result<[Unplaced; 2], ArchiveError> {
    let mut writer = TradeWriter::begin(place)?;
    writer.push(trades)?;
    writer.finish(origin)
}
