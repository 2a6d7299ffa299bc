//! Cuts a window into requests, by the weight formula, the walls of the tier, sessions, and what is archived.

use super::error::ClientError;
use super::request::PointsRequest;
use super::tiers::Terms;
use crate::archive::points::gaps;
use crate::clock::{UnixNanos, Window, utc};
use crate::protocol::body_size::BODY_BOUND;
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::interval::INTERVALS;
use crate::protocol::{BucketGrid, Interval, Points, TypeSpec, Weight};
use crate::weight::{BLOCK, Demand, Slice, slices};

/// The requests of least total weight that fetch a request's points, or, with an archive, those missing in `asked`.
///
/// # Errors
/// The request cannot run within the limits.
pub(super) fn slices_of(
    request: &PointsRequest,
    asked: Option<&[Window]>,
    now: UnixNanos,
    terms: Terms,
) -> Result<Vec<Slice>, ClientError> {
    let window = request.window(now, terms.tier);
    if let Some(asked) = asked {
        return slices_to_fill(request, asked, window, now, terms);
    }
    if let Some(tier) = terms.tier {
        request.check_walls(tier, window, now)?;
    }
    cut(request, window, terms)
}

/// Cuts a window into requests of least total weight.
pub(super) fn cut(request: &PointsRequest, window: Window, terms: Terms) -> Result<Vec<Slice>, ClientError> {
    let spec = request.spec.unwrap_or(&DATA_TYPES[0]);
    let most = most_points(spec, request.query.max_depth, request.points_a_row());
    let least = |window| {
        slices(spec, &request.demand(), window, most, terms.burst)
            .map_err(|problem| ClientError::invalid(problem.to_string()))
    };
    let cut = least(window)?;
    match request.sessions() {
        Some(grid) if cut.len() > 1 => {
            let whole = |session: Window| match least(session)?.as_slice() {
                [one] => Ok(*one),
                _ => Err(too_long_a_session(request, spec, session, most, terms.burst)),
            };
            at_sessions(grid, window, cut[0].window.seconds(), whole)
        }
        _ => Ok(cut),
    }
}

/// Requests of at most `longest` seconds that consist of complete sessions.
fn at_sessions(
    grid: BucketGrid,
    window: Window,
    longest: i64,
    one: impl Fn(Window) -> Result<Slice, ClientError>,
) -> Result<Vec<Slice>, ClientError> {
    let (mut cut, mut from) = (Vec::new(), window.start());
    while from < window.end() {
        let most = from.plus(longest);
        let whole = if most < window.end() { grid.floor(most) } else { window.end() };
        let to = if whole > from { whole } else { grid.end(grid.floor(from)).min(window.end()) };
        cut.push(one(Window::between(from, to))?);
        from = to;
    }
    Ok(cut)
}

/// The error for a session that is too long for one request. A request that begins within a session is refused, or is
/// charged and returns nothing: a session counts by its start (supplement 4). The profile does not depend on the
/// interval.
fn too_long_a_session(
    request: &PointsRequest,
    spec: &TypeSpec,
    session: Window,
    most: Points,
    burst: Option<Weight>,
) -> ClientError {
    let demand = request.demand();
    let fits = |interval: &&Interval| {
        let demand = Demand { interval: interval.seconds, ..demand };
        interval.seconds > request.interval.seconds
            && slices(spec, &demand, session, most, burst).is_ok_and(|cut| cut.len() == 1)
    };
    let remedy = INTERVALS.iter().find(fits).map_or_else(String::new, |interval| {
        format!("; interval=\"{}\" gives the same profiles for less weight", interval.short)
    });
    let points = session.to.saturating_sub(session.from).max(0).div_euclid(request.interval.seconds);
    ClientError::invalid(format!(
        "the session from {} holds {points} buckets of {}, more than one request may have, and no request may begin within a \
         session{remedy}",
        utc(session.start()),
        request.interval.short,
    ))
}

/// Most points of one request: the type's maximum, bounded so that a body with a row for every `points_a_row` points stays
/// within its limit.
fn most_points(spec: &TypeSpec, max_depth: Option<u32>, points_a_row: Points) -> Points {
    let rows = BODY_BOUND / spec.bucket_bytes(max_depth).max(1);
    points_a_row.saturating_mul(rows).max(BLOCK).min(spec.max_points)
}

/// The requests that fetch the missing parts of a window, in order. Neighbouring gaps share a request where that weighs
/// less. The walls of the tier apply to what is requested, not to what is archived.
pub(super) fn slices_to_fill(
    request: &PointsRequest,
    asked: &[Window],
    window: Window,
    now: UnixNanos,
    terms: Terms,
) -> Result<Vec<Slice>, ClientError> {
    let weigh = |window: Window| {
        cut(request, window, terms).map(|slices| slices.iter().map(|slice| slice.weight).sum::<Weight>())
    };
    let mut wanted: Vec<(Window, Weight)> = Vec::new();
    for gap in gaps(asked, window) {
        if let Some(tier) = terms.tier {
            request.check_walls(tier, gap, now)?;
        }
        let alone = weigh(gap)?;
        if let Some((last, weight)) = wanted.last_mut() {
            let both = Window { from: last.from, to: gap.to };
            let together = weigh(both)?;
            if together < *weight + alone {
                (*last, *weight) = (both, together);
                continue;
            }
        }
        wanted.push((gap, alone));
    }
    let slices = wanted.into_iter().map(|(window, _)| cut(request, window, terms));
    Ok(slices.collect::<Result<Vec<_>, _>>()?.concat())
}
