//! Records books as changes: a snapshot at the start of each file, then the levels that changed.

use std::collections::HashMap;
use std::fmt::Write;

use super::row_prefix::RowPrefix;

/// The book as recorded so far: amounts by price.
pub(super) struct Sides {
    bids: HashMap<u64, f64>,
    asks: HashMap<u64, f64>,
}

impl Sides {
    pub(super) fn of(bids: &[f64], asks: &[f64]) -> Self {
        Self { bids: levels(bids), asks: levels(asks) }
    }

    /// Writes the changes; returns the number of rows.
    pub(super) fn changes(&mut self, bids: &[f64], asks: &[f64], begin: &RowPrefix<'_>, out: &mut String) -> u64 {
        let now = Self::of(bids, asks);
        let mut rows = 0;
        for (side, before, after, levels) in
            [("bid", &self.bids, &now.bids, bids), ("ask", &self.asks, &now.asks, asks)]
        {
            let mut gone: Vec<f64> =
                before.keys().filter(|price| !after.contains_key(price)).map(|price| f64::from_bits(*price)).collect();
            gone.sort_by(f64::total_cmp);
            for price in gone {
                rows += row(begin, false, price, 0.0, side, out);
            }
            for level in levels.chunks_exact(2) {
                if before.get(&level[0].to_bits()) != Some(&level[1]) {
                    rows += row(begin, false, level[0], level[1], side, out);
                }
            }
        }
        *self = now;
        rows
    }
}

/// Writes the complete book; returns the number of rows. A snapshot directly after another would be read as its
/// continuation, so a change of one of the new levels is written between them.
pub(super) fn snapshot(
    bids: &[f64],
    asks: &[f64],
    after_snapshot: bool,
    begin: &RowPrefix<'_>,
    out: &mut String,
) -> u64 {
    let mut rows = 0;
    for (side, levels) in [("bid", bids), ("ask", asks)] {
        for level in levels.chunks_exact(2) {
            if after_snapshot && rows == 0 {
                rows += row(begin, false, level[0], 0.0, side, out);
            }
            rows += row(begin, true, level[0], level[1], side, out);
        }
    }
    rows
}

/// Whether a row belongs to a snapshot.
pub(super) fn is_of_snapshot(line: &str) -> bool {
    line.rsplit(',').nth(3) == Some("true")
}

fn levels(pairs: &[f64]) -> HashMap<u64, f64> {
    pairs.chunks_exact(2).map(|level| (level[0].to_bits(), level[1])).collect()
}

fn row(begin: &RowPrefix<'_>, snapshot: bool, price: f64, amount: f64, side: &str, out: &mut String) -> u64 {
    // Writing to a string cannot fail.
    u64::from(writeln!(out, "{begin},{snapshot},{price},{amount},{side}").is_ok())
}
