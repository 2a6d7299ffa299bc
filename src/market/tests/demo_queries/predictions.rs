//! The prediction venue on `/v1/points`: what is told of a market agrees with its listing and with the analytics.

use super::*;
use crate::clock::UnixNanos;
use crate::columns::Column;
use crate::protocol::{
    AnalyticsEndpoint, AnalyticsQuery, MarketListing as Entry, MarketsQuery, PredictionMarket, SeriesId,
};

/// 2025-07-15 12:34:59.999999999: the end of a minute, so that a minute's close is the price of now.
const THEN: i64 = 1_752_582_900 * SECOND - 1;
const NEW_YEAR: i64 = 1_767_225_600;

fn listed(demo: &Market, now: i64) -> Vec<Entry> {
    demo.markets(&MarketsQuery::parse("exchange=PREDICTION_VENUE&pageSize=100").unwrap(), UnixNanos(now))
        .unwrap()
        .symbols
}

fn points(demo: &Market, query: &str, now: i64) -> Vec<Series> {
    demo.points(&PointsQuery::parse(query).unwrap(), UnixNanos(now)).unwrap()
}

fn of(market: &PredictionMarket, query: &str) -> String {
    format!("exchange=PREDICTION_VENUE&rawSymbol={}&{query}", market.condition_id)
}

fn sum(series: &[Series], name: &str) -> f64 {
    series.iter().flat_map(|one| one.floats(name).unwrap()).sum()
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * right.abs().max(1e-9)
}

#[test]
fn candles_agree_with_the_listing() {
    let demo = &*DEMO;
    let day = format!("from={}&period={DAY}", (THEN + 1) / SECOND - DAY);
    let entries = listed(demo, THEN);
    assert!(entries.len() >= 10);
    for entry in &entries {
        let market = &entry.prediction_markets[0];
        let candles = format!("type=TRADE_SIDE_AGNOSTIC_AGG&interval=MINUTE&gapfill=true&{}", of(market, &day));
        let answer = points(demo, &candles, THEN);
        if market.available_to.unwrap().s <= (THEN + 1) / SECOND - DAY {
            assert!(answer.iter().all(|one| one.floats("volume").unwrap().iter().all(|volume| *volume == 0.0)));
            assert_eq!(market.buy_volume_24h + market.sell_volume_24h, 0.0);
            continue;
        }
        let (id, closes) = (&answer[0].id, answer[0].floats("close").unwrap());
        let expected = SeriesId {
            data_type: Some("TRADE_SIDE_AGNOSTIC_AGG".into()),
            raw_symbol: Some(market.condition_id.clone()),
            exchange: Some("PREDICTION_VENUE".into()),
            interval: Some("MINUTE".into()),
            ..SeriesId::default()
        };
        let known = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        assert_eq!(
            SeriesId {
                coin: known(&id.coin),
                category: known(&id.category),
                normalized_symbol: known(&id.normalized_symbol),
                ..(**id).clone()
            },
            expected
        );
        // Prices are probabilities on the ticks; the last is the listing's, and so are those of each hour before.
        for name in ["open", "high", "low", "close"] {
            assert!(
                answer[0]
                    .floats(name)
                    .unwrap()
                    .iter()
                    .all(|price| (0.001..=0.999).contains(price) && format!("{price:.3}").parse() == Ok(*price))
            );
        }
        assert_eq!((market.last_price, entry.last_price), (closes[closes.len() - 1], market.last_price));
        for (back, price) in market.prices.iter().rev().enumerate() {
            assert_eq!(Some(price), closes.iter().rev().nth(60 * back), "{back} hours ago");
        }
        let sides = points(demo, &format!("type=TRADE_AGG&interval=HOUR&{}", of(market, &day)), THEN);
        let volume = points(demo, &format!("type=TRADE_AGG&interval=MINUTE&{}", of(market, &day)), THEN);
        assert_eq!((volume.len(), sides.len()), (2, 2));
        let side = |name: &str| {
            volume
                .iter()
                .find(|one| one.id.side.as_deref() == Some(name))
                .unwrap()
                .floats("volume")
                .unwrap()
                .iter()
                .sum::<f64>()
        };
        assert!(near(market.buy_volume_24h, side("BUY")) && near(market.sell_volume_24h, side("SELL")));
        assert!(near(entry.volume_24h, sum(&answer, "volume")) && entry.volume_24h > 0.0);
        let usd = points(demo, &format!("{candles}&transform.normalize.quote=USD"), THEN);
        assert!(near(entry.volume_24h_usd, sum(&usd, "volume")));
        let life = format!(
            "type=TRADE_SIDE_AGNOSTIC_AGG&interval=DAY&from={}&period={}",
            market.available_since.unwrap().s,
            400 * DAY
        );
        assert!(
            near(market.total_volume, sum(&points(demo, &of(market, &life), THEN), "volume")),
            "{}",
            market.question
        );
    }
}

#[test]
fn books_profiles_and_open_interest_agree_with_the_candles() {
    let demo = &*DEMO;
    let now = (THEN + 1) / SECOND;
    let entries = listed(demo, THEN);
    let open: Vec<&Entry> =
        entries.iter().filter(|row| row.prediction_markets[0].available_to.unwrap().s > now).collect();
    for entry in open.iter().take(5) {
        let market = &entry.prediction_markets[0];
        let ask = |query: &str| points(demo, &of(market, query), THEN);
        let minutes = format!("interval=MINUTE&from={}&period=600", now - 600);
        let closes = ask(&format!("type=TRADE_SIDE_AGNOSTIC_AGG&gapfill=true&{minutes}"));
        let books = ask(&format!("type=BLOCK_BOOK_SNAPSHOT_AGG&blockSize=0.001&{minutes}"));
        let (book, closes) = (&books[0], closes[0].floats("close").unwrap());
        assert_eq!(book.timestamps.len(), 10);
        let (mut resting, (levels, _)) = (0.0, book.levels().unwrap());
        for (snapshot, close) in closes.iter().enumerate() {
            let pairs: Vec<&[f64]> = levels.row(snapshot).chunks(2).collect();
            assert!(pairs.len() > 900 && pairs.iter().all(|pair| pair[0] > 0.0 && pair[0] < 1.0 && pair[1] > 0.0));
            // Levels ascend; the close lies in the gap between the sides, itself without an order.
            assert!(pairs.windows(2).all(|two| two[0][0] < two[1][0]));
            assert!(pairs.iter().all(|pair| (pair[0] - close).abs() > 0.0005));
            assert!(pairs[0][0] < *close && *close < pairs[pairs.len() - 1][0]);
            resting = pairs.iter().map(|pair| pair[0] * pair[1]).sum();
        }
        assert!(near(entry.liquidity, resting));

        let day = format!("interval=DAY&from={}&period={DAY}", now / DAY * DAY);
        let candle = &ask(&format!("type=TRADE_SIDE_AGNOSTIC_AGG&{day}"))[0];
        let at = |name: &str| candle.floats(name).unwrap()[0];
        let profile = &ask(&format!("type=VOLUME_PROFILE_AGG&{day}"))[0];
        let Some(Column::List(rows)) = profile.column("profile") else { panic!("{profile:?}") };
        let rows: Vec<&[f64]> = rows.row(0).chunks(3).collect();
        assert!(near(rows.iter().map(|row| row[1] + row[2]).sum(), at("volume")));
        assert!(near(rows[0][0], at("low")) && near(rows[rows.len() - 1][0], at("high")));
        let tpo = &ask(&format!("type=TPO_AGG&tpoSession=TPO_SESSION_DAILY&{day}"))[0];
        assert!(near(tpo.floats("total_volume").unwrap()[0], at("volume")));
        assert_eq!(
            (tpo.floats("profile_high").unwrap()[0], tpo.floats("profile_low").unwrap()[0]),
            (at("high"), at("low"))
        );
        let interest = ask(&format!("type=OPEN_INTEREST_AGG&interval=HOUR&from={}&period={}", now - 2 * DAY, 2 * DAY));
        let closes = interest[0].floats("close").unwrap();
        assert!(near(closes[closes.len() - 1], market.open_interest));
        for none in ["FUNDING_RATE_AGG", "LIQUIDATION_AGG"] {
            assert!(ask(&format!("type={none}&{day}")).is_empty(), "{none}");
        }
    }
}

#[test]
fn resolved_markets_end_near_what_came_true_and_trade_no_more() {
    let demo = &*DEMO;
    let (now, mut resolved) = (NEW_YEAR * SECOND, 0);
    for entry in listed(demo, now).iter().filter(|row| row.prediction_markets[0].closed) {
        let market = &entry.prediction_markets[0];
        let ends = market.available_to.unwrap().s;
        let last = format!("interval=DAY&from={}&period={}", ends - DAY, 400 * DAY);
        let days = points(demo, &format!("type=TRADE_SIDE_AGNOSTIC_AGG&{}", of(market, &last)), now);
        assert_eq!(days[0].timestamps, [(ends - DAY) * SECOND], "{}: one day, the last", market.question);
        assert_eq!(days[0].floats("close").unwrap(), [market.last_price]);
        let books = format!("type=BLOCK_BOOK_SNAPSHOT_AGG&blockSize=0.001&interval=HOUR&from={ends}&period=36000");
        assert!(points(demo, &of(market, &books), now).is_empty());
        let query = AnalyticsQuery::parse(
            AnalyticsEndpoint::Positions,
            &format!("conditionId={}&limit=100", market.condition_id),
        );
        let positions = demo.analytics(&query.unwrap(), UnixNanos(now)).unwrap().user_positions;
        let winner = &positions.iter().find(|row| row.resolved_price == 1.0).unwrap().outcome_name;
        let first_won = *winner == market.outcomes[0];
        assert!(if first_won { market.last_price > 0.995 } else { market.last_price < 0.005 }, "{}", market.question);
        resolved += 1;
    }
    assert!(resolved >= 10, "{resolved}");
}

#[test]
fn wallets_bought_at_prices_that_the_tape_shows() {
    let demo = &*DEMO;
    let entries = listed(demo, NEW_YEAR * SECOND);
    let market = &entries.iter().find(|row| row.title.contains("$150k in 2025")).unwrap().prediction_markets[0];
    let query =
        AnalyticsQuery::parse(AnalyticsEndpoint::Positions, &format!("conditionId={}&limit=60", market.condition_id));
    let positions = demo.analytics(&query.unwrap(), UnixNanos(NEW_YEAR * SECOND)).unwrap().user_positions;
    let mut looked = 0;
    for row in positions.iter().filter(|row| row.buy_count > 0 && row.latest_open_ts > 0) {
        let minute = format!("type=TRADE_AGG&interval=MINUTE&from={}&period=60", row.latest_open_ts / 60 * 60);
        let sides = points(demo, &of(market, &minute), NEW_YEAR * SECOND);
        let first = row.outcome_name == market.outcomes[0];
        // Whoever buys the second outcome at p sells the first at 1 - p.
        let price = if first { row.avg_price } else { 1.0 - row.avg_price };
        let (low, high) = (sides[0].floats("low").unwrap()[0], sides[0].floats("high").unwrap()[0]);
        assert!(low - 1e-4 <= price && price <= high + 1e-4, "{low} {price} {high}");
        let side = sides.iter().find(|one| one.id.side.as_deref() == Some(if first { "BUY" } else { "SELL" })).unwrap();
        assert!(side.floats("volume").unwrap()[0] >= (row.unrealized_size + row.realized_size) * (1.0 - 1e-9));
        looked += 1;
    }
    assert!(looked >= 10, "{looked}");
}

#[test]
fn only_a_condition_names_a_market_and_no_coin_holds_it() {
    let demo = &*DEMO;
    let entry = &listed(demo, THEN)[0];
    let market = &entry.prediction_markets[0];
    let window = format!("interval=HOUR&from={}&period=36000", (THEN + 1) / SECOND - 36_000);
    for name in
        [&market.slug, &market.question, &market.condition_id[..65].to_owned(), &market.condition_id.to_uppercase()]
    {
        let query = format!("type=TRADE_AGG&exchange=PREDICTION_VENUE&{window}&rawSymbol=");
        let query = query + &form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>();
        assert!(points(demo, &query, THEN).is_empty(), "{name}");
    }
    let together = |exchanges: &str, coin: &str| {
        let query = format!(
            "type=TRADE_SIDE_AGNOSTIC_AGG&{window}&{exchanges}&coin={coin}&transform.groupBy.type=GROUP_BY_TYPE_SUM"
        );
        demo.points(&PointsQuery::parse(&query).unwrap(), UnixNanos(THEN))
    };
    let alone = together("exchange=BYBIT", "BTC").unwrap();
    assert_eq!(together("exchange=BYBIT&exchange=PREDICTION_VENUE", "BTC").unwrap(), alone);
    assert!(together("exchange=PREDICTION_VENUE", "BTC").unwrap().is_empty());
    assert!(
        matches!(together("exchange=PREDICTION_VENUE", ""), Err(MarketError::Invalid(problem)) if problem.name == "coin")
    );
}

#[test]
fn a_window_is_the_same_alone_and_within_another() {
    let demo = &*DEMO;
    let market = listed(demo, THEN)[3].prediction_markets[0].clone();
    let end = market.available_to.unwrap().s.min((THEN + 1) / SECOND);
    let window =
        |from: i64, period: i64| format!("type=TRADE_SIDE_AGNOSTIC_AGG&interval=MINUTE&from={from}&period={period}");
    let long = &points(demo, &of(&market, &window(end - 2 * DAY, DAY)), THEN)[0];
    let short = &points(&Market::demo(0), &of(&market, &window(end - 3 * DAY / 2, 7_200)), THEN)[0];
    let from = long.timestamps.iter().position(|time| *time == short.timestamps[0]).unwrap();
    let rows = from..from + short.len();
    assert_eq!(long.timestamps[rows.clone()], short.timestamps);
    for name in ["open", "high", "low", "close", "volume"] {
        assert_eq!(long.floats(name).unwrap()[rows.clone()], *short.floats(name).unwrap(), "{name}");
    }
    assert!(
        points(&Market::demo(1), &of(&market, &window(end - DAY, 7_200)), THEN).is_empty(),
        "another seed, other conditions"
    );
}
