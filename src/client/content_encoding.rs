//! Decompresses gzip bodies in small pieces, because a few bytes may expand to millions.

use std::io::Write;

use flate2::write::MultiGzDecoder;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

/// Compressed bytes that are decompressed at once: gzip expands them a thousandfold at most.
const PIECE: usize = 4 << 10;

/// Encoding of a body.
pub(super) enum ContentDecoder {
    /// None; encodings other than gzip are left to the HTTP library.
    Plain,
    /// gzip, of one or several members.
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl ContentDecoder {
    /// The decoder for a body with these headers.
    ///
    /// # Errors
    /// The body is compressed in a way that was not asked for; the message names it.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, String> {
        let encoding = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
        match encoding.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new())))),
            other if matches!(other, "br" | "deflate" | "compress" | "x-compress") || other.contains(',') => {
                Err(format!("the answer is encoded as {encoding:?}; gzip and zstd were asked for"))
            }
            _ => Ok(Self::Plain),
        }
    }

    /// Whether an announced length is that of the decoded body.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Decompresses a chunk and passes it on piece by piece until `take` returns an error.
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

    /// Passes on the rest when the body has ended.
    ///
    /// # Errors
    /// The compressed body is incomplete, or its checksum differs.
    pub(super) fn finish<E: From<std::io::Error>>(self, take: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Plain => Ok(()),
            Self::Gzip(decoder) => take(&decoder.finish()?),
        }
    }
}
