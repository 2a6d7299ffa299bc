//! The fuzz targets over their committed inputs, so that a target that no longer fits the decoder is found without a fuzzer.

use std::path::Path;

#[path = "../fuzz/src/lib.rs"]
#[allow(unreachable_pub)] // public in the crate whose library it is
mod targets;

fn each_seed(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let seeds: Vec<_> = folder.read_dir().unwrap().map(|seed| std::fs::read(seed.unwrap().path()).unwrap()).collect();
    assert!(seeds.len() > 2, "{target}");
    for seed in &seeds {
        check(seed);
        // Neighbours of it: cut short, and with a byte that ends most tokens.
        for place in (0..seed.len()).step_by(seed.len() / 16 + 1) {
            check(&seed[..place]);
            let mut other = seed.clone();
            other[place] = b',';
            check(&other);
        }
    }
}

#[test]
fn every_target_holds_over_its_committed_inputs() {
    for (target, check) in [
        ("flat", targets::flat as fn(&[u8])),
        ("numbers", targets::numbers),
        ("points", targets::points),
        ("chunking", targets::chunking),
    ] {
        each_seed(target, check);
    }
}
