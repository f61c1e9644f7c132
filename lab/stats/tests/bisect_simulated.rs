//! Simulated searches of lines: correct commits, none invented, correct labels, and the promised
//! cost.

use crate::bisect_world::{Score, TrueStep, World, exact, is_at, noisy, search, search_from};
use faultline_record::bisect::BisectSettings;
use faultline_stats::bisect::{BisectResult, StepLabel, concluded};
use proptest::prelude::*;

/// The score of searches of `worlds`; prints the errors of each.
fn score(worlds: impl Iterator<Item = World>, settings: &BisectSettings) -> Score {
    let mut score = Score::default();
    for world in worlds {
        let (_, result) = search(&world, settings);
        let before = score;
        score.add(&world, &result, settings);
        if score.labelled == before.labelled {
            println!("seed {}, noise {:.3}, between builds {:.4}:", world.seed, world.noise, world.between_builds);
            world.steps.iter().for_each(|step| println!("  is    {step:?}"));
            for step in &result.steps {
                println!(
                    "  found {}..{} p {:.4} confirmed {} {:?}: {:?}, layouts {:?}, environment {:?}, commits {:?}",
                    step.before,
                    step.after,
                    step.probability,
                    step.confirmed,
                    step.label,
                    step.change,
                    step.under_layouts,
                    step.of_environment,
                    step.of_commits
                );
            }
        }
    }
    println!("{score}");
    score
}

fn one_step(seed: u64, noise: f64) -> World {
    World::equal(seed, 200, noise, 0.08).with_steps(&[(StepLabel::Code, 0.03, 0.30)])
}

/// Settings without layouts, as for a program that cannot be relinked.
fn unlabelled() -> BisectSettings {
    BisectSettings { layouts: 0, ..noisy() }
}

fn noise_of(seed: u64) -> f64 {
    0.01 + 0.04 * (seed % 17) as f64 / 16.0
}

/// Seeds of the tests that run every time.
const FEW: std::ops::Range<u64> = 1000..1020;

#[test]
fn a_single_step_is_named() {
    let score = score(FEW.map(|seed| one_step(seed, noise_of(seed))), &unlabelled());
    assert!(score.right >= 19 && score.invented == 0 && score.costly == 0, "{score}");
}

#[test]
fn nothing_is_found_where_all_is_equal() {
    let score = score(FEW.map(|seed| World::equal(seed, 200, noise_of(seed), 0.08)), &noisy());
    assert!(score.invented == 0 && score.open_gates >= 18, "{score}");
}

#[test]
fn the_test_bed_is_distinguished() {
    let score = score((1000..1003).map(World::test_bed), &thorough());
    assert!(score.right == 3 && score.wrong_labels == 0 && score.costly == 0, "{score}");
}

/// If layouts do not affect the program, they label nothing, and cost two tries.
#[test]
fn nothing_is_labelled_if_layouts_change_nothing() {
    for seed in FEW.take(5) {
        let world = World { is_movable: false, ..one_step(seed, 0.01) };
        let (evidence, result) = search(&world, &noisy());
        assert!(result.finished && evidence.measured.iter().all(|measured| measured.build.layout.is_none()));
        for step in &result.steps {
            let layouts = step.layouts.unwrap();
            assert_eq!((layouts.tried, layouts.distinct, layouts.unchanged), (2, 0, 2), "{layouts:?}");
            assert_eq!((step.label, step.under_layouts), (StepLabel::Inconclusive, None));
        }
    }
}

/// A dozen layouts distinguish code from layout, and show the variation between layouts and between
/// executions.
#[test]
fn a_dozen_layouts_tell_code_from_layout() {
    let settings = BisectSettings { layouts: 12, ..noisy() };
    for seed in FEW.take(6) {
        let label = if seed % 2 == 0 { StepLabel::Code } else { StepLabel::Layout };
        let world = World::equal(seed, 100, 0.02, 0.0).with_steps(&[(label, 0.15, 0.30)]);
        let (_, result) = search(&world, &settings);
        let [step] = &result.steps[..] else { panic!("seed {seed}: {:?}", result.steps) };
        assert_eq!(step.label, label, "seed {seed}: {step:?}");
        let layouts = step.layouts.unwrap();
        assert_eq!((layouts.tried, layouts.distinct), (12, 12));
        let (between, within) = (layouts.between.unwrap(), layouts.within.unwrap());
        assert!(between < 4.0 * world.between_layouts && (0.01..0.08).contains(&within), "seed {seed}: {layouts:?}");
    }
}

/// Exact values have no noise, but layouts matter: the places of data decide which variables share
/// a line.
#[test]
fn exact_steps_are_distinguished_by_layouts() {
    let settings = BisectSettings { layouts: 8, ..exact() };
    for label in [StepLabel::Code, StepLabel::Layout] {
        let world = World::equal(3, 100, 0.0, 0.0).with_steps(&[(label, 0.15, 0.30)]);
        let (evidence, result) = search(&world, &settings);
        let [step] = &result.steps[..] else { panic!("{:?}", result.steps) };
        assert_eq!((step.label, step.layouts.map(|layouts| layouts.within)), (label, Some(Some(0.0))), "{step:?}");
        let executions = evidence.measured.iter().filter(|measured| measured.build.layout.is_some()).count();
        assert_eq!(executions, 2 * 8, "each layout of both commits once");
        let unmovable = World { is_movable: false, ..world };
        assert_eq!(search(&unmovable, &settings).1.steps[0].label, StepLabel::Inconclusive);
    }
}

fn thorough() -> BisectSettings {
    BisectSettings { thorough: true, ..noisy() }
}

fn seeds() -> u64 {
    std::env::var("FAULTLINE_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(100)
}

fn first_seed() -> u64 {
    std::env::var("FAULTLINE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1000)
}

fn many() -> impl Iterator<Item = u64> {
    first_seed()..first_seed() + seeds()
}

#[test]
#[ignore = "minutes"]
fn single_steps_are_named_over_many_seeds() {
    let score = score(many().map(|seed| one_step(seed, noise_of(seed))), &unlabelled());
    assert!(f64::from(score.right) >= 0.95 * f64::from(score.searches) && score.costly == 0, "{score}");
}

#[test]
#[ignore = "minutes"]
fn the_test_bed_is_distinguished_over_many_seeds() {
    let score = score(many().map(World::test_bed), &thorough());
    assert!(f64::from(score.right) >= 0.95 * f64::from(score.searches), "{score}");
    assert!(f64::from(score.wrong_labels) <= 0.05 * f64::from(score.steps) && score.costly == 0, "{score}");
}

#[test]
#[ignore = "minutes"]
fn nothing_is_found_where_all_is_equal_over_many_seeds() {
    let score = score(many().map(|seed| World::equal(seed, 200, noise_of(seed), 0.08)), &noisy());
    assert!(f64::from(score.right.min(score.open_gates)) >= 0.95 * f64::from(score.searches), "{score}");
}

/// A search that continues from its record gives the same result.
#[test]
fn a_search_goes_on_from_its_record() {
    let world = one_step(17, 0.01);
    let (whole, result) = search(&world, &unlabelled());
    let places = |result: &BisectResult| result.steps.iter().map(|step| (step.before, step.after)).collect::<Vec<_>>();
    let blocks = whole.measured.iter().map(|measured| measured.block).max().unwrap();
    for cut in [0, 5, blocks / 3, blocks / 2, blocks] {
        let mut evidence = whole.clone();
        // Saved before a kill: some blocks, the last one incomplete.
        let is_saved = |block: u32, position: u32| block < cut || block == cut && position < 100;
        evidence.measured.retain(|measured| is_saved(measured.block, measured.build.position));
        let (_, resumed) = search_from(&world, &unlabelled(), evidence);
        assert!(resumed.finished && places(&resumed) == places(&result), "cut at block {cut}: {:?}", places(&resumed));
    }
    assert_eq!(concluded(&whole, &unlabelled()), result);
}

proptest! {
    #[test]
    fn an_exact_step_is_named_in_the_tries_of_a_binary_search(last in 1u32..5000, at in 0.0f64..1.0, up in any::<bool>()) {
        let mut world = World::equal(1, last, 0.0, 0.0);
        let at = 1 + (at * f64::from(last)) as u32;
        world.steps = vec![TrueStep { at, label: StepLabel::Code, change: if up { 1e-4 } else { -1e-4 } }];
        let (_, result) = search(&world, &exact());
        prop_assert_eq!(result.steps.len(), 1);
        let step = &result.steps[0];
        prop_assert!((step.before, step.after, step.probability, step.label) == (at - 1, at, 1.0, StepLabel::Code));
        prop_assert!(result.finished && result.trials <= last.next_power_of_two().ilog2() + 2, "{} tries", result.trials);
    }

    #[test]
    fn exact_steps_are_named_beside_broken_commits(seed in 0u64..10_000, last in 40u32..600, number in 1usize..5, broken in prop_oneof![Just(0.0), 0.0f64..0.3]) {
        // All steps go up: steps that cancel are invisible from the ends.
        let mut world = World::equal(seed, last, 0.0, broken).with_steps(&vec![(StepLabel::Code, 0.03, 0.30); number]);
        world.steps.iter_mut().for_each(|step| step.change = step.change.abs());
        let (_, result) = search(&world, &exact());
        for step in &world.steps {
            let found = result.steps.iter().find(|found| found.before < step.at && step.at <= found.after);
            prop_assert!(found.is_some(), "{:?}", step);
        }
        for found in &result.steps {
            prop_assert!(world.steps.iter().any(|step| found.before < step.at && step.at <= found.after), "{:?}", found);
        }
        if broken == 0.0 {
            prop_assert!(world.steps.iter().all(|step| result.steps.iter().any(|found| is_at(&world, found, step))));
        }
        let each = if broken == 0.0 {
            f64::from(last.next_power_of_two().ilog2() + 2)
        } else {
            1.5 * f64::from(last).log2() + 4.0
        };
        let usable = f64::from(result.trials - result.unusable);
        prop_assert!(usable <= each * number as f64, "{} usable tries of {} at most a step", usable, each);
    }

    #[test]
    fn no_step_is_invented_among_equal_values(seed in any::<u64>(), last in 1u32..2000, broken in 0.0f64..0.5, thorough in any::<bool>()) {
        let world = World::equal(seed, last, 0.0, broken);
        let (_, result) = search(&world, &BisectSettings { thorough, ..exact() });
        prop_assert!(result.steps.is_empty() && result.slopes.is_empty() && result.finished);
        prop_assert!(result.trials <= last.next_power_of_two().ilog2() + 2);
    }
}
