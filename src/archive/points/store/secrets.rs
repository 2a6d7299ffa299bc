//! Keeps credentials out of messages.

/// Shorter values are words such as `true`, not secrets.
const SHORTEST: usize = 8;

/// Texts that must not appear in messages.
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub(super) fn new(values: impl Iterator<Item = String>) -> Self {
        let mut values: Vec<String> = values.filter(|value| value.len() >= SHORTEST).collect();
        values.sort_unstable_by_key(|value| std::cmp::Reverse(value.len())); // one may contain another
        Self(values)
    }

    /// Replaces secrets in a text.
    pub(super) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "<hidden>"))
    }
}
