//! Faults that a test wants of the service: slow, refused, broken and missing answers, on purpose and repeatable. Only the
//! process that started a service reaches its switch ([`super::RunningService::faults`]); no request does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};

/// What goes wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The request waits this long before it is served. Goes together with one of the others.
    Latency(Duration),
    /// 429 `RATE_LIMITED` with this `Retry-After`, in seconds; nothing is charged.
    RateLimited {
        /// Seconds that the answer asks to wait.
        retry_after: u64,
    },
    /// This status, 500 to 599, with an error body; nothing is charged.
    Failure(u16),
    /// The request is served and charged, but the connection ends after this many bytes of the body, and in any case
    /// before its last one. `Content-Length` tells the whole length.
    CutBody {
        /// Bytes of the body that are sent.
        after: usize,
    },
    /// The connection is closed without an answer; nothing is served or charged.
    Drop,
    /// The request is served and charged; these headers then take the place of its own: name and value, or no value to
    /// leave the header out.
    Headers(Vec<(String, Option<String>)>),
}

/// Which of the requests that match are hit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// The next so many; then the rule is gone.
    Next(u32),
    /// Each with this probability, 0 to 1, drawn from the switch's seed in the order in which requests arrive.
    Probability(f64),
}

/// A rule of a [`FaultSwitch`].
#[derive(Debug, Clone, PartialEq)]
pub struct FaultRule {
    /// Start of the paths that it concerns, such as `/v1/points`; empty for all.
    pub path: String,
    /// Which requests it hits.
    pub when: When,
    /// What it does to them.
    pub fault: Fault,
}

/// Why a rule is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("fault rule, {place}: {problem}")]
pub struct FaultError {
    place: &'static str,
    problem: String,
}

/// The switch of a service's faults. Off until a rule is added, and then it costs nothing; clones switch the same service.
/// Of the rules that hit a request every latency counts, and of the other faults the one that was added first.
#[derive(Debug, Clone, Default)]
pub struct FaultSwitch(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    on: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    rules: Vec<FaultRule>,
    random: fastrand::Rng,
    injected: u64,
}

impl Default for State {
    /// Seed 0, so that a test that names none is repeatable.
    fn default() -> Self {
        Self { rules: Vec::new(), random: fastrand::Rng::with_seed(0), injected: 0 }
    }
}

/// What is to be done to one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Injected {
    pub(super) latency: Duration,
    pub(super) fault: Option<Fault>,
}

impl FaultSwitch {
    /// Adds a rule, after those that are there.
    ///
    /// # Errors
    /// A probability outside 0 to 1, a status outside 500 to 599, a header that HTTP cannot carry.
    pub fn add(&self, rule: FaultRule) -> Result<(), FaultError> {
        check(&rule)?;
        let mut state = self.lock();
        state.rules.push(rule);
        self.0.on.store(true, Ordering::Release);
        Ok(())
    }

    /// Removes every rule.
    pub fn clear(&self) {
        let mut state = self.lock();
        state.rules.clear();
        self.0.on.store(false, Ordering::Release);
    }

    /// Starts the random sequence of [`When::Probability`] anew. The same seed, rules and requests in the same order give
    /// the same faults.
    pub fn seed(&self, seed: u64) {
        self.lock().random = fastrand::Rng::with_seed(seed);
    }

    /// Requests that were hit since the service started.
    pub fn injected(&self) -> u64 {
        self.lock().injected
    }

    /// What to do to a request of this path; `None` for nothing.
    pub(super) fn pick(&self, path: &str) -> Option<Injected> {
        if !self.0.on.load(Ordering::Acquire) {
            return None;
        }
        let mut state = self.lock();
        let State { rules, random, injected } = &mut *state;
        let mut picked = Injected::default();
        let mut hit = false;
        for rule in rules.iter_mut().filter(|rule| path.starts_with(&rule.path)) {
            let is_latency = matches!(rule.fault, Fault::Latency(_));
            if !is_latency && picked.fault.is_some() {
                continue;
            }
            match &mut rule.when {
                When::Next(left) => *left = left.saturating_sub(1),
                When::Probability(chance) if random.f64() >= *chance => continue,
                When::Probability(_) => {}
            }
            hit = true;
            match &rule.fault {
                Fault::Latency(more) => picked.latency = picked.latency.saturating_add(*more),
                fault => picked.fault = Some(fault.clone()),
            }
        }
        rules.retain(|rule| rule.when != When::Next(0));
        self.0.on.store(!rules.is_empty(), Ordering::Release);
        *injected += u64::from(hit);
        hit.then_some(picked)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check(rule: &FaultRule) -> Result<(), FaultError> {
    let refuse = |place, problem: String| Err(FaultError { place, problem });
    match rule.when {
        When::Probability(chance) if !(0.0..=1.0).contains(&chance) => {
            return refuse("probability", format!("{chance} is not within 0 to 1"));
        }
        When::Next(0) => return refuse("next", "0 requests can never be hit; give 1 or more".to_owned()),
        _ => {}
    }
    match &rule.fault {
        Fault::Failure(status) if !(500..=599).contains(status) => {
            refuse("status", format!("{status} is no server error; give 500 to 599"))
        }
        Fault::Headers(headers) => {
            headers.iter().try_for_each(|(name, value)| header(name, value.as_deref()).map(drop))
        }
        _ => Ok(()),
    }
}

/// A header as HTTP carries it.
pub(super) fn header(name: &str, value: Option<&str>) -> Result<(HeaderName, Option<HeaderValue>), FaultError> {
    let problem = |what: &str| FaultError { place: "headers", problem: format!("{name:?} {what}") };
    let parsed = HeaderName::try_from(name).map_err(|_| problem("is no name of a header"))?;
    let value = value.map(HeaderValue::from_str).transpose();
    Ok((parsed, value.map_err(|_| problem("has a value that no header can hold; leave control characters out"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(path: &str, when: When, fault: Fault) -> FaultRule {
        FaultRule { path: path.to_owned(), when, fault }
    }

    #[test]
    fn rules_go_by_path_and_count_down_and_latencies_add_up() {
        let switch = FaultSwitch::default();
        assert_eq!(switch.pick("/v1/points"), None);
        switch.add(rule("/v1/points", When::Next(2), Fault::Drop)).unwrap();
        switch.add(rule("", When::Next(3), Fault::Latency(Duration::from_secs(1)))).unwrap();
        switch.add(rule("", When::Next(2), Fault::Latency(Duration::from_secs(2)))).unwrap();
        switch.add(rule("/v1", When::Next(1), Fault::Failure(503))).unwrap();
        let pick = |path: &str| switch.pick(path).map(|picked| (picked.latency.as_secs(), picked.fault));
        assert_eq!(pick("/v1/points"), Some((3, Some(Fault::Drop))));
        assert_eq!(pick("/v1/usage"), Some((3, Some(Fault::Failure(503)))));
        assert_eq!(pick("/"), Some((1, None)));
        assert_eq!(pick("/"), None);
        assert_eq!(pick("/v1/points"), Some((0, Some(Fault::Drop))));
        assert_eq!((pick("/v1/points"), switch.injected()), (None, 4));
        switch.add(rule("", When::Probability(1.0), Fault::Drop)).unwrap();
        assert!(pick("/").is_some());
        switch.clear();
        assert_eq!(pick("/"), None);
    }

    #[test]
    fn a_seed_gives_the_same_faults_again_about_as_often_as_asked() {
        let switch = FaultSwitch::default();
        switch.add(rule("", When::Probability(0.25), Fault::Drop)).unwrap();
        let draw = |seed| -> Vec<bool> {
            switch.seed(seed);
            (0..4_000).map(|_| switch.pick("/").is_some()).collect()
        };
        let (first, other) = (draw(7), draw(8));
        assert_eq!(first, draw(7));
        assert_ne!(first, other);
        // Mean 1000, deviation 27: six of them.
        let hits = first.iter().filter(|hit| **hit).count();
        assert!((836..=1_164).contains(&hits), "{hits}");
    }

    #[test]
    fn rules_that_cannot_be_are_named() {
        let switch = FaultSwitch::default();
        for (when, fault, part) in [
            (When::Probability(1.5), Fault::Drop, "probability: 1.5 is not within 0 to 1"),
            (When::Probability(f64::NAN), Fault::Drop, "not within"),
            (When::Next(0), Fault::Drop, "give 1 or more"),
            (When::Next(1), Fault::Failure(404), "status: 404 is no server error"),
            (When::Next(1), Fault::Headers(vec![("a b".into(), None)]), "\"a b\" is no name"),
            (When::Next(1), Fault::Headers(vec![("a".into(), Some("\n".into()))]), "control characters"),
        ] {
            let problem = switch.add(rule("", when, fault)).unwrap_err().to_string();
            assert!(problem.contains(part), "{problem}");
        }
        assert_eq!(switch.pick("/"), None);
    }
}
