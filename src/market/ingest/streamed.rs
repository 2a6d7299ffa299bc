//! Trades that come in order go straight to the store: one thread unpacks, one reads, one writes.

use std::sync::mpsc::sync_channel;

use super::IngestReport;
use super::task::Task;
use super::trade_row::{TRADE_COLUMNS, trade};
use crate::archive::ArchiveError;
use crate::market::source::Trade;
use crate::market::store::{Place, TradeWriter};

/// Trades that are handed over, and written, at a time.
const BATCH: usize = 1 << 19;

/// Reads a file's trades into the store with bounded memory. `false` when they are not in order of time: then nothing is
/// written, and nothing is in the report.
pub(super) fn trades(place: &Place<'_>, task: &mut Task<'_>) -> Result<bool, ArchiveError> {
    let (sender, batches) = sync_channel::<Vec<Trade>>(1);
    let mut own = IngestReport::default();
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || -> Result<TradeWriter<'_>, ArchiveError> {
            let mut writer = TradeWriter::begin(place)?;
            for batch in batches {
                writer.push(&batch)?;
            }
            Ok(writer)
        });
        let (mut batch, mut last, mut ordered) = (Vec::with_capacity(BATCH), i64::MIN, true);
        let mut reading = Task { report: &mut own, ..*task };
        let whole = reading.each_row(place.day, &TRADE_COLUMNS, |row| {
            let trade = trade(row)?;
            ordered = last <= trade.time;
            last = trade.time;
            batch.push(trade);
            // A writer that is gone has failed; what it says is asked for below.
            let full = batch.len() == BATCH;
            Ok(ordered && (!full || sender.send(std::mem::replace(&mut batch, Vec::with_capacity(BATCH))).is_ok()))
        });
        let _ = sender.send(batch);
        drop(sender);
        let writer = writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        if !ordered {
            return Ok(false);
        }
        task.report.add(own);
        if whole {
            writer.finish()?;
        }
        Ok(true)
    })
}
