//! The summary of a lens run: a point for each number of CPUs, a verdict for each case.

use crate::estimate::estimate;
use crate::lens::cells::{CaseReadings, CellReadings, capacity_misses, cases, instructions, overlap, transfers};
use crate::lens::figures::{self, Counts, share};
use crate::lens::growth::{against_one, verdict, with_limit};
use crate::lens::limit::line_limit;
use crate::lens::summary::{
    CpuClock, CutShort, InterruptFigures, LensCurve, LensPoint, LensSummary, ProcessFigures, Span, Withheld,
};
use crate::lens::trust::{range, withheld};
use crate::lens::{by_type, callers};
use crate::median::median;
use crate::progress::Standing;
use crate::said::Said;
use crate::thresholds::LENS_SHOWN;
use faultline_lens_format::{RawProcesses, Totals};
use faultline_record::lens::problem::Problem;
use faultline_record::lens::reading::Reading;
use faultline_record::lens::settings::{DelaySettings, LensSettings};
use faultline_record::outcome::Outcome;
use faultline_record::plan::PlanItem;
use faultline_record::record::RunRecord;
use faultline_record::subject::SubjectIndex;
use std::collections::BTreeSet;

/// Number of types with layouts in the summary.
const TYPES_SHOWN: usize = 10;

/// The summary; `None` for runs without the lens.
pub(crate) fn summary(record: &RunRecord, standings: &[(&PlanItem, Standing<'_>)]) -> Option<LensSummary> {
    let settings = record.settings.lens().cloned()?;
    let subject = record.subject(SubjectIndex::A)?.what.clone();
    let seeds: BTreeSet<u64> = record.plan.iter().filter_map(|item| item.seed).collect();
    let curves = cases(record, standings).iter().map(|case| curve(case, delays(&settings))).collect();
    Some(LensSummary { subject, settings, seeds: seeds.into_iter().collect(), curves })
}

/// The modelled delays of the run; `None` if it predicts no rates.
fn delays(settings: &LensSettings) -> Option<&DelaySettings> {
    settings.again.delays.as_ref()
}

fn curve(case: &CaseReadings<'_>, delays: Option<&DelaySettings>) -> LensCurve {
    let one = case.cells.iter().find(|cell| cell.cpus == 1).and_then(|cell| cell.typical());
    let mut points: Vec<LensPoint> = case.cells.iter().map(|cell| point(cell, delays, one)).collect();
    // If the smallest number has no prediction, there is no relative rate.
    let first = points.iter().find(|point| point.transfers.is_some());
    let base = first.and_then(|point| point.rate).map(|rate| rate.median).filter(|&rate| rate > 0.0);
    let base_range = first.and_then(|point| point.rate_range);
    // Types and callers are large, so only the last point keeps them.
    points.iter_mut().rev().filter(|point| point.callers.is_some()).skip(1).for_each(|point| point.callers = None);
    points.iter_mut().rev().filter(|point| point.types.is_some()).skip(1).for_each(|point| point.types = None);
    for point in &mut points {
        point.speedup = point.rate.zip(base).map(|(rate, base)| rate.median / base);
        let both = point.rate_range.zip(base_range).filter(|_| point.cpus > 1 && point.speedup.is_some());
        point.speedup_range = both.map(|(rate, base)| Span { low: rate.low / base.high, high: rate.high / base.low });
    }
    let figures: Vec<(u32, f64)> =
        points.iter().filter_map(|point| Some((point.cpus, point.transfers?.median))).collect();
    let rates: Vec<(u32, f64)> = points.iter().filter_map(|point| Some((point.cpus, point.rate?.median))).collect();
    LensCurve {
        case: case.case.clone(),
        operation: case.about.operation.clone(),
        text: case.about.text.clone(),
        verdict: with_limit(verdict(&figures), line_limit(case)),
        against_one: against_one(&figures, &rates),
        points,
    }
}

/// Reason why the cell's rate is not predicted, from its first reading that has one. `one`: a
/// reading of one CPU.
fn untrusted(cell: &CellReadings<'_>, delays: Option<&DelaySettings>, one: Option<&Reading>) -> Option<Withheld> {
    cell.readings.iter().find_map(|reading| withheld(reading, cell.cpus, delays, one))
}

/// The range of a cell's rate by the precision of the calibrated times: that of all its readings.
fn rate_range(cell: &CellReadings<'_>, delays: Option<&DelaySettings>) -> Option<Span> {
    let precision = delays.filter(|delays| delays.is_measured)?.precision.as_ref()?;
    let ranges = cell.readings.iter().filter_map(|reading| {
        let (rate, range) = (reading.predicted_rate()?, range(reading, cell.cpus, precision));
        Some(Span { low: rate * range.low, high: rate * range.high })
    });
    ranges.reduce(|one, other| Span { low: one.low.min(other.low), high: one.high.max(other.high) })
}

fn point(cell: &CellReadings<'_>, delays: Option<&DelaySettings>, one: Option<&Reading>) -> LensPoint {
    let typical = cell.typical();
    let untrusted = untrusted(cell, delays, one);
    let rates: Vec<f64> = match untrusted {
        None => cell.readings.iter().filter_map(|reading| reading.predicted_rate()).collect(),
        Some(_) => Vec::new(),
    };
    LensPoint {
        cpus: cell.cpus,
        transfers: estimate(&cell.values(transfers)),
        false_share: typical.map(|reading| share(reading.totals.false_sharing, reading.totals.transfers)),
        instructions: estimate(&cell.values(instructions)),
        capacity_misses: estimate(&cell.values(capacity_misses)),
        interrupts: interrupts(cell),
        faults: median(&cell.faults.iter().copied().filter(|faults| faults.is_finite()).collect::<Vec<_>>()),
        overlap: median(&cell.readings.iter().filter_map(|reading| overlap(reading)).collect::<Vec<_>>()),
        rate: estimate(&rates),
        rate_range: if untrusted.is_none() { rate_range(cell, delays) } else { None },
        speedup: None,
        speedup_range: None,
        withheld: untrusted.map(Said::from),
        repeats: cell.values(transfers),
        seeds: cell.readings.iter().map(|reading| reading.seed).collect(),
        operations: typical.map(|reading| reading.operations.get()),
        by_distance: typical.map(|reading| reading.totals.by_distance),
        processes: typical.map(processes).unwrap_or_default(),
        lines_moved: typical.map_or(0, |reading| reading.lines_moved),
        objects: typical.map(|reading| figures::objects(reading, LENS_SHOWN)).unwrap_or_default(),
        lines: typical.map(|reading| figures::lines(Counts::of_operation(reading), LENS_SHOWN)).unwrap_or_default(),
        code: typical.map(|reading| figures::code(Counts::of_operation(reading), LENS_SHOWN)).unwrap_or_default(),
        types: typical.map(|reading| by_type::first(reading, TYPES_SHOWN)),
        callers: typical.and_then(callers::figures),
        problems: problems(cell).into_iter().map(Said::from).collect(),
        untyped: typical.and_then(|reading| reading.untyped.clone()),
        failures: cell.failures.iter().cloned().map(Said::from).collect(),
        cut_short: cell.cut_short.iter().map(|(ending, reading)| cut_short(ending, reading)).collect(),
    }
}

/// Figures by program, if several ran.
fn processes(reading: &Reading) -> Vec<ProcessFigures> {
    let all = reading.processes.iter().map(RawProcesses::transfers).sum();
    let figures = |of: &RawProcesses| ProcessFigures {
        name: of.name.clone(),
        processes: of.processes,
        is_counted: of.is_counted,
        transfers: reading.per_operation(of.transfers()),
        share: share(of.transfers(), all),
        false_share: share(of.false_sharing, of.transfers()),
        instructions: reading.per_operation(of.instructions),
    };
    if reading.processes.len() < 2 { Vec::new() } else { reading.processes.iter().map(figures).collect() }
}

/// Figures of interrupts, if every reading has them.
fn interrupts(cell: &CellReadings<'_>) -> Option<InterruptFigures> {
    let counts = Counts::of_interrupts(cell.typical()?)?;
    let figure = |of: fn(&Totals) -> u64| {
        let values = cell.readings.iter().map(|reading| {
            let part = reading.interrupt.as_ref()?;
            Some(reading.per_operation(of(&part.totals)))
        });
        estimate(&values.collect::<Option<Vec<f64>>>()?)
    };
    Some(InterruptFigures {
        transfers: figure(|totals| totals.transfers)?,
        instructions: figure(|totals| totals.instructions)?,
        lines: figures::lines(counts, LENS_SHOWN),
        code: figures::code(counts, LENS_SHOWN),
    })
}

fn cut_short(ending: &Outcome, reading: &Reading) -> CutShort {
    CutShort {
        ending: ending.clone(),
        transfers: reading.totals.transfers,
        instructions: reading.totals.instructions,
        clocks: reading.cpus.iter().map(|cpu| CpuClock { cpu: cpu.cpu, clock: cpu.clock }).collect(),
        lines: figures::lines(Counts::of_operation(reading), LENS_SHOWN),
        code: figures::code(Counts::of_operation(reading), LENS_SHOWN),
    }
}

/// The problems of all repeats, each once.
pub(crate) fn problems(cell: &CellReadings<'_>) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for problem in cell.readings.iter().flat_map(|reading| &reading.problems) {
        if !problems.contains(problem) {
            problems.push(problem.clone());
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use crate::lens::example;
    use crate::lens::summary::{LensVerdict, Loss, Span, Withheld};
    use crate::summarise;
    use faultline_lens_format::{DelayTimes, RawProcesses, Spent};
    use faultline_record::failure::FailureCause;
    use faultline_record::lens::by_object::{ObjectReading, Owner};
    use faultline_record::lens::by_type::{Sharing, SiteTransfers, Untypeable};
    use faultline_record::lens::settings::{DelaySettings, Precision, Quartiles};
    use faultline_record::outcome::Outcome;
    use faultline_record::plan::RunKind;
    use faultline_record::record::RunRecord;

    #[test]
    fn many_cpus_are_compared_with_one() {
        let of = |cells: &[(u32, f64)]| summarise(&example::record(cells)).lens.unwrap().curves[0].against_one;
        let against = of(&[(1, 0.0), (2, 1.0), (8, 1.02)]).unwrap();
        assert_eq!((against.one, against.cpus, against.speedup, against.lost), (0.0, 8, 4.0, 0.5));
        assert_eq!(against.loss, Loss::Part);
        assert_eq!((of(&[(2, 1.0), (8, 1.0)]), of(&[(1, 0.0)])), (None, None));
    }

    #[test]
    fn a_lens_run_has_points_and_no_curves_of_time() {
        let summary = summarise(&example::record(&[(1, 0.0), (2, 1.0), (8, 1.02)]));
        assert!(summary.curves.is_empty() && summary.warnings.is_empty());
        let lens = summary.lens.unwrap();
        let curve = &lens.curves[0];
        assert!(matches!(curve.verdict, LensVerdict::Flat { .. }), "{:?}", curve.verdict);
        let point = &curve.points[2];
        assert_eq!((point.transfers.unwrap().median, point.transfers.unwrap().n), (1.02, 1));
        assert_eq!(point.lines[0].name, "counter");
        assert_eq!(point.code[0].name, "work main.c:10");
        assert_eq!((point.lines[0].share, point.code[0].share), (1.0, 1.0));
        assert_eq!(curve.points[0].speedup, Some(1.0));
        assert_eq!(point.speedup, Some(4.0), "in the example each operation takes as long as CPUs have half as much");
    }

    #[test]
    fn a_calibrated_prediction_has_a_range_and_a_withheld_one_has_none() {
        let mut record = example::record(&[(1, 0.0), (2, 1.0), (8, 1.0)]);
        let RunKind::Lens(settings) = &mut record.head.settings.kind else { panic!() };
        let exact = Quartiles { low: 1000, high: 1000 };
        let precision = Precision {
            transfers: Quartiles { low: 900, high: 1200 },
            atomics: exact,
            wakes: exact,
            interrupts: exact,
            entries: exact,
            has_same_socket: false,
            has_other_socket: false,
        };
        let of = |precision| DelaySettings { is_measured: true, times: DelayTimes::USUAL, precision };
        settings.again.delays = Some(of(Some(precision)));
        for (attempt, spent) in record.attempts.iter_mut().zip([
            Spent::default(),
            // All time of two CPUs, of 1000 s each: clocks of 0.5 ns.
            Spent { transfers: 4_000_000_000_000, ..Spent::default() },
            Spent { holds: 4_000_000_000_000, ..Spent::default() },
        ]) {
            attempt.reading.as_mut().unwrap().spent = spent;
        }
        let points = |record: &RunRecord| summarise(record).lens.unwrap().curves.remove(0).points;
        let [one, two, eight] = &points(&record)[..] else { panic!() };
        assert_eq!((one.rate_range, one.speedup_range), (Some(Span { low: 1.0, high: 1.0 }), None));
        assert_eq!(two.rate_range, Some(Span { low: 1.0 / 1.2, high: 1.0 / 0.9 }));
        assert_eq!(two.speedup_range, two.rate_range, "of a rate of one CPU that is certain");
        assert_eq!((eight.rate, eight.rate_range, eight.speedup_range), (None, None, None));
        assert!(matches!(eight.withheld.as_ref().map(|why| **why), Some(Withheld::Queues { .. })), "{eight:?}");
        let RunKind::Lens(settings) = &mut record.head.settings.kind else { panic!() };
        settings.again.delays = Some(of(None));
        assert_eq!(points(&record)[1].rate_range, None, "of a calibration without its precision");
    }

    #[test]
    fn faults_stand_beside_the_operations_that_take_them() {
        let mut record = example::record(&[(2, 1.0), (4, 1.0)]);
        record.attempts[0].notes.insert("faults_per_operation".into(), "0.063".into());
        record.attempts[1].notes.insert("faults_per_operation".into(), "many".into());
        let points = summarise(&record).lens.unwrap().curves.remove(0).points;
        assert_eq!(points.iter().map(|point| point.faults).collect::<Vec<_>>(), [Some(0.063), None]);
    }

    #[test]
    fn programs_are_shown_if_several_ran() {
        let of = |name: &str, is_counted, true_sharing, false_sharing| RawProcesses {
            name: name.to_owned(),
            processes: 1,
            is_counted,
            instructions: 5000,
            accesses: 2000,
            true_sharing,
            false_sharing,
        };
        let mut record = example::record(&[(2, 1.0)]);
        let mut with = |processes: Vec<RawProcesses>| {
            record.attempts[0].reading.as_mut().unwrap().processes = processes;
            summarise(&record).lens.unwrap().curves[0].points[0].processes.clone()
        };
        assert_eq!(with(vec![of("server", true, 600, 0)]), []);
        let [server, client] = &with(vec![of("server", true, 300, 300), of("client", false, 200, 0)])[..] else {
            panic!()
        };
        assert_eq!(
            (server.name.as_str(), server.transfers, server.share, server.false_share),
            ("server", 0.6, 0.75, 0.5)
        );
        assert_eq!((client.is_counted, client.share, client.instructions), (false, 0.25, 5.0));
    }

    #[test]
    fn an_object_over_many_lines_is_one_row() {
        let mut record = example::record(&[(2, 1.0)]);
        let sharing = |true_sharing, false_sharing| Sharing { true_sharing, false_sharing };
        let owner = Owner::Memory { of: Untypeable::Heap, function: Some("find".to_owned()) };
        record.attempts[0].reading.as_mut().unwrap().by_object = vec![ObjectReading {
            owner: owner.clone(),
            lines: 900,
            cpus: 2,
            reads: sharing(300, 0),
            writes: sharing(0, 100),
            by_site: vec![SiteTransfers { address: example::SITE, transfers: 400 }],
        }];
        let [object] = &summarise(&record).lens.unwrap().curves[0].points[0].objects[..] else { panic!() };
        assert_eq!((&object.owner, object.lines, object.cpus), (&owner, 900, 2));
        assert_eq!((object.transfers, object.share, object.read_share, object.false_share), (0.4, 0.4, 0.75, 0.25));
        assert_eq!((object.code[0].name.as_str(), object.code[0].share), ("work main.c:10", 1.0));
    }

    #[test]
    fn interrupts_stand_beside_the_operation_and_not_in_it() {
        let mut record = example::record(&[(2, 1.0), (2, 1.4), (2, 1.2), (4, 1.0)]);
        for (attempt, transfers) in record.attempts.iter_mut().zip([500, 300, 400]) {
            let ticks = vec![example::line(0x2000, transfers, "jiffies")];
            attempt.reading.as_mut().unwrap().interrupt = Some(example::interrupts(1000, ticks));
        }
        let lens = summarise(&record).lens.unwrap();
        let [two, four] = &lens.curves[0].points[..] else { panic!("{lens:?}") };
        let interrupts = two.interrupts.as_ref().unwrap();
        assert_eq!((two.transfers.unwrap().median, two.lines.len()), (1.2, 1));
        assert_eq!((interrupts.transfers.median, interrupts.transfers.n), (0.4, 3));
        assert_eq!(interrupts.instructions.median, 7.0);
        assert_eq!((interrupts.lines[0].name.as_str(), interrupts.lines[0].share), ("jiffies", 1.0));
        assert_eq!(interrupts.code[0].name, "work main.c:10");
        assert_eq!(four.interrupts, None);
        let budget = "load<=1.2@2".parse().unwrap();
        assert!(crate::lens::check(&[budget], &record).passed(), "interrupts are not part of the figure");
    }

    #[test]
    fn repeats_make_an_interval_and_the_median_one_is_shown() {
        let mut record = example::record(&[(2, 1.0), (2, 1.4), (2, 1.2)]);
        record.attempts.reverse();
        let lens = summarise(&record).lens.unwrap();
        let point = &lens.curves[0].points[0];
        let transfers = point.transfers.unwrap();
        assert_eq!((transfers.median, transfers.low, transfers.high, transfers.n), (1.2, 1.0, 1.4, 3));
        assert_eq!(point.lines[0].transfers, 1.2);
        assert_eq!(point.repeats, [1.0, 1.4, 1.2], "by block, whatever the order of the attempts");
    }

    #[test]
    fn each_repeat_has_its_seed_if_it_repeats_exactly() {
        let mut record = example::seeded(&[(2, 1, 1.0), (2, 2, 1.4), (4, 1, 2.0)]);
        record.attempts[1].reading.as_mut().unwrap().seed = None;
        let lens = summarise(&record).lens.unwrap();
        assert_eq!(lens.seeds, [1, 2]);
        let seeds: Vec<_> = lens.curves[0].points.iter().map(|point| point.seeds.clone()).collect();
        assert_eq!(seeds, [vec![Some(1), None], vec![Some(1)]]);
        let without = summarise(&example::record(&[(2, 1.0)])).lens.unwrap();
        assert_eq!((without.seeds, without.curves[0].points[0].seeds.clone()), (vec![], vec![None]));
    }

    #[test]
    fn failures_are_reported_where_their_figure_is_missing() {
        let mut record = example::record(&[(2, 1.0), (4, 1.0), (8, 1.0)]);
        record.attempts[1].outcome = Some(Outcome::TimedOut { limit_ms: 1000 });
        record.attempts[2].reading = None;
        let summary = summarise(&record);
        let points = &summary.lens.as_ref().unwrap().curves[0].points;
        let outcome = Outcome::TimedOut { limit_ms: 1000 };
        assert_eq!(points[1].failures[0].cause, FailureCause::Ended { outcome });
        assert_eq!(points[2].failures[0].cause, FailureCause::NoReport);
        assert!(points.iter().all(|point| point.cut_short.is_empty()), "none of the readings is partial");
        assert!(points[1].transfers.is_none() && points[1].lines.is_empty());
        assert!(matches!(summary.lens.unwrap().curves[0].verdict, LensVerdict::Costs { .. }), "of 2 CPUs");
        assert_eq!(summary.warnings.len(), 1, "incomplete");
    }

    #[test]
    fn what_was_counted_until_an_attempt_was_cut_short_is_kept_apart() {
        let mut record = example::record(&[(2, 1.0), (4, 1.0), (8, 1.0)]);
        for (index, outcome) in [(1, Outcome::TimedOut { limit_ms: 1000 }), (2, Outcome::Interrupted)] {
            let attempt = &mut record.attempts[index];
            attempt.outcome = Some(outcome);
            let mut reading = example::reading(4, 1, vec![example::line(0x1000, 30, "counter")]);
            reading.is_partial = true;
            reading.cpus = vec![example::cpu(0, 700), example::cpu(1, 0)];
            attempt.reading = Some(Box::new(reading));
        }
        let lens = summarise(&record).lens.unwrap();
        let endings = [Outcome::TimedOut { limit_ms: 1000 }, Outcome::Interrupted];
        for (point, ending) in lens.curves[0].points[1..].iter().zip(&endings) {
            assert!(point.transfers.is_none() && point.lines.is_empty(), "{point:?}");
            let [cut] = &point.cut_short[..] else { panic!("{point:?}") };
            assert_eq!((&cut.ending, cut.transfers, cut.instructions), (ending, 30, 100));
            assert_eq!(cut.clocks.iter().map(|at| (at.cpu, at.clock)).collect::<Vec<_>>(), [(0, 700), (1, 0)]);
            assert_eq!((cut.lines[0].name.as_str(), cut.lines[0].transfers), ("counter", 30.0));
            assert_eq!(cut.code[0].name, "work main.c:10");
        }
        assert!(lens.curves[0].points[2].failures.is_empty(), "to be stopped is no failure");
    }
}
