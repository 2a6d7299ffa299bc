//! The conversation of the stream: JSON-RPC 2.0 (supplement 7).

use serde_json::{Map, Value, json};

use super::channel::Channel;
use crate::protocol::error_body::{ErrorBody, bounded};
use crate::protocol::excerpt::excerpt;

/// Method that presents the key; the first of a connection.
pub const AUTHENTICATE: &str = "public/authenticate";
/// Method that asks for channels.
pub const SUBSCRIBE: &str = "public/subscribe";
/// Method that ends channels.
pub const UNSUBSCRIBE: &str = "public/unsubscribe";

/// The text of an authentication.
pub fn authenticate(id: u64, key: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": AUTHENTICATE, "params": {"token": key}}).to_string()
}

/// The text of a subscription.
pub fn subscribe(id: u64, channels: &[Channel]) -> String {
    let channels: Vec<Value> = channels.iter().map(Channel::to_json).collect();
    let params = json!({"channels": channels, "compression": "none", "version": "v2"});
    json!({"jsonrpc": "2.0", "id": id, "method": SUBSCRIBE, "params": params}).to_string()
}

/// The text of an answer that grants a request.
pub fn result(id: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

/// The text of an answer that refuses a request.
pub fn error(id: &Value, error: &RpcError) -> String {
    let body = json!({"code": error.code, "message": error.message, "data": {"error": error.name}});
    json!({"jsonrpc": "2.0", "id": id, "error": body}).to_string()
}

/// A request as a service reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Identifier that the answer echoes.
    pub id: Value,
    /// The method, known or not.
    pub method: String,
    /// Its parameters; empty where there are none.
    pub params: Map<String, Value>,
}

impl Call {
    /// Reads a request.
    ///
    /// # Errors
    /// The id to answer under (null where none can be read), and what is wrong.
    pub fn parse(text: &str) -> Result<Self, (Value, RpcError)> {
        let parsed: Value = serde_json::from_str(text).map_err(|bad| {
            let message = format!("the message is no JSON: {bad}");
            (Value::Null, RpcError::new(-32_700, "PARSE_ERROR", message))
        })?;
        let Value::Object(mut fields) = parsed else {
            let message = "send one request as an object; batches are not served";
            return Err((Value::Null, RpcError::new(-32_600, "INVALID_REQUEST", message)));
        };
        let id = match fields.remove("id") {
            Some(id @ (Value::String(_) | Value::Number(_))) => id,
            _ => Value::Null,
        };
        let Some(Value::String(method)) = fields.remove("method") else {
            return Err((id, RpcError::new(-32_600, "INVALID_REQUEST", "the request has no method")));
        };
        match fields.remove("params") {
            None | Some(Value::Null) => Ok(Self { id, method, params: Map::new() }),
            Some(Value::Object(params)) => Ok(Self { id, method, params }),
            Some(_) => Err((id, RpcError::new(-32_602, "INVALID_PARAMS", "params must be an object"))),
        }
    }
}

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    /// The code: an HTTP status of the same meaning, or one of JSON-RPC's own below 0; 0 where none was sent.
    pub code: i64,
    /// The service's name for it, such as `INVALID_API_KEY` (supplement 6); empty where none was sent.
    pub name: String,
    /// The problem, and how to fix it.
    pub message: String,
}

impl RpcError {
    /// An error that a service is about to send.
    pub fn new(code: i64, name: &str, message: impl Into<String>) -> Self {
        Self { code, name: name.to_owned(), message: message.into() }
    }

    /// Reads the `error` of an answer, in whatever shape it came; of its message no more is lost than of [`ErrorBody`]'s.
    pub fn read(error: &Value) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let data = error.get("data");
        let name = text(data.and_then(|data| data.get("error")))
            .or_else(|| text(data))
            .or_else(|| text(error.get("code")))
            .or_else(|| text(error.get("error")));
        Self {
            code: error.get("code").and_then(Value::as_i64).unwrap_or(0),
            name: name.map_or_else(String::new, |name| excerpt(&name)),
            message: bounded(
                &text(error.get("message")).or_else(|| text(Some(error))).unwrap_or_else(|| error.to_string()),
            ),
        }
    }

    /// The HTTP error body: with the status of the code or of the name, 500 if neither is known.
    pub fn body(&self) -> ErrorBody {
        let by_name = match self.name.as_str() {
            "INVALID_API_KEY" => Some(401),
            "FORBIDDEN" => Some(403),
            "RATE_LIMITED" => Some(429),
            "INVALID_PARAMS" | "INVALID_EXCHANGE" | "INVALID_SYMBOL" | "INVALID_TIMEFRAME" => Some(400),
            _ => None,
        };
        let status = match self.code {
            code @ 400..=599 => code as u16,
            -32_603 => 500,
            -32_700 | -32_602..=-32_600 => 400,
            _ => by_name.unwrap_or(500),
        };
        let code = match &self.name {
            name if name.is_empty() => (self.code != 0).then(|| self.code.to_string()),
            name => Some(name.clone()),
        };
        ErrorBody { status, code, message: self.message.clone(), retry_after: None }
    }
}

impl From<ErrorBody> for RpcError {
    fn from(body: ErrorBody) -> Self {
        Self { code: i64::from(body.status), name: body.code.unwrap_or_default(), message: body.message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_those_of_the_supplement() {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(
            read(&authenticate(1, "<API_KEY>")),
            read(r#"{"jsonrpc":"2.0","id":1,"method":"public/authenticate","params":{"token":"<API_KEY>"}}"#)
        );
        assert_eq!(
            read(&subscribe(2, &[Channel::new("TRADE", "BINANCE_FUTURES", "BTCUSDT")])),
            read(
                r#"{"jsonrpc":"2.0","id":2,"method":"public/subscribe","params":{"channels":[{"type":"TRADE",
                "exchange":"BINANCE_FUTURES","symbol":"BTCUSDT","category":"*"}],"compression":"none","version":"v2"}}"#
            )
        );
    }

    #[test]
    fn what_a_service_writes_a_client_reads() {
        let refusal = RpcError::from(ErrorBody::forbidden("too many"));
        let text: Value = serde_json::from_str(&error(&json!(7), &refusal)).unwrap();
        assert_eq!((&text["id"], &text["jsonrpc"]), (&json!(7), &json!("2.0")));
        assert_eq!(RpcError::read(&text["error"]), refusal);
        assert_eq!(refusal.body(), ErrorBody::forbidden("too many"));
        let text: Value = serde_json::from_str(&result(&json!("a"), &json!({}))).unwrap();
        assert_eq!(text, json!({"jsonrpc": "2.0", "id": "a", "result": {}}));
    }

    #[test]
    fn errors_of_every_shape_are_read() {
        for (text, status, code, message) in [
            (r#"{"code":-32602,"message":"bad"}"#, 400, Some("-32602"), "bad"),
            (r#"{"code":"INVALID_API_KEY","message":"no"}"#, 401, Some("INVALID_API_KEY"), "no"),
            (r#"{"code":-32603,"message":"oops"}"#, 500, Some("-32603"), "oops"),
            (r#"{"error":"RATE_LIMITED","message":"slow"}"#, 429, Some("RATE_LIMITED"), "slow"),
            (r#""unauthorized""#, 500, None, "unauthorized"),
            (r#"{"reason":1}"#, 500, None, r#"{"reason":1}"#),
        ] {
            let body = RpcError::read(&serde_json::from_str(text).unwrap()).body();
            assert_eq!((body.status, body.code.as_deref(), body.message.as_str()), (status, code, message), "{text}");
        }
    }

    #[test]
    fn requests_that_are_none_are_refused_under_their_id() {
        let refused = |text: &str| Call::parse(text).map_err(|(id, error)| (id, error.code)).unwrap_err();
        assert_eq!(refused("{"), (Value::Null, -32_700));
        assert_eq!(refused("[]"), (Value::Null, -32_600));
        assert_eq!(refused(r#"{"id":3}"#), (json!(3), -32_600));
        assert_eq!(refused(r#"{"id":"x","method":"m","params":[1]}"#), (json!("x"), -32_602));
        let call = Call::parse(r#"{"id":null,"method":"m"}"#).unwrap();
        assert_eq!((call.id, call.method.as_str(), call.params.len()), (Value::Null, "m", 0));
    }
}
