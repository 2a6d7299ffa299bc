//! A body under construction: short stretches in place, long arrays by several threads.

use std::sync::OnceLock;
use std::thread;

/// Bytes from which on a second thread pays: a millisecond's work, against some ten microseconds to start it.
const WORTH_A_THREAD: usize = 1 << 20;

/// The body written so far.
#[derive(Default)]
pub(super) struct Body {
    /// Finished pieces, in order.
    pub(super) pieces: Vec<Vec<u8>>,
    /// The piece under construction, which follows them.
    pub(super) out: Vec<u8>,
}

impl Body {
    /// Writes an array of `rows` items of together about `bytes` bytes.
    pub(super) fn array(&mut self, rows: usize, bytes: usize, write: impl Fn(&mut Vec<u8>, usize) + Sync) {
        // Asked once: it costs as much as a small body, because it reads the limits of the process's group.
        static CORES: OnceLock<usize> = OnceLock::new();
        let cores = *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from));
        self.array_by(rows, bytes, cores.min(bytes / WORTH_A_THREAD).min(rows), &write);
    }

    fn array_by(&mut self, rows: usize, bytes: usize, threads: usize, write: &(impl Fn(&mut Vec<u8>, usize) + Sync)) {
        self.out.push(b'[');
        let span = |out: &mut Vec<u8>, part: usize| {
            for row in rows * part / threads.max(1)..rows * (part + 1) / threads.max(1) {
                if row > 0 {
                    out.push(b',');
                }
                write(out, row);
            }
        };
        if threads <= 1 {
            self.out.reserve(bytes + 64);
            span(&mut self.out, 0);
        } else {
            let piece = |part| {
                let mut out = Vec::with_capacity(bytes / threads + 64);
                span(&mut out, part);
                out
            };
            self.pieces.push(std::mem::take(&mut self.out));
            let piece = &piece;
            thread::scope(|scope| {
                let others: Vec<_> = (1..threads).map(|part| scope.spawn(move || piece(part))).collect();
                self.pieces.push(piece(0));
                for other in others {
                    self.pieces.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
                }
            });
        }
        self.out.push(b']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_threads_writes_the_same_array() {
        let whole = |rows: usize, threads: usize| {
            let mut body = Body { out: b"before".to_vec(), ..Body::default() };
            body.array_by(rows, 0, threads, &|out, row| out.extend_from_slice(row.to_string().as_bytes()));
            body.pieces.push(body.out);
            String::from_utf8(body.pieces.concat()).unwrap()
        };
        assert_eq!(whole(3, 1), "before[0,1,2]");
        assert_eq!(whole(0, 0), "before[]");
        for threads in 2..=7 {
            assert_eq!(whole(7, threads), "before[0,1,2,3,4,5,6]");
        }
    }
}
