//! A record's values, by cell and run.

use super::conditions::Surroundings;
use crate::gather::{CaseCells, CellRepeats, gather};
use crate::granule::granule;
use crate::progress::standings;
use crate::repeat::{Repeat, rate};
use crate::side_figures::{Value, compared_figures};
use crate::thresholds::COARSE_SHARE;
use crate::two_sample::Conditions;
use faultline_model::cell::{Case, Cell, TaskMode};
use faultline_model::dataset::{DataPoint, Dataset, Measured, Series};
use faultline_model::describe::{Style, WorkloadInfo};
use faultline_model::facts::Facts;
use faultline_model::failure::{Failure, FailureCause};
use faultline_model::protocol::Interval;
use faultline_model::record::{Attempt, RunRecord};
use faultline_model::subject::SubjectIndex;
use std::collections::BTreeSet;

/// The values of a run of one subject: a series for each cell, a point for each attempt that ended for good. Empty for a run under the lens, which
/// takes no time, for a comparison, which has two [`sides`], and for a run that measures commits of a repository.
pub fn dataset(record: &RunRecord) -> Dataset {
    if interleaves_subjects(record) { Dataset::of(Vec::new()) } else { of_subject(record, SubjectIndex::A) }
}

/// The values of one of a run's subjects.
pub fn of_subject(record: &RunRecord, subject: SubjectIndex) -> Dataset {
    let chosen = Chosen { record, subject, blocks: u32::MAX };
    let cases = chosen.cases();
    measurement(chosen, &cases, &Coarse::of(cases.iter())).dataset
}

/// Whether a block of the run has several subjects.
fn interleaves_subjects(record: &RunRecord) -> bool {
    record.settings.comparison().is_some() || record.settings.measured_line().is_some()
}

/// The values of a live comparison: those of its first side, and those of its second.
pub fn sides(record: &RunRecord) -> (Dataset, Dataset) {
    let [a, b] = SubjectIndex::SIDES.map(|subject| Chosen { record, subject, blocks: u32::MAX });
    let (cases_a, cases_b) = (a.cases(), b.cases());
    let coarse = Coarse::of(cases_a.iter().chain(&cases_b));
    (measurement(a, &cases_a, &coarse).dataset, measurement(b, &cases_b, &coarse).dataset)
}

/// A part of a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chosen<'a> {
    /// The record.
    pub(crate) record: &'a RunRecord,
    /// Items of this subject.
    pub(crate) subject: SubjectIndex,
    /// Items of that many blocks, from the first.
    pub(crate) blocks: u32,
}

impl<'a> Chosen<'a> {
    /// Its cases; none of a run under the lens.
    pub(crate) fn cases(&self) -> Vec<CaseCells<'a>> {
        let mut chosen = standings(self.record);
        let timed = self.record.settings.timed().is_some();
        chosen.retain(|(item, _)| timed && item.subject == self.subject && item.block < self.blocks);
        gather(&self.record.workloads, &chosen)
    }

    /// The machine that it was measured on.
    pub(crate) fn facts(&self) -> Facts {
        let session = self.record.sessions.first();
        session.and_then(|session| session.facts_of(self.subject)).cloned().unwrap_or_default()
    }
}

/// What a part of a record gives to a comparison.
#[derive(Debug)]
pub(crate) struct Measurement<'a> {
    /// Its values.
    pub(crate) dataset: Dataset,
    /// What else is known of each series' runs, in the same order.
    pub(crate) runs: Vec<Vec<MeasuredRun<'a>>>,
    /// What of each series gave no value, in the same order.
    pub(crate) failures: Vec<Vec<Failure>>,
    /// What was recorded of the machine during each series, in the same order.
    pub(crate) conditions: Vec<Conditions>,
}

/// A run that has values.
#[derive(Debug)]
pub(crate) struct MeasuredRun<'a> {
    /// What was recorded.
    pub(crate) repeat: Repeat<'a>,
    /// As in its point.
    pub(crate) boot: Option<String>,
    /// As in its point.
    pub(crate) order: Option<u64>,
    /// Its block, in a comparison with sides.
    pub(crate) block: Option<u32>,
    /// What it measured beside the value.
    pub(crate) figures: Vec<Value>,
}

/// The values and runs of the `cases` of a part of a record.
pub(crate) fn measurement<'a>(chosen: Chosen<'a>, cases: &[CaseCells<'a>], coarse: &Coarse) -> Measurement<'a> {
    let mut measurement = Measurement {
        dataset: Dataset { facts: chosen.facts(), ..Dataset::of(Vec::new()) },
        runs: Vec::new(),
        failures: Vec::new(),
        conditions: Vec::new(),
    };
    let surroundings = Surroundings::of(chosen.record);
    let commit = chosen.record.subject(chosen.subject).and_then(|subject| subject.commit.as_ref());
    let commit = commit.map(|commit| commit.id.clone());
    for case in cases {
        for cell in &case.cells {
            let runs = runs(chosen, case.about.style, cell);
            let points = points(case, cell, &runs, coarse, commit.as_deref());
            measurement.dataset.series.push(Series {
                name: name(&chosen.record.workloads, case.case),
                tasks: Some(cell.tasks),
                measure: None,
                unit: case.about.unit.clone(),
                direction: Some(case.about.direction),
                points,
            });
            measurement.runs.push(runs);
            measurement.failures.push(failures(case, cell));
            measurement.conditions.push(surroundings.of_cell(case, cell));
        }
    }
    measurement
}

/// The case, and what its tasks are where that isn't the usual: a name that says the same in every run.
fn name(workloads: &[WorkloadInfo], case: &Case) -> String {
    let workload = workloads.iter().find(|workload| workload.name == case.workload);
    let variant = workload.and_then(|workload| workload.variant(&case.variant));
    let usual = variant.and_then(|variant| variant.modes.first()).copied().unwrap_or(TaskMode::Process);
    match case.mode {
        mode if mode == usual => case.to_string(),
        TaskMode::Process => format!("{case} (processes)"),
        TaskMode::Thread => format!("{case} (threads)"),
    }
}

fn is_still(style: Style, repeat: &Repeat<'_>) -> bool {
    style == Style::Loop && repeat.operations == 0
}

fn runs<'a>(chosen: Chosen<'a>, style: Style, cell: &CellRepeats<'a>) -> Vec<MeasuredRun<'a>> {
    let moved = cell.repeats.iter().filter(|repeat| !is_still(style, repeat));
    let is_interleaved = interleaves_subjects(chosen.record);
    let run = |repeat: &Repeat<'a>| MeasuredRun {
        repeat: *repeat,
        boot: boot(chosen.record, chosen.subject, repeat.attempt),
        order: u64::try_from(repeat.attempt.started.0).ok(),
        block: is_interleaved.then_some(repeat.block),
        figures: compared_figures(style, repeat),
    };
    moved.map(run).collect()
}

/// A point for each run, then one for each attempt without a figure.
fn points(
    case: &CaseCells<'_>,
    cell: &CellRepeats<'_>,
    runs: &[MeasuredRun<'_>],
    coarse: &Coarse,
    commit: Option<&str>,
) -> Vec<DataPoint> {
    let point = |run: &MeasuredRun<'_>| DataPoint {
        commit: commit.map(str::to_owned),
        time: Some(run.repeat.attempt.started),
        boot: run.boot.clone(),
        order: run.order,
        measured: Measured::Values(coarse.values(&case.cell(cell.tasks), &run.repeat)),
    };
    let failed = failures(case, cell).into_iter().map(|failure| DataPoint::of(Measured::Failed(failure)));
    runs.iter().map(point).chain(failed).collect()
}

/// What gave no value, by block.
fn failures(case: &CaseCells<'_>, cell: &CellRepeats<'_>) -> Vec<Failure> {
    let still = cell.repeats.iter().filter(|repeat| is_still(case.about.style, repeat));
    let still = still.map(|repeat| Failure { block: Some(repeat.block), cause: FailureCause::NoOperation });
    let mut failures: Vec<Failure> = cell.failures.iter().cloned().chain(still).collect();
    failures.sort_by_key(|failure| failure.block);
    failures
}

/// The boot's name: of a guest, that of the attempt; of a host, its boot's id at the session in which the attempt began. None where no fact tells.
pub(crate) fn boot(record: &RunRecord, subject: SubjectIndex, attempt: &Attempt) -> Option<String> {
    if record.subject(subject).is_some_and(|subject| subject.machine.boots_for_each_execution()) {
        return Some(format!("run {} attempt {}", record.id, attempt.id.0));
    }
    let session = record.sessions.get(attempt.session as usize)?;
    session.facts_of(subject)?.get_text("boot.id").map(str::to_owned)
}

/// Cells whose intervals count so little that a single operation, or batch, would show: their runs have one value each.
///
/// It goes for both sides of a comparison, as a median of intervals and a rate over all of them are not the same figure.
#[derive(Debug, Default)]
pub(crate) struct Coarse(BTreeSet<Cell>);

impl Coarse {
    /// Looks at all the cells.
    pub(crate) fn of<'a>(cases: impl Iterator<Item = &'a CaseCells<'a>>) -> Self {
        let coarse = |case: &CaseCells<'_>| {
            let cells: Vec<Cell> =
                case.cells.iter().filter(|cell| is_coarse(cell)).map(|c| case.cell(c.tasks)).collect();
            cells
        };
        Coarse(cases.flat_map(coarse).collect())
    }

    /// The values of a repeat of `cell`, at least one.
    pub(crate) fn values(&self, cell: &Cell, repeat: &Repeat<'_>) -> Vec<f64> {
        let rates: Vec<f64> = repeat.attempt.window.chunks(1).filter_map(rate).collect();
        if rates.is_empty() || self.0.contains(cell) { vec![repeat.value] } else { rates }
    }
}

/// The rule of coarse counts (docs/METHODOLOGY.md, §9), for each interval on its own.
fn is_coarse(cell: &CellRepeats<'_>) -> bool {
    let fewest = cell.repeats.iter().flat_map(|repeat| &repeat.attempt.window).map(Interval::total).min();
    fewest.is_some_and(|fewest| f64::from(cell.tasks) * granule(cell) as f64 > COARSE_SHARE * fewest as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use faultline_model::describe::VariantInfo;
    use faultline_model::direction::Direction;
    use faultline_model::outcome::Outcome;
    use faultline_model::protocol::Measure;
    use faultline_model::record::Session;
    use faultline_model::time::UnixMillis;

    fn boots(series: &Series) -> Vec<Option<&str>> {
        series.points.iter().map(|point| point.boot.as_deref()).collect()
    }

    #[test]
    fn a_loops_run_has_the_rates_of_its_intervals() {
        let mut record = example::Run::new(&["load"]).tasks(&[2]).repeats(3).record();
        record.attempts[1].window[2].operations = vec![500_000, 700_000];
        record.attempts[2].outcome = Some(Outcome::TimedOut { limit_ms: 1500 });
        let dataset = dataset(&record);
        let [series] = dataset.series.as_slice() else { panic!("one cell: {dataset:?}") };
        assert_eq!((series.to_string().as_str(), series.unit.as_str()), ("load:base×2", "turn/s"));
        assert_eq!(series.direction, Some(Direction::Higher));
        assert_eq!(series.points[1].measured.values()[1..4], [2_000_006.0, 1_200_000.0, 2_000_006.0]);
        assert_eq!((series.points[1].order, series.points[1].time), (Some(2_001), Some(UnixMillis(2_001))));
        let cause = FailureCause::Ended { outcome: Outcome::TimedOut { limit_ms: 1500 } };
        assert_eq!(series.points[2].measured, Measured::Failed(Failure { block: Some(2), cause }));
        assert_eq!(dataset.facts.get_text("kernel.release"), Some("6.1.0"));
    }

    #[test]
    fn where_intervals_count_little_a_run_has_one_value_on_both_sides() {
        let coarse = example::Run::new(&["load"]).tasks(&[1]).rate(|_, _| 90).against(|_, _| 9_000).record();
        let (a, b) = sides(&coarse);
        assert_eq!(a.series[0].points[0].measured, Measured::Values(vec![90.0]));
        assert_eq!(b.series[0].points[0].measured, Measured::Values(vec![9_000.0]));
        let fine = example::Run::new(&["load"]).tasks(&[1]).rate(|_, _| 900).against(|_, _| 9_000).record();
        assert_eq!(sides(&fine).0.series[0].points[0].measured.values().len(), 6);
    }

    #[test]
    fn a_run_without_any_operation_has_no_value() {
        let still = |_, block| if block == 1 { 0 } else { 1_000_000 };
        let record = example::Run::new(&["load"]).tasks(&[1]).repeats(3).rate(still).record();
        let points = dataset(&record).series.remove(0).points;
        assert_eq!((points[0].measured.values(), points[1].measured.values()), (&[1e6][..], &[1e6][..]));
        assert_eq!(points[2].measured, Measured::Failed(Failure { block: Some(1), cause: FailureCause::NoOperation }));
    }

    #[test]
    fn a_workload_that_runs_once_has_its_first_measure() {
        let mut record = example::Run::new(&["load"]).tasks(&[1]).repeats(1).record();
        record.head.workloads[0].style = Style::Once;
        record.attempts[0].window.clear();
        let measure = |value| Measure { name: "real_s".into(), unit: "s".into(), direction: Direction::Lower, value };
        record.attempts[0].measures = vec![measure(12.5), measure(20.0)];
        assert_eq!(dataset(&record).series[0].points[0].measured, Measured::Values(vec![12.5]));
    }

    #[test]
    fn a_host_has_the_boot_of_its_session_and_a_guest_one_for_each_attempt() {
        let mut record = example::Run::new(&["load"]).tasks(&[1]).repeats(2).record();
        let mut facts = example::quiet_facts();
        facts.text("boot.id", "second");
        // The clock was set back by an hour meanwhile.
        record.head.sessions.push(Session { started: UnixMillis(-3_600_000), facts: vec![facts] });
        record.attempts[1].session = 1;
        assert_eq!(boots(&dataset(&record).series[0]), [Some("first"), Some("second")]);
        record.head.subjects[0].machine = "qemu:cpus=2".parse().unwrap();
        assert_eq!(boots(&dataset(&record).series[0]), [Some("run 1 attempt 0"), Some("run 1 attempt 1")]);
    }

    #[test]
    fn each_side_has_its_own_machine() {
        let mut record = example::Run::new(&["load"]).tasks(&[1]).repeats(1).against(|_, _| 1_000_000).record();
        record.head.subjects[1].machine = "qemu:cpus=1".parse().unwrap();
        let mut facts = Facts::default();
        facts.text("kernel.release", "6.2.0");
        record.head.sessions[0].facts[1] = facts;
        let (a, b) = sides(&record);
        assert_eq!((boots(&a.series[0]), boots(&b.series[0])), (vec![Some("first")], vec![Some("run 1 attempt 1")]));
        assert_eq!(b.facts.get_text("kernel.release"), Some("6.2.0"));
        assert_eq!(a.facts.get_text("kernel.release"), Some("6.1.0"));
        assert!(dataset(&record).series.is_empty(), "a comparison has two sides");
    }

    #[test]
    fn tasks_of_the_unusual_kind_are_named() {
        let mut record = example::Run::new(&["load"]).tasks(&[1]).repeats(1).record();
        record.plan[0].cell.case.mode = TaskMode::Thread;
        assert_eq!(dataset(&record).series[0].name, "load:base (threads)");
        let text = String::new();
        record.head.workloads[0].variants = vec![VariantInfo {
            name: "base".into(),
            modes: vec![TaskMode::Thread, TaskMode::Process],
            text,
            lens_operations: None,
        }];
        assert_eq!(dataset(&record).series[0].name, "load:base");
        record.plan[0].cell.case.mode = TaskMode::Process;
        assert_eq!(dataset(&record).series[0].name, "load:base (processes)");
    }
}
