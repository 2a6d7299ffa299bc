//! Times every kernel and sonic-rs on bodies from files: bytes → columns of doubles. One line of JSON for each body.
//!
//! `peers RUNS FILE…`: in every run each contender decodes once (small bodies many times), in turn; the best counts,
//! because everything else on a machine only ever makes a run slower. Time is the thread's processor time, page faults
//! included.

use std::hint::black_box;

use marketpoints::decode::{Kernel, points_with};

mod rival;

/// Bytes that are at least decoded between two looks at the clock.
const PORTION: usize = 2_000_000;

fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn seconds(times: usize, work: &dyn Fn()) -> f64 {
    work(); // whoever ran before leaves cold caches
    let start = now();
    for _ in 0..times {
        work();
    }
    (now() - start) / times as f64
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let runs: usize = arguments.next().and_then(|runs| runs.parse().ok()).expect("usage: peers RUNS FILE…");
    for path in arguments {
        let body = std::fs::read(&path).expect("a body");
        let times = (PORTION / body.len()).max(1);
        let kernels: Vec<Kernel> = Kernel::ALL.into_iter().filter(|kernel| kernel.supported()).collect();
        let mut best = vec![f64::INFINITY; kernels.len() + 1];
        let rival = rival::of(&path);
        for _ in 0..runs {
            for (best, kernel) in best.iter_mut().zip(&kernels) {
                let ours = seconds(times, &|| drop(black_box(points_with(*kernel, &body).expect("a whole body"))));
                *best = best.min(ours);
            }
            let theirs = seconds(times, &|| rival(&body));
            best[kernels.len()] = best[kernels.len()].min(theirs);
        }
        let names = kernels.iter().map(|kernel| kernel.name()).chain(["sonic-rs"]);
        let line: serde_json::Map<_, _> = names.zip(&best).map(|(name, time)| (name.to_owned(), (*time).into())).collect();
        println!("{}", serde_json::to_string(&line).expect("numbers"));
    }
}
