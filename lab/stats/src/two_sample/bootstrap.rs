//! Bootstrap interval of a ratio of medians.
//!
//! Whole units are resampled with replacement: the highest level of the structure that has enough
//! of them, with everything below. Resampling below that level too would count the variance there
//! twice. Sources: B. Efron and R. Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13; C.
//! A. Field and A. H. Welsh, Bootstrapping Clustered Data, Journal of the Royal Statistical Society
//! B 69, 2007; T. Kalibera and R. Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Ends of the interval of coverage 1 − `alpha` of median(b)/median(a), from `resamples` draws, or
/// from as many as leave two draws beyond each end, if that is more. All values are above 0.
pub(crate) fn ratio_of_medians(a: &[f64], b: &[f64], alpha: f64, resamples: u32, seed: u64) -> (f64, f64) {
    let resamples = resamples.max((4.0 / alpha).ceil() as u32);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn = vec![0.0; a.len().max(b.len())];
    let mut ratios: Vec<f64> = (0..resamples)
        .map(|_| {
            let first = drawn_median(a, &mut drawn[..a.len()], &mut random);
            drawn_median(b, &mut drawn[..b.len()], &mut random) / first
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let outside = (alpha / 2.0 * f64::from(resamples + 1)) as usize;
    (ratios[outside - 1], ratios[ratios.len() - outside])
}

fn drawn_median(values: &[f64], drawn: &mut [f64], random: &mut ChaCha8Rng) -> f64 {
    for place in drawn.iter_mut() {
        // The upper half of a random word times the length: uniform to one part in 2³².
        *place = values[((u64::from(random.next_u32()) * values.len() as u64) >> 32) as usize];
    }
    let middle = drawn.len() / 2;
    let (below, &mut upper, _) = drawn.select_nth_unstable_by(middle, f64::total_cmp);
    match values.len() % 2 {
        1 => upper,
        _ => below.iter().copied().fold(f64::MIN, f64::max).midpoint(upper),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_lies_around_the_ratio_and_comes_from_the_seed() {
        let a: Vec<f64> = (100..120).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|value| 2.0 * value).collect();
        let (low, high) = ratio_of_medians(&a, &b, 0.05, 1000, 7);
        assert!(1.8 < low && low < 2.0 && 2.0 < high && high < 2.2, "{low} {high}");
        assert_eq!((low, high), ratio_of_medians(&a, &b, 0.05, 1000, 7));
        assert_ne!((low, high), ratio_of_medians(&a, &b, 0.05, 1000, 8));
    }

    #[test]
    fn drawn_medians_are_medians() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut drawn = [0.0; 4];
        for _ in 0..100 {
            let found = drawn_median(&[1.0, 2.0, 4.0, 8.0], &mut drawn, &mut random);
            assert_eq!(Some(found), crate::median::median(&drawn));
        }
    }
}
