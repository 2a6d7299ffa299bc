//! Bodies without series: an error object in a 200 answer, or data under an unknown key.

use super::error::DecodeError;
use crate::protocol::excerpt::{excerpt, within};

/// Keys of an error body (supplement 6).
const REFUSALS: [&str; 3] = ["error", "code", "message"];
/// Most characters of its description.
const MOST_DESCRIBED: usize = 400;

/// A refusal: the content that was found, in words, and its place.
pub(super) struct DecodeRefusal {
    offset: usize,
    description: String,
    /// Whether there was the key `error`.
    pub(super) is_error: bool,
}

impl DecodeRefusal {
    /// Adds a key of the body and its value, which stands at `offset`, to what is known. A key that means neither an error
    /// nor data (one may say `"success":false`) means nothing.
    pub(super) fn note(known: &mut Option<Self>, key: &str, value: &str, offset: usize) {
        let refuses = value == "false" || REFUSALS.contains(&key) && value != "null";
        let holds_data = value.starts_with(['[', '{']) && value.contains(|byte: char| !"[]{} \t\r\n".contains(byte));
        if !refuses && !holds_data {
            return;
        }
        let description = format!("{}: {}", within(key, 80), excerpt(value));
        let is_error = refuses && key == "error";
        *known = Some(match known.take() {
            None => Self { offset, description, is_error },
            // The code stands first, the message behind it; what is not for people only where there is nothing else.
            Some(first) if is_error => Self {
                description: within(&format!("{description}, {}", first.description), MOST_DESCRIBED),
                is_error,
                ..first
            },
            Some(first) if key == "message" => {
                Self { description: within(&format!("{}, {description}", first.description), MOST_DESCRIBED), ..first }
            }
            Some(first) => first,
        });
    }

    /// The error that it is.
    pub(super) fn into_error(self) -> DecodeError {
        DecodeError::new(self.offset, format!("an error object, not series ({})", self.description))
    }
}
