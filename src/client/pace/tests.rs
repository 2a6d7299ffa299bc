use futures::StreamExt;

use super::*;
use crate::clock::SECOND;
use crate::protocol::Tier;

fn pacer() -> Arc<Pacer> {
    let clock: SharedClock = Arc::new(RunningClock::wall());
    let ledger = BudgetLedger::new(&BudgetScope::Process, "test", clock).unwrap();
    let pacer = Pacer::new(ledger);
    pacer.assume(Tier::Free.spec().into());
    Arc::new(pacer)
}

fn impatient() -> Patience {
    Patience { max_wait: Some(Duration::ZERO), deadline: None }
}

#[tokio::test]
async fn a_refused_weight_is_given_back_and_everybody_pauses() {
    let pacer = pacer();
    let permit = pacer.acquire(Weight(5), Patience::default()).await.unwrap();
    assert_eq!(pacer.view().unwrap().remaining, Weight(15));
    permit.refused(BudgetHeaders::default(), Some(Duration::from_secs(30))).await;
    let error = pacer.acquire(Weight(1), impatient()).await.err().unwrap();
    assert!(error.retry_after.unwrap() > 29.0 && error.kind == ErrorKind::RateLimit);
}

#[tokio::test]
async fn a_dropped_permit_stays_spent_and_an_unsent_one_does_not() {
    let pacer = pacer();
    drop(pacer.acquire(Weight(5), Patience::default()).await.unwrap());
    pacer.acquire(Weight(7), Patience::default()).await.unwrap().not_sent().await;
    assert_eq!(pacer.view().unwrap().remaining, Weight(15));
}

#[tokio::test]
async fn headers_teach_the_limit_and_the_level() {
    let clock: SharedClock = Arc::new(RunningClock::wall());
    let ledger = BudgetLedger::new(&BudgetScope::Process, "test", clock).unwrap();
    let pacer = Arc::new(Pacer::new(ledger));
    assert_eq!(pacer.view(), None);
    let permit = pacer.acquire(Weight(3), Patience::default()).await.unwrap();
    permit.answered(BudgetHeaders { limit: Some(50), remaining: Some(Weight(12)), used: Some(Weight(88)) }).await;
    let view = pacer.view().unwrap();
    assert_eq!((view.limit, view.remaining, view.used, pacer.burst()), (50, Weight(12), Weight(88), Some(Weight(100))));
    // 88 at 50 a minute.
    let seconds = view.full_in.as_secs_f64();
    assert!((100.0..=105.6).contains(&seconds), "{seconds}");
}

#[tokio::test]
async fn d3_07_what_never_fits_is_told_at_once_with_the_tier_that_would_run_it() {
    let error = pacer().acquire(Weight(21), Patience::default()).await.err().unwrap();
    assert!(error.message.contains("at most 20") && error.message.contains("tier basic, whose bucket holds 100"));
    let error = pacer().acquire(Weight(5_000), Patience::default()).await.err().unwrap();
    assert!(!error.message.contains("tier"), "{error}");
}

#[tokio::test]
async fn a_deadline_ends_a_wait_before_it_begins() {
    let pacer = pacer();
    drop(pacer.acquire(Weight(20), Patience::default()).await.unwrap());
    let deadline = Some(Instant::now() + Duration::from_secs(10));
    let error = pacer.acquire(Weight(10), Patience { max_wait: None, deadline }).await.err().unwrap();
    assert!(error.message.contains("total_timeout") && error.retry_after.unwrap() > 50.0, "{error}");
}

#[tokio::test(start_paused = true)]
async fn d3_10_a_call_cancelled_in_line_takes_nothing_and_holds_up_nobody() {
    let pacer = pacer();
    drop(pacer.acquire(Weight(20), Patience::default()).await.unwrap());
    let waiting = tokio::spawn({
        let pacer = Arc::clone(&pacer);
        async move { pacer.acquire(Weight(20), Patience::default()).await.is_ok() }
    });
    tokio::task::yield_now().await;
    assert!(pacer.eta(Weight(1)) > 120.0); // 20 in front of it
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    assert!(pacer.eta(Weight(1)) <= 6.0);
}

#[tokio::test(start_paused = true)]
async fn the_line_is_first_come_first_served() {
    let pacer = pacer();
    drop(pacer.acquire(Weight(20), Patience::default()).await.unwrap());
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut waiting = Vec::new();
    for (index, weight) in [3u64, 1, 1].into_iter().enumerate() {
        let (pacer, order) = (Arc::clone(&pacer), Arc::clone(&order));
        waiting.push(tokio::spawn(async move {
            drop(pacer.acquire(Weight(weight), Patience::default()).await.unwrap());
            order.lock().unwrap().push(index);
        }));
        tokio::task::yield_now().await;
    }
    // The bucket runs by the machine's clock, tokio's stands still: give it the weight instead of waiting for it.
    pacer.ledger.update_now(|account, now| account.bucket(now).unwrap().observe_remaining(Weight(20), true, now));
    for task in waiting {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2]);
}

/// Tokio's clock, which moves by itself to where the next sleep ends.
struct Paused(Instant);

impl crate::clock::Clock for Paused {
    fn now(&self) -> crate::clock::UnixNanos {
        crate::clock::UnixNanos(1_776_880_800 * SECOND + self.0.elapsed().as_nanos() as i64)
    }
}

/// (weight − burst) / rate, and never a moment at which a bucket of the same limits would refuse.
#[tokio::test(start_paused = true)]
async fn a_plan_over_budget_takes_as_long_as_the_refill_and_draws_no_refusal() {
    for (tier, weights, rate, burst) in [
        (Tier::Free, vec![1; 75], 10.0 / 60.0, 20.0),
        (Tier::Standard, vec![7; 200], 100.0 / 60.0, 200.0),
        (Tier::Advanced, (0..160).map(|index| 1 + 97 * (index % 3)).collect::<Vec<u64>>(), 750.0 / 60.0, 1500.0),
    ] {
        let clock: SharedClock = Arc::new(Paused(Instant::now()));
        let ledger = BudgetLedger::new(&BudgetScope::Process, "test", Arc::clone(&clock)).unwrap();
        let pacer = Arc::new(Pacer::new(ledger));
        pacer.assume(tier.spec().into());
        let (begun, weight) = (Instant::now(), weights.iter().sum::<u64>() as f64);
        let sent: Vec<(u64, i64)> = futures::stream::iter(weights)
            .map(|weight| {
                let (pacer, clock) = (Arc::clone(&pacer), Arc::clone(&clock));
                async move {
                    let permit = pacer.acquire(Weight(weight), Patience::default()).await.unwrap();
                    let sent = (weight, clock.now().0);
                    permit.answered(BudgetHeaders::default()).await;
                    sent
                }
            })
            .buffered(8)
            .collect()
            .await;
        let (took, theory) = (begun.elapsed().as_secs_f64(), (weight - burst) / rate);
        assert!(took >= theory - 0.001 && took <= theory * 1.03, "{tier:?}: {took} s against {theory}");
        // The service's side, counted plainly.
        let (mut level, mut last) = (burst, sent[0].1);
        for (weight, time) in sent {
            level = f64::min(burst, level + (time - last) as f64 / 1e9 * rate) - weight as f64;
            assert!(level > -1e-6, "{tier:?}: {level} at {time}");
            last = time;
        }
    }
}
