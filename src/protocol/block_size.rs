//! Which block sizes fit the recommended ones (service.md 4.1 and 4.2, supplement 9): one rule for the client, which checks
//! before it pays, and the service, which refuses.

use super::data_type::DataType;

/// A block size that is no multiple of the recommended one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{size} is no multiple of {step}, which GET /v1/block-sizes recommends; the nearest that fits is {nearest}")]
pub struct BlockSizeMisfit {
    size: String,
    step: String,
    nearest: String,
}

/// Whether `GET /v1/block-sizes` recommends a size for a type, given by its wire name (section 4.2): where it reads one.
pub fn has_block_size(data_type: &str) -> bool {
    DataType::find(data_type).is_some_and(|data_type| data_type.spec().reads("blockSize"))
}

/// Checks a block size (above 0) against the sizes that are recommended for the markets of a query: it must be a multiple of
/// each. A recommended size that is no number above 0, such as the 0 of a market without data, takes any.
///
/// # Errors
/// The size, what it must be a multiple of, and the nearest that is.
pub fn check_block_size(size: f64, recommended: impl IntoIterator<Item = f64>) -> Result<(), BlockSizeMisfit> {
    let known = recommended.into_iter().filter(|one| one.is_finite() && *one > 0.0);
    let Some(step) = known.reduce(common) else { return Ok(()) };
    let blocks = (size / step).round().max(1.0);
    if (size / step - blocks).abs() <= 1e-9 * blocks {
        return Ok(());
    }
    let decimals = (-step.log10()).ceil().max(0.0) as usize;
    let size = if size < 1e-6 { format!("{size:e}") } else { size.to_string() };
    Err(BlockSizeMisfit { size, step: step.to_string(), nearest: format!("{:.decimals$}", blocks * step) })
}

/// The least size that two recommended ones divide: the larger, or their lowest common multiple (10 of 2 and 5).
fn common(one: f64, other: f64) -> f64 {
    let (small, large) = (one.min(other), one.max(other));
    let fits = |size: f64| (size / small - (size / small).round()).abs() <= 1e-9 * (size / small);
    (1..=10u32).map(|times| large * f64::from(times)).find(|size| fits(*size)).unwrap_or(large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recommended_sizes_have_a_common_multiple() {
        for (one, other, both) in
            [(2.0, 2.0, 2.0), (2.0, 5.0, 10.0), (5.0, 10.0, 10.0), (2.0, 50.0, 50.0), (0.2, 0.5, 1.0)]
        {
            assert!(
                (common(one, other) - both).abs() < 1e-9 && (common(other, one) - both).abs() < 1e-9,
                "{one} {other}"
            );
        }
    }

    #[test]
    fn multiples_fit_and_the_nearest_of_another_size_is_named() {
        let problem = |size: f64, recommended: &[f64]| {
            check_block_size(size, recommended.iter().copied()).err().map(|misfit| misfit.to_string())
        };
        for (size, recommended) in [
            (2.0, vec![2.0]),
            (10.0, vec![2.0]), // HD, five times the recommended one
            (0.3, vec![0.1]),  // 0.1 + 0.1 + 0.1 is not 0.3
            (0.001, vec![0.001]),
            (20.0, vec![2.0, 5.0]),
            (7.0, vec![0.0]), // no data, no recommendation
            (7.0, vec![]),
            (6.0, vec![0.0, 3.0, f64::NAN]),
        ] {
            assert_eq!(problem(size, &recommended), None, "{size} {recommended:?}");
        }
        for (size, recommended, words) in [
            (3.0, vec![2.0], "3 is no multiple of 2, which GET /v1/block-sizes recommends; the nearest that fits is 4"),
            (0.25, vec![0.1], "0.25 is no multiple of 0.1, which"),
            (0.4, vec![2.0], "the nearest that fits is 2"),
            (4.0, vec![2.0, 5.0], "4 is no multiple of 10,"),
            (
                1e-9,
                vec![0.001],
                "1e-9 is no multiple of 0.001, which GET /v1/block-sizes recommends; the nearest that fits is 0.001",
            ),
        ] {
            let message = problem(size, &recommended).unwrap();
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn books_and_market_profiles_have_one() {
        let types = crate::protocol::data_type::DATA_TYPES.iter().map(|row| row.name);
        let with: Vec<_> = types.filter(|name| has_block_size(name)).collect();
        assert_eq!(with, ["TPO_AGG", "BLOCK_BOOK_SNAPSHOT_AGG"]);
        assert!(!has_block_size("NEWER_TYPE"));
    }
}
