//! The analytics endpoints over real sockets: weights, plan, rules, spelling (sections 4.3, 5 and 8.5).

use std::sync::Arc;

use super::harness::{Bench, NOW};
use crate::market::Market;
use crate::protocol::analytics::{ANALYTICS, ANALYTICS_PREFIX};

/// A service over the demo market.
fn demo() -> Bench {
    Bench::with(|config| config.source = Arc::new(Market::demo(0)))
}

fn path(rest: &str) -> String {
    format!("{ANALYTICS_PREFIX}/{rest}")
}

#[test]
fn every_endpoint_weighs_what_the_specification_says_whatever_it_finds() {
    let bench = demo();
    let row = bench.get("unlimited", &path("leaderboard?limit=1")).json()["traderProfiles"][0].clone();
    let wallet = row["wallet_address"].as_str().unwrap().to_owned();
    let mut spent = 0;
    for (target, weight) in [
        ("leaderboard".to_owned(), 60),
        ("leaderboard?limit=100&sortBy=ROI".to_owned(), 60),
        (format!("trader-profile?userWallet={wallet}"), 100),
        ("trader-profile?userWallet=0xnobody".to_owned(), 100),
        (format!("positions?userWallet={wallet}&limit=1"), 40),
        ("market-summary?conditionId=0xnothing".to_owned(), 60),
        (format!("user-categories?userWallet={wallet}"), 40),
    ] {
        let answer = bench.get("advanced", &path(&target));
        spent += weight;
        assert_eq!((answer.status, answer.budget()), (200, (750, 1_500 - spent, spent)), "{target}");
    }
}

#[test]
fn the_burst_runs_out_and_the_wait_is_reported() {
    let bench = demo();
    for _ in 0..15 {
        assert_eq!(bench.get("advanced", &path("trader-profile?userWallet=0xnobody")).status, 200);
    }
    let refused = bench.get("advanced", &path("trader-profile?userWallet=0xnobody"));
    assert_eq!((refused.status, refused.code().as_str()), (429, "RATE_LIMITED"));
    assert_eq!(refused.number("retry-after"), 8); // 100 at 750 a minute
    assert_eq!(refused.number("x-ratelimit-reset"), NOW + 120);
    bench.advance(4);
    assert_eq!(bench.get("advanced", &path("positions?assetId=1")).status, 200); // 40 of the 50 that came back
}

#[test]
fn below_advanced_every_endpoint_is_refused_before_its_parameters_are_read() {
    let bench = demo();
    for spec in &ANALYTICS {
        for tier in ["free", "basic", "standard"] {
            let answer = bench.get(tier, spec.path);
            assert_eq!((answer.status, answer.code().as_str()), (403, "FORBIDDEN"), "{}", spec.path);
            let message = answer.message();
            assert!(message.contains("needs the plan advanced") && message.contains(tier), "{message}");
            assert_eq!(answer.number("x-ratelimit-used"), 0);
        }
        let text = format!("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", spec.path);
        assert_eq!(bench.raw(&text).status, 401);
        let key = bench.key("advanced");
        let head = format!("POST {} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {key}\r\n", spec.path);
        assert_eq!(bench.raw(&format!("{head}Content-Length: 0\r\nConnection: close\r\n\r\n")).status, 405);
    }
}

#[test]
fn what_breaks_a_rule_is_named_with_its_mending_and_costs_nothing() {
    let bench = demo();
    for (target, part) in [
        ("positions", "give userWallet, assetId or conditionId"),
        ("positions?limit=5", "give userWallet, assetId or conditionId"),
        ("positions?assetId=1&conditionId=2", "give one of them"),
        ("positions?userWallet=w&assetId=1&conditionId=2", "give one of them"),
        ("positions?userWallet=w&limit=101", "ask for 1 to 100"),
        ("positions?userWallet=w&offset=101", "0 to 100"),
        ("market-summary", "give conditionId"),
        ("market-summary?assetId=1&conditionId=2", "give one of them"),
        ("trader-profile", "parameter userWallet: missing"),
        ("trader-profile?userWallet=", "parameter userWallet: missing"),
        ("trader-profile?userwallet=w", "did you mean userWallet?"),
        ("user-categories?wallet=w", "parameter wallet: unknown"),
        ("leaderboard?limit=101", "ask for 1 to 100"),
        ("leaderboard?limit=0", "ask for 1 to 100"),
        ("leaderboard?offset=-1", "0 to 100"),
        ("leaderboard?sortBy=PNL", "REALIZED_PNL, ROI, WIN_COUNT, WIN_RATE, TOTAL_SIZE, TOTAL_POSITION_COUNT"),
        ("leaderboard?sortDirection=UP", "SORT_DIRECTION_DESC"),
        ("leaderboard?winRate=high", "\"high\" is not a number"),
        ("leaderboard?winRate=5&winRate=6", "given twice"),
        ("leaderboard?interval=HOUR", "parameter interval: unknown"),
    ] {
        let answer = bench.get("advanced", &path(target));
        assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_PARAMS"), "{target}");
        assert!(answer.message().contains(part), "{target}: {}", answer.message());
        assert_eq!(answer.budget(), (750, 1_500, 0), "{target}");
    }
    assert_eq!(bench.get("advanced", &path("nothing")).status, 404);
}

#[test]
fn answers_are_one_line_with_camel_case_on_top_and_snake_case_within() {
    let bench = demo();
    for (target, key) in [("leaderboard?limit=2", "traderProfiles"), ("positions?limit=2&userWallet=", "userPositions")]
    {
        let board = bench.get("unlimited", &path("leaderboard?limit=2&sortBy=TOTAL_SIZE"));
        let wallet = board.json()["traderProfiles"][0]["wallet_address"].as_str().unwrap().to_owned();
        let target = if target.ends_with('=') { format!("{target}{wallet}") } else { target.to_owned() };
        let answer = bench.get("unlimited", &path(&target));
        assert!(answer.body.starts_with(&format!("{{\"{key}\":[{{\"wallet_address\":\"0x")), "{}", answer.body);
        assert!(!answer.body.contains('\n') && !answer.body.contains("null") && !answer.body.contains("\":0,"));
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.json()[key].as_array().unwrap().len(), 2);
        assert!(answer.body.contains("e+0"), "large doubles carry an exponent: {}", answer.body);
    }
}

#[test]
fn strangers_and_sources_without_positions_are_answered_with_nothing() {
    let (demo, canned) = (demo(), Bench::new());
    for target in [
        "trader-profile?userWallet=0xnobody",
        "positions?conditionId=0xnothing",
        "market-summary?assetId=1",
        "user-categories?userWallet=0xnobody",
    ] {
        for bench in [&demo, &canned] {
            let answer = bench.get("unlimited", &path(target));
            assert_eq!((answer.status, answer.body.as_str()), (200, "{}"), "{target}");
        }
    }
    assert_eq!(canned.get("unlimited", &path("leaderboard")).body, "{}");
}
