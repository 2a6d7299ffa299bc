//! Any bytes in any portions give what the whole gives. The first bytes are the portions' sizes, up to a zero.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let count = input.iter().take(16).position(|size| *size == 0).unwrap_or(input.len().min(16));
    let (sizes, body) = input.split_at(count);
    marketpoints_fuzz::portions_agree(body.strip_prefix(&[0]).unwrap_or(body), sizes);
});
