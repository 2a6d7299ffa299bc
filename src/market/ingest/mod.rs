//! Shared parts of the ingest: rows and fields of dumps, tables, and the report.

pub(in crate::market) mod csv_table;
pub(in crate::market) mod fault;
pub(in crate::market) mod fields;
pub(in crate::market) mod folders;
pub(in crate::market) mod lines;
pub(in crate::market) mod quoted;
pub(in crate::market) mod report;
pub(in crate::market) mod rows;
pub(in crate::market) mod task;
