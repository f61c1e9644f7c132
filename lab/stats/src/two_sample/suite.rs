//! Comparison of all workloads of a suite at once, corrected for their number.

use super::answer::{AnswerInput, Answered};
use super::cautions::cautions;
use super::holm::{Decision, holm};
use super::interleaving::are_interleaved;
use super::means::mean;
use super::samples::{Samples, TwoSampleError, Workload};
use super::units::{Boots, Pairing, Placed, Units, units};
use super::{bootstrap, pairwise, rank_test, signed_rank, welch};
use crate::median::{median_of_sorted, sorted};
use crate::said::Said;
use crate::thresholds::{BOOTSTRAP_UNITS, COVERAGE, MARGIN, POWER};
use crate::unmatched::Letter;
use crate::workload_comparison::{Bounded, Caution, Inconclusive, Method, Side, SuiteComparison, WorkloadComparison};
use faultline_record::direction::Direction;

/// Settings of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Familywise confidence level of differences and of equalities; also the coverage of single
    /// intervals.
    pub level: f64,
    /// Margin of equality, as a share: sides whose ratio lies within [1/(1 + margin), 1 + margin]
    /// count as equal.
    pub margin: f64,
    /// Assume the same conditions for sides that were not measured alternately.
    pub assume_quiet: bool,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Number of bootstrap draws; larger if a level requires it; 0 for no bootstrap intervals.
    pub resamples: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { level: COVERAGE, margin: MARGIN, assume_quiet: false, seed: 1, resamples: 2000 }
    }
}

/// Compares every workload of a suite. Differences are corrected for the number of workloads by
/// Holm's procedure, equalities by Bonferroni's. Each interval has the level at which its workload
/// was decided.
///
/// Fails if the level is out of range, without workloads, and for a value without a usable ratio.
pub fn compare(workloads: &[Workload], settings: &Settings) -> Result<SuiteComparison, TwoSampleError> {
    if !(settings.level > 0.5 && settings.level < 1.0) {
        return Err(TwoSampleError::Level(settings.level));
    }
    if workloads.is_empty() {
        return Err(TwoSampleError::Nothing);
    }
    for workload in workloads {
        workload.a.check(&workload.name, Letter::A)?;
        workload.b.check(&workload.name, Letter::B)?;
    }
    let alpha = 1.0 - settings.level;
    let tested: Vec<Tested> =
        workloads.iter().map(|workload| Tested::new(workload, alpha / workloads.len() as f64)).collect();
    let chances: Vec<f64> = tested.iter().filter_map(|tested| tested.p).collect();
    let mut decisions = holm(&chances, alpha).into_iter();
    let compared: Vec<WorkloadComparison> = tested
        .iter()
        .map(|tested| {
            let decision = tested.p.and_then(|_| decisions.next());
            tested.answered(decision, settings)
        })
        .collect();
    let holds = |compared: &WorkloadComparison| matches!(compared.inconclusive, None | Some(Inconclusive::PastMargin));
    let improvement = compared.iter().all(holds).then(|| improvement(&tested, alpha)).flatten();
    Ok(SuiteComparison {
        format: SuiteComparison::FORMAT.to_owned(),
        level: settings.level,
        seed: settings.seed,
        resamples: settings.resamples,
        workloads: compared,
        improvement,
    })
}

/// A workload with its test result, before the correction for the other workloads.
struct Tested<'a> {
    workload: &'a Workload,
    units: Units,
    /// Values of each side, and their logarithms, ascending.
    a: Vec<f64>,
    b: Vec<f64>,
    log_a: Vec<f64>,
    log_b: Vec<f64>,
    /// Differences within blocks, of the values and of their logarithms, ascending; empty without
    /// blocks.
    differences: Vec<f64>,
    log_differences: Vec<f64>,
    /// Significance level of the workload.
    alpha: f64,
    method: Method,
    p: Option<f64>,
}

impl<'a> Tested<'a> {
    /// `alpha`: the workload's significance level, independent of the other results.
    fn new(workload: &'a Workload, alpha: f64) -> Self {
        let units = units(&workload.a, &workload.b);
        let values = |side: &[Placed]| sorted(&side.iter().map(|placed| placed.value).collect::<Vec<_>>());
        let (a, b) = (values(&units.a), values(&units.b));
        let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
        let (log_a, log_b) = (logarithms(&a), logarithms(&b));
        let (differences, log_differences) = differences(&units);
        let method = method(units.pairing, [a.len(), b.len()], alpha);
        let p = match (units.boots, method) {
            (Boots::Confounded, _) | (_, Method::None) => None,
            (_, Method::SignedRanks) => Some(signed_rank::chance(&log_differences)),
            (_, Method::Ranks) => Some(rank_test::chance(&a, &b)),
            (_, Method::Welch) => Some(welch::difference(&log_a, &log_b).chance()),
        };
        Tested { workload, units, a, b, log_a, log_b, differences, log_differences, alpha, method, p }
    }

    fn answered(&self, decision: Option<Decision>, settings: &Settings) -> WorkloadComparison {
        let alpha = decision.filter(|decision| decision.rejected).map_or(self.alpha, |decision| decision.alpha);
        let ratio = self.ratio(alpha);
        let Answered { answer, inconclusive, within_margin } = AnswerInput {
            boots: self.units.boots,
            method: self.method,
            rejected: decision.is_some_and(|decision| decision.rejected),
            ratio,
            ratio_by_bonferroni: self.ratio(self.alpha),
            may_be_compared: self.may_be_compared(settings),
        }
        .answered(self.workload.direction, settings.margin);
        WorkloadComparison {
            name: self.workload.name.clone(),
            unit: self.workload.unit.clone(),
            direction: self.workload.direction,
            a: side(&self.workload.a, &self.a, self.workload.direction),
            b: side(&self.workload.b, &self.b, self.workload.direction),
            independent: self.units.unit,
            method: self.method,
            answer,
            inconclusive,
            margin: settings.margin,
            within_margin,
            p: self.p,
            p_corrected: decision.map(|decision| decision.p_corrected),
            ratio,
            shift: self.shift(alpha),
            ratio_of_medians: self.ratio_of_medians(alpha, settings),
            detectable: self.p.and_then(|_| self.detectable(alpha)),
            cautions: self.cautions(),
        }
    }

    /// True if the conditions can be assumed to be the same for both sides: measured alternately,
    /// in independent boots, on a machine known to have been quiet, or on one assumed to be quiet.
    fn may_be_compared(&self, settings: &Settings) -> bool {
        let is_quiet = self.workload.a.conditions.is_quiet() && self.workload.b.conditions.is_quiet();
        settings.assume_quiet || is_quiet || self.units.boots == Boots::Several || are_interleaved(&self.units)
    }

    fn cautions(&self) -> Vec<Said<Caution>> {
        cautions(self.workload, &self.units, self.method, self.alpha).into_iter().map(Said::from).collect()
    }

    fn ratio(&self, alpha: f64) -> Option<Bounded> {
        let (value, low, high) = match self.method {
            Method::SignedRanks => signed_rank::shift(&self.log_differences, alpha)?,
            Method::Ranks => rank_test::shift(&self.log_a, &self.log_b, alpha)?,
            Method::Welch => {
                let difference = welch::difference(&self.log_a, &self.log_b);
                let half_width = difference.half_width(alpha);
                (difference.mean, difference.mean - half_width, difference.mean + half_width)
            }
            Method::None => return None,
        };
        representable(Bounded { value: value.exp(), low: low.exp(), high: high.exp(), level: 1.0 - alpha })
    }

    fn shift(&self, alpha: f64) -> Option<Bounded> {
        let (value, low, high) = match self.method {
            Method::SignedRanks => signed_rank::shift(&self.differences, alpha)?,
            Method::Ranks => rank_test::shift(&self.a, &self.b, alpha)?,
            Method::Welch | Method::None => return None,
        };
        Some(Bounded { value, low, high, level: 1.0 - alpha })
    }

    fn ratio_of_medians(&self, alpha: f64, settings: &Settings) -> Option<Bounded> {
        if settings.resamples == 0 || self.a.len().min(self.b.len()) < BOOTSTRAP_UNITS {
            return None;
        }
        let value = median_of_sorted(&self.b)? / median_of_sorted(&self.a)?;
        let (low, high) = bootstrap::ratio_of_medians(&self.a, &self.b, alpha, settings.resamples, settings.seed);
        Some(Bounded { value, low, high, level: 1.0 - alpha })
    }

    fn detectable(&self, alpha: f64) -> Option<f64> {
        let shift = match self.method {
            Method::SignedRanks => signed_rank::detectable(&self.log_differences, alpha, POWER)?,
            Method::Ranks => pairwise::detectable_shift(&self.log_a, &self.log_b, alpha, POWER)?,
            Method::Welch => welch::difference(&self.log_a, &self.log_b).detectable(alpha, POWER),
            Method::None => return None,
        };
        Some(shift.exp()).filter(|ratio| ratio.is_finite())
    }
}

/// The test for this number of units per side. With blocks only pairs decide, because values of
/// different blocks are not exchangeable.
fn method(pairing: Pairing, [a, b]: [usize; 2], alpha: f64) -> Method {
    match pairing {
        Pairing::Pairs if signed_rank::can_decide(a, alpha) => Method::SignedRanks,
        Pairing::Pairs | Pairing::NoPair => Method::None,
        Pairing::Unblocked if rank_test::can_decide(a, b, alpha) => Method::Ranks,
        Pairing::Unblocked if welch::can_decide(a, b, alpha) => Method::Welch,
        Pairing::Unblocked => Method::None,
    }
}

/// `None` if an end of the ratio's interval, or its inverse, is not representable: so wide an
/// interval is useless.
fn representable(ratio: Bounded) -> Option<Bounded> {
    [ratio.value, ratio.low, ratio.high].iter().all(|end| end.is_normal() && *end > 0.0).then_some(ratio)
}

/// The differences within blocks, of the values and of their logarithms, ascending.
fn differences(units: &Units) -> (Vec<f64>, Vec<f64>) {
    if units.pairing != Pairing::Pairs {
        return (Vec::new(), Vec::new());
    }
    let pairs = || units.a.iter().zip(&units.b).map(|(a, b)| (a.value, b.value));
    let plain: Vec<f64> = pairs().map(|(a, b)| b - a).collect();
    let logarithms: Vec<f64> = pairs().map(|(a, b)| (b / a).ln()).collect();
    (sorted(&plain), sorted(&logarithms))
}

fn side(samples: &Samples, values: &[f64], direction: Direction) -> Side {
    let runs: Vec<f64> = samples.runs().filter_map(|run| crate::median::median(&run.intervals)).collect();
    Side {
        boots: samples.boots.len() as u32,
        runs: runs.len() as u32,
        intervals: samples.runs().map(|run| run.intervals.len() as u32).sum(),
        units: values.len() as u32,
        median: median_of_sorted(values).expect("checked: a side has a value"),
        mean: mean(&runs, direction).expect("checked: a side has a value"),
    }
}

/// Geometric mean of the improvements. The mean of the intervals' ends is a valid interval for any
/// dependence between the workloads: the variance of a mean is largest if all move together.
fn improvement(tested: &[Tested<'_>], alpha: f64) -> Option<Bounded> {
    let improvement = |tested: &Tested<'_>| {
        let ratio = tested.ratio(alpha).filter(|_| tested.p.is_some())?;
        let ends = [ratio.value.ln(), ratio.low.ln(), ratio.high.ln()];
        Some(match tested.workload.direction {
            Direction::Higher => ends,
            Direction::Lower => [-ends[0], -ends[2], -ends[1]],
        })
    };
    let all: Vec<[f64; 3]> = tested.iter().map(improvement).collect::<Option<_>>()?;
    let [value, low, high] =
        [0, 1, 2].map(|end| (all.iter().map(|ends| ends[end]).sum::<f64>() / all.len() as f64).exp());
    Some(Bounded { value, low, high, level: 1.0 - alpha })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{Boot, Conditions, Run};
    use super::*;
    use crate::workload_comparison::{Answer, CautionCode, FewUnits, NotQuiet, Unit};
    use proptest::prelude::*;

    fn workload(direction: Direction, a: &[f64], b: &[f64]) -> Workload {
        let (a, b) = (Samples::of_values(a), Samples::of_values(b));
        Workload { name: "load".to_owned(), unit: "s".to_owned(), direction, a, b }
    }

    /// Settings for plain values, which have no order in time.
    fn trusting() -> Settings {
        Settings { assume_quiet: true, ..Settings::default() }
    }

    fn only(workload: Workload) -> WorkloadComparison {
        compare(&[workload], &trusting()).unwrap().workloads.remove(0)
    }

    fn booted(values: &[(&str, f64)]) -> Samples {
        let boot = |&(id, value): &(&str, f64)| Boot {
            id: Some(id.to_owned()),
            runs: vec![Run { order: None, block: None, intervals: vec![value] }],
        };
        Samples { boots: values.iter().map(boot).collect(), ..Samples::default() }
    }

    const A: [f64; 6] = [10.0, 10.1, 10.2, 9.9, 9.8, 10.05];
    const B: [f64; 6] = [8.0, 8.1, 8.2, 7.9, 7.8, 8.05];

    #[test]
    fn faster_and_slower_go_by_the_direction() {
        assert_eq!(only(workload(Direction::Lower, &A, &B)).answer, Answer::Faster);
        assert_eq!(only(workload(Direction::Higher, &A, &B)).answer, Answer::Slower);
        let same = only(workload(Direction::Higher, &A, &A));
        assert_eq!((same.answer, same.inconclusive), (Answer::Inconclusive, Some(Inconclusive::PastMargin)));
        assert!(same.detectable.unwrap() > 1.01 && same.detectable.unwrap() < 1.05, "{same:?}");
    }

    #[test]
    fn equality_goes_by_the_margin_and_by_the_number_of_workloads() {
        let close = || workload(Direction::Lower, &A.map(|a| 10.0 + a / 20.0), &A.map(|a| 10.0 + a / 20.0));
        let answers = |margin: f64, workloads: usize| -> Vec<Answer> {
            let suite = compare(&vec![close(); workloads], &Settings { margin, ..trusting() }).unwrap();
            suite.workloads.iter().map(|workload| workload.answer).collect()
        };
        let ratio = only(close()).ratio.unwrap();
        let margin = (ratio.high - 1.0).max(1.0 / ratio.low - 1.0);
        assert_eq!(answers(margin * 1.001, 1), [Answer::Equal]);
        assert_eq!(answers(margin * 0.999, 1), [Answer::Inconclusive]);
        assert_eq!(answers(margin * 1.001, 9), [Answer::Inconclusive; 9], "each at a ninth of the error");
    }

    #[test]
    fn a_difference_between_sides_that_were_not_measured_in_turns_is_none() {
        let apart = || workload(Direction::Lower, &A, &B);
        let untrusting = |workload: Workload| compare(&[workload], &Settings::default()).unwrap().workloads.remove(0);
        let compared = untrusting(apart());
        assert_eq!(compared.inconclusive, Some(Inconclusive::NotInterleaved));
        assert_eq!(compared.ratio, only(apart()).ratio, "the estimate is shown");
        assert!(compared.cautions.iter().any(|caution| caution.code() == CautionCode::NotInterleaved));
        assert_eq!(compare(&[apart()], &Settings::default()).unwrap().improvement, None);

        let mut in_turns = apart();
        for (side, first) in [(&mut in_turns.a, 0), (&mut in_turns.b, 1)] {
            let runs = side.boots[0].runs.iter_mut().zip(0..);
            runs.for_each(|(run, place): (_, u64)| run.order = Some(2 * place + first));
        }
        assert_eq!(untrusting(in_turns).answer, Answer::Faster);

        let mut quiet = apart();
        quiet.a.conditions = Conditions { is_recorded: true, ..Conditions::default() };
        assert_eq!(untrusting(quiet.clone()).answer, Answer::Inconclusive, "of one side nothing is known");
        let why = |workload: Workload| {
            let cautions = untrusting(workload).cautions;
            cautions.into_iter().find_map(|caution| match caution.what {
                Caution::NotInterleaved { not_quiet } => Some(not_quiet),
                _ => None,
            })
        };
        assert_eq!(why(quiet.clone()), Some(vec![NotQuiet::NotRecorded]));
        quiet.b.conditions = quiet.a.conditions;
        assert_eq!(untrusting(quiet.clone()).answer, Answer::Faster);
        assert_eq!(why(quiet.clone()), Some(vec![]));
        quiet.b.conditions.others_cpus = Some(0.4);
        assert_eq!(untrusting(quiet.clone()).answer, Answer::Inconclusive);
        quiet.a.conditions.changes_frequency = true;
        assert_eq!(why(quiet), Some(vec![NotQuiet::Load, NotQuiet::Frequency]), "of either side");

        let mut boots = apart();
        (boots.a, boots.b) =
            (booted(&[("1", 10.0), ("2", 10.1), ("3", 9.9)]), booted(&[("4", 8.0), ("5", 8.1), ("6", 7.9)]));
        assert_eq!(untrusting(boots).answer, Answer::Faster, "boots are independent of each other");
    }

    #[test]
    fn one_boot_each_is_inconclusive_however_far_apart() {
        let mut one = workload(Direction::Lower, &A, &B);
        one.a.boots[0].id = Some("first".to_owned());
        one.b.boots[0].id = Some("second".to_owned());
        let compared = only(one);
        assert_eq!((compared.answer, compared.p), (Answer::Inconclusive, None));
        assert_eq!(compared.inconclusive, Some(Inconclusive::ConfoundedBoots));
        assert!(compared.ratio.unwrap().high < 0.85, "the interval within these boots is told");
        assert!(compared.cautions.iter().any(|caution| caution.code() == CautionCode::OneBoot));
    }

    #[test]
    fn three_boots_each_are_distinguished_by_welch_and_two_not() {
        let mut few = workload(Direction::Lower, &A, &B);
        few.a = booted(&[("1", 10.0), ("2", 10.1), ("3", 9.9)]);
        few.b = booted(&[("4", 8.0), ("5", 8.1), ("6", 7.9)]);
        let compared = only(few.clone());
        assert_eq!(
            (compared.independent, compared.method, compared.answer),
            (Unit::Boot, Method::Welch, Answer::Faster)
        );
        few.b.boots.pop();
        assert_eq!(only(few).answer, Answer::Inconclusive);
    }

    fn blocked(values: &[f64]) -> Samples {
        let run = |(block, &value)| Run { order: None, block: Some(block), intervals: vec![value] };
        let boot = Boot { id: Some("one".to_owned()), runs: (0..).zip(values).map(run).collect() };
        Samples { boots: vec![boot], ..Samples::default() }
    }

    /// A trend common to both sides hides a difference from a test without blocks.
    #[test]
    fn blocks_take_away_what_both_sides_share() {
        let a: Vec<f64> = (0..12).map(|i| 10.0 * 1.3f64.powi(i)).collect();
        let b: Vec<f64> = (0..12).map(|i| a[i as usize] * (1.05 + 0.001 * f64::from(i * 5 % 12))).collect();
        let mut rising = workload(Direction::Higher, &a, &b);
        assert_eq!(only(rising.clone()).answer, Answer::Inconclusive);
        (rising.a, rising.b) = (blocked(&a), blocked(&b));
        let compared = only(rising.clone());
        assert_eq!((compared.method, compared.answer), (Method::SignedRanks, Answer::Faster));
        let ratio = compared.ratio.unwrap();
        assert!(1.05 <= ratio.low && ratio.high <= 1.062 && compared.detectable.unwrap() < 1.01, "{compared:?}");
    }

    /// A test that ignores the blocks would not be exact within them.
    #[test]
    fn too_few_blocks_decide_nothing_and_the_needed_number_is_reported() {
        let few = |few: Workload| {
            let compared = only(few);
            assert_eq!((compared.method, compared.answer, compared.p), (Method::None, Answer::Inconclusive, None));
            assert_eq!((compared.ratio, compared.detectable), (None, None));
            let caution = compared.cautions.iter().find(|caution| caution.code() == CautionCode::FewUnits).unwrap();
            caution.what.clone()
        };
        let mut five = workload(Direction::Lower, &[], &[]);
        (five.a, five.b) = (blocked(&A[..5]), blocked(&B[..5]));
        let few_pairs = |pairs| Caution::FewUnits(FewUnits::Pairs { pairs, needed: 6 });
        assert_eq!(few(five.clone()), few_pairs(5));
        // Each as a separate boot.
        for (side, samples) in [("a", &mut five.a), ("b", &mut five.b)] {
            let runs = samples.boots.remove(0).runs.into_iter().enumerate();
            samples.boots =
                runs.map(|(boot, run)| Boot { id: Some(format!("{side}{boot}")), runs: vec![run] }).collect();
        }
        assert_eq!(few(five), few_pairs(5));
        // The first side fails in all blocks in which the second succeeds.
        let mut apart = workload(Direction::Lower, &[], &[]);
        (apart.a, apart.b) = (blocked(&A), blocked(&B));
        apart.b.boots[0].runs.iter_mut().for_each(|run| run.block = run.block.map(|block| block + 6));
        assert_eq!(few(apart), few_pairs(0));
    }

    #[test]
    fn the_suite_has_a_mean_and_a_correction() {
        let both = [workload(Direction::Lower, &A, &B), workload(Direction::Higher, &B, &A)];
        let suite = compare(&both, &trusting()).unwrap();
        assert!((suite.improvement.unwrap().value - 1.25).abs() < 0.01);
        for compared in &suite.workloads {
            assert!(compared.p_corrected > compared.p && compared.answer == Answer::Faster);
        }
    }

    #[test]
    fn what_is_no_number_above_nought_is_refused_by_name() {
        let error = compare(&[workload(Direction::Lower, &A, &[1.0, 0.0])], &Settings::default()).unwrap_err();
        assert_eq!(error.to_string(), "load: the value 0.0 of the second side has no usable ratio");
        assert_eq!(compare(&[], &Settings::default()), Err(TwoSampleError::Nothing));
        let vast = compare(&[workload(Direction::Lower, &[1.0, 1e308], &A)], &Settings::default()).unwrap_err();
        assert_eq!(vast.to_string(), "load: the value 1e308 of the first side has no usable ratio");
        let hollow = workload(Direction::Lower, &A, &[]);
        assert!(matches!(compare(&[hollow], &Settings::default()), Err(TwoSampleError::Empty { side: Letter::B, .. })));
    }

    fn figures(compared: &WorkloadComparison) -> Vec<f64> {
        let intervals = [compared.ratio, compared.shift, compared.ratio_of_medians].into_iter().flatten();
        let sides = [compared.a.median, compared.a.mean, compared.b.median, compared.b.mean];
        intervals.flat_map(|it| [it.value, it.low, it.high]).chain(sides).chain(compared.detectable).collect()
    }

    #[test]
    fn an_interval_whose_inverse_is_infinite_gives_no_ratio() {
        let powers = |powers: [f64; 3]| powers.map(|power| 10f64.powf(power));
        let wide = workload(Direction::Lower, &powers([100.088, -65.605, 143.825]), &powers([0.0, 25.121, 0.0]));
        let suite = compare(&[wide], &Settings::default()).unwrap();
        assert_eq!((suite.workloads[0].ratio, suite.improvement), (None, None));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_figure_is_finite_however_far_apart_values_are(
            a in proptest::collection::vec(-150f64..150.0, 3..14),
            b in proptest::collection::vec(-150f64..150.0, 3..14),
            in_blocks in any::<bool>(),
        ) {
            let [a, b] = [a, b].map(|powers| powers.iter().map(|power| 10f64.powf(*power)).collect::<Vec<_>>());
            let mut wild = workload(Direction::Higher, &a, &b);
            if in_blocks {
                (wild.a, wild.b) = (blocked(&a), blocked(&b));
            }
            for direction in [Direction::Higher, Direction::Lower] {
                let suite = compare(&[Workload { direction, ..wild.clone() }], &Settings::default()).unwrap();
                let overall = suite.improvement.map(|it| [it.value, it.low, it.high]);
                let mut figures = figures(&suite.workloads[0]).into_iter().chain(overall.into_iter().flatten());
                prop_assert!(figures.all(|figure| figure.is_finite()), "{:?}", suite);
            }
        }

        #[test]
        fn another_scale_changes_no_ratio(
            a in proptest::collection::vec(1.0f64..2.0, 4..14),
            b in proptest::collection::vec(1.0f64..3.0, 4..14),
            power in -30i32..30,
        ) {
            let scaled = |values: &[f64]| values.iter().map(|value| value * 2f64.powi(power)).collect::<Vec<_>>();
            let plain = only(workload(Direction::Higher, &a, &b));
            let other = only(workload(Direction::Higher, &scaled(&a), &scaled(&b)));
            prop_assert_eq!((plain.answer, plain.p, plain.ratio_of_medians), (other.answer, other.p, other.ratio_of_medians));
            let (plain, other) = (plain.ratio.unwrap(), other.ratio.unwrap());
            prop_assert!((plain.low / other.low - 1.0).abs() < 1e-12 && (plain.high / other.high - 1.0).abs() < 1e-12);
        }

        #[test]
        fn the_sides_swapped_mirror_the_answer(
            a in proptest::collection::vec(1.0f64..2.0, 3..14),
            b in proptest::collection::vec(1.0f64..3.0, 3..14),
        ) {
            let there = only(workload(Direction::Higher, &a, &b));
            let back = only(workload(Direction::Higher, &b, &a));
            let mirrored = match there.answer {
                Answer::Faster => Answer::Slower,
                Answer::Slower => Answer::Faster,
                other => other,
            };
            prop_assert_eq!(back.answer, mirrored);
            if let (Some(there), Some(back)) = (there.ratio, back.ratio) {
                prop_assert!((there.low * back.high - 1.0).abs() < 1e-9 && (there.value * back.value - 1.0).abs() < 1e-9);
            }
        }
    }
}
