//! One attempt at one item: executes it, checks and saves each line at once, and determines the
//! outcome.

use crate::lens;
use crate::outcome::{Attempted, complete, exited, outcome_of};
use crate::partners::{self, Partner};
use crate::planned::{Observer, Stage};
use crate::planned::{PlannedRun, program};
use faultline_record::describe::Style;
use faultline_record::journal::{AttemptId, Journal, JournalError};
use faultline_record::outcome::Outcome;
use faultline_record::plan::{PinPolicy, PlanItem};
use faultline_record::protocol::{Event, Interval};
use faultline_record::role::Role;
use faultline_record::setup::Setup;
use faultline_record::subject::{Subject, SubjectKind};
use faultline_record::transcript::{Transcript, TranscriptError};
use faultline_targets::network::{self, Attachment, Made};
use faultline_targets::{Ending, Execution, StopFlag, Target, lack};
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

/// Time limit for a workload's set-up and clean-up, with a margin for a loaded machine.
const SETUP_LIMIT: Duration = Duration::from_secs(30);

/// Time limit for an execution under the lens: a machine of many CPUs, with each instruction
/// inspected, on few real CPUs.
const LENS_LIMIT: Duration = Duration::from_secs(20 * 60);

/// Additional time for each task: with many tasks on few CPUs, the tasks run one after the other.
const SETUP_LIMIT_PER_TASK: Duration = Duration::from_millis(100);

/// Factor of a workload's planned time after which it counts as hanging.
const PHASES_SLACK: u64 = 3;

/// Added to a partner's limit, so that it never expires before the measured execution has ended.
const PARTNER_SLACK: Duration = Duration::from_secs(120);

/// The environment variable with the token of all ends of an execution (docs/FORMATS.md §3).
const TOKEN: &str = "FAULTLINE_TOKEN";

/// Default time limit of a workload that runs once.
const ONCE_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Executes `item` as `attempt`, and measures time. Fails only if the journal fails.
pub(crate) fn execute(
    run: &PlannedRun<'_>,
    item: &PlanItem,
    attempt: AttemptId,
    journal: &mut dyn Journal,
    observer: &mut dyn Observer,
    stop: &StopFlag,
) -> Result<Attempted, JournalError> {
    let mut execution = execution(run, item);
    let target = run.targets.of(item);
    let mut reader = Reader::new(run, item, attempt);
    let mut partners = partners(run, item, &execution);
    let network = match network(run, item, &partners, stop) {
        Ok(network) => network,
        Err(_) if stop.is_set() => return Ok(Attempted::without_value(Outcome::Interrupted)),
        Err(text) => return Ok(Attempted::without_value(Outcome::LabFailed { text })),
    };
    if let Some(network) = &network {
        attach(&mut execution, &mut partners, network);
    }
    let ended = partners::beside(&partners, stop, |stop| {
        target.execute_with_console(&execution, &mut |line| reader.take(line, journal, observer), stop)
    });
    let mut attempted = reader.conclude(ended.measured.ending, execution.limit)?;
    // A workload removes its files when it fails, so the disk has room again.
    if let Outcome::Failed { step, errno, text } = &attempted.outcome
        && target.writes_here()
        && lack::is_disk_full(*errno)
    {
        attempted = Attempted::without_value(Outcome::LabFailed { text: format!("the disk is full: {step}: {text}") });
    }
    save_console(ended.measured.console.as_deref(), &attempted.outcome, attempt, journal)?;
    ended.said.iter().try_for_each(|event| journal.record(attempt, event))?;
    Ok(match (ended.failure, &attempted.outcome) {
        // These end the run, even if a partner failed, perhaps for the same cause.
        (None, _) | (_, Outcome::LabFailed { .. } | Outcome::LeftChanged { .. } | Outcome::ConnectionLost { .. }) => {
            attempted
        }
        (Some(failure), _) => Attempted::without_value(failure.into()),
    })
}

/// Saves the console's output of the attempt's machine, unless the outcome has all of it. Fails if
/// the journal cannot save.
pub(crate) fn save_console(
    console: Option<&str>,
    outcome: &Outcome,
    attempt: AttemptId,
    journal: &mut dyn Journal,
) -> Result<(), JournalError> {
    match console {
        Some(console) if !console.is_empty() && outcome.last_output() != Some(console) => {
            journal.record_console(attempt, console)
        }
        _ => Ok(()),
    }
}

/// The execution of the item.
pub(crate) fn execution(run: &PlannedRun<'_>, item: &PlanItem) -> Execution {
    let settings = run.settings;
    let setup = setup(run.subjects, item);
    let arguments = match program(run, item) {
        Some(argv) => program_arguments(argv, item.cell.tasks),
        None => workload_arguments(run, item, &setup, run.targets.of(item), None),
    };
    let usual = match settings.counting() {
        Some(_) => LENS_LIMIT,
        None => limit(item, run.targets.of(item).patience()),
    };
    Execution {
        workload: item.cell.case.workload.clone(),
        arguments,
        limit: run.limit.unwrap_or(usual),
        directory: setup.directory.as_ref().filter(|_| !is_built_to_boot(run.subjects, item)).map(PathBuf::from),
        environment: environment(&setup),
        system_settings: setup.system_files().collect(),
        attachment: Attachment::Already,
    }
}

/// The network of this attempt, if one is needed. Fails with a text.
fn network(
    run: &PlannedRun<'_>,
    item: &PlanItem,
    partners: &[Partner<'_>],
    stop: &StopFlag,
) -> Result<Option<Made>, String> {
    let Some(network) = run.targets.network(item) else { return Ok(None) };
    let ends: Vec<_> = partners
        .iter()
        .map(|partner| network::Partner { role: partner.role, connection: partner.target.connection() })
        .collect();
    network.make(run.targets.of(item).connection(), &ends, stop).map(Some)
}

/// Attaches all executions to the network, and passes each the data about the others
/// (docs/FORMATS.md §3), including a token by which partners know the execution that they serve.
fn attach(measured: &mut Execution, partners: &mut [Partner<'_>], network: &Made) {
    // By this thread's generator, which is fit for secrets.
    let token = (TOKEN.to_owned(), format!("{:032x}", rand::random::<u128>()));
    measured.attachment = network.measured.attachment.clone();
    measured.environment.push(token.clone());
    for (partner, place) in partners.iter_mut().zip(&network.partners) {
        partner.execution.attachment = place.attachment.clone();
        partner.execution.environment.push(token.clone());
        let at = ["--at".to_owned(), place.addresses.clone()];
        // Separates a command's words.
        partner.execution.arguments.splice(0..0, at);
        let far = ["--far".to_owned(), format!("{}={}", partner.role, place.addresses)];
        measured.arguments.splice(0..0, far);
    }
}

/// The executions next to `measured`: a partner for each role of the item's workload. Of the
/// subject's setup, only the partners' machines apply to them.
fn partners<'a>(run: &PlannedRun<'a>, item: &'a PlanItem, measured: &Execution) -> Vec<Partner<'a>> {
    let Some(info) = run.workloads.iter().find(|info| info.name == item.cell.case.workload) else { return Vec::new() };
    let ready_limit = |target: &dyn Target| {
        run.limit.unwrap_or_else(|| setup_limit(item) * target.patience()) + target.longest_boot()
    };
    let there: Vec<_> = info.all_roles().filter_map(|role| Some((role, run.targets.partner(item, role)?))).collect();
    let all_ready = there.iter().map(|(_, target)| ready_limit(*target)).max().unwrap_or_default();
    let limit = all_ready + run.targets.of(item).longest_boot() + measured.limit + PARTNER_SLACK;
    let partner = |(role, target): (&'a Role, &'a (dyn Target + Sync))| Partner {
        role,
        target,
        execution: Execution {
            workload: item.cell.case.workload.clone(),
            arguments: workload_arguments(run, item, &Setup::default(), target, Some(role)),
            limit,
            directory: None,
            environment: Vec::new(),
            system_settings: Vec::new(),
            attachment: Attachment::Already,
        },
        ready_limit: ready_limit(target),
        cell: &item.cell,
        style: info.style,
    };
    there.into_iter().map(partner).collect()
}

fn program_arguments(argv: &[String], threads: u32) -> Vec<String> {
    let threads = threads.to_string();
    argv.iter().skip(1).map(|word| word.replace(lens::TASKS, &threads)).collect()
}

/// Arguments for the item's workload on `target` (docs/FORMATS.md §3). `role`: of a partner.
fn workload_arguments(
    run: &PlannedRun<'_>,
    item: &PlanItem,
    setup: &Setup,
    target: &dyn Target,
    role: Option<&Role>,
) -> Vec<String> {
    let settings = run.settings;
    let cell = &item.cell;
    let mut arguments: Vec<String> = Vec::new();
    let mut option = |name: &str, value: String| arguments.extend([format!("--{name}"), value]);
    if let Some(role) = role {
        option("role", role.to_string());
    }
    option("variant", cell.case.variant.clone());
    option("mode", cell.case.mode.word().to_owned());
    option("tasks", cell.tasks.to_string());
    let policy = settings.timed().map_or(PinPolicy::Each, |timed| timed.pin);
    option("pin", pin(policy, target.cpus(), cell.tasks));
    if let Some(timing) = item.timing {
        option("warmup-ms", timing.warmup_ms.to_string());
        option("window-ms", timing.window_ms.to_string());
        option("interval-ms", timing.interval_ms.to_string());
    }
    if let Some(size) = settings.size {
        option("size", size.to_string());
    }
    match (item.timing, lens::operations_of(run, item)) {
        (Some(_), _) => {}
        (None, Some(operations)) => option("ops", operations.to_string()),
        (None, None) => option("copies", settings.timed().map_or(1, |timed| timed.copies).to_string()),
    }
    let tree = settings.timed().and_then(|timed| timed.tree.as_ref());
    if let Some(tree) = tree.filter(|_| cell.case.variant == "given") {
        option("tree", tree.directory.clone());
        arguments.push("--".to_owned());
        arguments.extend(tree.command.iter().cloned());
    }
    if !setup.command.is_empty() {
        arguments.extend(setup.prepare.iter().flat_map(|word| ["--prepare".to_owned(), word.clone()]));
        arguments.push("--".to_owned());
        arguments.extend(setup.command.iter().cloned());
    }
    arguments
}

/// The setup of the item's subject; empty if unknown.
fn setup<'a>(subjects: &'a [Subject], item: &PlanItem) -> Cow<'a, Setup> {
    subjects.get(item.subject.at()).map_or_else(Cow::default, |subject| Cow::Borrowed(&subject.setup))
}

/// True if the subject was built to be booted, in a guest or on a host: its directory contains the
/// build, and nothing runs there.
fn is_built_to_boot(subjects: &[Subject], item: &PlanItem) -> bool {
    let subject = subjects.get(item.subject.at());
    subject.is_some_and(|subject| subject.build.is_some() && !matches!(subject.what, SubjectKind::Program { .. }))
}

/// Environment variables. Workloads that compile take their compiler from `CC`.
fn environment(setup: &Setup) -> Vec<(String, String)> {
    let compiler = setup.compiler.iter().map(|compiler| ("CC".to_owned(), compiler.clone()));
    let own = setup.environment.iter().map(|(name, value)| (name.clone(), value.clone()));
    compiler.chain(own).collect()
}

/// The first CPUs in the target's order, one per task.
fn pin(policy: PinPolicy, cpus: &[u32], tasks: u32) -> String {
    match policy {
        PinPolicy::None => "none".to_owned(),
        PinPolicy::Each => {
            let first = cpus.iter().take(tasks as usize).map(u32::to_string);
            first.collect::<Vec<_>>().join(",")
        }
    }
}

/// Time limit of an item. `patience`: number of the target's CPUs that share a real one. A clock
/// times the phases; everything else takes that much longer.
fn limit(item: &PlanItem, patience: u32) -> Duration {
    match item.timing {
        None => ONCE_LIMIT * patience,
        Some(timing) => {
            let phases_ms = PHASES_SLACK * (timing.warmup_ms + timing.window_ms);
            setup_limit(item) * patience + Duration::from_millis(phases_ms)
        }
    }
}

/// Set-up and clean-up of an item's tasks, each on its own CPU.
fn setup_limit(item: &PlanItem) -> Duration {
    SETUP_LIMIT + SETUP_LIMIT_PER_TASK * item.cell.tasks
}

/// Reader of a workload's lines.
pub(crate) struct Reader<'a> {
    item: &'a PlanItem,
    attempt: AttemptId,
    /// The state of the workloads' protocol. Lines of other programs are not interpreted.
    transcript: Option<Transcript>,
    rubbish: Option<TranscriptError>,
    journal_error: Option<JournalError>,
    window: Vec<Interval>,
    first_measure: Option<f64>,
    /// Required number of intervals in the window.
    planned: u64,
    stage: Stage,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(run: &PlannedRun<'_>, item: &'a PlanItem, attempt: AttemptId) -> Self {
        let is_counted = item.timing.is_none() && run.settings.counting().is_some();
        let planned = if is_counted { 1 } else { item.timing.map_or(0, |timing| timing.intervals()) };
        let style = if planned > 0 { Style::Loop } else { Style::Once };
        Reader {
            item,
            attempt,
            transcript: program(run, item).is_none().then(|| Transcript::new(item.cell.clone(), style)),
            rubbish: None,
            journal_error: None,
            window: Vec::new(),
            first_measure: None,
            planned,
            stage: Stage::Boot,
        }
    }

    /// Checks a line, and saves its content. `Break` ends the attempt.
    pub(crate) fn take(
        &mut self,
        line: &[u8],
        journal: &mut dyn Journal,
        observer: &mut dyn Observer,
    ) -> ControlFlow<()> {
        let Some(transcript) = &mut self.transcript else { return ControlFlow::Continue(()) };
        let event = match transcript.line(line) {
            Ok(event) => event,
            Err(error) => {
                self.rubbish = Some(error);
                return ControlFlow::Break(());
            }
        };
        if let Err(error) = journal.record(self.attempt, &event) {
            self.journal_error = Some(error);
            return ControlFlow::Break(());
        }
        self.note(event, observer);
        ControlFlow::Continue(())
    }

    /// Stage of the workload, according to its lines. `None` for other programs.
    pub(crate) fn stage(&self) -> Option<Stage> {
        self.transcript.is_some().then_some(self.stage)
    }

    /// Records the data on which the outcome depends.
    fn note(&mut self, event: Event, observer: &mut dyn Observer) {
        self.stage = match event {
            Event::Begin(_) => Stage::Region,
            Event::Window(_) => Stage::End,
            _ if self.stage == Stage::Boot => Stage::WarmUp,
            _ => self.stage,
        };
        match event {
            Event::Window(interval) => {
                observer.interval(self.item, interval.rate());
                self.window.push(interval);
            }
            Event::Measure(measure) => {
                self.first_measure.get_or_insert(measure.value);
            }
            _ => {}
        }
    }

    /// Operations of all tasks in the window so far.
    pub(crate) fn operations(&self) -> u64 {
        u64::try_from(self.window.iter().map(Interval::total).sum::<u128>()).unwrap_or(u64::MAX)
    }

    /// The attempt's ending. Fails if a line could not be saved.
    pub(crate) fn conclude(self, ending: Ending, limit: Duration) -> Result<Attempted, JournalError> {
        if let Some(error) = self.journal_error {
            return Err(error);
        }
        let value = self.value();
        let (ending, lack) = match ending {
            Ending::AfterLack { text, own } => (*own, Some(text)),
            ending => (ending, None),
        };
        let outcome = match (self.rubbish, self.transcript, ending) {
            (_, _, Ending::Stopped) => Outcome::Interrupted,
            (_, _, Ending::LabFailed { text }) => Outcome::LabFailed { text },
            (_, _, Ending::LeftChanged { text }) => Outcome::LeftChanged { text },
            (_, _, Ending::ConnectionLost { text }) => Outcome::ConnectionLost { text },
            (Some(error), _, _) => Outcome::Rubbish { line: error.line, problem: error.problem },
            (None, Some(transcript), Ending::Exited { status, stderr }) => match exited(transcript, status, stderr) {
                Outcome::Done => complete(self.window.len() as u64, self.planned),
                outcome => outcome,
            },
            (None, _, ending) => outcome_of(ending, limit),
        };
        let value = value.filter(|_| outcome == Outcome::Done);
        match lack {
            Some(text) => Ok(Attempted::after_lack(text, outcome)),
            None => Ok(Attempted { outcome, value, own: None }),
        }
    }

    fn value(&self) -> Option<f64> {
        let length_s: f64 = self.window.iter().map(|interval| interval.length_ns() as f64 / 1e9).sum();
        let operations: u128 = self.window.iter().map(Interval::total).sum();
        if length_s > 0.0 { Some(operations as f64 / length_s) } else { self.first_measure }
    }
}
