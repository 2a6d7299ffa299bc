//! Whether a request's block size fits the recommended one (supplement 9).

use crate::client::error::ClientError;
use crate::client::list_cache::{ListLookup, ListQuery};
use crate::client::listed::Listed;
use crate::protocol::query::Spelling;
use crate::protocol::{DiscoveryList, Filters, PointsQuery, check_block_size, has_block_size};

/// A block size to check.
pub(super) struct BlockSizeLookup {
    query: ListQuery,
    size: f64,
    /// Whether several markets are summed. A service may leave some of them out of the sum, so their common
    /// recommendation is no rule where they differ.
    summed: bool,
}

impl BlockSizeLookup {
    /// From a query; `None` without a block size, and in USD, where the recommendation (in the market's quote) does not
    /// apply.
    pub(super) fn of(query: &PointsQuery, usd: bool) -> Option<Self> {
        let size = query.block_size.filter(|_| has_block_size(&query.data_type) && !usd)?;
        let mut filters = Filters {
            types: vec![query.data_type.clone()],
            exchanges: query.exchanges.clone(),
            coins: query.coin.iter().cloned().collect(),
            raw_symbols: query.raw_symbol.iter().cloned().collect(),
            normalized_symbols: query.normalized_symbol.iter().cloned().collect(),
            ..Filters::default()
        };
        filters.exchanges.sort_unstable();
        Some(Self {
            query: ListQuery { list: DiscoveryList::BlockSizes, filters },
            size,
            summed: query.is_aggregated(),
        })
    }
}

impl ListLookup<f64> for BlockSizeLookup {
    fn query(&self) -> &ListQuery {
        &self.query
    }

    fn evaluate(&self, list: &[f64]) -> Result<Listed, ClientError> {
        let positive = list.iter().filter(|size| **size > 0.0).count();
        if positive == 0 || (self.summed && positive > 1) {
            return Ok(Listed::Unknown);
        }
        match check_block_size(self.size, list.iter().copied()) {
            Ok(()) => Ok(Listed::Yes),
            Err(misfit) => Err(ClientError::invalid(format!(
                "{}; {} asks all the same",
                Spelling::caller().given("block_size", misfit),
                Spelling::caller().switch("any_block_size", true)
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(change: impl FnOnce(&mut PointsQuery)) -> PointsQuery {
        let mut query = PointsQuery {
            data_type: "BLOCK_BOOK_SNAPSHOT_AGG".into(),
            exchanges: vec!["BYBIT".into(), "BINANCE".into()],
            coin: Some("BTC".into()),
            block_size: Some(3.0),
            ..PointsQuery::default()
        };
        change(&mut query);
        query
    }

    #[test]
    fn only_what_a_recommendation_is_for_is_asked() {
        let asked = BlockSizeLookup::of(&query(|_| ()), false).unwrap();
        assert_eq!(
            asked.query.filters.to_query_string(),
            "type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BINANCE&exchange=BYBIT&coin=BTC"
        );
        let none: [fn(&mut PointsQuery); 2] =
            [|query| query.block_size = None, |query| query.data_type = "TRADE_AGG".into()];
        assert!(none.into_iter().all(|change| BlockSizeLookup::of(&query(change), false).is_none()));
        assert!(BlockSizeLookup::of(&query(|_| ()), true).is_none());
    }

    #[test]
    fn a_size_is_refused_with_the_nearest_only_where_the_recommendation_is_sure() {
        use crate::protocol::GroupBy;
        let evaluate = |list: &[f64], summed: bool| {
            let query = query(|query| query.group_by = summed.then_some(GroupBy::Sum));
            BlockSizeLookup::of(&query, false).unwrap().evaluate(list).map_err(|error| error.message)
        };
        assert_eq!(evaluate(&[3.0], false), Ok(Listed::Yes));
        assert_eq!((evaluate(&[0.0], false), evaluate(&[], false)), (Ok(Listed::Unknown), Ok(Listed::Unknown)));
        let refused = evaluate(&[2.0], true).unwrap_err();
        assert!(
            refused.starts_with("block_size=3 is no multiple of 2, ") && refused.contains("fits is 4; any_block_size=")
        );
        assert!(evaluate(&[1.0, 2.0], false).is_err());
        assert_eq!(evaluate(&[1.0, 2.0], true), Ok(Listed::Unknown));
    }
}
