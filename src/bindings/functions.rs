//! Functions without state: weight, decoder, grid, tables, files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use numpy::datetime::{Datetime, units::Nanoseconds};
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyString};

use super::columns::Columns;
use super::dialect::Dialect;
use super::{errors, runtime};
use crate::archive::{self, Table, TextFormat};
use crate::columns::{Column, DenseHeatmap, Series};
use crate::decode;
use crate::protocol::analytics::{ANALYTICS, AnalyticsSpec};
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::exchange::{self, EXCHANGES, VenueKind};
use crate::protocol::interval::INTERVALS;
use crate::protocol::query::Spelling;
use crate::protocol::query::{LeaderboardSort, PARAMETERS, speak_of_options as speak};
use crate::protocol::suggest::{closest as nearest, did_you_mean, hint};
use crate::protocol::symbol::Category;
use crate::protocol::tier::TIERS;
use crate::protocol::{AnalyticsEndpoint, DataType, GroupBy, Interval, SortDirection, TierSpec, TypeSpec};
use crate::weight::{self as formula, Demand};

/// Longest body that is decoded without releasing the GIL: for candles of this size that takes some ten microseconds,
/// less than releasing and taking the GIL again; for the most unusual bodies a millisecond.
const SHORT: usize = 16 << 10;
/// Longest body that is decoded in one piece: some ten milliseconds, or a second for the most unusual ones.
const INTERRUPTIBLE: usize = 32 << 20;

/// Exact weight of one request: by the formula of section 8.2, or an analytics endpoint's own (section 8.5).
#[pyfunction]
#[pyo3(signature = (
    data_type, *, interval = None, interval_seconds = None, period = None, points = None, exchanges = 1,
    max_depth = None
))]
pub(super) fn weight(
    py: Python<'_>,
    data_type: &str,
    interval: Option<&str>,
    interval_seconds: Option<i64>,
    period: Option<i64>,
    points: Option<i64>,
    exchanges: u32,
    max_depth: Option<u32>,
) -> PyResult<u64> {
    let invalid = |problem: String| errors::invalid(py, &problem);
    if let Some(endpoint) = AnalyticsEndpoint::find(&data_type.replace('_', "-")) {
        let windowed = interval.is_some() || [interval_seconds, period, points].iter().any(Option::is_some);
        if windowed || exchanges != 1 || max_depth.is_some() {
            let weight = endpoint.spec().weight;
            let problem =
                format!("a request of {data_type} weighs {weight} whatever it asks; give nothing but its name");
            return Err(invalid(problem));
        }
        return Ok(endpoint.spec().weight.0);
    }
    let spec = DataType::find(data_type).map(DataType::spec).ok_or_else(|| {
        let known: Vec<&str> =
            DATA_TYPES.iter().map(|row| row.name).chain(ANALYTICS.iter().map(|row| row.name)).collect();
        let near = hint(data_type, known.iter().copied());
        invalid(format!("the weight of type {data_type:?} is not known; known are {}{near}", known.join(", ")))
    })?;
    let spelled = |name| Spelling::caller().argument(name);
    let seconds = match (interval, interval_seconds) {
        (Some(_), Some(_)) => {
            return Err(invalid(format!("give {} or {}, not both", spelled("interval"), spelled("interval_seconds"))));
        }
        (Some(name), None) => Interval::find(name).map(|row| row.seconds).ok_or_else(|| {
            let near = Interval::suggest(name).map_or_else(String::new, did_you_mean);
            invalid(format!("interval {name:?} is not known; give {} for a new one{near}", spelled("interval_seconds")))
        })?,
        (None, Some(seconds)) => seconds,
        // The weight depends on points only, so the length of the interval does not matter.
        (None, None) if points.is_some() => 1,
        (None, None) => {
            return Err(invalid(format!(
                "give {} with {}, or {}",
                spelled("interval"),
                spelled("period"),
                spelled("points")
            )));
        }
    };
    let period = match (period, points) {
        (Some(period), None) => period,
        (None, Some(points)) => points.checked_mul(seconds).ok_or_else(|| invalid("too many points".to_owned()))?,
        _ => {
            return Err(invalid(format!(
                "give {} (such as 90d) or {}, one of the two",
                spelled("period"),
                spelled("points")
            )));
        }
    };
    let demand = Demand { interval: seconds, period, exchanges, max_depth };
    let weight = formula::of(spec, &demand).map_err(|problem| invalid(problem.to_string()))?;
    let (asked, most) = (formula::points(&demand), spec.max_points);
    if asked > most {
        return Err(invalid(format!(
            "one request of {data_type} has {most} points at most (section 8.3), not {asked}; {} cuts a window into \
             requests and returns their weight",
            Spelling::caller().method("plan")
        )));
    }
    Ok(weight.0)
}

/// Sets whether messages of this process name command-line options or Python arguments. Returns what was set before.
#[pyfunction]
pub(super) fn speak_of_options(options: bool) -> bool {
    speak(options)
}

/// The name of an argument in messages of this process: `block_size=`, or `--block-size`; with a value: `block_size=3`,
/// or `--block-size=3`.
#[pyfunction]
#[pyo3(signature = (name, value = None))]
pub(super) fn spelled_argument(name: &str, value: Option<&str>) -> String {
    match value {
        None => Spelling::caller().argument(name),
        Some(value) => Spelling::caller().given(name, value),
    }
}

/// The name of a setting with an environment variable in messages of this process: `api_key= or KEY`, or `KEY`.
#[pyfunction]
pub(super) fn spelled_setting(argument: &str, variable: &str) -> String {
    Spelling::caller().setting(argument, variable)
}

/// The XXH3 of some bytes, as an archive keeps it of its files.
#[pyfunction]
pub(super) fn checksum(py: Python<'_>, bytes: &[u8]) -> String {
    py.detach(|| archive::xxh3(bytes))
}

/// Decodes a `/v1/points` body. With `strict`, a price that is 0 in every row beside unknown fields is an error instead
/// of a warning.
#[pyfunction]
#[pyo3(signature = (body, dialect = None, strict = false))]
pub(super) fn decode_points(
    py: Python<'_>,
    body: PyBackedBytes,
    dialect: Option<PyRef<'_, Dialect>>,
    strict: bool,
) -> PyResult<Vec<Py<Columns>>> {
    let dialect = dialect.map(|dialect| Arc::new(dialect.0.clone()));
    let series = if body.len() > INTERRUPTIBLE {
        decode_in_portions(py, &body, dialect)?
    } else {
        let decode = || decode::points_in(dialect, &body);
        if body.len() > SHORT { py.detach(decode) } else { decode() }
    };
    let series = series.map_err(|error| errors::from_decode(py, &error))?;
    let vanished =
        if strict { series.iter().map(Series::vanished_prices).find(|names| !names.is_empty()) } else { None };
    if let Some(names) = vanished {
        return Err(errors::from_decode(py, &decode::DecodeError::new(0, Columns::vanished(&names))));
    }
    Columns::hand_over(py, series)
}

/// The same in portions, between which Ctrl-C is checked.
fn decode_in_portions(
    py: Python<'_>,
    body: &[u8],
    dialect: Option<Arc<crate::protocol::Dialect>>,
) -> PyResult<Result<Vec<Series>, decode::DecodeError>> {
    let mut decoder = match decode::PointsDecoder::new() {
        Ok(decoder) => decoder.speaking(dialect),
        Err(error) => return Ok(Err(error)),
    };
    decoder.expect(body.len());
    let (first, last) = body.split_at((body.len() - 1) / INTERRUPTIBLE * INTERRUPTIBLE);
    for portion in first.chunks(INTERRUPTIBLE) {
        // Errors are reported at the end, with their position.
        let fed = py.detach(|| decoder.feed(portion));
        py.check_signals()?;
        if fed.is_err() {
            break;
        }
    }
    Ok(py.detach(|| decoder.finish_with(last)))
}

/// Converts a heatmap's levels (N, 2) to a grid: prices (P) and volumes (T, P).
#[pyfunction]
#[pyo3(signature = (offsets, levels, step = None))]
pub(super) fn to_grid(
    py: Python<'_>,
    offsets: PyReadonlyArray1<'_, i64>,
    levels: PyReadonlyArray2<'_, f64>,
    step: Option<f64>,
) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
    let (offsets, levels) = (offsets.as_slice()?, levels.as_slice()?);
    let pairs = (levels.len() / 2) as i64;
    let ascending = offsets.windows(2).all(|two| two[0] <= two[1]);
    if offsets.first() != Some(&0) || offsets.last() != Some(&pairs) || !ascending {
        return Err(errors::invalid(py, &format!("offsets must ascend from 0 to the number of levels, {pairs}")));
    }
    let values: Vec<i64> = offsets.iter().map(|level| level * 2).collect();
    let grid = py.detach(|| DenseHeatmap::from_levels(&values, levels, step));
    let grid = grid.map_err(|problem| errors::invalid(py, &problem.to_string()))?;
    Ok((grid.prices.into_pyarray(py).into_any().unbind(), grid.volumes.into_pyarray(py).into_any().unbind()))
}

/// Writes columns to a `.parquet`, `.csv` or `.json` file, atomically.
#[pyfunction]
pub(super) fn write_table(py: Python<'_>, path: std::path::PathBuf, columns: Vec<(String, Py<PyAny>)>) -> PyResult<()> {
    let table = table(py, columns)?;
    let written = py.detach(|| match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("parquet") => archive::write_parquet(&path, &table, &Vec::new()).map_err(|error| error.to_string()),
        suffix => match suffix.and_then(TextFormat::named) {
            Some(format) => archive::write_text(&path, &table, format).map_err(|error| error.to_string()),
            None => Err(format!("{}: the name must end in .parquet, .csv or .json", Path::new(&path).display())),
        },
    });
    written.map_err(|problem| errors::invalid(py, &problem))
}

/// Columns as the text of a `csv` or `json` file.
#[pyfunction]
pub(super) fn table_text<'py>(
    py: Python<'py>,
    columns: Vec<(String, Py<PyAny>)>,
    format: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let table = table(py, columns)?;
    let Some(format) = TextFormat::named(format) else {
        return Err(errors::invalid(py, &format!("{format:?} is neither \"csv\" nor \"json\"")));
    };
    let text = py.detach(|| archive::table_text(&table, format));
    text.map(|text| PyBytes::new(py, &text)).map_err(|error| errors::invalid(py, &error.to_string()))
}

fn table(py: Python<'_>, columns: Vec<(String, Py<PyAny>)>) -> PyResult<Table> {
    let named = |(name, values): (String, Py<PyAny>)| {
        let read = column(values.bind(py)).map_err(|_| wrong_column(&name))?;
        Ok((name, read))
    };
    columns.into_iter().map(named).collect()
}

fn column(values: &Bound<'_, PyAny>) -> PyResult<Column> {
    if let Ok(doubles) = values.extract::<PyReadonlyArray1<'_, f64>>() {
        return Ok(Column::Float(doubles.as_array().to_vec()));
    }
    if let Ok(whole) = values.extract::<PyReadonlyArray1<'_, i64>>() {
        return Ok(Column::Int(whole.as_array().to_vec()));
    }
    if let Ok(times) = values.extract::<PyReadonlyArray1<'_, Datetime<Nanoseconds>>>() {
        return Ok(Column::Time(times.as_array().iter().map(|time| i64::from(*time)).collect()));
    }
    Ok(Column::Text(values.extract::<Vec<Option<String>>>()?))
}

fn wrong_column(name: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "column {name}: expected a float64, int64 or datetime64[ns] array, or a list of strings and None"
    ))
}

/// Name, weight per minute, burst, weight per day, history days, streams.
type TierTableRow = (&'static str, u32, u64, Option<u64>, u32, u32);

/// The tier table (section 8.1).
#[pyfunction]
pub(super) fn tiers() -> Vec<TierTableRow> {
    let row = |row: &'static TierSpec| {
        (
            row.name,
            row.weight_per_minute,
            row.burst().0,
            row.weight_per_day.map(|most| most.0),
            row.history_days,
            row.streams,
        )
    };
    TIERS.iter().map(row).collect()
}

/// The candidate nearest in spelling to a text, ignoring case; None if none is near enough. Any text, also one that UTF-8
/// cannot spell: most are misspelt.
#[pyfunction]
pub(super) fn closest(text: &Bound<'_, PyString>, candidates: Vec<Bound<'_, PyString>>) -> Option<String> {
    let candidates: Vec<_> = candidates.iter().map(|candidate| candidate.to_string_lossy()).collect();
    nearest(&text.to_string_lossy(), candidates.iter().map(AsRef::as_ref)).map(str::to_owned)
}

/// The interval table: wire name, short name, seconds.
#[pyfunction]
pub(super) fn intervals() -> Vec<(&'static str, &'static str, i64)> {
    INTERVALS.iter().map(|row| (row.name, row.short, row.seconds)).collect()
}

/// Names of the protocol that are not of types, intervals or tiers, by what they name.
#[pyfunction]
pub(super) fn vocabulary() -> BTreeMap<&'static str, Vec<&'static str>> {
    let of_predictions = EXCHANGES.iter().filter(|row| row.venue == VenueKind::Prediction).map(|row| row.name);
    BTreeMap::from([
        ("category", Category::ALL.map(Category::name).to_vec()),
        ("leaderboard_order", LeaderboardSort::NAMES.map(|(name, _)| name).to_vec()),
        ("prediction_exchange", of_predictions.collect()),
        ("sort_direction", [SortDirection::Ascending, SortDirection::Descending].map(SortDirection::name).to_vec()),
    ])
}

/// The arguments of a points query: name, what it takes, meaning.
#[pyfunction]
pub(super) fn points_parameters() -> Vec<(&'static str, &'static str, &'static str)> {
    PARAMETERS.iter().filter_map(|row| Some((row.argument?, row.argument_kind(), row.about))).collect()
}

/// The USD value of a unit of amount on an inverse market; None for a market whose amounts are in coin.
#[pyfunction]
pub(super) fn contract_usd(exchange: &str, raw_symbol: &str) -> Option<f64> {
    exchange::contract_usd(exchange, raw_symbol)
}

/// The data-type table.
#[pyfunction]
pub(super) fn data_types(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let row = |row: &'static TypeSpec| {
        let fields = PyDict::new(py);
        fields.set_item("name", row.name)?;
        fields.set_item("method", row.method)?;
        fields.set_item("title", row.title)?;
        fields.set_item("role", row.role.name())?;
        fields.set_item("amount", row.amount)?;
        fields.set_item("adds_up", row.adds_up)?;
        let panels = row
            .panels
            .iter()
            .map(|panel| (panel.quantity, panel.columns.to_vec(), panel.band, panel.unit.name(), panel.steps));
        fields.set_item("panels", panels.collect::<Vec<_>>())?;
        fields.set_item("cost", row.cost)?;
        fields.set_item("max_points", row.max_points.0)?;
        fields.set_item("file_bytes", row.file_bytes)?;
        fields.set_item("included_depth", row.included_depth)?;
        let own = PARAMETERS.iter().filter(|parameter| row.reads(parameter.wire));
        fields.set_item("arguments", own.filter_map(|parameter| parameter.argument).collect::<Vec<_>>())?;
        fields.set_item("needs_block_size", row.needs_block_size)?;
        fields.set_item("usd", row.usd)?;
        fields.set_item("group_by", row.group_by.map(GroupBy::name))?;
        fields.set_item("gapfill", row.gapfill)?;
        fields.set_item("lowest_tier", row.lowest_tier.spec().name)?;
        fields.set_item("shape", row.shape.name())?;
        fields.set_item("columns", row.fields.iter().map(|field| field.column).collect::<Vec<_>>())?;
        Ok(fields)
    };
    DATA_TYPES.iter().map(row).collect()
}

/// The table of analytics endpoints.
#[pyfunction]
pub(super) fn analytics_endpoints(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let row = |row: &'static AnalyticsSpec| {
        let fields = PyDict::new(py);
        fields.set_item("name", row.name)?;
        fields.set_item("method", row.name.replace('-', "_"))?;
        fields.set_item("weight", row.weight.0)?;
        fields.set_item("parameters", row.parameters)?;
        fields.set_item("answer_key", row.answer_key)?;
        Ok(fields)
    };
    ANALYTICS.iter().map(row).collect()
}

/// Ends the engine's threads at interpreter exit; calls in flight are dropped.
#[pyfunction]
pub(super) fn shutdown(py: Python<'_>) {
    runtime::shutdown(py);
}
