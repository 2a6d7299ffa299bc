//! Rows that are read a block at a time tell what each would tell alone.

use proptest::prelude::*;

use super::*;
use crate::clock::UnixDay;
use crate::market::ingest::fault::RowFault;
use crate::market::ingest::rows::{DumpRow, RowBlock};
use crate::market::ingest::task::Taker;
use crate::market::raw::Trade;
use crate::market::subjects::trades::trade_row::{TRADE_COLUMNS, trade, trades};

/// Takes blocks whole where it may.
struct Collector {
    trades: Vec<Trade>,
    blocks: bool,
    whole_blocks: usize,
}

impl Taker for Collector {
    fn row(&mut self, row: &DumpRow<'_>) -> Result<bool, RowFault> {
        self.trades.push(trade(row)?);
        Ok(true)
    }

    fn block(&mut self, block: &mut RowBlock<'_>) -> Option<bool> {
        if !self.blocks {
            return None;
        }
        self.trades.extend(trades(block)?);
        self.whole_blocks += 1;
        Some(true)
    }
}

/// The trades of a file, the blocks that were taken whole, and the report.
fn read(text: &str, blocks: bool) -> (Vec<Trade>, usize, IngestReport) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("2024-12-01.csv");
    fs::write(&file, text).unwrap();
    let mut report = IngestReport::default();
    let mut collector = Collector { trades: Vec::new(), blocks, whole_blocks: 0 };
    let mut task = IngestTask {
        file: &file,
        store: folder.path(),
        report: &mut report,
        keep_going: &|| true,
        allow_fewer_rows: false,
        held: 0,
        good: 0,
        bad: 0,
    };
    task.read(UnixDay(DAY / 86_400), &TRADE_COLUMNS, &mut collector);
    for problem in &mut report.problems {
        problem.file.clear();
    }
    (collector.trades, collector.whole_blocks, report)
}

/// The trade of a row, by the standard library alone; `None` if it is bad.
fn expected(row: &str) -> Option<Trade> {
    let row = row.strip_suffix('\r').unwrap_or(row);
    let fields: Vec<&str> = row.split(',').collect();
    let [_, _, time, _, _, side, price, amount] = fields[..] else { return None };
    let micros: i64 = time.trim_ascii().parse().ok()?;
    let day = 86_400_000_000;
    let number = |text: &str| text.trim_ascii().parse::<f64>().ok().filter(|value| *value <= 1e18);
    let (price, amount) = (number(price)?, number(amount)?);
    let near = (DAY * 1_000_000 - day..DAY * 1_000_000 + 2 * day).contains(&micros);
    (near && price > 0.0 && amount >= 0.0 && matches!(side, "buy" | "sell")).then(|| Trade {
        time: UnixNanos(micros * 1_000),
        price,
        amount,
        buy: side == "buy",
    })
}

fn rows() -> impl Strategy<Value = String> {
    let good = (0..86_400_000_000_i64, any::<bool>(), 1..9_999_999_u32, 0..5_u32, 0.0..1e5).prop_map(
        |(micros, buy, price, decimals, amount)| {
            let (time, side) = (DAY * 1_000_000 + micros, if buy { "buy" } else { "sell" });
            let price = f64::from(price) / f64::from(10_u32.pow(decimals));
            format!("binance,BTCUSDT,{time},0,7,{side},{price},{amount}")
        },
    );
    let spelling = prop_oneof![
        "[ +-]?[0-9]{0,18}\\.?[0-9]{0,9}(e[+-]?[0-9]{1,2})? ?",
        Just("1e18".to_owned()),
        Just("1.0000001e18".to_owned()),
        Just("4e-320".to_owned()),
        Just("nan".to_owned()),
    ];
    let odd =
        (spelling.clone(), spelling.clone(), spelling, prop_oneof![Just("buy"), Just("sell"), Just("BUY"), Just("")]);
    let odd = odd.prop_map(|(time, price, amount, side)| {
        let time = if time.len() % 2 == 0 { (DAY * 1_000_000).to_string() } else { time };
        format!("binance,BTCUSDT,{time},0,7,{side},{price},{amount}")
    });
    let others = prop_oneof!["[a-z,]{0,20}", Just(String::new()), good.clone().prop_map(|row| row + "\r")];
    prop_oneof![40 => good, 1 => odd, 1 => others]
}

proptest! {
    #[test]
    fn blocks_hold_what_their_rows_hold(rows in proptest::collection::vec(rows(), 1..60), end in any::<bool>()) {
        let text = format!("{TRADE_HEADER}{}{}", rows.join("\n"), if end { "\n" } else { "" });
        let (known, _, report) = read(&text, true);
        let (alone, _, alone_report) = read(&text, false);
        prop_assert_eq!(&known, &alone);
        prop_assert_eq!(&report, &alone_report);
        let good: Vec<Trade> = rows.iter().filter_map(|row| expected(row)).collect();
        prop_assert_eq!(&known, &good);
        let full = |row: &&String| !row.trim_end_matches('\r').is_empty();
        let bad = rows.iter().filter(full).filter(|row| expected(row).is_none()).count();
        prop_assert_eq!(report.problems.iter().filter(|problem| problem.line > 0).count(), bad);
    }
}

#[test]
fn a_bad_row_costs_its_block_only_and_is_reported_by_its_line() {
    let row = |index: i64| format!("binance,BTCUSDT,{},0,{index},buy,96000.1,0.25\n", DAY * 1_000_000 + index);
    let mut rows: Vec<String> = (0..40_000).map(row).collect();
    rows[30_000] = rows[30_000].replace("96000.1", "no");
    let text = TRADE_HEADER.to_owned() + &rows.concat();
    let (trades, whole, report) = read(&text, true);
    assert_eq!(trades.len(), 39_999);
    assert!(
        trades.iter().map(|trade| trade.time.0 / 1_000 - DAY * 1_000_000).eq((0..40_000).filter(|row| *row != 30_000))
    );
    assert_eq!(problem_lines(&report), [(30_002, "price")]);
    // All but one of its blocks of 256 KiB.
    assert_eq!(whole, text.len().div_ceil(1 << 18) - 1);
}
