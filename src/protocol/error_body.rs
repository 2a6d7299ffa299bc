//! Error bodies: what the service writes and what a client may meet (service.md 7, supplement 6).

use serde::Serialize;
use serde_json::Value;

use super::excerpt::{excerpt, within};

/// Most characters of a message that are kept, be it of an error object, a proxy's page or plain text.
const LONGEST_MESSAGE: usize = 2_000;

/// An error answer, read or about to be written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorBody {
    /// HTTP status.
    #[serde(skip)]
    pub status: u16,
    /// Code, such as `RATE_LIMITED`; the text of the number when the second shape was met.
    #[serde(rename = "error", skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The complete message.
    pub message: String,
    /// Seconds to wait, with `RATE_LIMITED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
}

impl ErrorBody {
    /// An error that the service is about to send.
    pub fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        Self { status, code: Some(code.to_owned()), message: message.into(), retry_after: None }
    }

    /// 400 `INVALID_PARAMS`.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(400, "INVALID_PARAMS", message)
    }

    /// 401 `INVALID_API_KEY`.
    pub fn invalid_key(message: impl Into<String>) -> Self {
        Self::new(401, "INVALID_API_KEY", message)
    }

    /// 403 with a message that names the plan's limit.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(403, "FORBIDDEN", message)
    }

    /// 429 `RATE_LIMITED` with the seconds after which the same request passes.
    pub fn rate_limited(message: impl Into<String>, retry_after: u64) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(429, "RATE_LIMITED", message) }
    }

    /// 500 `INTERNAL_ERROR`.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "INTERNAL_ERROR", message)
    }

    /// The body's bytes.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_else(|_| b"{\"message\":\"unprintable error\"}".to_vec())
    }

    /// Reads any error body: either JSON shape, plain text or HTML. Nothing of an error message is lost.
    pub fn parse(status: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let Ok(Value::Object(object)) = serde_json::from_str::<Value>(&text) else {
            return Self { status, code: None, message: bounded(&text), retry_after: None };
        };
        let word = |name: &str| match object.get(name) {
            Some(Value::String(word)) => Some(word.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        Self {
            status,
            code: word("error").or_else(|| word("code")).map(|code| excerpt(&code)),
            message: word("message").map_or_else(|| bounded(&text), |message| bounded(&message)),
            retry_after: object
                .get("retry_after")
                .and_then(Value::as_f64)
                .map(|seconds| seconds.max(0.0).ceil() as u64),
        }
    }

    /// Whether a 403 names a limit of the plan; a bare one may be a passing outage (supplement 6).
    pub fn names_a_plan_limit(&self) -> bool {
        let text = self.message.trim().trim_matches('"').to_ascii_lowercase();
        !(text.is_empty() || text == "forbidden" || text.starts_with('<') || text == "403 forbidden")
    }
}

/// On one line; nothing that people can read of an error message is lost.
pub(super) fn bounded(text: &str) -> String {
    within(&text.split_whitespace().collect::<Vec<_>>().join(" "), LONGEST_MESSAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_as_the_live_service_writes_it() {
        let body = ErrorBody::rate_limited("slow down", 12).to_json();
        assert_eq!(body, br#"{"error":"RATE_LIMITED","message":"slow down","retry_after":12}"#);
        let body = ErrorBody::invalid_params("no").to_json();
        assert_eq!(body, br#"{"error":"INVALID_PARAMS","message":"no"}"#);
    }

    #[test]
    fn every_shape_is_read() {
        let first = ErrorBody::parse(429, br#"{"error":"RATE_LIMITED","message":"m","retry_after":11.2}"#);
        assert_eq!((first.code.as_deref(), first.retry_after), (Some("RATE_LIMITED"), Some(12)));
        let second = ErrorBody::parse(400, br#"{"code":3,"message":"parsing list \"type\"","details":[]}"#);
        assert_eq!((second.code.as_deref(), second.message.as_str()), (Some("3"), "parsing list \"type\""));
        assert_eq!(ErrorBody::parse(502, b"Bad\n  gateway").message, "Bad gateway");
        assert_eq!(ErrorBody::parse(500, b"").message, "");
        assert_eq!(ErrorBody::parse(500, b"{\"oops\":1}").message, "{\"oops\":1}");
        let long = format!(r#"{{"error":"{0}","message":"\u001b[2J{0}"}}"#, "x".repeat(5_000));
        let long = ErrorBody::parse(400, long.as_bytes());
        assert!(long.code.unwrap().len() < 250 && long.message.len() < 2_100 && long.message.starts_with("\\u{1b}[2J"));
        assert!(ErrorBody::parse(502, "x".repeat(5_000).as_bytes()).message.contains("5000 bytes in all"));
    }

    #[test]
    fn a_bare_forbidden_names_no_plan() {
        assert!(!ErrorBody::parse(403, b"forbidden").names_a_plan_limit());
        assert!(!ErrorBody::parse(403, b"{\"message\":\"Forbidden\"}").names_a_plan_limit());
        assert!(!ErrorBody::parse(403, b"<html>nope</html>").names_a_plan_limit());
        assert!(ErrorBody::parse(403, b"history depth of plan FREE is 7 days").names_a_plan_limit());
    }
}
