//! The demo as a source of market data.

use std::sync::Arc;

use super::catalog::{BEGIN, END};
use super::{
    Demo, HOUR, LIQUIDATIONS, TRADES, bar, book, derivatives, liquidation_bar, minute, minutes, odds, options, supply,
    told,
};
use crate::clock::SECOND;
use crate::market::analytics::PositionTable;
use crate::market::derivatives::{Gauge, GaugeBar, Ticker};
use crate::market::feed::Feed;
use crate::market::source::{Bar, Book, Listing, Source, SourceError, Trade, join};
use crate::market::summaries::{OptionSummary, PredictionState, PredictionTold, Supply, Token};
use crate::protocol::DataType;
use crate::protocol::exchange::funding_seconds;

impl Source for Demo {
    fn listings(&self) -> &[Listing] {
        &self.listings
    }

    fn bars(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        if let Some(tape) = self.tape(market) {
            tape.bars(from, to, now, visit);
            return Ok(());
        }
        let traits = &self.traits[market];
        self.each_minute(market, from, to, now, |block, minute| {
            if let Some(bar) = bar(traits, block, minute, now) {
                visit(&bar);
            }
        });
        Ok(())
    }

    fn span(&self, market: usize, from: i64, to: i64, now: i64) -> Result<Option<Bar>, SourceError> {
        let mut whole: Option<Bar> = None;
        let mut at = from.max(BEGIN);
        let end = to.min(now.div_euclid(SECOND).saturating_add(1)).min(END);
        while at < end {
            let next = (at.div_euclid(HOUR) * HOUR + HOUR).min(end);
            let part = |from: i64, to: i64| -> Result<Option<Bar>, SourceError> {
                let mut part: Option<Bar> = None;
                self.bars(market, from, to, now, &mut |bar| join(&mut part, bar))?;
                Ok(part)
            };
            // Listings ask for the same hours again and again, and what is closed stays as it is.
            let closed = next - at == HOUR && next.saturating_mul(SECOND) <= now;
            let hour = if closed { *self.hours.get((market, at), || part(at, next))? } else { part(at, next)? };
            if let Some(hour) = hour {
                join(&mut whole, &hour);
            }
            at = next;
        }
        Ok(whole)
    }

    fn bar_before(&self, market: usize, before: i64, now: i64) -> Result<Option<Bar>, SourceError> {
        if let Some(tape) = self.tape(market) {
            return Ok(tape.bar_before(before, now));
        }
        // Every minute of a coin's market has trades, so the first look finds one; the bound is for the market's first minute.
        let traits = &self.traits[market];
        let (first, end) = minutes(before - 3_600, before, now);
        Ok((first..end).rev().find_map(|minute| bar(traits, &self.block(traits, minute), minute, now)))
    }

    fn trades(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        if let Some(tape) = self.tape(market) {
            tape.trades(from, to, now, visit);
            return Ok(());
        }
        self.events(TRADES, market, (from, to), now, visit);
        Ok(())
    }

    fn tick(&self, market: usize) -> Result<f64, SourceError> {
        if self.event(market).is_some() {
            return Ok(odds::TICK);
        }
        Ok(minute::round(10f64.powi(-self.traits[market].price_decimals), self.traits[market].price_decimals))
    }

    fn last_book(&self, market: usize, from: i64, to: i64, now: i64) -> Result<Option<Book>, SourceError> {
        let (first, end) = minutes(from, to, now);
        if let Some(tape) = self.tape(market) {
            return Ok((first..end).rev().find_map(|minute| tape.book(minute, now)));
        }
        let traits = &self.traits[market];
        let last = (first..end).rev().take(2).find_map(|minute| {
            let bar = bar(traits, &self.block(traits, minute), minute, now)?;
            Some((minute, bar.close))
        });
        Ok(last.map(|(minute, close)| book::around(traits, minute, close)))
    }

    fn liquidation_bars(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        if self.listings[market].feeds.has(Feed::Liquidations) {
            let traits = &self.traits[market];
            self.each_minute(market, from, to, now, |block, minute| {
                if let Some(bar) = liquidation_bar(traits, block, minute, now) {
                    visit(&bar);
                }
            });
        }
        Ok(())
    }

    fn liquidations(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        if self.listings[market].feeds.has(Feed::Liquidations) {
            self.events(LIQUIDATIONS, market, (from, to), now, visit);
        }
        Ok(())
    }

    fn gauge_bars(
        &self,
        market: usize,
        gauge: Gauge,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&GaugeBar),
    ) -> Result<(), SourceError> {
        if let Some(tape) = self.tape(market) {
            tape.gauge_bars(gauge, from, to, now, visit);
        } else if self.listings[market].feeds.has(Feed::OpenInterest) {
            self.each_minute(market, from, to, now, |block, minute| {
                if let Some(bar) = self.gauge_bar(market, gauge, block, minute, now) {
                    visit(&bar);
                }
            });
        }
        Ok(())
    }

    fn gauge_before(
        &self,
        market: usize,
        gauge: Gauge,
        before: i64,
        now: i64,
    ) -> Result<Option<GaugeBar>, SourceError> {
        if let Some(tape) = self.tape(market) {
            return Ok(tape.gauge_before(gauge, before, now));
        }
        // Every minute that has begun has a reading at its start.
        let last = before.min(now.div_euclid(SECOND) + 1);
        let mut found = None;
        self.gauge_bars(market, gauge, (last - 60).div_euclid(60) * 60, last, now, &mut |bar| found = Some(*bar))?;
        Ok(found)
    }

    fn readings(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Ticker),
    ) -> Result<(), SourceError> {
        if let Some(tape) = self.tape(market) {
            tape.readings(from, to, now, visit);
        } else if self.listings[market].feeds.has(Feed::FundingRates) {
            let (traits, told) = (&self.traits[market], told(from, to, now));
            self.each_minute(market, from.saturating_sub(from.rem_euclid(60)), to, now, |block, minute| {
                let interest = self.interest(market, block);
                derivatives::readings(traits, block, Some(&interest), minute, |reading| {
                    if told.contains(&reading.time) {
                        visit(reading);
                    }
                });
            });
        }
        Ok(())
    }

    fn funding_seconds(&self, market: usize) -> i64 {
        funding_seconds(&self.listings[market].exchange)
    }

    fn option_summaries(&self) -> &[OptionSummary] {
        &self.options
    }

    fn option_summary(&self, summary: usize, _from: i64, at: i64) -> Result<Option<f64>, SourceError> {
        let option = &self.option_traits[summary];
        let told = (BEGIN..END).contains(&at);
        Ok(told.then(|| options::reading(option, at.div_euclid(60))))
    }

    fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    fn supply(
        &self,
        token: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(Supply),
    ) -> Result<(), SourceError> {
        for time in supply::times(from, to, now.div_euclid(SECOND)) {
            visit(supply::snapshot(&self.token_traits, token, time));
        }
        Ok(())
    }

    fn positions(&self, now: i64) -> Option<Arc<PositionTable>> {
        Some(self.table(now))
    }

    fn prediction(&self, event: usize, at: i64) -> Option<PredictionState> {
        odds::state(self.venue.events.traits.get(event)?, at, || self.tape_of(event).last_price(at))
    }

    fn prediction_volume(&self, event: usize, at: i64) -> Option<f64> {
        (event < self.venue.events.traits.len()).then(|| self.tape_of(event).volume(at))
    }

    fn prediction_told(&self, event: usize, _at: i64) -> Option<&PredictionTold> {
        self.venue.events.told.get(event)?.as_ref()
    }

    fn icon_url(&self, market: usize) -> String {
        let icon = |folder: &str, name: &str| format!("https://icons.example/{folder}/{}.svg", name.to_lowercase());
        match self.event(market) {
            Some(event) => icon("predictions", self.venue.events.events[event].category.trim()),
            None => icon("coins", &self.listings[market].coin),
        }
    }

    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<i64>, SourceError> {
        let listing = &self.listings[market];
        if !listing.feeds.serve(data_type) {
            return Ok(None);
        }
        let begin = Some(listing.available_since * SECOND);
        if self.event(market).is_some() {
            return Ok(begin);
        }
        Ok(match Feed::of(data_type) {
            Some(Feed::Trades | Feed::Books) => self.first_trade(market),
            Some(Feed::Liquidations) => self.first_liquidation(market),
            _ => begin,
        })
    }

    fn highest(&self, market: usize, from: i64, to: i64, now: i64) -> Result<Option<f64>, SourceError> {
        if let Some(tape) = self.tape(market) {
            let mut highest: Option<f64> = None;
            tape.bars(from, to, now, &mut |bar| highest = highest.into_iter().chain([bar.high]).reduce(f64::max));
            return Ok(highest);
        }
        Ok(self.top(market, None, from, to, now))
    }
}
