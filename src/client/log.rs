//! Log records of a call: one for each attempt, for each request that waits, and notices about the budget. The bindings pass
//! them to Python's `logging`; without a listener none are built.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::protocol::Weight;

/// A wait for budget that takes this long has a record.
const WAIT_TOLD: Duration = Duration::from_secs(1);
/// From here on, whoever does not know of it takes the program for stuck.
const LONG_WAIT: Duration = Duration::from_secs(10);

tokio::task_local! {
    static LISTENER: Listener;
}

/// The level of a record, as numbers of Python's `logging`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// An attempt succeeded, or was refused for good, which the caller gets as an error; a request waits some seconds.
    Debug = 10,
    /// A problem that is being handled, such as an attempt that is repeated; a request waits long.
    Warning = 30,
}

/// A log record.
#[derive(Debug, Clone, PartialEq)]
pub enum LogRecord {
    /// The end of an attempt.
    Attempt(Attempt),
    /// A request waits until its weight has refilled.
    Waiting(Weight, Duration),
    /// Any other message.
    Notice(String),
}

/// One attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// URL of the request; the key is not in it.
    pub url: String,
    /// Weight of the request (section 8).
    pub weight: Weight,
    /// HTTP status, where an answer came.
    pub status: Option<u16>,
    /// From sending to the last byte, decoding included.
    pub seconds: f64,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// The error, if any.
    pub error: Option<String>,
    /// Seconds until the next attempt, where there is one.
    pub again_in: Option<f64>,
}

impl LogRecord {
    /// Its level.
    pub const fn level(&self) -> LogLevel {
        match self {
            Self::Attempt(Attempt { again_in: None, .. }) => LogLevel::Debug,
            Self::Waiting(_, wait) if wait.as_nanos() < LONG_WAIT.as_nanos() => LogLevel::Debug,
            Self::Attempt(_) | Self::Waiting(..) | Self::Notice(_) => LogLevel::Warning,
        }
    }
}

impl fmt::Display for LogRecord {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempt = match self {
            Self::Notice(words) => return out.write_str(words),
            Self::Waiting(weight, wait) => {
                let seconds = wait.as_secs_f64();
                let until = "until the budget allows weight";
                return write!(out, "waiting {seconds:.1} s {until} {weight}; max_wait= bounds it");
            }
            Self::Attempt(attempt) => attempt,
        };
        write!(out, "GET {} weight {}", attempt.url, attempt.weight)?;
        match attempt.status {
            Some(status) => write!(out, ": {status}")?,
            None => out.write_str(": no answer")?,
        }
        write!(out, " after {:.3} s, attempt {}", attempt.seconds, attempt.attempt)?;
        if let Some(error) = &attempt.error {
            write!(out, ": {error}")?;
        }
        attempt.again_in.map_or(Ok(()), |pause| write!(out, "; again in {pause:.3} s"))
    }
}

/// Receives the records of a call.
#[derive(Clone)]
pub struct Listener {
    /// The lowest level that is emitted.
    pub least: LogLevel,
    /// Called on the call's thread: it must not block.
    pub on_record: Arc<dyn Fn(LogRecord) + Send + Sync>,
}

/// Runs a call whose records go to `listener`.
pub async fn listening<T>(listener: Option<Listener>, call: impl Future<Output = T>) -> T {
    match listener {
        Some(listener) => LISTENER.scope(listener, call).await,
        None => call.await,
    }
}

/// Emits a record of this level; it is only built if there is a listener for it.
pub(super) fn emit(level: LogLevel, record: impl FnOnce() -> LogRecord) {
    let listener = LISTENER.try_with(|listener| (level >= listener.least).then(|| Arc::clone(&listener.on_record)));
    if let Ok(Some(on_record)) = listener {
        on_record(record());
    }
}

/// Emits that a request waits, if that takes long enough to be told.
pub(super) fn emit_wait(weight: Weight, wait: Duration) {
    if wait >= WAIT_TOLD {
        let record = LogRecord::Waiting(weight, wait);
        emit(record.level(), || record);
    }
}

/// Whether there is a listener for this level.
pub(super) fn is_heard(level: LogLevel) -> bool {
    LISTENER.try_with(|listener| level >= listener.least).unwrap_or(false)
}
