//! The delimiters of the current stretch of a body.

use std::cell::Cell;

use super::json::Reader;
use super::kernel::Kernel;
use super::list::BEHIND;

/// Bytes that are scanned at once: with their delimiters and results they fit into the L1 and L2 caches.
const STRETCH: usize = 16 << 10;
/// Bytes at the end of a stretch that are scanned again together with what follows.
const FEW: usize = STRETCH / 8;

thread_local! {
    /// Buffers that are reused: for a small body, clearing new ones would cost more than the decoding.
    static SPARE: Cell<(Vec<u32>, Vec<u32>)> = const { Cell::new((Vec::new(), Vec::new())) };
}

/// Positions of `,`, `]` and `}`, counted from [`Self::base`], and how many of them are consumed.
#[derive(Default)]
pub(super) struct Delimiters {
    base: usize,
    end: usize,
    places: Vec<u32>,
    count: usize,
    cursor: usize,
    /// Which of the positions are `]` or `}`, if requested.
    closers: Vec<u32>,
    closer_count: Option<usize>,
}

/// The stretch, as seen by the row decoders.
pub(super) struct DelimiterView<'a> {
    pub(super) kernel: Kernel,
    /// Its bytes, to which positions refer.
    pub(super) bytes: &'a [u8],
    /// The positions of the remaining delimiters.
    pub(super) ahead: &'a [u32],
    /// Which delimiters are closing, counted from [`Self::passed`] before those ahead; empty if not requested.
    pub(super) closers: &'a [u32],
    pub(super) passed: usize,
    /// Where the next row starts.
    pub(super) open: u32,
}

impl Delimiters {
    /// Finds rows at the reader's position. A row that may reach beyond the stretch is read again at the start of the
    /// next. `closers`: whether closing delimiters must be marked.
    pub(super) fn find(
        &mut self,
        reader: &Reader<'_>,
        closers: bool,
        mut rows: impl FnMut(&DelimiterView<'_>) -> usize,
    ) -> usize {
        let (bytes, at) = (reader.bytes(), reader.offset());
        // The last rows of a stretch are too few to be read alone if more follow.
        let enough = at + FEW <= self.end || self.end == bytes.len();
        if enough && self.reach(at) && (!closers || self.closer_count.is_some()) {
            let found = rows(&self.view(reader));
            // Starting over for every unusual row would only scan the same bytes again.
            if found > 0 || at - self.base < STRETCH / 2 {
                return found;
            }
        }
        self.cover(reader.kernel(), bytes, at, closers);
        rows(&self.view(reader))
    }

    fn view<'a>(&'a self, reader: &Reader<'a>) -> DelimiterView<'a> {
        let closers = &self.closers[..self.closer_count.unwrap_or(0)];
        let passed = closers.partition_point(|delimiter| (*delimiter as usize) < self.cursor);
        DelimiterView {
            kernel: reader.kernel(),
            bytes: &reader.bytes()[self.base..self.end],
            ahead: &self.places[self.cursor..self.count],
            closers: &closers[passed..],
            passed: self.cursor,
            open: (reader.offset() - self.base) as u32,
        }
    }

    /// Scans the stretch from `at` on.
    fn cover(&mut self, kernel: Kernel, bytes: &[u8], at: usize, closers: bool) {
        if self.places.is_empty() {
            (self.places, self.closers) = SPARE.take();
        }
        self.base = at.saturating_sub(BEHIND);
        self.end = bytes.len().min(at + STRETCH);
        let room = self.end - at + 64;
        if self.places.len() < room {
            self.places.resize(room.next_power_of_two(), 0);
        }
        let (bytes, from) = (&bytes[self.base..self.end], at - self.base);
        if closers {
            if self.closers.len() < self.places.len() {
                self.closers.resize(self.places.len(), 0);
            }
            let (count, closers) = kernel.index_closers(bytes, from, &mut self.places, &mut self.closers);
            (self.count, self.closer_count) = (count, Some(closers));
        } else {
            (self.count, self.closer_count) = (kernel.index(bytes, from, &mut self.places), None);
        }
        self.cursor = 0;
    }

    /// Whether the delimiters from `at` on are known; then those before are consumed.
    fn reach(&mut self, at: usize) -> bool {
        if at < self.base || at >= self.end {
            return false;
        }
        let place = (at - self.base) as u32;
        let ahead = &self.places[self.cursor..self.count];
        let passed = ahead.iter().take_while(|delimiter| **delimiter < place).count();
        self.cursor += passed;
        true
    }

    /// Clears everything, for another body.
    pub(super) fn clear(&mut self) {
        (self.end, self.count, self.cursor, self.closer_count) = (0, 0, 0, None);
    }

    /// The body from where positions count.
    pub(super) fn bytes<'a>(&self, reader: &Reader<'a>) -> &'a [u8] {
        &reader.bytes()[self.base.min(reader.bytes().len())..]
    }

    /// Offset in the body from which positions count.
    pub(super) fn base(&self) -> usize {
        self.base
    }

    /// Consumes some.
    pub(super) fn pass(&mut self, delimiters: usize) {
        self.cursor += delimiters;
    }
}

impl Drop for Delimiters {
    fn drop(&mut self) {
        if !self.places.is_empty() {
            let buffers = (std::mem::take(&mut self.places), std::mem::take(&mut self.closers));
            // When a thread ends, its pool may already be gone.
            SPARE.try_with(|spare| spare.set(buffers)).ok();
        }
    }
}
