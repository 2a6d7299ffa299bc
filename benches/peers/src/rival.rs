//! sonic-rs into typed structs, and from there into columns: the fastest way that a Rust user has without this crate.

use std::hint::black_box;

use serde::Deserialize;

#[derive(Deserialize)]
struct Body<P> {
    series: Vec<Series<P>>,
}

#[derive(Deserialize)]
struct Series<P> {
    #[serde(default = "Vec::new")]
    points: Vec<Wrapped<P>>,
    #[serde(default)]
    flat_points: Vec<f64>,
}

#[derive(Deserialize)]
struct Wrapped<P> {
    #[serde(rename = "Point")]
    point: P,
}

#[derive(Deserialize, Default)]
struct Time {
    s: i64,
    #[serde(default)]
    ns: i64,
}

impl Time {
    fn nanoseconds(&self) -> i64 {
        self.s * 1_000_000_000 + self.ns
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Candle {
    open: f64,
    high: f64,
    low: f64,
    close: f64,
    volume: f64,
    timestamp: Time,
    first_timestamp: Time,
    last_timestamp: Time,
}

#[derive(Deserialize)]
struct Book {
    #[serde(default)]
    bids: Vec<f64>,
    #[serde(default)]
    asks: Vec<f64>,
    timestamp: Time,
}

#[derive(Deserialize)]
struct Tpo {
    #[serde(rename = "TpoAggregation")]
    profile: Profile,
}

#[derive(Deserialize)]
struct Profile {
    timestamp: Time,
    levels: Vec<Level>,
}

#[derive(Deserialize)]
struct Level {
    price: f64,
    #[serde(default)]
    block_ids: Vec<i32>,
    #[serde(default)]
    buy_volume: f64,
    #[serde(default)]
    sell_volume: f64,
}

/// The rival for the body in a file of that name.
pub fn of(path: &str) -> fn(&[u8]) {
    match path.rsplit('/').next() {
        Some(name) if name.starts_with("flat") => flat,
        Some(name) if name.starts_with("nested") => nested,
        Some(name) if name.starts_with("tpo") => tpo,
        _ => candles,
    }
}

fn read<'a, P: Deserialize<'a>>(body: &'a [u8]) -> Series<P> {
    let mut body: Body<P> = sonic_rs::from_slice(body).expect("a whole body");
    body.series.remove(0)
}

fn candles(body: &[u8]) {
    let points = read::<Candle>(body).points;
    let doubles = |field: fn(&Candle) -> f64| points.iter().map(|one| field(&one.point)).collect::<Vec<_>>();
    let times = |field: fn(&Candle) -> &Time| {
        points.iter().map(|one| field(&one.point).nanoseconds()).collect::<Vec<_>>()
    };
    black_box([doubles(|c| c.open), doubles(|c| c.high), doubles(|c| c.low), doubles(|c| c.close), doubles(|c| c.volume)]);
    black_box([times(|c| &c.timestamp), times(|c| &c.first_timestamp), times(|c| &c.last_timestamp)]);
}

fn flat(body: &[u8]) {
    let values = read::<Book>(body).flat_points;
    let (mut levels, mut times) = (Vec::with_capacity(values.len()), Vec::new());
    let mut index = 0;
    while index < values.len() {
        let end = index + 2 + 2 * values[index] as usize;
        times.push(values[index + 1] as i64 * 1_000);
        levels.extend_from_slice(&values[index + 2..end]);
        index = end;
    }
    black_box((levels, times));
}

fn nested(body: &[u8]) {
    let points = read::<Book>(body).points;
    let (mut levels, mut times): (Vec<f64>, Vec<i64>) = (Vec::new(), Vec::new());
    for point in &points {
        times.push(point.point.timestamp.nanoseconds());
        point.point.bids.rchunks_exact(2).for_each(|pair| levels.extend_from_slice(pair));
        levels.extend_from_slice(&point.point.asks);
    }
    black_box((levels, times));
}

fn tpo(body: &[u8]) {
    let points = read::<Tpo>(body).points;
    let (mut levels, mut blocks, mut times): (Vec<[f64; 3]>, Vec<f64>, Vec<i64>) = Default::default();
    for point in &points {
        times.push(point.point.profile.timestamp.nanoseconds());
        for level in &point.point.profile.levels {
            levels.push([level.price, level.buy_volume, level.sell_volume]);
            blocks.extend(level.block_ids.iter().map(|id| f64::from(*id)));
        }
    }
    black_box((levels, blocks, times));
}
