//! Columns that grow by a stretch of values at a time, which several threads fill at once.

use super::pages;

/// Values of which the first `filled` are set; behind them is room for more, zeros at first.
#[derive(Debug)]
pub(crate) struct Growing<T> {
    values: Vec<T>,
    filled: usize,
}

impl<T> Default for Growing<T> {
    fn default() -> Self {
        Self { values: Vec::new(), filled: 0 }
    }
}

impl<T: Copy + Default> Growing<T> {
    /// How many values are set.
    pub(crate) fn len(&self) -> usize {
        self.filled
    }

    /// The values that are set.
    pub(crate) fn filled_mut(&mut self) -> &mut [T] {
        &mut self.values[..self.filled]
    }

    /// Makes room for `more` values, and at once for `expected` ones, so that the column is not moved each time that it
    /// grows.
    pub(crate) fn reserve(&mut self, more: usize, expected: usize) {
        let ahead = self.filled + more.max(expected);
        if self.values.is_empty() {
            self.values = pages::room(ahead);
        } else if self.values.len() < self.filled + more {
            // Larger blocks are moved without a copy, so that there are not two of them at any time.
            let more = ahead - self.values.len();
            pages::reserve(&mut self.values, more);
            self.values.resize(ahead, T::default());
        }
    }

    /// The room for the next `more` values, of unspecified content.
    pub(crate) fn room(&mut self, more: usize) -> &mut [T] {
        &mut self.values[self.filled..self.filled + more]
    }

    /// Counts the first `more` values of the room as set.
    pub(crate) fn fill(&mut self, more: usize) {
        self.filled += more;
    }

    /// Moves values within the room, of places counted from its start.
    pub(crate) fn move_within(&mut self, from: std::ops::Range<usize>, to: usize) {
        self.values[self.filled..].copy_within(from, to);
    }

    /// The values that are set, with little spare capacity.
    pub(crate) fn finish(self) -> Vec<T> {
        let mut values = self.values;
        values.truncate(self.filled);
        pages::fit(&mut values);
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_stays_when_it_grows() {
        let mut column = Growing::default();
        column.reserve(2, 3);
        column.room(2).copy_from_slice(&[1, 2]);
        column.fill(2);
        column.reserve(3, 0);
        column.room(3).copy_from_slice(&[9, 3, 4]);
        column.move_within(1..3, 0);
        column.fill(2);
        assert_eq!((column.len(), column.filled_mut().to_vec()), (4, vec![1, 2, 3, 4]));
        assert_eq!(column.finish(), [1, 2, 3, 4]);
        assert!(Growing::<f64>::default().finish().is_empty());
    }
}
