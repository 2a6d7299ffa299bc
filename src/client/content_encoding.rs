//! A body as it was before it was packed with gzip, in small pieces: a few bytes may stand for millions.

use std::io::Write;

use flate2::write::MultiGzDecoder;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

/// Packed bytes that are unpacked at once: gzip makes a thousand times as many of them at the most.
const PIECE: usize = 4 << 10;

/// How a body comes.
pub(super) enum ContentDecoder {
    /// As it is; other encodings are the HTTP library's work.
    Plain,
    /// As gzip, of one member or of several one after the other.
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl ContentDecoder {
    /// For the body with these headers.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let encoding = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
        match encoding.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            _ => Self::Plain,
        }
    }

    /// Whether lengths that are announced are those of the body itself.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Unpacks what came, and hands it on piece by piece until `take` refuses one.
    pub(super) fn unpack<E: From<std::io::Error>>(
        &mut self,
        chunk: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self::Gzip(decoder) = self else { return take(chunk) };
        for piece in chunk.chunks(PIECE) {
            decoder.write_all(piece)?;
            take(decoder.get_ref())?;
            decoder.get_mut().clear();
        }
        Ok(())
    }

    /// What is left when all has come.
    ///
    /// # Errors
    /// The packed body is not whole, or its checksum differs.
    pub(super) fn finish<E: From<std::io::Error>>(self, take: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Plain => Ok(()),
            Self::Gzip(decoder) => take(&decoder.finish()?),
        }
    }
}
