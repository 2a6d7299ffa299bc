//! Trades that come in order go straight to the store: one thread unpacks, one reads, one writes.

use std::sync::mpsc::{SyncSender, sync_channel};

use super::files::PartitionPath;
use super::trade_row::{self, TRADE_COLUMNS};
use super::writer::TradeWriter;
use crate::archive::{ArchiveError, Unplaced};
use crate::clock::UnixNanos;
use crate::market::ingest::fault::RowFault;
use crate::market::ingest::report::IngestReport;
use crate::market::ingest::rows::{DumpRow, RowBlock};
use crate::market::ingest::task::{IngestTask, Taker};
use crate::market::raw::Trade;

/// Trades in a batch: few enough for the caches.
const BATCH: usize = 1 << 15;
/// Batches that may wait, so that the reader goes on while half a million trades are compressed.
const WAITING: usize = 16;

/// Trades on their way to the writer.
struct Batches {
    batch: Vec<Trade>,
    /// Time of the last trade.
    last: UnixNanos,
    ordered: bool,
    writer: SyncSender<Vec<Trade>>,
}

impl Batches {
    fn new(writer: SyncSender<Vec<Trade>>) -> Self {
        Self { batch: Vec::with_capacity(BATCH), last: UnixNanos(i64::MIN), ordered: true, writer }
    }

    /// Checks the order of the trades from `from` on, and sends a full batch. Whether more trades are wanted.
    fn check(&mut self, from: usize) -> bool {
        for trade in &self.batch[from..] {
            let time = trade.time;
            self.ordered &= self.last <= time;
            self.last = time;
        }
        // If sending fails the writer has failed; its error is read at the end.
        self.ordered && (self.batch.len() < BATCH || self.send())
    }

    fn send(&mut self) -> bool {
        self.writer.send(std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH))).is_ok()
    }
}

impl Taker for Batches {
    fn row(&mut self, row: &DumpRow<'_>) -> Result<bool, RowFault> {
        self.batch.push(trade_row::trade(row)?);
        Ok(self.check(self.batch.len() - 1))
    }

    fn block(&mut self, block: &mut RowBlock<'_>) -> Option<bool> {
        let known = self.batch.len();
        self.batch.extend(trade_row::trades(block)?);
        Some(self.check(known))
    }
}

/// The outcome of a file.
pub(in crate::market) enum Streamed {
    /// Its trades are not in order of time: nothing is written, and nothing is in the report.
    Unordered,
    /// The file is rejected; the report says why.
    Left,
    /// Its files, not yet in their places.
    Taken([Unplaced; 2]),
}

/// Reads a file's trades with bounded memory.
pub(in crate::market) fn trades(
    place: &PartitionPath<'_>,
    task: &mut IngestTask<'_>,
    hash: &str,
) -> Result<Streamed, ArchiveError> {
    let (sender, received) = sync_channel::<Vec<Trade>>(WAITING);
    let mut own = IngestReport::default();
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || -> Result<TradeWriter<'_>, ArchiveError> {
            let mut writer = TradeWriter::begin(place)?;
            for batch in received {
                writer.push(&batch)?;
            }
            Ok(writer)
        });
        let mut batches = Batches::new(sender);
        let mut reading = IngestTask { report: &mut own, ..*task };
        let whole = reading.read(place.day, &TRADE_COLUMNS, &mut batches);
        batches.send();
        let (ordered, origin) = (batches.ordered, reading.origin(hash));
        drop(batches); // the writer ends when nobody can send any more
        let writer = writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        if !ordered {
            return Ok(Streamed::Unordered);
        }
        task.report.add(own);
        Ok(if whole { Streamed::Taken(writer.finish(&origin)?) } else { Streamed::Left })
    })
}
