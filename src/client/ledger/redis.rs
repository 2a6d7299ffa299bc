//! An account in Redis, for processes on many machines. The account is one value, changed by compare-and-set in one
//! step of the server, whose clock is used.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisError, Script};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;

use crate::budget::Account;
use crate::client::error::ClientError;
use crate::clock::UnixNanos;

/// Timeout of connecting and of answers.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a change is tried again when others were faster.
const MOST_CONFLICTS: u32 = 200;

/// Compare-and-set: replaces the value if it still equals the first argument; otherwise returns the server's time and
/// the value. Unused accounts expire after two days: their buckets are full and their day is over.
const EXCHANGE: &str = r"
local time = redis.call('TIME')
local value = redis.call('GET', KEYS[1]) or ''
if #ARGV == 2 and value == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', 172800000)
  return {1, time[1], time[2], ''}
end
return {0, time[1], time[2], value}
";

/// An account's value in Redis.
pub(super) struct RedisLedger {
    client: redis::Client,
    key: String,
    script: Script,
    connection: Mutex<Option<MultiplexedConnection>>,
}

impl RedisLedger {
    /// # Errors
    /// [`super::super::ErrorKind::InvalidRequest`] for an invalid address. It is not shown, because it may hold a
    /// password.
    pub(super) fn new(address: &SecretString, name: &str) -> Result<Self, ClientError> {
        // A provider already installed by the embedding program is fine too.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = redis::Client::open(address.expose_secret()).map_err(|_| {
            ClientError::invalid("budget: the address of Redis is none; give one such as redis://host:6379/0")
        })?;
        let key = format!("marketpoints:budget:v1:{name}");
        Ok(Self { client, key, script: Script::new(EXCHANGE), connection: Mutex::new(None) })
    }

    /// Changes the account. Returns the result of `change`, the account after it, and the server's time in Unix
    /// nanoseconds.
    pub(super) async fn update<T>(
        &self,
        own_view: impl Fn(UnixNanos) -> Account,
        debt: impl Fn(UnixNanos) -> Option<Account>,
        change: &mut impl FnMut(&mut Account, UnixNanos) -> T,
    ) -> Result<(T, Account, UnixNanos), String> {
        let (_, mut now, mut was) = self.exchange(None).await?;
        for _ in 0..MOST_CONFLICTS {
            let kept = serde_json::from_slice::<Account>(&was).ok();
            let mut account = kept.and_then(|kept| kept.checked(now)).unwrap_or_else(|| own_view(now));
            if let Some(debt) = debt(now) {
                account.tighten(&debt);
            }
            let value = change(&mut account, now);
            account.shorten();
            let text = serde_json::to_vec(&account).map_err(|problem| problem.to_string())?;
            let (done, later, newer) = self.exchange(Some((&was, &text))).await?;
            if done {
                return Ok((value, account, now));
            }
            (now, was) = (later, newer);
        }
        Err("others change it in Redis faster than this process can".to_owned())
    }

    async fn exchange(&self, change: Option<(&[u8], &[u8])>) -> Result<(bool, UnixNanos, Vec<u8>), String> {
        let mut slot = self.connection.lock().await;
        let mut connection = match &*slot {
            Some(connection) => connection.clone(),
            None => {
                let config = AsyncConnectionConfig::new()
                    .set_connection_timeout(Some(PATIENCE))
                    .set_response_timeout(Some(PATIENCE));
                let made = self.client.get_multiplexed_async_connection_with_config(&config).await;
                slot.insert(made.map_err(|problem| described(&problem))?).clone()
            }
        };
        drop(slot);
        let mut call = self.script.key(&self.key);
        if let Some((was, shall)) = change {
            call.arg(was).arg(shall);
        }
        let answer: Result<(i64, i64, i64, Vec<u8>), RedisError> = call.invoke_async(&mut connection).await;
        match answer {
            Ok((done, seconds, micros, value)) => {
                let now = seconds.saturating_mul(1_000_000).saturating_add(micros).saturating_mul(1_000);
                Ok((done == 1, UnixNanos(now), value))
            }
            Err(problem) => {
                *self.connection.lock().await = None;
                Err(described(&problem))
            }
        }
    }
}

/// The error, without the address.
fn described(problem: &RedisError) -> String {
    format!("Redis does not answer as it should ({})", problem.category())
}
