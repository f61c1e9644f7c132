//! A kernel's lens run without a machine: its plan, its database, and reports of one line for a target to leave.

#![allow(dead_code, reason = "each test program uses a part of it")]

use faultline_model::describe::{self, WorkloadInfo};
use faultline_model::facts::Facts;
use faultline_model::lens::kernel_symbol::KernelSymbol;
use faultline_model::lens::raw::RawReport;
use faultline_model::lens::settings::LensSettings;
use faultline_model::machine::Machine;
use faultline_model::outcome::Outcome;
use faultline_model::plan::PlanItem;
use faultline_model::record::{RunId, RunRecord, Session};
use faultline_model::subject::{Subject, SubjectKind};
use faultline_model::time::UnixMillis;
use faultline_runner::lens::{LensRequest, Naming, plan_kernel};
use faultline_runner::{
    Completion, Observer, Plan, PlannedRun, RunProgress, SubjectTargets, SystemClock, Targets, run,
};
use faultline_store::{NewRun, Store};
use faultline_symbols::Kallsyms;
use faultline_targets::counting::Counting;
use faultline_targets::{Ending, Execution, StopFlag, Target, TargetError};
use serde_json::json;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

/// Operations of an attempt.
const OPERATIONS: u64 = 1000;

/// What a workload says when it did `OPERATIONS` as that many tasks.
pub fn lines(tasks: u32) -> String {
    let counts = vec![(OPERATIONS / u64::from(tasks)).to_string(); tasks as usize].join(" ");
    format!(
        "faultline-workload 1 touch\noperation touch\nunit touch/s\ndirection higher\nvariant base\nmode process\ntasks {tasks}\nready 1\n\
         begin 2\ninterval 2 3 {counts}\nend 4\ndone"
    )
}

/// A report of one line.
pub fn report(cpus: u32, transfers: u64) -> RawReport {
    let address = 0xffff_ffff_8200_0040u64;
    let report = json!({
        "format": "faultline-lens", "version": 3, "target": "x86_64", "mode": "kernel",
        "machine": {"cpus": cpus, "sockets": 1, "cpus_per_cache": cpus, "line_bytes": 64, "quantum": 1000, "private_quantum": 1000,
            "instruction_ps": 500, "same_cache_ns": 20, "same_socket_ns": 50, "other_socket_ns": 150, "memory_ns": 80,
            "cache_lines": null, "cache_ways": null},
        "direct_map": null, "scope": "marks", "regions": 1, "problems": [],
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

pub fn naming() -> Naming {
    let symbol = |address, name: &str| KernelSymbol { address, kind: 'D', name: name.to_owned() };
    let symbols = [symbol(0xffff_ffff_8200_0040, "counter"), symbol(0xffff_ffff_8200_0048, "after")];
    Naming::kernel(Kallsyms::new(symbols).unwrap(), None)
}

pub fn workloads() -> Vec<WorkloadInfo> {
    let text = "faultline-describe 1 touch\nsummary pages\noperation touch\nunit touch/s\ndirection higher\nstyle loop\nwindow_ms 10\n\
                variant base process b\nend\n";
    vec![describe::parse(text).unwrap()]
}

pub fn request(seed: u64, repeats: u32) -> LensRequest {
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

pub fn plan(seed: u64, repeats: u32) -> Plan {
    plan_kernel(&request(seed, repeats), &workloads()).unwrap()
}

pub struct Nobody;

impl Observer for Nobody {
    fn item_begins(&mut self, _: &PlanItem, _: &RunProgress) {}
    fn interval(&mut self, _: &PlanItem, _: f64) {}
    fn item_ends(&mut self, _: &PlanItem, _: &Outcome, _: Option<f64>, _: &RunProgress) {}
}

/// What a target says while it counts.
pub type Sink<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + 'a;

/// A target that can do nothing but count.
struct OnlyCounts<'k>(&'k dyn Counting);

impl Target for OnlyCounts<'_> {
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
        Some(self.0)
    }
}

/// A database in a file, which is opened anew for each session.
pub struct Database(tempfile::TempDir);

impl Database {
    pub fn new() -> Self {
        Database(tempfile::tempdir().unwrap())
    }

    pub fn open(&self) -> Store {
        Store::open_or_create(&self.0.path().join("db.sqlite")).unwrap()
    }

    /// Plans and saves a run.
    pub fn begin(&self, plan: &Plan) -> RunId {
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

    /// Counts what is missing of a run, one item after the other.
    pub fn go_on(&self, id: RunId, kernel: &dyn Counting) -> Completion {
        self.go_on_with(id, kernel, NonZeroUsize::MIN, &StopFlag::default())
    }

    /// Counts what is missing of a run, so many items at the same time.
    pub fn go_on_with(&self, id: RunId, kernel: &dyn Counting, jobs: NonZeroUsize, stop: &StopFlag) -> Completion {
        self.observed(id, kernel, jobs, stop, &mut Nobody)
    }

    /// The same, observed.
    pub fn observed(
        &self,
        id: RunId,
        kernel: &dyn Counting,
        jobs: NonZeroUsize,
        stop: &StopFlag,
        observer: &mut dyn Observer,
    ) -> Completion {
        let mut store = self.open();
        let (head, items, naming) = (store.load_head(id).unwrap(), store.missing_items(id).unwrap(), naming());
        let target = OnlyCounts(kernel);
        let targets = SubjectTargets::alone(&target);
        let planned = PlannedRun {
            targets: Targets::shared(&targets),
            settings: &head.settings,
            subjects: &head.subjects,
            workloads: &head.workloads,
            items: &items,
            budget: None,
            limit: None,
            naming: Some(&naming),
            jobs,
        };
        let clock = SystemClock::default();
        run(&planned, &clock, &mut store.journal(id), observer, stop).unwrap()
    }

    /// A whole run.
    pub fn count(&self, plan: &Plan, kernel: &dyn Counting) -> RunRecord {
        let id = self.begin(plan);
        assert_eq!(self.go_on(id, kernel), Completion::Finished);
        self.open().load_run(id).unwrap()
    }
}

pub fn session() -> Session {
    Session { started: UnixMillis(1), facts: vec![Facts::default()] }
}

/// Block, CPUs, seed and transfers of each reading, in the order of the plan.
pub fn counted(record: &RunRecord) -> Vec<(u32, u32, Option<u64>, u64)> {
    let of = |item: &PlanItem| {
        let reading = record.final_attempt(item.ordinal)?.reading.as_ref()?;
        Some((item.block, item.cell.tasks, reading.seed, reading.totals.transfers))
    };
    record.plan.iter().filter_map(of).collect()
}
