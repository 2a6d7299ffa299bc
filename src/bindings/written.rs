//! Times and lengths of time as people write them. What is shown of a value in a message is Python's to spell.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

use super::errors;
use super::times::{moment, to_microsecond};
use crate::clock::{self, GivenLength, NoLength, NoTime, UnixSecond, time_of_calendar, time_of_number, time_of_text};
use crate::protocol::query::Spelling;

/// Unix seconds of a text or a number; NaN is no time, and `shown` what stood there.
#[pyfunction]
#[pyo3(signature = (value, name, shown = None))]
pub(super) fn unix_seconds(value: &Bound<'_, PyAny>, name: &str, shown: Option<String>) -> PyResult<f64> {
    let text = value.cast::<PyString>().ok();
    let read = match text {
        Some(text) => time_of_text(text.to_str()?),
        None => time_of_number(double(value)?),
    };
    read.or_else(|problem| {
        let shown = match (shown, text) {
            (Some(shown), _) => shown,
            // It may be a key, in the wrong place.
            (None, Some(text)) => redacted(text)?,
            (None, None) => value.repr()?.to_string(),
        };
        Err(no_time(value.py(), name, &problem, &shown))
    })
}

/// Unix seconds of a calendar's own object, up to the largest supported time.
#[pyfunction]
pub(super) fn calendar_seconds(seconds: f64, name: &str, given: &Bound<'_, PyAny>) -> PyResult<f64> {
    time_of_calendar(seconds).or_else(|problem| Err(no_time(given.py(), name, &problem, &given.repr()?.to_string())))
}

fn no_time(py: Python<'_>, name: &str, problem: &NoTime, shown: &str) -> PyErr {
    let argument = Spelling::caller().argument(name);
    errors::invalid(py, &format!("{name}: {}", problem.message(shown, &argument)))
}

fn redacted(text: &Bound<'_, PyString>) -> PyResult<String> {
    let module = text.py().import("marketpoints.common.secrets")?;
    module.call_method1("redacted", (text,))?.extract()
}

/// A number as a double; what no double holds is infinite.
fn double(number: &Bound<'_, PyAny>) -> PyResult<f64> {
    match number.extract::<f64>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(number.py()) => Ok(f64::INFINITY),
        read => read,
    }
}

/// Whole seconds of a text, a number or, where there are some, nanoseconds; NaN is no length. `given` is shown.
#[pyfunction]
#[allow(clippy::redundant_closure_for_method_calls)] // the method is of one lifetime, the closure of any
pub(super) fn whole_seconds(
    value: &Bound<'_, PyAny>,
    nanoseconds: bool,
    name: &str,
    given: &Bound<'_, PyAny>,
) -> PyResult<i64> {
    of_length(value, nanoseconds, name, given, |length| length.whole_seconds())
}

/// The same with parts of a second.
#[pyfunction]
#[allow(clippy::redundant_closure_for_method_calls)] // the method is of one lifetime, the closure of any
pub(super) fn length_seconds(
    value: &Bound<'_, PyAny>,
    nanoseconds: bool,
    name: &str,
    given: &Bound<'_, PyAny>,
) -> PyResult<f64> {
    of_length(value, nanoseconds, name, given, |length| length.seconds())
}

fn of_length<T>(
    value: &Bound<'_, PyAny>,
    nanoseconds: bool,
    name: &str,
    given: &Bound<'_, PyAny>,
    read: impl Fn(GivenLength<'_>) -> Result<T, NoLength>,
) -> PyResult<T> {
    let text = value.cast::<PyString>().ok();
    let value = match text {
        Some(text) => read(GivenLength::Text(text.to_str()?)),
        None if nanoseconds => read(GivenLength::Nanoseconds(value.extract().ok())),
        // A whole number is a length, however large.
        None if value.is_instance_of::<PyInt>() => read(GivenLength::Seconds(double(value)?.min(f64::MAX))),
        None => read(GivenLength::Seconds(double(value)?)),
    };
    value.or_else(|problem| {
        let shown = match text {
            Some(text) => text.call_method0("strip")?.repr()?,
            None => given.repr()?,
        };
        Err(errors::invalid(given.py(), &format!("{name}: {}", problem.message(&shown.to_string()))))
    })
}

/// A Unix second as people read it.
#[pyfunction]
pub(super) fn iso(seconds: f64) -> String {
    clock::iso(UnixSecond(seconds.floor() as i64))
}

/// A Unix time as `datetime64[ns]`: whole seconds exactly, others to the microsecond, all that a double tells.
#[pyfunction]
pub(super) fn from_seconds<'py>(seconds: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let time = match seconds.extract() {
        Ok(whole) => UnixSecond(whole).nanos(),
        Err(_) => to_microsecond(seconds.extract()?),
    };
    moment(seconds.py(), time)
}
