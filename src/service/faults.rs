//! Fault injection for tests: delays, refusals, broken and missing answers, repeatable. Only the process that started a
//! service can switch them ([`super::RunningService::faults`]); no request can.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};

use super::paths::paths;
use crate::protocol::suggest::hint;

/// Fault of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The request waits this long before it is served. Combines with any other fault.
    Latency(Duration),
    /// A delay together with another fault, for the same requests.
    LateWith(Duration, Box<Fault>),
    /// 429 `RATE_LIMITED` with this `Retry-After`, in seconds; nothing is charged.
    RateLimited {
        /// The `Retry-After` of the answer, in seconds.
        retry_after: u64,
    },
    /// This status, 500 to 599, with an error body; nothing is charged.
    Failure(u16),
    /// The request is served and charged, but the connection ends after this many bytes of the body, at the latest
    /// before its last one. `Content-Length` is that of the full body.
    CutBody {
        /// Bytes of the body that are sent.
        after: usize,
    },
    /// The connection is closed without an answer; nothing is served or charged.
    Drop,
    /// The request is served and charged; these headers then replace its own: name and value, or no value to remove the
    /// header.
    Headers(Vec<(String, Option<String>)>),
}

/// Which of the matching requests are hit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// The next so many; then the rule is removed.
    Next(u32),
    /// Each with this probability, 0 to 1, drawn from the switch's seed in the order in which requests arrive.
    Probability(f64),
    /// With this probability, but no more than so many; then the rule is removed.
    AtMost {
        /// 0 to 1.
        probability: f64,
        /// Most requests that are hit.
        count: u32,
    },
}

impl When {
    /// The probability of each request, and how many may still be hit.
    fn parts(self) -> (f64, Option<u32>) {
        match self {
            Self::Next(count) => (1.0, Some(count)),
            Self::Probability(probability) => (probability, None),
            Self::AtMost { probability, count } => (probability, Some(count)),
        }
    }
}

/// A rule of a [`FaultSwitch`].
#[derive(Debug, Clone, PartialEq)]
pub struct FaultRule {
    /// Path prefix, such as `/v1/points`; empty for all.
    pub path: String,
    /// Which requests it hits.
    pub when: When,
    /// Fault of these requests.
    pub fault: Fault,
}

/// Why a rule is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("fault rule, {place}: {problem}")]
pub struct FaultError {
    place: &'static str,
    problem: String,
}

/// Switches a service's faults. Off until a rule is added; clones switch the same service. When several rules hit a
/// request, all delays apply, and of the other faults the one that was added first.
#[derive(Debug, Clone, Default)]
pub struct FaultSwitch(Arc<FaultInner>);

#[derive(Debug, Default)]
struct FaultInner {
    on: AtomicBool,
    state: Mutex<FaultState>,
}

#[derive(Debug)]
struct FaultState {
    rules: Vec<Armed>,
    random: fastrand::Rng,
    injected: u64,
}

/// An active rule.
#[derive(Debug)]
struct Armed {
    rule: FaultRule,
    /// Remaining hits; `None` for no limit.
    left: Option<u32>,
    hits: Arc<AtomicU64>,
}

/// An added rule, which counts its hits and can be removed.
#[derive(Debug, Clone)]
pub struct AddedRule {
    switch: FaultSwitch,
    hits: Arc<AtomicU64>,
}

impl AddedRule {
    /// Requests that this rule has hit.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::SeqCst)
    }

    /// Whether it can still hit.
    pub fn is_active(&self) -> bool {
        self.switch.lock().rules.iter().any(|armed| self.is(armed))
    }

    /// Removes it. Removing it twice does nothing.
    pub fn remove(&self) {
        self.switch.retain(|armed| !self.is(armed));
    }

    fn is(&self, armed: &Armed) -> bool {
        Arc::ptr_eq(&armed.hits, &self.hits)
    }
}

impl Default for FaultState {
    /// Seed 0, so that tests without a seed are repeatable.
    fn default() -> Self {
        Self { rules: Vec::new(), random: fastrand::Rng::with_seed(0), injected: 0 }
    }
}

/// Latency and fault of one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Injected {
    pub(super) latency: Duration,
    pub(super) fault: Option<Fault>,
}

impl FaultSwitch {
    /// Adds a rule after the existing ones.
    ///
    /// # Errors
    /// A probability outside 0 to 1, a status outside 500 to 599, an invalid header, or a path prefix that matches no
    /// path of the service.
    pub fn add(&self, rule: FaultRule) -> Result<AddedRule, FaultError> {
        check(&rule)?;
        let hits = Arc::new(AtomicU64::new(0));
        let armed = Armed { left: rule.when.parts().1, rule, hits: Arc::clone(&hits) };
        let mut state = self.lock();
        state.rules.push(armed);
        self.0.on.store(true, Ordering::Release);
        drop(state);
        Ok(AddedRule { switch: self.clone(), hits })
    }

    /// Removes every rule.
    pub fn clear(&self) {
        self.retain(|_| false);
    }

    fn retain(&self, keep: impl FnMut(&Armed) -> bool) {
        let mut state = self.lock();
        state.rules.retain(keep);
        self.0.on.store(!state.rules.is_empty(), Ordering::Release);
    }

    /// Restarts the random sequence of [`When::Probability`]. The same seed, rules and order of requests give the same
    /// faults.
    pub fn seed(&self, seed: u64) {
        self.lock().random = fastrand::Rng::with_seed(seed);
    }

    /// Requests that were hit since the service started.
    pub fn injected(&self) -> u64 {
        self.lock().injected
    }

    /// The fault of a request of this path; `None` for no fault.
    pub(super) fn pick(&self, path: &str) -> Option<Injected> {
        if !self.0.on.load(Ordering::Acquire) {
            return None;
        }
        let mut state = self.lock();
        let FaultState { rules, random, injected } = &mut *state;
        let mut picked = Injected::default();
        let mut hit = false;
        for armed in rules.iter_mut().filter(|armed| path.starts_with(&armed.rule.path)) {
            let is_latency = matches!(armed.rule.fault, Fault::Latency(_));
            if !is_latency && picked.fault.is_some() {
                continue;
            }
            let (probability, _) = armed.rule.when.parts();
            // A probability of 1 draws nothing, so that such a rule does not shift the sequence of the others.
            if probability < 1.0 && random.f64() >= probability {
                continue;
            }
            armed.left = armed.left.map(|left| left.saturating_sub(1));
            armed.hits.fetch_add(1, Ordering::SeqCst);
            hit = true;
            let (latency, fault) = match &armed.rule.fault {
                Fault::Latency(latency) => (*latency, None),
                Fault::LateWith(latency, fault) => (*latency, Some((**fault).clone())),
                fault => (Duration::ZERO, Some(fault.clone())),
            };
            picked.latency = picked.latency.saturating_add(latency);
            picked.fault = picked.fault.or(fault);
        }
        rules.retain(|armed| armed.left != Some(0));
        self.0.on.store(!rules.is_empty(), Ordering::Release);
        *injected += u64::from(hit);
        hit.then_some(picked)
    }

    fn lock(&self) -> MutexGuard<'_, FaultState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check(rule: &FaultRule) -> Result<(), FaultError> {
    let refuse = |place, problem: String| Err(FaultError { place, problem });
    if !rule.path.is_empty() && !rule.path.starts_with('/') {
        return refuse("path", format!("{:?} starts no path; begin with a slash, such as /v1/points", rule.path));
    }
    if !paths().any(|path| path.starts_with(&rule.path)) {
        return refuse("path", format!("{:?} starts no path of the service{}", rule.path, hint(&rule.path, paths())));
    }
    let (probability, count) = rule.when.parts();
    if !(0.0..=1.0).contains(&probability) {
        return refuse("probability", format!("{probability} is not within 0 to 1"));
    }
    if count == Some(0) {
        return refuse("count", "0 requests can never be hit; give 1 or more".to_owned());
    }
    check_fault(&rule.fault)
}

fn check_fault(fault: &Fault) -> Result<(), FaultError> {
    let refuse = |place, problem: String| Err(FaultError { place, problem });
    match fault {
        Fault::Failure(status) if !(500..=599).contains(status) => {
            refuse("status", format!("{status} is no server error; give 500 to 599"))
        }
        Fault::Headers(headers) => {
            headers.iter().try_for_each(|(name, value)| header(name, value.as_deref()).map(drop))
        }
        Fault::LateWith(_, fault) => match **fault {
            Fault::Latency(_) | Fault::LateWith(..) => {
                refuse("latency", "a delay cannot hold another delay; give their sum".to_owned())
            }
            _ => check_fault(fault),
        },
        _ => Ok(()),
    }
}

/// A header, parsed.
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
    fn a_rule_counts_its_hits_up_to_its_end_and_can_be_taken_back() {
        let switch = FaultSwitch::default();
        let half = switch.add(rule("", When::AtMost { probability: 0.5, count: 3 }, Fault::Drop)).unwrap();
        let asked = (0..100).take_while(|_| half.is_active()).filter(|_| switch.pick("/").is_some()).count();
        assert_eq!((asked, half.hits(), half.is_active(), switch.injected()), (3, 3, false, 3));
        let always = switch.add(rule("", When::Probability(1.0), Fault::Drop)).unwrap();
        let other = switch.add(rule("", When::Next(9), Fault::Latency(Duration::from_secs(1)))).unwrap();
        assert!(switch.pick("/").is_some());
        always.remove();
        always.remove();
        assert_eq!(switch.pick("/").unwrap().fault, None);
        assert_eq!((always.hits(), other.hits()), (1, 2));
    }

    #[test]
    fn a_delay_and_a_fault_hit_the_same_requests() {
        let switch = FaultSwitch::default();
        let late = Fault::LateWith(Duration::from_secs(2), Box::new(Fault::Failure(503)));
        switch.add(rule("", When::Probability(0.5), late)).unwrap();
        for picked in (0..100).filter_map(|_| switch.pick("/")) {
            assert_eq!((picked.latency.as_secs(), picked.fault), (2, Some(Fault::Failure(503))));
        }
        assert!((20..80).contains(&switch.injected()), "{}", switch.injected());
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
        let problem = switch.add(rule("v1", When::Next(1), Fault::Drop)).unwrap_err().to_string();
        assert!(problem.contains("path: \"v1\" starts no path"), "{problem}");
        // Such a rule could never hit.
        for path in ["/v1/pointz", "/v1/points/", "/V1/points"] {
            let problem = switch.add(rule(path, When::Next(1), Fault::Drop)).unwrap_err().to_string();
            assert!(problem.ends_with("starts no path of the service; did you mean /v1/points?"), "{problem}");
        }
        let problem = switch.add(rule("/zzz", When::Next(1), Fault::Drop)).unwrap_err().to_string();
        assert_eq!(problem, "fault rule, path: \"/zzz\" starts no path of the service");
        let twice = Fault::LateWith(Duration::ZERO, Box::new(Fault::Latency(Duration::ZERO)));
        assert!(switch.add(rule("", When::Next(1), twice)).is_err());
        assert_eq!(switch.pick("/"), None);
    }
}
