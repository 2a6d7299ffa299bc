//! What every source of test data says of the rest of a market: nothing.

/// The methods of a source that has markets of coins alone: no options, no supplies, no prediction markets, no pictures. It
/// is told which crate has the types, such as `crate`.
macro_rules! coins_only {
    ($library:tt) => {
        fn icon_url(&self, _: usize) -> String {
            String::new()
        }

        fn option_summaries(&self) -> &[$library::market::OptionSummary] {
            &[]
        }

        fn tokens(&self) -> &[$library::market::Token] {
            &[]
        }

        fn positions(&self, _: $library::clock::UnixNanos) -> Option<std::sync::Arc<$library::market::PositionTable>> {
            None
        }

        fn prediction(&self, _: usize, _: $library::clock::UnixSecond) -> Option<$library::market::PredictionState> {
            None
        }

        fn prediction_volume(&self, _: usize, _: $library::clock::UnixSecond) -> Option<f64> {
            None
        }

        fn prediction_figures(
            &self,
            _: usize,
            _: $library::clock::UnixSecond,
        ) -> Option<&$library::market::PredictionFigures> {
            None
        }
    };
}
