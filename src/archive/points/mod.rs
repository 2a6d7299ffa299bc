//! An archive of points: hive-partitioned Parquet that any reader takes, a ledger of what was asked, and locks, so that
//! several programs keep one archive, in a local folder or in an object store. What is read is what was written, or an
//! error; only closed buckets are kept.
//!
//! `type=…/exchange=…/symbol=…/interval=…/key=…/date=…/part.parquet` are data. `_marketpoints/` holds ledgers, locks,
//! vintages, unfinished files and what was set aside.

mod about;
mod archive;
mod checksum;
mod commit;
mod compact;
mod consistent;
mod coverage;
mod edges;
mod fault;
mod key;
mod key_writer;
mod known;
mod ledger;
mod pack;
mod part_file;
mod partition;
mod past;
mod path_names;
mod placing;
mod reading;
mod revision;
mod rows;
mod scan;
mod sent;
mod store;
#[cfg(test)]
mod tests;
mod verify;
mod vintage;
mod vintages;

pub use archive::Archive;
pub use compact::Compacted;
pub use consistent::{Consistency, Inconsistency};
pub use coverage::{gaps, within};
pub use edges::Edge;
pub use fault::{ArchiveFault, FileState};
pub use key::ArchiveKey;
pub use key_writer::KeyWriter;
pub use partition::FileSpan;
pub use past::Replaced;
pub use revision::{Cell, Revision, revisions};
pub use scan::{Scan, is_wanted};
pub use verify::{Content, FileProblem, Verification};
