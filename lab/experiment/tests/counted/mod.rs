//! A kernel's lens run without a machine: plan, database, and one-line reports of a target.

use faultline_lens_format::{CostTimes, RawCounts, RawLine, RawReport};
use faultline_record::describe::{self, WorkloadInfo};
use faultline_record::facts::Facts;
use faultline_record::lens::counted::{AgentReport, CountedReport};
use faultline_record::lens::guest_kernel::KernelSymbol;
use faultline_record::lens::settings::{LensAgain, LensSettings, SavedFile};
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::plan::PlanItem;
use faultline_record::record::{RunId, RunRecord, Session};
use faultline_record::subject::{Subject, SubjectKind};
use faultline_record::time::UnixMillis;
use faultline_runner::lens::{LensRequest, Naming, plan_kernel};
use faultline_runner::{
    Completion, Observer, Plan, PlannedRun, RunProgress, SubjectTargets, SystemClock, Targets, run,
};
use faultline_store::{NewRun, Store};
use faultline_symbols::Kallsyms;
use faultline_targets::counting::Counting;
use faultline_targets::{Ending, Execution, StopFlag, Target, TargetError};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

/// Operations of an attempt.
const OPERATIONS: u64 = 1000;

/// A workload's output after `OPERATIONS` by that number of tasks.
pub fn lines(tasks: u32) -> String {
    let counts = vec![(OPERATIONS / u64::from(tasks)).to_string(); tasks as usize].join(" ");
    format!(
        "faultline-workload 1 touch\noperation touch\nunit touch/s\ndirection higher\nvariant base\nmode process\ntasks {tasks}\nready 1\n\
         begin 2\ninterval 2 3 {counts}\nend 4\ndone"
    )
}

/// A report of one line.
pub fn report(cpus: u32, transfers: u64) -> CountedReport {
    let mut operation = RawCounts::of_lines(vec![RawLine::written(0xffff_ffff_8200_0040, transfers)]);
    (operation.totals.instructions, operation.totals.accesses) = (100_000, 50_000);
    CountedReport { counts: RawReport { operation, ..RawReport::empty(cpus) }, agent: AgentReport::default() }
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

fn again() -> LensAgain {
    let times = CostTimes { instruction_ps: 1, same_cache_ns: 1, same_socket_ns: 1, other_socket_ns: 1, memory_ns: 1 };
    LensAgain::new(SavedFile { path: "/plugin".into(), sha256: "00".into() }, times)
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
        again: Box::new(again()),
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

/// A target's messages during a count.
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

/// A database in a file, opened for each session.
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

    /// As above, with an observer.
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
        let targets = SubjectTargets::counting(&target, &naming);
        let planned = PlannedRun {
            targets: Targets::shared(&targets),
            settings: &head.settings,
            subjects: &head.subjects,
            workloads: &head.workloads,
            items: &items,
            budget: None,
            limit: None,
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
