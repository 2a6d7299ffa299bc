//! The key of archived data: everything that changes the answer, and nothing else (service.md 4.1).
//!
//! The window, the order on the wire and whether a heatmap was sent flat are not part of it: they do not change what is
//! archived. Exchanges are sorted, because series are found by identity and never by position.

use super::checksum::sha256;
use super::path_names::{hive, hive_null};
use crate::clock::UnixSecond;
use crate::protocol::query::{Spelling, argument_of};
use crate::protocol::{BucketGrid, DataType, Interval, PointsQuery, Shape, TypeSpec};

/// Version of the format of files and ledgers. It is part of every key, so that versions never mix.
pub(super) const VERSION: u32 = 1;

/// Identifies one part of an archive.
#[derive(Debug, Clone)]
pub struct ArchiveKey {
    /// Hash of all fields below, used in file names.
    pub(super) name: String,
    /// Which service the data are from.
    pub(super) source: String,
    /// The query without its window.
    pub(super) query: PointsQuery,
    pub(super) interval: &'static Interval,
    pub(super) spec: Option<&'static TypeSpec>,
    /// When a row is closed: with its bucket, or with its session in a market profile.
    grid: BucketGrid,
}

impl ArchiveKey {
    /// The key of a query at a source; `None` for an unknown interval or session, which cannot be archived because it
    /// is not known when its rows are closed.
    pub fn new(source: &str, query: &PointsQuery) -> Option<Self> {
        let interval = Interval::find(query.interval.as_deref()?)?;
        let grid = BucketGrid::of(query.session.as_deref(), interval)?;
        let mut exchanges = query.exchanges.clone();
        exchanges.sort_unstable();
        let mut extra = query.extra.clone();
        extra.sort_by(|left, right| left.0.cmp(&right.0)); // a stable sort: repeated parameters keep their order
        let query = PointsQuery {
            exchanges,
            interval: Some(interval.name.to_owned()),
            from: None,
            period: None,
            sort: None,
            flatten: false,
            extra,
            ..query.clone()
        };
        let spec = DataType::find(&query.data_type).map(DataType::spec);
        let name = name(source, &query);
        Some(Self { name, source: source.to_owned(), query, interval, spec, grid })
    }

    /// The name of the key: equal for the same data, different for any other.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The query without its window.
    pub fn query(&self) -> &PointsQuery {
        &self.query
    }

    /// The interval of its buckets.
    pub fn interval(&self) -> &'static Interval {
        self.interval
    }

    /// The period that one of its rows covers: a bucket, or a session.
    pub fn grid(&self) -> BucketGrid {
        self.grid
    }

    /// End of what is closed at `now`: every bucket, and every session, that starts before it has ended.
    pub fn closed(&self, now: UnixSecond) -> UnixSecond {
        self.grid.floor(now)
    }

    /// Whether rows have lists, which are far larger than plain values.
    pub(super) fn is_bulky(&self) -> bool {
        self.spec.is_none_or(|spec| spec.shape != Shape::Table)
    }

    /// Whether times of rows are unique (supplement 4: token supply may have several rows at one time).
    pub(super) fn is_unique(&self) -> bool {
        self.spec.is_none_or(|spec| spec.unique_times)
    }

    /// The folder of its files within the archive.
    pub(super) fn folder(&self) -> String {
        let query = &self.query;
        let exchange = if query.exchanges.is_empty() { hive_null() } else { hive(&query.exchanges.join("+")) };
        let symbol = query.raw_symbol.as_ref().or(query.coin.as_ref()).map_or_else(hive_null, |name| hive(name));
        format!(
            "type={}/exchange={exchange}/symbol={symbol}/interval={}/key={}",
            hive(&query.data_type),
            hive(self.interval.name),
            self.name
        )
    }

    /// A label for messages: what is named by its place, then every other parameter, each of which makes another key.
    pub fn label(&self) -> String {
        const NAMED: [&str; 6] = ["type", "exchange", "rawSymbol", "coin", "tenor", "interval"];
        let query = &self.query;
        let names = [&query.raw_symbol, &query.coin, &query.tenor];
        let mut words = vec![query.data_type.clone(), query.exchanges.join("+")];
        words.extend(names.into_iter().flatten().cloned());
        words.push(self.interval.name.to_owned());
        let others = query.pairs().into_iter().filter(|(wire, _)| !NAMED.contains(wire));
        words.extend(others.map(|(wire, value)| Spelling::caller().given(&argument_of(wire), value)));
        words.retain(|word| !word.is_empty());
        words.join(" ")
    }
}

/// A hash of the pairs as JSON: its quotes keep values apart.
fn name(source: &str, query: &PointsQuery) -> String {
    let text = serde_json::json!([VERSION, source, query.pairs()]).to_string();
    // The letter keeps readers from parsing a name of digits as a number.
    format!("k{}", &sha256(text.as_bytes())[..32])
}

/// Whether a text has the form of a key's name: `k` and 32 hexadecimal digits.
pub(super) fn is_key(name: &str) -> bool {
    let hash = name.strip_prefix('k');
    hash.is_some_and(|hash| hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::protocol::{GroupBy, SortDirection};

    fn candles() -> PointsQuery {
        PointsQuery {
            data_type: "TRADE_AGG".into(),
            exchanges: vec!["BINANCE".into()],
            raw_symbol: Some("XRPETH".into()),
            interval: Some("HOUR".into()),
            ..PointsQuery::default()
        }
    }

    fn key(query: &PointsQuery) -> ArchiveKey {
        ArchiveKey::new("https://host", query).unwrap()
    }

    #[test]
    fn what_does_not_change_the_answer_is_no_part_of_the_key() {
        let plain = key(&candles());
        let changes: [fn(&mut PointsQuery); 6] = [
            |query| query.from = Some(3_600),
            |query| query.period = Some(7_200),
            |query| query.sort = Some(SortDirection::Descending),
            |query| query.flatten = true,
            |query| query.interval = Some("1h".into()),
            |query| query.exchanges = vec!["BINANCE".into()],
        ];
        for change in changes {
            let mut query = candles();
            change(&mut query);
            assert_eq!(key(&query).name, plain.name, "{query:?}");
        }
        let several = |names: [&str; 2]| PointsQuery { exchanges: names.map(str::to_owned).to_vec(), ..candles() };
        assert_eq!(key(&several(["BINANCE", "BYBIT"])).name, key(&several(["BYBIT", "BINANCE"])).name);
    }

    #[test]
    fn every_parameter_that_changes_the_answer_changes_the_key() {
        let changes: [fn(&mut PointsQuery); 19] = [
            |_| {},
            |query| query.data_type = "TRADE_SIDE_AGNOSTIC_AGG".into(),
            |query| query.exchanges.push("BYBIT".into()),
            |query| query.exchanges.clear(),
            |query| query.raw_symbol = Some("xrpeth".into()),
            |query| (query.raw_symbol, query.coin) = (None, Some("XRPETH".into())),
            |query| query.interval = Some("MINUTE".into()),
            |query| query.gapfill = true,
            |query| query.group_by = Some(GroupBy::Sum),
            |query| query.usd = true,
            |query| query.funding_interval = Some(3_600_000),
            |query| query.block_size = Some(0.5),
            |query| query.max_depth = Some(3_500),
            |query| query.block_minutes = Some(30),
            |query| query.session = Some("TPO_SESSION_DAILY".into()),
            |query| query.tenor = Some("ONE_W".into()),
            |query| query.token_name = Some("XRP".into()),
            |query| query.extra = vec![("new".into(), "1".into())],
            |query| query.extra = vec![("new".into(), "1".into()), ("new".into(), "2".into())],
        ];
        let mut names: Vec<String> = changes
            .iter()
            .map(|change| {
                let mut query = candles();
                change(&mut query);
                key(&query).name
            })
            .collect();
        names.push(ArchiveKey::new("https://other", &candles()).unwrap().name);
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before);
    }

    fn text() -> impl Strategy<Value = String> {
        // Short and from few letters, so that two often collide, with every character that could blur the separators.
        prop::string::string_regex("[aAB\"=,&+%/]{0,2}").unwrap()
    }

    prop_compose! {
        fn queries()(
            data_type in text(),
            exchanges in prop::collection::vec(text(), 0..3),
            coin in prop::option::of(text()),
            raw_symbol in prop::option::of(text()),
            minute in any::<bool>(),
            (gapfill, usd, grouped) in any::<(bool, bool, bool)>(),
            (funding, blocks) in (prop::option::of(0_i64..2), prop::option::of(1_u32..3)),
            (size, depth) in (prop::option::of(1_u8..3), prop::option::of(1_u32..3)),
            (tenor, token_name) in (prop::option::of(text()), prop::option::of(text())),
            extra in prop::collection::vec((text(), text()), 0..3),
        ) -> PointsQuery {
            PointsQuery {
                data_type, exchanges, coin, raw_symbol, gapfill, usd, tenor, token_name,
                interval: Some(if minute { "MINUTE" } else { "HOUR" }.to_owned()),
                group_by: grouped.then_some(GroupBy::Sum),
                funding_interval: funding,
                block_minutes: blocks,
                block_size: size.map(f64::from),
                max_depth: depth,
                extra: extra.into_iter().map(|(name, value)| (format!("x{name}"), value)).collect(),
                ..PointsQuery::default()
            }
        }
    }

    proptest! {
        /// Two requests share a key exactly when they differ at most in the order of exchanges and of parameters of
        /// different names.
        // faults.md row 50
        #[test]
        fn two_different_requests_never_share_a_key(all in prop::collection::vec(queries(), 2..40)) {
            let mut known: HashMap<String, PointsQuery> = HashMap::new();
            for mut query in all {
                let name = key(&query).name;
                query.exchanges.sort();
                query.extra.sort_by_key(|pair| pair.0.clone());
                if let Some(other) = known.insert(name, query.clone()) {
                    prop_assert_eq!(other, query);
                }
            }
        }
    }

    #[test]
    fn sessions_close_with_their_end_and_not_with_an_interval() {
        let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_second();
        let now = at("2026-11-18T13:30:00Z"); // a Wednesday
        let with = |session: Option<&str>| PointsQuery { session: session.map(str::to_owned), ..candles() };
        let closed = |session| key(&with(session)).closed(UnixSecond(now)).0;
        assert_eq!(closed(None), at("2026-11-18T13:00:00Z"));
        assert_eq!(closed(Some("TPO_SESSION_DAILY")), at("2026-11-18T00:00:00Z"));
        assert_eq!(closed(Some("TPO_SESSION_WEEKLY")), at("2026-11-16T00:00:00Z"));
        assert_eq!(closed(Some("TPO_SESSION_MONTHLY")), at("2026-11-01T00:00:00Z"));
        assert_eq!(
            key(&with(Some("TPO_SESSION_MONTHLY"))).grid().end(UnixSecond(at("2026-02-01T00:00:00Z"))),
            UnixSecond(at("2026-03-01T00:00:00Z"))
        );
        assert!(ArchiveKey::new("s", &with(Some("TPO_SESSION_LUNAR"))).is_none(), "nobody knows when that is closed");
    }
}
