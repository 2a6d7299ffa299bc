//! Excerpts of bodies for messages: short, and without control characters for a terminal.

use std::fmt::Write;

/// Most characters of one quotation, with the note that it was cut.
pub const LONGEST: usize = 200;
/// Room for that note.
const NOTE: usize = 30;

/// The start of a text that a peer sent, at most [`LONGEST`] characters, with everything that does not print escaped.
#[must_use]
pub fn excerpt(text: &str) -> String {
    within(text, LONGEST)
}

/// As [`excerpt`], with another bound.
#[must_use]
pub fn within(text: &str, longest: usize) -> String {
    let mut shown = String::new();
    // Where to cut if not all of it fits, in bytes of `shown`.
    let (mut count, mut cut) = (0, 0);
    for letter in text.chars() {
        let plain = matches!(letter, '"' | '\'' | '\\');
        let before = shown.len();
        if plain {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_debug());
        }
        count += shown[before..].chars().count();
        if count <= longest.saturating_sub(NOTE) {
            cut = shown.len();
        }
        if count > longest {
            shown.truncate(cut);
            write!(shown, "… ({} bytes in all)", text.len()).ok();
            break;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_and_prints_stays_as_it_is() {
        for text in ["", "a \"quoted\" \\ 'word'", "é 中 🙂", &"x".repeat(LONGEST)] {
            assert_eq!(excerpt(text), text);
        }
    }

    #[test]
    fn what_is_long_is_cut_and_what_does_not_print_is_escaped() {
        assert_eq!(excerpt("a\u{1b}[31m\n\u{202e}"), "a\\u{1b}[31m\\n\\u{202e}");
        for text in ["x".repeat(LONGEST + 1), "é\u{7}".repeat(1_000_000), "\u{e000}".repeat(300)] {
            let short = excerpt(&text);
            assert!(short.chars().count() <= LONGEST && !short.chars().any(char::is_control), "{short}");
            assert!(short.ends_with(&format!("… ({} bytes in all)", text.len())), "{short}");
        }
    }
}
