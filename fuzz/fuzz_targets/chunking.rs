#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| marketpoints_fuzz::chunking(input));
