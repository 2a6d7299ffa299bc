//! The three methods: authenticate, subscribe, unsubscribe.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::connection::{StreamConnection, StreamEnd};
use super::frames::OpenChannel;
use crate::market::MarketError;
use crate::protocol::query::Spelling;
use crate::protocol::stream::{
    AUTHENTICATE, Call, Channel, ChannelKind, Family, RpcError, SUBSCRIBE, UNSUBSCRIBE, error, result,
};
use crate::protocol::suggest::hint;
use crate::protocol::tier::TIERS;
use crate::protocol::{ErrorBody, ParamError};
use crate::service::access::Access;
use crate::service::query_checks::needs_tier;

/// Parameters of a subscription.
const SUBSCRIPTION: [&str; 3] = ["channels", "compression", "version"];

impl StreamConnection {
    /// Answers a call. An unknown key ends the connection, so that nobody can try many keys on one.
    pub(super) async fn answer(&mut self, call: Call) -> Result<(), StreamEnd> {
        let outcome = match call.method.as_str() {
            AUTHENTICATE => match self.authenticate(&call.params) {
                Ok(granted) => Ok(granted),
                Err(refusal) => {
                    self.say(error(&call.id, &refusal.into())).await?;
                    return Err(StreamEnd::close(CloseCode::Policy, "the key is not known"));
                }
            },
            SUBSCRIBE => self.subscribe(&call.params).await.map_err(RpcError::from),
            UNSUBSCRIBE => self.unsubscribe(&call.params).map_err(RpcError::from),
            other => {
                let methods = [AUTHENTICATE, SUBSCRIBE, UNSUBSCRIBE];
                let near = hint(other, methods);
                let message = format!("there is no method {other:?} (only {}){near}", methods.join(", "));
                Err(RpcError::new(-32_601, "METHOD_NOT_FOUND", message))
            }
        };
        let text = match outcome {
            Ok(granted) => result(&call.id, &granted),
            Err(refusal) => error(&call.id, &refusal),
        };
        self.say(text).await
    }

    fn authenticate(&mut self, params: &Map<String, Value>) -> Result<Value, ErrorBody> {
        let unknown = || ErrorBody::invalid_key("no known API key came; give it as params.token");
        let token = params.get("token").and_then(Value::as_str).ok_or_else(unknown)?;
        let access = self.state.keys.find(token.as_bytes()).ok_or_else(unknown)?;
        match &self.access {
            Some(known) if !Arc::ptr_eq(known, &access) => {
                return Err(ErrorBody::invalid_key("this connection has another key already; open a new one"));
            }
            Some(_) => {}
            None => {
                (self.access, self.since) = (Some(access), Instant::now());
                self.connection.busy();
            }
        }
        Ok(json!({"authenticated": true}))
    }

    fn known(&self) -> Result<Arc<Access>, ErrorBody> {
        let first = || ErrorBody::invalid_key(format!("no key came on this connection; send {AUTHENTICATE} first"));
        self.access.clone().ok_or_else(first)
    }

    /// Subscribes to all of the channels or, if one fails, to none.
    async fn subscribe(&mut self, params: &Map<String, Value>) -> Result<Value, ErrorBody> {
        let access = self.known()?;
        check_options(params)?;
        let mut wanted: Vec<Channel> = Vec::new();
        for channel in Channel::list(params)? {
            check_family(&channel, self.family)?;
            channel.check(Spelling::Wire)?;
            let is_open = self.active.iter().any(|one| *one.subscription.channel() == channel);
            if !is_open && !wanted.contains(&channel) {
                wanted.push(channel);
            }
        }
        // Checked before the source is asked for any: one message has room for hundreds.
        let places = places(&access, wanted.len())?;
        let now = self.state.clock.now();
        // May have to wait for a change of a store's files and read them, so it must not block this thread.
        let state = Arc::clone(&self.state);
        let opening = tokio::task::spawn_blocking(move || {
            let market = state.source.current()?;
            wanted.iter().map(|channel| market.subscribe(channel, now)).collect::<Result<Vec<_>, MarketError>>()
        });
        let failed = |_| ErrorBody::internal("opening the channels failed; that is a fault of the local service");
        let opened = opening.await.map_err(failed)??;
        let active = opened.into_iter().zip(places);
        self.active.extend(active.map(|(subscription, place)| OpenChannel { subscription, _place: place }));
        Ok(self.channels())
    }

    /// Unsubscribes. A channel that is not open is no error.
    fn unsubscribe(&mut self, params: &Map<String, Value>) -> Result<Value, ErrorBody> {
        self.known()?;
        let ended = Channel::list(params)?;
        self.active.retain(|one| !ended.contains(one.subscription.channel()));
        self.since = Instant::now();
        Ok(self.channels())
    }

    fn channels(&self) -> Value {
        json!({"channels": self.active.iter().map(|one| one.subscription.channel().to_json()).collect::<Vec<_>>()})
    }
}

fn check_options(params: &Map<String, Value>) -> Result<(), ParamError> {
    for (name, value) in params {
        let right = match name.as_str() {
            "channels" => continue,
            "compression" => "none",
            "version" => "v2",
            other => {
                return Err(ParamError::new(other, format!("unknown{}", hint(other, SUBSCRIPTION))));
            }
        };
        if value.as_str() != Some(right) {
            return Err(ParamError::new(name.as_str(), format!("{value} is not served; give {right:?}")));
        }
    }
    Ok(())
}

fn check_family(channel: &Channel, here: Family) -> Result<(), ParamError> {
    if ChannelKind::find(&channel.kind).is_none() {
        return Err(ParamError::new("type", ChannelKind::unknown(&channel.kind)));
    }
    let family = channel.family();
    if family == here {
        return Ok(());
    }
    let problem = format!("{} is served at {}, not at {}", channel.kind, family.path(), here.path());
    Err(ParamError::new("type", problem))
}

/// Permits for so many more channels, all or none.
fn places(access: &Access, count: usize) -> Result<Vec<OwnedSemaphorePermit>, ErrorBody> {
    let take = |_| Arc::clone(&access.streams).try_acquire_owned().ok();
    let places: Option<Vec<_>> = (0..count).map(take).collect();
    places.ok_or_else(|| refusal(access, &access.streams, count))
}

fn refusal(access: &Access, streams: &Semaphore, count: usize) -> ErrorBody {
    let most = access.allowance.streams();
    if most == 0 {
        let lowest = TIERS.iter().find(|row| row.streams > 0).map_or("", |row| row.name);
        return needs_tier("the live stream", lowest, access.allowance);
    }
    let open = (most as usize).saturating_sub(streams.available_permits());
    let plan = access.allowance.name();
    // Whatever was unsubscribed before, there can never be more than that.
    let message = if open == 0 || count > most as usize {
        format!("the plan {plan} has {most} streams a key; {count} were asked for at once: ask for {most} at most")
    } else {
        format!(
            "the plan {plan} has {most} streams a key; {open} are open and {count} more were asked for: end some with \
             {UNSUBSCRIBE} first"
        )
    };
    ErrorBody::forbidden(message)
}
