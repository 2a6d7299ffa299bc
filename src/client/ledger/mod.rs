//! Where an account is stored: in this process, in a file for all processes of the user on this machine, or in Redis
//! for many machines. The rules are in [`crate::budget::Account`]; this module only shares it.
//!
//! A backend that fails (a read-only folder, a Redis that is down) stops no call. The process continues with its own
//! copy, which the answers' headers and 429s correct, logs this once, and returns to the shared account as soon as it
//! is available.

mod file;
mod lock;
mod redis;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::FutureExt;

use self::file::FileLedger;
use self::lock::lock;
use self::redis::RedisLedger;
use super::config::BudgetScope;
use super::error::ClientError;
use super::log::{self, LogLevel, LogRecord};
use crate::budget::{Account, Limits};
use crate::clock::{SharedClock, UnixNanos};

/// How long to wait for a lock. It is held for microseconds; only a stopped process holds it longer.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// Pause between two attempts to lock.
const LOCK_RETRY: Duration = Duration::from_millis(1);
/// How long to wait before using a failed backend again.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// An account and the backend that keeps it.
pub(super) struct BudgetLedger {
    backend: Backend,
    own: Mutex<OwnView>,
    clock: SharedClock,
}

enum Backend {
    Process,
    File(Box<FileLedger>),
    Redis(Box<RedisLedger>),
}

/// This process's copy of the account.
struct OwnView {
    account: Account,
    /// How far the shared account's clock is ahead of this process's, in nanoseconds.
    ahead: i64,
    /// Until when a failed backend is not used; `None` while it works.
    failed_until: Option<Instant>,
    /// The notice for the next call that has a listener.
    notice: Option<String>,
}

impl BudgetLedger {
    /// The ledger of the account `name`, a hash. Nothing is opened yet.
    ///
    /// # Errors
    /// [`super::ErrorKind::InvalidRequest`] for an invalid Redis address, and for a link, or anything that is not a
    /// file, at the path of the account's file.
    pub(super) fn new(scope: &BudgetScope, name: &str, clock: SharedClock) -> Result<Self, ClientError> {
        let backend = match scope {
            BudgetScope::Process => Backend::Process,
            BudgetScope::Machine => Backend::File(Box::new(FileLedger::new(None, name))),
            BudgetScope::Folder(folder) => Backend::File(Box::new(FileLedger::new(Some(folder.clone()), name))),
            BudgetScope::Redis(address) => Backend::Redis(Box::new(RedisLedger::new(address, name)?)),
        };
        if let Backend::File(file) = &backend
            && let Some(obstacle) = file.obstacle()
        {
            return Err(ClientError::invalid(format!("budget: {obstacle}")));
        }
        let own = OwnView { account: Account::default(), ahead: 0, failed_until: None, notice: None };
        Ok(Self { backend, own: Mutex::new(own), clock })
    }

    /// Whether the account is in this process or in a file: no connection is needed to change it.
    pub(super) fn is_local(&self) -> bool {
        matches!(self.backend, Backend::Process | Backend::File(_))
    }

    /// Changes the account atomically. `change` gets the account and the time by the account's clock, and is called
    /// again when another process changed the account meanwhile.
    pub(super) async fn update<T: Send>(&self, mut change: impl FnMut(&mut Account, UnixNanos) -> T + Send) -> T {
        let value = self.update_quietly(&mut change).await;
        if log::is_heard(LogLevel::Warning)
            && let Some(words) = lock(&self.own).notice.take()
        {
            log::emit(LogLevel::Warning, || LogRecord::Notice(words));
        }
        value
    }

    async fn update_quietly<T: Send>(&self, mut change: impl FnMut(&mut Account, UnixNanos) -> T + Send) -> T {
        if self.is_left_alone() {
            return self.in_own_view(&mut change);
        }
        let patience = Instant::now() + LOCK_PATIENCE;
        loop {
            let outcome = match &self.backend {
                Backend::Process => return self.in_own_view(&mut change),
                Backend::File(file) => file.try_update(|now| self.own_view_at(now), |now| self.debt(now), &mut change),
                Backend::Redis(redis) => {
                    redis.update(|now| self.own_view_at(now), |now| self.debt(now), &mut change).await.map(Some)
                }
            };
            match outcome {
                Ok(Some((value, account, now))) => {
                    self.reflect(account, now);
                    return value;
                }
                Ok(None) if Instant::now() < patience => tokio::time::sleep(LOCK_RETRY).await,
                Ok(None) => {
                    self.fail("another process holds its lock and does not move");
                    return self.in_own_view(&mut change);
                }
                Err(problem) => {
                    self.fail(&problem);
                    return self.in_own_view(&mut change);
                }
            }
        }
    }

    /// As [`Self::update`], for `Drop`, which cannot wait: at once if the backend allows it, else as soon as possible.
    pub(super) fn update_later(self: &Arc<Self>, mut change: impl FnMut(&mut Account, UnixNanos) + Send + 'static) {
        let left_alone = self.is_left_alone();
        match &self.backend {
            Backend::File(file) if !left_alone => {
                if let Ok(Some(((), account, now))) =
                    file.try_update(|now| self.own_view_at(now), |now| self.debt(now), &mut change)
                {
                    self.reflect(account, now);
                    return;
                }
            }
            Backend::Redis(_) if !left_alone => {}
            _ => return self.in_own_view(&mut change),
        }
        // Without a runtime the process is about to end: the account drops requests whose end is never reported.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let ledger = Arc::clone(self);
            // In a box: what runs it is compiled once, not for each change.
            runtime.spawn(async move { ledger.update(change).await }.boxed());
        }
    }

    /// As [`Self::update`], without waiting: if the account is not available at once, this process's copy is used.
    pub(super) fn update_now<T>(&self, mut change: impl FnMut(&mut Account, UnixNanos) -> T) -> T {
        if let Backend::File(file) = &self.backend
            && !self.is_left_alone()
        {
            match file.try_update(|now| self.own_view_at(now), |now| self.debt(now), &mut change) {
                Ok(Some((value, account, now))) => {
                    self.reflect(account, now);
                    return value;
                }
                Ok(None) => {}
                Err(problem) => self.fail(&problem),
            }
        }
        self.in_own_view(&mut change)
    }

    /// Closes the account's file until it is used again.
    pub(super) fn close(&self) {
        if let Backend::File(file) = &self.backend {
            file.close();
        }
    }

    /// The limits in this process's copy.
    pub(super) fn limits(&self) -> Option<Limits> {
        lock(&self.own).account.limits()
    }

    fn in_own_view<T>(&self, change: &mut impl FnMut(&mut Account, UnixNanos) -> T) -> T {
        let mut own = lock(&self.own);
        let now = self.clock.now().plus(own.ahead);
        change(&mut own.account, now)
    }

    /// This process's copy, by a clock at `now`: the shared account starts from it if it is missing or damaged.
    fn own_view_at(&self, now: UnixNanos) -> Account {
        let own = lock(&self.own);
        own.account.clone().moved(self.clock.now().plus(own.ahead), now)
    }

    /// Account of this process while the shared one is not available; `None` while it is.
    fn debt(&self, now: UnixNanos) -> Option<Account> {
        lock(&self.own).failed_until?;
        Some(self.own_view_at(now))
    }

    fn reflect(&self, account: Account, now: UnixNanos) {
        let mut own = lock(&self.own);
        own.account = account;
        own.ahead = now.since(self.clock.now());
        if own.failed_until.take().is_some() {
            own.notice = Some("the budget is shared again".to_owned());
        }
    }

    fn is_left_alone(&self) -> bool {
        lock(&self.own).failed_until.is_some_and(|until| Instant::now() < until)
    }

    fn fail(&self, problem: &str) {
        let mut own = lock(&self.own);
        if own.failed_until.replace(Instant::now() + AFTER_FAILURE).is_none() {
            own.notice = Some(format!(
                "the budget is not shared for now: {problem}; this process goes on with its own view of it, which the \
                 answers' headers keep right"
            ));
        }
    }
}

#[cfg(test)]
mod tests;
