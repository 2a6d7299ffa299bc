//! Tiers and their limits (service.md, sections 5, 6 and 8.1).

use super::units::Weight;

/// A subscription tier. The order is the order of rank: a type's lowest tier is compared with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// 10 weight a minute, 1,000 a day.
    Free,
    /// 50 weight a minute.
    Basic,
    /// 100 weight a minute.
    Standard,
    /// 750 weight a minute, every feature.
    Advanced,
}

/// One row of the tier table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TierSpec {
    /// The tier.
    pub tier: Tier,
    /// Name as users type it.
    pub name: &'static str,
    /// Sustained weight per minute: a rate, and so no [`Weight`].
    pub weight_per_minute: u32,
    /// Weight per UTC day; `None` is unlimited.
    pub weight_per_day: Option<Weight>,
    /// How many days back a window may start.
    pub history_days: u32,
    /// Live streams per key.
    pub streams: u32,
}

impl TierSpec {
    /// Capacity of the bucket: twice the per-minute budget (section 8.1).
    pub const fn burst(&self) -> Weight {
        Weight(2 * self.weight_per_minute as u64)
    }
}

/// The tiers of section 8.1, lowest first.
pub const TIERS: [TierSpec; 4] = [
    TierSpec {
        tier: Tier::Free,
        name: "free",
        weight_per_minute: 10,
        weight_per_day: Some(Weight(1_000)),
        history_days: 7,
        streams: 0,
    },
    TierSpec {
        tier: Tier::Basic,
        name: "basic",
        weight_per_minute: 50,
        weight_per_day: None,
        history_days: 30,
        streams: 5,
    },
    TierSpec {
        tier: Tier::Standard,
        name: "standard",
        weight_per_minute: 100,
        weight_per_day: None,
        history_days: 90,
        streams: 10,
    },
    TierSpec {
        tier: Tier::Advanced,
        name: "advanced",
        weight_per_minute: 750,
        weight_per_day: None,
        history_days: 365,
        streams: 15,
    },
];

/// Lowest tier that may aggregate over several exchanges (section 5).
pub const MULTI_EXCHANGE_TIER: Tier = Tier::Advanced;

impl Tier {
    /// The tier's row.
    pub const fn spec(self) -> &'static TierSpec {
        &TIERS[self as usize]
    }

    /// Looks a tier up by name, in any case.
    pub fn find(name: &str) -> Option<Self> {
        TIERS.iter().find(|row| row.name.eq_ignore_ascii_case(name)).map(|row| row.tier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_section_8_1() {
        let rows: Vec<_> = TIERS
            .iter()
            .map(|row| {
                (row.name, row.weight_per_minute, row.burst().0, row.weight_per_day, row.history_days, row.streams)
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("free", 10, 20, Some(Weight(1_000)), 7, 0),
                ("basic", 50, 100, None, 30, 5),
                ("standard", 100, 200, None, 90, 10),
                ("advanced", 750, 1_500, None, 365, 15),
            ]
        );
    }

    #[test]
    fn each_tier_finds_its_own_row() {
        for row in &TIERS {
            assert_eq!(row.tier.spec(), row);
            assert_eq!(Tier::find(&row.name.to_uppercase()), Some(row.tier));
        }
        assert_eq!(Tier::find("pro"), None);
    }
}
