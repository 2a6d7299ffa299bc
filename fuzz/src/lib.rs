//! What every target checks.

use marketpoints::columns::Series;
use marketpoints::decode::{DecodeError, Kernel, PointsDecoder, points_with};

type Answer = Result<Vec<Series>, DecodeError>;

/// Equal to the bit: the text tells -0 from 0, and NaN is itself.
fn text(answer: &Answer) -> String {
    format!("{answer:?}")
}

/// All kernels say the same of a body; returns it.
pub fn agree(body: &[u8]) -> Answer {
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
pub fn portions(kernel: Kernel, body: &[u8], sizes: &[u8]) -> Answer {
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
pub fn portions_agree(body: &[u8], sizes: &[u8]) {
    let whole = points_with(Kernel::Scalar, body);
    for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.supported()) {
        assert_eq!(text(&portions(kernel, body, sizes)), text(&whole), "{} in portions", kernel.name());
    }
}
