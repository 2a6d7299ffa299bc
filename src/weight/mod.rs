//! Exact weight of a request, and the cut of a window with the least weight (service.md 8.2 to 8.4).

mod formula;
mod plan;

pub use crate::clock::Window;
pub use formula::{Demand, WeightError, of, points};
pub use plan::{BLOCK, PlanError, Slice, slices};
