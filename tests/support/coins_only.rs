//! What every source of test data says of the rest of a market: nothing.

/// The methods of a source that has markets of coins alone: no options, no supplies, no prediction markets, no pictures. It
/// is told where the types stand, such as `crate::market`.
macro_rules! coins_only {
    ($($market:tt)*) => {
        fn icon_url(&self, _: usize) -> String {
            String::new()
        }

        fn option_summaries(&self) -> &[$($market)*::OptionSummary] {
            &[]
        }

        fn tokens(&self) -> &[$($market)*::Token] {
            &[]
        }

        fn positions(&self, _: i64) -> Option<std::sync::Arc<$($market)*::PositionTable>> {
            None
        }

        fn prediction(&self, _: usize, _: i64) -> Option<$($market)*::PredictionState> {
            None
        }

        fn prediction_volume(&self, _: usize, _: i64) -> Option<f64> {
            None
        }

        fn prediction_figures(&self, _: usize, _: i64) -> Option<&$($market)*::PredictionFigures> {
            None
        }
    };
}
