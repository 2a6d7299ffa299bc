//! Arrays of numbers, thousands at a time.

use std::cell::Cell;

use super::json::{Reader, Result};

/// Bytes that are scanned at once: with their delimiters and results they fit into the L1 and L2 caches.
const STRETCH: usize = 8 << 10;
/// Bytes kept before the first number, which the vector kernels load with it.
pub(super) const BEHIND: usize = 64;

thread_local! {
    /// A buffer that is reused: for a small list, clearing a new one would cost more than the decoding.
    static PLACES: Cell<Vec<u32>> = const { Cell::new(Vec::new()) };
}

/// The result of reading a stretch of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListStretch {
    /// Its numbers are read, up to and including a comma.
    Read,
    /// The list is read to its end.
    Closed,
    /// Something in it is not a number, or the first number is incomplete; nothing is read.
    Odd,
}

impl Reader<'_> {
    /// Reads an array of numbers and appends them to `out`.
    pub(super) fn numbers(&mut self, out: &mut Vec<f64>) -> Result<()> {
        let start = out.len();
        let mut ahead = self.clone();
        if ahead.open(b'[')? {
            loop {
                match ahead.stretch(out) {
                    ListStretch::Read => {}
                    ListStretch::Closed => {
                        *self = ahead;
                        return Ok(());
                    }
                    ListStretch::Odd => break,
                }
            }
        }
        // The slow path finds the error, or the missing rest, with its position.
        out.truncate(start);
        self.array(|reader, _| {
            out.push(reader.number()?);
            Ok(())
        })
    }

    /// Reads the next numbers of an array, from the start of an element to the end of one.
    pub(super) fn stretch(&mut self, out: &mut Vec<f64>) -> ListStretch {
        let mut places = PLACES.take();
        let stretch = self.stretch_with(&mut places, out);
        PLACES.set(places);
        stretch
    }

    fn stretch_with(&mut self, places: &mut Vec<u32>, out: &mut Vec<f64>) -> ListStretch {
        let at = self.offset();
        let base = at.saturating_sub(BEHIND);
        let bytes = self.bytes();
        let bytes = &bytes[base..bytes.len().min(at + STRETCH)];
        let from = at - base;
        let room = bytes.len() - from + 65;
        if places.len() < room {
            places.resize(room.next_power_of_two(), 0);
        }
        let Some(last) = self.kernel().list(bytes, from, places, out) else { return ListStretch::Odd };
        if bytes[last] == b']' {
            self.leave(base + last + 1);
            return ListStretch::Closed;
        }
        self.jump(base + last + 1);
        ListStretch::Read
    }
}
