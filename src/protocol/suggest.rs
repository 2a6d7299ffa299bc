//! "Did you mean": the nearest known word, for error messages.

/// Longest text that is looked at: a name is no longer, and comparing costs length × length.
const LONGEST: usize = 128;

/// Fewest letters of a beginning that tell what was meant.
const BEGINNING: usize = 4;

/// The candidate nearest in spelling to `text`, ignoring case; `None` when nothing is near enough to be a likely typo. If
/// `text` is the beginning of one candidate alone, separators aside, that one is meant.
pub fn closest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if text.len() > LONGEST {
        return None;
    }
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let beginning = letters(text);
    let mut begun = candidates.iter().filter(|candidate| letters(candidate).starts_with(&beginning));
    if beginning.chars().count() >= BEGINNING
        && let Some(only) = begun.next()
        && begun.all(|again| again == only)
    {
        return Some(only);
    }
    let wanted = text.to_uppercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&wanted, &candidate.to_uppercase()), candidate))
        .filter(|(likeness, _)| *likeness > 0.84)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate)
}

/// The letters and digits of a name, in one case: separators are a matter of spelling.
pub(crate) fn letters(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_uppercase).collect()
}

/// `; did you mean X?`, or nothing when no candidate is near.
pub fn hint<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    closest(text, candidates).map_or_else(String::new, did_you_mean)
}

/// The end of a message about a name that is not known, where another one was likely meant.
pub fn did_you_mean(name: &str) -> String {
    format!("; did you mean {name}?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_near_miss_and_keeps_quiet_about_strangers() {
        let names = ["BINANCE_FUTURES", "BYBIT", "DERIBIT"];
        assert_eq!(closest("BINANCE_FUTURE", names), Some("BINANCE_FUTURES"));
        assert_eq!(closest("bybit", names), Some("BYBIT"));
        assert_eq!(closest("zzz", names), None);
        let venues = ["BINANCE", "BINANCE_FUTURES", "BYBIT"];
        assert_eq!(closest("binancefut", venues), Some("BINANCE_FUTURES"));
        assert_eq!(closest("BINANC", venues), Some("BINANCE"), "the beginning of two");
        assert_eq!(closest("byb", venues), Some("BYBIT"));
        assert_eq!(closest("BINANCEFUT", ["BINANCE", "BINANCE_FUTURES", "BINANCE_FUTURES"]), Some("BINANCE_FUTURES"));
        assert_eq!(closest("éé", ["éénormes", "x"]), None, "two letters");
        let long = format!("BYBIT{}", "_".repeat(LONGEST));
        assert_eq!((closest(&long, names), closest(&long, [long.as_str()])), (None, None));
    }
}
