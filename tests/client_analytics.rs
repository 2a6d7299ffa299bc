//! Analytics through the client: pages, weights, and what is never sent.

use crate::support::scripted::{Scripted, Step, answer};
use marketpoints::client::{Client, Config, ErrorKind, Registry};
use marketpoints::protocol::query::{LeaderboardQuery, Page, PositionsQuery};
use marketpoints::protocol::{AnalyticsAsk, AnalyticsQuery, Points, Tier, Weight};

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
    assert_eq!(client.budget().unwrap().used, Weight(80));
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

#[tokio::test]
async fn an_offset_before_the_wall_is_paged_up_to_it_and_then_from_it() {
    let server = Scripted::start(vec![positions(50..100), positions(100..200)]);
    let client = client(&server, Tier::Advanced);
    let page = Page { limit: None, offset: Some(50) };
    let query = PositionsQuery { user_wallet: Some("w".into()), page, ..PositionsQuery::default() };
    let query = AnalyticsQuery::new(AnalyticsAsk::Positions(query));
    let plan = client.plan_analytics(&query, None, None).unwrap();
    assert_eq!((plan.weight(), plan.points()), (Weight(80), Points(150)));
    let answer = client.analytics(&query, None, None).await.unwrap();
    let ids: Vec<_> = answer.user_positions.iter().map(|row| row.asset_id.clone()).collect();
    assert_eq!(ids, (50..200).map(|row| row.to_string()).collect::<Vec<_>>());
    let path = "GET /v1/prediction/analytics/positions?userWallet=w";
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[0].starts_with(&format!("{path}&limit=50&offset=50 ")), "{}", requests[0]);
    assert!(requests[1].starts_with(&format!("{path}&limit=100&offset=100 ")), "{}", requests[1]);
}

#[tokio::test]
async fn a_page_that_fails_does_not_lose_the_ones_before_it() {
    let refusal = r#"{"error":"INVALID_PARAMS","message":"offset is not within 0 to 100"}"#;
    let refused = Step::Send(answer("400 Bad Request", "", refusal));
    let server = Scripted::start(vec![positions(0..100), refused]);
    let client = client(&server, Tier::Advanced);
    let error = client.analytics(&of_wallet(), None, None).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::Partial, Some(400)));
    assert!(error.message.contains("100 rows before it are in results"), "{error}");
    let partial = error.partial.unwrap();
    assert_eq!(partial.rows.unwrap().user_positions.len(), 100);
    assert_eq!((partial.failures.len(), partial.failures[0].kind), (1, ErrorKind::InvalidRequest));
    // Nothing was paid where the first page fails.
    let error = client.analytics(&of_wallet(), None, None).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidRequest);
}
