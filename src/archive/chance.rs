//! The random part of a pause.

/// A number from 0 to 1. From the operating system: a generator in the process would give forked children the same numbers,
/// and they would all come back at once.
pub(crate) fn chance() -> f64 {
    getrandom::u64().unwrap_or(u64::MAX) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_within_bounds_and_differ() {
        let many: Vec<f64> = (0..1_000).map(|_| chance()).collect();
        assert!(many.iter().all(|one| (0.0..=1.0).contains(one)));
        assert!(many.windows(2).all(|two| two[0] != two[1]));
        let mean = many.iter().sum::<f64>() / 1_000.0;
        assert!((0.4..0.6).contains(&mean), "{mean}");
    }
}
