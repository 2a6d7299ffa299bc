//! Volatility by time to expiry.

use super::smile::straight;

/// Volatility at a time to expiry from those of expiries, which ascend by time: linear in total variance between the
/// expiries on either side. `None` where they do not enclose it.
pub(in crate::market) fn at(expiries: impl Iterator<Item = (f64, f64)>, time: f64) -> Option<f64> {
    let variances: Vec<(f64, f64)> =
        expiries.map(|(time, volatility)| (time, volatility * volatility * time)).collect();
    straight(&variances, time).map(|variance| (variance / time).sqrt())
}
