//! The results of several runs of a subject as one series.

use super::environment::{Difference, groups};
use super::quirks::quirks;
use super::runs::{HistoryRun, Newest, conditions, differing, measuring_host, newest_of};
use super::scatter::evidence;
use super::steps::{StepSettings, steps_by, steps_of_cpu_times};
use crate::changes::SeriesError;
use crate::estimate::estimate;
use crate::history::{CommitOutcome, HistoryPoint, HistorySeries, HistorySteps, OtherRun, PointResult, StepBasis};
use crate::mean_load::MeanLoad;
use faultline_record::artefact::Release;
use faultline_record::commit::{CommitInfo, CommitLine};
use faultline_record::plan::{HistorySettings, MeasuredLine, RunKind};
use faultline_record::quirk::DeclaredQuirk;
use faultline_record::record::RunId;
use std::collections::BTreeMap;

/// The series of the newest of these runs of one subject with one number of tasks. `runs`: newest
/// first. Its commits are those of the newest run's line; a commit has its newest result.
/// Incomparable runs are left out. `declared`: changes of the environment that nothing records.
/// `None` without a run of a history.
///
/// # Errors
///
/// A false-positive rate or a minimum change out of range.
pub fn series(
    runs: &[HistoryRun<'_>],
    declared: &[DeclaredQuirk],
    settings: &StepSettings,
) -> Result<Option<HistorySeries>, SeriesError> {
    let Some(newest) = runs.first() else { return Ok(None) };
    let Some(history) = newest.head.settings.history() else { return Ok(None) };
    let (mut same, mut left_out) = (Vec::new(), Vec::new());
    for run in runs {
        let Some(other) = run.head.settings.history() else { continue };
        match differing((&newest.head.settings, history), (&run.head.settings, other)) {
            None => same.push(*run),
            Some(differs_in) => left_out.push(OtherRun { run: run.head.id, differs_in }),
        }
    }
    let groups = groups(&same, declared);
    let of_commits = newest_of(&same);
    let points = points(history, &of_commits, &groups);
    let (quirks, unplaced_quirks) = quirks(&groups, declared, &points);
    let mut series = HistorySeries {
        format: HistorySeries::FORMAT.to_owned(),
        subject: history.subject.clone(),
        repository: history.repository.clone(),
        forge: same.iter().find_map(|run| run.head.settings.history()?.forge.clone()),
        command: history.artefact.command().to_vec(),
        workload: history.artefact.kernel().map(|kernel| kernel.workload.clone()),
        has_releases: history.releases.iter().any(Release::is_kernel),
        moved: Vec::new(),
        by_cpu_time: None,
        choice: history.choice,
        load: load(&same),
        quantity: history.measure.quantity(),
        unit: unit(history),
        tasks: newest.head.settings.cpus.first().copied().unwrap_or(1),
        host: measuring_host(newest.head),
        conditions: conditions(&newest.head.settings, history),
        runs: same.iter().map(|run| run.head.id).collect(),
        left_out,
        points,
        quirks,
        unplaced_quirks,
        steps: HistorySteps {
            basis: StepBasis::Exact,
            least_change: settings.least_change,
            steps: Vec::new(),
            unjudged: 0,
            unplaced: 0,
        },
    };
    series.steps = steps_by(&series, &evidence(&series, &same), settings)?;
    series.by_cpu_time = steps_of_cpu_times(&series, &same, settings);
    Ok(Some(series))
}

/// The greatest load of these runs.
fn load(runs: &[HistoryRun<'_>]) -> Option<MeanLoad> {
    let loads = runs.iter().filter_map(|run| run.results.load);
    loads.max_by(|a, b| a.others_cpus.total_cmp(&b.others_cpus))
}

/// The unit of the values of a line. A program's run is one operation; a workload does many.
fn unit(line: &MeasuredLine) -> String {
    let quantity = line.measure.quantity();
    match line.artefact.kernel() {
        Some(_) if quantity.is_counted() => format!("{} per operation", quantity.unit()),
        _ => quantity.unit().to_owned(),
    }
}

/// The series of one run, of the commits that it measured; `None` for a run without a history.
pub fn series_of_run(run: &HistoryRun<'_>) -> Option<HistorySeries> {
    let history = run.head.settings.history()?;
    let line = history.wanted.iter().filter_map(|position| history.line.commits.get(*position as usize)).cloned();
    let mut head = run.head.clone();
    let measured = MeasuredLine { line: CommitLine { commits: line.collect() }, ..history.measured.clone() };
    head.settings.kind = RunKind::History(Box::new(HistorySettings { measured, ..history.clone() }));
    series(&[HistoryRun { head: &head, results: run.results }], &[], &StepSettings::default()).ok().flatten()
}

/// The commits of the line, with their results. `groups`: the runs by environment.
fn points(
    history: &HistorySettings,
    newest: &Newest<'_>,
    groups: &[(Difference, Vec<HistoryRun<'_>>)],
) -> Vec<HistoryPoint> {
    let numbered = (0..).zip(groups).flat_map(|(number, (_, runs))| runs.iter().map(move |run| (run.head.id, number)));
    let environments: BTreeMap<RunId, u32> = numbered.collect();
    let has_least = history.measure.quantity().is_cpu_time();
    let point = |commit: &CommitInfo| {
        let found = newest.get(commit.id.as_str());
        let result = found.map_or(PointResult::None, |(_, outcome)| result(outcome, has_least));
        let run = found.map(|(run, _)| *run);
        let environment = run.and_then(|run| environments.get(&run).copied()).unwrap_or(0);
        HistoryPoint { commit: commit.clone(), run, environment, result }
    };
    history.line.commits.iter().map(point).collect()
}

/// The result of a commit. `has_least`: for CPU times, of which the least value counts.
fn result(outcome: &CommitOutcome, has_least: bool) -> PointResult {
    match outcome {
        CommitOutcome::Measured { values, same_as, .. } => match estimate(values) {
            Some(estimate) => {
                let least = has_least.then(|| least(values)).flatten();
                PointResult::Measured { estimate, least, same_as: same_as.clone() }
            }
            None => PointResult::None,
        },
        CommitOutcome::Unusable(not_measured) => PointResult::Unusable(not_measured.clone()),
    }
}

/// The least value. All commits of a run have the same number of executions.
pub(super) fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Differing, HistoryResults, example, results_of_record};
    use faultline_record::plan::LineMeasure;
    use faultline_record::quantity::Quantity;
    use faultline_record::record::RunRecord;

    /// A run that measured these commits, each five times near these values.
    fn run(id: i64, values: &[(u32, f64)]) -> RunRecord {
        let wanted: Vec<u32> = values.iter().map(|(position, _)| *position).collect();
        let mut record = example::begun(&wanted, 5);
        record.head.id = RunId(id);
        for position in &wanted {
            example::build(&mut record, Some(&format!("/{position}")));
        }
        for block in 0..5 {
            let noise = |subject: usize| 1.0 + 0.001 * ((subject * 7 + block * 5) % 11) as f64;
            let block = (0..).zip(values).map(|(subject, (_, value))| (subject, Ok(value * noise(subject as usize))));
            example::block(&mut record, &block.collect::<Vec<_>>());
        }
        record
    }

    fn of(runs: &[&RunRecord]) -> HistorySeries {
        let results: Vec<HistoryResults> = runs.iter().map(|run| results_of_record(run).unwrap()).collect();
        let runs: Vec<HistoryRun<'_>> =
            runs.iter().zip(&results).map(|(run, results)| HistoryRun { head: &run.head, results }).collect();
        series(&runs, &[], &StepSettings::default()).unwrap().unwrap()
    }

    #[test]
    fn a_time_without_a_step_has_the_steps_of_the_cpu_time_beside_it() {
        let noisy: Vec<(u32, f64)> = (0..40).map(|at| (at, 1.0 + f64::from(at * 17 % 23) / 23.0)).collect();
        let mut record = run(1, &noisy);
        for attempt in &mut record.attempts {
            let subject = record.plan[attempt.ordinal as usize].subject.at();
            let code = if subject < 20 { 1.0 } else { 1.1 };
            let cpu_time = code + 0.001 * f64::from(attempt.ordinal * 7 % 11);
            attempt.usage = Some(crate::example::usage((cpu_time * 1e9) as u64, 0));
        }
        let series = of(&[&record]);
        assert!(series.steps.steps.is_empty(), "{:?}", series.steps);
        let StepBasis::Noisy { detectable: Some(detectable), .. } = series.steps.basis else { panic!("no limit") };
        assert!(detectable > 0.2, "{detectable}");
        let by = series.by_cpu_time.unwrap();
        let [step] = by.steps[..] else { panic!("{by:?}") };
        assert_eq!((step.after, step.by), (19, 20));
        assert!((step.to / step.from - 1.1).abs() < 0.01 && by.detectable.unwrap() < 0.02, "{by:?}");
    }

    /// Three of five executions of each commit are slowed down, by up to two thirds.
    #[test]
    fn a_step_of_the_cpu_time_is_found_although_other_programs_lengthen_most_executions() {
        let values: Vec<(u32, f64)> = (0..40).map(|at| (at, 1.0)).collect();
        let mut record = run(1, &values);
        let RunKind::History(history) = &mut record.head.settings.kind else { panic!("not a history") };
        let LineMeasure::Timed { quantity, .. } = &mut history.measured.measure else { panic!("not timed") };
        *quantity = Quantity::CpuTime;
        for attempt in &mut record.attempts {
            let (subject, block) = (attempt.ordinal % 40, attempt.ordinal / 40);
            let code = if subject < 20 { 1.0 } else { 1.05 };
            let lengthened = if (block + subject) % 5 < 3 { f64::from(attempt.ordinal * 37 % 67) / 100.0 } else { 0.0 };
            let cpu_time = code * (1.0 + lengthened) + 0.001 * f64::from(attempt.ordinal * 7 % 11);
            attempt.usage = Some(crate::example::usage((cpu_time * 1e9) as u64, 0));
        }
        let series = of(&[&record]);
        let [step] = &series.steps.steps[..] else { panic!("{:?}", series.steps) };
        assert_eq!((step.after, step.by), (19, 20));
        assert!((step.to / step.from - 1.05).abs() < 0.01, "{step:?}");
        assert_eq!(least(&[3.0, 2.0, 2.5]), Some(2.0));
    }

    #[test]
    fn another_smallest_change_finds_other_steps_of_the_same_series() {
        let values: Vec<(u32, f64)> = (0..40)
            .map(|at| {
                (
                    at,
                    if at < 14 {
                        1.0
                    } else if at < 27 {
                        1.3
                    } else {
                        1.36
                    },
                )
            })
            .collect();
        let record = run(1, &values);
        let results = results_of_record(&record).unwrap();
        let runs = [HistoryRun { head: &record.head, results: &results }];
        let series = of(&[&record]);
        let evidence = evidence(&series, &runs);
        let places = |least_change: f64| {
            let settings = StepSettings { least_change, ..StepSettings::default() };
            let found = steps_by(&series, &evidence, &settings).unwrap();
            assert!(found.steps.iter().all(|step| !step.between_runs));
            found.steps.iter().map(|step| step.by).collect::<Vec<_>>()
        };
        assert_eq!(steps_by(&series, &evidence, &StepSettings::default()).unwrap(), series.steps);
        assert_eq!([places(0.01), places(0.1), places(0.5)], [vec![14, 27], vec![14], vec![]]);
        let wrong = StepSettings { least_change: f64::NAN, ..StepSettings::default() };
        assert!(steps_by(&series, &evidence, &wrong).is_err());
    }

    fn level(position: u32) -> f64 {
        if position < 14 { 1.0 } else { 1.3 }
    }

    #[test]
    fn a_step_is_found_over_the_results_of_several_runs() {
        let values = |positions: std::ops::Range<u32>| positions.map(|at| (at, level(at))).collect::<Vec<_>>();
        let (old, new) = (run(1, &values(0..20)), run(2, &values(20..40)));
        let series = of(&[&new, &old]);
        assert_eq!((series.runs.as_slice(), series.left_out.as_slice()), (&[RunId(2), RunId(1)][..], &[][..]));
        let [step] = series.steps.steps.as_slice() else { panic!("{:?}", series.steps) };
        assert_eq!((step.after, step.by, step.between_runs), (13, 14, false));
        assert!((step.to / step.from - 1.3).abs() < 0.01, "{step:?}");
        assert_eq!(series.points[30].run, Some(RunId(2)));
        assert!(series.steps.unjudged > 0);
    }

    #[test]
    fn a_step_at_the_border_of_two_runs_says_so() {
        let (old, new) = (
            run(1, &(0..20).map(|at| (at, 1.0)).collect::<Vec<_>>()),
            run(2, &(20..40).map(|at| (at, 1.4)).collect::<Vec<_>>()),
        );
        let series = of(&[&new, &old]);
        let [step] = series.steps.steps.as_slice() else { panic!("{:?}", series.steps) };
        assert_eq!((step.after, step.by, step.between_runs), (19, 20, true));
    }

    #[test]
    fn the_newest_result_of_a_commit_counts_and_another_recipe_makes_another_series() {
        let (old, new) = (run(1, &[(3, 1.0), (4, 1.0)]), run(2, &[(4, 2.0)]));
        let mut other = run(3, &[(5, 1.0)]);
        let RunKind::History(history) = &mut other.head.settings.kind else { panic!() };
        history.measured.recipe.is_clean = true;
        let series = of(&[&new, &other, &old]);
        assert_eq!(series.left_out, [OtherRun { run: RunId(3), differs_in: Differing::Recipe }]);
        assert!(series.points[4].value().unwrap() > 1.9 && series.points[3].value().unwrap() < 1.1);
        assert_eq!(series.points[5].result, PointResult::None);
        assert!(matches!(series.steps.basis, StepBasis::TooShort { points: 2, .. }), "{:?}", series.steps);
    }
}
