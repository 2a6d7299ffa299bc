//! A source that has neither options nor tokens, as a store: sound queries are answered with nothing, others refused.

use super::*;
use crate::clock::{UnixNanos, UnixSecond, Window};
use crate::market::raw::{Bar, Book, Instrument, Source, SourceError, Trade};
use crate::market::supply::answer::Marketcaps;

struct Bare;

impl Source for Bare {
    fn instruments(&self) -> &[Instrument] {
        &[]
    }

    fn bars(&self, _: usize, _: Window, _: UnixNanos, _: &mut dyn FnMut(&Bar)) -> Result<(), SourceError> {
        Ok(())
    }

    fn bar_before(&self, _: usize, _: UnixSecond, _: UnixNanos) -> Result<Option<Bar>, SourceError> {
        Ok(None)
    }

    fn trades(&self, _: usize, _: Window, _: UnixNanos, _: &mut dyn FnMut(&Trade)) -> Result<(), SourceError> {
        Ok(())
    }

    fn tick(&self, _: usize) -> Result<f64, SourceError> {
        Ok(1.0)
    }

    fn last_book(&self, _: usize, _: Window, _: UnixNanos) -> Result<Option<Book>, SourceError> {
        Ok(None)
    }

    coins_only!(crate);
}

fn answer(query: &str) -> Result<Vec<Series>, MarketError> {
    Market::new(Box::new(Bare)).points(&PointsQuery::parse(query).unwrap(), UnixNanos(NOW))
}

#[test]
fn without_data_there_is_nothing_to_answer() {
    assert!(answer("type=TOKEN_SUPPLY_AGG&coin=BTC&interval=1h").unwrap().is_empty());
    let whole = "type=SKEW_OPTION_SUMMARY_AGG&exchange=DERIBIT&coin=BTC&rawSymbol=BTC_25&interval=1h";
    assert!(answer(&format!("{whole}&tenor=ONE_W")).unwrap().is_empty());
    assert_eq!(Marketcaps::new(&Bare, UnixNanos(NOW)).of("BTC").unwrap(), 0.0);
    assert!(answer(whole).unwrap_err().to_string().contains("tenor is missing"));
    // The tenors of the specification hold even where no summary has one.
    let message = answer(&format!("{whole}&tenor=ONE_Y")).unwrap_err().to_string();
    assert!(message.contains("ONE_W, ONE_M, TWO_M, THREE_M"), "{message}");
    assert!(answer("type=TOKEN_SUPPLY_AGG&interval=1h").is_err());
}
