//! Searches of lines of commits in special cases: unmeasurable ends, equal artefacts, failures,
//! slopes, steps that cancel, environments.

use crate::bisect_world::{TrueStep, World, exact, noisy, search};
use faultline_record::bisect::{BisectSettings, Unusable};
use faultline_stats::bisect::{
    BisectResult, Build, LayoutResult, LayoutTrial, LineEvidence, Measured, Next, StepLabel, Trial, TrialResult,
    concluded, next,
};

fn with(last: u32, noise: f64, steps: &[(u32, StepLabel, f64)]) -> World {
    let mut world = World::equal(3, last, noise, 0.0);
    world.steps = steps.iter().map(|&(at, label, change)| TrueStep { at, label, change }).collect();
    world
}

fn places(result: &BisectResult) -> Vec<(u32, u32)> {
    result.steps.iter().map(|step| (step.before, step.after)).collect()
}

#[test]
fn an_end_that_cannot_be_measured_ends_the_search() {
    let mut world = with(50, 0.0, &[(20, StepLabel::Code, 0.1)]);
    world.unusable[50] = Some(Unusable::Build);
    let (_, result) = search(&world, &exact());
    assert!(
        result.finished && result.unusable_end == Some(50) && result.steps.is_empty() && result.trials == 2,
        "{result:?}"
    );
}

#[test]
fn broken_commits_before_a_step_are_named_with_it() {
    let mut world = with(50, 0.0, &[(20, StepLabel::Code, 0.1)]);
    world.unusable[20..23].fill(Some(Unusable::Hang));
    let (_, result) = search(&world, &exact());
    assert_eq!(places(&result), [(19, 23)]);
    assert_eq!(result.steps[0].candidates, [20, 21, 22, 23]);
}

/// Searches a line in which every ten commits have the same artefact, and all executions of one
/// commit fail.
fn with_shared_artefacts(settings: &BisectSettings, failing: u32) -> (LineEvidence, BisectResult) {
    let world = with(199, 0.01, &[(100, StepLabel::Code, 0.1)]);
    let mut evidence = world.evidence();
    let mut blocks = 0;
    loop {
        match next(&evidence, settings) {
            Next::Nothing => break,
            Next::Try { position, environment } => {
                let same = evidence
                    .trials
                    .iter()
                    .find(|trial| trial.position / 10 == position / 10 && trial.result == TrialResult::Usable);
                let same_as = |trial: &Trial| TrialResult::SameAs { position: trial.position };
                let result = same.map_or(TrialResult::Usable, same_as);
                evidence.trials.push(Trial { position, environment, result });
            }
            Next::Relink { builds } => {
                let placed = |build| LayoutTrial { build, result: LayoutResult::Placed };
                evidence.layouts.extend(builds.into_iter().map(placed));
            }
            Next::Count { seeds } => panic!("nothing is counted: {seeds:?}"),
            Next::Measure { blocks: asked } => {
                for builds in asked {
                    for build in builds {
                        let artefact = Build { position: build.position / 10 * 10, ..build };
                        let value = (build.position != failing).then(|| world.value(artefact, blocks));
                        evidence.measured.push(Measured { build, block: blocks, value });
                    }
                    blocks += 1;
                }
            }
        }
        assert!(blocks < 10_000, "the search does not end");
    }
    let result = concluded(&evidence, settings);
    (evidence, result)
}

#[test]
fn commits_with_the_same_artefact_are_measured_once_and_have_no_step_between_them() {
    let (evidence, result) = with_shared_artefacts(&BisectSettings { layouts: 0, ..noisy() }, u32::MAX);
    let shared = evidence.trials.iter().filter(|trial| matches!(trial.result, TrialResult::SameAs { .. })).count();
    assert!(shared > 0 && places(&result) == [(99, 100)], "{shared}, {result:?}");
    let is_shared = |position: u32| {
        let same = TrialResult::Usable;
        !evidence.trials.iter().any(|trial| trial.position == position && trial.result == same)
    };
    assert!(!evidence.measured.iter().any(|measured| is_shared(measured.build.position)));
}

#[test]
fn a_commit_whose_executions_all_fail_is_broken() {
    let all = with_shared_artefacts(&BisectSettings { layouts: 0, ..noisy() }, u32::MAX).0;
    // The first commit tried after the ends.
    let failing = all.trials[2].position;
    let (evidence, result) = with_shared_artefacts(&BisectSettings { layouts: 0, ..noisy() }, failing);
    assert!(evidence.measured.iter().any(|measured| measured.value.is_none()));
    assert!(result.unusable >= 1 && result.steps.len() == 1, "{result:?}");
    assert!(result.steps[0].candidates.contains(&100), "{result:?}");
}

/// Searches a line whose exact value changes from `before` to `after` at a position.
fn counts(at: u32, before: f64, after: f64) -> BisectResult {
    let mut evidence = LineEvidence::new(9, Vec::new());
    loop {
        match next(&evidence, &exact()) {
            Next::Nothing => return concluded(&evidence, &exact()),
            Next::Try { position, environment } => {
                evidence.trials.push(Trial { position, environment, result: TrialResult::Usable });
            }
            Next::Relink { builds } => panic!("no layouts were asked for: {builds:?}"),
            Next::Count { seeds } => panic!("nothing is counted: {seeds:?}"),
            Next::Measure { blocks } => {
                let value = |build: &Build| Some(if build.position < at { before } else { after });
                let block = evidence.measured.len() as u32;
                evidence.measured.extend(blocks.concat().iter().map(|build| Measured {
                    build: *build,
                    block,
                    value: value(build),
                }));
            }
        }
        assert!(evidence.measured.len() < 100, "the search does not end");
    }
}

#[test]
fn a_count_of_0_is_a_value() {
    let from_0 = counts(4, 0.0, 5000.0);
    assert_eq!((places(&from_0), from_0.unusable), (vec![(3, 4)], 0), "{from_0:?}");
    assert_eq!((from_0.steps[0].values, from_0.steps[0].change), (Some([0.0, 5000.0]), None));
    let to_0 = counts(4, 5000.0, 0.0);
    assert_eq!((places(&to_0), to_0.steps[0].change.map(|change| change.high)), (vec![(3, 4)], Some(0.0)));
    assert!(counts(4, 0.0, 0.0).steps.is_empty());
    // The saved result can be read.
    let saved = serde_json::to_string(&from_0).unwrap();
    assert_eq!(serde_json::from_str::<BisectResult>(&saved).unwrap(), from_0);
}

#[test]
fn small_changes_that_add_up_are_a_slope() {
    let steps: Vec<(u32, StepLabel, f64)> = (1..=50).map(|at| (at, StepLabel::Code, 0.001)).collect();
    let (_, result) = search(&with(50, 0.0, &steps), &BisectSettings { least: 0.03, ..exact() });
    assert!(result.steps.is_empty() && result.slopes.len() == 1, "{result:?}");
    assert!((result.slopes[0].from, result.slopes[0].to) == (0, 50) && result.slopes[0].ratio > 1.05, "{result:?}");
}

#[test]
fn steps_that_cancel_are_found_if_asked_for() {
    let world = with(100, 0.0, &[(40, StepLabel::Code, 0.1), (80, StepLabel::Code, -0.1)]);
    let (_, ends_only) = search(&world, &exact());
    assert!(ends_only.steps.is_empty() && ends_only.longest_unseen == 99 && ends_only.trials == 2, "{ends_only:?}");
    let (_, thorough) = search(&world, &BisectSettings { thorough: true, ..exact() });
    assert_eq!(places(&thorough), [(39, 40), (79, 80)]);
}

#[test]
fn a_change_of_the_environment_differs_from_one_of_the_code() {
    for noise in [0.0, 0.01] {
        let settings = if noise > 0.0 { noisy() } else { exact() };
        for (steps, label) in [
            (vec![(30, StepLabel::Quirk, 0.1)], StepLabel::Quirk),
            (vec![(30, StepLabel::Quirk, 0.005), (30, StepLabel::Code, 0.1)], StepLabel::Code),
        ] {
            let (_, result) = search(&with(60, noise, &steps), &settings);
            assert_eq!(places(&result), [(29, 30)], "{noise}");
            assert_eq!(result.steps[0].label, label, "{noise}: {result:?}");
            let of_environment = result.steps[0].of_environment.unwrap().ratio.ln();
            assert!((of_environment - steps[0].2).abs() < 0.02, "{noise}: {of_environment}");
        }
    }
}

#[test]
fn a_commit_that_cannot_be_built_in_another_environment_is_inconclusive() {
    let world = with(60, 0.0, &[(30, StepLabel::Quirk, 0.1)]);
    let mut evidence = LineEvidence::new(60, vec![30]);
    let mut blocks = 0;
    loop {
        match next(&evidence, &exact()) {
            Next::Nothing => break,
            Next::Try { position, environment } => {
                let is_own = evidence.own_environment(position) == environment;
                let why = Unusable::Build;
                let result = if is_own { TrialResult::Usable } else { TrialResult::Unusable { why } };
                evidence.trials.push(Trial { position, environment, result });
            }
            Next::Relink { builds } => panic!("no layouts were asked for: {builds:?}"),
            Next::Count { seeds } => panic!("nothing is counted: {seeds:?}"),
            Next::Measure { blocks: asked } => {
                for builds in asked {
                    let measured = |build| Measured { build, block: blocks, value: Some(world.value(build, blocks)) };
                    evidence.measured.extend(builds.into_iter().map(measured));
                    blocks += 1;
                }
            }
        }
    }
    let result = concluded(&evidence, &exact());
    assert!(result.unusable == 2 && result.steps[0].label == StepLabel::Inconclusive, "{result:?}");
}
