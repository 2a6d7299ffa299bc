//! Work on several threads: a free thread takes the next part.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;

/// Items below which one thread is enough: starting others would take longer.
const ALONE: usize = 1 << 17;

/// Threads worth starting for work on so many items.
pub(crate) fn threads(items: usize) -> usize {
    /// Cached: the call reads several files of /proc or /sys.
    static PROCESSORS: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));
    if items < ALONE { 1 } else { *PROCESSORS }
}

/// Works on `parts` with `threads` threads: each takes the next part until there is none.
pub(crate) fn share<T>(threads: usize, parts: impl Iterator<Item = T> + Send, work: impl Fn(T) + Sync) {
    let parts = Mutex::new(parts);
    let until_done = || {
        loop {
            let next = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(part) = next else { return };
            work(part);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(until_done);
        }
        until_done();
    });
}

/// The results of `work` for each item, in the order of the items, by `threads` threads.
pub(crate) fn map<T: Send, R: Send>(threads: usize, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let made: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    share(threads, items.into_iter().enumerate(), |(place, item)| {
        let done = work(item);
        *made[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
    });
    made.into_iter().filter_map(|one| one.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// Does some work on neighbouring stretches of `items` at once, with the place at which each begins.
pub(super) fn in_stretches<T: Send>(items: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
    let threads = threads(items.len());
    let length = items.len().div_ceil(threads).max(1);
    share(threads, items.chunks_mut(length).enumerate(), |(number, stretch)| work(number * length, stretch));
}
