//! Prices of the demo's coins: their levels from 2015 to 2026 are realistic. Other coins have yearly prices with Bitcoin's
//! shape in between; coins that did not exist yet have invented prices. From 2026 on prices wander around the last one.

use super::clock::BEGIN;
use super::noise::{normal, place, smooth};
use crate::clock::{SECONDS_PER_DAY, UnixMinute};

const YEAR: f64 = 365.2425 * SECONDS_PER_DAY as f64;
/// Years that the tables cover.
const YEARS: usize = 11;

/// Bitcoin at the beginning of each quarter, USD.
const QUARTERS: [f64; 4 * YEARS + 1] = [
    315.0, 245.0, 260.0, 237.0, // 2015
    430.0, 417.0, 675.0, 610.0, // 2016
    970.0, 1_080.0, 2_450.0, 4_390.0, // 2017
    13_900.0, 6_930.0, 6_390.0, 6_620.0, // 2018
    3_740.0, 4_100.0, 10_800.0, 8_300.0, // 2019
    7_200.0, 6_420.0, 9_140.0, 10_780.0, // 2020
    29_000.0, 58_800.0, 33_500.0, 43_800.0, // 2021
    46_300.0, 45_500.0, 19_900.0, 19_400.0, // 2022
    16_500.0, 28_500.0, 30_500.0, 27_000.0, // 2023
    42_300.0, 69_700.0, 62_700.0, 63_300.0, // 2024
    93_500.0, 82_500.0, 107_000.0, 114_000.0, // 2025
    88_000.0,
];

/// A coin at the beginning of each year from 2015 to 2026, USD.
pub(in crate::market) type Years = [f64; YEARS + 1];

/// Bitcoin's years.
pub(in crate::market) const BITCOIN: Years = {
    let mut years = [0.0; YEARS + 1];
    let mut year = 0;
    while year <= YEARS {
        years[year] = QUARTERS[4 * year];
        year += 1;
    }
    years
};

/// Deviations of the knots of a coin's price from its history.
#[derive(Debug, Clone, Copy)]
pub(in crate::market) struct History {
    pub years: &'static Years,
    /// Seeds of the common part of all coins, and of this coin's own.
    pub seeds: [u64; 2],
    /// The coin's beta to Bitcoin.
    pub follows: f64,
}

impl History {
    /// Logarithm of the price at a knot, given by its number and its minute.
    pub(in crate::market) fn knot(&self, knot: i64, minute: UnixMinute) -> f64 {
        let years = (minute.second().since(BEGIN) as f64 / YEAR).max(0.0);
        let shape = between(&QUARTERS, 4.0 * years) - between(&BITCOIN, years);
        let stray = |seed: u64, slow: f64, fast: f64| {
            // Beyond the tables prices deviate more, around the last level.
            let ahead = (years - YEARS as f64).clamp(0.0, 1.0);
            slow * ahead * smooth(place(&[seed, 1]), knot as f64 / 7.0) + fast * normal(place(&[seed, 2, knot as u64]))
        };
        let [all, own] = self.seeds;
        between(self.years, years) + self.follows * (shape + stray(all, 0.3, 0.05)) + stray(own, 0.15, 0.04)
    }
}

/// Logarithm of a table's value at a place, linear between neighbours; beyond the end, that of the last value.
fn between(table: &[f64], at: f64) -> f64 {
    let last = table.len() - 1;
    let index = (at.floor() as usize).min(last);
    let next = (index + 1).min(last);
    let part = (at - index as f64).min(1.0);
    table[index].ln() + (table[next].ln() - table[index].ln()) * part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_met_at_their_times_and_held_at_the_end() {
        assert!((between(&QUARTERS, 8.0).exp() - 970.0).abs() < 1e-9);
        assert!((between(&[1.0, 100.0], 0.5).exp() - 10.0).abs() < 1e-9);
        assert!((between(&QUARTERS, 400.0).exp() - 88_000.0).abs() < 1e-6);
        assert_eq!(BITCOIN[YEARS], 88_000.0);
    }
}
