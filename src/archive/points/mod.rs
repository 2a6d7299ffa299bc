//! An archive of points: hive-partitioned Parquet that any reader can read, a ledger of what was downloaded, and locks,
//! so that several programs can share an archive, in a local folder or in an object store. A read returns what was
//! written, or an error; only closed buckets are archived.
//!
//! Data are in `type=…/exchange=…/symbol=…/interval=…/key=…/date=…/part.parquet`. `_marketpoints/` contains ledgers,
//! locks, vintages, unfinished files and the quarantine.

mod archive;
mod archive_info;
mod as_of;
mod checksum;
mod column_buffers;
mod commit;
mod compact;
mod consistency;
mod coverage;
mod edges;
mod fault;
mod key;
mod key_writer;
mod known_since;
mod ledger;
mod pack;
mod part_file;
mod partition;
mod path_names;
mod raw_values;
mod reading;
mod revision;
mod rows;
mod scan;
mod store;
#[cfg(test)]
mod tests;
mod verify;
mod vintage;
mod vintages;

pub use archive::Archive;
pub use as_of::Replaced;
pub use compact::Compacted;
pub use consistency::{Consistency, Inconsistency};
pub use coverage::{gaps, within};
pub use edges::Edge;
pub use fault::{ArchiveFault, FileState};
pub use key::ArchiveKey;
pub use key_writer::KeyWriter;
pub use revision::{Cell, Revision, revisions};
pub use scan::{Scan, is_wanted};
pub use verify::{Content, FileProblem, Verification};
