//! What the targets check: each is given bytes, and panics where something is not as it must be. `tests/decode_fuzz_seeds.rs` runs
//! them over the committed inputs.

use marketpoints::columns::{Column, Series};
use marketpoints::decode::{DecodeError, Kernel, PointsDecoder, points_with};
use serde::de::IgnoredAny;

type Answer = Result<Vec<Series>, DecodeError>;

/// Equal to the bit: the text tells -0 from 0, and NaN is itself.
fn text(answer: &Answer) -> String {
    format!("{answer:?}")
}

/// The inside of a flat array: all kernels agree.
pub fn flat(values: &[u8]) {
    let mut body = br#"{"series":[{"id":{"type":"BLOCK_BOOK_SNAPSHOT_AGG"},"flat_points":["#.to_vec();
    body.extend_from_slice(values);
    body.extend_from_slice(b"]}]}");
    let _ = agree(&body);
}

/// A list of tokens: all kernels agree, and with the standard library on every number.
pub fn numbers(tokens: &[u8]) {
    // Other bytes would be structure, or refused at once.
    if !tokens.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E' | b',' | b' ')) {
        return;
    }
    // A field that the type's table knows: others stay as sent where a double does not hold a number.
    let before = br#"{"series":[{"id":{"type":"TPO_AGG"},"points":[{"TpoAggregation":{"timestamp":{"s":1},"levels":[{"block_ids":[0,"#;
    let body = [&before[..], tokens, b"]}]}}]}]}"].concat();
    let Ok(series) = agree(&body) else { return };
    let Some(Column::Rows(levels)) = series[0].column("levels") else { panic!("a list of levels") };
    let Some((_, Column::List(list))) = levels.columns.iter().find(|(name, _)| &**name == "block_ids") else {
        panic!("a list of numbers")
    };
    let text = std::str::from_utf8(tokens).expect("ASCII");
    let expected: Vec<u64> = text.split(',').map(|token| token.trim().parse::<f64>().unwrap().to_bits()).collect();
    let found: Vec<u64> = list.values[1..].iter().map(|value| value.to_bits()).collect();
    assert_eq!(found, expected);
}

/// Any bytes: all kernels agree, and what is accepted is JSON in the eyes of an independent reader.
pub fn points(body: &[u8]) {
    if agree(body).is_err() {
        return;
    }
    // As it is written: unknown fields keep numbers beyond doubles, which no value of that reader holds.
    let body = std::str::from_utf8(body).expect("accepted, so it is UTF-8");
    serde_json::from_str::<IgnoredAny>(body).expect("accepted, so it is JSON");
    if let Err(error) = serde_json::from_str::<serde_json::Value>(body) {
        assert!(error.to_string().starts_with("number out of range"), "accepted, but {error}");
    }
}

/// Any bytes in any portions give what the whole gives. The first bytes are the portions' sizes, up to a zero.
pub fn chunking(input: &[u8]) {
    let count = input.iter().take(16).position(|size| *size == 0).unwrap_or(input.len().min(16));
    let (sizes, body) = input.split_at(count);
    portions_agree(body.strip_prefix(&[0]).unwrap_or(body), sizes);
}

/// All kernels say the same of a body; returns it.
fn agree(body: &[u8]) -> Answer {
    let first = points_with(Kernel::Scalar, body);
    for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.supported()) {
        let answer = points_with(kernel, body);
        assert_eq!(text(&answer), text(&first), "{} against scalar", kernel.name());
    }
    if let Err(error) = &first {
        assert!(error.offset <= body.len());
    }
    first
}

/// Any portions give what the whole gives.
fn portions(kernel: Kernel, body: &[u8], sizes: &[u8]) -> Answer {
    let mut decoder = PointsDecoder::with(kernel);
    let mut rest = body;
    // A portion of 0 to 254 bytes, or of 16 KiB.
    let size = |size: u8| if size == u8::MAX { 16 << 10 } else { usize::from(size) };
    let mut sizes = sizes.iter().copied().map(size).chain(std::iter::repeat(usize::MAX));
    while !rest.is_empty() {
        let (portion, after) = rest.split_at(sizes.next().unwrap_or(usize::MAX).min(rest.len()));
        decoder.feed(portion)?;
        rest = after;
    }
    decoder.finish()
}

/// Checks that [`portions`] agree with the whole.
fn portions_agree(body: &[u8], sizes: &[u8]) {
    let whole = points_with(Kernel::Scalar, body);
    for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.supported()) {
        assert_eq!(text(&portions(kernel, body, sizes)), text(&whole), "{} in portions", kernel.name());
    }
}
