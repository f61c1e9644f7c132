//! The quirks of a series: places, bridges (commits measured in two environments), and effects on
//! steps.

use crate::bisect::Change;
use crate::estimate::{Estimate, estimate, fewest_values};
use crate::history::causes::{Bridge, CauseLabel, Quirk, QuirkPlace, StepCause, letter};
use crate::history::commits_part::commits_part;
use crate::history::environment::{Difference, Environment, groups};
use crate::history::runs::HistoryRun;
use crate::history::scatter::Sides;
use crate::history::{CommitOutcome, HistoryPoint, HistoryStep, PointResult};
use faultline_record::quirk::{DeclaredQuirk, QuirkTime};
use faultline_record::time::UnixMillis;
use std::collections::BTreeMap;

/// The quirks of a series: those between runs in order, one fewer than groups of runs, then those
/// of commits. Also the declarations of commits that are not among the points.
pub(super) fn quirks(
    groups: &[(Difference, Vec<HistoryRun<'_>>)],
    declared: &[DeclaredQuirk],
    points: &[HistoryPoint],
) -> (Vec<Quirk>, Vec<String>) {
    let pairs = groups.windows(2).filter_map(|pair| between_runs(&pair[0].1, &pair[1], points));
    let mut quirks: Vec<Quirk> = pairs.collect();
    let mut unplaced = Vec::new();
    for one in declared {
        let QuirkTime::Commits { first, last } = &one.when else { continue };
        match of_commits(first, last.as_deref(), points) {
            Some(place) => quirks.push(Quirk {
                letter: String::new(),
                place,
                changed: Vec::new(),
                declared: vec![one.what.clone()],
                bridge: None,
            }),
            None => unplaced.push(one.what.clone()),
        }
    }
    for (number, quirk) in quirks.iter_mut().enumerate() {
        quirk.letter = letter(number);
    }
    (quirks, unplaced)
}

fn between_runs(
    before: &[HistoryRun<'_>],
    (difference, now): &(Difference, Vec<HistoryRun<'_>>),
    points: &[HistoryPoint],
) -> Option<Quirk> {
    let (last, first) = (before.last()?.head, now.first()?.head);
    let began = first.sessions.first().map_or(UnixMillis(0), |session| session.started);
    Some(Quirk {
        letter: String::new(),
        place: QuirkPlace::Runs { before: last.id, since: first.id, began },
        changed: difference.changed.clone(),
        declared: difference.declared.clone(),
        bridge: bridge(before, now, points),
    })
}

/// The newest commit measured on both sides.
fn bridge(before: &[HistoryRun<'_>], now: &[HistoryRun<'_>], points: &[HistoryPoint]) -> Option<Bridge> {
    let (before, now) = (outcomes(before), outcomes(now));
    let bridge = |(commit, point): (u32, &HistoryPoint)| {
        let id = point.commit.id.as_str();
        bridge_of(commit, before.get(id)?, now.get(id)?)
    };
    (0..points.len() as u32).zip(points).rev().find_map(bridge)
}

/// The positions of commits named by their first digits; `None` if one of them is no point, or if
/// they are in the wrong order.
fn of_commits(first: &str, last: Option<&str>, points: &[HistoryPoint]) -> Option<QuirkPlace> {
    let position = |id: &str| points.iter().position(|point| point.commit.is_called(id)).map(|at| at as u32);
    let first = position(first)?;
    let last = last.map_or(Some(points.len() as u32 - 1), position)?;
    (first <= last).then_some(QuirkPlace::Commits { first, last })
}

/// The effect of the quirks in the range of a step; `None` without any. `quirks`: in the order of
/// [`quirks`]. `least`: the smallest change that is a step, as a share.
pub(super) fn cause(
    step: &HistoryStep,
    sides: &Sides,
    points: &[HistoryPoint],
    quirks: &[Quirk],
    least: f64,
) -> Option<StepCause> {
    let through = environments_through(step, points);
    let (from, to) = (*through.first()?, *through.last()?);
    let (lowest, highest) = (*through.iter().min()?, *through.iter().max()?);
    let between = &quirks[lowest..highest];
    let of_commits: Vec<&Quirk> = quirks.iter().filter(|quirk| is_at(quirk, step)).collect();
    let letters: Vec<String> = between.iter().chain(of_commits.iter().copied()).map(|one| one.letter.clone()).collect();
    if letters.is_empty() {
        return None;
    }
    let is_crossed_once = through.is_sorted() || through.iter().rev().is_sorted();
    if between.is_empty() || !is_crossed_once {
        // Declared environments of commits cannot be measured, and the program may have changed at
        // the same commit. Commits measured in environments other than those of both sides have no
        // bridge between the sides.
        return Some(StepCause {
            quirks: letters,
            label: CauseLabel::Inconclusive,
            of_environment: None,
            of_commits: None,
        });
    }
    let bridges: Option<Vec<Change>> = between.iter().map(|quirk| Some(quirk.bridge?.change)).collect();
    let of_environment =
        bridges.map(|bridges| product(&bridges)).map(|all| if to < from { all.inverse() } else { all });
    let whole = whole(step, points);
    // Exact values do not vary.
    let by_levels = step.status.and_then(|_| {
        let bridges: Vec<Bridge> = between.iter().map(|quirk| quirk.bridge).collect::<Option<_>>()?;
        commits_part(step, sides, points, &bridges, [from, to])
    });
    let of_both = || of_environment.and_then(|environment| Some(product(&[whole?, environment.inverse()])));
    let rest = by_levels.or_else(of_both);
    let label = match (whole, of_environment, rest) {
        (Some(whole), Some(environment), Some(rest)) if is_known(step, rest.units) => {
            match label(whole.ratio, &environment, &rest, least) {
                // The commits' change may be the declared one.
                CauseLabel::Code if !of_commits.is_empty() => CauseLabel::Inconclusive,
                label => label,
            }
        }
        _ => CauseLabel::Inconclusive,
    };
    Some(StepCause { quirks: letters, label, of_environment, of_commits: rest })
}

/// The environments of the measured commits from the first end of a step's range to the last.
fn environments_through(step: &HistoryStep, points: &[HistoryPoint]) -> Vec<usize> {
    let range = points.get(step.earliest as usize..=step.latest as usize).unwrap_or_default();
    let measured = range.iter().filter(|point| matches!(point.result, PointResult::Measured { .. }));
    measured.map(|point| point.environment as usize).collect()
}

/// True if medians of this number of values have intervals with enough coverage. Exact values,
/// which have no status, need none.
fn is_known(step: &HistoryStep, units: u32) -> bool {
    step.status.is_none() || u64::from(units) >= fewest_values()
}

/// True if a quirk of commits begins or ends within the range of a step.
fn is_at(quirk: &Quirk, step: &HistoryStep) -> bool {
    let is_within = |position: u32| step.earliest < position && position <= step.latest;
    match quirk.place {
        QuirkPlace::Commits { first, last } => is_within(first) || is_within(last + 1),
        QuirkPlace::Runs { .. } => false,
    }
}

/// The cause: commits or environment. In the direction of the step: code, if the interval of the
/// commits' part is above the least change; quirk or mostly a quirk, if that of the environment's
/// part is above 0, and that of the commits' part ends at half of the step or below. It is a quirk
/// if it also ends at the least change or below.
fn label(whole: f64, environment: &Change, rest: &Change, least: f64) -> CauseLabel {
    let sign = whole.ln().signum();
    let part = |change: &Change| {
        let (low, high) = (sign * change.low.ln(), sign * change.high.ln());
        (low.min(high), low.max(high))
    };
    let ((environment_low, _), (rest_low, rest_high)) = (part(environment), part(rest));
    if rest_low > least.ln_1p() {
        CauseLabel::Code
    } else if environment_low <= 0.0 || rest_high > whole.ln().abs() / 2.0 {
        CauseLabel::Inconclusive
    } else if rest_high <= least.ln_1p() {
        CauseLabel::Quirk
    } else {
        CauseLabel::MostlyQuirk
    }
}

/// The ratio of a step's levels; `None` without one. Its interval follows from those of the two
/// commits at it, which is wider than from those of the levels.
fn whole(step: &HistoryStep, points: &[HistoryPoint]) -> Option<Change> {
    let estimate = |position: u32| match &points.get(position as usize)?.result {
        PointResult::Measured { estimate, .. } => Some(*estimate),
        PointResult::Unusable(_) | PointResult::None => None,
    };
    let (before, after) = (estimate(step.after)?, estimate(step.by)?);
    let ratio = step.to / step.from;
    let change = Change {
        ratio,
        low: ratio * (after.low / after.median) * (before.median / before.high),
        high: ratio * (after.high / after.median) * (before.median / before.low),
        units: before.n.min(after.n),
    };
    [change.ratio, change.low, change.high].iter().all(|ratio| ratio.is_finite() && *ratio > 0.0).then_some(change)
}

/// Product of consecutive changes.
fn product(changes: &[Change]) -> Change {
    let of = |value: fn(&Change) -> f64| changes.iter().map(value).product();
    Change {
        ratio: of(|change| change.ratio),
        low: of(|change| change.low),
        high: of(|change| change.high),
        units: changes.iter().map(|change| change.units).min().unwrap_or(0),
    }
}

/// Candidates for a bridge over the newest change of the environment, best first: commits measured
/// before it without a result after it, newest first. Empty without a change, or if a commit was
/// measured on both sides. `runs`: those of one series, newest first. `now`: the environment of the
/// next run.
pub fn bridging(runs: &[HistoryRun<'_>], now: &Environment<'_>, declared: &[DeclaredQuirk]) -> Vec<String> {
    let mut groups = groups(runs, declared);
    let Some(newest) = runs.first() else { return Vec::new() };
    let is_now = Difference::between(&Environment::of(newest.head), now, declared).is_none();
    let current = if is_now { groups.pop().map(|(_, runs)| runs).unwrap_or_default() } else { Vec::new() };
    let Some((_, before)) = groups.pop() else { return Vec::new() };
    let (before, current) = (outcomes(&before), outcomes(&current));
    let is_measured = |outcome: Option<&&CommitOutcome>| matches!(outcome, Some(CommitOutcome::Measured { .. }));
    if before.iter().any(|(id, outcome)| is_measured(Some(outcome)) && is_measured(current.get(id))) {
        return Vec::new();
    }
    let line = newest.head.settings.measured_line().map_or(&[][..], |line| &line.line.commits);
    let missing = line.iter().rev().map(|commit| &commit.id);
    let missing = missing.filter(|id| is_measured(before.get(id.as_str())) && !current.contains_key(id.as_str()));
    missing.cloned().collect()
}

/// The newest result of each commit in runs of one environment, oldest first.
pub(super) fn outcomes<'a>(runs: &[HistoryRun<'a>]) -> BTreeMap<&'a str, &'a CommitOutcome> {
    let all = runs.iter().flat_map(|run| &run.results.commits);
    all.map(|result| (result.commit.as_str(), &result.outcome)).collect()
}

/// A commit with two results; `None` if one lacks a value, or if the first was 0. Medians are
/// independent, so the ends of their intervals bound the ratio.
pub(super) fn bridge_of(commit: u32, before: &CommitOutcome, now: &CommitOutcome) -> Option<Bridge> {
    let (before, now) = (median(before)?, median(now)?);
    let change = Change {
        ratio: now.median / before.median,
        low: now.low / before.high,
        high: now.high / before.low,
        units: before.n.min(now.n),
    };
    let is_ratio = [change.ratio, change.low, change.high].iter().all(|ratio| ratio.is_finite() && *ratio > 0.0);
    is_ratio.then_some(Bridge { commit, before, now, change })
}

fn median(outcome: &CommitOutcome) -> Option<Estimate> {
    match outcome {
        CommitOutcome::Measured { values, .. } => estimate(values),
        CommitOutcome::Unusable(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{
        Environment, HistoryResults, HistoryRun, HistorySeries, HistorySteps, StepSettings, bridging, example,
        results_of_record, series,
    };
    use faultline_record::plan::RunKind;
    use faultline_record::record::{RunId, RunRecord};

    /// A run that measured these commits, each seven times near these values, with this compiler.
    fn run(id: i64, compiler: &str, values: impl Iterator<Item = (u32, f64)>) -> RunRecord {
        let values: Vec<(u32, f64)> = values.collect();
        let wanted: Vec<u32> = values.iter().map(|(position, _)| *position).collect();
        let mut record = example::begun(&wanted, 7);
        record.head.id = RunId(id);
        record.head.sessions[0].started = UnixMillis(id * 1000);
        let RunKind::History(history) = &mut record.head.settings.kind else { panic!("it is one") };
        let tools = &mut history.measured.tools;
        tools.digest = compiler.to_owned();
        tools.versions.insert("cc --version".to_owned(), compiler.to_owned());
        wanted.iter().for_each(|position| example::build(&mut record, Some(&format!("/{compiler}/{position}"))));
        for block in 0..7 {
            let noise = |subject: usize| 1.0 + 0.0005 * ((subject * 7 + block * 5) % 11) as f64;
            let block = (0..).zip(&values).map(|(subject, (_, value))| (subject, Ok(value * noise(subject as usize))));
            example::block(&mut record, &block.collect::<Vec<_>>());
        }
        record
    }

    fn of(runs: &[&RunRecord], declared: &[DeclaredQuirk]) -> HistorySeries {
        with_runs(runs, |runs| series(runs, declared, &StepSettings::default()).unwrap().unwrap())
    }

    /// Calls a function with runs, newest first.
    fn with_runs<T>(runs: &[&RunRecord], body: impl FnOnce(&[HistoryRun<'_>]) -> T) -> T {
        let results: Vec<HistoryResults> = runs.iter().map(|run| results_of_record(run).unwrap()).collect();
        let runs = runs.iter().zip(&results).map(|(run, results)| HistoryRun { head: &run.head, results });
        body(&runs.collect::<Vec<_>>())
    }

    /// The label of the only step.
    fn only(series: &HistorySeries) -> (u32, &StepCause) {
        let [step] = series.steps.steps.as_slice() else { panic!("{:#?}", series.steps) };
        (step.by, step.cause.as_ref().unwrap())
    }

    #[test]
    fn a_compilers_step_is_a_quirk_and_one_of_the_program_at_the_same_place_is_code() {
        let old = run(1, "gcc 12", (0..20).map(|at| (at, 1.0)));
        // The last commit is measured again by the new compiler.
        let new = run(2, "gcc 13", (19..40).map(|at| (at, 1.3)));
        let series = of(&[&new, &old], &[]);
        assert!(series.left_out.is_empty());
        let (by, cause) = only(&series);
        assert_eq!((by, cause.quirks.as_slice(), cause.label), (19, &["A".to_owned()][..], CauseLabel::Quirk));
        let quirk = &series.quirks[0];
        assert_eq!((quirk.changed[0].key.as_str(), quirk.bridge.unwrap().commit), ("cc --version", 19));
        assert_eq!(quirk.place, QuirkPlace::Runs { before: RunId(1), since: RunId(2), began: UnixMillis(2000) });
        assert_eq!([18, 19, 39].map(|at| series.points[at].environment), [0, 1, 1]);

        // The bridge shows no change: the program changed at the commit after it, in the new
        // environment.
        let new = run(2, "gcc 13", (19..40).map(|at| (at, if at < 20 { 1.0 } else { 1.3 })));
        let series = of(&[&new, &old], &[]);
        let [step] = series.steps.steps.as_slice() else { panic!("{:#?}", series.steps) };
        assert_eq!(step.by, 20);
        assert!(step.cause.as_ref().is_none_or(|cause| cause.label == CauseLabel::Code), "{step:?}");

        // The program changed at the bridge itself, as the old environment shows.
        let old = run(1, "gcc 12", (0..20).map(|at| (at, if at < 19 { 1.0 } else { 1.3 })));
        let new = run(2, "gcc 13", (19..40).map(|at| (at, 1.3)));
        let (series, expected) = (of(&[&new, &old], &[]), CauseLabel::Code);
        assert_eq!((only(&series).0, only(&series).1.label), (19, expected));
    }

    #[test]
    fn without_a_bridge_nothing_is_claimed() {
        let (old, new) =
            (run(1, "gcc 12", (0..20).map(|at| (at, 1.0))), run(2, "gcc 13", (20..40).map(|at| (at, 1.3))));
        let series = of(&[&new, &old], &[]);
        let (_, cause) = only(&series);
        assert_eq!((cause.label, cause.of_environment), (CauseLabel::Inconclusive, None));
        // A noisy bridge decides nothing either.
        let change = |low, high| Change { ratio: 1.2, low, high, units: 7 };
        assert_eq!(label(1.3, &change(0.9, 1.4), &change(0.9, 1.4), 0.01), CauseLabel::Inconclusive);
        assert_eq!(
            label(1.0 / 1.3, &change(0.7, 0.8), &change(0.98, 1.02), 0.02),
            CauseLabel::MostlyQuirk,
            "downwards"
        );
        assert_eq!(label(1.0 / 1.3, &change(0.7, 0.8), &change(0.985, 1.02), 0.02), CauseLabel::Quirk, "downwards");
        assert_eq!(
            label(1.3, &change(1.2, 1.4), &change(0.9, 1.15), 0.2),
            CauseLabel::Inconclusive,
            "more than half of it"
        );
        assert_eq!(label(1.3, &change(1.0, 1.0), &change(1.3, 1.3), 0.0), CauseLabel::Code, "exact");
    }

    #[test]
    fn what_is_declared_has_its_letter() {
        let since =
            |at| DeclaredQuirk { what: "new firmware".to_owned(), when: QuirkTime::Since { at: UnixMillis(at) } };
        let (old, new) = (run(1, "gcc", (0..20).map(|at| (at, 1.0))), run(2, "gcc", (19..40).map(|at| (at, 1.3))));
        let series = of(&[&new, &old], &[since(1500)]);
        assert_eq!(series.quirks[0].declared, ["new firmware"]);
        assert_eq!(only(&series).1.label, CauseLabel::Quirk);
        assert!(of(&[&new, &old], &[since(2001), since(1000)]).quirks.is_empty(), "not between the runs");

        let commits = |first: u32, last: Option<u32>| DeclaredQuirk {
            what: "other flags".to_owned(),
            when: QuirkTime::Commits {
                first: example::commit(first).id,
                last: last.map(|last| example::commit(last).id),
            },
        };
        let all = run(1, "gcc", (0..40).map(|at| (at, if at < 20 { 1.0 } else { 1.3 })));
        assert_eq!(only(&of(&[&all], &[commits(20, None)])).1.label, CauseLabel::Inconclusive);
        assert_eq!(only(&of(&[&all], &[commits(5, Some(19))])).1.quirks, ["A"], "it ends there");
        let elsewhere = of(&[&all], &[commits(5, Some(9)), commits(5, Some(3)), commits(99, None)]);
        assert!(elsewhere.steps.steps[0].cause.is_none());
        assert_eq!((elsewhere.quirks.len(), elsewhere.unplaced_quirks.len()), (1, 2));
    }

    #[test]
    fn a_change_of_the_program_that_a_quirk_may_hide_is_not_called_one() {
        // The compiler changes 30 %, the program 5 % at the same commit: less than half of the
        // step.
        let old = run(1, "gcc 12", (0..20).map(|at| (at, 1.0)));
        let new = run(2, "gcc 13", (19..40).map(|at| (at, if at < 20 { 1.3 } else { 1.365 })));
        let series = of(&[&new, &old], &[]);
        let labels: Vec<_> =
            series.steps.steps.iter().map(|step| step.cause.as_ref().map(|cause| cause.label)).collect();
        assert!(!labels.is_empty() && !labels.contains(&Some(CauseLabel::Quirk)), "{labels:?}");
        let bound = |least: f64| {
            let change = |low, high| Change { ratio: 1.3, low, high, units: 7 };
            label(1.365, &change(1.29, 1.31), &change(1.03, 1.06), least)
        };
        assert_eq!([0.01, 0.05, 0.07].map(bound), [CauseLabel::Code, CauseLabel::MostlyQuirk, CauseLabel::Quirk]);
    }

    #[test]
    fn an_island_of_another_environment_within_a_range_is_seen() {
        let (old, new) = (run(1, "gcc 12", (0..40).map(|at| (at, 1.0))), run(2, "gcc 13", [(20, 1.3)].into_iter()));
        let series = of(&[&new, &old], &[]);
        let step = |earliest, latest| HistoryStep {
            after: earliest,
            by: latest,
            earliest,
            latest,
            from: 1.0,
            to: 1.3,
            effect: faultline_record::direction::Effect::Worse,
            status: None,
            between_runs: false,
            cause: None,
            layouts: None,
            boots: None,
            state: crate::history::StepState::default(),
            between: None,
        };
        let cause = |earliest, latest| {
            let step = step(earliest, latest);
            let found = HistorySteps { steps: vec![step.clone()], ..series.steps.clone() };
            cause(&step, &Sides::of(&found, 0, 39), &series.points, &series.quirks, 0.01)
        };
        assert_eq!(cause(10, 19), None);
        let island = cause(18, 22).unwrap();
        assert_eq!((island.quirks.as_slice(), island.label), (&["A".to_owned()][..], CauseLabel::Inconclusive));
        assert_eq!(island.of_environment, None, "no bridge leads from one end to the other");
        assert!(cause(19, 20).unwrap().of_environment.is_some());
    }

    #[test]
    fn the_newest_commit_bridges_until_one_is_measured_on_both_sides() {
        let id = |position| example::commit(position).id;
        let old = run(1, "gcc 12", (0..4).map(|at| (at, 1.0)));
        let best = |runs: &[&RunRecord], compiler: &RunRecord| {
            let now = Environment { began: UnixMillis(9000), ..Environment::of(&compiler.head) };
            with_runs(runs, |runs| bridging(runs, &now, &[])).first().cloned()
        };
        assert_eq!(best(&[&old], &old), None, "nothing changed");
        let mut new = run(2, "gcc 13", [(4, 1.0)].into_iter());
        assert_eq!(best(&[&old], &new), Some(id(3)));
        assert_eq!(best(&[&new, &old], &new), Some(id(3)), "no commit of the new run has an old result");
        let bridged = run(3, "gcc 13", [(2, 1.0)].into_iter());
        assert_eq!(best(&[&bridged, &new, &old], &new), None);
        // A commit that no longer builds is not tried again.
        new = run(2, "gcc 13", std::iter::empty());
        let RunKind::History(history) = &mut new.head.settings.kind else { panic!("it is one") };
        history.wanted = vec![3];
        example::build(&mut new, None);
        assert_eq!(best(&[&new, &old], &new), Some(id(2)));
    }
}
