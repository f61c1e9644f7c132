//! Seeds of lens runs from the plan to the comparison, on a target whose counts depend on the seed.

use crate::counted::{Database, Sink, counted, lines, plan, report, request, session, workloads};
use faultline_runner::Completion;
use faultline_runner::lens::{plan_kernel, plan_program};
use faultline_stats::lens::compare_runs;
use faultline_stats::lens::comparison::{Basis, InGeneral, LensComparison};
use faultline_stats::lens::key::Key;
use faultline_targets::counting::{AtEnd, Counted, Counting};
use faultline_targets::{Ending, Execution, StopFlag};
use std::sync::Mutex;

/// A kernel that counts by its seed: another seed counts otherwise, the same seed counts the same.
struct Kernel {
    /// Transfers per thousand operations that a change of the kernel adds, with every seed.
    added: u64,
    /// It repeats exactly by its seed.
    is_exact: bool,
    /// Attempts after which it is stopped, if it is.
    stopped_after: Mutex<Option<u32>>,
}

/// A kernel that repeats exactly.
fn kernel(added: u64) -> Kernel {
    Kernel { added, is_exact: true, stopped_after: Mutex::new(None) }
}

impl Counting for Kernel {
    fn count(
        &self,
        _: &Execution,
        tasks: u32,
        seed: Option<u64>,
        _: &AtEnd<'_>,
        sink: &mut Sink<'_>,
        stop: &StopFlag,
    ) -> Counted {
        let mut stopped_after = self.stopped_after.lock().unwrap();
        if *stopped_after == Some(0) {
            stop.set();
            return Counted { ending: Ending::Stopped, console: None, report: Err("stopped".to_owned()), seed: None };
        }
        *stopped_after = stopped_after.map(|left| left - 1);
        assert!(lines(tasks).lines().all(|line| sink(line.as_bytes()).is_continue()));
        let transfers = 1000 + seed.unwrap_or(50) * 7919 % 400 + u64::from(tasks) + self.added;
        let ending = Ending::Exited { status: 0, stderr: String::new() };
        Counted { ending, console: None, report: Ok(report(tasks, transfers)), seed: seed.filter(|_| self.is_exact) }
    }
}

/// The answer about other seeds, for each cell.
fn in_general(comparison: &LensComparison) -> Vec<&'static str> {
    let word = |basis: &Basis| match basis {
        Basis::Repeats => "repeats",
        Basis::Seeds { in_general, .. } => in_general.word(),
    };
    comparison.cells.iter().map(|cell| word(&cell.basis)).collect()
}

#[test]
fn each_block_has_a_seed_that_reaches_the_target_and_is_saved_with_the_reading() {
    let record = Database::new().count(&plan(7, 3), &kernel(0));
    assert_eq!(record.plan.len(), 9);
    assert!(record.plan.iter().all(|item| item.seed == Some(7 + u64::from(item.block))), "{:?}", record.plan);
    for (block, cpus, seed, transfers) in counted(&record) {
        let expected = 7 + u64::from(block);
        assert_eq!((seed, transfers), (Some(expected), 1000 + expected * 7919 % 400 + u64::from(cpus)));
    }
}

#[test]
fn runs_with_the_same_seed_count_the_same_and_the_order_is_the_same_too() {
    let database = Database::new();
    let (a, b) = (database.count(&plan(1, 2), &kernel(0)), database.count(&plan(1, 2), &kernel(0)));
    assert_eq!((counted(&a), counted(&a).len()), (counted(&b), 6));
    let comparison = compare_runs(&a, &b);
    assert_eq!(comparison.cells.len(), 3);
    for cell in &comparison.cells {
        let Basis::Seeds { pairs, left_out: (0, 0), .. } = &cell.basis else { panic!("{cell:?}") };
        assert!(pairs.len() == 2 && pairs.iter().all(|pair| pair.identical), "{pairs:?}");
        assert!(cell.data.is_empty() && cell.transfers_difference == 0.0);
    }
    let other = database.count(&plan(3, 2), &kernel(0));
    assert_eq!(in_general(&compare_runs(&a, &other)), ["repeats"; 3], "no seed in common");
}

#[test]
fn a_change_is_exact_with_one_seed_and_general_with_six() {
    let database = Database::new();
    let compared = |repeats| {
        let [a, b] = [0, 940].map(|added| database.count(&plan(1, repeats), &kernel(added)));
        compare_runs(&a, &b)
    };
    let one = compared(1);
    assert_eq!(in_general(&one), ["one-seed"; 3]);
    for cell in &one.cells {
        let [data] = &cell.data[..] else { panic!("{cell:?}") };
        let counter = Key::Named { name: "counter".to_owned() };
        assert_eq!((&*data.of, (data.difference * 1e9).round(), cell.transfers.0.n), (&counter, 0.94e9, 1));
    }
    assert_eq!(in_general(&compared(3)), ["too-few-seeds"; 3]);
    let six = compared(6);
    assert_eq!(in_general(&six), ["more"; 3]);
    for cell in &six.cells {
        let Basis::Seeds { in_general: InGeneral::More { difference }, .. } = cell.basis else { panic!("{cell:?}") };
        assert!((difference.high - difference.low).abs() < 1e-9, "the seeds' own spread cancels: {difference:?}");
    }
}

#[test]
fn a_run_that_is_resumed_keeps_its_seeds() {
    let database = Database::new();
    let whole = counted(&database.count(&plan(1, 4), &kernel(0)));
    for stopped_after in [0, 1, 5, 11] {
        let id = database.begin(&plan(1, 4));
        let stopping = Kernel { stopped_after: Mutex::new(Some(stopped_after)), ..kernel(0) };
        assert_eq!(database.go_on(id, &stopping), Completion::Stopped);
        let left = database.open().missing_items(id).unwrap();
        assert_eq!(left.len() as u32, 12 - stopped_after);
        assert!(left.iter().all(|item| item.seed == Some(1 + u64::from(item.block))), "{left:?}");
        database.open().resume_run(id, &session()).unwrap();
        assert_eq!(database.go_on(id, &kernel(0)), Completion::Finished);
        assert_eq!(counted(&database.open().load_run(id).unwrap()), whole, "stopped after {stopped_after}");
    }
}

#[test]
fn a_machine_that_may_not_repeat_has_no_seed_in_its_readings() {
    let database = Database::new();
    let inexact = || Kernel { is_exact: false, ..kernel(0) };
    let (a, b) = (database.count(&plan(1, 2), &inexact()), database.count(&plan(1, 2), &inexact()));
    assert!(counted(&a).iter().all(|&(_, _, seed, _)| seed.is_none()));
    assert_eq!(in_general(&compare_runs(&a, &b)), ["repeats"; 3]);
    let exact = database.count(&plan(1, 2), &kernel(0));
    assert_eq!(in_general(&compare_runs(&a, &exact)), ["repeats"; 3], "one side alone repeats exactly");
}

#[test]
fn a_program_has_the_seeds_that_a_kernel_has() {
    let program = plan_program(&request(1, 2), "counters").unwrap();
    assert!(program.items.iter().all(|item| item.seed == Some(1 + u64::from(item.block))), "{:?}", program.items);
}

#[test]
fn seeds_that_do_not_exist_are_refused() {
    let last = i64::MAX as u64;
    assert_eq!(plan(last - 2, 3).items.iter().filter_map(|item| item.seed).max(), Some(last));
    let refused = plan_kernel(&request(last - 1, 3), &workloads()).unwrap_err();
    assert_eq!(refused.problem, format!("there are no 3 seeds from {}", last - 1));
}
