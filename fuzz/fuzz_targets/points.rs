//! Any bytes: all kernels agree, and what is accepted is JSON in the eyes of an independent reader.
#![no_main]

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    if marketpoints_fuzz::agree(body).is_ok() {
        serde_json::from_slice::<serde_json::Value>(body).expect("accepted, so it is JSON");
    }
});
