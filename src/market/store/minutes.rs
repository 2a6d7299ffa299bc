//! Minute bars over day files: days that overlap, and the minute that holds `now`.

use std::sync::Arc;

use crate::clock::{SECONDS_PER_DAY as DAY, UnixDay, UnixNanos, UnixSecond, Window};
use crate::market::raw::{Bar, OhlcBar, SourceError};

/// A bar of one minute.
pub(in crate::market) trait Minute: Copy {
    /// Its first second.
    fn start(&self) -> UnixSecond;
    /// The moment of the last event.
    fn last(&self) -> UnixNanos;
    /// Joins a part of the same minute that comes later in file order.
    fn join(&mut self, later: &Self);
}

impl Minute for Bar {
    fn start(&self) -> UnixSecond {
        self.start
    }

    fn last(&self) -> UnixNanos {
        self.last
    }

    fn join(&mut self, later: &Self) {
        self.merge(later);
    }
}

impl Minute for OhlcBar {
    fn start(&self) -> UnixSecond {
        self.start
    }

    fn last(&self) -> UnixNanos {
        self.last
    }

    fn join(&mut self, later: &Self) {
        self.merge(later);
    }
}

/// The days whose files may hold a time in a window: dumps are split by the time of arrival, so a file may reach into
/// the day before and after.
pub(in crate::market) fn near(days: &[UnixDay], window: Window) -> &[UnixDay] {
    let first = days.partition_point(|day| (day.0 + 2) * DAY <= window.from);
    let end = days.partition_point(|day| (day.0 - 1) * DAY < window.to);
    &days[first.min(end)..end]
}

/// A source of one market's minute bars.
pub(in crate::market) struct Minutes<'a, M> {
    /// Days with a file, ascending.
    pub days: &'a [UnixDay],
    /// The bars of a day's file.
    pub read: &'a dyn Fn(UnixDay) -> Result<Arc<Vec<M>>, SourceError>,
    /// The bar of the minute that starts at a second, from the day's events up to `now`.
    pub partial: &'a dyn Fn(UnixDay, UnixSecond) -> Result<Option<M>, SourceError>,
}

impl<M: Minute> Minutes<'_, M> {
    /// Visits the bars with a start in a window in time order, as of `now`.
    pub(in crate::market) fn visit(
        &self,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&M),
    ) -> Result<(), SourceError> {
        let mut visit_bar = |bar: &M| -> Result<(), SourceError> {
            if !window.contains(bar.start()) || bar.start().nanos() > now {
                return Ok(());
            }
            if bar.last() <= now {
                visit(bar);
            } else if let Some(partial) = self.partial_of(bar.start())? {
                visit(&partial);
            }
            Ok(())
        };
        // The next file may still add to bars of this day, so they are buffered until it is read.
        let mut waiting: Vec<M> = Vec::new();
        for &day in near(self.days, window) {
            let bars = (self.read)(day)?;
            // Only the bars of the window, so that a short one does not cost a whole day.
            let begin = bars.partition_point(|bar| bar.start().0 < window.from);
            let end = bars.partition_point(|bar| bar.start().0 < window.to).max(begin);
            waiting = merge(waiting, &bars[begin..end]);
            let ready = waiting.partition_point(|bar| bar.start() < day.second());
            for bar in waiting.drain(..ready) {
                visit_bar(&bar)?;
            }
        }
        waiting.iter().try_for_each(visit_bar)
    }

    /// The last bar that starts before `before`, as of `now`.
    pub(in crate::market) fn before(&self, before: UnixSecond, now: UnixNanos) -> Result<Option<M>, SourceError> {
        for &day in near(self.days, Window { from: i64::MIN / 2, to: before.0 }).iter().rev() {
            let mut last = None;
            self.visit(Window { from: (day.0 - 1) * DAY, to: before.0 }, now, &mut |bar| last = Some(*bar))?;
            if last.is_some() {
                return Ok(last);
            }
        }
        Ok(None)
    }

    fn partial_of(&self, start: UnixSecond) -> Result<Option<M>, SourceError> {
        let mut whole: Option<M> = None;
        for &day in near(self.days, Window { from: start.0, to: start.0 + 60 }) {
            match (&mut whole, (self.partial)(day, start)?) {
                (Some(whole), Some(part)) => whole.join(&part),
                (None, part) => whole = part,
                (Some(_), None) => {}
            }
        }
        Ok(whole)
    }
}

/// Joins two runs of bars; the parts of a minute that is in both are merged, `later` being later in file order.
fn merge<M: Minute>(earlier: Vec<M>, later: &[M]) -> Vec<M> {
    if earlier.is_empty() {
        return later.to_vec();
    }
    let mut merged: Vec<M> = Vec::with_capacity(earlier.len() + later.len());
    let mut pending = later.iter().peekable();
    for mut bar in earlier {
        merged.extend(std::iter::from_fn(|| pending.next_if(|next| next.start() < bar.start())));
        if let Some(part) = pending.next_if(|next| next.start() == bar.start()) {
            bar.join(part);
        }
        merged.push(bar);
    }
    merged.extend(pending);
    merged
}
