//! "Did you mean": the nearest known word, for error messages.

/// Longest text that is looked at: a name is no longer, and comparing costs length × length.
const LONGEST: usize = 128;

/// The candidate nearest in spelling to `text`, ignoring case; `None` when nothing is near enough to be a likely typo.
pub fn closest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if text.len() > LONGEST {
        return None;
    }
    let wanted = text.to_uppercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&wanted, &candidate.to_uppercase()), candidate))
        .filter(|(likeness, _)| *likeness > 0.84)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate)
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
        let long = format!("BYBIT{}", "_".repeat(LONGEST));
        assert_eq!((closest(&long, names), closest(&long, [long.as_str()])), (None, None));
    }
}
