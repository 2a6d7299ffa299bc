//! Subscriptions: which events of which market, and up to when they were told.

use super::batches::{trade_batches, volume_profiles};
use super::books::snapshots;
use super::singles::{funding_rates, liquidations, open_interest, trades};
use crate::clock::SECOND;
use crate::market::source::{Listing, Source};
use crate::market::{Market, MarketError};
use crate::protocol::ParamError;
use crate::protocol::stream::{Channel, ChannelKind, Payload, StreamPoint, StreamSeries, duration};

/// Frequency of a channel that names none.
const USUAL_FREQUENCY: i64 = SECOND;
/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamEvent {
    /// Unix nanoseconds at which it is known; the order of the stream.
    pub at: i64,
    /// What is told.
    pub point: StreamPoint,
}

/// A channel being told.
#[derive(Debug, Clone)]
pub struct Subscription {
    pub(super) channel: Channel,
    pub(super) kind: ChannelKind,
    /// `None` for a market that the source does not have: it stays silent, as queries of it stay empty.
    pub(super) market: Option<usize>,
    pub(super) series: StreamSeries,
    /// Unix nanoseconds: everything before was told.
    pub(super) from: i64,
    /// Nanoseconds between two tellings.
    pub(super) frequency: i64,
    /// Both sides of the book as last told.
    pub(super) last_book: Option<(Vec<f64>, Vec<f64>)>,
}

impl Subscription {
    /// The channel.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Unix nanoseconds up to which, exclusively, everything was told.
    pub fn told_until(&self) -> i64 {
        self.from
    }

    /// An event of this subscription's market.
    pub(super) fn event(&self, at: i64, side: Option<&'static str>, payload: Payload) -> StreamEvent {
        StreamEvent { at, point: StreamPoint { series: StreamSeries { side, ..self.series.clone() }, payload } }
    }

    /// The multiples of the frequency in the stretch that is to be told.
    pub(super) fn ticks(&self, until: i64) -> impl Iterator<Item = i64> + use<> {
        let first =
            self.from.saturating_add(self.frequency - 1).div_euclid(self.frequency).saturating_mul(self.frequency);
        (first..until).step_by(usize::try_from(self.frequency).unwrap_or(usize::MAX))
    }
}

impl Market {
    /// Begins a channel: told will be what happens after `now` (Unix nanoseconds).
    ///
    /// # Errors
    /// [`MarketError::Invalid`] for a type that there is not, and for what [`Channel::check`] refuses.
    pub fn subscribe(&self, channel: &Channel, now: i64) -> Result<Subscription, MarketError> {
        let Some(kind) = ChannelKind::find(&channel.kind) else {
            return Err(ParamError::new("type", ChannelKind::unknown(&channel.kind)).into());
        };
        channel.check()?;
        let listings = self.source().listings();
        let meant = |row: &Listing| {
            row.exchange == channel.exchange && row.raw_symbol == channel.symbol && channel.takes(&row.category)
        };
        let market = listings.iter().position(meant);
        if let Some(quote) = channel.parameter("quote") {
            check_quote(quote, market.map(|market| &listings[market]))?;
        }
        let frequency = ["updateFrequency", "batchInterval"].into_iter().find_map(|name| channel.parameter(name));
        Ok(Subscription {
            channel: channel.clone(),
            kind,
            market,
            series: series(kind, channel, market.map(|market| &listings[market])),
            from: now.saturating_add(1),
            frequency: frequency.and_then(duration).unwrap_or(USUAL_FREQUENCY),
            last_book: None,
        })
    }

    /// The events of a subscription from where it stands up to `until` (Unix nanoseconds, exclusive), in time order. The
    /// subscription then stands there.
    ///
    /// # Errors
    /// [`MarketError::Internal`] when the data cannot be read.
    pub fn events(&self, subscription: &mut Subscription, until: i64) -> Result<Vec<StreamEvent>, MarketError> {
        let mut events = Vec::new();
        if until <= subscription.from {
            return Ok(events);
        }
        if let Some(market) = subscription.market {
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

fn check_quote(quote: &str, listing: Option<&Listing>) -> Result<(), ParamError> {
    if quote != "USD" {
        return Err(ParamError::new("quote", format!("{quote:?} is not served; give USD, or leave it out for coin")));
    }
    match listing.filter(|listing| !listing.is_usd_like()) {
        Some(foreign) => {
            let problem = format!("the market is quoted in {}, which the stream does not convert", foreign.quote);
            Err(ParamError::new("quote", problem))
        }
        None => Ok(()),
    }
}

fn series(kind: ChannelKind, channel: &Channel, listing: Option<&Listing>) -> StreamSeries {
    let text = |of: fn(&Listing) -> String| listing.map(of).unwrap_or_default();
    StreamSeries {
        kind: kind.spec().name,
        symbol: channel.symbol.clone(),
        exchange: channel.exchange.clone(),
        normalized_symbol: text(Listing::normalized_symbol),
        category: text(|listing| listing.category.clone()),
        side: None,
        coin: text(|listing| listing.coin.clone()),
        inverse: listing.is_some_and(|listing| listing.contract_usd().is_some()),
        block_size: channel.parameter("blockSize").and_then(|size| size.parse().ok()),
    }
}

/// Visits what a source tells by seconds, cut to the nanoseconds `[from, until)`.
pub(super) fn stretch<T>(
    (from, until): (i64, i64),
    time: impl Fn(&T) -> i64,
    tell: impl FnOnce(i64, i64, i64, &mut dyn FnMut(&T)) -> Result<(), crate::market::SourceError>,
    mut visit: impl FnMut(&T),
) -> Result<(), MarketError> {
    let last = until.saturating_sub(1);
    let (first, end) = (from.div_euclid(SECOND), last.div_euclid(SECOND).saturating_add(1));
    tell(first, end, last, &mut |event| {
        if time(event) >= from {
            visit(event);
        }
    })?;
    Ok(())
}

/// All that happened to a market's trades in `[from, until)`.
pub(super) fn each_trade(
    source: &dyn Source,
    market: usize,
    window: (i64, i64),
    visit: impl FnMut(&crate::market::Trade),
) -> Result<(), MarketError> {
    let tell =
        |from, to, now, visit: &mut dyn FnMut(&crate::market::Trade)| source.trades(market, from, to, now, visit);
    stretch(window, |trade| trade.time, tell, visit)
}
