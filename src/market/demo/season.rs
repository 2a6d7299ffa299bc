//! Weekly season of volume and volatility. Times are UTC.

use std::f64::consts::TAU;
use std::sync::LazyLock;

use crate::clock::{MINUTES_PER_DAY, UnixMinute};

/// Hour with the most volume, when Europe and America both trade.
const BUSIEST: f64 = 15.0;
/// Volume of a weekday in parts of the mean one, from Monday on.
const VOLUMES: [f64; 7] = [1.06, 1.10, 1.12, 1.12, 1.08, 0.76, 0.76];
/// Volatility of a weekday in parts of the mean one.
const SWINGS: [f64; 7] = [1.03, 1.06, 1.07, 1.07, 1.05, 0.85, 0.87];

/// Volume and volatility of a minute in parts of the mean one's.
#[derive(Debug, Clone, Copy)]
pub(in crate::market) struct Season {
    /// Volume.
    pub volume: f64,
    /// Standard deviation of the price's change.
    pub swing: f64,
}

/// Volume and volatility of the minutes of a day.
static HOURS: LazyLock<Vec<Season>> = LazyLock::new(|| {
    let wave = |minute_of_day: i64| {
        let hour = minute_of_day as f64 / 60.0;
        (TAU * (hour - BUSIEST) / 24.0).cos() + 0.35 * (TAU * (hour - BUSIEST + 1.0) / 12.0).cos()
    };
    let mean = |size: f64| {
        (0..MINUTES_PER_DAY).map(|minute| (size * wave(minute)).exp()).sum::<f64>() / MINUTES_PER_DAY as f64
    };
    let (volume, square) = (mean(0.38), mean(2.0 * 0.2));
    let season = |minute| Season {
        volume: (0.38 * wave(minute)).exp() / volume,
        swing: (0.2 * wave(minute)).exp() / square.sqrt(),
    };
    (0..MINUTES_PER_DAY).map(season).collect()
});

/// Upper bound of a minute's volatility.
pub(in crate::market) static MOST_SWING: LazyLock<f64> = LazyLock::new(|| {
    let hours = HOURS.iter().map(|season| season.swing).fold(0.0, f64::max);
    hours * SWINGS.into_iter().fold(0.0, f64::max)
});

/// The season of a minute.
pub(in crate::market) fn season(minute: UnixMinute) -> Season {
    // The epoch was a Thursday.
    let weekday = (minute.day().0 + 3).rem_euclid(7) as usize;
    let hour = HOURS[minute.0.rem_euclid(MINUTES_PER_DAY) as usize];
    Season { volume: hour.volume * VOLUMES[weekday], swing: hour.swing * SWINGS[weekday] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_minute_of_a_week_has_one_part() {
        let monday = 29_606_400 / MINUTES_PER_DAY * MINUTES_PER_DAY; // of some day on
        let week: Vec<Season> = (monday..monday + 7 * MINUTES_PER_DAY).map(UnixMinute).map(season).collect();
        let mean = |of: fn(&Season) -> f64| week.iter().map(of).sum::<f64>() / week.len() as f64;
        assert!((mean(|one| one.volume) - 1.0).abs() < 1e-3 && (mean(|one| one.swing * one.swing) - 1.0).abs() < 0.02);
        assert!(week.iter().all(|one| one.swing <= *MOST_SWING && one.volume > 0.2));
    }

    #[test]
    fn weekends_and_nights_are_quiet() {
        let at = |day: i64, hour: i64| season(UnixMinute((day * 24 + hour) * 60)).volume;
        let saturday = 20_568; // 2026-04-25
        assert!(at(saturday, 15) < 0.8 * at(saturday - 1, 15));
        assert!(at(saturday - 1, 4) < 0.6 * at(saturday - 1, 15));
    }
}
