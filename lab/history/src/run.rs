//! `history run`: builds and measures the picked commits of a subject that have no result yet.

use crate::commits::Commits;
use crate::line_files::{name_files, named_before};
use crate::linked::{Linked, link};
use crate::now::Now;
use crate::over::{Asked, Over};
use crate::source;
use crate::subject::{shared, subject};
use crate::tools_again;
use faultline_experiment::{Error, Gone, GrowingRequest, GrowingRun, Lab, Measured, Notice, await_host};
use faultline_model::commit::CommitLine;
use faultline_model::history::HistoryNext;
use faultline_model::plan::{HistorySettings, RunKind, Settings};
use faultline_model::record::{RunHead, RunId, RunState};
use faultline_model::subject::SubjectIndex;
use faultline_stats::history::next_of_record;

/// What came of a request.
#[derive(Debug)]
pub enum Ran {
    /// A run that was stopped before went on. What is still missing after it takes another call.
    Continued(Measured),
    /// Commits were measured.
    Measured {
        /// What came of it.
        measured: Measured,
        /// Number of commits that were to be measured for the first time.
        new: u32,
    },
    /// Every picked commit has a result.
    Nothing {
        /// Number of picked commits.
        picked: usize,
    },
}

/// Measures what is missing of a subject; of one whose commits are picked adaptively, those that tell most now. If a run of it was stopped, that goes on instead.
/// Fails if the repository or the machine is not available, or if the database cannot be written. A commit that does not build or run is no failure.
pub fn run(over: &Over<'_>, ask: Asked, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Ran, Error> {
    let now = asked(over, commits, lab)?;
    let known = over.comparable(&now.settings, lab.places)?;
    if let Some(open) = known.iter().find(|run| run.head.state == RunState::Open && now.has_tools_of(run)) {
        let run = open.head.id;
        lab.observer.notice(&Notice::ContinuingHistory { run });
        return go_on(run, over.subject.limit_ms, commits, lab).map(Ran::Continued);
    }
    let walked = commits.walk(&over.subject.which, lab)?;
    let mut named = named_before(&known);
    let mut planned = over.plan(&walked, known, &now, ask);
    let new = planned.iter().filter(|one| one.is_wanted && one.is_measured.is_none()).count() as u32;
    let wanted: Vec<u32> = (0..).zip(&planned).filter(|(_, one)| one.is_wanted).map(|(position, _)| position).collect();
    if wanted.is_empty() {
        return Ok(Ran::Nothing { picked: planned.iter().filter(|one| one.is_picked).count() });
    }
    let Settings { kind: RunKind::History(mut history), cpus, repeats, limit_ms, .. } = now.settings else {
        return Err(no_history("the request"));
    };
    let files = |parent: &_, commit: &_| commits.files(parent, commit, lab);
    name_files(&mut planned, &walked, &mut named, &files)?;
    history.wanted = wanted;
    history.measured.line = CommitLine { commits: planned.into_iter().map(|one| one.commit).collect() };
    let request = GrowingRequest {
        kind: RunKind::History(history),
        repeats,
        tasks: cpus.first().copied().unwrap_or(1),
        limit_ms,
        seed: over.subject.seed.or(over.measure.usual_seed()),
        label: None,
    };
    follow(GrowingRun::begin(&request, lab)?, commits, lab).map(|measured| Ran::Measured { measured, new })
}

/// What is asked now. A host on which builds are installed may be down because of one of them: if a run was not finished, it is waited for, and switched off and on
/// once, as when the run is resumed.
fn asked(over: &Over<'_>, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Now, Error> {
    let asked = over.asked(commits, lab);
    let (Err(error), Some(on)) = (&asked, over.subject.on.as_ref().filter(|on| on.is_installed())) else {
        return asked;
    };
    let is_open = over.stored(lab.places)?.iter().any(|run| run.head.state == RunState::Open);
    if *error == Error::stopped() || !is_open {
        return asked;
    }
    await_host(on, lab)?;
    over.asked(commits, lab)
}

/// Continues a run that was stopped or killed. `limit_ms`: time limit of each execution instead of the run's own. Fails like [`run`], if the commits are
/// not there any more, or if another commit is to be built and the tools are others.
pub fn resume(head: &RunHead, limit_ms: Option<u64>, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let history = history_of(head)?;
    let commits = source::of_line(history, lab)?;
    go_on(head.id, limit_ms, commits.as_ref(), lab)
}

/// The same, with commits from anywhere.
pub fn go_on(run: RunId, limit_ms: Option<u64>, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    follow(GrowingRun::resume(run, limit_ms, lab)?, commits, lab)
}

fn history_of(head: &RunHead) -> Result<&HistorySettings, Error> {
    head.settings.history().ok_or_else(|| no_history(&format!("run {}", head.id)))
}

fn no_history(what: &str) -> Error {
    Error::usage(format!("{what} measures no history"), "`faultline list` shows the runs")
}

/// Does what is asked for next, until nothing is.
fn follow(mut run: GrowingRun, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let history = history_of(run.record())?.clone();
    loop {
        if run.measure(lab)? == Gone::Stopped || lab.stop.is_set() {
            return Ok(Measured::Stopped { run: run.record().id });
        }
        match next_of_record(run.record()) {
            None | Some(HistoryNext::Nothing) => return run.finish(),
            Some(HistoryNext::Measure { blocks }) => run.plan(&blocks)?,
            Some(HistoryNext::Count { seeds }) => run.count(&seeds)?,
            Some(HistoryNext::Build { position }) => match build(&mut run, &history, position, commits, lab) {
                // Everything until now is saved.
                Err(error) if error == Error::stopped() => return Ok(Measured::Stopped { run: run.record().id }),
                built => built?,
            },
            Some(HistoryNext::Relink { subject, layout }) => {
                match relink(&mut run, &history, (subject, layout), commits, lab) {
                    Err(error) if error == Error::stopped() => return Ok(Measured::Stopped { run: run.record().id }),
                    linked => linked?,
                }
            }
        }
    }
}

/// Links the build of a subject with a random layout, and saves what came of it. Fails if the tools are not those with which the run began.
fn relink(
    run: &mut GrowingRun,
    history: &HistorySettings,
    (subject, layout): (SubjectIndex, u32),
    commits: &dyn Commits,
    lab: &mut Lab<'_>,
) -> Result<(), Error> {
    let built = run.record().subjects[subject.at()].clone();
    let id = built.commit.map(|commit| commit.id).unwrap_or_default();
    let commit = history.line.position(&id).and_then(|position| history.line.commits.get(position as usize));
    let commit = commit.ok_or_else(|| no_history(&format!("subject {subject}")))?;
    let asked = Linked {
        commit,
        own: built.setup.directory.as_deref().unwrap_or_default(),
        layout: history.layout_kind.with_seed(layout),
        most: history.layouts,
    };
    link(&asked, history, run, commits, lab)
}

/// Builds a commit, and saves what came of it. Fails if the tools are not those with which the run began.
fn build(
    run: &mut GrowingRun,
    history: &HistorySettings,
    position: u32,
    commits: &dyn Commits,
    lab: &mut Lab<'_>,
) -> Result<(), Error> {
    let commit = &history.line.commits[position as usize];
    let tools = commits.tools(&history.recipe, lab)?;
    tools_again::check(history.tools.as_ref(), &tools, run.record().id)?;
    lab.observer.notice(&Notice::BuildingCommitOfHistory {
        commit: commit.id.clone(),
        number: run.record().subjects.len() + 1,
        of: history.wanted.len(),
    });
    let build = shared(commits.build(commit, &history.recipe, &tools, lab)?, history, commits);
    let subject = subject(commit, history, build, run, lab)?;
    run.add_unplanned(&subject)
}
