//! A source that has neither options nor tokens, as a store: sound queries are answered with nothing, others refused.

use super::*;
use crate::clock::UnixNanos;
use crate::market::raw::{Feeds, Instrument, Source};
use crate::market::subjects::supply::answer::Marketcaps;

struct Bare(Feeds);

impl Bare {
    fn new() -> Self {
        Self(coins_only!(crate, Feeds::default()))
    }
}

impl Source for Bare {
    fn instruments(&self) -> &[Instrument] {
        &[]
    }

    fn feeds(&self) -> &Feeds {
        &self.0
    }

    fn icon_url(&self, _: usize) -> String {
        String::new()
    }
}

fn answer(query: &str) -> Result<Vec<Series>, MarketError> {
    Market::new(Box::new(Bare::new())).points(&PointsQuery::parse(query).unwrap(), UnixNanos(NOW))
}

#[test]
fn without_data_there_is_nothing_to_answer() {
    assert!(answer("type=TOKEN_SUPPLY_AGG&coin=BTC&interval=1h").unwrap().is_empty());
    let whole = "type=SKEW_OPTION_SUMMARY_AGG&exchange=DERIBIT&coin=BTC&rawSymbol=BTC_25&interval=1h";
    assert!(answer(&format!("{whole}&tenor=ONE_W")).unwrap().is_empty());
    assert_eq!(Marketcaps::new(&Bare::new(), UnixNanos(NOW)).of("BTC").unwrap(), 0.0);
    assert!(answer(whole).unwrap_err().to_string().contains("tenor is missing"));
    // The tenors of the specification hold even where no summary has one.
    let message = answer(&format!("{whole}&tenor=ONE_Y")).unwrap_err().to_string();
    assert!(message.contains("ONE_W, ONE_M, TWO_M, THREE_M"), "{message}");
    assert!(answer("type=TOKEN_SUPPLY_AGG&interval=1h").is_err());
}

#[test]
fn what_the_source_lacks_is_an_error_and_no_empty_answer() {
    struct Nothing(Feeds);

    impl Source for Nothing {
        fn instruments(&self) -> &[Instrument] {
            &[]
        }

        fn feeds(&self) -> &Feeds {
            &self.0
        }

        fn icon_url(&self, _: usize) -> String {
            String::new()
        }
    }

    let market = Market::new(Box::new(Nothing(Feeds::default())));
    let query = PointsQuery::parse("type=TOKEN_SUPPLY_AGG&coin=BTC&interval=1h").unwrap();
    let error = market.points(&query, UnixNanos(NOW)).unwrap_err();
    assert_eq!(error.to_string(), "this source has no token supply");
}
