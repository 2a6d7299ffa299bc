//! `decode-once CONTENDER FILE`: decodes the body thrice, and the last time between two marks. Benches/arm.py runs it in an
//! emulator and looks at what is executed between the marks.

use std::hint::black_box;

use marketpoints::decode::{Kernel, points_with};

#[path = "../../peers/src/rival.rs"]
mod rival;

/// Where the part begins that counts; a symbol that is found in the binary.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn mark_begin() {
    black_box("begin");
}

/// Where it ends.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn mark_end() {
    black_box("end");
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let contender = arguments.next().expect("usage: decode-once CONTENDER FILE");
    let path = arguments.next().expect("usage: decode-once CONTENDER FILE");
    let body = std::fs::read(&path).expect("a body");
    let rival = rival::of(&path);
    let kernel = Kernel::ALL.into_iter().find(|kernel| kernel.name() == contender);
    let decode = || match kernel {
        Some(kernel) => drop(black_box(points_with(kernel, &body).expect("a whole body"))),
        None => rival(&body),
    };
    decode();
    decode();
    mark_begin();
    decode();
    mark_end();
}
