//! The engine's Python interface: arguments in, arrays out. No logic.

#![allow(clippy::needless_pass_by_value)] // Python's arguments arrive by value
#![allow(clippy::too_many_arguments)] // the keyword arguments that users type

mod archive;
mod arrays;
mod arrow;
mod asof;
mod awaiting;
mod blocking;
mod buckets;
mod client;
mod columns;
mod dialect;
mod errors;
mod failures;
mod faults;
mod functions;
mod imports;
mod layout;
mod log;
mod plan;
mod progress;
mod query;
mod raster;
mod records;
mod runtime;
mod series_base;
mod service;
mod stream;
mod times;
mod written;

use pyo3::prelude::*;

/// The engine module, `marketpoints._engine`. It has no state guarded by the GIL, and declares so to free-threaded
/// builds of Python (which take no `abi3` wheel: they build from source).
#[pymodule(gil_used = false)]
mod _engine {
    #[pymodule_export]
    use super::archive::{Archive, calendar_windows, file_spans};
    #[pymodule_export]
    use super::arrow::ArrowTable;
    #[pymodule_export]
    use super::asof::{copy_of_ascending, gather, latest_known, latest_values};
    #[pymodule_export]
    use super::buckets::RowBuckets;
    #[pymodule_export]
    use super::client::{Client, default_settings};
    #[pymodule_export]
    use super::columns::{Columns, identity_fields};
    #[pymodule_export]
    use super::dialect::Dialect;
    #[pymodule_export]
    use super::faults::{FaultRule, Faults};
    #[pymodule_export]
    use super::functions::{
        analytics_endpoints, checksum, closest, contract_usd, data_types, decode_points, intervals, points_parameters,
        shutdown, speak_of_options, spelled_argument, spelled_setting, table_text, tiers, to_grid, vocabulary, weight,
        write_table,
    };
    #[pymodule_export]
    use super::imports::load_numpy;
    #[pymodule_export]
    use super::layout::Layout;
    #[pymodule_export]
    use super::plan::{Plan, PlannedRequest};
    #[pymodule_export]
    use super::query::Query;
    #[pymodule_export]
    use super::raster::{PackedLevels, level_extent, raster, regroup, volume_quantiles};
    #[pymodule_export]
    use super::records::attribute_name;
    #[pymodule_export]
    use super::series_base::{SeriesBase, SeriesSetBase};
    #[pymodule_export]
    use super::service::{IngestReport, LocalService, ingest, openapi};
    #[pymodule_export]
    use super::stream::EventStream;
    #[pymodule_export]
    use super::written::{calendar_seconds, from_seconds, iso, length_seconds, unix_seconds, whole_seconds};

    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
