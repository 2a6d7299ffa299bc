//! Weights and points of requests, as types (section 8). A rate (weight per minute, weight per thousand points)
//! stays a plain number, because it is neither.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// Cost of requests in a budget.
///
/// ```
/// use marketpoints::protocol::{Points, Weight};
///
/// let requests = [Weight(16), Weight(4)];
/// let spent: Weight = requests.into_iter().sum();
/// assert_eq!(spent, Weight(20));
/// assert_eq!((spent - Weight(16), spent.saturating_sub(Weight(30))), (Weight(4), Weight(0)));
/// assert_eq!(format!("{spent} for {} points", Points(17_280)), "20 for 17280 points");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
#[repr(transparent)]
pub struct Weight(pub u64);

/// A number of points as the weight counts them: the buckets of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
#[repr(transparent)]
pub struct Points(pub u64);

macro_rules! counted {
    ($unit:ident) => {
        impl $unit {
            /// None.
            pub const ZERO: Self = Self(0);

            /// The sum; the largest value where it overflows.
            #[must_use]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }

            /// The difference; zero if the other is larger.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// `times` as much; the largest value where it overflows.
            #[must_use]
            pub const fn saturating_mul(self, times: u64) -> Self {
                Self(self.0.saturating_mul(times))
            }
        }

        impl fmt::Display for $unit {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(out)
            }
        }

        impl From<u32> for $unit {
            fn from(number: u32) -> Self {
                Self(number.into())
            }
        }

        impl Add for $unit {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $unit {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $unit {
            type Output = Self;

            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl SubAssign for $unit {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl Sum for $unit {
            fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
                Self(each.map(|one| one.0).sum())
            }
        }
    };
}

counted!(Weight);
counted!(Points);
