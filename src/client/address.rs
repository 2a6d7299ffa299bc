//! Validates key and base address, and redacts the key in messages.

use std::net::IpAddr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

use super::error::ClientError;
use crate::protocol::Dialect;
use crate::protocol::query::Spelling;
use crate::protocol::wire::KEY_HEADER;

pub(super) fn key_name(dialect: &Dialect) -> Result<HeaderName, ClientError> {
    let name = dialect.key_header().unwrap_or(KEY_HEADER);
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| ClientError::invalid(format!("dialect: key_header: {name:?} is no name of a header")))
}

/// Replacement for the key in messages.
pub(super) const HIDDEN: &str = "<API key>";

/// Redacts a key, or another secret, in a text. A short one may be part of any word, so it is replaced only where it stands
/// alone. Where a quotation was cut within it, its beginning is redacted too.
pub(super) fn redacted(text: &str, key: &str, hidden: &str) -> String {
    const LONG: usize = 8;
    /// A beginning of the key with fewer characters may be part of any word.
    const FEW: usize = 4;
    let mut text = text.to_owned();
    let cuts: Vec<usize> = text.match_indices('…').map(|(at, _)| at).collect();
    for at in cuts.into_iter().rev() {
        let begun = (FEW..key.len()).rev().find_map(|count| {
            let start = key.get(..count)?;
            text[..at].ends_with(start).then(|| at - count)
        });
        if let Some(start) = begun {
            text.replace_range(start..at, hidden);
        }
    }
    if key.len() >= LONG {
        for spelled in spellings(key) {
            // Of one case: hexadecimal digits may be of either, and a host name is lower-cased.
            let found: Vec<usize> = text.to_ascii_lowercase().match_indices(&spelled).map(|(at, _)| at).collect();
            for at in found.into_iter().rev() {
                text.replace_range(at..at + spelled.len(), hidden);
            }
        }
        return text;
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = 0;
    for (at, found) in text.match_indices(key) {
        let after = at + found.len();
        let in_a_word = text[..at].chars().next_back().is_some_and(char::is_alphanumeric)
            || text[after..].chars().next().is_some_and(char::is_alphanumeric);
        if !in_a_word {
            clean.push_str(&text[rest..at]);
            clean.push_str(hidden);
            rest = after;
        }
    }
    clean + &text[rest..]
}

/// The key as a service may write it in a URL, in JSON and in HTML, in lower case, each once.
fn spellings(key: &str) -> Vec<String> {
    const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    let encoded = |set| utf8_percent_encode(key, set).to_string();
    let json = key.replace('\\', "\\\\").replace('"', "\\\"");
    let html = key.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut all = vec![
        key.to_owned(),
        encoded(UNRESERVED),
        encoded(NON_ALPHANUMERIC),
        json.replace('/', "\\/"),
        json,
        html.replace('"', "&quot;").replace('\'', "&#39;"),
        html,
    ];
    for one in &mut all {
        one.make_ascii_lowercase();
    }
    all.sort();
    all.dedup();
    // The longest first: it may hold a shorter one.
    all.sort_by_key(|one| std::cmp::Reverse(one.len()));
    all
}

pub(super) fn key_header(key: &str) -> Result<HeaderValue, ClientError> {
    if key.is_empty() {
        let setting = Spelling::caller().setting("api_key", "MARKETPOINTS_API_KEY");
        return Err(ClientError::invalid(format!("the API key is empty; set {setting}")));
    }
    if key.contains("://") {
        return Err(ClientError::invalid(
            "the API key is an address; did you swap the two? The key comes first: Client(api_key, base_url)",
        ));
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ClientError::invalid(
            "the API key has a character that no header can carry (a space, a line end or a non-ASCII letter); \
             copy it again",
        ));
    }
    let mut value = HeaderValue::from_str(key).map_err(|_| ClientError::invalid("the API key is no header value"))?;
    value.set_sensitive(true);
    Ok(value)
}

pub(super) fn base_url(text: &str) -> Result<Url, ClientError> {
    // Not shown: it may be a key in the wrong place, or hold a password.
    let url = Url::parse(text).map_err(|bad| {
        ClientError::invalid(format!("base_url is no address ({bad}); give one such as https://host"))
    })?;
    let bare = url.query().is_none() && url.fragment().is_none();
    let right = bare && matches!(url.scheme(), "http" | "https") && url.has_host();
    if right && url.username().is_empty() && url.password().is_none() {
        return Ok(url);
    }
    Err(ClientError::invalid(
        "base_url must be http:// or https:// with a host and without user, password, query or fragment",
    ))
}

pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_addresses_are_checked_before_anything_is_sent() {
        for key in ["", " key", "key\n", "schlüssel"] {
            let error = key_header(key).unwrap_err().to_string();
            assert!(!error.contains("schl"), "{error}");
        }
        for address in ["host", "ftp://host", "https://user:secret@host", "http://host/?a=1", "http://host/#a", ""] {
            let error = base_url(address).unwrap_err().to_string();
            assert!(error.contains("base_url"), "{error}");
        }
        assert!(base_url("http://127.0.0.1:8080/prefix/").is_ok());
    }

    #[test]
    fn a_key_in_the_place_of_the_address_is_reported_and_not_shown() {
        let error = key_header("http://127.0.0.1:9").unwrap_err().to_string();
        assert!(error.contains("did you swap the two"), "{error}");
        for key in ["mp-secret-key-123", "mp:secret-key-123", "//mp-secret-key-123"] {
            let error = base_url(key).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_short_key_is_no_part_of_a_word() {
        assert_eq!(redacted("failed to lookup", "k", HIDDEN), "failed to lookup");
        assert_eq!(redacted("your key k, 'k' and k", "k", HIDDEN), "your key <API key>, '<API key>' and <API key>");
        assert_eq!(redacted("xmp-secret-key-1y", "mp-secret-key-1", HIDDEN), "x<API key>y");
    }

    #[test]
    fn a_key_is_hidden_however_it_is_spelled() {
        let key = r#"Zm9v+QUJD/R&"w=="#;
        for spelled in [
            r#"Zm9v+QUJD/R&"w=="#,
            "Zm9v%2BQUJD%2FR%26%22w%3D%3D",
            "zm9v%2bqujd%2fr%26%22w%3d%3d",
            r#"Zm9v+QUJD\/R&\"w=="#,
            r#"Zm9v+QUJD/R&\"w=="#,
            "Zm9v+QUJD/R&amp;&quot;w==",
            r#"Zm9v+QUJD/R&amp;"w=="#,
        ] {
            assert_eq!(redacted(&format!("é key={spelled}, {spelled}."), key, HIDDEN), "é key=<API key>, <API key>.");
        }
    }

    #[test]
    fn the_beginning_of_a_key_at_a_cut_is_not_shown() {
        let key = "mp-secret-key-1";
        for count in 4..key.len() {
            let cut = format!("é {}… (900 bytes in all), and {}…", &key[..count], &key[..count]);
            assert_eq!(redacted(&cut, key, HIDDEN), "é <API key>… (900 bytes in all), and <API key>…");
        }
        assert_eq!(redacted("a lump… mp-secret", key, HIDDEN), "a lump… mp-secret");
    }

    #[test]
    fn loopback_is_recognised_in_every_spelling() {
        for (address, loopback) in [
            ("http://localhost:1", true),
            ("http://127.1.2.3", true),
            ("http://[::1]:80", true),
            ("http://[::ffff:127.0.0.1]:80", true),
            ("http://10.0.0.1", false),
            ("http://localhost.example", false),
        ] {
            assert_eq!(is_loopback(&base_url(address).unwrap()), loopback, "{address}");
        }
    }
}
