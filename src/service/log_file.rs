//! The access log as a file of JSON lines, written on its own thread, so that a slow disk delays no answer.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Serialize;

use super::log::{AccessLog, AccessRecord};
use crate::archive::open_log;
use crate::protocol::Weight;

/// Records that may wait for the disk; further ones are dropped and counted.
const QUEUE: usize = 8_192;
/// How long closing waits for the last records, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(1);
/// Name that means standard error instead of a file.
const STANDARD_ERROR: &str = "-";

/// One line.
#[derive(Serialize)]
struct LogLine<'a> {
    /// The service's time, ISO 8601, UTC.
    time: String,
    peer: Option<String>,
    /// Name of the key's entry, never the key.
    key_name: Option<&'a str>,
    method: &'a str,
    target: &'a str,
    status: u16,
    weight: Weight,
    bytes: u64,
    microseconds: u64,
}

enum Message {
    Line(String),
    End,
}

/// An open access log.
pub struct LogFile {
    sender: SyncSender<Message>,
    lost: Arc<AtomicU64>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl LogFile {
    /// Opens a file for appending, creating it if needed; `-` is standard error.
    ///
    /// # Errors
    /// The file cannot be opened, or no thread can be started.
    pub fn open(path: &Path) -> io::Result<Self> {
        let output: Box<dyn Write + Send> = if path == Path::new(STANDARD_ERROR) {
            Box::new(io::stderr())
        } else {
            Box::new(open_log(path).map_err(|error| named(path, &error))?)
        };
        let (sender, messages) = sync_channel(QUEUE);
        let lost = Arc::new(AtomicU64::new(0));
        let left_out = Arc::clone(&lost);
        let work = move || write(&messages, &mut BufWriter::new(output), &left_out);
        let writer = Builder::new().name("marketpoints-log".to_owned()).spawn(work)?;
        Ok(Self { sender, lost, writer: Mutex::new(Some(writer)) })
    }

    /// The callback for [`super::ServiceConfig::access_log`].
    pub fn log(&self) -> AccessLog {
        let (sender, lost) = (self.sender.clone(), Arc::clone(&self.lost));
        Arc::new(move |record| {
            let Ok(line) = serde_json::to_string(&line(record)).map(|line| ascii(&line)) else { return };
            if let Err(TrySendError::Full(_)) = sender.try_send(Message::Line(line)) {
                lost.fetch_add(1, Ordering::SeqCst);
            }
        })
    }

    /// Writes the waiting records and closes. A second call does nothing; later records are dropped. A log that cannot
    /// be written to, such as a full pipe, is abandoned after a second.
    pub fn finish(&self) {
        let Some(writer) = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let deadline = Instant::now() + PATIENCE;
        let mut end_sent = false;
        while !writer.is_finished() && Instant::now() < deadline {
            end_sent = end_sent || self.sender.try_send(Message::End).is_ok();
            std::thread::sleep(PAUSE);
        }
        if writer.is_finished() {
            // After a panic of that thread, nothing is left to write.
            let _ = writer.join();
        }
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        self.finish();
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    let path: PathBuf = path.to_owned();
    io::Error::new(error.kind(), format!("cannot open the access log {}: {error}", path.display()))
}

fn line(record: &AccessRecord) -> LogLine<'_> {
    // Milliseconds are enough to read, and every time of the service has them.
    let time = Timestamp::from_millisecond(record.time.0.div_euclid(1_000_000));
    LogLine {
        time: time.map_or_else(|_| record.time.0.to_string(), |time| format!("{time:.3}")),
        peer: record.peer.map(|peer| peer.to_string()),
        key_name: record.holder.as_deref(),
        method: &record.method,
        target: &record.target,
        status: record.status,
        weight: record.weight,
        bytes: record.bytes,
        microseconds: record.microseconds,
    }
}

/// JSON in ASCII. Key names and targets come from others, and a terminal that shows the log would obey control
/// and bidirectional characters.
fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for one in json.chars() {
        if one.is_ascii() && !one.is_ascii_control() {
            text.push(one);
        } else {
            // Outside of strings JSON is ASCII.
            let mut units = [0; 2];
            text.extend(one.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    text
}

/// Runs the writer. What cannot be written is lost: a full disk must not stop the service.
fn write(messages: &Receiver<Message>, output: &mut impl Write, lost: &AtomicU64) {
    loop {
        let message = match messages.try_recv() {
            Ok(message) => message,
            // Nothing more is waiting: flush, so that it can be read.
            Err(TryRecvError::Empty) => {
                let _ = output.flush();
                match messages.recv() {
                    Ok(message) => message,
                    Err(_) => break,
                }
            }
            Err(TryRecvError::Disconnected) => break,
        };
        match message {
            Message::Line(line) => drop(writeln!(output, "{line}")),
            Message::End => break,
        }
        let missing = lost.swap(0, Ordering::SeqCst);
        if missing > 0 {
            let _ = writeln!(output, "{{\"left_out\":{missing}}}");
        }
    }
    let _ = output.flush();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::UnixNanos;

    fn record(target: &str) -> AccessRecord {
        AccessRecord {
            time: UnixNanos(1_776_880_800_250_000_000),
            peer: Some([127, 0, 0, 1].into()),
            method: "GET".into(),
            target: target.into(),
            holder: Some("lab".into()),
            plan: Some("advanced"),
            status: 200,
            weight: Weight(3),
            bytes: 12,
            microseconds: 45,
        }
    }

    #[test]
    fn a_line_is_ascii_and_says_the_same() {
        let name = "k\u{1b}[2J\u{7f}\u{9b}\u{202e}ö価😀\"\n";
        let mut odd = record("/v1/\u{85}");
        odd.holder = Some(name.into());
        let text = ascii(&serde_json::to_string(&line(&odd)).unwrap());
        assert!(text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '), "{text}");
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((read["key_name"].as_str(), read["target"].as_str()), (Some(name), Some("/v1/\u{85}")));
    }

    #[test]
    fn each_record_is_one_line_of_json_and_a_second_log_appends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.jsonl");
        for target in ["/v1/usage", "/v1/\"quoted\"\n"] {
            let file = LogFile::open(&path).unwrap();
            let log = file.log();
            log(&record(target));
            file.finish();
            file.finish();
            log(&record("after the end"));
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let expected = serde_json::json!({
            "time": "2026-04-22T18:00:00.250Z", "peer": "127.0.0.1", "key_name": "lab", "method": "GET",
            "target": "/v1/usage", "status": 200, "weight": 3, "bytes": 12, "microseconds": 45,
        });
        assert_eq!(lines[0], expected);
        assert_eq!((lines.len(), &lines[1]["target"]), (2, &"/v1/\"quoted\"\n".into()));
    }

    #[test]
    fn what_the_writer_cannot_keep_up_with_is_counted() {
        let (sender, messages) = sync_channel(2);
        sender.send(Message::Line("{}".into())).unwrap();
        drop(sender);
        let mut output = Vec::new();
        write(&messages, &mut output, &AtomicU64::new(7));
        assert_eq!(String::from_utf8(output).unwrap(), "{}\n{\"left_out\":7}\n");
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let error = LogFile::open(Path::new("/nowhere/access.jsonl")).err().unwrap();
        assert!(error.to_string().contains("cannot open the access log /nowhere/access.jsonl"), "{error}");
    }
}
