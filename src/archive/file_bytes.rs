//! A file's bytes, or only some ranges of them, as the Parquet library reads them.

use bytes::buf::Reader;
use bytes::{Buf, Bytes};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::parquet_read::Parquet;

/// The bytes of a file that were read.
#[derive(Debug, Clone)]
pub(super) struct FileBytes {
    /// The length of the complete file.
    length: u64,
    /// Ranges of the file, each with its start, in order.
    pieces: Vec<(u64, Bytes)>,
}

impl From<Bytes> for FileBytes {
    fn from(whole: Bytes) -> Self {
        Self { length: whole.len() as u64, pieces: vec![(0, whole)] }
    }
}

impl FileBytes {
    /// Some ranges of a file of that length, each with its start.
    pub(super) fn of_pieces(length: u64, mut pieces: Vec<(u64, Bytes)>) -> Self {
        pieces.sort_unstable_by_key(|(start, _)| *start);
        Self { length, pieces }
    }

    /// Number of bytes that were read.
    pub(super) fn held(&self) -> usize {
        self.pieces.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// Some bytes; `None` if they were not read.
    pub(super) fn get(&self, start: u64, length: usize) -> Option<Bytes> {
        let rest = self.rest(start)?;
        (length <= rest.len()).then(|| rest.slice(..length))
    }

    /// The bytes of a range, from somewhere in it on.
    fn rest(&self, start: u64) -> Option<Bytes> {
        let after = self.pieces.partition_point(|(first, _)| *first <= start);
        let (first, bytes) = self.pieces.get(after.checked_sub(1)?)?;
        let offset = usize::try_from(start - first).ok()?;
        (offset <= bytes.len()).then(|| bytes.slice(offset..))
    }
}

impl Length for FileBytes {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for FileBytes {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> Parquet<Self::T> {
        Ok(self.rest(start).ok_or_else(|| missing(start))?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Parquet<Bytes> {
        self.get(start, length).ok_or_else(|| missing(start))
    }
}

fn missing(start: u64) -> ParquetError {
    ParquetError::EOF(format!("nothing was read at byte {start}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_read_is_there() {
        let piece = |text: &'static str| Bytes::from_static(text.as_bytes());
        let file = FileBytes::of_pieces(100, vec![(50, piece("later")), (4, piece("early"))]);
        assert_eq!((file.len(), file.held()), (100, 10));
        assert_eq!(file.get_bytes(5, 4).unwrap(), "arly");
        assert_eq!(file.get_bytes(50, 5).unwrap(), "later");
        for (start, length) in [(0, 1), (3, 2), (5, 5), (20, 1), (54, 2), (99, 1)] {
            assert!(file.get_bytes(start, length).is_err(), "{start}");
        }
        assert!(file.get_read(3).is_err() && file.get_read(52).is_ok());
        assert_eq!(FileBytes::from(piece("whole")).get_bytes(0, 5).unwrap(), "whole");
    }
}
