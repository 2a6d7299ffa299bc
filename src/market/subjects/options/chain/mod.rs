//! An option chain → implied volatility at the money and 25-delta skew at constant maturities.
//!
//! The state is the last quote of each option. A reading at a moment uses the quotes of the last [`FRESH`] seconds: mark
//! volatility, delta and the price of the underlying future in the same row.
//!
//! **Each expiry by itself.** The forward is the underlying price of the newest quote of the expiry. At each strike the
//! out-of-the-money option counts (the put below the forward, the call at or above it), or the other if that has
//! no quote: out-of-the-money options are the liquid ones. Volatility at the money is read at the forward, linear in
//! the logarithm of the strike between the strikes on either side of it; the volatility of a wing at a delta of 0.25
//! (calls) or −0.25 (puts), linear in delta between the options on either side of it. Nothing is extrapolated: an
//! expiry whose strikes or deltas do not enclose the point has no value there, and one with a single wing has no skew.
//!
//! **Between expiries** total variance (volatility² × time) is linear in time from the last expiry with a value at or
//! before the tenor to the first at or after it. Volatility in between is thus free of calendar arbitrage whenever the two
//! expiries are. Each wing is interpolated to the tenor separately, then the skew is put less call. A tenor that expiries
//! do not enclose has no reading.

mod quote;
mod smile;
mod term;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub(in crate::market) use self::quote::Quote;

use self::smile::{Smile, Strike};
use crate::clock::{SECOND, SECONDS_PER_DAY as DAY, UnixNanos};
use crate::protocol::discovery::TENORS;

/// Seconds for which a quote counts. Venues quote each option anew whenever the underlying moves, and dumps thinned out to
/// one quote an hour still make a chain.
pub(in crate::market) const FRESH: i64 = 3_600;

/// Constant maturities in seconds, in the order of [`TENORS`].
const MATURITIES: [i64; TENORS.len()] = [7 * DAY, 30 * DAY, 60 * DAY, 90 * DAY];

/// Identity of an option, ordered by expiry, then by strike, then calls before puts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::market) struct Contract {
    expiry: UnixNanos,
    /// Bits of the strike: it is above 0, so its bits order as it does.
    strike: u64,
    put: bool,
}

impl Contract {
    /// An option of an expiry and a strike above 0.
    pub(in crate::market) fn new(expiry: UnixNanos, strike: f64, put: bool) -> Self {
        Self { expiry, strike: strike.to_bits(), put }
    }
}

/// A reading of one tenor, percentage points; NaN where the chain does not enclose it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::market) struct TenorReading {
    /// Implied volatility at the money.
    pub volatility: f64,
    /// Volatility of the 25-delta put less that of the 25-delta call.
    pub skew: f64,
}

/// The last quote of each option of one underlying.
#[derive(Debug, Clone, Default)]
pub(in crate::market) struct OptionChain {
    quotes: BTreeMap<Contract, Quote>,
}

impl OptionChain {
    /// Adds a quote, unless a newer one of the option is known.
    pub(in crate::market) fn take(&mut self, contract: Contract, quote: Quote) {
        let known = self.quotes.entry(contract).or_insert(quote);
        if known.time <= quote.time {
            *known = quote;
        }
    }

    /// Drops quotes that no reading at `at` or later can use.
    pub(in crate::market) fn forget(&mut self, at: UnixNanos) {
        self.quotes.retain(|contract, quote| contract.expiry > at && quote.time >= at.plus(-FRESH * SECOND));
    }

    /// Whether it has no quotes.
    pub(in crate::market) fn is_empty(&self) -> bool {
        self.quotes.is_empty()
    }

    /// The readings at a moment in the order of [`TENORS`], from the quotes that are known then.
    pub(in crate::market) fn readings(&self, at: UnixNanos) -> [TenorReading; TENORS.len()] {
        let usable = |(contract, quote): &(&Contract, &Quote)| {
            contract.expiry > at && (at.plus(-FRESH * SECOND)..=at).contains(&quote.time)
        };
        let mut smiles: Vec<(f64, Smile)> = Vec::new();
        let mut quotes = self.quotes.iter().filter(usable).peekable();
        while let Some((first, _)) = quotes.peek() {
            let expiry = first.expiry;
            let mut strikes: Vec<Strike> = Vec::new();
            while let Some((contract, quote)) = quotes.next_if(|(contract, _)| contract.expiry == expiry) {
                let price = f64::from_bits(contract.strike);
                if strikes.last().is_none_or(|last| last.price != price) {
                    strikes.push(Strike { price, call: None, put: None });
                }
                if let Some(strike) = strikes.last_mut() {
                    *(if contract.put { &mut strike.put } else { &mut strike.call }) = Some(*quote);
                }
            }
            smiles.push((expiry.since(at) as f64 / SECOND as f64, Smile::of(&strikes)));
        }
        MATURITIES.map(|maturity| {
            let at_tenor = |value: fn(&Smile) -> Option<f64>| {
                let known = smiles.iter().filter_map(|(time, smile)| Some((*time, value(smile)?)));
                term::at(known, maturity as f64).unwrap_or(f64::NAN)
            };
            TenorReading {
                volatility: at_tenor(|smile| smile.at_the_money),
                skew: at_tenor(|smile| Some(smile.wings?.0)) - at_tenor(|smile| Some(smile.wings?.1)),
            }
        })
    }
}
