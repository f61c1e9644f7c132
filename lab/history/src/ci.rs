//! `ci`: builds two commits, counts them under the lens, executes them live, and compares each
//! program by each measure.

use crate::bisect::{BisectRequest, bisect_these};
use crate::request::{LineRequest, MeasureRequest, Wanted};
use crate::source_lines::source_lines;
use crate::workshop::{Workshop, absolute};
use faultline_experiment::lens::BuildsRequest;
use faultline_experiment::{
    CheckRequest, Concluded, Error, Lab, LiveComparisonRequest, Measured, Sandboxing, USUAL_LEVEL, check, compare,
    stored,
};
use faultline_record::bisect::BisectSettings;
use faultline_record::commit::{CommitInfo, short_name};
use faultline_record::machine::Machine;
use faultline_record::plan::{ComparisonPurpose, PinPolicy};
use faultline_record::quantity::Quantity;
use faultline_record::record::{RunId, RunRecord};
use faultline_record::setup::Setup;
use faultline_record::subject::{BuildResult, Commit, Subject};
use faultline_runner::{ComparisonRequest, Request};
use faultline_stats::ci::{CiProgram, CiResult, CiRow, CiVerdict, MOST_SEEDS, counted, executed, overlap_of, unusable};
use faultline_stats::comparison::Fit;
use std::path::Path;
use std::time::Duration;

/// Word of a command that stands for the number of tasks.
const TASKS: &str = "{tasks}";

/// Time for the check of the machine before time decides.
const CHECK_TIME: Duration = Duration::from_secs(30);

/// The counts, of which the first plans the search.
const COUNTS: [Quantity; 2] = [Quantity::Instructions, Quantity::Transfers];

/// The request to compare two commits.
#[derive(Debug, Clone)]
pub struct CiRequest {
    /// The old commit, as git names it.
    pub base: String,
    /// The new commit, as git names it.
    pub head: String,
    /// True to replace the old commit by the newest common ancestor of both.
    pub from_merge_base: bool,
    /// The programs, of one repository.
    pub programs: Vec<CiProgramRequest>,
    /// Smallest change for the worse that closes the gate, as a share.
    pub budget: f64,
    /// Measures that decide.
    pub by: Vec<Quantity>,
    /// Time for executions of each program; zero for none.
    pub time: Duration,
}

/// A program to compare.
#[derive(Debug, Clone)]
pub struct CiProgramRequest {
    /// The subject's name, or the command.
    pub name: String,
    /// The repository, the recipe and the command.
    pub line: LineRequest,
    /// Settings of the lens.
    pub counts: BuildsRequest,
}

/// Compares two commits by all measures; `None` if it was stopped, with everything measured saved.
/// A side that does not build or run is a result. Fails if a commit is unknown, if the lens is not
/// available, or if the database cannot be written.
pub fn ci(request: &CiRequest, lab: &mut Lab<'_>) -> Result<Option<CiResult>, Error> {
    let Some(first) = request.programs.first() else {
        return Err(Error::usage("there is no program to measure", "name a command after `--`"));
    };
    if request.programs.iter().any(|program| program.line.repository != first.line.repository) {
        return Err(Error::usage(
            "the subjects belong to several repositories",
            "name subjects of one: `faultline ci OLD..NEW SUBJECT …`",
        ));
    }
    if request.time.is_zero() && request.by.iter().any(|what| !what.is_counted()) {
        return Err(Error::usage(
            "a measure of executions cannot decide without executions",
            "`--time` must be longer than 0, or `--by` takes instructions and transfers only",
        ));
    }
    let (base, head) = ends(request, &first.line, lab)?;
    let may_time_decide = if request.by.contains(&Quantity::Time) { is_fit(lab)? } else { Some(false) };
    let Some(may_time_decide) = may_time_decide else { return Ok(None) };
    let mut programs = Vec::new();
    for program in &request.programs {
        let one = One { request, program, ends: [&base, &head], may_time_decide };
        match one.compared(lab)? {
            Some(program) => programs.push(program),
            None => return Ok(None),
        }
    }
    Ok(Some(CiResult { format: CiResult::FORMAT.to_owned(), base, head, by: request.by.clone(), programs }))
}

/// The two commits. Fails if one is unknown, or if they are the same.
fn ends(request: &CiRequest, line: &LineRequest, lab: &Lab<'_>) -> Result<(CommitInfo, CommitInfo), Error> {
    let repository = Workshop::open(&line.repository, line.work.as_deref(), lab)?.repository;
    let head = repository.commit(&request.head, lab)?;
    let mut base = repository.commit(&request.base, lab)?;
    if request.from_merge_base {
        base = repository.merge_base(&base, &head, lab)?;
    }
    if base.id == head.id {
        let (old, new) = (request.base.escape_debug(), request.head.escape_debug());
        let problem = match request.from_merge_base {
            true => format!("'{new}' has no commit that '{old}' lacks"),
            false => format!("'{old}' and '{new}' are the same commit"),
        };
        let hint = "name the commit before the change and the one after it, for example `HEAD~1..HEAD`";
        return Err(Error::usage(problem, hint));
    }
    repository.check_order([&base, &head], [&request.base, &request.head], lab)?;
    Ok((base, head))
}

/// True if the machine is fit to decide by time; `None` on a stop.
fn is_fit(lab: &mut Lab<'_>) -> Result<Option<bool>, Error> {
    let request =
        CheckRequest { workloads: Vec::new(), time: CHECK_TIME, limit_ms: None, machine: Machine::Host, seed: None };
    Ok(match check(&request, lab)? {
        Measured::Stopped { .. } => None,
        Measured::Concluded(conclusion) => match &conclusion.what {
            Concluded::Fitness(fitness) => Some(fitness.fit != Fit::Unfit),
            _ => Some(false),
        },
    })
}

/// A program of both commits.
struct One<'a> {
    request: &'a CiRequest,
    program: &'a CiProgramRequest,
    ends: [&'a CommitInfo; 2],
    may_time_decide: bool,
}

impl One<'_> {
    fn compared(&self, lab: &mut Lab<'_>) -> Result<Option<CiProgram>, Error> {
        let line = &self.program.line;
        let workshop = Workshop::open(&line.repository, line.work.as_deref(), lab)?;
        let Some(count) = run(self.count(&workshop, lab)?) else { return Ok(None) };
        let counts = stored::load(count, lab.places)?;
        let directories = builds(&counts);
        let has_same_build = matches!(&directories[..], [base, head] if base == head);
        let row = |what| counted(&counts, what, self.request.budget, self.decides(what));
        let unusable = unusable(&counts);
        let mut program = CiProgram {
            name: self.program.name.clone(),
            runs: vec![count],
            has_same_build,
            rows: COUNTS.into_iter().filter(|_| unusable.is_none()).filter_map(row).collect(),
            unusable,
            not_executed: None,
            overlap: overlap_of(&counts),
            lines: Vec::new(),
        };
        let [base, head] = &directories[..] else { return Ok(Some(program)) };
        let places = [base, head].map(Path::new);
        program.lines = match source_lines(&counts, &program.rows, places, (&workshop, self.ends[1]), lab) {
            Err(error) if error == Error::stopped() => return Ok(None),
            lines => lines?,
        };
        let is_needless = has_same_build || self.request.time.is_zero() || self.is_equal(&program.rows);
        if program.unusable.is_some() || is_needless {
            return Ok(Some(program));
        }
        let execution = match self.execute([base, head], lab) {
            Ok(measured) => run(measured),
            Err(error) if error == Error::stopped() => None,
            // The counts stand without it.
            Err(error) => {
                program.not_executed = Some(error.problem);
                return Ok(Some(program));
            }
        };
        let Some(execution) = execution else { return Ok(None) };
        let executions = stored::load(execution, lab.places)?;
        let shown = |what: &Quantity| {
            matches!(what, Quantity::CpuTime | Quantity::PeakMemory) || self.request.by.contains(what)
        };
        let quantities = Quantity::ALL.into_iter().filter(|what| !what.is_counted()).filter(shown);
        program.rows.extend(quantities.filter_map(|what| executed(&executions, what, self.decides(what))));
        program.runs.push(execution);
        Ok(Some(program))
    }

    /// True if counts decide and are equal: executions would show noise.
    fn is_equal(&self, rows: &[CiRow]) -> bool {
        let are_equal = !rows.is_empty() && rows.iter().all(|row| row.verdict == CiVerdict::Equal);
        are_equal && self.request.by.iter().all(|what| what.is_counted())
    }

    fn decides(&self, what: Quantity) -> bool {
        self.request.by.contains(&what) && (what != Quantity::Time || self.may_time_decide)
    }

    /// Builds both commits and counts them.
    fn count(&self, workshop: &Workshop, lab: &mut Lab<'_>) -> Result<Measured, Error> {
        let line = &self.program.line;
        let [first, further @ ..] = COUNTS;
        let measure = MeasureRequest::Count { what: first, request: Box::new(self.program.counts.clone()) };
        let wanted = Wanted { level: USUAL_LEVEL, least: self.request.budget, thorough: false, layouts: 0 };
        let request = BisectRequest {
            line: line.clone(),
            search: BisectSettings { most_blocks: MOST_SEEDS, ..measure.search(wanted, None) },
            measure,
            also: further.to_vec(),
            old: self.ends[0].id.clone(),
            new: self.ends[1].id.clone(),
            time: None,
            revert: false,
            gate: None,
            label: Some(self.label()),
        };
        bisect_these(&request, self.ends.map(CommitInfo::clone).to_vec(), workshop, lab)
    }

    /// Executes both builds in random order.
    fn execute(&self, builds: [&str; 2], lab: &mut Lab<'_>) -> Result<Measured, Error> {
        let tasks = self.program.counts.threads().to_string();
        let command: Vec<String> =
            self.program.line.artefact.command().iter().map(|word| word.replace(TASKS, &tasks)).collect();
        let repository = Some(absolute(&self.program.line.repository)?);
        let side = |(commit, directory): (&CommitInfo, &str)| {
            let setup = Setup {
                command: command.clone(),
                directory: Some(directory.to_owned()),
                environment: self.program.counts.environment.iter().cloned().collect(),
                ..Setup::default()
            };
            Subject {
                commit: Some(Commit { id: commit.id.clone(), repository: repository.clone() }),
                build: Some(BuildResult::Built),
                ..Subject::on(short_name(&commit.id).to_owned(), Machine::Host, setup)
            }
        };
        let [base, head] = self.ends;
        let deciding: Vec<Quantity> =
            self.request.by.iter().copied().filter(|what| !what.is_counted() && self.decides(*what)).collect();
        let comparison = ComparisonRequest {
            sides: [side((base, builds[0])), side((head, builds[1]))],
            quantity: deciding.first().copied().unwrap_or(Quantity::CpuTime),
            level: USUAL_LEVEL,
            margin: self.request.budget,
            // An end that depends on one measure would favour the others.
            once: deciding.len() > 1,
            purpose: ComparisonPurpose::Answer,
        };
        let measuring = Request {
            cpus: Some(vec![1]),
            budget_ms: Some(self.request.time.as_millis().try_into().unwrap_or(u64::MAX)),
            limit_ms: self.program.line.limit_ms,
            pin: Some(PinPolicy::None),
            copies: 1,
            ..Request::default()
        };
        let request = LiveComparisonRequest {
            comparison,
            request: measuring,
            machine: Machine::Host,
            seed: self.program.line.seed,
            label: Some(self.label()),
        };
        let mut places = lab.places.clone();
        if self.program.line.recipe.outside_sandbox {
            places.sandboxing = Sandboxing::wanted(false);
        }
        let Lab { machines, clock, stop, observer, .. } = lab;
        compare(&request, &mut Lab { places: &places, machines: *machines, clock: *clock, stop, observer: *observer })
    }

    fn label(&self) -> String {
        let [base, head] = self.ends.map(|commit| short_name(&commit.id));
        format!("ci {base}..{head} {}", self.program.name)
    }
}

/// The run of a conclusion; `None` if it was stopped.
fn run(measured: Measured) -> Option<RunId> {
    match measured {
        Measured::Concluded(conclusion) => Some(conclusion.run()),
        Measured::Stopped { .. } => None,
    }
}

/// Directories of both builds, the old one first; fewer if one failed.
fn builds(record: &RunRecord) -> Vec<String> {
    let Some(search) = record.settings.bisect() else { return Vec::new() };
    let of_commit = |commit: &CommitInfo| {
        let is_it = |subject: &&Subject| subject.commit.as_ref().is_some_and(|own| own.id == commit.id);
        record.subjects.iter().find(is_it)?.setup.directory.clone()
    };
    search.line.commits.iter().filter_map(of_commit).collect()
}
