//! Volume profiles and TPO of an ingested store against sums over the dump's rows, in whole numbers of 1e-8 for prices.
//! The dumps are small ones that the test makes and, where they lie beside the repository, published ones.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use marketpoints::columns::{Column, Series};
use marketpoints::market::{Market, ingest};
use marketpoints::protocol::PointsQuery;

const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;
/// One price unit, 1e-8.
const UNITS: f64 = 1e8;

struct Row {
    second: i64,
    price: i64,
    amount: f64,
    buy: bool,
}

/// Bought and sold by bucket and level.
type Levels = BTreeMap<i64, BTreeMap<i64, [f64; 2]>>;

/// `BINANCE/XRPETH` of three days, in dumps as they are published.
fn made(root: &Path) -> PathBuf {
    let folder = root.join("trades/BINANCE/XRPETH");
    fs::create_dir_all(&folder).unwrap();
    let (mut state, mut price) = (7_u64, 151_000_i64);
    for (name, start) in [("2019-10-11", 1_570_752_000), ("2019-10-12", 1_570_838_400), ("2019-10-13", 1_570_924_800)] {
        let mut text = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n".to_owned();
        for number in 0..900 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (move_by, amount) = ((state >> 40) as i64 % 301 - 150, 1 + (state >> 33) % 500);
            price += move_by;
            let time = (start + number * 96) * 1_000_000 + (state >> 44) as i64;
            let side = if state >> 63 == 1 { "buy" } else { "sell" };
            writeln!(text, "binance,XRPETH,{time},{time},{number},{side},0.{price:08},{amount}").unwrap();
        }
        fs::write(folder.join(format!("{name}.csv")), text).unwrap();
    }
    root.to_owned()
}

fn published() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("MARKETPOINTS_SHARED").map_or(beside, PathBuf::from);
    Some(shared.join("data")).filter(|data| data.join("trades/BINANCE/XRPETH").is_dir())
}

/// The trades of the dumps, by time and then by file order.
fn rows(dumps: &Path) -> Vec<Row> {
    let mut files: Vec<_> =
        fs::read_dir(dumps.join("trades/BINANCE/XRPETH")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut rows = Vec::new();
    for path in files {
        let (bytes, mut text) = (fs::read(&path).unwrap(), String::new());
        if path.extension().is_some_and(|ending| ending == "gz") {
            flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
        } else {
            text = String::from_utf8(bytes).unwrap();
        }
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let time: i64 = cells[2].parse().unwrap();
            let price = (cells[6].parse::<f64>().unwrap() * UNITS).round() as i64;
            rows.push((
                time,
                Row { second: time / 1_000_000, price, amount: cells[7].parse().unwrap(), buy: cells[5] == "buy" },
            ));
        }
    }
    rows.sort_by_key(|row| row.0);
    rows.into_iter().map(|row| row.1).collect()
}

/// Sums over the rows; `step` tells the price step, in units, from the first price of a bucket.
fn sums(rows: &[Row], bucket: i64, step: impl Fn(i64) -> i64) -> Levels {
    let (mut levels, mut steps) = (Levels::new(), BTreeMap::new());
    for row in rows {
        let start = row.second - row.second % bucket;
        let step = *steps.entry(start).or_insert_with(|| step(row.price));
        let sides = levels.entry(start).or_default().entry(row.price - row.price % step).or_default();
        sides[usize::from(!row.buy)] += row.amount;
    }
    levels
}

/// The nearest in proportion to price / 2000 of 1, 2, 5, 10, … units.
fn server_step(price: i64) -> i64 {
    let target = price as f64 / 2_000.0;
    let away = |step: &i64| (*step as f64 / target).max(target / *step as f64);
    let steps = (0..8).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_i64.pow(power)));
    steps.min_by(|one, other| away(one).total_cmp(&away(other))).unwrap()
}

fn ask(market: &Market, query: &str) -> Series {
    let now = market.last_event().unwrap();
    let mut series = market.points(&PointsQuery::parse(query).unwrap(), now).unwrap();
    assert_eq!(series.len(), 1);
    series.remove(0)
}

fn same(found: &Levels, expected: &Levels) {
    assert!(!expected.is_empty() && found.keys().eq(expected.keys()));
    for (start, levels) in expected {
        assert!(found[start].keys().eq(levels.keys()), "{start}");
        for (level, sides) in levels {
            for (one, other) in found[start][level].iter().zip(sides) {
                assert!((one - other).abs() <= 1e-9 * other, "{start} {level}: {one} {other}");
            }
        }
    }
}

fn units(price: f64) -> i64 {
    (price * UNITS).round() as i64
}

fn check(dumps: &Path) {
    let store = tempfile::tempdir().unwrap();
    let report = ingest(dumps, store.path(), &|| true).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    let (market, rows) = (Market::open(store.path()).unwrap(), rows(dumps));
    let from = rows[0].second - rows[0].second % DAY;
    let base = format!("exchange=BINANCE&rawSymbol=XRPETH&from={from}&period={}", 4 * DAY);

    let volume = ask(&market, &format!("type=VOLUME_PROFILE_AGG&interval=HOUR&{base}"));
    let Some(Column::List(profiles)) = volume.column("profile") else { panic!("no profile") };
    let mut found = Levels::new();
    for (row, at) in volume.timestamps.iter().enumerate() {
        let triplets = profiles.row(row).chunks(3).map(|one| (units(one[0]), [one[1], one[2]]));
        found.insert(at / 1_000_000_000, triplets.collect());
    }
    same(&found, &sums(&rows, HOUR, server_step));

    let tpo = ask(&market, &format!("type=TPO_AGG&interval=DAY&blockSize=0.000001&{base}"));
    let Some(Column::Rows(levels)) = tpo.column("levels") else { panic!("no levels") };
    let float = |name: &str| match levels.columns.iter().find(|(known, _)| known == name) {
        Some((_, Column::Float(values))) => values,
        other => panic!("{name}: {other:?}"),
    };
    let (prices, bought, sold) = (float("price"), float("buy_volume"), float("sell_volume"));
    let mut found = Levels::new();
    for (row, at) in tpo.timestamps.iter().enumerate() {
        let span = levels.offsets[row] as usize..levels.offsets[row + 1] as usize;
        // A level that price ran through without a trade has visits but no volume.
        let traded = span.filter(|&level| bought[level] + sold[level] > 0.0);
        let sides = traded.map(|level| (units(prices[level]), [bought[level], sold[level]]));
        found.insert(at / 1_000_000_000, sides.collect());
    }
    same(&found, &sums(&rows, DAY, |_| 100));
}

#[test]
fn profiles_are_sums_over_the_dump() {
    let folder = tempfile::tempdir().unwrap();
    check(&made(folder.path()));
}

#[test]
fn profiles_are_sums_over_published_dumps() {
    let folder = tempfile::tempdir().unwrap();
    // Dumps of trades alone: without published ones, the test's own.
    check(&published().unwrap_or_else(|| made(folder.path())));
}
