//! An archive of points: hive-partitioned Parquet that any reader can read, a ledger of what was downloaded, and locks,
//! so that several programs can share an archive, in a local folder or in an object store. A read returns what was
//! written, or an error; only closed buckets are archived.
//!
//! Data are in `type=…/exchange=…/symbol=…/interval=…/key=…/date=…/part.parquet`. `_marketpoints/` contains ledgers,
//! locks, vintages, unfinished files and the quarantine.
//!
//! ```
//! use marketpoints::archive::points::{Archive, ArchiveKey};
//! use marketpoints::clock::{UnixSecond, Window};
//! use marketpoints::decode;
//! use marketpoints::protocol::PointsQuery;
//!
//! # let folder = std::env::temp_dir().join(format!("marketpoints-doc-archive-{}", std::process::id()));
//! let archive = Archive::new(&folder);
//! let query = PointsQuery::of_market("TRADE_AGG", "BYBIT", "BTCUSDT", "HOUR");
//! let key = ArchiveKey::new("https://service.example", &query).ok_or("its buckets never close")?;
//!
//! // The answer to a request for three hours, of which the last had no trades.
//! let body = br#"{"series":[{"id":{"type":"TRADE_AGG"},"points":[
//!     {"Point":{"close":1.5,"timestamp":{"s":0}}},{"Point":{"close":2,"timestamp":{"s":3600}}}]}]}"#;
//! let (hours, answer) = (Window { from: 0, to: 3 * 3_600 }, decode::points(body)?);
//! let mut writer = archive.try_writer(&key)?.ok_or("another program writes there")?;
//! writer.commit(&[hours], &answer, UnixSecond(1_776_880_800).micros())?;
//! drop(writer);
//!
//! assert_eq!(archive.asked(&key)?, [hours]);
//! assert_eq!(archive.read(&key, hours)?[0].floats("close"), Some(&[1.5, 2.0][..]));
//! assert!(archive.read(&key, Window { from: 2 * 3_600, to: 3 * 3_600 })?.is_empty()); // asked, and empty
//! assert!(archive.read(&key, Window { from: 0, to: 4 * 3_600 }).is_err()); // the last hour was never asked
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod archive_info;
mod as_of;
pub(super) mod checksum;
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
mod part_ranges;
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
pub use fault::{ArchiveFault, FileState, NOTHING_ASKED};
pub use key::ArchiveKey;
pub use key_writer::KeyWriter;
pub use partition::FileSpan;
pub use revision::{Cell, Revision, revisions};
pub use scan::{Scan, is_wanted};
pub use verify::{Content, FileProblem, Verification};
