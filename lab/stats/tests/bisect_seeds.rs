//! Simulated searches and histories of counts that depend on their seed: the commit that made a
//! step is named, a commit that only shifts the schedule is not, and exact counts cost only two
//! more executions.

use crate::bisect_world::{Score, TrueStep, World, counted, is_at, search, search_from};
use faultline_record::bisect::{BisectSettings, Noise};
use faultline_stats::bisect::{BisectResult, Build, StepLabel};

/// A line of commits with contending tasks: counts vary by `spread` between seeds, and as much
/// between builds.
fn contended(seed: u64, spread: f64) -> World {
    let world = World::equal(seed, 60, 0.0, 0.08);
    World { contention: (0, [spread; 2]), ..world }
}

/// A contended line with a step of `ratio` at some commit, from which on counts vary by `after`.
fn stepped(seed: u64, ratio: f64, [before, after]: [f64; 2]) -> World {
    let mut world = contended(seed, before);
    let at = 3 + (seed % 55) as u32;
    world.steps = vec![TrueStep { at, label: StepLabel::Code, change: f64::ln(ratio) }];
    World { contention: (at, [before, after]), ..world }
}

fn score(worlds: impl Iterator<Item = World>) -> Score {
    let mut score = Score::default();
    for world in worlds {
        let (_, result) = search(&world, &counted());
        assert_eq!((result.finished, result.ends_show), (true, Some(Noise::Seeds)));
        let before = score;
        score.add(&world, &result, &counted());
        if score.right == before.right {
            println!("seed {}: {:?}; found {:?}", world.seed, world.steps, places(&result));
        }
    }
    println!("{score}");
    score
}

fn places(result: &BisectResult) -> Vec<(u32, u32, f64, bool)> {
    result.steps.iter().map(|step| (step.before, step.after, step.probability, step.confirmed)).collect()
}

/// Seeds of the tests that run every time.
const FEW: std::ops::Range<u64> = 1000..1040;

#[test]
fn a_commit_that_only_shifts_the_schedule_is_not_blamed() {
    for spread in [0.03, 0.1, 0.25] {
        let score = score(FEW.map(|seed| contended(seed, spread)));
        assert!(score.invented <= 1, "spread {spread}: {score}");
    }
}

#[test]
fn a_step_is_named_though_counts_vary() {
    for (ratio, spreads) in [(3.5, [0.15, 0.15]), (3.5, [0.2, 0.02]), (0.3, [0.0, 0.2]), (1.3, [0.03, 0.03])] {
        let score = score(FEW.map(|seed| stepped(seed, ratio, spreads)));
        assert!(score.right >= 38 && score.invented <= 1, "{ratio}, {spreads:?}: {score}");
    }
}

#[test]
fn one_seed_blames_the_schedule_and_says_nothing_of_it() {
    let settings = BisectSettings { noise: Noise::None, ..counted() };
    let invented = |seed: u64| {
        let world = contended(seed, 0.1);
        // The counts of a search with one seed.
        let exact = World { contention: (0, [0.0; 2]), between_builds: 0.1, ..world };
        search(&exact, &settings).1.steps.len()
    };
    assert!(FEW.map(invented).filter(|steps| *steps > 0).count() > 30, "this is what several seeds are for");
}

#[test]
fn counts_that_do_not_depend_on_the_seed_cost_one_execution_more_at_each_end() {
    let world = World::equal(7, 64, 0.0, 0.0).with_steps(&[(StepLabel::Code, 0.1, 0.3)]);
    let (evidence, result) = search(&world, &counted());
    assert_eq!(result.ends_show, Some(Noise::None));
    assert!(result.steps.len() == 1 && is_at(&world, &result.steps[0], &world.steps[0]), "{:?}", result.steps);
    assert!(result.steps[0].values.is_some());
    let executed =
        |position: u32| evidence.measured.iter().filter(|measured| measured.build == Build::plain(position, 0)).count();
    assert_eq!((executed(0), executed(64), result.executions), (2, 2, result.trials + 2));
}

/// A count of 0 has no logarithm, but a search still works if an end has no transfers.
#[test]
fn counts_of_zero_are_less_than_others() {
    let mut world = stepped(5, 50.0, [0.0, 0.2]);
    world.unusable.fill(None);
    let (mut evidence, _) = search(&world, &counted());
    for measured in &mut evidence.measured {
        if measured.build.position < world.steps[0].at {
            measured.value = Some(0.0);
        }
    }
    let result = faultline_stats::bisect::concluded(&evidence, &counted());
    assert!(
        result.finished && result.steps.len() == 1 && is_at(&world, &result.steps[0], &world.steps[0]),
        "{:?}",
        places(&result)
    );
}

#[test]
fn a_search_goes_on_from_its_record() {
    let world = stepped(11, 3.0, [0.15, 0.15]);
    let (whole, result) = search(&world, &counted());
    for cut in [0, 1, 7, whole.measured.len() / 2, whole.measured.len() - 1] {
        let mut evidence = whole.clone();
        evidence.measured.truncate(cut);
        evidence.trials.retain(|trial| {
            let build = Build::plain(trial.position, 0);
            evidence.measured.iter().any(|measured| measured.build == build)
                || world.unusable[trial.position as usize].is_some()
        });
        let (_, resumed) = search_from(&world, &counted(), evidence);
        assert_eq!((resumed.finished, places(&resumed)), (true, places(&result)), "cut at {cut}");
    }
}
