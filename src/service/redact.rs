//! Redacts keys in what is logged.

use super::access::KeyRing;

/// Replacement for a key.
const INSTEAD: &str = "[key]";
/// Longest method that is shown; HTTP's have at most seven letters.
const MAX_METHOD: usize = 32;

/// A request line's method and target for the log. One that is too long is refused unread, and not shown either.
pub(super) fn redacted_request_line(method: &str, target: &str, longest: usize, keys: &KeyRing) -> (String, String) {
    let method = if method.len() > MAX_METHOD { "[long method]" } else { hidden(method, keys) };
    let target = match target.len() {
        length if length > longest => format!("[URL of {length} bytes]"),
        _ => redact(target, keys),
    };
    (method.to_owned(), target)
}

/// Redacts a path with query: someone may send a key as a parameter by mistake. Each word is compared raw and decoded,
/// and, because only the hash is known of some keys, by its hash.
fn redact(target: &str, keys: &KeyRing) -> String {
    let clean = keys.hide(target, INSTEAD);
    let (path, query) = clean.split_once('?').map_or((clean.as_str(), None), |(path, query)| (path, Some(query)));
    let path: Vec<&str> = path.split('/').map(|word| hidden(word, keys)).collect();
    let mut whole = path.join("/");
    for (index, parameter) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
        whole.push(if index == 0 { '?' } else { '&' });
        match parameter.split_once('=') {
            Some((name, value)) => {
                let value = if is_key_name(&decoded(name)) { INSTEAD } else { hidden(value, keys) };
                whole.extend([hidden(name, keys), "=", value]);
            }
            None => whole += hidden(parameter, keys),
        }
    }
    whole
}

/// A word, or the replacement if it is or contains a key.
fn hidden<'a>(word: &'a str, keys: &KeyRing) -> &'a str {
    let is_encoded = word.contains('%');
    if keys.is_in(word) || is_encoded && keys.is_in(&decoded(word)) { INSTEAD } else { word }
}

/// A word, percent-decoded. A plus sign is kept: keys may have one.
fn decoded(word: &str) -> String {
    let literal = word.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    form_urlencoded::parse(literal.as_bytes()).map(|(name, _)| name.into_owned()).next().unwrap_or_default()
}

fn is_key_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "secret", "password", "authorization"].iter().any(|word| name.contains(word)) || name == "token"
}
