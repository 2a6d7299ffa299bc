//! Since when buckets are known: windows of bucket starts with the moment of their first download.
//!
//! Downloading each bucket as it closes would make a window for each. Such neighbours are merged into one window whose
//! buckets count as known a fixed time after their close: at most twice as late as they really were, and never earlier.

use super::coverage::{gaps, within};
use super::key::ArchiveKey;
use crate::clock::{MICROS_PER_SECOND, UnixMicros, UnixSecond, Window};

/// Longest time after its close at which a bucket counts as downloaded as it closed, in seconds.
const PROMPT: i64 = 3_600;

/// Buckets, each known since `at` or `lag` after its close, whichever is later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownBuckets {
    pub(super) window: Window,
    at: UnixMicros,
    /// Seconds.
    lag: i64,
}

impl KnownBuckets {
    /// Buckets known since a moment.
    fn since(window: Window, at: UnixMicros) -> Self {
        Self { window, at, lag: 0 }
    }

    /// The part within a window.
    pub(super) fn cut(self, window: Window) -> Option<Self> {
        let cut = self.window.and(window);
        (!cut.is_empty()).then_some(Self { window: cut, ..self })
    }

    /// The part known at a moment.
    pub(super) fn by(self, key: &ArchiveKey, moment: UnixMicros) -> Option<Window> {
        let closed = key.closed(UnixMicros(moment.0.saturating_sub(self.lag * MICROS_PER_SECOND)).second()).0;
        let Window { from, to } = self.window;
        (self.at <= moment && from < closed).then_some(Window { from, to: to.min(closed) })
    }

    /// The moment at which all of it was known; `None` if not recorded.
    pub(super) fn whole(self, key: &ArchiveKey) -> Option<UnixMicros> {
        let closed = || key.grid().end(key.grid().floor(UnixSecond(self.window.to - 1))).plus(self.lag);
        (self != Self { at: UnixMicros(0), lag: 0, ..self })
            .then(|| self.at.max(if self.lag > 0 { closed().micros() } else { UnixMicros(i64::MIN) }))
    }

    /// How long after their close the buckets are known; `None` if they were not downloaded as they closed.
    fn promptness(&self, key: &ArchiveKey) -> Option<i64> {
        if self.lag > 0 {
            return Some(self.lag);
        }
        let late = self.at.second().0 + 1 - key.grid().end(self.window.start()).0;
        (1..=PROMPT).contains(&late).then(|| late.unsigned_abs().next_power_of_two() as i64)
    }

    /// Merges it with the one that follows.
    fn and(&self, next: &Self, key: &ArchiveKey) -> Option<Self> {
        if self.window.to != next.window.from {
            return None;
        }
        let window = Window { from: self.window.from, to: next.window.to };
        if (self.at, self.lag) == (next.at, next.lag) {
            return Some(Self { window, ..*self });
        }
        let lag = self.promptness(key)?;
        (next.promptness(key) == Some(lag)).then_some(Self { window, at: self.at, lag })
    }

    pub(super) fn numbers(&self) -> (i64, i64, i64, i64) {
        (self.window.from, self.window.to, self.at.0, self.lag)
    }

    pub(super) fn of_numbers((from, to, at, lag): (i64, i64, i64, i64)) -> Self {
        Self { window: Window { from, to }, at: UnixMicros(at), lag }
    }
}

/// Records that a window became known at a moment, except where it was known before.
pub(super) fn note(set: &mut Vec<KnownBuckets>, key: &ArchiveKey, window: Window, at: UnixMicros) {
    let before: Vec<Window> = set.iter().map(|known| known.window).collect();
    for gap in gaps(&before, window) {
        let mut place = set.partition_point(|known| known.window.from < gap.from);
        set.insert(place, KnownBuckets::since(gap, at));
        if let Some(both) = place.checked_sub(1).and_then(|before| set[before].and(&set[place], key)) {
            place -= 1;
            set.splice(place..place + 2, [both]);
        }
        if let Some(both) = set.get(place + 1).and_then(|next| set[place].and(next, key)) {
            set.splice(place..place + 2, [both]);
        }
    }
}

/// Removes a window from a set.
pub(super) fn forget(set: &mut Vec<KnownBuckets>, window: Window) {
    *set = set
        .iter()
        .flat_map(|known| gaps(&[window], known.window).into_iter().filter_map(|left| known.cut(left)))
        .collect();
}

/// Since when the buckets of some windows are known; if not recorded, since their close.
pub(super) fn known_of(set: &[KnownBuckets], windows: &[Window]) -> Vec<KnownBuckets> {
    let noted: Vec<Window> = set.iter().map(|known| known.window).collect();
    let mut found = Vec::new();
    for window in windows {
        found.extend(gaps(&noted, *window).into_iter().map(|gap| KnownBuckets::since(gap, UnixMicros(0))));
        let first = set.partition_point(|known| known.window.to <= window.from);
        found.extend(set[first..].iter().map_while(|known| known.cut(*window)));
    }
    found.sort_unstable_by_key(|known| known.window.from);
    found
}

/// The parts of one set of windows that are not in another.
pub(super) fn without(set: &[Window], taken: &[Window]) -> Vec<Window> {
    set.iter().flat_map(|window| gaps(taken, *window)).collect()
}

/// The intersection of two sets of windows.
pub(super) fn shared(set: &[Window], other: &[Window]) -> Vec<Window> {
    set.iter().flat_map(|window| within(other, *window)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::clock::MICROS_PER_SECOND as SECOND;
    use crate::protocol::PointsQuery;

    const MINUTE: i64 = 60;

    fn key() -> ArchiveKey {
        let query = PointsQuery { data_type: "T".into(), interval: Some("MINUTE".into()), ..PointsQuery::default() };
        ArchiveKey::new("https://host", &query).unwrap()
    }

    /// The first moment at which a bucket is known.
    fn since(set: &[KnownBuckets], bucket: i64) -> Option<i64> {
        let start = bucket * MINUTE;
        let holder = set.iter().find(|known| known.window.from <= start && start < known.window.to)?;
        holder.cut(Window { from: start, to: start + MINUTE })?.whole(&key()).map(|at| at.0)
    }

    proptest! {
        /// Compared with each bucket's real time of download: never earlier, and later only if it was downloaded as it
        /// closed.
        #[test]
        fn no_bucket_is_known_before_it_was(
            steps in prop::collection::vec((0_i64..30, 1_i64..6, 0_i64..9_000, any::<bool>()), 1..40),
        ) {
            let (key, mut set, mut model) = (key(), Vec::new(), BTreeMap::<i64, i64>::new());
            for (first, count, late, forgets) in steps {
                let window = Window { from: first * MINUTE, to: (first + count) * MINUTE };
                let at = (window.to + late) * SECOND + 17;
                if forgets && late > 6_000 {
                    forget(&mut set, window);
                    model.retain(|bucket, _| !(first..first + count).contains(bucket));
                } else {
                    note(&mut set, &key, window, UnixMicros(at));
                    (first..first + count).for_each(|bucket| { model.entry(bucket).or_insert(at); });
                }
                prop_assert!(set.windows(2).all(|two| two[0].window.to <= two[1].window.from));
                for bucket in 0..40 {
                    let (noted, real) = (since(&set, bucket), model.get(&bucket).copied());
                    prop_assert_eq!(noted.is_some(), real.is_some());
                    let (Some(noted), Some(real)) = (noted, real) else { continue };
                    let close = (bucket + 1) * MINUTE * SECOND;
                    prop_assert!(real <= noted, "{bucket}: {noted} is sooner than {real}");
                    prop_assert!(noted == real || noted - close <= 2 * (PROMPT + 301) * SECOND, "{bucket}: {noted} {real}");
                    let seen = |moment| set.iter().filter_map(|known| known.by(&key, moment))
                        .any(|window| window.from <= bucket * MINUTE && bucket * MINUTE < window.to);
                    prop_assert!(!seen(UnixMicros(noted - 1)) && seen(UnixMicros(noted)));
                }
            }
        }
    }

    #[test]
    fn buckets_that_are_asked_as_they_close_are_one_window() {
        let (key, mut set) = (key(), Vec::new());
        for bucket in 0..10_000 {
            let window = Window { from: bucket * MINUTE, to: (bucket + 1) * MINUTE };
            // A second after the close; once an hour late.
            let late = if bucket == 5_000 { 3_500 } else { 1 };
            note(&mut set, &key, window, UnixMicros((window.to + late) * SECOND));
        }
        assert_eq!(set.len(), 3);
        assert_eq!(since(&set, 9_999), Some((10_000 * MINUTE + 2) * SECOND));
        assert_eq!(since(&set, 5_000), Some((5_001 * MINUTE + 3_500) * SECOND));
        // Buckets downloaded long after their close keep their moment.
        let mut set = Vec::new();
        for day in 0..3 {
            let at = (day + 1) * 86_400 * SECOND + 5;
            note(&mut set, &key, Window { from: day * 86_400, to: (day + 1) * 86_400 }, UnixMicros(at));
            assert_eq!(since(&set, (day + 1) * 1_440 - 1), Some(at));
        }
        assert_eq!(set.len(), 3);
        assert_eq!(known_of(&[], &[Window { from: 0, to: 60 }])[0].whole(&key), None);
    }
}
