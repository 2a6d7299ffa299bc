use super::*;
use proptest::prelude::*;

const AT: i64 = 1_733_011_200 * SECOND;
const DAYS: i64 = DAY * SECOND;

fn quote(volatility: f64, delta: f64) -> Quote {
    Quote { time: UnixNanos(AT), volatility, delta, forward: 100.0 }
}

/// Strike, whether a put, volatility, delta.
type Row = (f64, bool, f64, f64);

fn chain(expiries: &[(i64, &[Row])]) -> OptionChain {
    let mut chain = OptionChain::default();
    for (days, options) in expiries {
        for &(strike, put, volatility, delta) in *options {
            chain.take(Contract::new(UnixNanos(AT + days * DAYS), strike, put), quote(volatility, delta));
        }
    }
    chain
}

const NEAR: [Row; 6] = [
    (80.0, true, 70.0, -0.10),
    (90.0, true, 64.0, -0.30),
    (95.0, false, 1.0, 0.70), // in the money: does not count at the money
    (95.0, true, 60.0, -0.40),
    (105.0, false, 56.0, 0.40),
    (120.0, false, 58.0, 0.20),
];
const FAR: [Row; 4] =
    [(80.0, true, 60.0, -0.25), (100.0, true, 50.0, -0.45), (100.0, false, 52.0, 0.55), (140.0, false, 54.0, 0.25)];

#[test]
fn an_expiry_on_the_tenor_is_read_by_itself() {
    let readings = chain(&[(7, &NEAR), (30, &FAR)]).readings(UnixNanos(AT));
    let weight = (100f64.ln() - 95f64.ln()) / (105f64.ln() - 95f64.ln());
    let money = 60.0 + (56.0 - 60.0) * weight;
    let put = 70.0 + (64.0 - 70.0) * (0.25 - 0.10) / (0.30 - 0.10);
    let call = 58.0 + (56.0 - 58.0) * (0.25 - 0.20) / (0.40 - 0.20);
    assert!((readings[0].volatility - money).abs() < 1e-12, "{readings:?}");
    assert!((readings[0].skew - (put - call)).abs() < 1e-12);
    // At the strike that is the forward counts the call; wings that are quoted at 25 delta are taken as they are.
    assert!((readings[1].volatility - 52.0).abs() < 1e-12 && (readings[1].skew - 6.0).abs() < 1e-12);
    assert!(readings[2..].iter().all(|reading| reading.volatility.is_nan() && reading.skew.is_nan()));
}

#[test]
fn between_expiries_total_variance_runs_straight() {
    let readings = chain(&[(3, &FAR), (20, &NEAR), (45, &FAR), (200, &NEAR)]).readings(UnixNanos(AT));
    let money = |expiry: f64| 60.0 - 4.0 * (100f64.ln() - 95f64.ln()) / (105f64.ln() - 95f64.ln()) * expiry;
    let near = money(1.0);
    let between = |low: (f64, f64), high: (f64, f64), tenor: f64| {
        let variance = |(days, volatility): (f64, f64)| volatility * volatility * days;
        let total = variance(low) + (variance(high) - variance(low)) * (tenor - low.0) / (high.0 - low.0);
        (total / tenor).sqrt()
    };
    let expected = [
        between((3.0, 52.0), (20.0, near), 7.0),
        between((20.0, near), (45.0, 52.0), 30.0),
        between((45.0, 52.0), (200.0, near), 60.0),
        between((45.0, 52.0), (200.0, near), 90.0),
    ];
    for (reading, expected) in readings.iter().zip(expected) {
        assert!((reading.volatility - expected).abs() < 1e-10, "{readings:?} {expected}");
    }
    let skew = between((3.0, 60.0), (20.0, 65.5), 7.0) - between((3.0, 54.0), (20.0, 57.5), 7.0);
    assert!((readings[0].skew - skew).abs() < 1e-10);
}

#[test]
fn nothing_is_extrapolated() {
    let nothing = |chain: OptionChain| {
        let readings = chain.readings(UnixNanos(AT));
        assert!(readings.iter().all(|reading| reading.volatility.is_nan() && reading.skew.is_nan()), "{readings:?}");
    };
    nothing(chain(&[]));
    nothing(chain(&[(8, &NEAR)])); // no expiry before a week
    nothing(chain(&[(6, &NEAR)]));
    nothing(chain(&[(7, &[(90.0, true, 60.0, -0.3), (95.0, true, 60.0, -0.4)])])); // no strike above the forward
    // An expiry without a value is passed over for the next one that has.
    let holes = chain(&[(5, &NEAR), (6, &NEAR[..2]), (7, &NEAR[..2]), (9, &NEAR)]).readings(UnixNanos(AT));
    let without = chain(&[(5, &NEAR), (9, &NEAR)]).readings(UnixNanos(AT));
    assert_eq!((holes[0].volatility, holes[0].skew), (without[0].volatility, without[0].skew));
    assert!(!without[0].volatility.is_nan());
}

#[test]
fn a_quote_counts_for_an_hour_and_not_before_it_came() {
    let mut one = chain(&[(7, &NEAR)]);
    assert!(one.readings(UnixNanos(AT - 1))[0].volatility.is_nan());
    let seven = |chain: &OptionChain, at: i64| {
        // Quotes of an expiry that is always a week away.
        let moved: Vec<(Contract, Quote)> = chain
            .quotes
            .iter()
            .map(|(key, quote)| (Contract { expiry: UnixNanos(at + 7 * DAYS), ..*key }, *quote))
            .collect();
        OptionChain { quotes: moved.into_iter().collect() }.readings(UnixNanos(at))[0].volatility
    };
    assert!(!seven(&one, AT + FRESH * SECOND).is_nan());
    assert!(seven(&one, AT + FRESH * SECOND + 1).is_nan());
    one.forget(UnixNanos(AT + FRESH * SECOND));
    assert!(!one.is_empty());
    one.forget(UnixNanos(AT + FRESH * SECOND + 1));
    assert!(one.is_empty());
}

#[test]
fn the_newest_quote_counts_and_the_later_of_two_at_one_time() {
    let mut one = chain(&[(7, &FAR)]);
    let money = Contract::new(UnixNanos(AT + 7 * DAYS), 100.0, false);
    one.take(money, Quote { time: UnixNanos(AT - 1), ..quote(90.0, 0.5) });
    assert_eq!(one.readings(UnixNanos(AT))[0].volatility, 52.0);
    one.take(money, quote(53.0, 0.5));
    assert_eq!(one.readings(UnixNanos(AT))[0].volatility, 53.0);
    // Unknown values of a quote are left out, the rest of it counts.
    one.take(money, Quote { delta: f64::NAN, forward: f64::NAN, ..quote(57.0, 0.0) });
    assert_eq!(one.readings(UnixNanos(AT))[0].volatility, 57.0);
}

proptest! {
    /// A flat smile is flat at every tenor, and no reading leaves the range of its quotes' total variances.
    #[test]
    fn readings_stay_among_their_quotes(
        days in prop::collection::btree_set(1i64..200, 2..7),
        volatilities in prop::collection::vec(5.0f64..200.0, 7),
    ) {
        let mut flat = OptionChain::default();
        for (day, volatility) in days.iter().zip(&volatilities) {
            for (strike, put, _, delta) in NEAR {
                flat.take(Contract::new(UnixNanos(AT + day * DAYS), strike, put), quote(*volatility, delta));
            }
        }
        for (reading, maturity) in flat.readings(UnixNanos(AT)).iter().zip(MATURITIES) {
            let tenor = maturity / DAY;
            let reaches = days.first().is_some_and(|day| *day <= tenor) && days.last().is_some_and(|day| *day >= tenor);
            prop_assert_eq!(!reading.volatility.is_nan(), reaches);
            if !reaches {
                continue;
            }
            prop_assert!(reading.skew.abs() < 1e-9);
            let total = reading.volatility.powi(2) * tenor as f64;
            let variance = |(day, volatility): (&i64, &f64)| (*day, volatility.powi(2) * *day as f64);
            let all: Vec<(i64, f64)> = days.iter().zip(&volatilities).map(variance).collect();
            let low = all.iter().rev().find(|(day, _)| *day <= tenor).map_or(0.0, |row| row.1);
            let high = all.iter().find(|(day, _)| *day >= tenor).map_or(0.0, |row| row.1);
            prop_assert!(total >= low.min(high) * (1.0 - 1e-12) && total <= low.max(high) * (1.0 + 1e-12));
        }
    }
}
