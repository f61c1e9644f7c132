//! Comparison of runs: the values, shares of CPU time, and kernel counters.

use super::bytes::in_bytes;
use super::counters::counters;
use super::cpu_time::add_cpu_times;
use super::datasets::{paired, without_failed};
use super::further_figures::further_figures;
use super::pairs::Pair;
use super::recorded::Recorded;
use super::{ComparisonError, Settings};
use crate::comparison::{ComparedWorkload, Comparison, Described, Look};
use crate::datasets::{Chosen, Coarse, MeasuredRun, Measurement, compared_quantity, measurement};
use crate::estimate::Estimate;
use crate::machine;
use crate::repeat::Repeat;
use crate::shares::system_share;
use crate::two_sample::{self, Conditions};
use crate::workload_comparison::WorkloadComparison;
use faultline_record::failure::Failure;
use faultline_record::quantity::Quantity;
use faultline_record::record::RunRecord;
use faultline_record::subject::SubjectIndex;
use std::collections::BTreeSet;

/// Compares two runs that are not comparisons themselves. Lens runs have no values.
pub fn compare_runs(a: &RunRecord, b: &RunRecord, settings: &Settings) -> Result<Comparison, ComparisonError> {
    if [a, b].iter().any(|record| record.settings.comparison().is_some()) {
        return Err(ComparisonError::NothingInCommon { unmatched: Vec::new() });
    }
    let [first, second] = [a, b].map(|record| Chosen::all(record, SubjectIndex::A, settings.quantity));
    compared_at([run_described(a), run_described(b)], [first, second], settings, settings.two_sample.level)
}

/// Compares two subjects of runs, such as commits of a history, named `names`.
pub fn compare_subjects(
    names: [&str; 2],
    [a, b]: [(&RunRecord, SubjectIndex); 2],
    settings: &Settings,
) -> Result<Comparison, ComparisonError> {
    let chosen = [a, b].map(|(record, subject)| Chosen::all(record, subject, settings.quantity));
    let described = [(names[0], a.0), (names[1], b.0)]
        .map(|(name, record)| Described { name: name.to_owned(), ..run_described(record) });
    compared_at(described, chosen, settings, settings.two_sample.level)
}

/// Compares the sides of a live comparison: all that was measured, or the blocks of one look, at
/// that look's level.
///
/// Counters are always tested at the level of `settings`, and only if nothing else used the
/// machine, because they are system-wide. [`Comparison::sequential`] is not filled in.
pub fn compare_sides(
    record: &RunRecord,
    settings: &Settings,
    look: Option<Look>,
) -> Result<Comparison, ComparisonError> {
    let (described, chosen) = live_sides(record, look)?;
    compared_at(described, chosen, &at_look(settings, look), settings.two_sample.level)
}

/// Only the answers of a look, without bootstrap intervals.
pub(crate) fn sides_answers(
    record: &RunRecord,
    settings: &Settings,
    look: Look,
) -> Result<Vec<WorkloadComparison>, ComparisonError> {
    let (described, chosen) = live_sides(record, Some(look))?;
    let measured = Measured::new(chosen);
    let mut at_look = at_look(settings, Some(look));
    at_look.two_sample.resamples = 0;
    let (compared, _) = measured.paired(described, &at_look)?;
    Ok(compared.workloads.into_iter().map(|workload| workload.comparison).collect())
}

fn live_sides(record: &RunRecord, look: Option<Look>) -> Result<([Described; 2], [Chosen<'_>; 2]), ComparisonError> {
    let [Some(first), Some(second)] = SubjectIndex::SIDES.map(|side| side_described(record, side)) else {
        return Err(ComparisonError::NoSides(record.id.0));
    };
    let (blocks, quantity) = (look.map_or(u32::MAX, |look| look.blocks), compared_quantity(record));
    Ok(([first, second], SubjectIndex::SIDES.map(|subject| Chosen { record, subject, blocks, quantity })))
}

fn at_look(settings: &Settings, look: Option<Look>) -> Settings {
    let level = look.map_or(settings.two_sample.level, |look| 1.0 - look.alpha);
    Settings { two_sample: two_sample::Settings { level, ..settings.two_sample }, ..*settings }
}

/// Measurements of both sides.
struct Measured<'a> {
    sides: [Measurement<'a>; 2],
    /// The first side's series whose operations have a different size on the second side: their
    /// counts per operation are not comparable.
    in_bytes: BTreeSet<usize>,
}

impl<'a> Measured<'a> {
    fn new(chosen: [Chosen<'a>; 2]) -> Self {
        let cases = chosen.map(|chosen| chosen.cases());
        let coarse = Coarse::of(cases.iter().flatten());
        let mut sides = [0, 1].map(|side| measurement(chosen[side], &cases[side], &coarse));
        // Equal block numbers of two runs are unrelated.
        if chosen[0].record.id != chosen[1].record.id {
            sides.iter_mut().flat_map(|side| &mut side.runs).flatten().for_each(|run| run.block = None);
        }
        let in_bytes = in_bytes(&mut sides);
        Measured { sides, in_bytes }
    }

    fn paired(
        &self,
        described: [Described; 2],
        settings: &Settings,
    ) -> Result<(Comparison, Vec<Pair>), ComparisonError> {
        paired(described, [&self.sides[0].dataset, &self.sides[1].dataset], settings, self)
    }
}

impl Measured<'_> {
    /// True if the counters of a pair describe its workload: they are system-wide and per
    /// operation.
    fn has_comparable_counters(&self, pair: &Pair) -> bool {
        let [a, b] = [(0, pair.a), (1, pair.b)].map(|(side, series)| self.sides[side].conditions[series]);
        a.is_undisturbed() && b.is_undisturbed() && !self.in_bytes.contains(&pair.a)
    }
}

impl Recorded for Measured<'_> {
    fn block(&self, side: usize, series: usize, point: usize) -> Option<u32> {
        self.sides[side].runs[series].get(point)?.block
    }

    fn failures(&self, side: usize, series: usize) -> Vec<Failure> {
        self.sides[side].failures[series].clone()
    }

    fn conditions(&self, side: usize, series: usize) -> Conditions {
        self.sides[side].conditions[series]
    }
}

fn compared_at(
    described: [Described; 2],
    chosen: [Chosen<'_>; 2],
    settings: &Settings,
    counters_level: f64,
) -> Result<Comparison, ComparisonError> {
    let quantity = chosen[0].quantity;
    let measured = Measured::new(chosen);
    let (mut compared, pairs) = measured.paired(described, settings)?;
    let figures = further_figures(&pairs, &measured.sides, &settings.two_sample)?;
    compared.untested.extend(figures.untested);
    let tested = compared.workloads.iter_mut().zip(&pairs).zip(figures.tested);
    for ((ComparedWorkload { details, .. }, pair), figures) in tested {
        details.figures = figures;
        let [a, b] = &measured.sides;
        let (a, b) = (&a.runs[pair.a], &b.runs[pair.b]);
        details.system_share = [share(a), share(b)];
        if measured.has_comparable_counters(pair) {
            details.counters = counters(a, b, counters_level);
        }
    }
    if quantity == Quantity::Time {
        add_cpu_times(&mut compared.workloads, &pairs, &measured.sides, &settings.two_sample)?;
    }
    Ok(without_failed(compared))
}

fn share(runs: &[MeasuredRun<'_>]) -> Option<Estimate> {
    let repeats: Vec<Repeat<'_>> = runs.iter().map(|run| run.repeat).collect();
    system_share(&repeats)
}

/// Description of a run: its label, otherwise its measured commit, otherwise its number.
fn run_described(record: &RunRecord) -> Described {
    let commit = || Some(record.subject(SubjectIndex::A)?.commit.as_ref()?.id.clone());
    Described {
        name: record.label.clone().or_else(commit).unwrap_or_else(|| format!("run {}", record.id)),
        setup: Vec::new(),
        run: Some(record.id),
        started: Some(record.started()),
        machine: record.facts().map(|facts| machine::line(Some(facts))),
    }
}

fn side_described(record: &RunRecord, side: SubjectIndex) -> Option<Described> {
    record.settings.comparison()?;
    let subject = record.subject(side)?;
    let facts = Chosen::all(record, side, Quantity::Time).facts();
    Some(Described {
        name: subject.name.clone(),
        setup: subject.setup.words(),
        run: Some(record.id),
        started: Some(record.started()),
        machine: record.facts().map(|_| machine::line(Some(&facts))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::UntestedReason;
    use crate::example;
    use crate::gate::Gate;
    use crate::unmatched::UnmatchedReason;
    use crate::workload_comparison::{Answer, Caution, CautionCode, Inconclusive, Method, Unit};
    use faultline_record::describe::Style;
    use faultline_record::direction::Direction;
    use faultline_record::outcome::Outcome;
    use faultline_record::plan::{RunKind, WhenInconclusive};
    use faultline_record::protocol::Measure;

    fn noisy(_: u32, block: u32) -> u64 {
        1_000_003 + 1_000 * u64::from(block * 7 % 11)
    }

    fn faster(tasks: u32, block: u32) -> u64 {
        noisy(tasks, block + 3) * 11 / 10
    }

    /// Two sides of 12 blocks; the second is faster, with fewer faults and more time in the kernel.
    fn live() -> RunRecord {
        let mut record = example::Run::new(&["load"]).repeats(12).rate(noisy).against(faster).record();
        for attempt in &mut record.attempts {
            let item = &record.plan[attempt.ordinal as usize];
            let second = item.subject == SubjectIndex::B;
            let operations: u64 = attempt.window.iter().flat_map(|interval| &interval.operations).sum();
            let per_operation = if second { 0.5 } else { 1.0 };
            attempt.usage = Some(example::usage(if second { 60 } else { 80 }, if second { 40 } else { 20 }));
            attempt.counters = [
                ("vmstat.pgfault".to_owned(), (operations as f64 * per_operation) as i64 + i64::from(item.block % 5)),
                ("vmstat.pgalloc".to_owned(), i64::from((item.block * 5 + 3 * u32::from(second)) % 7)),
                ("stat.user_ns".to_owned(), if second { 100 } else { 90 }),
            ]
            .into();
        }
        record
    }

    #[test]
    fn sides_of_a_live_comparison() {
        let record = live();
        let found = compare_sides(&record, &Settings::default(), None).unwrap();
        assert_eq!((found.a.name.as_str(), found.b.name.as_str(), found.b.run), ("old", "new", Some(record.id)));
        assert_eq!(found.workloads.len(), 2);
        for ComparedWorkload { comparison: workload, details } in &found.workloads {
            assert_eq!((workload.answer, workload.independent, workload.a.units), (Answer::Faster, Unit::Run, 12));
            assert_eq!(details.system_share.map(|share| share.unwrap().median), [0.2, 0.4]);
            let [counter] = details.counters.as_slice() else { panic!("{:?}", details.counters) };
            assert_eq!((counter.name.as_str(), (counter.b * 1000.0).round()), ("vmstat.pgfault", 500.0));
        }
        assert!(found.facts.is_empty() && found.unmatched.is_empty());
    }

    /// Slow executions that fail would make their side look fast.
    #[test]
    fn failures_of_a_side_withhold_the_answer_and_close_every_gate() {
        for outcome in [Outcome::Exited { status: 1, stderr: String::new() }, Outcome::TimedOut { limit_ms: 1000 }] {
            let mut record = live();
            let first = record.attempts.iter_mut().find(|attempt| attempt.ordinal == 0).unwrap();
            (first.outcome, first.window) = (Some(outcome), Vec::new());
            let found = compare_sides(&record, &Settings::default(), None).unwrap();
            let failed = |workload: &&ComparedWorkload| workload.details.failures.iter().any(|side| !side.is_empty());
            let (failed, others): (Vec<_>, Vec<_>) = found.workloads.iter().partition(failed);
            let [workload] = failed.as_slice() else { panic!("{failed:?}") };
            let workload = &workload.comparison;
            assert_eq!((workload.answer, workload.inconclusive), (Answer::Inconclusive, Some(Inconclusive::Failures)));
            assert_eq!((workload.p, workload.ratio, found.improvement), (None, None, None));
            assert!(others.iter().all(|workload| workload.comparison.answer == Answer::Faster));
            for when_inconclusive in [WhenInconclusive::Pass, WhenInconclusive::Fail] {
                assert_eq!(Gate::of_comparison(&found, when_inconclusive).closed_by.len(), 1);
            }
        }
    }

    /// Counters are system-wide, so they include the work of other processes.
    #[test]
    fn others_work_is_reported_and_hides_the_counters() {
        let mut record = live();
        for attempt in &mut record.attempts {
            let second = record.plan[attempt.ordinal as usize].subject == SubjectIndex::B;
            // The tasks use six seconds each.
            let others_ns = if second { 3_000_000_000 } else { 0 };
            attempt.counters.insert("stat.user_ns".to_owned(), 100 + others_ns);
        }
        let found = compare_sides(&record, &Settings::default(), None).unwrap();
        for ComparedWorkload { comparison: workload, details } in &found.workloads {
            assert_eq!((workload.answer, details.counters.as_slice()), (Answer::Faster, &[][..]));
            let load = workload.cautions.iter().find(|caution| caution.code() == CautionCode::Load).unwrap();
            let Caution::Load { a: None, b: Some(cpus) } = load.what else { panic!("{load:?}") };
            assert!((cpus - 0.5).abs() < 1e-6, "{cpus}");
        }
    }

    /// Commands with equal times; the second uses half more CPU time, the same memory, and no time
    /// in the kernel.
    fn commands() -> RunRecord {
        let mut record =
            example::Run::new(&["load", "other"]).tasks(&[1]).repeats(12).rate(noisy).against(noisy).record();
        record.head.workloads.iter_mut().for_each(|workload| workload.style = Style::Once);
        let lower = |name: &str, unit: &str, value: f64| Measure {
            name: name.to_owned(),
            unit: unit.to_owned(),
            direction: Direction::Lower,
            value,
        };
        for attempt in &mut record.attempts {
            let item = &record.plan[attempt.ordinal as usize];
            let second = item.subject == SubjectIndex::B;
            let noise = 1.0 + 0.001 * f64::from((item.block * 7 + 5 * u32::from(second)) % 11);
            let user = if second { 1.5 } else { 1.0 };
            attempt.window.clear();
            attempt.usage = Some(example::usage((user * noise * 1e9) as u64, 0));
            attempt.measures = vec![
                lower("real_s", "s", 2.0 * noise),
                lower("system_s", "s", 0.0),
                lower("largest_process_bytes", "byte", 4e6 * noise),
            ];
        }
        record
    }

    #[test]
    fn further_figures_are_tested_among_themselves_and_change_no_answer() {
        let found = compare_sides(&commands(), &Settings::default(), None).unwrap();
        assert_eq!(found.workloads.len(), 2, "they are no workloads");
        for ComparedWorkload { comparison, details } in &found.workloads {
            assert_eq!(comparison.answer, Answer::Equal);
            assert_eq!(comparison.ratio.unwrap().level, 1.0 - 0.05 / 2.0, "corrected for two workloads");
            let told: Vec<(&str, Answer)> =
                details.figures.iter().map(|figure| (figure.name.as_str(), figure.answer)).collect();
            assert_eq!(told, [("cpu_s", Answer::Slower), ("largest_process_bytes", Answer::Equal)], "0 s has no ratio");
            let [cpu, memory] = [0, 1].map(|figure| details.figures[figure].ratio.unwrap());
            assert!((cpu.value - 1.5).abs() < 0.01 && cpu.low > 1.45 && cpu.high < 1.55, "{cpu:?}");
            assert_eq!(memory.level, 1.0 - 0.05 / 4.0, "corrected for four figures");
        }
        let untested: Vec<_> = found.untested.iter().map(|it| (it.figure.as_deref(), it.reason, it.a, it.b)).collect();
        assert_eq!(untested, [(Some("system_s"), UntestedReason::NoRatio, 0.0, 0.0); 2], "one for each workload");
    }

    /// [`commands`] on a busy machine: other programs delay each run by up to its own length.
    fn delayed() -> RunRecord {
        let mut record = commands();
        for attempt in &mut record.attempts {
            let item = &record.plan[attempt.ordinal as usize];
            let second = item.subject == SubjectIndex::B;
            let delay = f64::from((item.block * 5 + 7 * u32::from(second)) % 11) / 10.0;
            attempt.measures[0].value *= 1.0 + delay;
        }
        record
    }

    #[test]
    fn an_inconclusive_time_has_the_answer_of_the_cpu_time_beside_it() {
        let found = compare_sides(&delayed(), &Settings::default(), None).unwrap();
        for ComparedWorkload { comparison, details } in &found.workloads {
            assert_eq!(comparison.answer, Answer::Inconclusive);
            let beside = details.by_cpu_time.as_deref().unwrap();
            assert_eq!(beside.answer, Answer::Slower);
            let ratio = beside.ratio.unwrap();
            assert!((ratio.value - 1.5).abs() < 0.01, "{ratio:?}");
            assert!(details.figures.iter().all(|figure| figure.name != "cpu_s"), "told once");
        }
        let decided = compare_sides(&commands(), &Settings::default(), None).unwrap();
        assert!(decided.workloads.iter().all(|workload| workload.details.by_cpu_time.is_none()));
    }

    #[test]
    fn the_cpu_time_can_be_compared_instead_of_the_time() {
        let mut record = delayed();
        let RunKind::Comparison(comparison) = &mut record.head.settings.kind else { panic!() };
        comparison.quantity = Quantity::CpuTime;
        let found = compare_sides(&record, &Settings::default(), None).unwrap();
        let ComparedWorkload { comparison, details } = &found.workloads[0];
        assert_eq!((comparison.name.as_str(), comparison.answer), ("load:base cpu-time", Answer::Slower));
        assert!((details.values[1][0] - 1.5).abs() < 0.05 && details.by_cpu_time.is_none(), "{details:?}");
        let names: Vec<&str> = details.figures.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["real_s", "largest_process_bytes"]);
        record.attempts[3].usage = None;
        let found = compare_sides(&record, &Settings::default(), None).unwrap();
        assert_eq!(found.workloads.iter().map(|one| one.details.failures.concat().len()).sum::<usize>(), 1);
    }

    #[test]
    fn the_cpu_time_of_an_operation_is_compared_for_loops() {
        let mut record = live();
        let RunKind::Comparison(comparison) = &mut record.head.settings.kind else { panic!() };
        comparison.quantity = Quantity::UserTime;
        let found = compare_sides(&record, &Settings::default(), None).unwrap();
        let workload = &found.workloads[0].comparison;
        assert_eq!((workload.unit.as_str(), workload.direction), ("s/turn", Direction::Lower));
        assert_eq!(workload.answer, Answer::Faster, "60 ns of 1.1 times the operations, instead of 80 ns");
    }

    #[test]
    fn blocks_of_two_runs_are_no_pairs() {
        let (record, mut later) = (live(), live());
        later.head.id.0 += 1;
        for attempt in &mut later.attempts {
            attempt.started.0 += 1_000_000;
            // Without counters, use by other processes is unknown.
            attempt.counters.clear();
        }
        let [a, b] = SubjectIndex::SIDES;
        let compare =
            |later| compare_subjects(["a", "b"], [(&record, a), (later, b)], &Settings::default()).unwrap().workloads;
        let [own, other] = [compare(&record), compare(&later)].map(|all| all[0].comparison.clone());
        assert_eq!((own.method, own.answer), (Method::SignedRanks, Answer::Faster));
        assert_eq!((other.answer, other.inconclusive), (Answer::Inconclusive, Some(Inconclusive::NotInterleaved)));
        assert_ne!(other.method, Method::SignedRanks);
    }

    #[test]
    fn a_figure_that_one_side_lacks_is_not_compared() {
        let mut record = commands();
        for attempt in &mut record.attempts {
            if record.plan[attempt.ordinal as usize].subject == SubjectIndex::B {
                attempt.measures.truncate(1);
            }
        }
        let found = compare_sides(&record, &Settings::default(), None).unwrap();
        let names: Vec<&str> = found.workloads[0].details.figures.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["cpu_s"]);
    }

    #[test]
    fn a_look_sees_its_blocks_at_its_level() {
        let look = Look { blocks: 7, alpha: 0.004 };
        let found = compare_sides(&live(), &Settings::default(), Some(look)).unwrap();
        assert_eq!((found.workloads[0].comparison.a.units, found.level), (7, 1.0 - 0.004));
        assert_eq!(found.workloads[0].details.values[1].len(), 7);
    }

    #[test]
    fn in_guests_boots_are_the_units() {
        let mut record = live();
        let guest: faultline_record::machine::Machine = "qemu:cpus=2".parse().unwrap();
        record.head.subjects.iter_mut().for_each(|subject| subject.machine = guest.clone());
        let found = compare_sides(&record, &Settings::default(), None).unwrap();
        assert_eq!(
            (found.workloads[0].comparison.independent, found.workloads[0].comparison.a.boots),
            (Unit::Boot, 12)
        );
        let [first, second] = &found.workloads[0].details.values;
        assert_eq!((first[1], second[1]), (noisy(1, 1) as f64, faster(1, 1) as f64), "in the order of time");
    }

    #[test]
    fn a_block_that_a_reboot_cut_in_two_is_left_out_and_named() {
        let mut record = live();
        let mut facts = example::quiet_facts();
        facts.text("boot.id", "second");
        let started = faultline_record::time::UnixMillis(3_000);
        record.head.sessions.push(faultline_record::record::Session { started, facts: vec![facts; 2] });
        // After the first run of the sixth block; each block has four.
        record.attempts.iter_mut().filter(|attempt| attempt.ordinal > 4 * 5).for_each(|attempt| attempt.session = 1);
        let found = compare_sides(&record, &Settings::default(), None).unwrap();
        let [one, two] = found.workloads.as_slice() else { panic!("{found:?}") };
        let (one, two) = (&one.comparison, &two.comparison);
        assert_eq!((one.answer, one.independent, one.a.units, one.b.units), (Answer::Faster, Unit::Run, 11, 11));
        assert_eq!((one.a.runs, one.a.boots, two.a.units), (12, 2, 12), "told as measured");
        let [split] = found.unmatched.as_slice() else { panic!("{found:?}") };
        assert_eq!((split.name.as_str(), &split.reason), ("load:base", &UnmatchedReason::SplitBlock { block: 5 }));
    }

    fn inconclusive(compared: &Comparison) -> Vec<Option<Inconclusive>> {
        compared.workloads.iter().map(|workload| workload.comparison.inconclusive).collect()
    }

    #[test]
    fn two_runs_in_one_boot_need_a_quiet_host_and_in_two_boots_they_are_confounded() {
        let run = |rate, from: i64| {
            let mut record = example::Run::new(&["load"]).repeats(12).rate(rate).record();
            for attempt in &mut record.attempts {
                attempt.started.0 += from;
                attempt.usage = Some(example::usage(100, 0));
                attempt.counters = [("stat.user_ns".to_owned(), 100)].into();
            }
            record
        };
        let (a, mut b) = (run(noisy, 0), run(faster, 10_000));
        b.head.label = Some("patched".to_owned());
        let found = compare_runs(&a, &b, &Settings::default()).unwrap();
        assert_eq!((found.a.name.as_str(), found.b.name.as_str()), ("run 1", "patched"));
        assert!(found.workloads.iter().all(|workload| workload.comparison.answer == Answer::Faster));
        let mut unknown = b.clone();
        unknown.attempts.iter_mut().for_each(|attempt| attempt.counters.clear());
        let unknown = compare_runs(&a, &unknown, &Settings::default()).unwrap();
        assert_eq!(inconclusive(&unknown), [Some(Inconclusive::NotInterleaved); 2], "nobody knows what else ran");
        b.head.sessions[0].facts[0].real("load.one_minute", 3.0);
        let loaded = compare_runs(&a, &b, &Settings::default()).unwrap();
        assert_eq!(inconclusive(&loaded), [Some(Inconclusive::NotInterleaved); 2]);
        b.head.sessions[0].facts[0].text("boot.id", "another");
        let found = compare_runs(&a, &b, &Settings::default()).unwrap();
        assert_eq!(inconclusive(&found), [Some(Inconclusive::ConfoundedBoots); 2]);
    }

    #[test]
    fn operations_of_different_size_are_held_against_each_other_in_bytes() {
        let mut record = live();
        for attempt in &mut record.attempts {
            let second = record.plan[attempt.ordinal as usize].subject == SubjectIndex::B;
            attempt.bytes_per_operation = Some(if second { 2048 } else { 4096 });
        }
        let found = compare_sides(&record, &Settings::default(), None).unwrap();
        let workload = &found.workloads[0].comparison;
        assert_eq!(
            (workload.unit.as_str(), workload.answer),
            ("B/s", Answer::Slower),
            "half the bytes at 11/10 of the rate"
        );
        assert_eq!(found.workloads[0].details.values[0][0], noisy(1, 0) as f64 * 4096.0);
        assert!(found.workloads[0].details.counters.is_empty());
    }

    #[test]
    fn a_run_without_sides_is_no_comparison() {
        let record = example::Run::new(&["load"]).record();
        assert_eq!(compare_sides(&record, &Settings::default(), None), Err(ComparisonError::NoSides(1)));
        assert!(matches!(
            compare_runs(&live(), &live(), &Settings::default()),
            Err(ComparisonError::NothingInCommon { .. })
        ));
    }
}
