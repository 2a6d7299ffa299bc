//! Market profiles as columns, in the order of the type's table (service.md 2.3).

use std::collections::BTreeMap;

use super::profile::SessionProfile;
use super::value_area::{Rung, VALUE_AREA_PERCENT, point_of_control, value_area};

use crate::columns::{Column, ColumnName, List, RaggedRows, Series};
use crate::protocol::{SeriesId, Shape};

/// Names of the level columns that hold a double, in the order in which [`TpoColumns`] keeps them.
const LEVEL_FLOATS: [&str; 7] =
    ["price", "buy_volume", "sell_volume", "tpo_count", "volume", "first_touch_block", "last_touch_block"];
/// Names of the profile columns that hold a double, likewise.
const PROFILE_FLOATS: [&str; 13] = [
    "block_size_minutes",
    "poc_price",
    "vah_price",
    "val_price",
    "profile_high",
    "profile_low",
    "opening_price",
    "closing_price",
    "ibr_high",
    "ibr_low",
    "total_tpo_count",
    "value_area_percentage",
    "total_volume",
];

/// Columns under construction, a row per profile.
pub(in crate::market) struct TpoColumns {
    block_minutes: u32,
    starts: Vec<i64>,
    ends: Vec<i64>,
    level_offsets: Vec<i64>,
    block_ids: List,
    level_floats: [Vec<f64>; 7],
    profile_floats: [Vec<f64>; 13],
    poor_highs: List,
    poor_lows: List,
    single_prints: List,
}

impl TpoColumns {
    pub(in crate::market) fn new(block_minutes: u32) -> Self {
        Self {
            block_minutes,
            starts: Vec::new(),
            ends: Vec::new(),
            level_offsets: vec![0],
            block_ids: List::default(),
            level_floats: Default::default(),
            profile_floats: Default::default(),
            poor_highs: List::default(),
            poor_lows: List::default(),
            single_prints: List::default(),
        }
    }

    /// Adds a profile; one without trades adds nothing.
    pub(in crate::market) fn push(&mut self, profile: &SessionProfile) {
        let visits = visits(profile);
        let ladder: Vec<Rung> = visits.iter().map(|(level, blocks)| (*level, blocks.len() as u64)).collect();
        let (Some(bar), Some(control)) = (profile.bar(), point_of_control(&ladder)) else { return };
        let price = |place: usize| profile.step.price(ladder[place].0);
        let total_volume = self.push_levels(profile, &visits);
        let area = value_area(&ladder, control);
        let (ibr_high, ibr_low) = profile.balance.unwrap_or((f64::NAN, f64::NAN));
        let values = [
            f64::from(self.block_minutes),
            price(control),
            price(*area.end()),
            price(*area.start()),
            bar.high,
            bar.low,
            bar.open,
            bar.close,
            ibr_high,
            ibr_low,
            ladder.iter().map(|rung| rung.1).sum::<u64>() as f64,
            VALUE_AREA_PERCENT as f64,
            total_volume,
        ];
        self.profile_floats.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        let last = ladder.len() - 1;
        let poor = |place: usize| (ladder[place].1 >= 2).then(|| price(place));
        self.poor_highs.push(poor(last));
        self.poor_lows.push(poor(0));
        self.single_prints.push((1..last).filter(|&place| ladder[place].1 == 1).map(price));
        self.starts.push(profile.session.nanos().start.0);
        self.ends.push(profile.session.nanos().end.0);
    }

    /// Adds a profile's levels and gives the sum of their volumes.
    fn push_levels(&mut self, profile: &SessionProfile, visits: &BTreeMap<i64, Vec<f64>>) -> f64 {
        let mut total = 0.0;
        for (level, blocks) in visits {
            let (bought, sold) = profile.volumes.get(level).copied().unwrap_or((0.0, 0.0));
            total += bought + sold;
            let touch = |block: Option<&f64>| block.copied().unwrap_or(f64::NAN);
            let values = [
                profile.step.price(*level),
                bought,
                sold,
                blocks.len() as f64,
                bought + sold,
                touch(blocks.first()),
                touch(blocks.last()),
            ];
            self.level_floats.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
            self.block_ids.push(blocks.iter().copied());
        }
        self.level_offsets.push(self.block_ids.len() as i64);
        total
    }

    /// The finished series; its times are the starts of the sessions.
    pub(in crate::market) fn series(self, id: SeriesId) -> Series {
        let named = |name: &'static str, column: Column| (ColumnName::Borrowed(name), column);
        let floats = |names: &[&'static str], columns: Vec<Vec<f64>>| {
            names.iter().zip(columns).map(|(name, values)| named(name, Column::Float(values))).collect::<Vec<_>>()
        };
        let mut levels = floats(&LEVEL_FLOATS, self.level_floats.into());
        levels.insert(1, named("block_ids", Column::List(self.block_ids)));
        let mut columns = floats(&PROFILE_FLOATS, self.profile_floats.into());
        let total_volume = columns.pop();
        columns.push(named("poor_highs", Column::List(self.poor_highs)));
        columns.push(named("poor_lows", Column::List(self.poor_lows)));
        columns.extend(total_volume);
        columns.push(named("single_prints", Column::List(self.single_prints)));
        let mut before = vec![
            named("period_start", Column::Time(self.starts.clone())),
            named("period_end", Column::Time(self.ends)),
            named("levels", Column::Rows(RaggedRows { offsets: self.level_offsets, columns: levels })),
        ];
        before.append(&mut columns);
        Series { id: id.into(), shape: Shape::Tpo, timestamps: self.starts, columns: before }
    }
}

/// The blocks that visited each level, ascending. A block visits every level between its lowest and its highest.
fn visits(profile: &SessionProfile) -> BTreeMap<i64, Vec<f64>> {
    let mut visits: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (&block, &(low, high)) in &profile.blocks {
        for level in low..=high {
            visits.entry(level).or_default().push(block as f64);
        }
    }
    visits
}
