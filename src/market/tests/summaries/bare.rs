//! A source that has neither options nor tokens, as a store: sound queries are answered with nothing, others refused.

use super::*;
use crate::market::options::answer::option_summaries;
use crate::market::query::window::Buckets;
use crate::market::raw::SummaryKind;
use crate::market::raw::{Bar, Book, Listing, Source, SourceError, Trade};
use crate::market::supply::answer::{Marketcaps, token_supply};
use crate::protocol::Interval;

struct Bare;

impl Source for Bare {
    fn listings(&self) -> &[Listing] {
        &[]
    }

    fn bars(&self, _: usize, _: i64, _: i64, _: i64, _: &mut dyn FnMut(&Bar)) -> Result<(), SourceError> {
        Ok(())
    }

    fn bar_before(&self, _: usize, _: i64, _: i64) -> Result<Option<Bar>, SourceError> {
        Ok(None)
    }

    fn trades(&self, _: usize, _: i64, _: i64, _: i64, _: &mut dyn FnMut(&Trade)) -> Result<(), SourceError> {
        Ok(())
    }

    fn tick(&self, _: usize) -> Result<f64, SourceError> {
        Ok(1.0)
    }

    fn last_book(&self, _: usize, _: i64, _: i64, _: i64) -> Result<Option<Book>, SourceError> {
        Ok(None)
    }
}

fn answer(query: &str) -> Result<Vec<Series>, MarketError> {
    let query = PointsQuery::parse(query).unwrap();
    let buckets = Buckets::new(Interval::find("1h").unwrap(), None, Some(DAY), NOW);
    if query.data_type == "TOKEN_SUPPLY_AGG" {
        return token_supply(&Bare, &query, &buckets);
    }
    option_summaries(&Bare, &query, SummaryKind::Skew, &buckets)
}

#[test]
fn without_data_there_is_nothing_to_tell() {
    assert!(answer("type=TOKEN_SUPPLY_AGG&coin=BTC").unwrap().is_empty());
    let whole = "type=SKEW_OPTION_SUMMARY_AGG&exchange=DERIBIT&coin=BTC&rawSymbol=BTC_25";
    assert!(answer(&format!("{whole}&tenor=ONE_W")).unwrap().is_empty());
    assert_eq!(Marketcaps::new(&Bare, NOW).of("BTC").unwrap(), 0.0);
    // The tenors of the specification hold even where no summary has one.
    let message = answer(whole).unwrap_err().to_string();
    assert!(message.contains("ONE_W, ONE_M, TWO_M, THREE_M"), "{message}");
    assert!(answer(&format!("{whole}&tenor=ONE_Y")).is_err());
    assert!(answer("type=TOKEN_SUPPLY_AGG").is_err());
}
