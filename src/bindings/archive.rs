//! The archive: reading without a client. Writing goes through clients.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::blocking::{beside, wait};
use super::columns::Columns;
use super::errors;
use super::failures::from_client;
use super::query::Query;
use super::runtime::Process;
use super::times::{moment, to_microsecond, windows};
use crate::archive::points::{self, ArchiveKey, Cell, Compacted, Edge, FileSpan, Revision};
use crate::client::{
    self, Checked, ClientError, Each, Synced, archive_key, call_failure, first_kept, read_archive_all,
};
use crate::clock::{UnixMicros, UnixNanos, Window};
use crate::columns::NO_TIME;
use crate::protocol::records::attribute_name;

/// How long files are, the longest first: name, and the most seconds.
#[pyfunction]
pub(super) fn file_spans() -> Vec<(&'static str, i64)> {
    FileSpan::ALL.iter().map(|(name, _, seconds)| (*name, *seconds)).collect()
}

/// A window of Unix seconds, cut where files of a name's length begin.
#[pyfunction]
pub(super) fn calendar_windows(py: Python<'_>, span: &str, start: i64, end: i64) -> PyResult<Vec<(i64, i64)>> {
    let Some((_, span, _)) = FileSpan::ALL.iter().find(|row| row.0 == span) else {
        return Err(errors::invalid(py, &format!("{span:?} is none of {}", FileSpan::ALL.map(|row| row.0).join(", "))));
    };
    Ok(span.cut(Window { from: start, to: end }).into_iter().map(|part| (part.from, part.to)).collect())
}

/// An archive of points.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct Archive(pub(super) points::Archive);

#[pymethods]
impl Archive {
    #[new]
    #[pyo3(signature = (path, options = None, lease = 10.0))]
    fn new(py: Python<'_>, path: PathBuf, options: Option<Vec<(String, String)>>, lease: f64) -> PyResult<Self> {
        let address = path.to_str().filter(|text| text.contains("://"));
        let Some(address) = address else { return Ok(Self(points::Archive::new(&path))) };
        let lease = Duration::try_from_secs_f64(lease)
            .map_err(|problem| errors::invalid(py, &format!("lease: {lease} seconds: {problem}")))?;
        let archive = points::Archive::at(address, &options.unwrap_or_default(), lease);
        archive.map(Self).map_err(|fault| from_client(py, fault.into()))
    }

    #[getter]
    fn path(&self) -> &OsStr {
        self.0.path().as_os_str() // a Python path would collapse `//` to `/`
    }

    #[getter]
    fn options(&self) -> Option<Vec<(String, String)>> {
        self.0.plain_options().map(<[_]>::to_vec)
    }

    #[getter]
    fn source(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.beside(py, points::Archive::source)
    }

    #[pyo3(signature = (query, as_of = None, columns = None))]
    fn read(
        &self,
        py: Python<'_>,
        query: &Query,
        as_of: Option<f64>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Vec<Py<Columns>>> {
        let (request, as_of) = (query.0.clone(), as_of.map(to_microsecond));
        let series = self.beside(py, move |archive| read_archive_all(archive, &request, as_of, columns.as_deref()))?;
        Columns::hand_over(py, series)
    }

    /// Vintages of a query, or of all.
    #[pyo3(signature = (query = None))]
    fn vintages<'py>(&self, py: Python<'py>, query: Option<&Query>) -> PyResult<Bound<'py, PyList>> {
        let requests = query.map(|query| query.0.clone());
        let found = self.beside(py, move |archive| client::vintages(archive, requests.as_ref()))?;
        let list = PyList::empty(py);
        for (key, replaced) in found {
            let spans: Vec<Window> = replaced.iter().map(|one| one.window).collect();
            let entry = about(py, &key, &spans)?;
            let known = replaced.iter().map(|one| moment(py, one.known.map_or(UnixNanos(NO_TIME), UnixMicros::nanos)));
            entry.set_item("known_from", known.collect::<PyResult<Vec<_>>>()?)?;
            let at = replaced.iter().map(|one| moment(py, one.replaced.nanos()));
            entry.set_item("replaced_at", at.collect::<PyResult<Vec<_>>>()?)?;
            entry.set_item("rows", replaced.iter().map(|one| one.rows).collect::<Vec<_>>())?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// The windows of a query that were never downloaded, by key.
    fn missing<'py>(&self, py: Python<'py>, query: &Query) -> PyResult<Bound<'py, PyList>> {
        let request = query.0.clone();
        let found = self.beside(py, move |archive| client::missing(archive, &request))?;
        let list = PyList::empty(py);
        for (key, spans) in found {
            list.append(about(py, &key, &spans)?)?;
        }
        Ok(list)
    }

    /// The time of the first or the last archived row of a query; None where there is none.
    fn edge<'py>(&self, py: Python<'py>, query: &Query, last: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (request, edge) = (query.0.clone(), if last { Edge::Last } else { Edge::First });
        let found = self.beside(py, move |archive| client::edge(archive, &request, edge))?;
        found.map(|time| moment(py, time)).transpose()
    }

    /// Drops vintages replaced by a moment, of a query or of all; returns the files, bytes and rows removed.
    #[pyo3(signature = (before, query = None))]
    fn compact(&self, py: Python<'_>, before: f64, query: Option<&Query>) -> PyResult<(usize, u64, u64)> {
        let (archive, requests) = (self.0.clone(), query.map(|query| query.0.clone()));
        let process = Process::current(py)?;
        let done =
            wait(
                py,
                &process,
                async move { client::compact(&archive, requests.as_ref(), to_microsecond(before)).await },
            )?;
        let Compacted { files, bytes, rows } = done.map_err(|error| from_client(py, error))?;
        Ok((files, bytes, rows))
    }

    /// The first archived bucket start of a query, Unix seconds; None where there is none.
    fn first_kept(&self, py: Python<'_>, query: &Query) -> PyResult<Option<i64>> {
        let request = query.0.clone();
        let first = self.beside(py, move |archive| first_kept(archive, &request))?;
        Ok(first.map(|second| second.0))
    }

    /// The archive keys of queries of one symbol each; None for what cannot be archived, and while the archive is
    /// empty.
    fn keys(&self, py: Python<'_>, queries: Vec<PyRef<'_, Query>>) -> PyResult<Vec<Option<String>>> {
        let Some(source) = self.source(py)? else { return Ok(vec![None; queries.len()]) };
        let key = |query: &PyRef<'_, Query>| archive_key(&source, &query.0).map(|key| key.name().to_owned());
        Ok(queries.iter().map(key).collect())
    }

    /// The same archive for the writes of one run.
    fn pinned(&self) -> Self {
        Self(self.0.pinned())
    }

    /// The archived data, and path and problem of each foreign file among the ledgers.
    fn contents<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyList>; 2]> {
        let (contents, foreign) = self.beside(py, points::Archive::contents)?;
        let list = PyList::empty(py);
        for content in contents {
            let entry = about(py, &content.key, &content.windows)?;
            entry.set_item("rows", content.rows)?;
            entry.set_item("bytes", content.bytes)?;
            entry.set_item("files", content.files)?;
            list.append(entry)?;
        }
        let foreign: Vec<_> = foreign.into_iter().map(|one| (one.path, one.problem)).collect();
        Ok([list, PyList::new(py, foreign)?])
    }

    /// The number of buckets compared with their finer ones, and the values that differ.
    fn consistency<'py>(&self, py: Python<'py>) -> PyResult<(u64, Bound<'py, PyList>)> {
        let consistency = self.beside(py, points::Archive::consistency)?;
        let list = PyList::empty(py);
        for one in consistency.found {
            let entry = about(py, &one.key, &[])?;
            entry.set_item("finer", one.finer)?;
            revised(
                py,
                &entry,
                Revision {
                    id: one.id,
                    time: one.time,
                    column: one.column.to_owned(),
                    before: one.kept,
                    after: one.made,
                },
            )?;
            list.append(entry)?;
        }
        Ok((consistency.compared, list))
    }

    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let verification = self.beside(py, points::Archive::verify)?;
        let problems: Vec<_> =
            verification.problems.into_iter().map(|one| (one.path, one.state.name(), one.problem)).collect();
        let found = PyDict::new(py);
        found.set_item("files", verification.files)?;
        found.set_item("bytes", verification.bytes)?;
        found.set_item("problems", problems)?;
        Ok(found)
    }
}

impl Archive {
    /// Runs work on files or objects.
    fn beside<T: Send + 'static, E: Into<ClientError> + Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&points::Archive) -> Result<T, E> + Send + 'static,
    ) -> PyResult<T> {
        let archive = self.0.clone();
        let process = Process::current(py)?;
        let done = beside(py, &process, move || work(&archive))?;
        done.map_err(|error| from_client(py, error.into()))
    }
}

/// The identity of some windows.
fn about<'py>(py: Python<'py>, key: &ArchiveKey, spans: &[Window]) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("key", key.name())?;
    entry.set_item("query", key.query().pairs())?;
    entry.set_item("interval_seconds", key.interval().seconds)?;
    entry.set_item("windows", windows(py, spans)?)?;
    Ok(entry)
}

/// The result of a sync: label and dictionary for each symbol.
pub(super) fn synced(py: Python<'_>, answer: Result<Each<Synced>, ClientError>) -> PyResult<Py<PyAny>> {
    each(py, answer, |done| describe(py, &done))
}

/// The result of a refresh: label and dictionary for each symbol.
pub(super) fn checked(py: Python<'_>, answer: Result<Each<Checked>, ClientError>) -> PyResult<Py<PyAny>> {
    each(py, answer, |checked| {
        let about = describe(py, &checked.synced)?;
        let list = PyList::empty(py);
        for revision in checked.revisions {
            let entry = PyDict::new(py);
            revised(py, &entry, revision)?;
            list.append(entry)?;
        }
        about.set_item("revisions", list)?;
        Ok(about)
    })
}

/// Describes the old and the new value.
fn revised(py: Python<'_>, entry: &Bound<'_, PyDict>, revision: Revision) -> PyResult<()> {
    let Revision { id, time, column, before, after } = revision;
    for (name, value) in id.fields() {
        entry.set_item(attribute_name(name), value)?;
    }
    entry.set_item("time", moment(py, time)?)?;
    entry.set_item("column", column)?;
    entry.set_item("before", cell(py, before)?)?;
    entry.set_item("after", cell(py, after)?)
}

/// The reports of a call. If some symbols failed, the error's `results` are the reports of the others.
fn each<'py, T>(
    py: Python<'py>,
    answer: Result<Each<T>, ClientError>,
    report: impl Fn(T) -> PyResult<Bound<'py, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let answer = answer.map_err(|error| from_client(py, error))?;
    let all = answer.len();
    let (reports, mut failures) = (PyList::empty(py), Vec::new());
    for (label, outcome) in answer {
        match outcome {
            Ok(done) => reports.append((label, report(done)?))?,
            Err(error) => failures.push((label, error)),
        }
    }
    if failures.is_empty() {
        return reports.into_py_any(py);
    }
    if all == 1 {
        return Err(from_client(py, failures.remove(0).1));
    }
    let error = from_client(py, call_failure(failures, all, Vec::new()));
    error.value(py).setattr("results", reports)?;
    Err(error)
}

fn describe<'py>(py: Python<'py>, done: &Synced) -> PyResult<Bound<'py, PyDict>> {
    let about = PyDict::new(py);
    about.set_item("requests", done.requests)?;
    about.set_item("weight", done.weight.0)?;
    about.set_item("windows", windows(py, &done.windows)?)?;
    about.set_item("rows", done.rows)?;
    about.set_item("mended", &done.aside)?;
    Ok(about)
}

fn cell(py: Python<'_>, cell: Cell) -> PyResult<Py<PyAny>> {
    match cell {
        Cell::Absent | Cell::Text(None) | Cell::Time(NO_TIME) => Ok(py.None()),
        Cell::Float(value) => value.into_py_any(py),
        Cell::Int(value) => value.into_py_any(py),
        Cell::Time(value) => moment(py, UnixNanos(value)).map(Bound::unbind),
        Cell::Text(Some(text)) => text.into_py_any(py),
        Cell::List(entries) => format!("{entries} entries").into_py_any(py),
    }
}
