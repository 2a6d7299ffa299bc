//! Channels of a market: subscriptions, and the events of each kind of channel.

use super::batches::{trade_batches, volume_profiles};
use super::books::snapshots;
use super::single_events::{funding_rates, liquidations, open_interest, trades};
use super::subscription::{StreamEvent, Subscription};
use crate::clock::{SECOND, UnixNanos};
use crate::market::engine::Market;
use crate::market::instruments::names;
use crate::market::query::error::MarketError;
use crate::market::raw::Instrument;
use crate::protocol::ParamError;
use crate::protocol::query::Spelling;
use crate::protocol::stream::{Channel, ChannelKind, StreamSeries, duration};

/// Default frequency of a channel.
const USUAL_FREQUENCY: i64 = SECOND;

impl Market {
    /// Begins a channel; it sends the events after `now`.
    ///
    /// # Errors
    /// [`MarketError::Invalid`] for an unknown type, and if [`Channel::check`] fails;
    /// [`MarketError::UnknownExchange`] and [`MarketError::UnknownSymbol`] by the rule of [`Market::check`].
    pub fn subscribe(&self, channel: &Channel, now: UnixNanos) -> Result<Subscription, MarketError> {
        let Some(kind) = ChannelKind::find(&channel.kind) else {
            return Err(ParamError::new("type", ChannelKind::unknown(&channel.kind)).into());
        };
        channel.check(Spelling::Wire)?;
        self.computes("the live stream")?;
        names::check_market(self.source(), &channel.exchange, &channel.symbol, self.strict_symbols())?;
        let instruments = self.source().instruments();
        let market = instruments.iter().position(|row| is_meant(row, channel));
        if let Some(quote) = channel.parameter("quote") {
            check_quote(quote, market.map(|market| &instruments[market]))?;
        }
        let frequency = ["updateFrequency", "batchInterval"].into_iter().find_map(|name| channel.parameter(name));
        Ok(Subscription {
            channel: channel.clone(),
            kind,
            series: series(kind, channel, market.map(|market| &instruments[market])),
            from: now.plus(1),
            frequency: frequency.and_then(duration).unwrap_or(USUAL_FREQUENCY),
            last_book: None,
        })
    }

    /// The events of a subscription that are not produced yet, up to `until` (exclusive), in time order. They then count as
    /// produced.
    ///
    /// # Errors
    /// [`MarketError::Internal`] when the data cannot be read.
    pub fn events(&self, subscription: &mut Subscription, until: UnixNanos) -> Result<Vec<StreamEvent>, MarketError> {
        let mut events = Vec::new();
        if until <= subscription.from {
            return Ok(events);
        }
        // The source may have been opened again, with other markets.
        let channel = &subscription.channel;
        let market = self.source().instruments().iter().position(|row| is_meant(row, channel));
        if let Some(market) = market {
            let source = self.source();
            match subscription.kind {
                ChannelKind::Trade => trades(source, market, subscription, until, &mut events)?,
                ChannelKind::Liquidation => liquidations(source, market, subscription, until, &mut events)?,
                ChannelKind::FundingRate => funding_rates(source, market, subscription, until, &mut events)?,
                ChannelKind::OpenInterest => open_interest(source, market, subscription, until, &mut events)?,
                ChannelKind::TradeAgg => trade_batches(source, market, subscription, until, &mut events)?,
                ChannelKind::VolumeProfileAgg => volume_profiles(source, market, subscription, until, &mut events)?,
                ChannelKind::BlockBookSnapshot => snapshots(source, market, subscription, until, &mut events)?,
            }
        }
        subscription.from = until;
        Ok(events)
    }
}

fn is_meant(row: &Instrument, channel: &Channel) -> bool {
    row.exchange == channel.exchange && row.raw_symbol == channel.symbol && channel.takes(&row.category)
}

fn check_quote(quote: &str, instrument: Option<&Instrument>) -> Result<(), ParamError> {
    if quote != "USD" {
        return Err(ParamError::new("quote", format!("{quote:?} is not served; give USD, or leave it out for coin")));
    }
    match instrument.filter(|instrument| !instrument.is_usd_like()) {
        Some(foreign) => {
            let problem = format!("the market is quoted in {}, which the stream does not convert", foreign.quote);
            Err(ParamError::new("quote", problem))
        }
        None => Ok(()),
    }
}

fn series(kind: ChannelKind, channel: &Channel, instrument: Option<&Instrument>) -> StreamSeries {
    let text = |of: fn(&Instrument) -> String| instrument.map(of).unwrap_or_default();
    StreamSeries {
        kind: kind.spec().name,
        symbol: channel.symbol.clone(),
        exchange: channel.exchange.clone(),
        normalized_symbol: text(Instrument::normalized_symbol),
        category: text(|instrument| instrument.category.clone()),
        side: None,
        coin: text(|instrument| instrument.coin.clone()),
        inverse: instrument.is_some_and(|instrument| instrument.contract_usd().is_some()),
        block_size: channel.parameter("blockSize").and_then(|size| size.parse().ok()),
    }
}
