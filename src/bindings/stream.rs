//! The live stream: waiting and taking are separate steps, so that cancelling a wait loses nothing.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::IntoPyArray;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::{Map, Value};

use super::arrays::{array, as_times};
use super::awaiting::awaitable;
use super::blocking::{beside, wait};
use super::errors;
use super::failures::from_client;
use super::imports::load_numpy;
use super::records::object;
use super::runtime::Process;
use super::times::moment;
use crate::client::{
    self, Backoff, ClientError, Gap, Listed, Overflow, StreamItem, StreamOptions, TradeTable, Trades, nanoseconds,
};
use crate::protocol::stream::Channel;

/// A channel as passed by Python: type, exchange, symbol, category, parameters, unchecked parameters.
pub(super) type ChannelParts = (String, String, String, Option<String>, Vec<(String, String)>, Vec<(String, String)>);

fn channel((kind, exchange, symbol, category, parameters, extra): ChannelParts) -> Channel {
    let channel = Channel::new(kind, exchange, symbol);
    Channel {
        category: category.unwrap_or(channel.category),
        parameters: parameters.into_iter().collect(),
        extra: extra.into_iter().collect(),
        ..channel
    }
}

/// A stream of events.
#[pyclass(frozen, module = "marketpoints._engine")]
pub(super) struct EventStream {
    stream: Arc<client::EventStream>,
    process: Arc<Process>,
    /// The table of batches' series, as last converted for Python.
    tuples: Mutex<Option<Tuples>>,
}

/// Markets and series of batches as tuples.
struct Tuples {
    series: Py<PyTuple>,
    markets: Py<PyTuple>,
}

impl EventStream {
    /// A stream that is not open yet.
    pub(super) fn new(
        py: Python<'_>,
        client: &client::Client,
        process: Arc<Process>,
        channels: Vec<ChannelParts>,
        options: StreamOptions,
    ) -> PyResult<Self> {
        let channels = channels.into_iter().map(channel).collect();
        // A recording's log is read, which may be long.
        let stream = py.detach(|| client.stream(channels, options)).map_err(|error| from_client(py, error))?;
        Ok(Self { stream: Arc::new(stream), process, tuples: Mutex::default() })
    }

    fn own(&self, py: Python<'_>) -> PyResult<Arc<client::EventStream>> {
        if self.process.is_own() {
            return Ok(Arc::clone(&self.stream));
        }
        Err(errors::general(py, "this stream was made before the process forked; make a new one in the child"))
    }

    /// Closes the connections, which a forked child leaves to its parent; returns the stream if it has files to be closed. At
    /// the interpreter's exit, where nobody could wait for that, they are closed at once.
    fn closed_but_for_files(&self, py: Python<'_>) -> Option<Arc<client::EventStream>> {
        let own = self.process.is_own().then(|| Arc::clone(&self.stream))?;
        own.close();
        if self.process.is_over() {
            py.detach(|| own.close_files());
            return None;
        }
        own.is_recording().then_some(own)
    }

    fn waiting(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<impl Future<Output = bool> + Send + use<>> {
        let stream = self.own(py)?;
        let limit = seconds.map(|seconds| super::errors::seconds(py, "timeout", seconds, -1.0)).transpose()?;
        Ok(async move {
            match limit {
                Some(limit) => tokio::time::timeout(limit, stream.ready()).await.is_ok(),
                None => {
                    stream.ready().await;
                    true
                }
            }
        })
    }
}

impl EventStream {
    /// An event, a gap or a batch as a dictionary, or an error to raise in its turn.
    fn handed_over(&self, py: Python<'_>, item: Result<StreamItem, ClientError>) -> PyResult<Py<PyAny>> {
        let event = match item {
            Ok(StreamItem::Event(event)) => event,
            Ok(StreamItem::Gap(gap)) => return gap_parts(py, &gap),
            Ok(StreamItem::Trades(trades)) => return self.batch(py, trades),
            Err(error) => return from_client(py, error).into_value(py).into_py_any(py),
        };
        let dict = PyDict::new(py);
        dict.set_item("time", event.time().map(|time| moment(py, time)).transpose()?)?;
        dict.set_item("name", &event.name)?;
        dict.set_item("series", fields(py, &event.series)?)?;
        dict.set_item("values", fields(py, &event.values)?)?;
        dict.set_item("extra", fields(py, &event.extra)?)?;
        dict.into_py_any(py)
    }

    /// Trades or liquidations as a dictionary of arrays.
    fn batch(&self, py: Python<'_>, trades: Trades) -> PyResult<Py<PyAny>> {
        let mut known = self.tuples.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let before = known.as_ref().map_or(0, |tuples| tuples.series.bind(py).len());
        // No Python object is created while the table is locked: connections wait for it.
        let grown: Option<TradeTable> =
            self.stream.trade_table(|table| (table.all.len() != before).then(|| table.clone()));
        if let Some(table) = grown {
            let fields: PyResult<Vec<_>> = table.all.iter().map(|one| fields(py, &one.fields)).collect();
            *known = Some(Tuples {
                series: PyTuple::new(py, fields?)?.unbind(),
                markets: PyTuple::new(py, table.markets)?.unbind(),
            });
        }
        let of: (Vec<i32>, Vec<i8>) = self.stream.trade_table(|table| {
            let of = trades.series.iter().map(|series| &table.all[*series as usize]);
            of.map(|one| (one.market as i32, one.side)).unzip()
        });
        let dict = PyDict::new(py);
        if let Some(tuples) = known.as_ref() {
            dict.set_item("series", &tuples.series)?;
            dict.set_item("markets", &tuples.markets)?;
        }
        drop(known);
        dict.set_item("name", trades.name())?;
        dict.set_item("id", texts(py, &trades)?)?;
        dict.set_item("market_codes", array(py, of.0)?)?;
        dict.set_item("side", array(py, of.1)?)?;
        dict.set_item("series_codes", array(py, trades.series.into_iter().map(|code| code as i32).collect())?)?;
        dict.set_item("time", array(py, as_times(trades.times))?)?;
        dict.set_item("price", array(py, trades.prices)?)?;
        dict.set_item("amount", array(py, trades.amounts)?)?;
        let batch = PyDict::new(py);
        batch.set_item("batch", dict)?;
        batch.into_py_any(py)
    }
}

/// Identifiers as a NumPy array of strings, as wide as the longest.
fn texts(py: Python<'_>, trades: &Trades) -> PyResult<Py<PyAny>> {
    let letters = |id: &str| if id.is_ascii() { id.len() } else { id.chars().count() };
    let width = trades.ids().map(letters).max().unwrap_or(0).max(1);
    let mut all = vec![0u32; trades.len() * width];
    for (row, id) in all.chunks_exact_mut(width).zip(trades.ids()) {
        if id.is_ascii() {
            row.iter_mut().zip(id.bytes()).for_each(|(place, byte)| *place = u32::from(byte));
        } else {
            row.iter_mut().zip(id.chars()).for_each(|(place, letter)| *place = u32::from(letter));
        }
    }
    array(py, all)?.call_method1(py, "view", (format!("<U{width}"),))
}

/// The settings of a stream.
pub(super) fn options(
    py: Python<'_>,
    queue: usize,
    overflow: &str,
    (first, longest): (f64, f64),
    reconnects: Option<u32>,
    ping_after: f64,
    record: Option<PathBuf>,
    batches: bool,
) -> PyResult<StreamOptions> {
    let seconds = |name: &str, value: f64| super::errors::seconds(py, name, value, 0.0);
    let (first, longest) = (seconds("backoff", first)?, seconds("backoff", longest)?);
    if longest < first {
        return Err(errors::invalid(py, "backoff: the longest pause is shorter than the first one"));
    }
    let overflow = match overflow {
        "wait" => Overflow::Wait,
        "drop" => Overflow::DropOldest,
        other => return Err(errors::invalid(py, &format!("overflow: {other:?} is neither \"wait\" nor \"drop\""))),
    };
    let backoff = Backoff { first, longest, ..Backoff::default() };
    let ping_after = seconds("ping_after", ping_after)?;
    Ok(StreamOptions { queue, overflow, backoff, reconnects, ping_after, record, batches })
}

#[pymethods]
impl EventStream {
    /// The warnings to issue before the channels are opened.
    fn look_up(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let stream = self.own(py)?;
        let listed = wait(py, &self.process, async move { stream.look_up().await })?;
        listed.map(Listed::warning).map_err(|error| from_client(py, error))
    }

    fn look_up_async<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stream = self.own(py)?;
        awaitable(py, &self.process, async move { stream.look_up().await }, |py, listed| {
            let listed = listed.map_err(|error| from_client(py, error))?;
            listed.warning().into_py_any(py)
        })
    }

    fn open(&self, py: Python<'_>) -> PyResult<()> {
        let stream = self.own(py)?;
        wait(py, &self.process, async move { stream.open().await })?.map_err(|error| from_client(py, error))
    }

    fn open_async<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stream = self.own(py)?;
        awaitable(py, &self.process, async move { stream.open().await }, |py, opened| match opened {
            Ok(()) => Ok(py.None()),
            Err(error) => Err(from_client(py, error)),
        })
    }

    #[pyo3(signature = (timeout = None))]
    fn ready(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let waiting = self.waiting(py, timeout)?;
        wait(py, &self.process, waiting)
    }

    #[pyo3(signature = (timeout = None))]
    fn ready_async<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        let waiting = self.waiting(py, timeout)?;
        awaitable(py, &self.process, waiting, |py, ready| ready.into_py_any(py))
    }

    fn take(&self, py: Python<'_>, waiting: &Bound<'_, PyAny>, most: usize) -> PyResult<bool> {
        let own = self.own(py)?;
        load_numpy(py)?; // first: events already taken would be lost
        let taken = own.take(most);
        let list = PyList::empty(py);
        for event in taken.events {
            list.append(self.handed_over(py, event)?)?;
        }
        // By the engine: a signal's handler, which may raise, only runs after it has returned.
        waiting.call_method1("extend", (list,))?;
        Ok(taken.ended)
    }

    /// Closes the connections; returns when the recorded files are closed too.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        match self.closed_but_for_files(py) {
            Some(recording) => beside(py, &self.process, move || recording.close_files()),
            None => Ok(()),
        }
    }

    /// Closes the connections; `None` if there is nothing to wait for.
    fn close_async<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(recording) = self.closed_but_for_files(py) else { return Ok(None) };
        let closed = async move {
            let _ = tokio::task::spawn_blocking(move || recording.close_files()).await;
        };
        awaitable(py, &self.process, closed, |py, ()| Ok(py.None())).map(Some)
    }

    #[getter]
    fn dropped(&self) -> u64 {
        self.stream.dropped()
    }

    /// Rows recorded, and events that could not be recorded.
    #[getter]
    fn recorded(&self) -> (u64, u64) {
        self.stream.recorded()
    }

    #[getter]
    fn reconnects(&self) -> u64 {
        self.stream.reconnects()
    }

    #[getter]
    fn state(&self) -> &'static str {
        // The connections and their locks belong to the parent.
        if self.process.is_own() { self.stream.state().name() } else { "of another process" }
    }
}

/// A gap as a dictionary of its own.
fn gap_parts(py: Python<'_>, gap: &Gap) -> PyResult<Py<PyAny>> {
    let parts = PyDict::new(py);
    parts.set_item("start", moment(py, gap.from)?)?;
    parts.set_item("end", moment(py, gap.to)?)?;
    parts.set_item("seconds", gap.lasted.as_secs_f64())?;
    parts.set_item("attempts", gap.attempts)?;
    parts.set_item("reason", &gap.reason)?;
    let channels: PyResult<Vec<_>> = gap.channels.iter().map(|channel| object(py, &channel.to_json())).collect();
    parts.set_item("channels", channels?)?;
    let dict = PyDict::new(py);
    dict.set_item("gap", parts)?;
    dict.into_py_any(py)
}

fn fields<'py>(py: Python<'py>, fields: &Map<String, Value>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in fields {
        dict.set_item(name, field(py, value)?)?;
    }
    Ok(dict)
}

fn is_only_time(value: &Value) -> bool {
    let names = ["seconds", "nanoseconds", "s", "ns"];
    value.as_object().is_some_and(|fields| fields.keys().all(|name| names.contains(&name.as_str())))
}

/// Lists of numbers become arrays, times `datetime64[ns]`.
fn field(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    let numbers: Option<Vec<f64>> = match value {
        Value::Array(values) => values.iter().map(Value::as_f64).collect(),
        _ => None,
    };
    match numbers {
        Some(numbers) => numbers.into_pyarray(py).into_py_any(py),
        None => match nanoseconds(value).filter(|_| is_only_time(value)) {
            Some(time) => moment(py, time).map(Bound::unbind),
            None => object(py, value),
        },
    }
}
