//! The journal: the last requests, for the service's owner to inspect (`LocalService.requests`). It cannot be read over
//! the network.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::Method;

use super::access::{Access, KeyRing};
use super::log::AccessRecord;
use super::redact::redacted_request_line;
use crate::clock::UnixNanos;
use crate::protocol::Weight;

/// Most bytes of all methods and targets together, so that a few very long ones do not take the memory of thousands.
const MAX_TEXT: usize = 16 * 1024 * 1024;

/// One request as it arrived. Keys are redacted when the entry is read, because that takes longer than a short answer.
#[derive(Clone)]
pub(super) struct JournalEntry {
    pub(super) time: UnixNanos,
    pub(super) peer: IpAddr,
    pub(super) method: Method,
    pub(super) target: Box<str>,
    pub(super) access: Option<Arc<Access>>,
    pub(super) status: u16,
    pub(super) weight: Weight,
    pub(super) bytes: u64,
    pub(super) microseconds: u64,
}

impl JournalEntry {
    /// Bytes whose number the peer chose.
    fn text(&self) -> usize {
        self.method.as_str().len() + self.target.len()
    }
}

/// The last requests of a service in the order of their answers, and the total weight. Clones share the same journal,
/// also after the service has stopped.
#[derive(Clone)]
pub struct Journal {
    kept: Arc<Mutex<KeptEntries>>,
    keys: Arc<KeyRing>,
    most: usize,
    longest: usize,
}

#[derive(Default)]
struct KeptEntries {
    entries: VecDeque<JournalEntry>,
    text: usize,
    left_out: u64,
    spent: Weight,
}

impl Journal {
    /// A journal of the last `most` requests; for targets longer than `longest`, only the length is shown.
    pub(super) fn new(most: usize, longest: usize, keys: Arc<KeyRing>) -> Self {
        Self { kept: Arc::default(), keys, most, longest }
    }

    /// Whether it keeps requests; weight is always counted.
    pub(super) fn keeps_any(&self) -> bool {
        self.most > 0
    }

    /// Adds charged weight to the total.
    pub(super) fn spend(&self, weight: Weight) {
        self.kept().spent += weight;
    }

    /// Adds a request and its weight.
    pub(super) fn add(&self, entry: JournalEntry) {
        let mut kept = self.kept();
        kept.spent += entry.weight;
        kept.text += entry.text();
        kept.entries.push_back(entry);
        while kept.entries.len() > self.most || kept.text > MAX_TEXT {
            let Some(oldest) = kept.entries.pop_front() else { break };
            kept.text -= oldest.text();
            kept.left_out += 1;
        }
    }

    /// The kept requests, oldest first, with keys redacted.
    pub fn requests(&self) -> Vec<AccessRecord> {
        // Copied first: redacting takes longer, and every answer in progress would wait for the lock.
        let entries = self.kept().entries.clone();
        entries.iter().map(|entry| self.redacted(entry)).collect()
    }

    /// How many requests were removed to make room for later ones.
    pub fn left_out(&self) -> u64 {
        self.kept().left_out
    }

    /// Weight charged for all requests, also for removed ones.
    pub fn spent(&self) -> Weight {
        self.kept().spent
    }

    /// Removes all requests and resets the weight. Budgets are unchanged.
    pub fn clear(&self) {
        *self.kept() = KeptEntries::default();
    }

    /// A request with keys redacted.
    pub(super) fn redacted(&self, entry: &JournalEntry) -> AccessRecord {
        let (method, target) = redacted_request_line(entry.method.as_str(), &entry.target, self.longest, &self.keys);
        AccessRecord {
            time: entry.time,
            peer: Some(entry.peer),
            method,
            target,
            holder: entry.access.as_ref().map(|access| access.name.clone()),
            plan: entry.access.as_ref().map(|access| access.allowance.name()),
            status: entry.status,
            weight: entry.weight,
            bytes: entry.bytes,
            microseconds: entry.microseconds,
        }
    }

    fn kept(&self) -> MutexGuard<'_, KeptEntries> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Journal {
    /// Without the requests: debug output gets logged.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Journal").field("kept", &self.kept().entries.len()).finish_non_exhaustive()
    }
}
