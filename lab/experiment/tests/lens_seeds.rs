//! Seeds of lens runs from the plan to the comparison, on a target whose counts depend on the seed: they are planned, saved, given to the target, kept by
//! a resume, and paired.

use faultline_model::describe::{self, WorkloadInfo};
use faultline_model::facts::Facts;
use faultline_model::lens::comparison::{Basis, InGeneral, LensComparison};
use faultline_model::lens::kernel_symbol::KernelSymbol;
use faultline_model::lens::raw::RawReport;
use faultline_model::lens::settings::LensSettings;
use faultline_model::machine::Machine;
use faultline_model::outcome::Outcome;
use faultline_model::plan::PlanItem;
use faultline_model::record::{RunId, RunRecord, Session};
use faultline_model::subject::{Subject, SubjectKind};
use faultline_model::time::UnixMillis;
use faultline_runner::lens::{LensRequest, Naming, plan_kernel, plan_program};
use faultline_runner::{
    Completion, Observer, Plan, PlannedRun, RunProgress, SubjectTargets, SystemClock, Targets, run,
};
use faultline_stats::lens::compare_runs;
use faultline_store::{NewRun, Store};
use faultline_symbols::Kallsyms;
use faultline_targets::counting::{AtEnd, Counted, Counting};
use faultline_targets::{Ending, Execution, StopFlag, Target, TargetError};
use serde_json::json;
use std::cell::Cell;
use std::ops::ControlFlow;

/// Operations of an attempt.
const OPERATIONS: u64 = 1000;

/// A kernel that counts by its seed: another seed counts otherwise, the same seed counts the same.
struct Kernel {
    /// Transfers per thousand operations that a change of the kernel adds, with every seed.
    added: u64,
    /// It repeats exactly by its seed.
    is_exact: bool,
    /// Attempts after which it is stopped, if it is.
    stopped_after: Cell<Option<u32>>,
}

/// A kernel that repeats exactly.
fn kernel(added: u64) -> Kernel {
    Kernel { added, is_exact: true, stopped_after: Cell::new(None) }
}

type Sink<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + 'a;

impl Target for Kernel {
    fn facts(&self) -> Facts {
        Facts::default()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Ok(workloads())
    }

    fn cpus(&self) -> &[u32] {
        &[0, 1, 2, 3]
    }

    fn execute(&self, _: &Execution, _: &mut Sink<'_>, _: &StopFlag) -> Ending {
        panic!("it is to be counted")
    }

    fn counting(&self) -> Option<&dyn Counting> {
        Some(self)
    }
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
        if self.stopped_after.get() == Some(0) {
            stop.set();
            return Counted { ending: Ending::Stopped, report: Err("stopped".to_owned()), seed: None };
        }
        self.stopped_after.set(self.stopped_after.get().map(|left| left - 1));
        let counts = vec![(OPERATIONS / u64::from(tasks)).to_string(); tasks as usize].join(" ");
        let lines = format!(
            "faultline-workload 1 touch\noperation touch\nunit touch/s\ndirection higher\nvariant base\nmode process\ntasks {tasks}\nready 1\n\
             begin 2\ninterval 2 3 {counts}\nend 4\ndone"
        );
        assert!(lines.lines().all(|line| sink(line.as_bytes()).is_continue()));
        let transfers = 1000 + seed.unwrap_or(50) * 7919 % 400 + u64::from(tasks) + self.added;
        let ending = Ending::Exited { status: 0, stderr: String::new() };
        Counted { ending, report: Ok(report(tasks, transfers)), seed: seed.filter(|_| self.is_exact) }
    }
}

/// A report of one line.
fn report(cpus: u32, transfers: u64) -> RawReport {
    let address = 0xffff_ffff_8200_0040u64;
    let report = json!({
        "format": "faultline-lens", "version": 3, "target": "x86_64", "mode": "kernel",
        "machine": {"cpus": cpus, "sockets": 1, "cpus_per_cache": cpus, "line_bytes": 64, "quantum": 1000, "private_quantum": 1000,
            "instruction_ps": 500, "same_cache_ns": 20, "same_socket_ns": 50, "other_socket_ns": 150, "memory_ns": 80,
            "cache_lines": null, "cache_ways": null},
        "program": null, "direct_map": null, "scope": "marks", "regions": 1, "forks": 0, "forced_blocks": 0, "problems": [],
        "predicted_time": 1000, "predicted_time_ns": 500, "busy_time": 1000, "overlapping_time": 900,
        "totals": {"instructions": 100_000, "accesses": 50_000, "transfers": transfers, "true_sharing": transfers, "false_sharing": 0,
            "by_cause": {"read": 0, "write": transfers},
            "by_distance": {"same_cache": transfers, "same_socket": 0, "other_socket": 0, "several": 0},
            "atomic": 0, "user": 0, "contents": 0, "capacity_misses": 0},
        "cpus": [], "lines_moved": 1,
        "lines": [{"address": address, "space": "virtual", "contents": false, "transfers": transfers, "true_sharing": transfers,
            "false_sharing": 0, "by_cpu": [], "by_site": [], "by_offset": [{"offset": 0, "size": 8, "transfers": transfers}]}],
        "sites_moving": 0, "sites": [], "interrupt": null
    });
    RawReport::parse(report.to_string().as_bytes()).unwrap()
}

fn naming() -> Naming {
    let symbol = |address, name: &str| KernelSymbol { address, kind: 'D', name: name.to_owned() };
    let symbols = [symbol(0xffff_ffff_8200_0040, "counter"), symbol(0xffff_ffff_8200_0048, "after")];
    Naming::kernel(Kallsyms::new(symbols).unwrap(), None)
}

fn workloads() -> Vec<WorkloadInfo> {
    let text = "faultline-describe 1 touch\nsummary pages\noperation touch\nunit touch/s\ndirection higher\nstyle loop\nwindow_ms 10\n\
                variant base process b\nend\n";
    vec![describe::parse(text).unwrap()]
}

fn request(seed: u64, repeats: u32) -> LensRequest {
    let settings = LensSettings {
        sockets: 1,
        cpus_per_cache: None,
        costs: "laptop".into(),
        operations_per_task: None,
        quantum: None,
        private_quantum: None,
        budgets: Vec::new(),
        again: None,
    };
    LensRequest {
        workloads: vec!["touch".to_owned()],
        mode: None,
        cpus: vec![1, 2, 4],
        repeats,
        size: None,
        memory_bytes: None,
        limit_ms: None,
        seed,
        settings,
    }
}

fn plan(seed: u64, repeats: u32) -> Plan {
    plan_kernel(&request(seed, repeats), &workloads()).unwrap()
}

struct Nobody;

impl Observer for Nobody {
    fn item_begins(&mut self, _: &PlanItem, _: &RunProgress) {}
    fn interval(&mut self, _: &PlanItem, _: f64) {}
    fn item_ends(&mut self, _: &PlanItem, _: &Outcome, _: Option<f64>, _: &RunProgress) {}
}

/// A database in a file, which is opened anew for each session.
struct Database(tempfile::TempDir);

impl Database {
    fn new() -> Self {
        Database(tempfile::tempdir().unwrap())
    }

    fn open(&self) -> Store {
        Store::open_or_create(&self.0.path().join("db.sqlite")).unwrap()
    }

    /// Plans and saves a run.
    fn begin(&self, plan: &Plan) -> RunId {
        let what = SubjectKind::Kernel { image: "/boot/vmlinuz".into(), command_line: String::new() };
        let new = NewRun {
            label: None,
            settings: &plan.settings,
            subjects: &[Subject { what, ..Subject::as_is(Machine::Host) }],
            workloads: &workloads(),
            plan: &plan.items,
            session: &session(),
        };
        self.open().begin_run(&new).unwrap()
    }

    /// Counts what is missing of a run.
    fn go_on(&self, id: RunId, target: &Kernel) -> Completion {
        let mut store = self.open();
        let (head, items, naming) = (store.load_head(id).unwrap(), store.missing_items(id).unwrap(), naming());
        let targets = [SubjectTargets::alone(target)];
        let planned = PlannedRun {
            targets: Targets::new(&targets),
            settings: &head.settings,
            subjects: &head.subjects,
            workloads: &head.workloads,
            items: &items,
            budget: None,
            limit: None,
            naming: Some(&naming),
        };
        let clock = SystemClock::default();
        run(&planned, &clock, &mut store.journal(id), &mut Nobody, &StopFlag::default()).unwrap()
    }

    /// A whole run.
    fn count(&self, plan: &Plan, target: &Kernel) -> RunRecord {
        let id = self.begin(plan);
        assert_eq!(self.go_on(id, target), Completion::Finished);
        self.open().load_run(id).unwrap()
    }
}

fn session() -> Session {
    Session { started: UnixMillis(1), facts: vec![Facts::default()] }
}

/// Block, CPUs, seed and transfers of each reading, in the order of the plan.
fn counted(record: &RunRecord) -> Vec<(u32, u32, Option<u64>, u64)> {
    let of = |item: &PlanItem| {
        let reading = record.final_attempt(item.ordinal)?.reading.as_ref()?;
        Some((item.block, item.cell.tasks, reading.seed, reading.totals.transfers))
    };
    record.plan.iter().filter_map(of).collect()
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
        let named: Vec<_> =
            cell.data.iter().map(|data| (data.name.as_str(), (data.difference * 1e9).round())).collect();
        assert_eq!((named.as_slice(), cell.transfers.0.n), (&[("counter", 0.94e9)][..], 1));
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
        let stopping = Kernel { stopped_after: Cell::new(Some(stopped_after)), ..kernel(0) };
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
