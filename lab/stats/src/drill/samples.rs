//! Counts of a build with several seeds as a sample: whether they are the same, and the level of each build.
//!
//! With one seed a count repeats exactly. With another one tasks meet elsewhere, and so they do in another build with the same seed: any change of the code
//! shifts the schedule. So what one build counts with several seeds is a sample of what it may count, and builds are compared by such samples. Tasks that contend
//! vary more than tasks that do not, so each build has a variance of its own. With few seeds it is drawn towards the variance of all.

/// Counts of two seeds are the same if they differ by no more than this part of the least change.
const SAME_PART: f64 = 0.05;

/// Weight of the variance of all builds in that of each, in values.
const POOLED: f64 = 3.0;

/// Variance that rounding leaves.
const LEAST_VARIANCE: f64 = 1e-18;

/// Part of the smallest count for which a count of 0 stands, which has no logarithm.
const ZERO_PART: f64 = 0.01;

/// Whether counts of one build with several seeds are the same, as far as changes of `least` are concerned.
pub(crate) fn are_same(counts: &[f64], least: f64) -> bool {
    let lowest = counts.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = counts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    highest <= lowest || highest - lowest <= SAME_PART * least * lowest
}

/// What a count of 0 stands for among others.
pub(crate) fn for_zero(counts: impl Iterator<Item = f64>) -> f64 {
    let smallest = counts.filter(|count| *count > 0.0).fold(f64::INFINITY, f64::min);
    if smallest.is_finite() { ZERO_PART * smallest } else { 1.0 }
}

/// The level of a build.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SampleLevel {
    /// Mean of the logarithms.
    pub(crate) level: f64,
    /// Variance of that mean.
    pub(crate) variance: f64,
    /// Standard deviation of one logarithm.
    pub(crate) spread: f64,
}

/// The level of each build, from the logarithms of its counts: at least one of each.
pub(crate) fn sample_levels(samples: &[Vec<f64>]) -> Vec<SampleLevel> {
    let mean = |sample: &[f64]| sample.iter().sum::<f64>() / sample.len() as f64;
    let squares = |sample: &[f64]| sample.iter().map(|value| (value - mean(sample)).powi(2)).sum::<f64>();
    let free = |sample: &[f64]| sample.len() as f64 - 1.0;
    let all_free: f64 = samples.iter().map(|sample| free(sample)).sum();
    let pooled = samples.iter().map(|sample| squares(sample)).sum::<f64>() / all_free.max(1.0);
    let level = |sample: &Vec<f64>| {
        let free = POOLED + free(sample);
        let variance = ((POOLED * pooled + squares(sample)) / free).max(LEAST_VARIANCE);
        // The variance is estimated itself.
        let unknown = free / (free - 2.0).max(1.0);
        SampleLevel { level: mean(sample), variance: unknown * variance / sample.len() as f64, spread: variance.sqrt() }
    };
    samples.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_the_same_as_far_as_the_least_change_is_concerned() {
        assert!(are_same(&[0.0, 0.0], 0.02) && !are_same(&[0.0, 1.0], 0.02) && are_same(&[], 0.02));
    }

    #[test]
    fn a_build_that_varies_more_is_known_less() {
        let [wide, narrow, single] =
            sample_levels(&[vec![1.0, 1.4, 0.8, 1.2, 1.1, 0.9], vec![2.0, 2.0, 2.0, 2.0, 2.0, 2.0], vec![1.5]])[..]
        else {
            panic!("three samples")
        };
        assert!((narrow.level - 2.0).abs() < 1e-12 && (single.level - 1.5).abs() < 1e-12);
        assert!(
            wide.variance > 2.0 * narrow.variance && single.variance > wide.variance,
            "{wide:?} {narrow:?} {single:?}"
        );
    }
}
