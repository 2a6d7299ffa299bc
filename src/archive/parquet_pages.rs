//! Reads the pages of a column chunk. The library makes a context for decompression, and one for compression, for each
//! column chunk: in files of a month those take a twentieth of a read. Here each thread has one.

use std::cell::RefCell;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use zstd::bulk::Decompressor;
use zstd::zstd_safe::get_frame_content_size;

use super::file_bytes::FileBytes;
use super::parquet_read::Parquet;

/// Most bytes of a decompressed page: memory must not be allocated for what a damaged page claims.
const LARGEST_PAGE: usize = 1 << 28;

thread_local! {
    static DECOMPRESSOR: RefCell<Decompressor<'static>> = RefCell::default();
}

/// The pages of a column chunk, in order.
pub(super) struct ColumnPages {
    pages: SerializedPageReader<FileBytes>,
    /// Whether `pages` returns pages as they are stored.
    is_compressed: bool,
}

impl ColumnPages {
    /// The pages of a column in a row group.
    pub(super) fn open(bytes: &Arc<FileBytes>, footer: &ParquetMetaData, group: usize, place: usize) -> Parquet<Self> {
        let about = footer.row_group(group);
        let locations = footer.page_index_for_row_group(group).page_locations(place).cloned();
        let mut column = about.column(place).clone();
        let is_compressed = matches!(column.compression(), Compression::ZSTD(_));
        if is_compressed {
            // So that the library returns pages as they are stored, and makes no context.
            column = column.into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
        }
        let rows = usize::try_from(about.num_rows())?;
        Ok(Self { pages: SerializedPageReader::new(Arc::clone(bytes), &column, rows, locations)?, is_compressed })
    }

    /// The next page as it is stored.
    pub(super) fn next_stored(&mut self) -> Parquet<Option<Page>> {
        self.pages.get_next_page()
    }

    /// Writes the values of such a page to `out`, which they must fill.
    pub(super) fn decompress_into(&self, stored: &[u8], out: &mut [u8]) -> Parquet<()> {
        let written = if self.is_compressed {
            DECOMPRESSOR.with_borrow_mut(|context| context.decompress_to_buffer(stored, &mut *out))?
        } else if stored.len() == out.len() {
            out.copy_from_slice(stored);
            out.len()
        } else {
            0
        };
        if written == out.len() { Ok(()) } else { Err(unexpected_length()) }
    }

    fn decompressed(&self, page: Page) -> Parquet<Page> {
        Ok(match page {
            page if !self.is_compressed => page,
            Page::DataPage { buf, num_values, encoding, def_level_encoding, rep_level_encoding, statistics } => {
                let buf = decompress(&buf)?;
                Page::DataPage { buf, num_values, encoding, def_level_encoding, rep_level_encoding, statistics }
            }
            Page::DictionaryPage { buf, num_values, encoding, is_sorted } => {
                Page::DictionaryPage { buf: decompress(&buf)?, num_values, encoding, is_sorted }
            }
            // This package writes none: only some of its bytes are compressed.
            Page::DataPageV2 { .. } => return Err(ParquetError::NYI("data pages of version 2".to_owned())),
        })
    }
}

impl PageReader for ColumnPages {
    fn get_next_page(&mut self) -> Parquet<Option<Page>> {
        self.pages.get_next_page()?.map(|page| self.decompressed(page)).transpose()
    }

    fn peek_next_page(&mut self) -> Parquet<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Parquet<()> {
        self.pages.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Parquet<Option<Page>> {
        self.pages.take_deferred_dictionary()?.map(|page| self.decompressed(page)).transpose()
    }
}

impl Iterator for ColumnPages {
    type Item = Parquet<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

fn decompress(stored: &[u8]) -> Parquet<Bytes> {
    let size = get_frame_content_size(stored).ok().flatten().and_then(|size| usize::try_from(size).ok());
    let size = size.filter(|size| *size <= LARGEST_PAGE).ok_or_else(unexpected_length)?;
    let mut page = Vec::with_capacity(size);
    let written = DECOMPRESSOR.with_borrow_mut(|context| context.decompress_to_buffer(stored, &mut page))?;
    if written == size { Ok(page.into()) } else { Err(unexpected_length()) }
}

fn unexpected_length() -> ParquetError {
    ParquetError::General("a page is not as long as it says".to_owned())
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::ZstdLevel;
    use parquet::file::metadata::ParquetMetaDataReader;
    use parquet::file::properties::{WriterProperties, WriterVersion};

    use super::*;

    /// A file of one column, several pages long.
    fn file(values: &[f64], compression: Compression, version: WriterVersion) -> (Arc<FileBytes>, ParquetMetaData) {
        let batch = RecordBatch::try_from_iter([("a", Arc::new(Float64Array::from(values.to_vec())) as ArrayRef)]);
        let properties = WriterProperties::builder().set_compression(compression).set_writer_version(version);
        let properties =
            properties.set_dictionary_enabled(false).set_data_page_size_limit(4_096).set_write_batch_size(64);
        let batch = batch.unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
        writer.write(&batch).unwrap();
        let bytes = Bytes::from(writer.into_inner().unwrap());
        let footer = ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap();
        (Arc::new(bytes.into()), footer)
    }

    #[test]
    fn pages_hold_the_same_compressed_or_not() {
        let values: Vec<f64> = (0..3_000).map(|row| f64::from(row % 97) / 8.0).collect();
        let expected: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        for compression in [Compression::UNCOMPRESSED, Compression::ZSTD(ZstdLevel::default())] {
            let (bytes, footer) = file(&values, compression, WriterVersion::PARQUET_1_0);
            let (mut read, mut placed) = (Vec::new(), Vec::new());
            for page in ColumnPages::open(&bytes, &footer, 0, 0).unwrap() {
                read.extend_from_slice(page.unwrap().buffer());
            }
            let mut pages = ColumnPages::open(&bytes, &footer, 0, 0).unwrap();
            while let Some(page) = pages.next_stored().unwrap() {
                let mut values = vec![0; page.num_values() as usize * 8];
                pages.decompress_into(page.buffer(), &mut values).unwrap();
                for other in [values.len() - 8, values.len() + 8] {
                    assert!(pages.decompress_into(page.buffer(), &mut vec![0; other]).is_err());
                }
                placed.extend(values);
            }
            assert!(read == expected && placed == expected, "{compression}");
        }
    }

    #[test]
    fn pages_of_the_second_version_are_an_error() {
        let (bytes, footer) = file(&[1.5; 100], Compression::ZSTD(ZstdLevel::default()), WriterVersion::PARQUET_2_0);
        assert!(ColumnPages::open(&bytes, &footer, 0, 0).unwrap().next().unwrap().is_err());
    }

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        zstd::bulk::compress(bytes, 3).unwrap()
    }

    #[test]
    fn a_page_is_as_long_as_it_says_or_an_error() {
        let whole: Vec<u8> = (0..5_000_u32).flat_map(u32::to_le_bytes).collect();
        let stored = compressed(&whole);
        assert_eq!(decompress(&stored).unwrap(), whole);
        for cut in 0..stored.len() {
            assert!(decompress(&stored[..cut]).is_err(), "{cut}");
        }
        // A frame header that claims more than the frame holds: magic, descriptor with a size of 8 bytes, window, size.
        let claim = |size: u64| [&[0x28, 0xb5, 0x2f, 0xfd, 0xe0][..], &size.to_le_bytes(), &[1, 0, 0]].concat();
        assert_eq!(decompress(&claim(0)).unwrap(), "");
        for size in [1, LARGEST_PAGE as u64, LARGEST_PAGE as u64 + 1, u64::MAX] {
            assert!(decompress(&claim(size)).is_err(), "{size}");
        }
    }
}
