//! Values of a record, by cell and run.

use super::conditions::SharedConditions;
use crate::command_figures::given_command;
use crate::gather::{CaseCells, CellRepeats, gather};
use crate::granule::granule;
use crate::progress::standings;
use crate::repeat::{Repeat, rate};
use crate::side_figures::{Value, compared_figures, cost};
use crate::thresholds::COARSE_SHARE;
use crate::two_sample::Conditions;
use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::dataset::{DataPoint, Dataset, Measured, Series};
use faultline_record::describe::{Style, WorkloadInfo};
use faultline_record::direction::Direction;
use faultline_record::facts::Facts;
use faultline_record::failure::{Failure, FailureCause};
use faultline_record::protocol::Interval;
use faultline_record::quantity::Quantity;
use faultline_record::record::{Attempt, RunRecord};
use faultline_record::subject::SubjectIndex;
use std::collections::BTreeSet;

/// The values of a run with one subject: a series for each cell, a point for each conclusive
/// attempt. Empty for a lens run, which measures no time, for a comparison, which has two
/// [`sides`], and for a run that measures commits of a repository.
pub fn dataset(record: &RunRecord) -> Dataset {
    if interleaves_subjects(record) { Dataset::of(Vec::new()) } else { of_subject(record, SubjectIndex::A) }
}

/// The values of one of a run's subjects.
pub fn of_subject(record: &RunRecord, subject: SubjectIndex) -> Dataset {
    let chosen = Chosen::all(record, subject, Quantity::Time);
    let cases = chosen.cases();
    let values = |quantity| measurement(Chosen { quantity, ..chosen }, &cases, &Coarse::of(cases.iter())).dataset;
    let mut dataset = values(Quantity::Time);
    if let Some(command) = given_command(record, subject) {
        dataset.series = named_like_hyperfine(&command.name, dataset.series, values);
    }
    dataset
}

/// The series of a command with its name and hyperfine's measures, so that they compare with
/// results of hyperfine.
fn named_like_hyperfine(command: &str, times: Vec<Series>, values: impl Fn(Quantity) -> Dataset) -> Vec<Series> {
    let further = [(Quantity::UserTime, "user"), (Quantity::SystemTime, "system"), (Quantity::PeakMemory, "memory")];
    let further = further.into_iter().flat_map(|(quantity, measure)| {
        let has_values = |series: &Series| series.points.iter().any(|point| !point.measured.values().is_empty());
        let series = values(quantity).series.into_iter().filter(has_values);
        series.map(move |series| Series { measure: Some(measure.to_owned()), ..series }).collect::<Vec<_>>()
    });
    let named =
        |series: Series| Series { name: command.to_owned(), tasks: series.tasks.filter(|tasks| *tasks > 1), ..series };
    times.into_iter().chain(further).map(named).collect()
}

/// True if the run has several subjects in each block.
fn interleaves_subjects(record: &RunRecord) -> bool {
    record.settings.comparison().is_some() || record.settings.measured_line().is_some()
}

/// The values of a live comparison's first and second side.
pub fn sides(record: &RunRecord) -> (Dataset, Dataset) {
    let quantity = compared_quantity(record);
    let [a, b] = SubjectIndex::SIDES.map(|subject| Chosen::all(record, subject, quantity));
    let (cases_a, cases_b) = (a.cases(), b.cases());
    let coarse = Coarse::of(cases_a.iter().chain(&cases_b));
    (measurement(a, &cases_a, &coarse).dataset, measurement(b, &cases_b, &coarse).dataset)
}

/// The quantity that a live comparison compares; time for other runs.
pub(crate) fn compared_quantity(record: &RunRecord) -> Quantity {
    record.settings.comparison().map_or(Quantity::Time, |comparison| comparison.quantity)
}

/// A selection from a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chosen<'a> {
    /// The record.
    pub(crate) record: &'a RunRecord,
    /// Items of this subject.
    pub(crate) subject: SubjectIndex,
    /// Items of this number of blocks, from the first.
    pub(crate) blocks: u32,
    /// The quantity of the values.
    pub(crate) quantity: Quantity,
}

impl<'a> Chosen<'a> {
    /// All blocks of a subject.
    pub(crate) fn all(record: &'a RunRecord, subject: SubjectIndex, quantity: Quantity) -> Self {
        Chosen { record, subject, blocks: u32::MAX, quantity }
    }

    /// The cases; none for a lens run.
    pub(crate) fn cases(&self) -> Vec<CaseCells<'a>> {
        let mut chosen = standings(self.record);
        let timed = self.record.settings.timed().is_some();
        chosen.retain(|(item, _)| timed && item.subject == self.subject && item.block < self.blocks);
        gather(&self.record.workloads, &chosen)
    }

    /// Facts of the measured machine.
    pub(crate) fn facts(&self) -> Facts {
        let session = self.record.sessions.first();
        session.and_then(|session| session.facts_of(self.subject)).cloned().unwrap_or_default()
    }
}

/// Input of a comparison from a part of a record.
#[derive(Debug)]
pub(crate) struct Measurement<'a> {
    /// The values.
    pub(crate) dataset: Dataset,
    /// Metadata of each series' runs, in the same order.
    pub(crate) runs: Vec<Vec<MeasuredRun<'a>>>,
    /// Failures of each series, in the same order.
    pub(crate) failures: Vec<Vec<Failure>>,
    /// Conditions on the machine during each series, in the same order.
    pub(crate) conditions: Vec<Conditions>,
}

/// A run that has values.
#[derive(Debug)]
pub(crate) struct MeasuredRun<'a> {
    /// The recorded data.
    pub(crate) repeat: Repeat<'a>,
    /// Boot, as in its point.
    pub(crate) boot: Option<String>,
    /// Order in time, as in its point.
    pub(crate) order: Option<u64>,
    /// Its block, in a comparison with sides.
    pub(crate) block: Option<u32>,
    /// Figures beside the value.
    pub(crate) figures: Vec<Value>,
    /// CPU time, per operation for a workload that loops; `None` if it was not recorded.
    pub(crate) cpu_time: Option<f64>,
}

/// The values and runs of the `cases` of a part of a record.
pub(crate) fn measurement<'a>(chosen: Chosen<'a>, cases: &[CaseCells<'a>], coarse: &Coarse) -> Measurement<'a> {
    let mut measurement = Measurement {
        dataset: Dataset { facts: chosen.facts(), ..Dataset::of(Vec::new()) },
        runs: Vec::new(),
        failures: Vec::new(),
        conditions: Vec::new(),
    };
    let shared = SharedConditions::of(chosen.record);
    let commit = chosen.record.subject(chosen.subject).and_then(|subject| subject.commit.as_ref());
    let commit = commit.map(|commit| commit.id.clone());
    for case in cases {
        for cell in &case.cells {
            let runs = runs(chosen, case.about.style, cell);
            let points = points(chosen.quantity, case, cell, &runs, coarse, commit.as_deref());
            let (unit, direction) = unit(chosen.quantity, case);
            measurement.dataset.series.push(Series {
                name: name(&chosen.record.workloads, case.case),
                tasks: Some(cell.tasks),
                measure: (chosen.quantity != Quantity::Time).then(|| chosen.quantity.word().to_owned()),
                unit,
                direction: Some(direction),
                points,
            });
            measurement.runs.push(runs);
            measurement.failures.push(failures(chosen.quantity, case, cell));
            measurement.conditions.push(shared.of_cell(case, cell));
        }
    }
    measurement
}

/// Unit and better direction of a quantity. Costs of a workload that loops are those of an
/// operation.
fn unit(quantity: Quantity, case: &CaseCells<'_>) -> (String, Direction) {
    match (quantity, case.about.style) {
        (Quantity::Time, _) => (case.about.unit.clone(), case.about.direction),
        (Quantity::PeakMemory, _) | (_, Style::Once) => (quantity.unit().to_owned(), Direction::Lower),
        (_, Style::Loop) => (format!("{}/{}", quantity.unit(), case.about.operation), Direction::Lower),
    }
}

/// Name of the case, with the mode of its tasks if that is not the default; the same in every run.
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

/// True if a repeat has a value of the quantity.
fn has_value(quantity: Quantity, style: Style, repeat: &Repeat<'_>) -> bool {
    quantity == Quantity::Time || cost(quantity, style, repeat).is_some()
}

fn runs<'a>(chosen: Chosen<'a>, style: Style, cell: &CellRepeats<'a>) -> Vec<MeasuredRun<'a>> {
    let quantity = chosen.quantity;
    let moved = cell.repeats.iter().filter(|repeat| !is_still(style, repeat) && has_value(quantity, style, repeat));
    let is_interleaved = interleaves_subjects(chosen.record);
    let run = |repeat: &Repeat<'a>| MeasuredRun {
        repeat: *repeat,
        boot: boot(chosen.record, chosen.subject, repeat.attempt),
        order: u64::try_from(repeat.attempt.started.0).ok(),
        block: is_interleaved.then_some(repeat.block),
        figures: compared_figures(quantity, style, repeat),
        cpu_time: cost(Quantity::CpuTime, style, repeat),
    };
    moved.map(run).collect()
}

/// A point for each run, then one for each attempt without a figure.
fn points(
    quantity: Quantity,
    case: &CaseCells<'_>,
    cell: &CellRepeats<'_>,
    runs: &[MeasuredRun<'_>],
    coarse: &Coarse,
    commit: Option<&str>,
) -> Vec<DataPoint> {
    let values = |run: &MeasuredRun<'_>| match quantity {
        Quantity::Time => coarse.values(&case.cell(cell.tasks), &run.repeat),
        _ => cost(quantity, case.about.style, &run.repeat).into_iter().collect(),
    };
    let point = |run: &MeasuredRun<'_>| DataPoint {
        commit: commit.map(str::to_owned),
        time: Some(run.repeat.attempt.started),
        boot: run.boot.clone(),
        order: run.order,
        measured: Measured::Values(values(run)),
    };
    let failed = failures(quantity, case, cell).into_iter().map(|failure| DataPoint::of(Measured::Failed(failure)));
    runs.iter().map(point).chain(failed).collect()
}

/// Failures, by block.
fn failures(quantity: Quantity, case: &CaseCells<'_>, cell: &CellRepeats<'_>) -> Vec<Failure> {
    let style = case.about.style;
    let without_value = cell.repeats.iter().filter_map(|repeat| {
        let cause = match is_still(style, repeat) {
            true => FailureCause::NoOperation,
            false => Some(FailureCause::NoFigure).filter(|_| !has_value(quantity, style, repeat))?,
        };
        Some(Failure { block: Some(repeat.block), cause })
    });
    let mut failures: Vec<Failure> = cell.failures.iter().cloned().chain(without_value).collect();
    failures.sort_by_key(|failure| failure.block);
    failures
}

/// The boot's name: that of the attempt for a guest; for a host, the boot id of the session in
/// which the attempt began. `None` if no fact gives it.
pub(crate) fn boot(record: &RunRecord, subject: SubjectIndex, attempt: &Attempt) -> Option<String> {
    if record.subject(subject).is_some_and(|subject| subject.machine.boots_for_each_execution()) {
        return Some(format!("run {} attempt {}", record.id, attempt.id.0));
    }
    let session = record.sessions.get(attempt.session as usize)?;
    session.facts_of(subject)?.get_text("boot.id").map(str::to_owned)
}

/// Cells with so few counts per interval that a single operation or batch would matter: their runs
/// have one value each.
///
/// Applies to both sides of a comparison, because a median of intervals and a rate over all of them
/// are different figures.
#[derive(Debug, Default)]
pub(crate) struct Coarse(BTreeSet<Cell>);

impl Coarse {
    /// Checks all cells.
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

/// The rule for coarse counts (docs/METHODOLOGY.md, §9), applied to each interval.
fn is_coarse(cell: &CellRepeats<'_>) -> bool {
    let fewest = cell.repeats.iter().flat_map(|repeat| &repeat.attempt.window).map(Interval::total).min();
    fewest.is_some_and(|fewest| f64::from(cell.tasks) * granule(cell) as f64 > COARSE_SHARE * fewest as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use faultline_record::describe::VariantInfo;
    use faultline_record::direction::Direction;
    use faultline_record::outcome::Outcome;
    use faultline_record::protocol::Measure;
    use faultline_record::record::Session;
    use faultline_record::time::UnixMillis;

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
        // The clock was set back by an hour.
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
