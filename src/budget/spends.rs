//! Weights spent in the last minute, with their times.

use std::collections::VecDeque;
use std::collections::vec_deque::Iter;
use std::iter::Copied;

use serde::{Deserialize, Serialize};

use crate::clock::UnixNanos;
use crate::protocol::Weight;

/// Spends in the order of their times, with their sum at hand: a service sends it with every answer,
/// and a busy minute has hundreds of thousands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "VecDeque<(UnixNanos, Weight)>", into = "VecDeque<(UnixNanos, Weight)>")]
pub(super) struct Spends {
    each: VecDeque<(UnixNanos, Weight)>,
    total: Weight,
}

impl From<VecDeque<(UnixNanos, Weight)>> for Spends {
    fn from(each: VecDeque<(UnixNanos, Weight)>) -> Self {
        let total = each.iter().fold(Weight::ZERO, |total, &(_, weight)| total.saturating_add(weight));
        Self { each, total }
    }
}

impl From<Spends> for VecDeque<(UnixNanos, Weight)> {
    fn from(spends: Spends) -> Self {
        spends.each
    }
}

impl Spends {
    /// Sum of the weights.
    pub(super) fn total(&self) -> Weight {
        self.total
    }

    /// Number of spends.
    pub(super) fn len(&self) -> usize {
        self.each.len()
    }

    /// Every spend.
    pub(super) fn iter(&self) -> Copied<Iter<'_, (UnixNanos, Weight)>> {
        self.each.iter().copied()
    }

    /// Adds the newest.
    pub(super) fn push(&mut self, at: UnixNanos, weight: Weight) {
        self.each.push_back((at, weight));
        self.total = self.total.saturating_add(weight);
    }

    /// Forgets those up to a time.
    pub(super) fn forget(&mut self, until: UnixNanos) {
        while let Some(&(at, weight)) = self.each.front().filter(|(at, _)| *at <= until) {
            debug_assert!(at <= until);
            self.each.pop_front();
            self.total = self.total.saturating_sub(weight);
        }
    }

    /// Takes back a weight: the newest spend of just that weight, or else, because spends may have been joined, from the
    /// newest on.
    pub(super) fn take_back(&mut self, weight: Weight) {
        match self.each.iter().rposition(|&(_, spent)| spent == weight) {
            Some(index) => {
                self.each.remove(index);
                self.total = self.total.saturating_sub(weight);
            }
            None => self.lower(weight),
        }
    }

    /// Lowers the sum by a weight, the newest first.
    pub(super) fn lower(&mut self, mut weight: Weight) {
        while weight > Weight::ZERO {
            let Some((at, spent)) = self.each.pop_back() else { return };
            self.total = self.total.saturating_sub(spent);
            if spent > weight {
                self.push(at, spent - weight);
            }
            weight = weight.saturating_sub(spent);
        }
    }

    /// Joins what `same` says are spends of one time, at the latest of them.
    pub(super) fn join(&mut self, same: impl Fn(UnixNanos, UnixNanos) -> bool) {
        let mut joined: VecDeque<(UnixNanos, Weight)> = VecDeque::new();
        for (at, weight) in self.iter() {
            match joined.back_mut() {
                Some(last) if same(last.0, at) => *last = (at, last.1.saturating_add(weight)),
                _ => joined.push_back((at, weight)),
            }
        }
        *self = joined.into();
    }

    /// Moves all of them so many nanoseconds in time.
    pub(super) fn shift(&mut self, by: i64) {
        for (at, _) in &mut self.each {
            *at = at.plus(by);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever happens to them, the sum is that of what is there.
        #[test]
        fn the_sum_is_always_at_hand(steps in prop::collection::vec((0u8..5, 1u64..50), 0..80)) {
            let mut spends = Spends::default();
            for (now, (kind, weight)) in (0..).zip(steps) {
                match kind {
                    0 | 1 => spends.push(UnixNanos(now), Weight(weight)),
                    2 => spends.take_back(Weight(weight)),
                    3 => spends.lower(Weight(weight)),
                    _ => spends.forget(UnixNanos(now - weight as i64)),
                }
                prop_assert_eq!(spends.total(), spends.iter().map(|(_, weight)| weight).sum::<Weight>());
            }
            let before = spends.total();
            spends.join(|one, other| one.0 / 7 == other.0 / 7);
            prop_assert_eq!((spends.total(), spends.iter().map(|(_, weight)| weight).sum::<Weight>()), (before, before));
        }
    }
}
