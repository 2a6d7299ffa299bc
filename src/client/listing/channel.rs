//! Whether a service lists the markets of a stream's channels: the channel of an unknown market would stay silent
//! forever.

use futures::future;

use super::names::NameLookup;
use crate::client::error::ClientError;
use crate::client::inner::ClientInner;
use crate::client::list_cache::{ListLookup, ListQuery};
use crate::client::listed::Listed;
use crate::protocol::stream::{Channel, ChannelKind};
use crate::protocol::{DataType, DiscoveryList, Filters};

/// Whether a market is in a category.
struct CategoryLookup<'a> {
    query: ListQuery,
    channel: &'a Channel,
}

impl<'a> CategoryLookup<'a> {
    /// `None` for a channel of any category.
    fn of(channel: &'a Channel) -> Option<Self> {
        if channel.takes_any_category() {
            return None;
        }
        let filters = Filters {
            exchanges: vec![channel.exchange.clone()],
            raw_symbols: vec![channel.symbol.clone()],
            ..Filters::default()
        };
        Some(Self { query: ListQuery { list: DiscoveryList::Categories, filters }, channel })
    }
}

impl ListLookup<String> for CategoryLookup<'_> {
    fn query(&self) -> &ListQuery {
        &self.query
    }

    fn evaluate(&self, categories: &[String]) -> Result<Listed, ClientError> {
        let Channel { exchange, symbol, category, kind, .. } = self.channel;
        if categories.is_empty() {
            return Ok(Listed::Unknown);
        }
        if categories.iter().any(|known| self.channel.takes(known)) {
            return Ok(Listed::Yes);
        }
        let known = categories.join(", ");
        Ok(Listed::Unsure(format!(
            "{exchange} {symbol} is of the category {known}, not {category}: its channel {kind} may stay silent"
        )))
    }
}

impl ClientInner {
    /// Looks up a stream's channels, concurrently, fetching lists where needed.
    ///
    /// # Errors
    /// [`crate::client::ErrorKind::InvalidRequest`] for a symbol that the exchange does not have.
    pub(in crate::client) async fn look_up_channels(&self, channels: &[&Channel]) -> Result<Listed, ClientError> {
        if !self.check_symbols {
            return Ok(Listed::Unknown);
        }
        let every = future::join_all(channels.iter().map(|channel| self.look_up_channel(channel))).await;
        Ok(Listed::combine(every.into_iter().collect::<Result<Vec<_>, _>>()?))
    }

    async fn look_up_channel(&self, channel: &Channel) -> Result<Listed, ClientError> {
        // For an unknown kind, the list to look in is unknown.
        let Some(kind) = ChannelKind::find(&channel.kind) else { return Ok(Listed::Unknown) };
        let of_category = async {
            match CategoryLookup::of(channel) {
                Some(question) => self.listings.names.ask(self, &question).await,
                None => Ok(Listed::Yes),
            }
        };
        let (market, category) = future::join(self.look_up_market(kind, channel), of_category).await;
        Ok(Listed::combine([market?, category?]))
    }

    async fn look_up_market(&self, kind: ChannelKind, channel: &Channel) -> Result<Listed, ClientError> {
        let Channel { exchange, symbol, .. } = channel;
        let ask = async |data_type: DataType| {
            let question = NameLookup::of_market(data_type.spec().name, exchange, symbol);
            self.listings.names.ask(self, &question).await
        };
        let wanted = kind.spec().data_type;
        let said = ask(wanted).await;
        if wanted == DataType::TradeAgg || matches!(said, Ok(Listed::Yes | Listed::Unknown)) {
            return said;
        }
        // A listed market may have no data of this kind: the service accepts the channel, which then stays silent.
        match ask(DataType::TradeAgg).await {
            Ok(Listed::Yes) => Ok(Listed::Unsure(format!(
                "the service lists {exchange} {symbol}, but not for {}: its channel {} may stay silent",
                wanted.spec().name,
                channel.kind,
            ))),
            // An empty list proves nothing; that of the trades may.
            Err(refused) if matches!(said, Ok(Listed::Unsure(_))) => Err(refused),
            _ => said,
        }
    }
}
