//! Property tests of whole summaries, on random records: all numbers are finite, JSON round-trips,
//! and results do not depend on order or unit.

use crate::estimate::Estimate;
use crate::summary::{Point, RunSummary};
use crate::verdict::{CurveVerdict, Verdict};
use crate::warnings::WarningCode;
use crate::{example, summarise};
use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::describe::Style;
use faultline_record::direction::Direction;
use faultline_record::facts::{FactValue, Facts};
use faultline_record::failure::{Failure, FailureCause};
use faultline_record::journal::AttemptId;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{PlanItem, Timing};
use faultline_record::protocol::{Interval, Measure, Usage, UsageScope};
use faultline_record::record::{Attempt, RunHead, RunRecord, Session};
use faultline_record::subject::SubjectIndex;
use faultline_record::time::UnixMillis;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

/// Counts from 0 to the largest that a workload can print.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1u64..1000, 0..=i64::MAX as u64]
}

/// Figures of any size, and a few that no workload can print.
fn figure() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.1f64..100.0, any::<f64>(), Just(f64::MAX), Just(f64::MIN_POSITIVE), Just(f64::NAN)]
}

fn interval() -> impl Strategy<Value = Interval> {
    (count(), count(), vec(count(), 0..4)).prop_map(|(from_ns, to_ns, operations)| Interval {
        from_ns,
        to_ns,
        operations,
    })
}

fn measure() -> impl Strategy<Value = Measure> {
    ("[ab]", figure()).prop_map(|(name, value)| Measure { name, unit: "s".into(), direction: Direction::Lower, value })
}

fn usage() -> impl Strategy<Value = Usage> {
    (any::<bool>(), [count(), count(), count(), count(), count(), count()]).prop_map(|(window, counts)| Usage {
        scope: if window { UsageScope::Window } else { UsageScope::Life },
        user_ns: counts[0],
        system_ns: counts[1],
        minor_faults: counts[2],
        major_faults: counts[3],
        voluntary_switches: counts[4],
        involuntary_switches: counts[5],
    })
}

fn outcome() -> impl Strategy<Value = Option<Outcome>> {
    prop_oneof![
        6 => Just(Some(Outcome::Done)),
        1 => Just(Some(Outcome::TimedOut { limit_ms: 1000 })),
        1 => Just(Some(Outcome::Interrupted)),
        1 => Just(None),
    ]
}

fn attempt() -> impl Strategy<Value = Attempt> {
    let counter = prop_oneof![
        Just("stat.user_ns"),
        Just("stat.system_ns"),
        Just("stat.idle_ns"),
        Just("stat.steal_ns"),
        Just("vmstat.pgfault"),
    ];
    let counters = btree_map(counter.prop_map(str::to_owned), any::<i64>(), 0..6);
    let counted = (vec(interval(), 0..3), vec(interval(), 0..8));
    (outcome(), proptest::option::of(count()), counted, proptest::option::of(usage()), counters, vec(measure(), 0..4))
        .prop_map(|(outcome, bytes_per_operation, (warmup, window), usage, counters, measures)| Attempt {
            outcome,
            bytes_per_operation,
            warmup,
            window,
            usage,
            counters,
            measures,
            ..Attempt::begun(AttemptId(0), 0, 0, UnixMillis(0))
        })
}

fn facts() -> impl Strategy<Value = Facts> {
    let key = prop_oneof![
        Just("cpu.logical"),
        Just("cpu.usable"),
        Just("cpu.cores"),
        Just("cpu.governor"),
        Just("cpu.boost"),
        Just("cgroup.cpu_quota_cpus"),
        Just("load.one_minute"),
        Just("load.runnable_others"),
        Just("virtualisation.kind"),
        Just("boot.id"),
    ];
    let value = prop_oneof![
        any::<bool>().prop_map(FactValue::Flag),
        (-2i64..9).prop_map(FactValue::Count),
        any::<i64>().prop_map(FactValue::Count),
        figure().prop_map(FactValue::Real),
        "[a-z]{0,9}".prop_map(FactValue::Text),
    ];
    btree_map(key.prop_map(str::to_owned), value, 0..10).prop_map(Facts)
}

/// An item of the plan, without its ordinal. The record describes two of three workloads.
fn item() -> impl Strategy<Value = PlanItem> {
    let workload = prop_oneof![Just("loops"), Just("once"), Just("unheard_of")];
    let tasks = prop_oneof![Just(1u32), Just(2), Just(4), any::<u32>()];
    (workload, tasks, 0u32..4, any::<bool>()).prop_map(|(workload, tasks, block, timed)| {
        let case = Case { workload: workload.into(), variant: "base".into(), mode: TaskMode::Process };
        let timing = timed.then_some(Timing { warmup_ms: 1, window_ms: 1, interval_ms: 1 });
        PlanItem { ordinal: 0, block, subject: SubjectIndex::A, cell: Cell { case, tasks }, timing, seed: None }
    })
}

prop_compose! {
    fn record()(
        mut plan in vec(item(), 0..12),
        mut attempts in vec((0u32..15, attempt()), 0..15),
        skipped in vec(0u32..15, 0..5),
        sessions in vec(facts(), 0..3),
        lower in any::<bool>(),
    ) -> RunRecord {
        for (ordinal, item) in (0..).zip(&mut plan) {
            item.ordinal = ordinal;
        }
        for (id, (ordinal, attempt)) in (0..).zip(&mut attempts) {
            (attempt.id, attempt.ordinal) = (AttemptId(id), *ordinal);
        }
        // At most one attempt of each item is conclusive.
        let mut seen = Vec::new();
        attempts.retain(|(ordinal, attempt)| {
            let ended = attempt.outcome.as_ref().is_some_and(Outcome::is_final);
            let again = ended && seen.contains(ordinal);
            seen.extend(ended.then_some(*ordinal));
            !again
        });
        let mut once = example::workload("once");
        once.style = Style::Once;
        once.direction = if lower { Direction::Lower } else { Direction::Higher };
        let head = RunHead {
            workloads: vec![once, example::workload("loops")],
            sessions: sessions.into_iter().map(|facts| Session { started: UnixMillis(1), facts: vec![facts] }).collect(),
            ..example::Run::new(&[]).record().head
        };
        RunRecord { head, plan, attempts: attempts.into_iter().map(|(_, attempt)| attempt).collect(), skipped, explained: Vec::new() }
    }
}

fn check_estimate(estimate: &Estimate) {
    let Estimate { median, low, high, coverage, n } = *estimate;
    assert!(low.is_finite() && high.is_finite() && low <= median && median <= high, "{estimate:?}");
    assert!((0.0..=1.0).contains(&coverage), "{estimate:?}");
    assert!(n > 0 || coverage == 1.0, "{estimate:?}");
}

fn check_point(point: &Point) {
    let estimates = [point.value, point.speedup, point.efficiency, point.system_share];
    estimates.iter().flatten().for_each(check_estimate);
    point.side.iter().for_each(|figure| check_estimate(&figure.estimate));
    assert!(point.repeats.iter().all(|value| value.is_finite()));
    assert!(point.counters.iter().all(|(_, value)| value.is_finite()));
    if let Some(shares) = point.shares {
        let all = [shares.user, shares.system, shares.idle, shares.steal];
        assert!(all.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
        assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
    }
    assert_eq!(point.value.map_or(0, |value| value.n as usize), point.repeats.len());
}

fn back_from_json(summary: &RunSummary) -> RunSummary {
    serde_json::from_str(&serde_json::to_string(summary).unwrap()).unwrap()
}

proptest! {
    #[test]
    fn every_number_is_finite_and_survives_json(record in record()) {
        let summary = summarise(&record);
        summary.curves.iter().flat_map(|curve| &curve.points).for_each(check_point);
        prop_assert_eq!(back_from_json(&summary), summary);
    }

    #[test]
    fn every_planned_cell_has_one_point(record in record()) {
        let summary = summarise(&record);
        for item in &record.plan {
            let curves = summary.curves.iter().filter(|curve| curve.case == item.cell.case);
            let points = curves.flat_map(|curve| &curve.points).filter(|point| point.tasks == item.cell.tasks);
            prop_assert_eq!(points.count(), 1);
        }
        let values: usize = summary.curves.iter().flat_map(|curve| &curve.points).map(|point| point.repeats.len()).sum();
        prop_assert!(values <= summary.progress.done as usize);
    }

    #[test]
    fn the_order_of_attempts_does_not_matter(record in record()) {
        let mut reversed = record.clone();
        reversed.attempts.reverse();
        prop_assert_eq!(summarise(&reversed), summarise(&record));
    }

    #[test]
    fn twice_the_operations_are_twice_the_rate_at_the_same_speedup(record in record()) {
        let mut twice = record.clone();
        for count in twice.attempts.iter_mut().flat_map(|a| &mut a.window).flat_map(|i| &mut i.operations) {
            *count *= 2;
        }
        let curves = summarise(&record).curves.into_iter().zip(summarise(&twice).curves);
        for (plain, twice) in curves.filter(|(plain, _)| plain.case.workload == "loops") {
            for (plain, twice) in plain.points.iter().zip(&twice.points) {
                let doubled: Vec<f64> = plain.repeats.iter().map(|value| value * 2.0).collect();
                prop_assert_eq!(&doubled, &twice.repeats);
                prop_assert_eq!(plain.speedup, twice.speedup);
            }
        }
    }
}

#[test]
fn a_run_without_attempts_says_so() {
    let mut record = example::Run::new(&["load"]).record();
    record.attempts.clear();
    let summary = summarise(&record);
    assert_eq!((summary.progress.planned, summary.progress.done), (12, 0));
    assert_eq!((&summary.curves[0].verdict, summary.curves[0].base_tasks), (&CurveVerdict::NOT_MEASURED, None));
    assert!(summary.curves[0].points.iter().all(|point| point.value.is_none() && point.shares.is_none()));
    assert_eq!(summary.warnings.iter().map(|warning| warning.code()).collect::<Vec<_>>(), [WarningCode::Incomplete]);
}

#[test]
fn a_record_of_nothing_is_summed_up() {
    let mut record = example::Run::new(&[]).record();
    record.head.sessions.clear();
    let summary = summarise(&record);
    assert_eq!((summary.curves.len(), summary.warnings.len(), summary.machine.as_str()), (0, 0, "unknown machine"));
}

#[test]
fn interrupted_samples_are_left_out() {
    let mut record = example::Run::new(&["load"]).record();
    let mut interrupted = record.attempts[0].clone();
    interrupted.outcome = Some(Outcome::Interrupted);
    interrupted.window[0].operations[0] = 0;
    record.attempts.insert(0, interrupted);
    assert_eq!(summarise(&record), summarise(&example::Run::new(&["load"]).record()));
}

#[test]
fn when_the_base_fails_the_next_number_of_tasks_is_the_base() {
    let mut record = example::Run::new(&["load"]).tasks(&[1, 2, 4]).record();
    for attempt in &mut record.attempts {
        if record.plan[attempt.ordinal as usize].cell.tasks == 1 {
            attempt.outcome = Some(Outcome::Crashed { signal: 11, stderr: String::new() });
        }
    }
    let summary = summarise(&record);
    let curve = &summary.curves[0];
    assert_eq!((curve.base_tasks, curve.verdict.verdict), (Some(2), Verdict::Scales));
    let outcome = Outcome::Crashed { signal: 11, stderr: String::new() };
    assert_eq!(*curve.points[0].failures[2], Failure { block: Some(2), cause: FailureCause::Ended { outcome } });
    assert_eq!(curve.points[2].speedup.map(|speedup| speedup.median), Some(2.0));
    assert_eq!(curve.points[2].efficiency.map(|efficiency| efficiency.median), Some(1.0));
}

#[test]
fn under_a_quota_the_verdict_rests_on_what_the_quota_allows() {
    // Four tasks share the time of 2.5 CPUs: they do the work of two.
    let rate = |tasks: u32, block: u32| u64::from(tasks.min(2)) * 1_000_000 / u64::from(tasks) + u64::from(block % 3);
    let mut record = example::Run::new(&["load"]).tasks(&[1, 2, 4]).repeats(6).rate(rate).record();
    for facts in record.head.sessions.iter_mut().flat_map(|session| &mut session.facts) {
        facts.count("cpu.logical", 4);
        facts.count("cpu.usable", 4);
        facts.real("cgroup.cpu_quota_cpus", 2.5);
    }
    let curve = summarise(&record).curves.remove(0);
    let basis = curve.verdict.rests_on.unwrap();
    assert_eq!((curve.verdict.verdict, basis.tasks), (Verdict::Scales, 2));
    assert_eq!(Some(basis.efficiency), curve.points[1].efficiency);
}

#[test]
fn a_curve_carries_its_description_and_the_notes_of_its_last_attempt() {
    let mut record = example::Run::new(&["load"]).record();
    record.attempts[3].notes = [("compiler".to_owned(), "old".to_owned())].into();
    record.attempts[11].notes = [("compiler".to_owned(), "new".to_owned())].into();
    let curve = summarise(&record).curves.remove(0);
    assert_eq!((curve.operation.as_str(), curve.unit.as_str(), curve.text.as_str()), ("turn", "turn/s", "plain turns"));
    assert_eq!(curve.notes["compiler"], "new");
    assert_eq!(curve.points[1].intervals, 36);
}
