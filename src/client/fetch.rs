//! One call with everything around it: budget, attempts, error bodies.

use std::time::Duration;

use bytes::Bytes;

use super::Inner;
use super::error::{ClientError, ErrorKind, Place};
use super::pace::Permit;
use super::retry::{Failure, Verdict, verdict};
use super::transport::{Answer, Broken};
use crate::protocol::wire::USAGE_PATH;
use crate::protocol::{ErrorBody, Usage};

/// A whole 200 body that does not read.
pub(super) struct Unreadable {
    pub error: ClientError,
    /// The document ended too early: the transfer was cut.
    pub cut: bool,
}

impl Inner {
    /// Learns the limits of a key whose tier nobody told, from `/v1/usage`. It may be forbidden on a valid key: then
    /// the answers' headers tell, if they come.
    pub(super) async fn learn_limits(&self) {
        self.pacer
            .learnt
            .get_or_init(|| async {
                let url = self.transport.url(USAGE_PATH, "");
                if let Ok(answer) = self.transport.get(&url).await
                    && let Ok(permit) = self.pacer.acquire(0, None).await
                {
                    let mut budget = answer.budget;
                    if let Ok(usage) = serde_json::from_slice::<Usage>(&answer.body)
                        && answer.status == 200
                        && usage.limit > 0
                    {
                        budget.limit = u32::try_from(usage.limit).ok();
                        budget.remaining = u64::try_from(usage.remaining).ok();
                        budget.used = u64::try_from(usage.used).ok();
                    }
                    permit.answered(budget);
                }
            })
            .await;
    }

    /// One GET with everything around it: budget, retries, error bodies. `read` turns a whole 200 body into a value, or
    /// says whether the body was cut short.
    pub(super) async fn fetch<T, F, R>(&self, url: &str, weight: u64, read: F) -> Result<T, ClientError>
    where
        F: Fn(Bytes) -> R,
        R: Future<Output = Result<T, Unreadable>>,
    {
        self.fetch_dated(url, weight, |body, _| read(body)).await
    }

    /// As [`Inner::fetch`]; `read` is told the service's clock too (Unix seconds), where the answer has it.
    pub(super) async fn fetch_dated<T, F, R>(&self, url: &str, weight: u64, read: F) -> Result<T, ClientError>
    where
        F: Fn(Bytes, Option<i64>) -> R,
        R: Future<Output = Result<T, Unreadable>>,
    {
        for attempt in 0.. {
            let permit = self.pacer.acquire(weight, self.max_wait).await.map_err(|error| error.of(url))?;
            let mut failed = match self.transport.get(url).await {
                Err(Broken { error, not_sent }) => {
                    if not_sent {
                        permit.not_sent();
                    }
                    Failed { error, cut: false, bare_forbidden: false }
                }
                Ok(answer) => match self.read(permit, answer, &read).await {
                    Ok(value) => return Ok(value),
                    Err(failed) => failed,
                },
            };
            failed.error = failed.error.of(url);
            failed.error.message = self.transport.redact(&failed.error.message);
            failed.error.code = failed.error.code.map(|code| self.transport.redact(&code));
            if let Some(Place::Body(place)) = failed.error.place.as_deref_mut() {
                place.path = self.transport.redact(&place.path);
                place.problem = self.transport.redact(&place.problem);
            }
            let failure = Failure { error: &failed.error, cut: failed.cut, bare_forbidden: failed.bare_forbidden };
            match verdict(&failure, attempt, self.policy, fastrand::f64()) {
                Verdict::GiveUp if attempt > 0 => {
                    failed.error.message = format!("{} (after {} attempts)", failed.error.message, attempt + 1);
                    return Err(failed.error);
                }
                Verdict::GiveUp => return Err(failed.error),
                Verdict::After(pause) => tokio::time::sleep(pause).await,
            }
        }
        Err(ClientError::new(ErrorKind::Transport, "no attempt was made")) // attempts count up for ever
    }

    async fn read<T, F, R>(&self, permit: Permit<'_>, answer: Answer, read: &F) -> Result<T, Failed>
    where
        F: Fn(Bytes, Option<i64>) -> R,
        R: Future<Output = Result<T, Unreadable>>,
    {
        if answer.status == 200 {
            permit.answered(answer.budget);
            return read(answer.body, answer.date).await.map_err(|Unreadable { cut, mut error }| {
                error.status = Some(answer.status);
                Failed { error, cut, bare_forbidden: false }
            });
        }
        let body = ErrorBody::parse(answer.status, &answer.body);
        let bare_forbidden = answer.status == 403 && !body.names_a_plan_limit();
        if answer.status == 429 {
            let told = answer.retry_after.or_else(|| body.retry_after.map(Duration::from_secs));
            permit.refused(answer.budget, told);
        } else {
            permit.answered(answer.budget);
        }
        let mut error = ClientError::refused(body);
        if let Some(wait) = answer.retry_after {
            error.retry_after = Some(wait.as_secs_f64());
        }
        Err(Failed { error, cut: false, bare_forbidden })
    }
}

struct Failed {
    error: ClientError,
    cut: bool,
    bare_forbidden: bool,
}
