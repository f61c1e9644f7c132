//! The part of a history's step that remains in random layouts of commits on both sides: decides
//! between code and layout.
//!
//! A step is found in the linker's own layouts; random layouts have no part in that, so they test
//! it with fresh values. Layouts are the sample: the executions of a layout are averaged first, on
//! both sides, and its difference is divided by the step. Wilcoxon's signed ranks then give an
//! interval that needs no shape of noise, and that is as wide as layouts differ.
//! docs/METHODOLOGY.md, §18.

use super::scatter::{CommitScatter, RunScatter, Sides, between_layouts, mean, within};
use crate::bisect::{AgainstHalf, LABEL_ERROR, LayoutsTried, code_or_layout};
use crate::history::HistoryStep;
use crate::history::causes::{LayoutResults, ShareOfStep, StepLayouts};
use crate::two_sample::sign_shift;
use std::collections::BTreeMap;

/// One minus the confidence level of the shown interval.
const SHOWN_ERROR: f64 = 0.05;

/// The evidence of random layouts about a step; `None` if no run tried them on both sides. `least`:
/// the smallest change that is a step, as a share.
pub(super) fn step_layouts(step: &HistoryStep, sides: &Sides, runs: &[RunScatter], least: f64) -> Option<StepLayouts> {
    let of_runs: Vec<[Vec<&CommitScatter>; 2]> = runs.iter().map(|run| sides.of_run(run).map(tried_only)).collect();
    let has_both = |sides: &[Vec<&CommitScatter>; 2]| sides.iter().all(|side| !side.is_empty());
    let of_runs: Vec<[Vec<&CommitScatter>; 2]> = of_runs.into_iter().filter(has_both).collect();
    let commits: Vec<&CommitScatter> = of_runs.iter().flatten().flatten().copied().collect();
    let results = || commits.iter().filter_map(|commit| commit.layouts.as_ref());
    let greatest = |of: fn(&LayoutResults) -> u32| results().map(of).max();
    let tried = greatest(|layouts| layouts.tried)?;
    let mut shares = shares(step, &of_runs);
    shares.sort_by(f64::total_cmp);
    // Exact values do not vary.
    let within = if step.status.is_none() { Some(0.0) } else { within(&commits) };
    let between = within.and_then(|within| between_layouts(&commits, within));
    let deviation = |variance: f64| variance.max(0.0).sqrt();
    let remains = sign_shift(&shares, SHOWN_ERROR).map(|(share, low, high)| ShareOfStep { share, low, high });
    let of_commits = change_of_commits(step, &shares);
    Some(StepLayouts {
        label: code_or_layout(AgainstHalf::of_shares(&shares)),
        remains,
        of_commits,
        is_no_step: of_commits.is_some_and(|part| is_no_step(step, &part, least)),
        tried: LayoutsTried {
            tried,
            distinct: shares.len() as u32,
            unchanged: greatest(|layouts| layouts.unchanged)?,
            failed: greatest(|layouts| layouts.failed)?,
            between: between.map(deviation),
            within: within.map(deviation),
        },
    })
}

/// The remaining part of a step as a change of the level before it. `shares` ascend.
fn change_of_commits(step: &HistoryStep, shares: &[f64]) -> Option<ShareOfStep> {
    let whole = (step.to - step.from) / step.from.abs();
    let (share, low, high) = sign_shift(shares, LABEL_ERROR)?;
    let [low, high] = [low * whole, high * whole];
    whole.is_finite().then(|| ShareOfStep { share: share * whole, low: low.min(high), high: low.max(high) })
}

/// True if a change is certainly no step in the direction of this one; one in the other direction
/// is none.
fn is_no_step(step: &HistoryStep, change: &ShareOfStep, least: f64) -> bool {
    let greatest = if step.to > step.from { change.high } else { -change.low };
    greatest < least
}

/// The commits with tried layouts.
fn tried_only(commits: Vec<&CommitScatter>) -> Vec<&CommitScatter> {
    commits.into_iter().filter(|commit| commit.layouts.is_some()).collect()
}

/// The difference between the sides in each layout executed on both sides, as a share of the step.
/// The mean over several runs.
fn shares(step: &HistoryStep, of_runs: &[[Vec<&CommitScatter>; 2]]) -> Vec<f64> {
    let whole = step.to - step.from;
    let mut by_layout: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for sides in of_runs {
        let [before, after] = sides.each_ref().map(|side| levels(side));
        for (layout, level) in after {
            if let Some(before) = before.get(&layout) {
                by_layout.entry(layout).or_default().push((level - before) / whole);
            }
        }
    }
    let shares = by_layout.into_values().map(|of_layout| mean(&of_layout));
    shares.filter(|share| share.is_finite()).collect()
}

/// The mean value of commits in each layout.
fn levels(commits: &[&CommitScatter]) -> BTreeMap<u32, f64> {
    let mut by_layout: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for sample in commits.iter().filter_map(|commit| commit.layouts.as_ref()).flat_map(|layouts| &layouts.samples) {
        by_layout.entry(sample.layout).or_default().push(sample.value);
    }
    by_layout.into_iter().map(|(layout, values)| (layout, mean(&values))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::StepLabel;
    use crate::history::causes::LayoutSample;
    use crate::history::{CommitOutcome, CommitResult, HistoryResults, HistoryRun, StepSettings, example, series};
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    const COMMITS: u32 = 24;
    const LAYOUTS: u32 = 12;

    /// Executions of a commit in its own layout.
    const EXECUTIONS: usize = 13;

    /// The commit with the step.
    const AT: u32 = 12;

    /// A history with a step. All as differences of logarithms.
    struct World {
        /// Change of the code's value at the step.
        code: f64,
        /// Change of the effect of the linker's own layout at the step.
        own_layout: f64,
        /// Standard deviation between random layouts.
        between: f64,
        /// Standard deviation between executions.
        within: f64,
    }

    /// A stream of numbers with a normal distribution.
    struct Normal(ChaCha8Rng);

    impl Normal {
        fn next(&mut self) -> f64 {
            let uniform = |random: &mut ChaCha8Rng| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            (0..12).map(|_| uniform(&mut self.0)).sum::<f64>() - 6.0
        }
    }

    /// The results of such a history's run. All commits on one side have the same random layouts,
    /// as if each changed only comments.
    fn step_of(seed: u64, world: &World) -> Option<HistoryStep> {
        let mut normal = Normal(ChaCha8Rng::seed_from_u64(seed));
        let layouts: [Vec<f64>; 2] = [0, 1].map(|_| (0..LAYOUTS).map(|_| world.between * normal.next()).collect());
        let mut commits = Vec::new();
        for position in 0..COMMITS {
            let side = usize::from(position >= AT);
            let code = if side == 1 { world.code } else { 0.0 };
            let own = if side == 1 { world.own_layout } else { 0.0 };
            let values = (0..EXECUTIONS).map(|_| (code + own + world.within * normal.next()).exp()).collect();
            let sample = |layout: u32| {
                let value = (code + layouts[side][layout as usize] + world.within * normal.next()).exp();
                LayoutSample { layout, boot: 0, value }
            };
            let samples = (0..LAYOUTS).map(sample).collect();
            let layouts = Some(LayoutResults { tried: LAYOUTS, unchanged: 0, failed: 0, samples });
            let outcome = CommitOutcome::Measured { values, same_as: None, boots: Vec::new(), layouts };
            commits.push(CommitResult { commit: example::commit(position).id, outcome });
        }
        let results = HistoryResults { commits, ..HistoryResults::default() };
        let record = example::begun(&(0..COMMITS).collect::<Vec<_>>(), EXECUTIONS as u32);
        let runs = [HistoryRun { head: &record.head, results: &results }];
        let found = series(&runs, &[], &StepSettings::default()).unwrap().unwrap();
        found.steps.steps.into_iter().find(|step| step.earliest < AT && AT <= step.latest)
    }

    /// The step in a hundred histories, of those in which it is found.
    fn steps(world: &World) -> Vec<HistoryStep> {
        let steps: Vec<HistoryStep> = (0..100).filter_map(|seed| step_of(seed, world)).collect();
        assert!(steps.len() >= 90, "the step is found in {} of 100", steps.len());
        steps
    }

    /// The labels of these steps.
    fn labels(world: &World) -> Vec<StepLabel> {
        steps(world).iter().map(|step| step.layouts.unwrap().label).collect()
    }

    fn count(labels: &[StepLabel], label: StepLabel) -> usize {
        labels.iter().filter(|one| **one == label).count()
    }

    /// At 99 % for each label, four of a hundred are wrong with a probability below 2 %.
    const WRONG: usize = 4;

    #[test]
    fn a_step_of_the_layout_alone_is_not_called_code() {
        for between in [0.005, 0.02, 0.1] {
            let labels = labels(&World { code: 0.0, own_layout: 0.1, between, within: 0.01 });
            assert!(count(&labels, StepLabel::Code) <= WRONG, "{between}: {labels:?}");
            if between <= 0.02 {
                assert!(count(&labels, StepLabel::Layout) >= 90, "{between}: {labels:?}");
            }
        }
    }

    #[test]
    fn a_step_of_which_the_code_made_a_part_is_not_settled_by_its_layout() {
        // The code made 4 of the 10 %: a regression of its own.
        let steps_of =
            |code: f64, spread: f64| steps(&World { code, own_layout: 0.1 - code, between: spread, within: spread });
        let settled = |steps: &[HistoryStep]| steps.iter().filter(|step| step.is_settled()).count();
        let in_part = steps_of(0.04, 0.005);
        assert!(settled(&in_part) <= WRONG, "{} are settled", settled(&in_part));
        let is_mostly_layout = |step: &&HistoryStep| step.layouts.unwrap().is_mostly_layout();
        assert!(in_part.iter().filter(is_mostly_layout).count() >= 80, "{in_part:?}");
        let covered = in_part.iter().filter(|step| {
            let part = step.layouts.unwrap().of_commits.unwrap();
            // The logarithm of 4 %, of a level that the step's noise moves little.
            (part.low..=part.high).contains(&0.04f64.exp_m1())
        });
        assert!(covered.count() >= in_part.len() - WRONG, "{in_part:?}");
        // Differences between layouts must be more precise than the least change, 1 %, to show that
        // nothing remains.
        assert!(settled(&steps_of(0.0, 0.002)) >= 90);
        assert_eq!(settled(&steps_of(0.012, 0.002)), 0, "12 in a thousand are a step too");
    }

    #[test]
    fn a_label_needs_as_many_layouts_as_an_interval_at_its_level() {
        let is_enough =
            |number: u32| sign_shift(&(0..number).map(f64::from).collect::<Vec<_>>(), LABEL_ERROR).is_some();
        assert_eq!([StepLayouts::FEWEST - 1, StepLayouts::FEWEST].map(is_enough), [false, true]);
    }

    #[test]
    fn a_change_in_the_other_direction_is_no_step_in_this_one() {
        let step = step_of(1, &World { code: 0.1, own_layout: 0.0, between: 0.005, within: 0.005 }).unwrap();
        let part = |low: f64, high: f64| ShareOfStep { share: (low + high) / 2.0, low, high };
        assert!(is_no_step(&step, &part(-0.05, 0.009), 0.01));
        assert!(!is_no_step(&step, &part(-0.05, 0.01), 0.01));
        let better = HistoryStep { from: step.to, to: step.from, ..step };
        assert!(is_no_step(&better, &part(-0.009, 0.05), 0.01));
        assert!(!is_no_step(&better, &part(-0.02, 0.05), 0.01));
    }

    #[test]
    fn a_step_of_the_code_is_called_so_whatever_the_own_layout_does() {
        for own_layout in [-0.02, 0.0, 0.05] {
            let labels = labels(&World { code: 0.1, own_layout, between: 0.01, within: 0.01 });
            assert!(count(&labels, StepLabel::Layout) <= WRONG, "{labels:?}");
            assert!(count(&labels, StepLabel::Code) >= 90, "{own_layout}: {labels:?}");
        }
    }

    #[test]
    fn a_step_of_the_code_that_is_smaller_than_layouts_differ_by_is_inconclusive() {
        let labels = labels(&World { code: 0.03, own_layout: 0.0, between: 0.12, within: 0.005 });
        assert!(count(&labels, StepLabel::Inconclusive) >= 95, "{labels:?}");
    }

    #[test]
    fn both_standard_deviations_are_near_the_true_ones() {
        let world = World { code: 0.2, own_layout: 0.0, between: 0.03, within: 0.01 };
        let layouts: Vec<StepLayouts> = (0..40).filter_map(|seed| step_of(seed, &world)?.layouts).collect();
        let average = |of: fn(&StepLayouts) -> Option<f64>| mean(&layouts.iter().filter_map(of).collect::<Vec<_>>());
        let between = average(|layouts| layouts.tried.between);
        let within = average(|layouts| layouts.tried.within);
        assert!((0.025..0.035).contains(&between) && (0.009..0.011).contains(&within), "{between} {within}");
        let share = average(|layouts| layouts.remains.map(|part| part.share));
        assert!((0.95..1.05).contains(&share), "{share}");
    }

    #[test]
    fn the_label_does_not_hang_on_how_far_a_layout_is_off() {
        // One layout of twelve is ten times as slow on one side: signed ranks give it one rank.
        let world = World { code: 0.1, own_layout: 0.0, between: 0.005, within: 0.005 };
        let step = step_of(1, &world).unwrap();
        let sample = |layout: u32, value: f64| LayoutSample { layout, boot: 0, value };
        let side = |of: &dyn Fn(u32) -> f64| CommitOutcome::Measured {
            values: vec![of(99)],
            same_as: None,
            boots: Vec::new(),
            layouts: Some(LayoutResults {
                tried: LAYOUTS,
                unchanged: 0,
                failed: 0,
                samples: (0..LAYOUTS).map(|layout| sample(layout, of(layout))).collect(),
            }),
        };
        let label = |odd: f64| {
            let wanted: Vec<u32> = (step.earliest..=step.latest).collect();
            let record = example::begun(&wanted, 1);
            let results = HistoryResults {
                commits: [
                    (step.earliest, side(&|layout| 1.0 + 1e-3 * f64::from(layout))),
                    (
                        step.latest,
                        side(&|layout| {
                            if layout == 3 { odd } else { 1.1 + 1e-3 * f64::from(layout) }
                        }),
                    ),
                ]
                .map(|(position, outcome)| CommitResult { commit: example::commit(position).id, outcome })
                .to_vec(),
                ..HistoryResults::default()
            };
            let runs = [HistoryRun { head: &record.head, results: &results }];
            let series = series(&runs, &[], &StepSettings::default()).unwrap().unwrap();
            let evidence = super::super::evidence(&series, &runs);
            let sides = Sides::of(&steps_with(&step), 0, COMMITS - 1);
            step_layouts(&step, &sides, &evidence.scatter, 0.01).unwrap().label
        };
        assert_eq!([label(1.1), label(11.0)], [StepLabel::Code; 2]);
    }

    fn steps_with(step: &HistoryStep) -> crate::history::HistorySteps {
        crate::history::HistorySteps {
            basis: crate::history::StepBasis::Noisy {
                false_alarms: 0.1,
                false_confirmations: 0.02,
                smaller: 0,
                detectable: None,
                cautions: Vec::new(),
            },
            least_change: 0.02,
            steps: vec![step.clone()],
            unjudged: 0,
            unplaced: 0,
        }
    }
}
