//! Keys out of what is logged.

use super::access::KeyRing;

/// A path with query without keys: someone may send theirs as a parameter by mistake.
pub(super) fn redact(target: &str, keys: &KeyRing) -> String {
    const INSTEAD: &str = "[key]";
    let clean = keys.hide(target, INSTEAD);
    let Some((path, query)) = clean.split_once('?') else { return clean };
    let parameters: Vec<String> = query
        .split('&')
        .map(|parameter| match parameter.split_once('=') {
            Some((name, _)) if is_key_name(name) => format!("{name}={INSTEAD}"),
            _ => parameter.to_owned(),
        })
        .collect();
    format!("{path}?{}", parameters.join("&"))
}

fn is_key_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "secret", "password", "authorization"].iter().any(|word| name.contains(word)) || name == "token"
}
