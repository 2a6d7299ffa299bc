//! What every source of test data has of the rest of a market: nothing.

/// The feeds of a source that has markets of coins alone, with those that it has beside: no options, no supplies, no prediction
/// markets. It gets the crate that has the types, such as `crate`.
macro_rules! coins_only {
    ($library:tt, $feeds:expr) => {{
        let feeds: $library::market::Feeds = $feeds;
        {
            use std::sync::Arc;

            use $library::clock::{UnixNanos, UnixSecond, Window};
            use $library::market::{
                OptionFeed, OptionSummary, PositionTable, PredictionFeed, PredictionFigures, PredictionState,
                SourceError, Supply, SupplyFeed, Token,
            };

            struct Nothing;

            impl OptionFeed for Nothing {
                fn option_summaries(&self) -> &[OptionSummary] {
                    &[]
                }

                fn option_summary(&self, _: usize, _: UnixSecond, _: UnixSecond) -> Result<Option<f64>, SourceError> {
                    Ok(None)
                }
            }

            impl SupplyFeed for Nothing {
                fn tokens(&self) -> &[Token] {
                    &[]
                }

                fn supply(
                    &self,
                    _: usize,
                    _: Window,
                    _: UnixNanos,
                    _: &mut dyn FnMut(Supply),
                ) -> Result<(), SourceError> {
                    Ok(())
                }
            }

            impl PredictionFeed for Nothing {
                fn positions(&self, _: UnixNanos) -> Option<Arc<PositionTable>> {
                    None
                }

                fn prediction(&self, _: usize, _: UnixSecond) -> Option<PredictionState> {
                    None
                }

                fn prediction_volume(&self, _: usize, _: UnixSecond) -> Option<f64> {
                    None
                }

                fn prediction_figures(&self, _: usize, _: UnixSecond) -> Option<&PredictionFigures> {
                    None
                }
            }

            feeds
                .with::<dyn OptionFeed>(Arc::new(Nothing))
                .with::<dyn SupplyFeed>(Arc::new(Nothing))
                .with::<dyn PredictionFeed>(Arc::new(Nothing))
        }
    }};
}
