//! The inside of a flat array: all kernels agree.
#![no_main]

libfuzzer_sys::fuzz_target!(|values: &[u8]| {
    let mut body = br#"{"series":[{"id":{"type":"BLOCK_BOOK_SNAPSHOT_AGG"},"flat_points":["#.to_vec();
    body.extend_from_slice(values);
    body.extend_from_slice(b"]}]}");
    let _ = marketpoints_fuzz::agree(&body);
});
