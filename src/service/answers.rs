//! What stands behind the service: anything that answers queries.

use serde_json::Value;

use crate::columns::Series;
use crate::market::{Market, MarketError, StreamEvent, Subscription};
use crate::protocol::stream::Channel;
use crate::protocol::{
    AnalyticsAnswer, AnalyticsQuery, DiscoveryList, ErrorBody, Filters, MarketsPage, MarketsQuery, PointsQuery,
};

/// Why a source gives no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The query breaks a rule: which, and how to mend it. 400 `INVALID_PARAMS`.
    #[error("{0}")]
    Invalid(String),
    /// No such exchange. 400 `INVALID_EXCHANGE`.
    #[error("{0}")]
    InvalidExchange(String),
    /// No such symbol. 400 `INVALID_SYMBOL`.
    #[error("{0}")]
    InvalidSymbol(String),
    /// The source itself failed. 500 `INTERNAL_ERROR`.
    #[error("{0}")]
    Internal(String),
}

impl From<AnswerError> for ErrorBody {
    fn from(error: AnswerError) -> Self {
        match error {
            AnswerError::Invalid(message) => Self::invalid_params(message),
            AnswerError::InvalidExchange(message) => Self::new(400, "INVALID_EXCHANGE", message),
            AnswerError::InvalidSymbol(message) => Self::new(400, "INVALID_SYMBOL", message),
            AnswerError::Internal(message) => Self::internal(message),
        }
    }
}

/// Answers queries. Called from several threads at once; on a thread that serves connections only what is short.
pub trait Answers: Send + Sync + 'static {
    /// The series of a query of `/v1/points`, rows in the order asked for. `now` is in Unix nanoseconds; the query's
    /// type, interval and window are known and within the limits of the caller's tier.
    fn points(&self, query: &PointsQuery, now: i64) -> Result<Vec<Series>, AnswerError>;

    /// Whether [`Self::points`] answers this query within about a millisecond: then it is called on the thread that serves
    /// the connection, because handing it to another one would take longer than the answer.
    fn is_short(&self, _query: &PointsQuery, _now: i64) -> bool {
        false
    }

    /// One page of `/v1/markets`. `now` is in Unix nanoseconds.
    fn markets(&self, query: &MarketsQuery, now: i64) -> Result<MarketsPage, AnswerError>;

    /// What a list endpoint of section 4.2 holds: the array under its key. `now` is in Unix nanoseconds; the filters have
    /// no unknown parameters. A source without lists answers with nothing.
    fn list(&self, _list: DiscoveryList, _filters: &Filters, _now: i64) -> Result<Value, AnswerError> {
        Ok(Value::Array(Vec::new()))
    }

    /// The answer of a prediction-market analytics endpoint. `now` is in Unix nanoseconds; the query keeps the rules of
    /// section 4.3. A source without positions answers with nothing.
    fn analytics(&self, _query: &AnalyticsQuery, _now: i64) -> Result<AnalyticsAnswer, AnswerError> {
        Ok(AnalyticsAnswer::default())
    }

    /// Begins a channel of the live stream: told will be what happens after `now` (Unix nanoseconds). A source without a
    /// stream refuses.
    fn subscribe(&self, channel: &Channel, _now: i64) -> Result<Subscription, AnswerError> {
        Err(AnswerError::Invalid(format!("this source has no stream, so no {} either", channel.kind)))
    }

    /// What a subscription is told next: its events up to `until` (Unix nanoseconds, exclusive), in time order.
    fn events(&self, _subscription: &mut Subscription, _until: i64) -> Result<Vec<StreamEvent>, AnswerError> {
        Ok(Vec::new())
    }
}

impl Answers for Market {
    fn points(&self, query: &PointsQuery, now: i64) -> Result<Vec<Series>, AnswerError> {
        Ok(Self::points(self, query, now)?)
    }

    fn is_short(&self, query: &PointsQuery, now: i64) -> bool {
        Self::is_short(query, now)
    }

    fn markets(&self, query: &MarketsQuery, now: i64) -> Result<MarketsPage, AnswerError> {
        Ok(Self::markets(self, query, now)?)
    }

    fn list(&self, list: DiscoveryList, filters: &Filters, now: i64) -> Result<Value, AnswerError> {
        Ok(Self::list(self, list, filters, now)?)
    }

    fn analytics(&self, query: &AnalyticsQuery, now: i64) -> Result<AnalyticsAnswer, AnswerError> {
        Ok(Self::analytics(self, query, now)?)
    }

    fn subscribe(&self, channel: &Channel, now: i64) -> Result<Subscription, AnswerError> {
        Ok(Self::subscribe(self, channel, now)?)
    }

    fn events(&self, subscription: &mut Subscription, until: i64) -> Result<Vec<StreamEvent>, AnswerError> {
        Ok(Self::events(self, subscription, until)?)
    }
}

impl From<MarketError> for AnswerError {
    fn from(error: MarketError) -> Self {
        match error {
            MarketError::Invalid(problem) => Self::Invalid(problem.to_string()),
            MarketError::Internal(message) => Self::Internal(message),
        }
    }
}
