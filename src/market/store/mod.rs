//! Shared parts of a store: paths of files, changes of the store, and reading by day.

pub(in crate::market) mod changes;
pub(in crate::market) mod columns;
pub(in crate::market) mod file_list;
pub(in crate::market) mod ingest_lock;
pub(in crate::market) mod layout;
pub(in crate::market) mod minutes;
pub(in crate::market) mod opened;
pub(in crate::market) mod origin;
pub(in crate::market) mod partitions;
pub(in crate::market) mod stale_files;
pub(in crate::market) mod ticks;
pub(in crate::market) mod unpartitioned;
