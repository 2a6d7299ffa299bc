//! Events as data frames, computed off the threads that serve connections.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use crate::clock::UnixNanos;
use crate::encode;
use crate::market::{StreamEvent, Subscription};
use crate::protocol::stream::{Frame, StreamPoint};
use crate::service::state::ServiceState;

/// Points of a frame, for small points.
const FRAME_POINTS: usize = 50;
/// Numbers of a frame, for large points; a single point may have more.
const FRAME_NUMBERS: usize = 2_000;

/// An open channel.
pub(super) struct OpenChannel {
    pub(super) subscription: Subscription,
    /// Its permit among the channels of the key.
    pub(super) _place: OwnedSemaphorePermit,
}

/// The frames of a stretch of time.
pub(super) struct ProducedFrames {
    pub(super) active: Vec<OpenChannel>,
    pub(super) frames: Vec<String>,
}

/// The frames of all channels up to `until`, exclusive; `None` when the source fails.
pub(super) async fn produce(
    state: &ServiceState,
    mut active: Vec<OpenChannel>,
    until: UnixNanos,
) -> Option<ProducedFrames> {
    let permit = Arc::clone(&state.computations).acquire_owned().await.ok()?;
    let source = Arc::clone(&state.source);
    let work = move || {
        let _permit = permit;
        let market = source.current().ok()?;
        let mut events: Vec<StreamEvent> = Vec::new();
        for one in &mut active {
            events.extend(market.events(&mut one.subscription, until).ok()?);
        }
        // A stable sort: events of one moment stay in the order of the channels.
        events.sort_by_key(|event| event.at);
        Some(ProducedFrames { active, frames: frames(events)? })
    };
    tokio::task::spawn_blocking(work).await.ok()?
}

fn frames(events: Vec<StreamEvent>) -> Option<Vec<String>> {
    let points: Vec<StreamPoint> = events.into_iter().map(|event| event.point).collect();
    let (mut frames, mut start, mut numbers) = (Vec::new(), 0, 0);
    for end in 1..=points.len() {
        numbers += points[end - 1].payload.numbers();
        if end == points.len() || end - start == FRAME_POINTS || numbers >= FRAME_NUMBERS {
            let frame = encode::record(&Frame { points: &points[start..end] }).ok()?;
            frames.push(String::from_utf8(frame).ok()?);
            (start, numbers) = (end, 0);
        }
    }
    Some(frames)
}
