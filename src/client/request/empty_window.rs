//! Explains why a window holds no bucket (supplement 4).

use super::PointsRequest;
use crate::clock::{UnixNanos, UnixSecond, utc};
use crate::protocol::Tier;
use crate::protocol::query::Spelling;

impl PointsRequest {
    /// Why the request's window at `now` for a tier holds no bucket; `None` if it holds one.
    #[must_use]
    pub fn why_no_bucket(&self, now: UnixNanos, tier: Option<Tier>) -> Option<String> {
        let window = self.window(now, tier);
        if !window.is_empty() {
            return None;
        }
        let clock = now.second();
        let forming = self.grid.floor(clock);
        let period = self.period.map(|period| period as f64);
        let (start, end) = match (self.start, self.end, period) {
            (Some(start), Some(end), _) => (start, end),
            (Some(start), None, Some(period)) => (start, start + period),
            (None, Some(end), Some(period)) => (end - period, end),
            (None, None, Some(period)) => (forming.0 as f64 - period, forming.0 as f64),
            // An open end means now.
            (Some(start), None, None) => (start, start.max(now.ceil_second().0 as f64)),
            (None, _, None) => return None,
        };
        let (start, end) = (UnixSecond(start.ceil() as i64), UnixSecond(end.ceil() as i64));
        let first = self.grid.ceil(start);
        let why = if start > clock {
            format!("the window starts at {}, in the future: the clock says {}", utc(start), utc(clock))
        } else if start >= end {
            format!("the window is empty: it starts and ends at {}", utc(start))
        } else if first >= end && first != forming {
            let before = utc(self.grid.floor(start));
            format!(
                "no bucket starts from {} to {}: one does at {before}, the next at {}",
                utc(start),
                utc(end),
                utc(first)
            )
        } else if first >= end {
            format!("no bucket starts from {} to {}: the next does at {}", utc(start), utc(end), utc(first))
        } else {
            let hint = match Spelling::caller().switch("include_forming", true) {
                _ if self.include_forming => String::new(),
                switch => format!("; {switch} takes those that form"),
            };
            format!("no bucket of the window was closed at {}{hint}", utc(clock))
        };
        Some(format!("{why} (so nothing was asked)"))
    }
}
