//! Cuts a window into requests of the least summed weight.
//!
//! Weight counts started thousands of points, so only cuts on multiples of 1,000 points from the window's start lose
//! nothing. Between such cuts the multipliers of section 8.2 round up once a request, so fewer, larger requests weigh
//! less or the same, but not always the largest: with two exchanges five thousands weigh 7 and six weigh 9. A small
//! dynamic programme over thousands finds the best cut.

use std::cell::RefCell;

use super::formula::{Demand, WeightError, of, points};
use crate::clock::Window;
use crate::protocol::tier::TIERS;
use crate::protocol::{Points, TypeSpec, Weight};

/// Points that one step of the weight formula counts.
pub const BLOCK: Points = Points(1_000);
/// Longest window a plan takes, in blocks: a hundred million points.
const MAX_BLOCKS: u64 = 100_000;

/// One request of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Where its bucket starts lie.
    pub window: Window,
    /// Buckets in the window.
    pub points: Points,
    /// Weight of the request.
    pub weight: Weight,
}

/// A window that cannot be cut into requests that run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The demand has no weight.
    #[error(transparent)]
    Weight(#[from] WeightError),
    /// Even the smallest request is heavier than the bucket.
    #[error("the smallest request weighs {weight}, more than the bucket ever holds ({burst}); {remedy}")]
    TooHeavy {
        /// Weight of up to a thousand points.
        weight: Weight,
        /// Capacity of the bucket.
        burst: Weight,
        /// Remedy: fewer exchanges at once, less depth, or a tier.
        remedy: String,
    },
    /// The window is absurdly long.
    #[error("the window holds {points} points, more than a plan takes ({}); shorten it", BLOCK.saturating_mul(MAX_BLOCKS))]
    TooLong {
        /// Points in the window.
        points: Points,
    },
}

/// Cuts `window` into consecutive slices that cover it exactly once, of the least summed weight and, among those, the
/// fewest requests.
///
/// `demand.period` is ignored. No slice holds more than `max_points` points (at least a thousand) or weighs more than
/// `burst`, when that is known. An empty window gives no slices.
///
/// ```
/// use marketpoints::protocol::{DataType, Points, Weight};
/// use marketpoints::weight::{Demand, Window, slices};
///
/// // Twelve days of minutes are 17,280 candles, 1 for each thousand; here at most 5,000 in one request.
/// let candles = DataType::TradeSideAgnosticAgg.spec();
/// let demand = Demand { interval: 60, period: 0, exchanges: 1, max_depth: None };
/// let window = Window { from: 1_767_225_600, to: 1_767_225_600 + 12 * 86_400 };
/// let plan = slices(candles, &demand, window, Points(5_000), None)?;
/// assert_eq!(plan.iter().map(|slice| slice.points).sum::<Points>(), Points(17_280));
/// assert_eq!(plan.iter().map(|slice| slice.weight).sum::<Weight>(), Weight(18));
/// assert_eq!(plan.len(), 4);
/// # Ok::<(), marketpoints::weight::PlanError>(())
/// ```
pub fn slices(
    spec: &TypeSpec,
    demand: &Demand,
    window: Window,
    max_points: Points,
    burst: Option<Weight>,
) -> Result<Vec<Slice>, PlanError> {
    let weigh =
        |points: Points| of(spec, &Demand { period: (points.0 as i64).saturating_mul(demand.interval), ..*demand });
    weigh(Points::ZERO)?; // checks the demand itself
    let points = points(&Demand { period: window.seconds(), ..*demand });
    let blocks = points.0.div_ceil(BLOCK.0);
    if blocks > MAX_BLOCKS {
        return Err(PlanError::TooLong { points });
    }
    let mut weights = vec![Weight::ZERO];
    for size in 1..=blocks.min((max_points.0 / BLOCK.0).max(1)) {
        let weight = weigh(BLOCK.saturating_mul(size))?;
        match burst {
            Some(burst) if weight > burst && size == 1 => {
                return Err(PlanError::TooHeavy { weight, burst, remedy: remedy(spec, demand, weight, burst) });
            }
            Some(burst) if weight > burst => break,
            _ => weights.push(weight),
        }
    }
    let mut slices = Vec::new();
    let mut from = window.from;
    let mut left = points;
    for size in best_cut(blocks as usize, &weights) {
        let points = left.min(BLOCK.saturating_mul(size as u64));
        let to = from + (points.0 as i64 * demand.interval).min(window.to - from);
        slices.push(Slice { window: Window { from, to }, points, weight: weights[size] });
        from = to;
        left -= points;
    }
    Ok(slices)
}

/// Remedy that makes a thousand points fit into a bucket of `burst`.
fn remedy(spec: &TypeSpec, demand: &Demand, weight: Weight, burst: Weight) -> String {
    let fits = |demand: Demand| {
        let period = (BLOCK.0 as i64).saturating_mul(demand.interval);
        of(spec, &Demand { period, ..demand }).is_ok_and(|weight| weight <= burst)
    };
    let mut ways = Vec::new();
    if let Some(exchanges) = (1..demand.exchanges).rev().find(|&exchanges| fits(Demand { exchanges, ..*demand })) {
        ways.push(format!("ask at most {exchanges} exchanges at once"));
    }
    if let (Some(included), Some(depth)) = (spec.included_depth, demand.max_depth) {
        let bands = (1..=depth.div_ceil(included)).rev().map(|bands| bands.saturating_mul(included));
        if let Some(depth) =
            bands.filter(|bound| *bound < depth).find(|&depth| fits(Demand { max_depth: Some(depth), ..*demand }))
        {
            ways.push(format!("ask a max_depth of at most {depth}"));
        }
    }
    if let Some(tier) = TIERS.iter().find(|tier| tier.burst() >= weight) {
        ways.push(format!("use the tier {}, whose bucket holds {}", tier.name, tier.burst()));
    }
    if ways.is_empty() { "ask fewer exchanges and less depth".to_owned() } else { ways.join(", or ") }
}

/// Least weight and fewest requests for a number of blocks, and the size of one request of that cut.
type Best = ((Weight, u32), usize);

/// Most tables of best cuts that a thread keeps, and the most blocks of one that is kept.
const MOST_TABLES: usize = 16;
const LONGEST_TABLE: usize = 10_000;

thread_local! {
    /// Best cuts by the weights of all sizes: the series of a universe differ in what they are of, seldom in what they weigh.
    static TABLES: RefCell<Vec<(Vec<Weight>, Vec<Best>)>> = const { RefCell::new(Vec::new()) };
}

/// Sizes, in blocks and largest first, whose weights sum to the least; `weights[k]` is the weight of k blocks.
fn best_cut(blocks: usize, weights: &[Weight]) -> Vec<usize> {
    TABLES.with_borrow_mut(|tables| {
        let known = tables.iter().position(|(of, _)| of == weights);
        let place = known.unwrap_or_else(|| {
            if tables.len() == MOST_TABLES {
                tables.remove(0);
            }
            tables.push((weights.to_vec(), vec![((Weight::ZERO, 0), 0)]));
            tables.len() - 1
        });
        let best = &mut tables[place].1;
        for total in best.len()..=blocks {
            let choices = (1..weights.len().min(total + 1)).map(|size| {
                let (weight, requests) = best[total - size].0;
                ((weight + weights[size], requests + 1), size)
            });
            let least = choices.min().unwrap_or(((Weight::ZERO, 0), total));
            best.push(least);
        }
        let mut sizes = Vec::new();
        let mut left = blocks;
        while left > 0 {
            sizes.push(best[left].1);
            left -= best[left].1;
        }
        sizes.sort_unstable_by(|left, right| right.cmp(left));
        best.truncate(LONGEST_TABLE);
        sizes
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::DataType;
    use proptest::prelude::*;

    fn demand(exchanges: u32) -> Demand {
        Demand { interval: 60, period: 0, exchanges, max_depth: None }
    }

    fn cut(points: i64, exchanges: u32, max_points: u64, burst: Option<u64>) -> Vec<(u64, u64)> {
        let window = Window { from: 6_000, to: 6_000 + points * 60 };
        let slices =
            slices(DataType::TradeAgg.spec(), &demand(exchanges), window, Points(max_points), burst.map(Weight))
                .unwrap();
        slices.iter().map(|slice| (slice.points.0, slice.weight.0)).collect()
    }

    #[test]
    fn the_largest_request_is_not_always_the_cheapest() {
        // Two exchanges: 5 thousands weigh exactly 7, 6 weigh ceil(8.4) = 9. 11 as 6 + 5 costs 16, as 5 + 5 + 1 too.
        assert_eq!(cut(11_000, 2, 6_000, None), [(6_000, 9), (5_000, 7)]);
        assert_eq!(cut(10_000, 2, 6_000, None), [(5_000, 7), (5_000, 7)]);
    }

    #[test]
    fn a_plan_does_not_depend_on_those_before_it() {
        let of_each = |order: &[i64]| order.iter().map(|&points| cut(points, 2, 6_000, None)).collect::<Vec<_>>();
        let mut down = of_each(&[20_000_000, 25_000, 11_000, 1_000]);
        down.reverse();
        assert_eq!(of_each(&[1_000, 11_000, 25_000, 20_000_000]), down);
        // More kinds than are kept, and those again.
        let kinds = || (1..40).map(|exchanges| cut(25_000, exchanges, 6_000, None)).collect::<Vec<_>>();
        assert_eq!(kinds(), kinds());
    }

    #[test]
    fn burst_bounds_a_request_and_names_what_cannot_run() {
        assert_eq!(cut(5_000, 1, 100_000, Some(2)), [(2_000, 2), (2_000, 2), (1_000, 1)]);
        let window = Window { from: 0, to: 60 };
        // 50 exchanges weigh 1 + 50 / 5 = 11, 45 weigh 10 (section 8.2).
        let error =
            slices(DataType::TradeAgg.spec(), &demand(50), window, BLOCK, Some(Weight(10))).unwrap_err().to_string();
        assert!(error.contains("weighs 11") && error.contains("holds (10)"), "{error}");
        assert!(
            error.ends_with("ask at most 45 exchanges at once, or use the tier free, whose bucket holds 20"),
            "{error}"
        );
        // A book at 17,501 levels is in the band of 2.0 and weighs 20, at 7,000 it weighs 12 (section 8.4).
        let deep = Demand { max_depth: Some(17_501), ..demand(1) };
        let book = DataType::BlockBookSnapshotAgg.spec();
        let error = slices(book, &deep, window, BLOCK, Some(Weight(13))).unwrap_err().to_string();
        assert!(
            error.ends_with("ask a max_depth of at most 7000, or use the tier free, whose bucket holds 20"),
            "{error}"
        );
    }

    #[test]
    fn nothing_asked_is_nothing_sent() {
        assert_eq!(cut(0, 1, 1_000, None), []);
        assert_eq!(cut(-5, 1, 1_000, None), []);
    }

    /// Least weight over all ways to write `blocks` as an ordered sum, by trying every one.
    fn brute_force(blocks: usize, weights: &[Weight]) -> Weight {
        if blocks == 0 {
            return Weight::ZERO;
        }
        (1..=blocks.min(weights.len() - 1))
            .map(|size| weights[size] + brute_force(blocks - size, weights))
            .min()
            .unwrap()
    }

    proptest! {
        #[test]
        fn slices_cover_the_window_once_at_the_least_weight(
            kind in 0usize..12, points in 1i64..12_500, exchanges in 1u32..8, depth in 1u32..12_000,
            max_blocks in 1u64..8, interval in prop::sample::select(vec![60i64, 300, 3_600]),
            burst in prop::option::of((30u64..200).prop_map(Weight)), cuts in prop::collection::vec(1i64..4_000, 0..8),
        ) {
            let spec = &crate::protocol::data_type::DATA_TYPES[kind];
            let demand = Demand { interval, period: 0, exchanges, max_depth: Some(depth) };
            let window = Window { from: 86_400, to: 86_400 + points * interval };
            let Ok(slices) = slices(spec, &demand, window, BLOCK.saturating_mul(max_blocks), burst) else {
                let one = of(spec, &Demand { period: 1_000 * interval, ..demand }).unwrap();
                prop_assert!(one > burst.unwrap());
                return Ok(());
            };
            let mut at = window.from;
            for slice in &slices {
                prop_assert_eq!(slice.window.from, at);
                prop_assert!(slice.points <= BLOCK.saturating_mul(max_blocks) && burst.is_none_or(|burst| slice.weight <= burst));
                prop_assert_eq!(slice.weight, of(spec, &Demand { period: slice.window.seconds(), ..demand }).unwrap());
                at = slice.window.to;
            }
            prop_assert_eq!(at, window.to);
            let weights: Vec<Weight> = (0..=max_blocks)
                .map(|size| of(spec, &Demand { period: size as i64 * 1_000 * interval, ..demand }).unwrap())
                .collect();
            let weights: Vec<Weight> =
                weights.into_iter().take_while(|weight| burst.is_none_or(|burst| *weight <= burst)).collect();
            let least = brute_force((points as usize).div_ceil(1_000), &weights);
            let sum = slices.iter().map(|slice| slice.weight).sum::<Weight>();
            prop_assert_eq!(sum, least);
            // Cuts anywhere else never weigh less.
            let (mut left, mut elsewhere) = (points, Weight::ZERO);
            for size in cuts.into_iter().chain(std::iter::repeat(2_777)) {
                let size = size.min(left).min(max_blocks as i64 * 1_000);
                elsewhere += of(spec, &Demand { period: size * interval, ..demand }).unwrap();
                left -= size;
                if left == 0 { break; }
            }
            prop_assert!(burst.is_some() || elsewhere >= sum);
        }
    }
}
