//! Text that is safe to show for an argument beside a key, since it may be the key in the wrong place.

/// Texts up to this length are shown in full: too short for a key.
const SHORT: usize = 7;
/// Longest text that is shown where it looks like words.
const LONGEST: usize = 32;

/// A text as it is, in quotes, where it is short or looks like words (letters of one case with `_` or `-` between them);
/// of any other its length.
pub fn redacted(text: &str) -> String {
    let length = text.chars().count();
    if length <= SHORT || (length <= LONGEST && looks_like_words(text)) {
        format!("{text:?}")
    } else {
        format!("(a text of {length} characters)")
    }
}

fn looks_like_words(text: &str) -> bool {
    text.split(['_', '-']).all(|word| {
        let rest = word.trim_start_matches(|first: char| first.is_ascii_uppercase());
        // One capital and small letters, or capitals alone.
        let capitals = word.len() - rest.len();
        !word.is_empty()
            && rest.bytes().all(|byte| byte.is_ascii_lowercase())
            && (capitals <= 1 || rest.is_empty())
            && word.len() <= 16
    })
}

#[cfg(test)]
mod tests {
    use super::redacted;

    #[test]
    fn words_are_shown_and_what_may_be_a_key_is_not() {
        for (text, shown) in [
            ("platinum", "\"platinum\""),
            ("Gold", "\"Gold\""),
            ("AWS_ACCES_KEY", "\"AWS_ACCES_KEY\""),
            ("no_such_option", "\"no_such_option\""),
            ("5s", "\"5s\""),
            ("a\nb", "\"a\\nb\""),
            ("mp-lab-5f0c2a", "(a text of 13 characters)"),
            ("wJalrXUtnFEMI", "(a text of 13 characters)"),
            ("dGhpcyBpcyBh", "(a text of 12 characters)"),
            ("AKIAIOSFODNNSEVENEXAMPLE", "(a text of 24 characters)"),
        ] {
            assert_eq!(redacted(text), shown);
        }
    }
}
