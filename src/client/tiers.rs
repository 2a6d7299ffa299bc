//! The limits that a plan is made for, and what each tier would take for a call (sections 5 and 8.1).

use super::error::{ClientError, ErrorKind};
use super::inner::ClientInner;
use crate::budget::{Bucket, Limits};
use crate::clock::UnixNanos;
use crate::protocol::analytics::ANALYTICS_TIER;
use crate::protocol::tier::TIERS;
use crate::protocol::{Points, Tier, TierSpec, Weight};
use crate::weight::Slice;

/// The limits that a plan is made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// The tier whose walls apply; `None` leaves them to the service.
    pub(super) tier: Option<Tier>,
    /// Most weight of a request; `None` if unknown.
    pub(super) burst: Option<Weight>,
}

impl From<&TierSpec> for Terms {
    fn from(tier: &TierSpec) -> Self {
        Self { tier: Some(tier.tier), burst: Some(tier.burst()) }
    }
}

/// All requests of a call, as cut for a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TierCut {
    /// Requests.
    pub requests: usize,
    /// Their total weight.
    pub weight: Weight,
    /// Number of buckets in their windows.
    pub points: Points,
}

impl TierCut {
    /// The totals of these requests.
    pub(super) fn of<'a>(slices: impl IntoIterator<Item = &'a Slice>) -> Self {
        slices.into_iter().fold(Self::default(), |sum, slice| Self {
            requests: sum.requests + 1,
            weight: sum.weight.saturating_add(slice.weight),
            points: sum.points.saturating_add(slice.points),
        })
    }
}

/// Wait of a tier for a call.
#[derive(Debug, Clone, PartialEq)]
pub struct TierWait {
    /// The tier's name.
    pub tier: &'static str,
    /// The requests as cut for the tier; `None` if the tier does not allow the call.
    pub cut: Option<TierCut>,
    /// Seconds from a full bucket until it allows the last request, or why the tier does not allow the call.
    pub eta: Result<f64, String>,
}

impl TierWait {
    /// The wait of each tier, lowest first. `cut` cuts the call for a tier.
    pub(super) fn each(cut: impl Fn(&TierSpec) -> Result<TierCut, ClientError>) -> Vec<Self> {
        let wait = |tier: &TierSpec| match cut(tier) {
            Ok(cut) => (Some(cut), eta(tier, cut.weight)),
            // This is not the client's own tier, so the advice for that does not apply.
            Err(error) => (None, Err(error.message.split(&own_tier(tier)).next().unwrap_or_default().to_owned())),
        };
        let each = TIERS.iter().map(|tier| (tier.name, wait(tier)));
        each.map(|(tier, (cut, eta))| Self { tier, cut, eta }).collect()
    }
}

/// The end of a message about a wall of the client's own tier.
pub(super) fn own_tier(tier: &TierSpec) -> String {
    format!("; this client's tier is {}", tier.name)
}

/// Seconds until a full bucket of the tier has allowed `weight`.
fn eta(tier: &TierSpec, weight: Weight) -> Result<f64, String> {
    let start = UnixNanos::default();
    match tier.weight_per_day.filter(|most| weight > *most) {
        Some(most) => Err(format!("the call weighs {weight}, the tier {} allows {most} a day", tier.name)),
        None => Ok(Bucket::new(Limits::from(tier), start).refill(weight, start).as_secs_f64()),
    }
}

impl ClientInner {
    /// The limits of this client.
    pub(super) fn terms(&self) -> Terms {
        Terms { tier: self.tier, burst: self.pacer.burst() }
    }
}

/// The wait of each tier for analytics; every tier that includes them sends the same requests.
pub(super) fn analytics_by_tier(cut: TierCut) -> Vec<TierWait> {
    TierWait::each(|tier| if tier.tier < ANALYTICS_TIER { Err(below_analytics(tier)) } else { Ok(cut) })
}

/// The error for analytics with a lower tier (section 5).
pub(super) fn below_analytics(tier: &TierSpec) -> ClientError {
    let (wanted, own) = (ANALYTICS_TIER.spec().name, own_tier(tier));
    ClientError::new(ErrorKind::Tier, format!("prediction-market analytics need the tier {wanted}{own}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_takes_what_its_rate_allows_after_its_burst() {
        // Section 8.1: 10, 50, 100 and 750 a minute, bursts of twice that, and 1,000 a day for the free tier.
        let of = |weight: u64| TierCut { weight: Weight(weight), ..TierCut::default() };
        let seconds =
            |weight: u64| TierWait::each(|_| Ok(of(weight))).into_iter().map(|one| one.eta).collect::<Vec<_>>();
        assert_eq!(seconds(20), [Ok(0.0), Ok(0.0), Ok(0.0), Ok(0.0)]);
        assert_eq!(seconds(500), [Ok(2_880.0), Ok(480.0), Ok(180.0), Ok(0.0)]);
        let heavy = seconds(2_250);
        assert_eq!(heavy[1..], [Ok(2_580.0), Ok(1_230.0), Ok(60.0)]);
        assert!(heavy[0].as_ref().unwrap_err().contains("1000 a day"), "{heavy:?}");
        // The daily cap does not refuse a call: its time is computed.
        assert!(TierWait::each(|_| Ok(of(2_250))).iter().all(|wait| wait.cut == Some(of(2_250))));
    }
}
