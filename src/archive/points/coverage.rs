//! Sets of buckets: sorted, disjoint, half-open windows.

use crate::clock::Window;

/// Adds a window to a set.
pub(super) fn add(set: &mut Vec<Window>, window: Window) {
    if window.is_empty() {
        return;
    }
    let start = set.partition_point(|known| known.to < window.from);
    let end = set.partition_point(|known| known.from <= window.to);
    let from = set.get(start).filter(|_| start < end).map_or(window.from, |first| first.from.min(window.from));
    let to = if start < end { set[end - 1].to.max(window.to) } else { window.to };
    set.splice(start..end, [Window { from, to }]);
}

/// Adds windows to a set.
pub(super) fn add_all(set: &mut Vec<Window>, windows: &[Window]) {
    for window in windows {
        add(set, *window);
    }
}

/// The parts of `window` that are not in the set.
pub fn gaps(set: &[Window], window: Window) -> Vec<Window> {
    let mut left = Vec::new();
    let mut from = window.from;
    for known in overlapping(set, window) {
        if known.from > from {
            left.push(Window { from, to: known.from });
        }
        from = from.max(known.to);
    }
    if from < window.to {
        left.push(Window { from, to: window.to });
    }
    left
}

/// The parts of `window` that are in the set.
pub fn within(set: &[Window], window: Window) -> Vec<Window> {
    overlapping(set, window).map(|known| known.and(window)).collect()
}

/// Removes a window from a set.
pub(super) fn remove(set: &mut Vec<Window>, window: Window) {
    if window.is_empty() {
        return;
    }
    *set = set.iter().flat_map(|known| gaps(&[window], *known)).collect();
}

fn overlapping(set: &[Window], window: Window) -> impl Iterator<Item = Window> + '_ {
    let start = set.partition_point(|known| known.to <= window.from);
    set[start..].iter().copied().take_while(move |known| known.from < window.to)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn buckets(set: &[Window]) -> BTreeSet<i64> {
        set.iter().flat_map(|window| window.from..window.to).collect()
    }

    proptest! {
        /// A set of windows behaves like a set of single buckets.
        #[test]
        fn windows_behave_as_sets_of_buckets(
            steps in prop::collection::vec((any::<bool>(), 0_i64..60, 0_i64..12), 0..40),
            asked in (0_i64..60, 0_i64..30),
        ) {
            let (mut set, mut model) = (Vec::new(), BTreeSet::new());
            for (adding, from, length) in steps {
                let window = Window { from, to: from + length };
                if adding {
                    add(&mut set, window);
                    model.extend(from..from + length);
                } else {
                    remove(&mut set, window);
                    model.retain(|bucket| !(from..from + length).contains(bucket));
                }
                prop_assert_eq!(buckets(&set), model.clone());
                prop_assert!(set.iter().all(|window| window.from < window.to));
                prop_assert!(set.windows(2).all(|two| two[0].to < two[1].from), "sorted, apart, nothing touches: {:?}", set);
            }
            let window = Window { from: asked.0, to: asked.0 + asked.1 };
            let wanted: BTreeSet<i64> = (window.from..window.to).collect();
            prop_assert_eq!(buckets(&gaps(&set, window)), wanted.difference(&model).copied().collect::<BTreeSet<_>>());
            prop_assert_eq!(buckets(&within(&set, window)), wanted.intersection(&model).copied().collect::<BTreeSet<_>>());
        }
    }
}
