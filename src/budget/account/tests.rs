use super::*;
use crate::protocol::Tier;
use proptest::prelude::*;

fn free() -> Account {
    let mut account = Account::default();
    account.assume(Tier::Free.spec().into(), UnixNanos(0));
    account
}

/// Takes a weight that the service charges at once.
fn spend(account: &mut Account, id: u64, weight: u64, now: i64) {
    account.take(id, Weight(weight), UnixNanos(now)).unwrap();
    account.settle(id, Weight(weight), RequestOutcome::Answered(BudgetHeaders::default()), UnixNanos(now));
}

fn left(account: &mut Account, now: i64) -> u64 {
    account.bucket(UnixNanos(now)).unwrap().remaining(UnixNanos(now)).0
}

fn headers(remaining: u64) -> BudgetHeaders {
    BudgetHeaders { remaining: Some(Weight(remaining)), ..BudgetHeaders::default() }
}

fn seconds(seconds: u64) -> Refusal {
    Refusal::Wait(Duration::from_secs(seconds))
}

// faults.md row 7
#[test]
fn the_line_is_first_come_first_served_and_small_ones_do_not_overtake() {
    let mut account = free();
    spend(&mut account, 1, 20, 0);
    assert_eq!(account.take(2, Weight(10), UnixNanos(0)), Err(seconds(60)));
    assert_eq!(account.take(3, Weight(1), UnixNanos(0)), Err(seconds(66)));
    // There would be enough for the small one, but the large one came first and still asks.
    let mut now = 0;
    while now < 59 * SECOND {
        now += SECOND;
        assert!(account.take(2, Weight(10), UnixNanos(now)).is_err());
        assert!(account.take(3, Weight(1), UnixNanos(now)).is_err());
    }
    now += SECOND;
    assert_eq!(account.take(3, Weight(1), UnixNanos(now)), Err(seconds(6)));
    account.take(2, Weight(10), UnixNanos(now)).unwrap();
    assert_eq!(account.take(3, Weight(1), UnixNanos(now)), Err(seconds(6)));
    account.take(3, Weight(1), UnixNanos(now + 6 * SECOND)).unwrap();
}

/// Section 8.1: the cap of the Free tier is for a UTC day.
#[test]
fn what_was_not_charged_yesterday_makes_no_room_today() {
    for outcome in [
        RequestOutcome::NotSent,
        RequestOutcome::Refused { headers: BudgetHeaders::default(), wait: Some(Duration::from_secs(1)) },
    ] {
        let mut account = free();
        let midnight = 86_400 * SECOND;
        account.take(1, Weight(10), UnixNanos(midnight - SECOND)).unwrap();
        spend(&mut account, 2, 8, midnight + SECOND);
        account.settle(1, Weight(10), outcome, UnixNanos(midnight + 2 * SECOND));
        assert_eq!(account.bucket.as_ref().unwrap().spent_today, Weight(8));
        account.take(3, Weight(2), UnixNanos(midnight + 3 * SECOND)).unwrap();
        account.settle(3, Weight(2), RequestOutcome::NotSent, UnixNanos(midnight + 4 * SECOND));
        assert_eq!(account.bucket.as_ref().unwrap().spent_today, Weight(8));
    }
}

#[test]
fn nobody_waits_for_ever_behind_somebody_who_is_gone() {
    let mut account = free();
    spend(&mut account, 1, 20, 0);
    assert!(account.take(2, Weight(10), UnixNanos(0)).is_err()); // and never asks again
    assert!(account.take(3, Weight(1), UnixNanos(SECOND)).is_err());
    assert_eq!(account.take(3, Weight(1), UnixNanos(PLACE_KEPT)), Err(seconds(3)));
    assert!(account.take(4, Weight(5), UnixNanos(PLACE_KEPT)).is_err());
    account.leave(3); // a cancelled call
    assert_eq!(account.take(4, Weight(5), UnixNanos(4 * SECOND)), Err(seconds(26)));
}

#[test]
fn what_weighs_nothing_waits_for_no_line_but_for_a_pause() {
    let mut account = free();
    account.take(1, Weight(20), UnixNanos(0)).unwrap();
    assert!(account.take(2, Weight(10), UnixNanos(0)).is_err());
    account.take(3, Weight(0), UnixNanos(0)).unwrap();
    account.settle(
        1,
        Weight(20),
        RequestOutcome::Refused { headers: BudgetHeaders::default(), wait: Some(Duration::from_secs(7)) },
        UnixNanos(0),
    );
    assert_eq!(account.take(4, Weight(0), UnixNanos(0)), Err(seconds(7)));
    account.take(4, Weight(0), UnixNanos(7 * SECOND)).unwrap();
}

#[test]
fn d3_01_after_a_refusal_everybody_pauses_and_the_next_ones_are_staggered() {
    let mut account = free();
    account.take(1, Weight(5), UnixNanos(0)).unwrap();
    account.settle(
        1,
        Weight(5),
        RequestOutcome::Refused { headers: BudgetHeaders::default(), wait: Some(Duration::from_secs(30)) },
        UnixNanos(0),
    );
    for id in 2..5 {
        assert_eq!(account.take(id, Weight(5), UnixNanos(0)), Err(seconds(30)), "{id}");
    }
    let pause = 30 * SECOND;
    account.take(2, Weight(5), UnixNanos(pause)).unwrap();
    // Not all at once: the refusal implied that after the pause there is room for one.
    assert!(account.take(3, Weight(5), UnixNanos(pause)).is_err());
}

#[test]
fn d3_02_a_refusal_without_a_time_waits_until_the_weight_has_refilled() {
    let mut account = free();
    account.take(1, Weight(5), UnixNanos(0)).unwrap();
    account.settle(
        1,
        Weight(5),
        RequestOutcome::Refused { headers: BudgetHeaders::default(), wait: None },
        UnixNanos(0),
    );
    assert_eq!(left(&mut account, 0), 0);
    assert_eq!(account.take(2, Weight(5), UnixNanos(0)), Err(seconds(30)));
    // Its headers say what is there.
    let mut account = free();
    account.take(1, Weight(5), UnixNanos(0)).unwrap();
    account.settle(1, Weight(5), RequestOutcome::Refused { headers: headers(3), wait: None }, UnixNanos(0));
    assert_eq!(account.take(2, Weight(5), UnixNanos(0)), Err(seconds(12)));
}

#[test]
fn d3_04_the_services_limit_stands_above_the_tiers_and_changes_with_it() {
    let mut account = free();
    account.take(1, Weight(1), UnixNanos(0)).unwrap();
    account.settle(
        1,
        Weight(1),
        RequestOutcome::Answered(BudgetHeaders { limit: Some(50), remaining: Some(Weight(99)), used: Some(Weight(1)) }),
        UnixNanos(0),
    );
    assert_eq!(account.limits(), Some(Limits { per_minute: 50, burst: Weight(100), per_day: None }));
    assert_eq!(left(&mut account, 0), 99);
    account.assume(Tier::Free.spec().into(), UnixNanos(0)); // another client with the wrong tier
    assert_eq!(account.limits().unwrap().per_minute, 50);
    account.take(2, Weight(1), UnixNanos(0)).unwrap();
    account.settle(
        2,
        Weight(1),
        RequestOutcome::Answered(BudgetHeaders { limit: Some(10), ..BudgetHeaders::default() }),
        UnixNanos(0),
    ); // a downgrade
    assert_eq!((account.limits().unwrap().burst.0, left(&mut account, 0)), (20, 20));
    // Nonsense changes nothing; a word above the capacity is the capacity.
    account.take(3, Weight(1), UnixNanos(0)).unwrap();
    account.settle(
        3,
        Weight(1),
        RequestOutcome::Answered(BudgetHeaders { limit: Some(0), remaining: Some(Weight(u64::MAX)), used: None }),
        UnixNanos(0),
    );
    assert_eq!((account.limits().unwrap().per_minute, left(&mut account, 0)), (10, 20));
}

#[test]
fn d3_05_an_older_answer_never_raises_the_level() {
    let mut account = free();
    account.take(1, Weight(1), UnixNanos(0)).unwrap();
    account.take(2, Weight(1), UnixNanos(0)).unwrap();
    account.settle(2, Weight(1), RequestOutcome::Answered(headers(10)), UnixNanos(0)); // others spent 8
    assert_eq!(left(&mut account, 0), 10);
    account.settle(1, Weight(1), RequestOutcome::Answered(headers(11)), UnixNanos(0)); // sent first, arrives last
    assert_eq!(left(&mut account, 0), 10);
    // The answer of a request that was alone is the latest word.
    account.take(3, Weight(1), UnixNanos(0)).unwrap();
    account.take(4, Weight(0), UnixNanos(0)).unwrap();
    account.settle(3, Weight(1), RequestOutcome::Answered(headers(15)), UnixNanos(0));
    assert_eq!(left(&mut account, 0), 15);
}

#[test]
fn d3_06_a_drop_that_others_caused_is_absorbed() {
    let mut account = free();
    account.take(1, Weight(1), UnixNanos(0)).unwrap();
    account.settle(1, Weight(1), RequestOutcome::Answered(headers(0)), UnixNanos(0));
    assert_eq!(account.take(2, Weight(3), UnixNanos(0)), Err(seconds(18)));
}

#[test]
fn d3_09_a_clock_ahead_of_ours_refills_nothing_and_blocks_nobody() {
    let mut account = Account::default();
    let ahead = 10_000 * SECOND;
    account.assume(Tier::Free.spec().into(), UnixNanos(ahead));
    spend(&mut account, 1, 20, ahead);
    assert!(account.take(2, Weight(1), UnixNanos(ahead)).is_err());
    let now = 500 * SECOND;
    let mut read = account.clone().checked(UnixNanos(now)).unwrap();
    assert_eq!(left(&mut read, now), 0);
    assert_eq!(left(&mut read, now + 60 * SECOND), 10);
    read.take(3, Weight(1), UnixNanos(now + 60 * SECOND)).unwrap();
    // A clock behind ours refills to the brim and not beyond.
    let mut read = account.checked(UnixNanos(ahead + 10_000 * SECOND)).unwrap();
    assert_eq!(left(&mut read, ahead + 10_000 * SECOND), 20);
}

#[test]
fn d3_10_what_was_not_sent_is_given_back_and_what_nobody_knows_stays_spent() {
    let mut account = free();
    account.take(1, Weight(5), UnixNanos(0)).unwrap();
    account.settle(1, Weight(5), RequestOutcome::NotSent, UnixNanos(0));
    assert_eq!(left(&mut account, 0), 20);
    account.take(2, Weight(5), UnixNanos(0)).unwrap();
    account.settle(2, Weight(5), RequestOutcome::Unknown, UnixNanos(0));
    assert_eq!(left(&mut account, 0), 15);
    assert_eq!(account.under_way, []);
}

#[test]
fn d3_07_and_08_what_never_fits_is_told_at_once_also_behind_others() {
    let mut account = free();
    spend(&mut account, 1, 20, 0);
    assert!(account.take(2, Weight(5), UnixNanos(0)).is_err());
    assert_eq!(account.take(3, Weight(21), UnixNanos(0)), Err(Refusal::TooHeavy));
    let mut now = 0;
    let mut account = free();
    for id in 0..50 {
        spend(&mut account, id, 20, now);
        now += 120 * SECOND;
    }
    assert!(matches!(account.take(99, Weight(1), UnixNanos(now)), Err(Refusal::DailyCap(_))));
    assert_eq!(account.line, []);
}

#[test]
fn a_full_bucket_refills_from_the_first_answer_on() {
    let mut account = free();
    account.take(1, Weight(10), UnixNanos(0)).unwrap();
    assert_eq!(left(&mut account, SECOND), 10);
    account.settle(1, Weight(10), RequestOutcome::Answered(BudgetHeaders::default()), UnixNanos(SECOND));
    assert_eq!((left(&mut account, 6 * SECOND), left(&mut account, 7 * SECOND)), (10, 11));
    // An answer that is long in coming holds up nothing for long.
    let mut account = free();
    account.take(1, Weight(10), UnixNanos(0)).unwrap();
    assert_eq!((left(&mut account, 7 * SECOND), left(&mut account, 8 * SECOND)), (10, 11));
    // Where the bucket is not full the service's refills all the time.
    account.take(2, Weight(1), UnixNanos(8 * SECOND)).unwrap();
    assert_eq!(left(&mut account, 14 * SECOND), 11);
}

#[test]
fn damage_is_distinguished_from_data() {
    let now = 1_000 * SECOND;
    let mut account = Account::default();
    account.assume(Tier::Free.spec().into(), UnixNanos(now));
    account.take(1, Weight(7), UnixNanos(now)).unwrap();
    assert!(account.take(2, Weight(20), UnixNanos(now)).is_err());
    let text = serde_json::to_string(&account).unwrap();
    assert_eq!(serde_json::from_str::<Account>(&text).unwrap().checked(UnixNanos(now)), Some(account.clone()));
    let mut damaged = Vec::new();
    for change in [
        |account: &mut Account| account.bucket.as_mut().unwrap().level = -1,
        |account: &mut Account| account.bucket.as_mut().unwrap().level = i128::MAX,
        |account: &mut Account| account.bucket.as_mut().unwrap().now = UnixNanos(i64::MIN),
        |account: &mut Account| account.bucket.as_mut().unwrap().limits.per_minute = 0,
        |account: &mut Account| account.bucket.as_mut().unwrap().spent.push(UnixNanos(i64::MAX), Weight(1)),
        |account: &mut Account| account.bucket.as_mut().unwrap().spent_today = Weight(u64::MAX),
        |account: &mut Account| account.paused_until = UnixNanos(i64::MAX),
        |account: &mut Account| account.line[0].weight = Weight(u64::MAX),
        |account: &mut Account| account.under_way = vec![account.under_way[0].clone(); MOST_ENTRIES + 1],
    ] {
        let mut one = account.clone();
        change(&mut one);
        damaged.push(one);
    }
    assert!(damaged.into_iter().all(|one| one.checked(UnixNanos(now)).is_none()));
    // A pause beyond what is believed is cut, not refused: it may be the remains of another clock.
    account.paused_until = UnixNanos(now + 10 * LONGEST_PAUSE);
    assert_eq!(account.checked(UnixNanos(now)).unwrap().paused_until, UnixNanos(now + LONGEST_PAUSE));
}

#[test]
fn a_view_that_knows_less_takes_nothing_away_and_gives_nothing() {
    let mut shared = free();
    shared.take(1, Weight(5), UnixNanos(0)).unwrap();
    let mut own = free();
    own.take(2, Weight(8), UnixNanos(0)).unwrap();
    own.paused_until = UnixNanos(SECOND);
    shared.tighten(&own);
    assert_eq!((left(&mut shared, 0), shared.paused_until), (12, UnixNanos(SECOND)));
    shared.tighten(&free());
    shared.tighten(&Account::default());
    assert_eq!(left(&mut shared, 0), 12);
    let mut empty = Account::default();
    empty.tighten(&own);
    assert_eq!(left(&mut empty, 0), 12);
}

#[test]
fn many_small_spends_are_kept_short() {
    let mut account = Account::default();
    account.assume(Limits::of_rate(1_000_000), UnixNanos(0));
    for id in 0..10_000i64 {
        account.take(id as u64, Weight(1), UnixNanos(id * SECOND / 200)).unwrap();
        account.settle(
            id as u64,
            Weight(1),
            RequestOutcome::Answered(BudgetHeaders::default()),
            UnixNanos(id * SECOND / 200),
        );
    }
    let now = 50 * SECOND;
    account.shorten();
    assert_eq!(account.bucket(UnixNanos(now)).unwrap().used(UnixNanos(now)).0, 10_000);
    assert!(serde_json::to_string(&account).unwrap().len() < 2_500);
}

proptest! {
    /// Any mix of processes, requests that arrive in any order up to a second late, answers in any order, lost answers:
    /// a service that keeps the same rules never refuses one.
    #[test]
    fn d3_05_shuffled_answers_never_lead_to_a_refusal(
        rate in prop::sample::select(vec![10u32, 750]),
        steps in prop::collection::vec((0u64..9, 1u64..12, 0i64..300_000_000, 0usize..8), 1..300),
    ) {
        let limits = Limits { per_day: None, ..Limits::of_rate(rate) };
        let heavier = u64::from(rate) / 10;
        let mut account = Account::default();
        account.assume(limits, UnixNanos(0));
        let mut service = Bucket::new(limits, UnixNanos(0));
        let mut sent: Vec<(u64, u64, i64)> = Vec::new();
        let mut answered: Vec<(u64, u64, BudgetHeaders)> = Vec::new();
        let (mut now, mut id) = (0, 0);
        for (kind, weight, pause, pick) in steps {
            now += pause;
            while let Some(late) = sent.iter().position(|&(_, _, at)| now - at > 700_000_000).or(match kind {
                4..6 if !sent.is_empty() => Some(pick % sent.len()),
                _ => None,
            }) {
                let (id, weight, _) = sent.remove(late);
                prop_assert!(service.try_take(Weight(weight), UnixNanos(now)).is_ok(), "a 429");
                let headers = BudgetHeaders { limit: Some(rate), remaining: Some(service.remaining(UnixNanos(now))), used: None };
                answered.push((id, weight, headers));
            }
            if kind < 4 {
                id += 1;
                match account.take(id, Weight(weight * heavier), UnixNanos(now)) {
                    Ok(()) => sent.push((id, weight * heavier, now)),
                    Err(_) => account.leave(id),
                }
            } else if !answered.is_empty() {
                let (id, weight, headers) = answered.remove(pick % answered.len());
                let outcome = if kind == 8 { RequestOutcome::Unknown } else { RequestOutcome::Answered(headers) };
                account.settle(id, Weight(weight), outcome, UnixNanos(now));
                let text = serde_json::to_vec(&account).unwrap();
                account = serde_json::from_slice::<Account>(&text).unwrap().checked(UnixNanos(now)).unwrap();
            }
            if sent.is_empty() {
                prop_assert!(left(&mut account, now) <= service.remaining(UnixNanos(now)).0);
            }
        }
    }
}

/// 80,349 s is what is left of a day at 01:40:51: no bucket of the table takes as long to refill.
// faults.md row 2
#[test]
fn a_wait_that_is_no_pause_means_that_the_day_is_spent() {
    let day = Duration::from_secs(80_349);
    let refused = |account: &mut Account, now| {
        account.take(1, Weight(5), UnixNanos(now)).unwrap();
        account.settle(
            1,
            Weight(5),
            RequestOutcome::Refused { headers: BudgetHeaders::default(), wait: Some(day) },
            UnixNanos(now),
        );
    };
    let mut account = free();
    refused(&mut account, 0);
    // Nobody waits for it in line; what weighs nothing goes on.
    assert_eq!(account.take(2, Weight(1), UnixNanos(9 * SECOND)), Err(Refusal::DailyCap(Duration::from_secs(80_340))));
    assert_eq!(account.take(3, Weight(0), UnixNanos(9 * SECOND)), Ok(()));
    assert_eq!(account.eta(Weight(1), UnixNanos(9 * SECOND)), Duration::from_secs(80_340));
    // It is kept with the account, moves with its clock, and holds for whoever shares it.
    let text = serde_json::to_string(&account).unwrap();
    let mut read: Account = serde_json::from_str::<Account>(&text).unwrap().checked(UnixNanos(9 * SECOND)).unwrap();
    read = read.moved(UnixNanos(9 * SECOND), UnixNanos(1_009 * SECOND));
    assert_eq!(read.take(4, Weight(1), UnixNanos(1_009 * SECOND)), Err(Refusal::DailyCap(Duration::from_secs(80_340))));
    let mut other = free();
    other.tighten(&account);
    assert_eq!(other.take(5, Weight(1), UnixNanos(9 * SECOND)), Err(Refusal::DailyCap(Duration::from_secs(80_340))));
    // After ten minutes one looks whether it still holds; an answer that was charged ends it.
    account.take(6, Weight(1), UnixNanos(600 * SECOND)).unwrap();
    account.settle(6, Weight(1), RequestOutcome::Answered(headers(10)), UnixNanos(600 * SECOND));
    account.take(7, Weight(1), UnixNanos(600 * SECOND)).unwrap();
    // An account that an older version kept has no word of it.
    let older: Account = serde_json::from_str(&text.replace("day_spent", "dayspent")).unwrap();
    assert!(older.day_spent.is_none());
}
