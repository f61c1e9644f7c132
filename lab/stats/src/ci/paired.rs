//! The decision about pairs of counts: both commits counted with the same seeds.
//!
//! Counts of a build may depend on the guest's seed, which draws the schedule and the guest's
//! random numbers. A pair shares its seed, and thus what random numbers alone decide, such as the
//! hash seeds of Python and of maps in Go and Rust. The rest of the difference is noise, tested by
//! Student's t. Tests at several looks share one error, so counting ends as soon as the answer is
//! known. docs/METHODOLOGY-APPENDIX.md has the figures.

use super::CiVerdict;
use crate::bisect::{are_same, for_zero};
use crate::median::median;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Numbers of pairs at which the differences are tested, with the share of the error that each look
/// may spend. Three pairs of a build with two kinds of runs seldom agree by chance.
const LOOKS: [(usize, f64); 4] = [(3, 0.1), (4, 0.1), (6, 0.2), (8, 0.6)];

/// Number of pairs at the last look.
pub const MOST_SEEDS: u32 = LOOKS[LOOKS.len() - 1].0 as u32;

/// Pairs that show whether the counts of a build depend on the seed.
const TRIED: usize = 2;

/// Two-sided error of a change, over all looks.
const FALSE_ALARMS: f64 = 0.01;

/// First look that may give up.
const GIVES_UP_FROM: usize = 4;

/// Counting ends without an answer if the interval of the last look is expected to reach this many
/// times as far as the change, or as the budget.
const HOPELESS: f64 = 2.0;

/// Least standard deviation of a difference of logarithms, from rounding.
const LEAST_DEVIATION: f64 = 1e-9;

/// Standard normal quantile of the power with which changes are detectable, 80 %.
const POWER_DEVIATIONS: f64 = 0.84;

/// The decision.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    pub(super) verdict: CiVerdict,
    /// True if the seed makes no difference.
    pub(super) is_exact: bool,
    /// The ratio with its interval; `None` if the seed makes no difference, or with too few pairs.
    pub(super) ratio: Option<[f64; 3]>,
    /// Smallest change that would have been found, as a share, if there is no answer.
    pub(super) detectable: Option<f64>,
    /// Number of pairs to have next; those there are if no more are needed.
    pub(super) wanted: usize,
}

/// Decides by all pairs of the old and the new commit's counts so far; `None` without one.
/// `budget`: the smallest change for the worse that matters. `level`: confidence level of the
/// interval.
pub(super) fn judge(pairs: &[[f64; 2]], budget: f64, level: f64) -> Option<Judged> {
    let sides = [0, 1].map(|side| pairs.iter().map(|pair| pair[side]).collect::<Vec<f64>>());
    let [base, head] = [median(&sides[0])?, median(&sides[1])?];
    let has_equal_pairs = pairs.iter().all(|[base, head]| base == head);
    let is_exact = has_equal_pairs || (pairs.len() >= TRIED && sides.iter().all(|side| are_same(side, budget)));
    if is_exact {
        let verdict = match () {
            () if head == base => CiVerdict::Equal,
            () if head >= base * (1.0 + budget) => CiVerdict::Worse,
            () if base >= head * (1.0 + budget) => CiVerdict::Better,
            () => CiVerdict::Within,
        };
        return Some(Judged { verdict, is_exact, ratio: None, detectable: None, wanted: pairs.len() });
    }
    let Some(look) = LOOKS.iter().rposition(|(number, _)| *number <= pairs.len()) else {
        let wanted = if pairs.len() < TRIED { TRIED } else { LOOKS[0].0 };
        return Some(Judged { verdict: CiVerdict::Inconclusive, is_exact, ratio: None, detectable: None, wanted });
    };
    Some(at_look(pairs, look, budget, level))
}

/// The decision at a look by counts that depend on their seed.
fn at_look(pairs: &[[f64; 2]], look: usize, budget: f64, level: f64) -> Judged {
    let zero = for_zero(pairs.iter().flatten().copied());
    let number = pairs.len() as f64;
    let differences: Vec<f64> = pairs.iter().map(|[base, head]| head.max(zero).ln() - base.max(zero).ln()).collect();
    let mean = differences.iter().sum::<f64>() / number;
    let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
    let deviation = (squares / (number - 1.0)).sqrt().max(LEAST_DEVIATION);
    // Reach of the interval of a look with this number of pairs.
    let reach = |look: usize, pairs: f64, error: f64| quantile(error * LOOKS[look].1, pairs) * deviation / pairs.sqrt();
    let (interval, firm) = (reach(look, number, 1.0 - level), reach(look, number, FALSE_ALARMS));
    let least = budget.ln_1p();
    let verdict = match () {
        () if mean >= least && mean - firm > 0.0 => CiVerdict::Worse,
        () if -mean >= least && mean + firm < 0.0 => CiVerdict::Better,
        () if mean + interval < least => CiVerdict::Within,
        () => CiVerdict::Inconclusive,
    };
    let (last, last_pairs) = (LOOKS.len() - 1, f64::from(MOST_SEEDS));
    let is_hopeless = pairs.len() >= GIVES_UP_FROM
        && reach(last, last_pairs.max(number), 1.0 - level) > HOPELESS * least.max(mean.abs());
    let is_open = verdict == CiVerdict::Inconclusive;
    let wanted = match LOOKS.get(look + 1) {
        Some((next, _)) if is_open && !is_hopeless => *next,
        _ => pairs.len(),
    };
    let error = deviation / number.sqrt();
    let detectable = quantile(FALSE_ALARMS * LOOKS[last].1, number) + POWER_DEVIATIONS;
    Judged {
        verdict,
        is_exact: false,
        ratio: Some([mean, mean - interval, mean + interval].map(f64::exp)),
        detectable: is_open.then(|| (detectable * error).exp_m1().max(budget)),
        wanted,
    }
}

/// Quantile of Student's distribution for differences of that many pairs, with a two-sided error.
fn quantile(error: f64, pairs: f64) -> f64 {
    StudentsT::new(0.0, 1.0, pairs - 1.0).map_or(f64::INFINITY, |student| student.inverse_cdf(1.0 - error / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    const BUDGET: f64 = 0.01;

    fn judged(pairs: &[[f64; 2]]) -> Judged {
        judge(pairs, BUDGET, 0.95).unwrap()
    }

    /// Counts with this change and noise until the answer is known: the answer, and its pairs.
    /// `shared`: the part of the noise that both counts of a pair have.
    fn followed(draw: &mut ChaCha8Rng, change: f64, noise: f64, shared: f64) -> (CiVerdict, usize) {
        let uniform = |draw: &mut ChaCha8Rng| (draw.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        // About normal, with the standard deviation 1.
        let mut normal = || (0..12).map(|_| uniform(draw)).sum::<f64>() - 6.0;
        let mut pairs = Vec::new();
        loop {
            let (both, own) = (shared.sqrt() * normal(), (1.0 - shared).sqrt());
            pairs.push([0.0, change].map(|change| 1e6 * (1.0 + change) * (noise * (both + own * normal())).exp()));
            let judged = judged(&pairs);
            if judged.wanted <= pairs.len() {
                return (judged.verdict, pairs.len());
            }
        }
    }

    /// Shares of `worse` and of `inconclusive` answers, and the mean number of pairs.
    fn simulated(change: f64, noise: f64, shared: f64) -> [f64; 3] {
        simulated_often(1000, change, noise, shared)
    }

    fn simulated_often(runs: u32, change: f64, noise: f64, shared: f64) -> [f64; 3] {
        let mut draw = ChaCha8Rng::seed_from_u64(42);
        let mut sums = [0; 3];
        for _ in 0..runs {
            let (verdict, pairs) = followed(&mut draw, change, noise, shared);
            let counts = [verdict == CiVerdict::Worse, verdict == CiVerdict::Inconclusive].map(usize::from);
            sums = [sums[0] + counts[0], sums[1] + counts[1], sums[2] + pairs];
        }
        sums.map(|sum| sum as f64 / f64::from(runs))
    }

    #[test]
    fn equal_counts_need_one_pair_and_exact_ones_two() {
        let one = judged(&[[100.0, 100.0]]);
        assert_eq!((one.verdict, one.is_exact, one.wanted), (CiVerdict::Equal, true, 1));
        let open = judged(&[[100.0, 103.0]]);
        assert_eq!((open.verdict, open.wanted), (CiVerdict::Inconclusive, 2));
        for (head, verdict) in [(103.0, CiVerdict::Worse), (100.5, CiVerdict::Within), (97.0, CiVerdict::Better)] {
            let two = judged(&[[100.0, head], [100.0, head]]);
            assert_eq!((two.verdict, two.is_exact, two.wanted), (verdict, true, 2));
        }
        assert_eq!(judged(&[[0.0, 7.0], [0.0, 7.0]]).verdict, CiVerdict::Worse, "from 0");
        assert_eq!(judged(&[[100.0, 103.0], [101.0, 104.0]]).wanted, 3, "the seed makes a difference");
        assert_eq!(judge(&[], BUDGET, 0.95), None);
    }

    #[test]
    fn noise_that_both_commits_share_costs_three_pairs() {
        let judged = judged(&[[100.0, 103.0], [110.0, 113.3], [95.0, 97.85]]);
        assert_eq!((judged.verdict, judged.wanted, judged.detectable), (CiVerdict::Worse, 3, None));
        let [ratio, low, high] = judged.ratio.unwrap();
        assert!((ratio - 1.03).abs() < 1e-6 && low < ratio && ratio < high, "{ratio} {low} {high}");
    }

    #[test]
    fn empty_changes_are_hardly_ever_worse_whatever_the_noise() {
        for noise in [0.0005, 0.002, 0.005, 0.01, 0.03, 0.1] {
            let [worse, ..] = simulated(0.0, noise, 0.0);
            assert!(worse <= 0.01, "{noise}: {worse}");
        }
    }

    #[test]
    fn changes_of_2_and_3_per_cent_are_found_with_few_pairs() {
        // Noise of one count; share of the answer `worse` by changes of 2 and of 3 %; pairs.
        for (noise, found, pairs) in [(0.0005, [1.0, 1.0], 3.2), (0.002, [1.0, 1.0], 4.7), (0.005, [0.98, 1.0], 6.5)] {
            for (change, found) in [0.02, 0.03].into_iter().zip(found) {
                let [worse, _, mean] = simulated(change, noise, 0.0);
                assert!(worse >= found && mean <= pairs, "{change} {noise}: {worse} with {mean} pairs");
            }
            let [_, open, mean] = simulated(0.0, noise, 0.0);
            assert!(open <= 0.15 && mean <= 7.2, "an empty change, {noise}: {open} with {mean} pairs");
        }
        let [worse, _, mean] = simulated(0.02, 0.03, 0.999);
        assert!(worse > 0.99 && mean < 5.0, "shared noise: {worse} with {mean} pairs");
    }

    #[test]
    #[ignore = "prints the table of docs/METHODOLOGY-APPENDIX.md"]
    fn the_table_of_the_appendix() {
        for noise in [0.0005, 0.002, 0.005, 0.01, 0.03, 0.1] {
            let cell = |change: f64| {
                let [worse, open, pairs] = simulated_often(4000, change, noise, 0.0);
                format!("{:.1} / {:.0} % / {:.1}", 100.0 * worse, 100.0 * open, 2.0 * pairs)
            };
            println!("| {:.2} % | {} |", 100.0 * noise, [0.0, 0.01, 0.02, 0.03, 0.1].map(cell).join(" | "));
        }
    }

    #[test]
    fn hopeless_noise_ends_early_and_says_what_it_would_show() {
        let [_, open, mean] = simulated(0.0, 0.1, 0.0);
        assert!(open > 0.95 && mean < 5.6, "{open} with {mean} pairs");
        let wild = judged(&[[100.0, 130.0], [140.0, 90.0], [80.0, 120.0], [100.0, 95.0]]);
        assert_eq!((wild.verdict, wild.wanted), (CiVerdict::Inconclusive, 4));
        assert!(wild.detectable.unwrap() > 0.5, "{wild:?}");
    }
}
