//! The journal: the last requests, kept for the service's owner to look at (`LocalService.requests`). Nothing that comes over
//! the network reads it.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::Method;

use super::access::{Access, KeyRing};
use super::log::AccessRecord;
use super::redact::redacted_request_line;
use crate::clock::UnixNanos;
use crate::protocol::Weight;

/// Most bytes of all methods and targets together: a few peers that send very long ones must not take the memory of thousands.
const MAX_TEXT: usize = 16 * 1024 * 1024;

/// One request as it came. Keys in it are hidden when it is read: that takes longer than a short answer.
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
    /// Bytes of what the peer chose.
    fn text(&self) -> usize {
        self.method.as_str().len() + self.target.len()
    }
}

/// The last requests of a service, in the order of their answers, and the weight of all. Clones tell of the same service,
/// also when it has stopped.
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
    /// One that keeps the last `most`; targets longer than `longest` are shown by their length alone.
    pub(super) fn new(most: usize, longest: usize, keys: Arc<KeyRing>) -> Self {
        Self { kept: Arc::default(), keys, most, longest }
    }

    /// Whether it keeps any request; the weight it counts always.
    pub(super) fn keeps_any(&self) -> bool {
        self.most > 0
    }

    /// Counts weight that was charged.
    pub(super) fn spend(&self, weight: Weight) {
        self.kept().spent += weight;
    }

    /// Keeps a request, and counts its weight.
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

    /// The requests that are kept, the oldest first, without keys.
    pub fn requests(&self) -> Vec<AccessRecord> {
        // Copied first: hiding keys takes longer, and every answer under way would wait for it.
        let entries = self.kept().entries.clone();
        entries.iter().map(|entry| self.redacted(entry)).collect()
    }

    /// How many requests are kept no more, because later ones took their place.
    pub fn left_out(&self) -> u64 {
        self.kept().left_out
    }

    /// Weight that was charged for all requests, also for those that are kept no more.
    pub fn spent(&self) -> Weight {
        self.kept().spent
    }

    /// Forgets all requests and their weight. Budgets stay as they are.
    pub fn clear(&self) {
        *self.kept() = KeptEntries::default();
    }

    /// A request without keys.
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
    /// Without the requests: what is debugged gets logged.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Journal").field("kept", &self.kept().entries.len()).finish_non_exhaustive()
    }
}
