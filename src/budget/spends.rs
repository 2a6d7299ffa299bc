//! What was spent in the last minute, and when.

use std::collections::VecDeque;
use std::collections::vec_deque::Iter;
use std::iter::Copied;

use serde::{Deserialize, Serialize};

/// Spends in the order of their times (Unix nanoseconds), with their sum at hand: a service tells it with every answer,
/// and a busy minute has hundreds of thousands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "VecDeque<(i64, u64)>", into = "VecDeque<(i64, u64)>")]
pub(super) struct Spends {
    each: VecDeque<(i64, u64)>,
    total: u64,
}

impl From<VecDeque<(i64, u64)>> for Spends {
    fn from(each: VecDeque<(i64, u64)>) -> Self {
        let total = each.iter().fold(0, |total: u64, &(_, weight)| total.saturating_add(weight));
        Self { each, total }
    }
}

impl From<Spends> for VecDeque<(i64, u64)> {
    fn from(spends: Spends) -> Self {
        spends.each
    }
}

impl Spends {
    /// Sum of the weights.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Number of spends.
    pub(super) fn len(&self) -> usize {
        self.each.len()
    }

    /// Every spend.
    pub(super) fn iter(&self) -> Copied<Iter<'_, (i64, u64)>> {
        self.each.iter().copied()
    }

    /// Adds the newest.
    pub(super) fn push(&mut self, at: i64, weight: u64) {
        self.each.push_back((at, weight));
        self.total = self.total.saturating_add(weight);
    }

    /// Forgets those up to a time.
    pub(super) fn forget(&mut self, until: i64) {
        while let Some(&(at, weight)) = self.each.front().filter(|(at, _)| *at <= until) {
            debug_assert!(at <= until);
            self.each.pop_front();
            self.total = self.total.saturating_sub(weight);
        }
    }

    /// Takes back a weight: the newest spend of just that weight, or else, because spends may have been joined, from the
    /// newest on.
    pub(super) fn take_back(&mut self, weight: u64) {
        match self.each.iter().rposition(|&(_, spent)| spent == weight) {
            Some(index) => {
                self.each.remove(index);
                self.total = self.total.saturating_sub(weight);
            }
            None => self.lower(weight),
        }
    }

    /// Lowers the sum by a weight, the newest first.
    pub(super) fn lower(&mut self, mut weight: u64) {
        while weight > 0 {
            let Some((at, spent)) = self.each.pop_back() else { return };
            self.total = self.total.saturating_sub(spent);
            if spent > weight {
                self.push(at, spent - weight);
            }
            weight = weight.saturating_sub(spent);
        }
    }

    /// Joins what `same` says are spends of one time, at the latest of them.
    pub(super) fn join(&mut self, same: impl Fn(i64, i64) -> bool) {
        let mut joined: VecDeque<(i64, u64)> = VecDeque::new();
        for (at, weight) in self.iter() {
            match joined.back_mut() {
                Some(last) if same(last.0, at) => *last = (at, last.1.saturating_add(weight)),
                _ => joined.push_back((at, weight)),
            }
        }
        *self = joined.into();
    }

    /// Moves all of them in time.
    pub(super) fn shift(&mut self, by: i64) {
        for (at, _) in &mut self.each {
            *at = at.saturating_add(by);
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
                    0 | 1 => spends.push(now, weight),
                    2 => spends.take_back(weight),
                    3 => spends.lower(weight),
                    _ => spends.forget(now - weight as i64),
                }
                prop_assert_eq!(spends.total(), spends.iter().map(|(_, weight)| weight).sum::<u64>());
            }
            let before = spends.total();
            spends.join(|one, other| one / 7 == other / 7);
            prop_assert_eq!((spends.total(), spends.iter().map(|(_, weight)| weight).sum::<u64>()), (before, before));
        }
    }
}
