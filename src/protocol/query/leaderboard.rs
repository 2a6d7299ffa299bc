//! The query of the leaderboard: its filters and orders (service.md 4.3).

use super::page::{Page, text};
use super::parameters::{Pairs, ParamError, choice, number, push_number, push_text};
use crate::protocol::sort_direction::SortDirection;

/// Sort key of a leaderboard (`sortBy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LeaderboardSort {
    /// Realized profit and loss.
    #[default]
    RealizedPnl,
    /// Return on investment.
    Roi,
    /// Closed positions with a gain.
    WinCount,
    /// Share of closed positions with a gain.
    WinRate,
    /// Total size.
    TotalSize,
    /// Number of positions.
    TotalPositionCount,
}

impl LeaderboardSort {
    /// Every order, by its name on the wire.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("REALIZED_PNL", Self::RealizedPnl),
        ("ROI", Self::Roi),
        ("WIN_COUNT", Self::WinCount),
        ("WIN_RATE", Self::WinRate),
        ("TOTAL_SIZE", Self::TotalSize),
        ("TOTAL_POSITION_COUNT", Self::TotalPositionCount),
    ];

    /// Name on the wire.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// Reads the wire name.
    pub fn find(text: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, sort)| *sort)
    }
}

/// A query of `GET /v1/prediction/analytics/leaderboard` (section 4.3). Every filter is about the whole account; bounds
/// are inclusive.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LeaderboardQuery {
    /// `limit` and `offset`
    pub page: Page,
    /// `roiPercentage`, least realized return, percent
    pub roi_percentage: Option<i64>,
    /// `minTotalTradeCount`, fewest positions
    pub min_total_trade_count: Option<f64>,
    /// `maxTotalTradeCount`, most positions
    pub max_total_trade_count: Option<f64>,
    /// `winRate`, percent
    pub win_rate: Option<f64>,
    /// `avgPositionSize`, least mean size
    pub avg_position_size: Option<f64>,
    /// `totalVolume`, least total size
    pub total_volume: Option<f64>,
    /// `primaryCategory`, traded at least once
    pub primary_category: Option<String>,
    /// `openPositionCount`, fewest open positions
    pub open_position_count: Option<i64>,
    /// `timeSinceLastTrade`, least seconds since the latest trade
    pub time_since_last_trade: Option<i64>,
    /// `avgHoldingTime`, least mean holding duration, seconds
    pub avg_holding_time: Option<i64>,
    /// `sortBy`
    pub sort_by: Option<LeaderboardSort>,
    /// `sortDirection`; descending when absent
    pub sort: Option<SortDirection>,
}

impl LeaderboardQuery {
    pub(super) fn push<'a>(&'a self, pairs: &mut Pairs<'a>) {
        self.page.push(pairs);
        push_number(pairs, "roiPercentage", self.roi_percentage);
        push_number(pairs, "minTotalTradeCount", self.min_total_trade_count);
        push_number(pairs, "maxTotalTradeCount", self.max_total_trade_count);
        push_number(pairs, "winRate", self.win_rate);
        push_number(pairs, "avgPositionSize", self.avg_position_size);
        push_number(pairs, "totalVolume", self.total_volume);
        push_text(pairs, "primaryCategory", self.primary_category.as_deref());
        push_number(pairs, "openPositionCount", self.open_position_count);
        push_number(pairs, "timeSinceLastTrade", self.time_since_last_trade);
        push_number(pairs, "avgHoldingTime", self.avg_holding_time);
        push_text(pairs, "sortBy", self.sort_by.map(LeaderboardSort::name));
        push_text(pairs, "sortDirection", self.sort.map(SortDirection::name));
    }

    /// Reads one parameter of the endpoint's row.
    pub(super) fn read(&mut self, name: &str, value: String) -> Result<(), ParamError> {
        let whole = |wanted: &str| number::<i64>(name, &value, wanted).map(Some);
        match name {
            "roiPercentage" => self.roi_percentage = whole("a whole number of percent")?,
            "minTotalTradeCount" => self.min_total_trade_count = finite(name, &value)?,
            "maxTotalTradeCount" => self.max_total_trade_count = finite(name, &value)?,
            "winRate" => self.win_rate = finite(name, &value)?,
            "avgPositionSize" => self.avg_position_size = finite(name, &value)?,
            "totalVolume" => self.total_volume = finite(name, &value)?,
            "primaryCategory" => self.primary_category = text(value),
            "openPositionCount" => self.open_position_count = whole("a whole number of positions")?,
            "timeSinceLastTrade" => self.time_since_last_trade = whole("seconds, a whole number")?,
            "avgHoldingTime" => self.avg_holding_time = whole("seconds, a whole number")?,
            "sortBy" => {
                let names = LeaderboardSort::NAMES.map(|(name, _)| name);
                self.sort_by = Some(choice(name, &value, LeaderboardSort::find(&value), &names)?);
            }
            "sortDirection" => {
                let names = [SortDirection::Ascending.name(), SortDirection::Descending.name()];
                self.sort = Some(choice(name, &value, SortDirection::find(&value), &names)?);
            }
            _ => {
                self.page.read(name, &value)?;
            }
        }
        Ok(())
    }
}

fn finite(name: &str, value: &str) -> Result<Option<f64>, ParamError> {
    let read: f64 = number(name, value, "a number")?;
    if !read.is_finite() {
        return Err(ParamError::new(name, format!("{value:?} is not a finite number")));
    }
    Ok(Some(read))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::AnalyticsEndpoint;
    use crate::protocol::query::{AnalyticsAsk, AnalyticsQuery};
    use proptest::prelude::*;

    #[test]
    fn every_order_has_its_name() {
        for (name, sort) in LeaderboardSort::NAMES {
            assert_eq!((sort.name(), LeaderboardSort::find(name)), (name, Some(sort)));
        }
        let problem = AnalyticsQuery::parse(AnalyticsEndpoint::Leaderboard, "sortBy=PNL").unwrap_err().to_string();
        assert!(problem.contains("not one of REALIZED_PNL, ROI, WIN_COUNT"), "{problem}");
    }

    #[test]
    fn what_is_no_number_is_named() {
        for (query, part) in [
            ("winRate=NaN", "not a finite number"),
            ("totalVolume=much", "\"much\" is not a number"),
            ("roiPercentage=1.5", "not a whole number of percent"),
            ("sortDirection=UP", "SORT_DIRECTION_ASC"),
        ] {
            let problem = AnalyticsQuery::parse(AnalyticsEndpoint::Leaderboard, query).unwrap_err().to_string();
            assert!(problem.contains(part), "{query}: {problem}");
        }
    }

    proptest! {
        #[test]
        fn the_service_reads_what_the_client_writes(
            whole in prop::collection::vec(prop::option::of(any::<i64>()), 6),
            doubles in prop::collection::vec(prop::option::of(-1e300f64..1e300), 5),
            category in prop::option::of("\\PC{1,20}"), order in prop::option::of(0usize..6),
        ) {
            let query = LeaderboardQuery {
                page: Page { limit: whole[0], offset: whole[1] },
                roi_percentage: whole[2], open_position_count: whole[3], time_since_last_trade: whole[4],
                avg_holding_time: whole[5], min_total_trade_count: doubles[0], max_total_trade_count: doubles[1],
                win_rate: doubles[2], avg_position_size: doubles[3], total_volume: doubles[4],
                primary_category: category, sort_by: order.map(|index| LeaderboardSort::NAMES[index].1),
                sort: order.map(|_| SortDirection::Ascending),
            };
            let query = AnalyticsQuery::new(AnalyticsAsk::Leaderboard(query));
            let read = AnalyticsQuery::parse(AnalyticsEndpoint::Leaderboard, &query.to_query_string()).unwrap();
            prop_assert_eq!(read, query);
        }
    }
}
