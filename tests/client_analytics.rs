//! Analytics through the client: pages, weights, and what is never sent.

mod support;

use marketpoints::client::{Client, Config, ErrorKind, Registry};
use marketpoints::protocol::query::{LeaderboardQuery, Page, PositionsQuery};
use marketpoints::protocol::{AnalyticsAsk, AnalyticsQuery, Tier};
use support::{Scripted, Step, answer};

fn client(server: &Scripted, tier: Tier) -> Client {
    let config = Config { tier: Some(tier), retries: 0, ..Config::new("key", server.url.as_str()) };
    Client::new(&config, &Registry::default()).unwrap()
}

/// A page of positions whose asset ids are the numbers given.
fn positions(rows: std::ops::Range<usize>) -> Step {
    let rows: Vec<String> = rows.map(|row| format!(r#"{{"wallet_address":"w","asset_id":"{row}"}}"#)).collect();
    Step::Send(answer("200 OK", "", &format!(r#"{{"userPositions":[{}]}}"#, rows.join(","))))
}

fn of_wallet() -> AnalyticsQuery {
    AnalyticsQuery::new(AnalyticsAsk::Positions(PositionsQuery {
        user_wallet: Some("w".into()),
        ..PositionsQuery::default()
    }))
}

#[tokio::test]
async fn a_listing_is_paged_to_where_offsets_reach_and_every_page_is_paid() {
    let server = Scripted::start(vec![positions(0..100), positions(99..199), positions(0..100)]);
    let client = client(&server, Tier::Advanced);
    let answer = client.analytics(&of_wallet(), None, None).await.unwrap();
    let ids: Vec<_> = answer.user_positions.iter().map(|row| row.asset_id.clone()).collect();
    assert_eq!(ids, (0..199).map(|row| row.to_string()).collect::<Vec<_>>());
    let path = "GET /v1/prediction/analytics/positions?userWallet=w&limit=100";
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[0].starts_with(&format!("{path} ")) && requests[1].starts_with(&format!("{path}&offset=100 ")));
    assert_eq!(client.budget().unwrap().used, 80);
}

#[tokio::test]
async fn what_breaks_a_rule_or_is_above_the_tier_is_not_sent() {
    let server = Scripted::start(vec![positions(0..1)]);
    let rich = client(&server, Tier::Advanced);
    let nothing = AnalyticsQuery::new(AnalyticsAsk::Positions(PositionsQuery::default()));
    assert_eq!(rich.analytics(&nothing, None, None).await.unwrap_err().kind, ErrorKind::InvalidRequest);
    let error = rich.analytics(&of_wallet(), Some(201), None).await.unwrap_err();
    assert!(error.message.contains("paging reaches 200 rows"), "{error}");
    let later = LeaderboardQuery { page: Page { limit: None, offset: Some(60) }, ..LeaderboardQuery::default() };
    let later = AnalyticsQuery::new(AnalyticsAsk::Leaderboard(later));
    let error = rich.analytics(&later, Some(141), None).await.unwrap_err();
    assert!(error.message.contains("paging reaches 140 rows from offset 60"), "{error}");
    for tier in [Tier::Free, Tier::Standard] {
        assert_eq!(
            client(&server, tier).analytics(&of_wallet(), Some(1), None).await.unwrap_err().kind,
            ErrorKind::Tier
        );
    }
    assert_eq!(server.requests().len(), 0);
}
