//! One request with budget, retries and error bodies.

use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;

use super::body_reader::{BodyReader, BytesReader, Unreadable, record};
use super::error::{Cause, ClientError, ErrorKind};
use super::inner::ClientInner;
use super::log::{self, Attempt, LogLevel, LogRecord};
use super::pace::{Patience, Permit};
use super::retry::{Failure, Verdict, asked_wait, verdict};
use super::transport::HttpAnswer;
use super::transport_error::TransportError;
use crate::clock::UnixSecond;
use crate::protocol::wire::USAGE_PATH;
use crate::protocol::{ErrorBody, Usage, Weight};

impl ClientInner {
    /// Reads the limits of a key of unknown tier, unless they are known: from others who share the budget, else from
    /// `/v1/usage`. If that is forbidden for the key, the headers of later answers give them.
    pub(super) async fn learn_limits(&self) {
        if !self.pacer.knows_limits() {
            // In a box: every call would have to hold it, and few ask.
            self.pacer.learnt.get_or_init(|| self.ask_limits().boxed()).await;
        }
    }

    async fn ask_limits(&self) {
        if self.pacer.hears_limits().await {
            return;
        }
        let Ok(permit) = self.pacer.acquire(Weight::ZERO, self.patience()).await else { return };
        let mut body = BytesReader::default();
        let url = self.transport.url(USAGE_PATH, "");
        let sent = Instant::now();
        let answer = match self.transport.get(&url, &mut body).await {
            Ok(answer) => answer,
            Err(broken) => return self.log_attempt(&url, sent, None, Some(&broken.error)),
        };
        let refused =
            (answer.status != 200).then(|| ClientError::refused(ErrorBody::parse(answer.status, &answer.refusal)));
        self.log_attempt(&url, sent, Some(answer.status), refused.as_ref());
        let mut budget = answer.budget;
        if answer.status == 200
            && let Some(usage) = self.usage_of(&body.into_bytes())
            && usage.limit > 0
        {
            budget.limit = u32::try_from(usage.limit).ok();
            budget.remaining = u64::try_from(usage.remaining).ok().map(Weight);
            budget.used = u64::try_from(usage.used).ok().map(Weight);
        }
        match answer.status {
            429 => permit.refused(budget, answer.retry_after).await,
            _ => permit.answered(budget).await,
        }
    }

    /// Logs the single attempt of a request of weight 0 that a call makes on its own account.
    pub(super) fn log_attempt(&self, url: &str, sent: Instant, status: Option<u16>, error: Option<&ClientError>) {
        let words = || error.map(|error| self.transport.redact(&error.message));
        log::emit(LogLevel::Debug, || attempt_record(url, Weight::ZERO, sent, 0, status, words(), None));
    }

    fn usage_of(&self, body: &[u8]) -> Option<Usage> {
        record(serde_json::from_slice(body).ok()?, self.transport.dialect()).ok()
    }

    /// One GET with budget, retries and error bodies. The 200 body of each attempt goes to a reader of its own. Returns
    /// the reader's value, and the service's clock (Unix seconds) if the answer has it. `in_line` is called when an
    /// attempt starts and stops waiting for budget.
    pub(super) async fn fetch<R: BodyReader>(
        &self,
        url: &str,
        weight: Weight,
        in_line: &(dyn Fn(bool) + Send + Sync),
        reading: impl Fn() -> R + Send + Sync,
    ) -> Result<(R::Value, Option<UnixSecond>), ClientError> {
        let patience = self.patience();
        for attempt in 0.. {
            in_line(true);
            let permit = self.pacer.acquire(weight, patience).await;
            in_line(false);
            let permit = permit.map_err(|error| error.of(url))?;
            let sent = Instant::now();
            let mut failed = match self.attempt(url, permit, patience, reading()).await {
                Ok(value) => {
                    let record = || attempt_record(url, weight, sent, attempt, Some(200), None, None);
                    log::emit(LogLevel::Debug, record);
                    return Ok(value);
                }
                Err(failed) => failed,
            };
            failed.error = self.without_the_key(failed.error).of(url);
            let mut next = match &failed {
                Failed { for_good: true, .. } => Verdict::GiveUp,
                Failed { error, cut, bare_forbidden, .. } => {
                    let failure = Failure { error, cut: *cut, bare_forbidden: *bare_forbidden };
                    verdict(&failure, attempt, self.policy, (self.jitter)())
                }
            };
            let late = |pause: Duration| patience.deadline.is_some_and(|deadline| Instant::now() + pause >= deadline);
            let mut why = String::new();
            if let Verdict::After(pause) = next {
                let asked = failed.error.retry_after.filter(|_| failed.error.kind == ErrorKind::RateLimit);
                if let Some(bound) = asked.and_then(|seconds| patience.too_long(asked_wait(seconds))) {
                    let seconds = asked.unwrap_or_default();
                    (next, why) = (Verdict::GiveUp, format!("; it asks to wait {seconds} s, {bound}"));
                } else if late(pause) {
                    (next, why) = (Verdict::GiveUp, "; total_timeout allows no more".to_owned());
                }
            }
            let again_in = match next {
                Verdict::After(pause) => Some(pause.as_secs_f64()),
                Verdict::GiveUp => None,
            };
            let level = if again_in.is_some() { LogLevel::Warning } else { LogLevel::Debug };
            let (status, words) = (failed.error.status, &failed.error.message);
            log::emit(level, || attempt_record(url, weight, sent, attempt, status, Some(words.clone()), again_in));
            match next {
                Verdict::GiveUp if attempt > 0 || !why.is_empty() => {
                    let tries = if attempt == 0 { "attempt" } else { "attempts" };
                    failed.error.message = format!("{} (after {} {tries}{why})", failed.error.message, attempt + 1);
                    return Err(failed.error);
                }
                Verdict::GiveUp => return Err(failed.error),
                Verdict::After(pause) => tokio::time::sleep(pause).await,
            }
        }
        Err(ClientError::new(ErrorKind::Transport, "no attempt was made")) // attempts count up forever
    }

    /// How long a request that starts now may wait.
    fn patience(&self) -> Patience {
        Patience { max_wait: self.max_wait, deadline: self.total_timeout.map(|total| Instant::now() + total) }
    }

    async fn attempt<R: BodyReader>(
        &self,
        url: &str,
        permit: Permit,
        patience: Patience,
        mut reading: R,
    ) -> Result<(R::Value, Option<UnixSecond>), Failed> {
        let getting = self.transport.get(url, &mut reading);
        let got = match patience.deadline {
            None => getting.await,
            Some(deadline) => tokio::time::timeout_at(deadline, getting).await.unwrap_or_else(|_| {
                Err(TransportError::off(ErrorKind::Timeout, "the request took longer than total_timeout".to_owned()))
            }),
        };
        match got {
            Ok(answer) => self.read(permit, answer, reading).await,
            Err(TransportError { error, not_sent, for_good }) => {
                if not_sent {
                    permit.not_sent().await;
                } else {
                    permit.unknown().await;
                }
                Err(Failed { for_good, ..Failed::of(error) })
            }
        }
    }

    async fn read<R: BodyReader>(
        &self,
        permit: Permit,
        answer: HttpAnswer,
        reading: R,
    ) -> Result<(R::Value, Option<UnixSecond>), Failed> {
        if answer.status == 200 {
            permit.answered(answer.budget).await;
            let value = reading.finish().map_err(|Unreadable { cut, mut error }| {
                error.status = Some(answer.status);
                Failed { cut, ..Failed::of(error) }
            })?;
            return Ok((value, answer.date));
        }
        let body = ErrorBody::parse(answer.status, &answer.refusal);
        let bare_forbidden = answer.status == 403 && !body.names_a_plan_limit();
        if answer.status == 429 {
            let wait = answer.retry_after.or_else(|| body.retry_after.map(|seconds| asked_wait(seconds as f64)));
            permit.refused(answer.budget, wait).await;
        } else {
            permit.answered(answer.budget).await;
        }
        let mut error = ClientError::refused(body);
        if let Some(wait) = answer.retry_after {
            error.retry_after = Some(wait.as_secs_f64());
        }
        Err(Failed { bare_forbidden, ..Failed::of(error) })
    }

    /// Redacts the key in an error, because a careless service may echo it.
    fn without_the_key(&self, mut error: ClientError) -> ClientError {
        error.message = self.transport.redact(&error.message);
        error.code = error.code.map(|code| self.transport.redact(&code));
        if let Some(Cause::Body(place)) = error.cause.as_deref_mut() {
            place.path = self.transport.redact(&place.path);
            place.problem = self.transport.redact(&place.problem);
        }
        error
    }
}

fn attempt_record(
    url: &str,
    weight: Weight,
    sent: Instant,
    attempt: u32,
    status: Option<u16>,
    error: Option<String>,
    again_in: Option<f64>,
) -> LogRecord {
    let seconds = sent.elapsed().as_secs_f64();
    LogRecord::Attempt(Attempt { url: url.to_owned(), weight, status, seconds, attempt: attempt + 1, error, again_in })
}

struct Failed {
    error: ClientError,
    cut: bool,
    bare_forbidden: bool,
    for_good: bool,
}

impl Failed {
    fn of(error: ClientError) -> Self {
        Self { error, cut: false, bare_forbidden: false, for_good: false }
    }
}
