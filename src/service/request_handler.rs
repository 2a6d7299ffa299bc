//! Handling of every request before and after its route: length, `Host`, key, budget headers, panics.

use std::cell::RefCell;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, HttpBody, to_bytes};
use axum::http::header::{CONNECTION, DATE, HOST, ORIGIN, TRANSFER_ENCODING, UPGRADE};
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Method, Request, Response, Version};
use futures::FutureExt;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use super::access::Access;
use super::answer::{BudgetOfBody, Caller};
use super::connection_handle::ConnectionHandle;
use super::faults::{Fault, Injected, header};
use super::journal::JournalEntry;
use super::log;
use super::responses::{self, insert_usage_headers, is_dropped, refusal, weight_of};
use super::routes;
use super::state::ServiceState;
use crate::clock::UnixSecond;
use crate::protocol::ErrorBody;
use crate::protocol::wire::KEY_HEADER;

/// Longest path and query that is accepted.
pub(super) const MAX_TARGET: usize = 16 * 1024;
/// Longest body that is read and discarded, so that the connection can be used for its next request.
const MAX_BODY: usize = 64 * 1024;

/// Handles every request: checks, routing, headers, log and journal.
pub(super) struct RequestHandler {
    state: Arc<ServiceState>,
    routes: TowerToHyperService<Router>,
}

impl RequestHandler {
    pub(super) fn new(state: ServiceState) -> Self {
        let state = Arc::new(state);
        Self { routes: TowerToHyperService::new(routes::router(Arc::clone(&state))), state }
    }

    pub(super) async fn answer(&self, connection: Arc<ConnectionHandle>, request: Request<Incoming>) -> Response<Body> {
        let state = &*self.state;
        if state.access_log.is_none() && !state.journal.keeps_any() {
            let response = self.serve(connection, request).await.0;
            state.journal.spend(weight_of(&response));
            return response;
        }
        let (time, begun, peer) = (state.clock.now(), Instant::now(), connection.peer);
        let bodiless = request.method() == Method::HEAD;
        let (method, target) = (request.method().clone(), request.uri().to_string().into());
        let (response, access) = self.serve(connection, request).await;
        let entry = JournalEntry {
            time,
            peer,
            method,
            target,
            access,
            status: if is_dropped(&response) { 0 } else { response.status().as_u16() },
            weight: weight_of(&response),
            bytes: if bodiless { 0 } else { response.body().size_hint().lower() },
            microseconds: log::microseconds(begun.elapsed()),
        };
        if let Some(log) = &state.access_log {
            log::emit(log, &state.journal.redacted(&entry));
        }
        // Before the peer has the answer: whoever got it finds its request in the journal.
        state.journal.add(entry);
        response
    }

    /// The response, and whose key it was. A malformed request is refused before its key is looked up.
    async fn serve(
        &self,
        connection: Arc<ConnectionHandle>,
        request: Request<Incoming>,
    ) -> (Response<Body>, Option<Arc<Access>>) {
        let state = &*self.state;
        if let Some(error) = transport_fault(&request, state.bound_to) {
            return (state.dated(refusal(&error)), None);
        }
        match without_body(request, state.limits.body_within).await {
            Ok(request) => self.serve_bare(connection, request).await,
            Err(error) => (closing(state.dated(refusal(&error))), None),
        }
    }

    async fn serve_bare(
        &self,
        connection: Arc<ConnectionHandle>,
        request: Request<Body>,
    ) -> (Response<Body>, Option<Arc<Access>>) {
        let state = &*self.state;
        let access = request.headers().get(KEY_HEADER).and_then(|key| state.keys.find(key.as_bytes()));
        let checked = CheckedRequest { handler: self, access: access.clone(), connection, request };
        let response = match state.faults.pick(checked.request.uri().path()) {
            None => checked.answer().await,
            Some(injected) => inject(injected, checked).await,
        };
        (response, access)
    }

    /// The service's time in the format of the header `Date`.
    pub(super) fn date(&self) -> Option<HeaderValue> {
        date(self.state.clock.second())
    }
}

impl ServiceState {
    /// Adds the service's own time as the date, by which a client can see which buckets are closed here.
    fn dated(&self, mut response: Response<Body>) -> Response<Body> {
        if let Some(date) = date(self.clock.second()) {
            response.headers_mut().insert(DATE, date);
        }
        response
    }
}

/// A second in the format of the header `Date`; times before 1970 become 1970.
fn date(second: UnixSecond) -> Option<HeaderValue> {
    thread_local! {
        /// The last one of this thread: in a second, thousands of small answers have the same date.
        static LAST: RefCell<Option<(UnixSecond, HeaderValue)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| {
        if let Some((_, date)) = last.as_ref().filter(|(known, _)| *known == second) {
            return Some(date.clone());
        }
        let since_1970 = Duration::from_secs(u64::try_from(second.0).unwrap_or(0));
        let date = HeaderValue::try_from(httpdate::fmt_http_date(UNIX_EPOCH + since_1970)).ok()?;
        *last = Some((second, date.clone()));
        Some(date)
    })
}

/// A request that passed the checks, with its key's holder and connection.
struct CheckedRequest<'a> {
    handler: &'a RequestHandler,
    access: Option<Arc<Access>>,
    connection: Arc<ConnectionHandle>,
    request: Request<Body>,
}

impl CheckedRequest<'_> {
    async fn answer(self) -> Response<Body> {
        let (access, handler) = (self.access.clone(), self.handler);
        let answered = AssertUnwindSafe(self.route()).catch_unwind().await;
        let mut response = answered.unwrap_or_else(|_| {
            refusal(&ErrorBody::internal("the service failed at this request; that is a fault of the local service"))
        });
        if let Some(access) = access {
            let usage = response.extensions_mut().remove::<BudgetOfBody>().map(|BudgetOfBody(usage)| usage);
            insert_usage_headers(&mut response, &usage.unwrap_or_else(|| access.usage()));
        }
        handler.state.dated(response)
    }

    async fn route(mut self) -> Response<Body> {
        let extensions = self.request.extensions_mut();
        extensions.insert(Caller(self.access));
        extensions.insert(self.connection);
        self.handler.routes.call(self.request).await.unwrap_or_else(|never| match never {})
    }
}

/// Answers with an injected fault.
async fn inject(injected: Injected, checked: CheckedRequest<'_>) -> Response<Body> {
    if !injected.latency.is_zero() {
        tokio::time::sleep(injected.latency).await;
    }
    let (access, state) = (checked.access.clone(), Arc::clone(&checked.handler.state));
    let refuse = |error: &ErrorBody| {
        let mut response = refusal(error);
        if let Some(access) = &access {
            insert_usage_headers(&mut response, &access.usage());
        }
        state.dated(response)
    };
    match injected.fault {
        None | Some(Fault::Latency(_) | Fault::LateWith(..)) => checked.answer().await,
        Some(Fault::RateLimited { retry_after }) => {
            let message = format!("a fault that the service's owner switched on: try again in {retry_after} s");
            refuse(&ErrorBody::rate_limited(message, retry_after))
        }
        Some(Fault::Failure(status)) => {
            let code = match status {
                503 => "UNAVAILABLE",
                504 => "TIMEOUT",
                _ => "INTERNAL_ERROR",
            };
            refuse(&ErrorBody::new(status, code, "a fault that the service's owner switched on"))
        }
        Some(Fault::CutBody { after }) => responses::cut(checked.answer().await, after).await,
        Some(Fault::Drop) => responses::dropped(),
        Some(Fault::Headers(headers)) => {
            let mut response = checked.answer().await;
            // Checked when the rule was added, so none is skipped here.
            for (name, value) in headers.iter().flat_map(|(name, value)| header(name, value.as_deref())) {
                match value {
                    Some(value) => drop(response.headers_mut().insert(name, value)),
                    None => drop(response.headers_mut().remove(name)),
                }
            }
            response
        }
    }
}

fn transport_fault(request: &Request<Incoming>, bound_to: IpAddr) -> Option<ErrorBody> {
    let bound_to = bound_to.to_canonical(); // ::ffff:127.0.0.1 is 127.0.0.1
    let length = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if length > MAX_TARGET {
        let message = format!("a URL of {length} bytes is too long; send at most {MAX_TARGET}");
        return Some(ErrorBody::new(414, "URI_TOO_LONG", message));
    }
    let hosts: Vec<_> = request.headers().get_all(HOST).iter().collect();
    match (&hosts[..], request.version()) {
        ([], Version::HTTP_11) | ([_, _, ..], _) => {
            return Some(ErrorBody::new(400, "INVALID_REQUEST", "send the header Host exactly once"));
        }
        _ => {}
    }
    if request.headers().get_all(KEY_HEADER).iter().nth(1).is_some() {
        let message = format!("send the header {KEY_HEADER} once, with one key");
        return Some(ErrorBody::new(400, "INVALID_REQUEST", message));
    }
    // A web page may make its own host name resolve to this machine and so reach the service from a browser (DNS
    // rebinding); the `Host` header then names the page's host.
    let named = hosts.first().map(|host| host.to_str().unwrap_or_default());
    let target = request.uri().authority().map(Authority::as_str);
    let foreign = [named, target].into_iter().flatten().any(|name| !is_ours(name, bound_to));
    if bound_to.is_loopback() && foreign {
        let message = "the header Host names another machine; ask the service by localhost or its own address";
        return Some(ErrorBody::forbidden(message));
    }
    // A browser lets any page open a WebSocket, and sends the page's origin.
    let origin = request.headers().get(ORIGIN).filter(|_| request.headers().contains_key(UPGRADE));
    let page = origin.map(|origin| origin.to_str().ok().and_then(|origin| origin.split_once("://")));
    let foreign = page.is_some_and(|page| page.is_none_or(|(_, host)| !is_ours(host, bound_to)));
    (bound_to.is_loopback() && foreign)
        .then(|| ErrorBody::forbidden("a page of another origin may not open the stream"))
}

/// Removes a request's body: no route reads one. A short body is read and discarded. A long one is refused, as is one
/// of unknown length, which request smuggling uses.
async fn without_body(request: Request<Incoming>, within: Duration) -> Result<Request<Body>, ErrorBody> {
    if request.headers().contains_key(TRANSFER_ENCODING) {
        let message = "this service reads no bodies; send the request without Transfer-Encoding";
        return Err(ErrorBody::new(400, "INVALID_REQUEST", message));
    }
    let (parts, body) = request.into_parts();
    if body.is_end_stream() {
        return Ok(Request::from_parts(parts, Body::empty()));
    }
    let too_long = || {
        let message = format!("this service reads no bodies and throws away at most {MAX_BODY} bytes; send none");
        ErrorBody::new(413, "BODY_TOO_LARGE", message)
    };
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(too_long());
    }
    match tokio::time::timeout(within, to_bytes(Body::new(body), MAX_BODY)).await {
        Ok(Ok(_)) => Ok(Request::from_parts(parts, Body::empty())),
        Ok(Err(_)) => Err(too_long()),
        Err(_) => {
            let message = "the body that the head of the request announces does not arrive; send none";
            Err(ErrorBody::new(408, "TIMEOUT", message))
        }
    }
}

/// Closes the connection after this answer: the rest of the request must not be parsed as the next one.
fn closing(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Whether a `host[:port]` is this machine's loopback or the address that the service is bound to.
fn is_ours(name: &str, bound_to: IpAddr) -> bool {
    let Ok(authority) = name.parse::<Authority>() else { return false };
    let host = authority.host();
    if name.contains('@') {
        return false;
    }
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback() || address.to_canonical() == bound_to,
        Err(_) => bare.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_are_ours() {
        let bound_to = IpAddr::from([127, 0, 0, 1]);
        for name in [
            "localhost",
            "LocalHost:8080",
            "127.0.0.1",
            "127.0.0.1:1",
            "127.9.9.9:80",
            "[::1]:9",
            "[::1]",
            "[::ffff:127.0.0.2]",
        ] {
            assert!(is_ours(name, bound_to), "{name}");
        }
        for name in ["", "example.org", "localhost.example.org", "10.0.0.1:80", "me@localhost", "::1", "a b", "[::2]"] {
            assert!(!is_ours(name, bound_to), "{name}");
        }
    }
}
