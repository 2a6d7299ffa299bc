//! What errors quote of a body: little of it, and nothing that a terminal would obey.

use super::agreement::in_portions;
use crate::decode::{DecodeError, Kernel, points};
use crate::protocol::excerpt::LONGEST;

/// Bodies that are wrong at a place where something huge stands.
fn huge(word: &str) -> Vec<String> {
    let of = |points: &str| format!(r#"{{"series":[{{"id":{{"type":"TRADE_AGG"}},"points":[{points}]}}]}}"#);
    let nested = format!("{}1{}", format!(r#"{{"{word}":"#).repeat(100), "!");
    vec![
        format!(r#"{{"{word}":[1]}}"#),
        format!(r#"{{"error":"{word}","message":"{word}","message":"{word}"}}"#),
        format!(r#"{{"error":{{"{word}":["{word}"]}}}}"#),
        format!(r#"{{"{word}":{word}x}}"#),
        format!("{{{word}}}"),
        word.to_owned(),
        of(&format!(r#"{{"Point":{{"{word}":{word}x}}}}"#)),
        of(&format!(r#"{{"Point":{{"open":{word}}}}}"#)),
        of(&format!(r#"{{"Point":{{"open":"{word}"}}}}"#)),
        of(&format!(r#"{{"{word}":{{"{word}":tru}}}}"#)),
        of(&format!(r#"{{"Point":{{"x":{nested}}}}}"#)),
        of(&format!(r#"{{"{word}":1}}"#)),
        format!(
            r#"{{"series":[{{"id":{{"type":"TRADE_AGG","side":"{word}"}},"points":[
                {{"Point":{{"open":1,"timestamp":{{"s":1}}}}}},{{"Point":{{"open":2,"timestamp":{{"s":1}}}}}}]}}]}}"#
        ),
        format!(r#"{{"series":[{{"id":{{"{word}":{word}x}}}}]}}"#),
    ]
}

// faults.md row 31
#[test]
fn messages_are_bounded_and_print_whatever_the_body_holds() {
    let words = ["A".repeat(200_000), "é".repeat(20_000), "9".repeat(100_000), "\\u001b[2J\\n".repeat(5_000)];
    for word in words.iter().chain([&"\u{202e}\u{9b}\u{7f}".repeat(10_000)]) {
        for body in huge(word) {
            let start: String = body.chars().take(60).collect();
            let whole = points(body.as_bytes()).expect_err(&start);
            let portions = in_portions(Kernel::Scalar, body.as_bytes(), &[60_000]).expect_err(&start);
            let DecodeError { path, problem, .. } = &whole;
            assert!(path.chars().count() <= LONGEST + 1, "{start}: a path of {} bytes", path.len());
            assert!(problem.chars().count() <= 500, "{start}: a problem of {} bytes", problem.len());
            let message = whole.to_string();
            assert!(message.chars().all(|letter| !letter.is_control() && letter != '\u{202e}'), "{start}: {message}");
            assert_eq!(whole, portions, "{start}");
        }
    }
}
