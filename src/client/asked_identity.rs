//! Whether an answer is of what was asked for. An identity may lack any field (supplement 2), but what it says must not
//! contradict the query: another symbol would be archived in the place of the one that was asked for, and a longer interval
//! would pass a bucket that is not closed for one that is.

use super::error::{ClientError, ErrorKind};
use crate::columns::Series;
use crate::protocol::suggest::letters;
use crate::protocol::{Interval, PointsQuery, SeriesId};

/// Refuses an answer with a series of something else than the query asks for.
///
/// # Errors
/// [`ErrorKind::Decode`], which names what is sent and what was asked for.
pub(super) fn check_identities(answer: &[Series], query: &PointsQuery) -> Result<(), ClientError> {
    match answer.iter().find_map(|series| contradiction(&series.id, query)) {
        None => Ok(()),
        Some((field, sent, asked)) => Err(ClientError::new(
            ErrorKind::Decode,
            format!("the answer is of another series than was asked for: its {field} is {sent:?}, not {asked}"),
        )),
    }
}

/// The field of an identity that contradicts the query, what it says, and what was asked for.
fn contradiction<'a>(id: &'a SeriesId, query: &PointsQuery) -> Option<(&'static str, &'a str, String)> {
    let one_of = |field, sent: Option<&'a str>, asked: &[String]| {
        let sent = sent.filter(|sent| !asked.is_empty() && !asked.iter().any(|one| same_name(one, sent)))?;
        Some((field, sent, asked.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join(", ")))
    };
    let same = |field, sent: &'a Option<String>, asked: &Option<String>| {
        one_of(field, sent.as_deref(), asked.as_ref().map(std::slice::from_ref).unwrap_or_default())
    };
    // Names of intervals are compared as lengths; a name that the table lacks tells nothing.
    let length = |name: &Option<String>| name.as_deref().and_then(Interval::find).map(|interval| interval.seconds);
    let interval = match (length(&id.interval), length(&query.interval)) {
        (Some(sent), Some(asked)) if sent != asked => same("interval", &id.interval, &query.interval),
        _ => None,
    };
    // A sum may name what it is made of as it likes.
    let of_market = || {
        one_of("exchange", id.exchange.as_deref(), &query.exchanges)
            .or_else(|| same("rawSymbol", &id.raw_symbol, &query.raw_symbol))
            .or_else(|| same("normalizedSymbol", &id.normalized_symbol, &query.normalized_symbol))
            .or_else(|| same("coin", &id.coin, &query.coin))
    };
    one_of("type", id.data_type.as_deref(), std::slice::from_ref(&query.data_type))
        .or(interval)
        .or_else(|| if query.is_aggregated() { None } else { of_market() })
        .or_else(|| same("tenor", &id.tenor, &query.tenor))
}

/// Whether two names have the same letters and digits: case and separators are a matter of spelling. Names without any are
/// compared as they are.
fn same_name(one: &str, other: &str) -> bool {
    one == other || (letters(one) == letters(other) && !letters(one).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{GroupBy, Shape};

    fn asked() -> PointsQuery {
        PointsQuery { coin: None, ..PointsQuery::of_market("TRADE_AGG", "BINANCE_FUTURES", "BTCUSDT", "MINUTE") }
    }

    fn answered(change: impl FnOnce(&mut SeriesId), query: &PointsQuery) -> Result<(), String> {
        let mut id = SeriesId {
            data_type: Some("TRADE_AGG".into()),
            exchange: Some("BINANCE_FUTURES".into()),
            raw_symbol: Some("BTCUSDT".into()),
            interval: Some("MINUTE".into()),
            coin: Some("BTC".into()),
            side: Some("BUY".into()),
            ..SeriesId::default()
        };
        change(&mut id);
        check_identities(&[Series::empty(id, Shape::Table)], query).map_err(|error| error.message)
    }

    #[test]
    fn what_an_identity_says_must_not_contradict_the_query() {
        type Change = fn(&mut SeriesId);
        let others: [(&str, Change); 5] = [
            ("type is \"TRADE_SIDE_AGNOSTIC_AGG\", not \"TRADE_AGG\"", |id| {
                id.data_type = Some("TRADE_SIDE_AGNOSTIC_AGG".into());
            }),
            ("interval is \"HOUR\", not \"MINUTE\"", |id| id.interval = Some("HOUR".into())),
            ("exchange is \"BYBIT\", not \"BINANCE_FUTURES\"", |id| id.exchange = Some("BYBIT".into())),
            ("rawSymbol is \"ETHUSDT\", not \"BTCUSDT\"", |id| id.raw_symbol = Some("ETHUSDT".into())),
            ("interval is \"DAY\", not \"MINUTE\"", |id| {
                *id = SeriesId { interval: Some("DAY".into()), ..SeriesId::default() }
            }),
        ];
        for (words, change) in others {
            let message = answered(change, &asked()).unwrap_err();
            assert!(message.ends_with(words), "{message}");
        }
        let coin = PointsQuery { raw_symbol: None, coin: Some("ETH".into()), ..asked() };
        assert!(answered(|_| (), &coin).unwrap_err().ends_with("coin is \"BTC\", not \"ETH\""));
    }

    #[test]
    fn what_it_does_not_say_and_what_is_no_name_of_the_table_is_no_contradiction() {
        assert_eq!(answered(|_| (), &asked()), Ok(()));
        assert_eq!(answered(|id| *id = SeriesId::default(), &asked()), Ok(()));
        assert_eq!(answered(|id| id.interval = Some("1m".into()), &asked()), Ok(()));
        assert_eq!(answered(|id| id.interval = Some("NEW".into()), &asked()), Ok(()));
        assert_eq!(answered(|id| id.raw_symbol = Some("btc-usdt".into()), &asked()), Ok(()));
        // One exchange of several, any market of a coin, and a sum, whatever it is called.
        let several = PointsQuery { exchanges: vec!["BYBIT".into(), "BINANCE_FUTURES".into()], ..asked() };
        assert_eq!(answered(|_| (), &several), Ok(()));
        let coin = PointsQuery { raw_symbol: None, coin: Some("BTC".into()), exchanges: Vec::new(), ..asked() };
        assert_eq!(answered(|id| id.raw_symbol = Some("BTCUSD_PERP".into()), &coin), Ok(()));
        let sum = PointsQuery { group_by: Some(GroupBy::Sum), ..several };
        assert_eq!(answered(|id| id.exchange = Some("ALL".into()), &sum), Ok(()));
    }
}
