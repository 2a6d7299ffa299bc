//! Rules of retries.

use std::time::{Duration, SystemTime};

use super::error::{ClientError, ErrorKind};

/// Largest step of the backoff.
const LARGEST_STEP: Duration = Duration::from_secs(30);
/// Longest `Retry-After` that is reported, about thirty years.
const LONGEST_RETRY_AFTER: f64 = 1e9;

/// A wait requested by the service, in seconds.
pub(super) fn asked_wait(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, LONGEST_RETRY_AFTER))
}

/// A 403 that names no limit of the tier may be a temporary outage: it is retried once after this many first steps (3 s
/// by default).
const AFTER_FORBIDDEN: u32 = 6;

/// Decision after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Verdict {
    /// Do not retry.
    GiveUp,
    /// Retry after this pause.
    After(Duration),
}

/// How often and how patiently to retry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy {
    pub retries: u32,
    pub first_pause: Duration,
}

/// A failed attempt, as far as retries depend on it.
pub(super) struct Failure<'a> {
    pub error: &'a ClientError,
    /// The body ended before its JSON document did.
    pub cut: bool,
    /// A 403 that names no limit of the tier.
    pub bare_forbidden: bool,
}

/// Decides on the attempt number `attempt` (0 is the first). `jitter` is a random number in 0 ..= 1.
pub(super) fn verdict(failure: &Failure<'_>, attempt: u32, policy: Policy, jitter: f64) -> Verdict {
    if attempt >= policy.retries {
        return Verdict::GiveUp;
    }
    match failure.error.kind {
        ErrorKind::Tier if failure.bare_forbidden && attempt == 0 => {
            Verdict::After(policy.first_pause * AFTER_FORBIDDEN)
        }
        // In addition to the pause that the service asked for, so that a `Retry-After: 0` does not cause a burst of
        // requests.
        ErrorKind::RateLimit | ErrorKind::Transport | ErrorKind::Timeout => {
            Verdict::After(policy.pause(attempt, jitter))
        }
        ErrorKind::Decode if failure.cut => Verdict::After(policy.pause(attempt, jitter)),
        ErrorKind::Server if failure.error.status.is_some_and(|status| status >= 500 || status == 408) => {
            Verdict::After(policy.pause(attempt, jitter))
        }
        _ => Verdict::GiveUp,
    }
}

impl Policy {
    /// Full jitter: between zero and the doubled step.
    fn pause(self, attempt: u32, jitter: f64) -> Duration {
        let step = self.first_pause.saturating_mul(2u32.saturating_pow(attempt)).min(LARGEST_STEP);
        step.mul_f64(jitter.clamp(0.0, 1.0))
    }
}

/// Parses `Retry-After`: seconds or an HTTP date. `None` if invalid; a past date is now.
pub(super) fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let seconds = match header.trim().parse::<f64>() {
        Ok(seconds) if seconds.is_finite() => seconds,
        Ok(_) => return None,
        Err(_) => {
            let date = httpdate::parse_http_date(header.trim()).ok()?;
            date.duration_since(now).map_or(0.0, |wait| wait.as_secs_f64())
        }
    };
    Some(asked_wait(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Policy = Policy { retries: 3, first_pause: Duration::from_millis(500) };

    fn judge(kind: ErrorKind, status: Option<u16>, attempt: u32) -> Verdict {
        let error = ClientError { status, ..ClientError::new(kind, "") };
        verdict(&Failure { error: &error, cut: false, bare_forbidden: false }, attempt, POLICY, 1.0)
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        use ErrorKind::{Authentication, Decode, InvalidRequest, RateLimit, Server, Tier, Timeout, Transport};
        for kind in [Authentication, Decode, InvalidRequest, Tier] {
            assert_eq!(judge(kind, Some(400), 0), Verdict::GiveUp, "{kind:?}");
        }
        assert_eq!(judge(Server, Some(501), 0), Verdict::After(Duration::from_millis(500)));
        assert_eq!(judge(Server, Some(408), 2), Verdict::After(Duration::from_secs(2)));
        assert_eq!(judge(Server, Some(302), 0), Verdict::GiveUp);
        assert_eq!(judge(Transport, None, 1), Verdict::After(Duration::from_secs(1)));
        assert_eq!(judge(Timeout, None, 3), Verdict::GiveUp);
        assert_eq!(judge(RateLimit, Some(429), 0), Verdict::After(Duration::from_millis(500)));
    }

    #[test]
    fn a_bare_forbidden_and_a_cut_body_get_their_second_chance() {
        let forbidden = ClientError { status: Some(403), ..ClientError::new(ErrorKind::Tier, "") };
        let bare =
            |attempt| verdict(&Failure { error: &forbidden, cut: false, bare_forbidden: true }, attempt, POLICY, 0.0);
        assert_eq!((bare(0), bare(1)), (Verdict::After(Duration::from_secs(3)), Verdict::GiveUp));
        let cut = ClientError::new(ErrorKind::Decode, "");
        let failure = Failure { error: &cut, cut: true, bare_forbidden: false };
        assert_eq!(verdict(&failure, 0, POLICY, 0.5), Verdict::After(Duration::from_millis(250)));
    }

    #[test]
    fn back_off_is_bounded() {
        assert_eq!(POLICY.pause(40, 1.0), LARGEST_STEP);
        assert_eq!(POLICY.pause(u32::MAX, 7.0), LARGEST_STEP);
    }

    // faults.md row 2
    #[test]
    fn retry_after_in_every_form() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777); // Sun, 06 Nov 1994 08:49:37 GMT
        let read = |text| retry_after(text, now).map(|wait| wait.as_secs_f64());
        assert_eq!(read("3"), Some(3.0));
        assert_eq!(read(" 0.5 "), Some(0.5));
        assert_eq!(read("-1"), Some(0.0));
        assert_eq!(read("80349"), Some(80_349.0)); // the rest of a day
        assert_eq!(read("1e300"), Some(1e9));
        assert_eq!(read("Sun, 06 Nov 1994 08:49:47 GMT"), Some(10.0));
        assert_eq!(read("Sun, 06 Nov 1994 08:49:07 GMT"), Some(0.0));
        for nonsense in ["", "abc", "NaN", "inf"] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }
}
