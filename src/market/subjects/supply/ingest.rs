//! Tables of token supply.

use std::collections::HashSet;

use super::store::{SUPPLY, SupplyRecord};
use crate::market::ingest::csv_table::{CsvColumns, CsvRecord, Range};
use crate::market::ingest::fault::RowFault;
use crate::market::ingest::task::IngestTask;
use crate::market::query::error::MarketError;
use crate::market::raw::SupplyRow;

const COLUMNS: CsvColumns = CsvColumns {
    needed: &["coin", "token_name", "timestamp", "marketcap"],
    others: &[
        "chain",
        "contract_address",
        "first_marketcap",
        "marketcap_dominance_percent",
        "circulating_supply",
        "total_supply",
        "max_supply",
        "total_value_locked",
        "fully_diluted_valuation",
        "src_marketcap_rank",
        "total_volume",
        "usd_price",
    ],
};

/// Reads one file into the store, unless the store holds it already.
pub(in crate::market) fn ingest_file(source: &str, task: &mut IngestTask<'_>) -> Result<(), MarketError> {
    let Some(hash) = task.fingerprint() else { return Ok(()) };
    if !task.is_new(SUPPLY.read_origin(task.store, source), &hash) {
        return Ok(());
    }
    let mut lines: Vec<SupplyRecord> = Vec::new();
    let mut known = HashSet::new();
    let whole = task.each_record(&COLUMNS, |record| {
        let line = read(record)?;
        let SupplyRow { chain, contract, .. } = &line.row;
        if !known.insert((line.coin.clone(), line.name.clone(), line.time, chain.clone(), contract.clone())) {
            let what = format!("a second row of {} at this time on this chain; keep one of them", line.coin);
            return Err(RowFault::new("timestamp", what));
        }
        lines.push(line);
        Ok(())
    });
    if whole {
        // Stable: the chains of a snapshot stay in the file's order, the primary one first.
        lines.sort_by(|left, right| {
            let key = |line: &SupplyRecord| (line.coin.clone(), line.name.clone(), line.time);
            key(left).cmp(&key(right))
        });
        SUPPLY.write(task.store, source, lines, &task.origin(&hash))?;
    }
    Ok(())
}

fn read(record: &CsvRecord<'_>) -> Result<SupplyRecord, RowFault> {
    let amount = |column| record.number(column, Range::NotNegative);
    let time = record.time("timestamp")?.ok_or_else(|| RowFault::new("timestamp", "is empty; every row needs it"))?;
    let dominance = amount("marketcap_dominance_percent")?;
    if dominance > 100.0 {
        let what = format!("{dominance} is more than the whole market; it is a percentage of 100 at most");
        return Err(RowFault::new("marketcap_dominance_percent", what));
    }
    let rank = record.whole("src_marketcap_rank")?;
    Ok(SupplyRecord {
        coin: record.needed("coin")?.to_owned(),
        name: record.needed("token_name")?.to_owned(),
        time,
        row: SupplyRow {
            marketcap: record.needed_number("marketcap", Range::NotNegative)?,
            first_marketcap: amount("first_marketcap")?,
            dominance,
            circulating: amount("circulating_supply")?,
            total: amount("total_supply")?,
            max: amount("max_supply")?,
            locked: amount("total_value_locked")?,
            diluted: amount("fully_diluted_valuation")?,
            chain: record.text("chain")?.to_owned(),
            contract: record.text("contract_address")?.to_owned(),
            rank: if rank == 0 { f64::NAN } else { rank as f64 },
            volume: amount("total_volume")?,
            price: amount("usd_price")?,
        },
    })
}
