//! The delimiters of the stretch of a body whose rows are being read.

use std::cell::Cell;

use super::kernel::Kernel;
use super::list::{BEHIND, STRETCH};

thread_local! {
    /// A buffer between two uses: for a small body, clearing a new one would cost more than the decoding.
    static SPARE: Cell<Vec<u32>> = const { Cell::new(Vec::new()) };
}

/// Places of `,`, `]` and `}`, counted from [`Self::base`], and how many of them are passed.
pub(super) struct Window {
    base: usize,
    end: usize,
    places: Vec<u32>,
    count: usize,
    cursor: usize,
}

impl Window {
    /// A window on nothing.
    pub(super) fn new() -> Self {
        Self { base: 0, end: 0, places: Vec::new(), count: 0, cursor: 0 }
    }

    /// Looks through the stretch from `at` on.
    pub(super) fn cover(&mut self, kernel: Kernel, bytes: &[u8], at: usize) {
        if self.places.is_empty() {
            self.places = SPARE.take();
        }
        self.base = at.saturating_sub(BEHIND);
        self.end = bytes.len().min(at + STRETCH);
        let room = self.end - at + 64;
        if self.places.len() < room {
            self.places.resize(room.next_power_of_two(), 0);
        }
        self.count = kernel.index(&bytes[self.base..self.end], at - self.base, &mut self.places);
        self.cursor = 0;
    }

    /// Whether the delimiters from `at` on are known; then those before are passed.
    pub(super) fn reach(&mut self, at: usize) -> bool {
        if at < self.base || at >= self.end {
            return false;
        }
        let place = (at - self.base) as u32;
        let passed = self.ahead().iter().take_while(|delimiter| **delimiter < place).count();
        self.cursor += passed;
        true
    }

    /// Whether it makes sense to look through a stretch from `at` on, for a row that was not found in this one: it may
    /// reach beyond, and a window that starts over for every odd row would only look at the same bytes again.
    pub(super) fn is_used_up(&self, at: usize) -> bool {
        at >= self.end || at < self.base || at - self.base > STRETCH / 2
    }

    /// Forgets everything: the bytes are others now.
    pub(super) fn clear(&mut self) {
        (self.end, self.count, self.cursor) = (0, 0, 0);
    }

    /// Offset in the body from which places count.
    pub(super) fn base(&self) -> usize {
        self.base
    }

    /// The delimiters that are not passed.
    pub(super) fn ahead(&self) -> &[u32] {
        &self.places[self.cursor..self.count]
    }

    /// Passes some.
    pub(super) fn pass(&mut self, delimiters: usize) {
        self.cursor += delimiters;
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        if !self.places.is_empty() {
            SPARE.set(std::mem::take(&mut self.places));
        }
    }
}
