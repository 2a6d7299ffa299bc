//! Parquet files that are written atomically, and archives of points made of them, on disk or in an object store.
//!
//! ```
//! use marketpoints::archive::{Table, read_metadata, read_parquet, write_parquet};
//! use marketpoints::columns::Column;
//!
//! # let folder = std::env::temp_dir().join(format!("marketpoints-doc-parquet-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let path = folder.join("prices.parquet");
//! let table: Table = vec![
//!     ("time".to_owned(), Column::Time(vec![0, 60_000_000_000])),
//!     ("price".to_owned(), Column::Float(vec![1.5, f64::INFINITY])),
//! ];
//! write_parquet(&path, &table, &vec![("of".to_owned(), "an example".to_owned())])?;
//! assert_eq!(read_parquet(&path)?.0, table); // its checksum fits, or this is an error
//! assert!(read_metadata(&path)?.contains(&("of".to_owned(), "an example".to_owned())));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrow_table;
mod atomic_file;
mod chance;
mod error;
mod file_bytes;
mod lines_file;
mod locked_file;
mod parquet_pages;
mod parquet_ranges;
mod parquet_read;
mod parquet_values;
mod parquet_write;
pub mod points;
mod regular_file;
mod state_file;
mod table;
mod text_file;

pub use atomic_file::Unplaced;
#[cfg(feature = "service")]
pub(crate) use atomic_file::sweep;
pub(crate) use chance::chance;
pub use error::ArchiveError;
pub use lines_file::LinesFile;
#[cfg(feature = "service")]
pub(crate) use locked_file::LockedFile;
#[cfg(feature = "service")]
pub(crate) use parquet_read::read_content_hash;
pub use parquet_read::{read_first, read_metadata, read_parquet, read_parquet_within};
pub use parquet_write::{ParquetWriter, write_parquet};
pub(crate) use points::checksum::xxh3;
pub use regular_file::{open_log, open_plain, open_plain_with, read_settings, read_settings_text};
pub(crate) use state_file::{FileIdentity, is_foreign, open_own_to_write};
#[cfg(feature = "service")]
pub(crate) use state_file::{is_same_file, open_own};
pub use table::{Metadata, Table};
pub use text_file::{TextFormat, table_text, write_text};
