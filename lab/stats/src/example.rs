//! Synthetic run records for tests.

use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::describe::{Style, VariantInfo, WorkloadInfo};
use faultline_record::direction::Direction;
use faultline_record::facts::Facts;
use faultline_record::journal::AttemptId;
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{
    ComparisonPurpose, ComparisonSettings, PinPolicy, PlanItem, RunKind, Settings, TimedSettings, Timing,
};
use faultline_record::protocol::{Interval, Usage, UsageScope};
use faultline_record::quantity::Quantity;
use faultline_record::record::{Attempt, RunHead, RunId, RunRecord, RunState, Session};
use faultline_record::setup::Setup;
use faultline_record::subject::{Subject, SubjectIndex};
use faultline_record::time::UnixMillis;

/// Intervals per attempt; each lasts one second.
pub(crate) const INTERVALS: u64 = 6;

/// A successful attempt in which every task did `operations` in each interval.
pub(crate) fn attempt(tasks: u32, operations: u64) -> Attempt {
    let mut attempt = Attempt::begun(AttemptId(0), 0, 0, UnixMillis(0));
    attempt.outcome = Some(Outcome::Done);
    attempt.window = (0..INTERVALS).map(|second| interval(second, &vec![operations; tasks as usize])).collect();
    attempt
}

/// The one-second interval that starts at `second`.
pub(crate) fn interval(second: u64, operations: &[u64]) -> Interval {
    let (from_ns, to_ns) = (second * 1_000_000_000, (second + 1) * 1_000_000_000);
    Interval { from_ns, to_ns, operations: operations.to_vec() }
}

/// Usage of the region of interest, with CPU time only.
pub(crate) fn usage(user_ns: u64, system_ns: u64) -> Usage {
    Usage {
        scope: UsageScope::Window,
        user_ns,
        system_ns,
        minor_faults: 0,
        major_faults: 0,
        voluntary_switches: 0,
        involuntary_switches: 0,
    }
}

/// A machine of four cores with nothing to warn about.
pub(crate) fn quiet_facts() -> Facts {
    let mut facts = Facts::default();
    for key in ["cpu.logical", "cpu.usable", "cpu.cores"] {
        facts.count(key, 4);
    }
    facts.text("cpu.governor", "performance");
    facts.flag("cpu.boost", false);
    facts.text("virtualisation.kind", "none");
    facts.real("load.one_minute", 0.05);
    facts.count("load.runnable_others", 0);
    facts.text("boot.id", "first");
    facts.text("kernel.release", "6.1.0");
    facts
}

/// Builder for a complete run of loops on the machine of [`quiet_facts`]. A function of tasks and
/// block gives each task's operations per second.
pub(crate) struct Run {
    workloads: Vec<String>,
    tasks: Vec<u32>,
    repeats: u32,
    rate: fn(u32, u32) -> u64,
    /// Rate of the second side, in a comparison.
    other_rate: Option<fn(u32, u32) -> u64>,
}

impl Run {
    pub(crate) fn new(workloads: &[&str]) -> Self {
        let workloads = workloads.iter().map(|&name| name.to_owned()).collect();
        Run { workloads, tasks: vec![1, 2], repeats: 6, rate: |_, _| 1_000_003, other_rate: None }
    }

    pub(crate) fn tasks(self, tasks: &[u32]) -> Self {
        Run { tasks: tasks.to_vec(), ..self }
    }

    pub(crate) fn repeats(self, repeats: u32) -> Self {
        Run { repeats, ..self }
    }

    pub(crate) fn rate(self, rate: fn(u32, u32) -> u64) -> Self {
        Run { rate, ..self }
    }

    /// Makes it a live comparison; `rate` is the second side's.
    pub(crate) fn against(self, rate: fn(u32, u32) -> u64) -> Self {
        Run { other_rate: Some(rate), ..self }
    }

    pub(crate) fn record(self) -> RunRecord {
        let plan = self.plan();
        let attempts = plan.iter().map(|item| self.attempt(item)).collect();
        let head = RunHead {
            id: RunId(1),
            label: None,
            settings: self.settings(),
            workloads: self.workloads.iter().map(|name| workload(name)).collect(),
            state: RunState::Finished,
            sessions: vec![Session { started: UnixMillis(1_000), facts: vec![quiet_facts(); self.subjects().len()] }],
            subjects: self.subjects(),
        };
        RunRecord { head, plan, skipped: Vec::new(), attempts, explained: Vec::new() }
    }

    fn plan(&self) -> Vec<PlanItem> {
        let mut plan = Vec::new();
        for block in 0..self.repeats {
            for workload in &self.workloads {
                for &tasks in &self.tasks {
                    for subject in self.sides(block) {
                        let case = Case { workload: workload.clone(), variant: "base".into(), mode: TaskMode::Process };
                        let timing = Some(Timing { warmup_ms: 0, window_ms: INTERVALS * 1000, interval_ms: 1000 });
                        let ordinal = plan.len() as u32;
                        plan.push(PlanItem { ordinal, block, subject, cell: Cell { case, tasks }, timing, seed: None });
                    }
                }
            }
        }
        plan
    }

    /// Both sides once. The first side runs first in every other block.
    fn sides(&self, block: u32) -> Vec<SubjectIndex> {
        match self.other_rate {
            None => vec![SubjectIndex::A],
            Some(_) if block.is_multiple_of(2) => vec![SubjectIndex::A, SubjectIndex::B],
            Some(_) => vec![SubjectIndex::B, SubjectIndex::A],
        }
    }

    fn attempt(&self, item: &PlanItem) -> Attempt {
        let tasks = item.cell.tasks;
        let rate = self.other_rate.filter(|_| item.subject == SubjectIndex::B).unwrap_or(self.rate);
        Attempt {
            id: AttemptId(i64::from(item.ordinal)),
            ordinal: item.ordinal,
            started: UnixMillis(2_000 + i64::from(item.ordinal)),
            ..attempt(tasks, rate(tasks, item.block))
        }
    }

    fn subjects(&self) -> Vec<Subject> {
        match self.other_rate {
            None => vec![Subject::as_is(Machine::Host)],
            Some(_) => ["old", "new"].map(|name| Subject::on(name.to_owned(), Machine::Host, Setup::default())).into(),
        }
    }

    fn settings(&self) -> Settings {
        let timed = TimedSettings::pinned(PinPolicy::Each);
        let kind = match self.other_rate {
            None => RunKind::Timed(timed),
            Some(_) => RunKind::Comparison(ComparisonSettings {
                timed,
                quantity: Quantity::Time,
                level: 0.95,
                margin: 0.02,
                once: false,
                purpose: ComparisonPurpose::Answer,
            }),
        };
        Settings { cpus: self.tasks.clone(), repeats: self.repeats, seed: 1, limit_ms: None, size: None, kind }
    }
}

/// A workload that loops, with one variant.
pub(crate) fn workload(name: &str) -> WorkloadInfo {
    let modes = vec![TaskMode::Process, TaskMode::Thread];
    WorkloadInfo {
        name: name.to_owned(),
        summary: "made up".into(),
        operation: "turn".into(),
        unit: "turn/s".into(),
        direction: Direction::Higher,
        style: Style::Loop,
        window_ms: 1000,
        size: None,
        size_ranges: Vec::new(),
        variants: vec![VariantInfo { name: "base".into(), modes, text: "plain turns".into(), lens_operations: None }],
        lens_operations: None,
        suites: Vec::new(),
        roles: Vec::new(),
        optional_roles: Vec::new(),
    }
}
