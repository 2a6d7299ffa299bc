//! Joins the answers of a call's requests into the series for the caller.

use super::error::{ClientError, ErrorKind, Partial, in_results};
use super::request::PointsRequest;
use crate::clock::{UnixNanos, Window};
use crate::columns::{NO_TIME, Series, join, times_ascend};
use crate::decode;
use crate::decode::settled;
use crate::protocol::SeriesId;
use crate::protocol::identity::{BUY, SELL};

/// Joins the answers and returns the error of those that failed.
pub(super) fn assemble(
    request: &PointsRequest,
    window: Window,
    answers: Vec<Result<Vec<Series>, ClientError>>,
) -> Result<Vec<Series>, ClientError> {
    let mut failures = Vec::new();
    let mut arrived = Vec::new();
    for answer in answers {
        match answer {
            Ok(series) => arrived.push(series),
            Err(error) => failures.push(error),
        }
    }
    if arrived.is_empty() && !failures.is_empty() {
        return Err(failures.remove(0));
    }
    let unique = request.spec.is_none_or(|spec| spec.unique_times);
    let series = match join(arrived, unique) {
        Ok(series) => series,
        Err(contradiction) => {
            // Paid for: the error carries all of it.
            let message = format!("the answers contradict each other: {}", contradiction.conflict);
            failures.insert(0, ClientError::new(ErrorKind::Decode, message));
            contradiction.series
        }
    };
    let inside = |mut one: Series| {
        keep_window(&mut one, window);
        one
    };
    // The types of unknown fields depend on all rows that are returned.
    let mut series = settled(series.into_iter().map(inside).collect());
    if series.is_empty() {
        series.extend(nothing(request));
    }
    if request.spec.is_some_and(|spec| spec.per_side) {
        add_missing_sides(&mut series);
    }
    if failures.is_empty() {
        return Ok(series);
    }
    let (count, first) = (failures.len(), &failures[0].message);
    let message = match failures[0].kind {
        ErrorKind::Decode if failures[0].request.is_none() => format!("{first}{}", in_results("; every row of them")),
        _ => format!("{count} of the plan's requests failed{}; first: {first}", in_results(", what arrived")),
    };
    let first = failures[0].clone();
    let partial = Some(Box::new(Partial { results: series, failures, ..Partial::default() }));
    Err(ClientError { kind: ErrorKind::Partial, message, partial, ..first })
}

/// The service sends no series of a side on which nothing happened: what a caller finds is not left to the market.
fn add_missing_sides(series: &mut Vec<Series>) {
    let other = |id: &SeriesId| {
        let other = if id.side.as_deref()? == BUY { SELL } else { BUY };
        Some(SeriesId { side: Some(other.to_owned()), ..id.clone() })
    };
    let wanted: Vec<SeriesId> = series.iter().filter_map(|one| other(&one.id)).collect();
    for id in wanted {
        if series.iter().all(|one| *one.id != id) {
            series.push(decode::nothing(id));
        }
    }
}

/// A service may send more than was requested, such as the forming bucket: only bucket starts in the window are kept.
fn keep_window(series: &mut Series, window: Window) {
    let window = window.nanos();
    // Rows without a time are kept: they cannot be known to be outside.
    let wanted = |time: &i64| window.contains(&UnixNanos(*time)) || *time == NO_TIME;
    let times = &series.timestamps;
    let all = if times_ascend(times) {
        times.first().into_iter().chain(times.last()).all(wanted)
    } else {
        times.iter().all(wanted)
    };
    if all {
        return;
    }
    let rows: Vec<usize> = (0..series.len()).filter(|&row| wanted(&series.timestamps[row])).collect();
    series.take(&rows);
}

/// An empty series with the requested identity, so that `series["close"]` is an empty array and not an error. Of a type with
/// sides it is one of both.
fn nothing(request: &PointsRequest) -> Option<Series> {
    let spec = request.spec?;
    let query = &request.query;
    let known = SeriesId {
        data_type: Some(query.data_type.clone()),
        interval: query.interval.clone(),
        side: spec.per_side.then(|| BUY.to_owned()),
        ..SeriesId::default()
    };
    // The series of a sum does not name what was summed when it has points either (supplement 2).
    if query.is_aggregated() {
        return Some(decode::nothing(known));
    }
    let exchange = if query.exchanges.len() == 1 { query.exchanges.first() } else { None };
    Some(decode::nothing(SeriesId {
        exchange: exchange.cloned(),
        raw_symbol: query.raw_symbol.clone(),
        coin: query.coin.clone(),
        tenor: query.tenor.clone(),
        token_name: query.token_name.clone(),
        ..known
    }))
}
