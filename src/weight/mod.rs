//! What a request costs, exactly, and how to cut a window so that it costs the least (service.md 8.2 to 8.4).

mod formula;
mod plan;

pub use crate::clock::Window;
pub use formula::{Demand, WeightError, of, points};
pub use plan::{BLOCK, PlanError, Slice, slices};
