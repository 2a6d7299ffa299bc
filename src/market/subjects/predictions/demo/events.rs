//! The demo's prediction markets: invented questions with their times and odds, the same ones anew each year.

use std::fmt::Write;

use crate::clock::{UnixDay, UnixSecond};
use crate::market::demo::noise::{place, uniform};
use crate::market::raw::{OutcomeToken, PredictionEvent, PredictionFigures};

/// First days of the years in which the questions are asked, 2025 to 2030: Unix days.
const YEARS: [i64; 6] = [20_089, 20_454, 20_819, 21_184, 21_550, 21_915];
/// The first of those years.
const FIRST: i64 = 2_025;
/// Keeps the hashes of the prediction venue apart from those of the other markets.
const VENUE: u64 = 0x5052_4544;

/// Rule that decides whether the first outcome comes true. `Time` is a second, or in the table a day of the year.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::market) enum Truth<Time> {
    /// The given answer.
    Fixed(bool),
    /// Whether a coin, by its ticker, trades above a price in `[first, second)`.
    Above(&'static str, f64, Time, Time),
    /// Whether a coin trades higher in `[first, second)` than ever before.
    NewHigh(&'static str, Time, Time),
    /// Whether the price of a coin is higher at the second time than at the first.
    Rises(&'static str, Time, Time),
    /// Whether a coin gains on Bitcoin between the two times.
    Gains(&'static str, Time, Time),
}

/// Days after 1 January.
#[derive(Debug, Clone, Copy, PartialEq)]
struct DayOfYear(i64);

/// A question: event, title, first outcome, second outcome, category, sub-category, days of opening and end after
/// 1 January of its year, odds of the first outcome at the opening, and the rule that decides it. A fixed answer holds in
/// the first year only; in other years, and without a rule, a random draw by the odds decides.
struct DemoQuestion(
    &'static str,
    &'static str,
    [&'static str; 2],
    (&'static str, &'static str),
    (i64, i64),
    f64,
    Option<Truth<DayOfYear>>,
);

const YES_NO: [&str; 2] = ["Yes", "No"];
const BITCOIN: (&str, &str) = ("Crypto", "Bitcoin");
const ETHEREUM: (&str, &str) = ("Crypto", "Ethereum");
const RATES: (&str, &str) = ("Economy", "Central Banks");
const PRICES: (&str, &str) = ("Economy", "Inflation");
const ELECTIONS: (&str, &str) = ("Politics", "Elections");
const PARLIAMENT: (&str, &str) = ("Politics", "Legislation");
const FOOTBALL: (&str, &str) = ("Sports", "Football");
const TENNIS: (&str, &str) = ("Sports", "Tennis");
// Recorded categories may end in a space (supplement 8), and code that compares names should meet one.
const FILM: (&str, &str) = ("Culture ", "Film");
const CLIMATE: (&str, &str) = ("Science", "Climate");
const SPACE: (&str, &str) = ("Science", "Space");

const QUESTIONS: [DemoQuestion; 25] = [
    DemoQuestion(
        "btc-top-2025",
        "Will Bitcoin trade above $120k in 2025?",
        YES_NO,
        BITCOIN,
        (0, 364),
        0.41,
        Some(Truth::Above("BTC", 120e3, DayOfYear(0), DayOfYear(364))),
    ),
    DemoQuestion(
        "btc-top-2025",
        "Will Bitcoin trade above $150k in 2025?",
        YES_NO,
        BITCOIN,
        (0, 364),
        0.22,
        Some(Truth::Above("BTC", 150e3, DayOfYear(0), DayOfYear(364))),
    ),
    DemoQuestion(
        "btc-top-2025",
        "Will Bitcoin trade above $200k in 2025?",
        YES_NO,
        BITCOIN,
        (0, 364),
        0.07,
        Some(Truth::Above("BTC", 200e3, DayOfYear(0), DayOfYear(364))),
    ),
    DemoQuestion(
        "btc-june",
        "Will Bitcoin close June higher?",
        YES_NO,
        BITCOIN,
        (150, 181),
        0.53,
        Some(Truth::Rises("BTC", DayOfYear(151), DayOfYear(181))),
    ),
    DemoQuestion(
        "btc-high-2026",
        "Will Bitcoin set a new high in 2026?",
        YES_NO,
        BITCOIN,
        (300, 729),
        0.58,
        Some(Truth::NewHigh("BTC", DayOfYear(365), DayOfYear(729))),
    ),
    DemoQuestion(
        "eth-upgrade",
        "Will the spring upgrade ship by May?",
        YES_NO,
        ETHEREUM,
        (20, 150),
        0.74,
        Some(Truth::Fixed(true)),
    ),
    DemoQuestion(
        "eth-ratio",
        "Will ETH gain on BTC in 2025?",
        YES_NO,
        ETHEREUM,
        (5, 364),
        0.37,
        Some(Truth::Gains("ETH", DayOfYear(0), DayOfYear(364))),
    ),
    DemoQuestion(
        "eth-top-2026",
        "Will Ethereum trade above $8k in 2026?",
        YES_NO,
        ETHEREUM,
        (310, 729),
        0.24,
        Some(Truth::Above("ETH", 8e3, DayOfYear(365), DayOfYear(729))),
    ),
    DemoQuestion(
        "rates-march",
        "Will rates be cut in March?",
        YES_NO,
        RATES,
        (10, 78),
        0.28,
        Some(Truth::Fixed(false)),
    ),
    DemoQuestion(
        "rates-september",
        "Will rates be cut in September?",
        YES_NO,
        RATES,
        (120, 260),
        0.66,
        Some(Truth::Fixed(true)),
    ),
    DemoQuestion("rates-2026", "Will rates end 2026 below 3%?", YES_NO, RATES, (280, 729), 0.35, None),
    DemoQuestion(
        "prices-august",
        "Will inflation exceed 3% in August?",
        YES_NO,
        PRICES,
        (180, 255),
        0.31,
        Some(Truth::Fixed(false)),
    ),
    DemoQuestion("prices-2026", "Will inflation exceed 3% in 2026?", YES_NO, PRICES, (330, 760), 0.44, None),
    DemoQuestion(
        "north-vote",
        "Which party wins the northern vote?",
        ["Greens", "Unionists"],
        ELECTIONS,
        (30, 220),
        0.47,
        Some(Truth::Fixed(false)),
    ),
    DemoQuestion(
        "coast-vote",
        "Which party wins the coastal vote?",
        ["Harbour", "Plains"],
        ELECTIONS,
        (60, 300),
        0.62,
        Some(Truth::Fixed(true)),
    ),
    DemoQuestion("island-vote", "Will the island vote go to a runoff?", YES_NO, ELECTIONS, (250, 500), 0.39, None),
    DemoQuestion(
        "data-act",
        "Will the data act pass in 2025?",
        YES_NO,
        PARLIAMENT,
        (40, 364),
        0.55,
        Some(Truth::Fixed(false)),
    ),
    DemoQuestion("water-act", "Will the water act pass by summer 2026?", YES_NO, PARLIAMENT, (270, 545), 0.48, None),
    DemoQuestion(
        "cup-final",
        "Will the cup final have more than 2.5 goals?",
        ["Over", "Under"],
        FOOTBALL,
        (100, 145),
        0.51,
        Some(Truth::Fixed(true)),
    ),
    DemoQuestion("league-2026", "Will the champions keep their title?", YES_NO, FOOTBALL, (230, 510), 0.33, None),
    DemoQuestion(
        "clay-open",
        "Will the top seed win on clay?",
        YES_NO,
        TENNIS,
        (115, 160),
        0.45,
        Some(Truth::Fixed(false)),
    ),
    DemoQuestion(
        "film-prize",
        "Will a debut win the film prize?",
        YES_NO,
        FILM,
        (15, 62),
        0.18,
        Some(Truth::Fixed(false)),
    ),
    DemoQuestion("film-record", "Will a film earn $2B by 2027?", YES_NO, FILM, (200, 729), 0.29, None),
    DemoQuestion(
        "warm-year",
        "Will 2025 be the warmest year?",
        YES_NO,
        CLIMATE,
        (8, 363),
        0.26,
        Some(Truth::Fixed(false)),
    ),
    DemoQuestion(
        "moon-landing",
        "Will a probe land on the moon by May?",
        YES_NO,
        SPACE,
        (25, 151),
        0.57,
        Some(Truth::Fixed(true)),
    ),
];

/// Kind and line of the sports markets, by event.
const SPORTS: [(&str, &str, f64); 3] =
    [("cup-final", "totals", 2.5), ("league-2026", "futures", f64::NAN), ("clay-open", "moneyline", f64::NAN)];

/// Hidden parameters of a prediction market.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::market) struct EventTraits {
    /// Place of the year that it is asked in.
    pub(in crate::market) year: usize,
    /// The second of the opening.
    pub(in crate::market) opened: UnixSecond,
    /// The second of the end.
    pub(in crate::market) ends: UnixSecond,
    /// Odds of the first outcome at the opening.
    pub(in crate::market) odds: f64,
    /// Decides which outcome comes true.
    pub(in crate::market) truth: Truth<UnixSecond>,
    /// Distinguishes the tape of the market from others. It keeps their hashes apart from those of the questions.
    pub(in crate::market) tape: u64,
}

/// The prediction markets of a seed, in the order of their openings.
#[derive(Debug)]
#[allow(clippy::struct_field_names)] // they are the events, and what goes with each
pub(in crate::market) struct PredictionEvents {
    pub(in crate::market) events: Vec<PredictionEvent>,
    pub(in crate::market) traits: Vec<EventTraits>,
    /// The two outcomes of each market, one after the other; what they pay is not in them.
    pub(in crate::market) outcomes: Vec<OutcomeToken>,
    /// Figures of sports markets; `None` for all others.
    pub(in crate::market) figures: Vec<Option<PredictionFigures>>,
}

/// How many years the questions are asked in.
pub(in crate::market) const fn years() -> usize {
    YEARS.len()
}

impl PredictionEvents {
    /// The prediction markets of a seed.
    pub(in crate::market) fn new(seed: u64) -> Self {
        const ODDS: u64 = 0x4f44_4453;
        let questions = (0..YEARS.len()).flat_map(|year| (0..QUESTIONS.len()).map(move |index| (year, index)));
        let mut places: Vec<(usize, usize)> = questions.collect();
        places.sort_by_key(|(year, index)| YEARS[*year] + QUESTIONS[*index].4.0);
        let mut all = Self { events: Vec::new(), traits: Vec::new(), outcomes: Vec::new(), figures: Vec::new() };
        for (place_of, (year, index)) in places.into_iter().enumerate() {
            let DemoQuestion(event_id, name, labels, (category, sub_category), (opened, ends), odds, truth) =
                &QUESTIONS[index];
            let asked = (year * QUESTIONS.len() + index) as u64;
            let hash = |part: u64| place(&[seed, VENUE, asked, part]);
            all.events.push(PredictionEvent {
                event_id: in_year(event_id, year, "-", ""),
                condition_id: hexadecimal(hash(0), 64),
                market_name: in_year(name, year, " (", ")"),
                category: (*category).to_owned(),
                sub_category: (*sub_category).to_owned(),
            });
            let second = |day: DayOfYear| UnixDay(YEARS[year] + day.0).second();
            let truth = match *truth {
                Some(Truth::Fixed(first)) if year == 0 => Truth::Fixed(first),
                None | Some(Truth::Fixed(_)) => Truth::Fixed(uniform(hash(3)) < *odds),
                Some(Truth::Above(coin, price, from, to)) => Truth::Above(coin, price, second(from), second(to)),
                Some(Truth::NewHigh(coin, from, to)) => Truth::NewHigh(coin, second(from), second(to)),
                Some(Truth::Rises(coin, from, to)) => Truth::Rises(coin, second(from), second(to)),
                Some(Truth::Gains(coin, from, to)) => Truth::Gains(coin, second(from), second(to)),
            };
            let tape = place(&[seed, ODDS, asked]);
            all.traits.push(EventTraits {
                year,
                opened: second(DayOfYear(*opened)),
                ends: second(DayOfYear(*ends)),
                odds: *odds,
                truth,
                tape,
            });
            for (side, label) in labels.iter().enumerate() {
                all.outcomes.push(OutcomeToken {
                    asset_id: token(hash(1 + side as u64)),
                    name: (*label).to_owned(),
                    event: place_of,
                    resolved_price: None,
                });
            }
            all.figures.push(SPORTS.iter().find(|sport| sport.0 == *event_id).map(|sport| of_sports(sport.1, sport.2)));
        }
        all
    }
}

/// A text of the first year as it reads in another: its years moved on, or where it names none, the year added.
fn in_year(text: &str, year: usize, before: &str, after: &str) -> String {
    if year == 0 {
        return text.to_owned();
    }
    let moved = |text: String, name: i64| text.replace(&name.to_string(), &(name + year as i64).to_string());
    // The latest first, so that none is moved twice.
    let dated = (FIRST..FIRST + 3).rev().fold(text.to_owned(), moved);
    if dated == text { format!("{text}{before}{}{after}", FIRST + year as i64) } else { dated }
}

/// Figures of a sports market that are given; the rest is computed.
fn of_sports(kind: &str, line: f64) -> PredictionFigures {
    let unknown = f64::NAN;
    PredictionFigures {
        sports_market_type: kind.to_owned(),
        line,
        one_day_price_change: unknown,
        total_volume: unknown,
        buy_volume: unknown,
        sell_volume: unknown,
        volume_change: unknown,
        open_interest: unknown,
        one_day_oi_change: unknown,
        unique_traders: unknown,
        liquidity: unknown,
        ..PredictionFigures::default()
    }
}

/// `0x` and so many digits.
pub(in crate::market) fn hexadecimal(hash: u64, digits: usize) -> String {
    let mut text = String::from("0x");
    let mut part = 0;
    while text.len() < digits + 2 {
        let _ = write!(text, "{:016x}", place(&[hash, part])); // writing to a string cannot fail
        part += 1;
    }
    text.truncate(digits + 2);
    text
}

/// A decimal number of 75 to 78 digits that fits into 256 bits.
fn token(hash: u64) -> String {
    // A number of 78 digits that begins with 10 is below 2^256.
    let (length, start) = if hash.is_multiple_of(4) { (78, "10") } else { (74 + (hash % 4) as usize, "") };
    let mut text = String::from(start);
    for part in 0.. {
        if text.len() == length {
            break;
        }
        let lowest = i32::from(text.is_empty());
        let digit = lowest + (uniform(place(&[hash, part])) * f64::from(10 - lowest)) as i32;
        let _ = write!(text, "{digit}");
    }
    text
}
