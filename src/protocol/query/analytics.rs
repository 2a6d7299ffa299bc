//! The queries of the analytics endpoints (service.md 4.3).

use super::leaderboard::LeaderboardQuery;
use super::page::{Page, text};
use super::parameters::{Pairs, ParamError, push_text};
use super::spelling::Spelling;
use crate::protocol::analytics::AnalyticsEndpoint;

/// A query of `GET /v1/prediction/analytics/positions` (section 4.3).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PositionsQuery {
    /// `userWallet`
    pub user_wallet: Option<String>,
    /// `assetId`
    pub asset_id: Option<String>,
    /// `conditionId`
    pub condition_id: Option<String>,
    /// `limit` and `offset`
    pub page: Page,
}

/// A query of `GET /v1/prediction/analytics/market-summary` (section 4.3).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MarketSummaryQuery {
    /// `assetId`
    pub asset_id: Option<String>,
    /// `conditionId`
    pub condition_id: Option<String>,
}

/// Query of an analytics endpoint, by endpoint (section 4.3).
#[derive(Debug, Clone, PartialEq)]
pub enum AnalyticsAsk {
    /// `/leaderboard`
    Leaderboard(LeaderboardQuery),
    /// `/trader-profile` of a `userWallet`
    TraderProfile(String),
    /// `/positions`
    Positions(PositionsQuery),
    /// `/market-summary`
    MarketSummary(MarketSummaryQuery),
    /// `/user-categories` of a `userWallet`
    UserCategories(String),
}

/// A query of an analytics endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct AnalyticsQuery {
    /// The endpoint, and its own parameters.
    pub ask: AnalyticsAsk,
    /// Parameters this version does not know, passed through in order.
    pub extra: Vec<(String, String)>,
}

impl AnalyticsQuery {
    /// A query without further parameters.
    pub fn new(ask: AnalyticsAsk) -> Self {
        Self { ask, extra: Vec::new() }
    }

    /// The endpoint that is asked.
    pub fn endpoint(&self) -> AnalyticsEndpoint {
        match self.ask {
            AnalyticsAsk::Leaderboard(_) => AnalyticsEndpoint::Leaderboard,
            AnalyticsAsk::TraderProfile(_) => AnalyticsEndpoint::TraderProfile,
            AnalyticsAsk::Positions(_) => AnalyticsEndpoint::Positions,
            AnalyticsAsk::MarketSummary(_) => AnalyticsEndpoint::MarketSummary,
            AnalyticsAsk::UserCategories(_) => AnalyticsEndpoint::UserCategories,
        }
    }

    /// The query string, percent-encoded, without a leading `?`; parameters in the specification's order.
    pub fn to_query_string(&self) -> String {
        let mut pairs: Pairs<'_> = Vec::new();
        match &self.ask {
            AnalyticsAsk::Leaderboard(query) => query.push(&mut pairs),
            AnalyticsAsk::TraderProfile(wallet) | AnalyticsAsk::UserCategories(wallet) => {
                push_text(&mut pairs, "userWallet", Some(wallet));
            }
            AnalyticsAsk::Positions(query) => {
                push_text(&mut pairs, "userWallet", query.user_wallet.as_deref());
                push_text(&mut pairs, "assetId", query.asset_id.as_deref());
                push_text(&mut pairs, "conditionId", query.condition_id.as_deref());
                query.page.push(&mut pairs);
            }
            AnalyticsAsk::MarketSummary(query) => {
                push_text(&mut pairs, "assetId", query.asset_id.as_deref());
                push_text(&mut pairs, "conditionId", query.condition_id.as_deref());
            }
        }
        let extra = self.extra.iter().map(|(name, value)| (name.as_str(), value.as_str().into()));
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs.into_iter().chain(extra)).finish()
    }

    /// Reads a query string of an endpoint. An empty text counts as not given. Unknown parameters are kept in `extra`; the
    /// caller decides what they mean.
    pub fn parse(endpoint: AnalyticsEndpoint, query: &str) -> Result<Self, ParamError> {
        Self::from_pairs(endpoint, form_urlencoded::parse(query.as_bytes()).into_owned())
    }

    /// Reads decoded parameters, as [`AnalyticsQuery::parse`] does those of a query string.
    ///
    /// # Errors
    /// The parameter that is given twice or has no value of its kind.
    pub fn from_pairs(
        endpoint: AnalyticsEndpoint,
        pairs: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ParamError> {
        let known = endpoint.spec().parameters;
        let mut given: Vec<(String, String)> = Vec::new();
        let mut extra = Vec::new();
        for pair in pairs {
            if !known.contains(&pair.0.as_str()) {
                extra.push(pair);
            } else if given.iter().any(|(name, _)| *name == pair.0) {
                return Err(ParamError::new(pair.0, "given twice; give it once"));
            } else {
                given.push(pair);
            }
        }
        Ok(Self { ask: read(endpoint, given)?, extra })
    }

    /// The rules of section 4.3, except for the farthest offset: pages newer than the specification allow more, so the
    /// client leaves that to the service.
    ///
    /// # Errors
    /// The parameter that is missing or one too many, and how to mend it.
    pub fn check(&self, spelling: Spelling) -> Result<(), ParamError> {
        let [wallet, asset, condition] = ["userWallet", "assetId", "conditionId"].map(|name| spelling.parameter(name));
        let needs_wallet = |given: &String| match given.as_str() {
            "" => Err(ParamError::new("userWallet", "missing; give the address of a wallet (0x…)")),
            _ => Ok(()),
        };
        let both = || {
            let problem =
                format!("{asset} and {condition} were both given; give one of them, {condition} for a whole market");
            Err(ParamError::new("assetId", problem))
        };
        match &self.ask {
            AnalyticsAsk::Leaderboard(query) => query.page.check(),
            AnalyticsAsk::TraderProfile(one) | AnalyticsAsk::UserCategories(one) => needs_wallet(one),
            AnalyticsAsk::Positions(query) => {
                match (&query.user_wallet, &query.asset_id, &query.condition_id) {
                    (_, Some(_), Some(_)) => return both(),
                    (None, None, None) => {
                        let problem =
                            format!("missing; give {wallet}, {asset} or {condition}, or {wallet} with one of them");
                        return Err(ParamError::new("userWallet", problem));
                    }
                    _ => {}
                }
                query.page.check()
            }
            AnalyticsAsk::MarketSummary(query) => match (&query.asset_id, &query.condition_id) {
                (Some(_), Some(_)) => both(),
                (None, None) => {
                    let problem = format!("missing; give {condition} for a whole market or {asset} for one outcome");
                    Err(ParamError::new("conditionId", problem))
                }
                _ => Ok(()),
            },
        }
    }

    /// The farthest offset of section 4.3, which only the service judges (supplement 8).
    ///
    /// # Errors
    /// An offset below 0 or above the maximum.
    pub fn check_offset(&self) -> Result<(), ParamError> {
        match &self.ask {
            AnalyticsAsk::Leaderboard(query) => query.page.check_offset(),
            AnalyticsAsk::Positions(query) => query.page.check_offset(),
            _ => Ok(()),
        }
    }
}

fn read(endpoint: AnalyticsEndpoint, given: Vec<(String, String)>) -> Result<AnalyticsAsk, ParamError> {
    let mut leaderboard = LeaderboardQuery::default();
    let mut positions = PositionsQuery::default();
    for (name, value) in given {
        if endpoint == AnalyticsEndpoint::Leaderboard {
            leaderboard.read(&name, value)?;
            continue;
        }
        match name.as_str() {
            "userWallet" => positions.user_wallet = text(value),
            "assetId" => positions.asset_id = text(value),
            "conditionId" => positions.condition_id = text(value),
            _ => {
                positions.page.read(&name, &value)?;
            }
        }
    }
    let PositionsQuery { user_wallet, asset_id, condition_id, .. } = &positions;
    Ok(match endpoint {
        AnalyticsEndpoint::Leaderboard => AnalyticsAsk::Leaderboard(leaderboard),
        AnalyticsEndpoint::TraderProfile => AnalyticsAsk::TraderProfile(user_wallet.clone().unwrap_or_default()),
        AnalyticsEndpoint::UserCategories => AnalyticsAsk::UserCategories(user_wallet.clone().unwrap_or_default()),
        AnalyticsEndpoint::MarketSummary => AnalyticsAsk::MarketSummary(MarketSummaryQuery {
            asset_id: asset_id.clone(),
            condition_id: condition_id.clone(),
        }),
        AnalyticsEndpoint::Positions => AnalyticsAsk::Positions(positions),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problem(endpoint: AnalyticsEndpoint, query: &str) -> Option<String> {
        let checked = AnalyticsQuery::parse(endpoint, query).and_then(|query| {
            query.check(Spelling::Wire)?;
            query.check_offset()
        });
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn positions_take_the_five_valid_combinations_and_no_other() {
        let ask = |query: &str| problem(AnalyticsEndpoint::Positions, query);
        for sound in
            ["userWallet=w", "userWallet=w&assetId=a", "userWallet=w&conditionId=c", "assetId=a", "conditionId=c"]
        {
            assert_eq!(ask(sound), None, "{sound}");
        }
        for none in ["", "limit=5", "userWallet=&assetId="] {
            assert!(ask(none).unwrap().contains("give userWallet, assetId or conditionId"), "{none}");
        }
        for both in ["assetId=a&conditionId=c", "userWallet=w&assetId=a&conditionId=c"] {
            assert!(ask(both).unwrap().contains("both given"), "{both}");
        }
    }

    #[test]
    fn a_summary_has_exactly_one_target_and_a_profile_a_wallet() {
        let ask = |query: &str| problem(AnalyticsEndpoint::MarketSummary, query);
        assert_eq!((ask("assetId=a"), ask("conditionId=c")), (None, None));
        assert!(ask("").unwrap().contains("parameter conditionId: missing"));
        assert!(ask("assetId=a&conditionId=c").unwrap().contains("both given"));
        for endpoint in [AnalyticsEndpoint::TraderProfile, AnalyticsEndpoint::UserCategories] {
            assert_eq!(problem(endpoint, "userWallet=w"), None);
            assert!(problem(endpoint, "").unwrap().contains("parameter userWallet: missing"));
            assert!(problem(endpoint, "userWallet=v&userWallet=w").unwrap().contains("given twice"));
        }
    }

    #[test]
    fn pages_end_where_section_4_3_says() {
        for endpoint in [AnalyticsEndpoint::Leaderboard, AnalyticsEndpoint::Positions] {
            let ask = |page: &str| problem(endpoint, &format!("{page}&userWallet=w"));
            assert_eq!((ask("limit=100&offset=100"), ask("limit=1&offset=0")), (None, None));
            for (page, part) in [
                ("limit=101", "101 rows asked; ask for 1 to 100"),
                ("limit=0", "0 rows asked"),
                ("offset=101", "101 is not within 0 to 100"),
                ("offset=-1", "-1 is not within"),
                ("limit=many", "\"many\" is not a number of rows"),
            ] {
                let problem = ask(page).unwrap();
                assert!(problem.contains(part), "{page}: {problem}");
            }
        }
        let far = AnalyticsQuery::parse(AnalyticsEndpoint::Leaderboard, "offset=5000").unwrap();
        assert_eq!(far.check(Spelling::Wire), Ok(()), "only the service judges the offset");
    }

    proptest! {
        /// Whatever text an identifier holds, the service reads back what the client wrote.
        #[test]
        fn the_service_reads_what_the_client_writes(
            wallet in prop::option::of("\\PC{1,50}"), asset in prop::option::of("[0-9]{60,78}"),
            condition in prop::option::of("0x[0-9a-f]{64}"), limit in prop::option::of(any::<i64>()),
            offset in prop::option::of(any::<i64>()),
        ) {
            let page = Page { limit, offset };
            let summary = MarketSummaryQuery { asset_id: asset.clone(), condition_id: condition.clone() };
            let wallet_text = wallet.clone().unwrap_or_default();
            let positions = PositionsQuery { user_wallet: wallet, asset_id: asset, condition_id: condition, page };
            for ask in [
                AnalyticsAsk::Positions(positions), AnalyticsAsk::MarketSummary(summary),
                AnalyticsAsk::TraderProfile(wallet_text.clone()), AnalyticsAsk::UserCategories(wallet_text),
            ] {
                let query = AnalyticsQuery { ask, extra: vec![("pnlComponents".into(), "a&b".into())] };
                let read = AnalyticsQuery::parse(query.endpoint(), &query.to_query_string()).unwrap();
                prop_assert_eq!(read, query);
            }
        }
    }
}
