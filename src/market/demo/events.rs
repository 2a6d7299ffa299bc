//! The demo's prediction markets: invented questions with their times and odds.

use std::fmt::Write;

use super::noise::{place, uniform};
use crate::market::analytics::{Outcome, PredictionEvent};

/// First day of the demo's prediction venue: 2025-01-01.
const FIRST: i64 = 1_735_689_600;
const DAY: i64 = 86_400;
/// No position of the demo has an event after this second: 2026-01-01.
pub(super) const LAST: i64 = FIRST + 365 * DAY;
/// Keeps the hashes of the prediction venue apart from those of the other markets.
const VENUE: u64 = 0x5052_4544;

/// A question: event, title, first outcome, second outcome, category, sub-category, days of opening and end after
/// 2025-01-01, odds of the first outcome at the opening, and whether it came true.
struct Question(
    &'static str,
    &'static str,
    [&'static str; 2],
    (&'static str, &'static str),
    (i64, i64),
    f64,
    Option<bool>,
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

const QUESTIONS: [Question; 25] = [
    Question("btc-top-2025", "Will Bitcoin trade above $120k in 2025?", YES_NO, BITCOIN, (0, 364), 0.41, Some(true)),
    Question("btc-top-2025", "Will Bitcoin trade above $150k in 2025?", YES_NO, BITCOIN, (0, 364), 0.22, Some(false)),
    Question("btc-top-2025", "Will Bitcoin trade above $200k in 2025?", YES_NO, BITCOIN, (0, 364), 0.07, Some(false)),
    Question("btc-june", "Will Bitcoin close June higher?", YES_NO, BITCOIN, (150, 181), 0.53, Some(true)),
    Question("btc-top-2026", "Will Bitcoin set a new high in 2026?", YES_NO, BITCOIN, (300, 729), 0.58, None),
    Question("eth-upgrade", "Will the spring upgrade ship by May?", YES_NO, ETHEREUM, (20, 150), 0.74, Some(true)),
    Question("eth-ratio", "Will ETH gain on BTC in 2025?", YES_NO, ETHEREUM, (5, 364), 0.37, Some(false)),
    Question("eth-top-2026", "Will Ethereum trade above $8k in 2026?", YES_NO, ETHEREUM, (310, 729), 0.24, None),
    Question("rates-march", "Will rates be cut in March?", YES_NO, RATES, (10, 78), 0.28, Some(false)),
    Question("rates-september", "Will rates be cut in September?", YES_NO, RATES, (120, 260), 0.66, Some(true)),
    Question("rates-2026", "Will rates end 2026 below 3%?", YES_NO, RATES, (280, 729), 0.35, None),
    Question("prices-august", "Will inflation exceed 3% in August?", YES_NO, PRICES, (180, 255), 0.31, Some(false)),
    Question("prices-2026", "Will inflation exceed 3% in 2026?", YES_NO, PRICES, (330, 760), 0.44, None),
    Question(
        "north-vote",
        "Which party wins the northern vote?",
        ["Greens", "Unionists"],
        ELECTIONS,
        (30, 220),
        0.47,
        Some(false),
    ),
    Question(
        "coast-vote",
        "Which party wins the coastal vote?",
        ["Harbour", "Plains"],
        ELECTIONS,
        (60, 300),
        0.62,
        Some(true),
    ),
    Question("island-vote", "Will the island vote go to a runoff?", YES_NO, ELECTIONS, (250, 500), 0.39, None),
    Question("data-act", "Will the data act pass in 2025?", YES_NO, PARLIAMENT, (40, 364), 0.55, Some(false)),
    Question("water-act", "Will the water act pass by summer 2026?", YES_NO, PARLIAMENT, (270, 545), 0.48, None),
    Question(
        "cup-final",
        "Who wins the cup final?",
        ["Red Stars", "Blue Anchors"],
        FOOTBALL,
        (100, 145),
        0.51,
        Some(true),
    ),
    Question("league-2026", "Will the champions keep their title?", YES_NO, FOOTBALL, (230, 510), 0.33, None),
    Question("clay-open", "Will the top seed win on clay?", YES_NO, TENNIS, (115, 160), 0.45, Some(false)),
    Question("film-prize", "Will a debut win the film prize?", YES_NO, FILM, (15, 62), 0.18, Some(false)),
    Question("film-record", "Will a film earn $2B by 2027?", YES_NO, FILM, (200, 729), 0.29, None),
    Question("warm-year", "Will 2025 be the warmest year?", YES_NO, CLIMATE, (8, 363), 0.26, Some(false)),
    Question("moon-landing", "Will a probe land on the moon by May?", YES_NO, SPACE, (25, 151), 0.57, Some(true)),
];

/// What the demo knows of a prediction market beside what it tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct EventTraits {
    /// Unix second of the opening.
    pub(super) opened: i64,
    /// Unix second of the end; after [`LAST`] for markets that are still open.
    pub(super) ends: i64,
    /// Odds of the first outcome at the opening.
    pub(super) odds: f64,
    /// Whether the first outcome came true; `None` while the market is open.
    pub(super) resolved: Option<bool>,
}

/// Tells the tape of a market from others. It keeps their hashes apart from those of the questions.
pub(super) fn tape_seed(seed: u64, event: usize) -> u64 {
    const ODDS: u64 = 0x4f44_4453;
    place(&[seed, ODDS, event as u64])
}

/// The prediction markets of a seed: each with its traits, and the two outcomes of each, one after the other.
pub(super) fn events(seed: u64) -> (Vec<PredictionEvent>, Vec<EventTraits>, Vec<Outcome>) {
    let (mut events, mut traits, mut outcomes) = (Vec::new(), Vec::new(), Vec::new());
    for (index, question) in QUESTIONS.iter().enumerate() {
        let Question(event_id, name, labels, (category, sub_category), (opened, ends), odds, resolved) = question;
        let hash = |part: u64| place(&[seed, VENUE, index as u64, part]);
        events.push(PredictionEvent {
            event_id: (*event_id).to_owned(),
            condition_id: hexadecimal(hash(0), 64),
            market_name: (*name).to_owned(),
            category: (*category).to_owned(),
            sub_category: (*sub_category).to_owned(),
        });
        traits.push(EventTraits {
            opened: FIRST + opened * DAY,
            ends: FIRST + ends * DAY,
            odds: *odds,
            resolved: *resolved,
        });
        for (side, label) in labels.iter().enumerate() {
            outcomes.push(Outcome {
                asset_id: token(hash(1 + side as u64)),
                name: (*label).to_owned(),
                event: index,
                resolved_price: resolved.map(|first| f64::from(u8::from(first == (side == 0)))),
            });
        }
    }
    (events, traits, outcomes)
}

/// `0x` and so many digits.
pub(super) fn hexadecimal(hash: u64, digits: usize) -> String {
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
