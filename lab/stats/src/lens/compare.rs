//! Comparison of two lens runs, cell by cell: data and code with new, vanished or changed
//! transfers.

use crate::lens::cells::{CaseReadings, CellReadings, cases, instructions, transfers};
use crate::lens::comparison::{CellComparison, Change, Difference, LensComparison, UnmatchedCell, WhyUnmatched};
use crate::lens::environment::{differing, is_same_subject};
use crate::lens::figures::by_size;
use crate::lens::key::{self, Key, Moved};
use crate::lens::seeds::Sides;
use crate::lens::spread::{Contrast, contrast};
use crate::progress::standings;
use crate::said::Said;
use faultline_lens_format::LensMode;
use faultline_record::cell::Case;
use faultline_record::lens::reading::Reading;
use faultline_record::record::{RunId, RunRecord};
use faultline_record::subject::KindOfSubject;
use std::collections::{BTreeMap, BTreeSet};

/// Compares the readings of one cell: seed by seed if both sides have seeds in common, otherwise
/// all repeats of both. `None` if a side has none. Only saved lines and sites are compared; totals
/// include everything.
pub fn compare(case: &Case, cpus: u32, a: &[&Reading], b: &[&Reading]) -> Option<CellComparison> {
    let sides = Sides::of(a, b);
    let both = |figure: fn(&Reading) -> f64| {
        let values = |readings: &[&Reading]| readings.iter().map(|reading| figure(reading)).collect::<Vec<_>>();
        contrast(&values(&sides.a), &values(&sides.b), sides.are_paired())
    };
    let (transfers, instructions) = (both(transfers)?, both(instructions)?);
    Some(CellComparison {
        case: case.clone(),
        cpus,
        basis: sides.basis((a.len(), b.len())),
        transfers: (transfers.a, transfers.b),
        transfers_difference: transfers.difference,
        transfers_change: transfers.change,
        instructions: (instructions.a, instructions.b),
        instructions_difference: instructions.difference,
        data: differences(&sides, key::data, least_line),
        code: differences(&sides, code, least_site),
    })
}

/// Code as keys; unlike data, it shares its line with nothing.
fn code(reading: &Reading) -> ByKey {
    let moved = |transfers| Moved { transfers, beside: BTreeSet::new() };
    key::code(reading).into_iter().map(|(key, transfers)| (key, moved(transfers))).collect()
}

/// Transfers of a reading by key.
type ByKey = BTreeMap<Key, Moved>;

/// Upper bound for a line that is not saved: the transfers per operation of the smallest saved
/// line; 0 if all lines are saved.
fn least_line(reading: &Reading) -> f64 {
    least(reading, reading.lines_moved, reading.lines.iter().map(|line| line.transfers))
}

/// Upper bound for a code location that is not saved.
fn least_site(reading: &Reading) -> f64 {
    least(reading, reading.sites_moving, reading.sites.iter().map(|site| site.transfers))
}

fn least(reading: &Reading, moved: u64, saved: impl ExactSizeIterator<Item = u64>) -> f64 {
    let are_all_saved = saved.len() as u64 >= moved;
    saved.min().filter(|_| !are_all_saved).map_or(0.0, |least| reading.per_operation(least))
}

/// The differences, the largest first, without those that unsaved data may explain. `least`: upper
/// bound for unsaved data.
fn differences(sides: &Sides<'_>, of: fn(&Reading) -> ByKey, least: fn(&Reading) -> f64) -> Vec<Difference> {
    let all = |readings: &[&Reading]| readings.iter().map(|reading| of(reading)).collect::<Vec<_>>();
    let (a, b) = (all(&sides.a), all(&sides.b));
    let unknown = sides.a.iter().chain(&sides.b).map(|reading| least(reading)).fold(0.0, f64::max);
    let keys: BTreeSet<&Key> = a.iter().chain(&b).flat_map(BTreeMap::keys).collect();
    let one = |key: &Key| difference(key, &a, &b, sides.are_paired());
    let mut differences: Vec<Difference> =
        keys.into_iter().filter_map(one).filter(|one| one.difference.abs() > unknown).collect();
    differences.sort_by(|x, y| by_size(x.difference, &x.of).cmp(&by_size(y.difference, &y.of)));
    differences
}

fn difference(key: &Key, a: &[ByKey], b: &[ByKey], are_pairs: bool) -> Option<Difference> {
    let contrast = contrast(&values(key, a), &values(key, b), are_pairs)?;
    let Contrast { a: side_a, b: side_b, difference, change } = contrast;
    (change != Change::Same).then(|| Difference {
        of: key.clone().into(),
        change,
        a: side_a,
        b: side_b,
        difference,
        beside_a: beside(key, a),
        beside_b: beside(key, b),
    })
}

/// The figure of each reading; 0 for one that does not have it.
fn values(key: &Key, readings: &[ByKey]) -> Vec<f64> {
    readings.iter().map(|moved| moved.get(key).map_or(0.0, |moved| moved.transfers)).collect()
}

fn beside(key: &Key, readings: &[ByKey]) -> Vec<Said<Key>> {
    let keys: BTreeSet<&Key> = readings.iter().filter_map(|moved| moved.get(key)).flat_map(|m| &m.beside).collect();
    keys.into_iter().cloned().map(Said::from).collect()
}

/// Compares two runs, cell by cell. Cells are paired by case and number of CPUs. If each run has
/// only one program, or one system that the emulator starts, cells are paired by the number alone:
/// two builds may have different names.
pub fn compare_runs(a: &RunRecord, b: &RunRecord) -> LensComparison {
    let (standings_a, standings_b) = (standings(a), standings(b));
    let (cases_a, cases_b) = (cases(a, &standings_a), cases(b, &standings_b));
    let one_program = same_program((a, cases_a.len()), (b, cases_b.len()));
    let mut comparison = LensComparison {
        format: LensComparison::FORMAT.to_owned(),
        a: a.id,
        b: b.id,
        differing: differing(a, b),
        same_subject: is_same_subject(a, b),
        cells: Vec::new(),
        unmatched: Vec::new(),
    };
    let mut unmatched = |case: &Case, cpus, why| {
        comparison.unmatched.push(UnmatchedCell { case: case.clone(), cpus, why });
    };
    let mut cells = Vec::new();
    for case in &cases_a {
        let other = cases_b.iter().find(|other| one_program || other.case == case.case);
        for cell in case.cells.iter().filter(|cell| !cell.readings.is_empty()) {
            let beside = other.and_then(|other| with_readings(&other.cells, cell.cpus));
            let unlike = other.zip(beside).and_then(|sides| unlike((a.id, case, cell), (b.id, sides.0, sides.1)));
            if let Some(why) = unlike {
                unmatched(case.case, cell.cpus, why);
                continue;
            }
            match beside.and_then(|beside| compare(case.case, cell.cpus, &cell.readings, &beside.readings)) {
                Some(compared) => cells.push(compared),
                None => unmatched(case.case, cell.cpus, WhyUnmatched::NoCounts { missing_in: b.id }),
            }
        }
    }
    for case in &cases_b {
        let other = cases_a.iter().find(|other| one_program || other.case == case.case);
        for cell in case.cells.iter().filter(|cell| !cell.readings.is_empty()) {
            if other.and_then(|other| with_readings(&other.cells, cell.cpus)).is_none() {
                unmatched(case.case, cell.cpus, WhyUnmatched::NoCounts { missing_in: a.id });
            }
        }
    }
    comparison.cells = cells;
    comparison
}

/// A cell of a run.
pub(crate) type Side<'c, 'a> = (RunId, &'c CaseReadings<'a>, &'c CellReadings<'a>);

/// Reason why the figures of a cell are not comparable between two runs; `None` if they are.
pub(crate) fn unlike(a: Side<'_, '_>, b: Side<'_, '_>) -> Option<WhyUnmatched> {
    let operation = |side: &Side<'_, '_>| side.1.about.operation.clone();
    if operation(&a) != operation(&b) {
        return Some(WhyUnmatched::OtherOperation { a: operation(&a), b: operation(&b) });
    }
    let is_apart = |side: &Side<'_, '_>| side.2.readings.iter().all(|reading| reading.interrupt.is_some());
    let is_kernel = |side: &Side<'_, '_>| side.2.readings.iter().any(|reading| reading.mode == LensMode::Kernel);
    let only_in = match (is_apart(&a), is_apart(&b)) {
        (true, false) => a.0,
        (false, true) => b.0,
        (true, true) | (false, false) => return None,
    };
    (is_kernel(&a) && is_kernel(&b)).then_some(WhyUnmatched::InterruptsApart { only_in })
}

/// True if each run has only one program, or one system that the emulator starts: then they are
/// compared even if the names, those of their files, differ.
pub(crate) fn same_program(a: (&RunRecord, usize), b: (&RunRecord, usize)) -> bool {
    [a, b].into_iter().all(|(_, cases)| cases == 1)
        && named_by_file(a.0).is_some_and(|kind| Some(kind) == named_by_file(b.0))
}

/// The kind of a run's only subject, if its case has the name of the subject's file.
fn named_by_file(record: &RunRecord) -> Option<KindOfSubject> {
    let [subject] = &record.subjects[..] else { return None };
    let kind = subject.what.kind();
    let is_named = matches!(kind, KindOfSubject::Program | KindOfSubject::Machine);
    (record.settings.lens().is_some() && is_named).then_some(kind)
}

/// The cell at a number of CPUs, if it has readings.
fn with_readings<'c, 'a>(cells: &'c [CellReadings<'a>], cpus: u32) -> Option<&'c CellReadings<'a>> {
    cells.iter().find(|cell| cell.cpus == cpus && !cell.readings.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::example::{self, line, reading};
    use faultline_record::subject::SubjectKind;

    fn compared(a: &[Reading], b: &[Reading]) -> CellComparison {
        let refs = |readings: &[Reading]| readings.to_vec();
        let (a, b) = (refs(a), refs(b));
        compare(&example::case(), 2, &a.iter().collect::<Vec<_>>(), &b.iter().collect::<Vec<_>>()).unwrap()
    }

    fn name(key: &Key) -> &str {
        let Key::Named { name } = key else { panic!("{key:?}") };
        name
    }

    fn named_changes(comparison: &CellComparison) -> Vec<(&str, Change)> {
        comparison.data.iter().map(|difference| (name(&difference.of), difference.change)).collect()
    }

    #[test]
    fn what_came_and_went_is_named_the_greatest_first() {
        let a = reading(2, 100, vec![line(0x1000, 100, "lock"), line(0x2000, 50, "stays")]);
        let b = reading(
            2,
            100,
            vec![line(0x9000, 50, "stays"), line(0xa000, 30, "locks[0]"), line(0xb000, 30, "locks[1]")],
        );
        let comparison = compared(&[a], &[b]);
        assert_eq!(
            named_changes(&comparison),
            [("lock", Change::Went), ("locks[0]", Change::Came), ("locks[1]", Change::Came)]
        );
        assert_eq!(comparison.transfers_change, Change::Less);
    }

    #[test]
    fn a_padded_counter_is_reported_with_what_lay_beside_it() {
        let mut together = line(0x1000, 200, "hits");
        together.parts[0].transfers = 100;
        together.parts.push(example::part(8, 100, example::named("misses")));
        let comparison = compared(&[reading(2, 100, vec![together])], &[reading(2, 100, vec![])]);
        assert_eq!(named_changes(&comparison), [("hits", Change::Went), ("misses", Change::Went)]);
        assert_eq!(comparison.data[0].beside_a.iter().map(|key| name(key)).collect::<Vec<_>>(), ["misses"]);
        assert!(comparison.data[0].beside_b.is_empty());
    }

    #[test]
    fn what_repeats_span_is_no_difference() {
        let of = |transfers: &[u64]| {
            transfers.iter().map(|&n| reading(2, 100, vec![line(0, n, "lock")])).collect::<Vec<_>>()
        };
        assert_eq!(named_changes(&compared(&of(&[80, 100, 120]), &of(&[130]))), []);
        assert_eq!(named_changes(&compared(&of(&[99, 100, 101]), &of(&[130]))), [("lock", Change::More)]);
    }

    #[test]
    fn a_small_exact_difference_is_named_unless_it_may_come_from_lines_that_are_not_saved() {
        let of = |lock: u64| Reading {
            seed: Some(1),
            ..reading(2, 1000, vec![line(0x1000, 100_000, "page"), line(0x2000, lock, "lock"), line(0x3000, 10, "x")])
        };
        let (a, mut b) = (of(2000), of(2940));
        let with = |b: &Reading| compared(std::slice::from_ref(&a), std::slice::from_ref(b));
        assert_eq!(named_changes(&with(&b)), [("lock", Change::More)]);
        b.lines.pop();
        b.lines_moved = 2;
        assert_eq!(named_changes(&with(&b)), [("lock", Change::More), ("x", Change::Went)]);
        b.lines_moved = 3000;
        b.lines.push(line(0x4000, 10, "y"));
        let comparison = with(&b);
        assert_eq!(
            named_changes(&comparison),
            [("lock", Change::More)],
            "x may be one of the lines that are not saved"
        );
        assert_eq!(comparison.transfers_change, Change::More);
    }

    #[test]
    fn a_run_compared_with_itself_differs_in_nothing() {
        let record = example::record(&[(2, 0.5), (8, 1.5)]);
        let comparison = compare_runs(&record, &record);
        assert_eq!((comparison.cells.len(), comparison.unmatched.len()), (2, 0));
        assert!(comparison.cells.iter().all(|cell| cell.data.is_empty() && cell.code.is_empty()));
    }

    #[test]
    fn cells_of_one_run_alone_are_reported() {
        let (a, mut b) = (example::record(&[(2, 0.5), (8, 1.5)]), example::record(&[(2, 0.5), (4, 1.0)]));
        b.head.id = RunId(9);
        let unmatched = compare_runs(&a, &b).unmatched;
        let told: Vec<_> = unmatched.into_iter().map(|one| (one.cpus, one.why)).collect();
        let missing = |run| WhyUnmatched::NoCounts { missing_in: RunId(run) };
        assert_eq!(told, [(8, missing(9)), (4, missing(1))]);
    }

    #[test]
    fn two_builds_of_one_system_are_paired_whatever_their_files_are_called() {
        let of = |name: &str| {
            let mut record = example::record(&[(2, 0.5)]);
            let image = format!("/{name}.elf");
            record.head.subjects[0].what =
                SubjectKind::Machine { image, command_line: String::new(), modules: Vec::new() };
            record.head.workloads[0].name = name.into();
            record.plan.iter_mut().for_each(|item| item.cell.case.workload = name.into());
            record
        };
        let comparison = compare_runs(&of("old"), &of("new"));
        assert_eq!((comparison.cells.len(), comparison.unmatched), (1, vec![]));
        let mut workload = of("new");
        workload.head.subjects[0].what = example::record(&[(2, 0.5)]).head.subjects[0].what.clone();
        assert!(compare_runs(&workload, &of("old")).cells.is_empty(), "a workload's name is not its kernel's");
    }

    #[test]
    fn figures_of_another_operation_are_not_compared() {
        let (mut a, b) = (example::record(&[(2, 0.5)]), example::record(&[(2, 0.5)]));
        a.head.workloads[0].operation = "fault".into();
        let comparison = compare_runs(&a, &b);
        assert!(comparison.cells.is_empty());
        let why = WhyUnmatched::OtherOperation { a: "fault".into(), b: b.workloads[0].operation.clone() };
        assert_eq!(comparison.unmatched.into_iter().map(|one| one.why).collect::<Vec<_>>(), [why]);
    }

    #[test]
    fn figures_with_interrupts_are_not_compared_with_figures_without() {
        let (a, mut b) = (example::record(&[(2, 0.5)]), example::record(&[(2, 0.5)]));
        b.head.id = RunId(9);
        let sides = |mode, a: &RunRecord, b: &RunRecord| {
            let (mut a, mut b) = (a.clone(), b.clone());
            for record in [&mut a, &mut b] {
                record.attempts[0].reading.as_mut().unwrap().mode = mode;
            }
            b.attempts[0].reading.as_mut().unwrap().interrupt = Some(example::interrupts(1000, vec![]));
            compare_runs(&a, &b).unmatched.into_iter().map(|one| one.why).collect::<Vec<_>>()
        };
        assert_eq!(sides(LensMode::Kernel, &a, &b), [WhyUnmatched::InterruptsApart { only_in: RunId(9) }]);
        assert_eq!(sides(LensMode::Program, &a, &b), []);
    }
}
