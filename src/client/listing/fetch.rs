//! Fetches a service's lists, with one attempt and a short timeout.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use crate::client::body_reader::{BodyReader, ObjectReader};
use crate::client::error::{ClientError, ErrorKind};
use crate::client::inner::ClientInner;
use crate::client::list_cache::{ListQuery, ListSource};
use crate::client::pace::Patience;
use crate::protocol::discovery::ListEndpoint;
use crate::protocol::{ErrorBody, Weight, excerpt};

/// Longest that a call waits for a list.
const MOMENT: Duration = Duration::from_secs(2);

impl ListSource for ClientInner {
    // One attempt only, so that it does not delay the call.
    async fn list_once<T: DeserializeOwned>(&self, query: &ListQuery) -> Option<Vec<T>> {
        let endpoint = query.list.endpoint();
        let url = self.transport.url(endpoint.path, &query.filters.to_query_string());
        let end = Instant::now() + MOMENT;
        let patience = Patience { max_wait: Some(MOMENT), deadline: Some(end) };
        let permit = self.pacer.acquire(Weight::ZERO, patience).await.ok()?;
        let sent = Instant::now();
        let mut reading = ObjectReader::<Map<String, Value>>::new(self.transport.dialect());
        let got = timeout_at(end, self.transport.get(&url, &mut reading)).await;
        let (status, list) = match got {
            Err(_) => {
                let message = format!("no complete answer within {} s, the timeout for lists", MOMENT.as_secs());
                (None, Err(ClientError::new(ErrorKind::Timeout, message)))
            }
            Ok(Err(broken)) => (None, Err(broken.error)),
            Ok(Ok(answer)) => {
                permit.answered(answer.budget).await;
                let list = match answer.status {
                    200 => reading.finish().map_err(|unreadable| unreadable.error).and_then(|mut record| {
                        serde_json::from_value(entries(endpoint, &mut record)).map_err(|bad| {
                            let message =
                                format!("the answer's {} are not valid: {}", endpoint.key, excerpt(&bad.to_string()));
                            ClientError::new(ErrorKind::Decode, message)
                        })
                    }),
                    status => Err(ClientError::refused(ErrorBody::parse(status, &answer.refusal))),
                };
                (Some(answer.status), list)
            }
        };
        self.log_attempt(&url, sent, status, list.as_ref().err());
        list.ok()
    }
}

/// The list in an endpoint's answer; an absent key is an empty list.
pub(in crate::client) fn entries(endpoint: &ListEndpoint, answer: &mut Map<String, Value>) -> Value {
    let mut keys = [endpoint.key].into_iter().chain(endpoint.also.iter().copied());
    let found = keys.find_map(|key| answer.remove(key).filter(|list| !list.is_null()));
    found.unwrap_or_else(|| Value::Array(Vec::new()))
}
