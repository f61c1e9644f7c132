//! The growing run: builds commits and measures their builds, until the record says that nothing is
//! left to do. Searches and histories differ only in what `stats` asks for next.

use crate::commits::{Build, Commits, Relink, Relinked, Revert, Reverted};
use crate::tools::of_saved_run;
use crate::{explain, source};
use faultline_experiment::{Error, Gone, GrowingRun, Lab, Measured, Notice, ResumeRequest, run_to_resume};
use faultline_record::commit::{CommitInfo, short_name};
use faultline_record::machine::Machine;
use faultline_record::plan::{LineMeasure, MeasuredLine, Settings};
use faultline_record::recipe::{BuildTools, ChangedTool};
use faultline_record::record::{RunHead, RunId, RunRecord, RunState};
use faultline_record::relink::RelinkResult;
use faultline_record::setup::Setup;
use faultline_record::subject::{BuildResult, Commit, RevertResult, Subject};
use faultline_stats::commit_runs::{LineNext, RelinkNext, RevertNext};
use faultline_stats::{bisect, ci, history};
use std::path::Path;

/// Begins a run that builds commits, and measures it to its end. Fails if a machine is not
/// available, or if the database cannot be written. A commit that does not build or run is a
/// result.
pub(crate) fn begin(
    settings: &Settings,
    label: Option<&str>,
    commits: &dyn Commits,
    lab: &mut Lab<'_>,
) -> Result<Measured, Error> {
    follow(GrowingRun::begin(settings, label, lab)?, commits, lab)
}

/// Resumes any run and concludes it: runs that build commits here, all others in `experiment`.
/// Fails like [`continue_run`] and [`faultline_experiment::resume`].
pub fn resume(request: &ResumeRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let head = run_to_resume(request, lab.places)?;
    match head.settings.measured_line() {
        Some(line) if head.state == RunState::Open => {
            let commits = source::commits_of_run(line, lab)?;
            continue_run(head.id, request.limit_ms, commits.as_ref(), lab)
        }
        _ => faultline_experiment::resume(&ResumeRequest { run: Some(head.id), ..*request }, lab),
    }
}

/// Continues a run that was stopped or killed. `limit_ms`: time limit of each execution instead of
/// the run's own. Fails if the commits are gone, or if a commit is to be built with other tools.
pub fn continue_run(
    run: RunId,
    limit_ms: Option<u64>,
    commits: &dyn Commits,
    lab: &mut Lab<'_>,
) -> Result<Measured, Error> {
    follow(GrowingRun::resume(run, limit_ms, lab)?, commits, lab)
}

/// Does the next piece of work until none is left.
fn follow(run: GrowingRun, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let line = run.record().settings.measured_line().cloned();
    let line = line.ok_or_else(|| builds_no_commits(run.record()))?;
    let mut work = Work { run, line: &line, commits };
    loop {
        let gone = work.run.measure(lab)?;
        if gone == Gone::Stopped || lab.stop.is_set() {
            return Ok(Measured::Stopped { run: work.run.record().id });
        }
        work.run.choose_quantity()?;
        let done = match next(work.run.record()) {
            Some(next) if next != LineNext::Nothing && gone != Gone::BudgetUsed => work.step(next, lab),
            _ => match work.explain(lab) {
                Ok(()) => return work.run.finish(),
                failed => failed,
            },
        };
        match done {
            // Everything until now is saved.
            Err(error) if error == Error::stopped() => {
                return Ok(Measured::Stopped { run: work.run.record().id });
            }
            done => done.map_err(of_saved_run)?,
        }
    }
}

fn next(record: &RunRecord) -> Option<LineNext> {
    let next = ci::next_of_record(record).or_else(|| bisect::next_of_record(record));
    next.or_else(|| history::next_of_record(record))
}

fn builds_no_commits(head: &RunHead) -> Error {
    Error::usage(format!("run {} builds no commits", head.id), "`faultline list` shows the runs")
}

/// A run, the commits that it measures, and their source.
struct Work<'a> {
    run: GrowingRun,
    line: &'a MeasuredLine,
    commits: &'a dyn Commits,
}

impl Work<'_> {
    fn step(&mut self, next: LineNext, lab: &mut Lab<'_>) -> Result<(), Error> {
        match next {
            LineNext::Build { position, execute } => self.build(position, execute, lab),
            LineNext::BuildBase { commit } => self.build_base(&commit, lab),
            LineNext::Revert(next) => self.revert(&next, lab),
            LineNext::Relink { layouts } => layouts.iter().try_for_each(|layout| self.relink(layout, lab)),
            LineNext::Execute { blocks } => self.run.plan(&blocks),
            LineNext::Nothing => Ok(()),
        }
    }

    /// Builds a commit of the line. `execute`: plan one execution, which shows whether it runs.
    fn build(&mut self, position: u32, execute: bool, lab: &mut Lab<'_>) -> Result<(), Error> {
        let commit = self.commit(position)?;
        let tools = self.tools(lab)?;
        lab.observer.notice(&building(self.run.record(), position, commit));
        note_turn(self.commits, lab);
        let build = self.shared(self.commits.build(commit, &self.line.recipe, &tools, lab)?);
        let subject = self.subject(commit, build, lab)?;
        if execute { self.run.add_subject(&subject) } else { self.run.add_unplanned(&subject) }
    }

    /// Links a build again in a random layout. A layout that cannot be linked is a result.
    fn relink(&mut self, next: &RelinkNext, lab: &mut Lab<'_>) -> Result<(), Error> {
        let commit = self.commit(next.position)?;
        let tools = self.tools(lab)?;
        let RelinkNext { layout, most, .. } = *next;
        lab.observer.notice(&Notice::LinkingCommit { commit: commit.id.clone(), layout, most });
        note_turn(self.commits, lab);
        let relink = Relink {
            commit,
            layout: self.line.layout_kind.with_seed(layout),
            own: Path::new(&next.own),
            artefact: &self.line.artefact,
        };
        let linked = self.commits.relink(&relink, &self.line.recipe, &tools, lab)?;
        let (directory, machine, result) = self.placed(linked, lab)?;
        self.run.add_unplanned(&self.described(commit, (directory, machine), BuildResult::Relinked { layout, result }))
    }

    /// Builds the commit on top of which others are undone.
    fn build_base(&mut self, commit: &CommitInfo, lab: &mut Lab<'_>) -> Result<(), Error> {
        let tools = self.tools(lab)?;
        lab.observer.notice(&Notice::BuildingSide { side: short_name(&commit.id).to_owned() });
        note_turn(self.commits, lab);
        let build = self.commits.build(commit, &self.line.recipe, &tools, lab)?;
        let subject = self.subject(commit, build, lab)?;
        self.run.add_unplanned(&subject)
    }

    /// Undoes a commit and builds the result. The subject has no commit, because none is made.
    fn revert(&mut self, next: &RevertNext, lab: &mut Lab<'_>) -> Result<(), Error> {
        let RevertNext { commit, before, on } = next;
        let tools = self.tools(lab)?;
        let name = format!("{} without {}", short_name(&on.id), short_name(&commit.id));
        lab.observer.notice(&Notice::BuildingSide { side: name.clone() });
        note_turn(self.commits, lab);
        let unbuilt = |result| (self.described(on, (None, Machine::Host), BuildResult::Built), result);
        let (subject, result) = match self.commits.revert(&Revert { commit, before, on }, lab)? {
            Reverted::Conflict(files) => unbuilt(RevertResult::Conflict { files }),
            Reverted::Empty => unbuilt(RevertResult::Empty),
            Reverted::Tree(tree) => {
                let build = self.commits.build(&tree, &self.line.recipe, &tools, lab)?;
                let subject = self.subject(on, build, lab)?;
                let result = match &subject.build {
                    Some(BuildResult::Failed { how, output }) => {
                        RevertResult::Failed { how: how.clone(), output: output.clone() }
                    }
                    _ => RevertResult::Built,
                };
                (subject, result)
            }
        };
        let build = Some(BuildResult::Reverted { of: commit.id.clone(), result });
        self.run.add_unplanned(&Subject { name, commit: None, build, ..subject })
    }

    /// Saves explanations of the steps of a search.
    fn explain(&mut self, lab: &Lab<'_>) -> Result<(), Error> {
        let Some(search) = self.run.record().settings.bisect().cloned() else { return Ok(()) };
        let explained = explain::explained(self.run.record(), &search, self.commits, lab)?;
        self.run.explain(&explained)
    }

    /// A commit of the line. Fails if it is not there.
    fn commit(&self, position: u32) -> Result<&'_ CommitInfo, Error> {
        let commit = self.line.line.commits.get(position as usize);
        commit.ok_or_else(|| builds_no_commits(self.run.record()))
    }

    /// The tools that build. Fails if they differ from those of the run.
    fn tools(&self, lab: &mut Lab<'_>) -> Result<BuildTools, Error> {
        let tools = self.commits.tools(&self.line.recipe, lab)?;
        check_tools(&self.line.tools, &tools, self.run.record().id)?;
        Ok(tools)
    }

    /// The first build with the same files: commits with equal builds are measured together. A
    /// history by time measures each of them, because it finds steps among independent values.
    fn shared(&self, build: Build) -> Build {
        let is_history = self.run.record().head.settings.history().is_some();
        match self.line.measure {
            LineMeasure::Timed { .. } if is_history => build,
            _ => build.moved(|directory| self.commits.first_like(directory)),
        }
    }

    /// The subject of a build. A build without the measured program has failed. Fails if no machine
    /// can hold its files.
    fn subject(&self, commit: &CommitInfo, build: Build, lab: &mut Lab<'_>) -> Result<Subject, Error> {
        let failed = |how, output| (None, Machine::Host, BuildResult::Failed { how, output });
        let (artefact, is_here) = (&self.line.artefact, self.line.on.is_none());
        let (directory, machine, result) = match build {
            Build::Failed { how, output } => failed(how, output),
            Build::Built { directory, .. } => {
                match self.commits.lacking(artefact, &self.line.recipe, &directory, is_here) {
                    Some(how) => failed(how, String::new()),
                    None => match self.run.machine(artefact, &directory, lab)? {
                        Ok(machine) => (Some(directory.to_string_lossy().into_owned()), machine, BuildResult::Built),
                        Err(how) => failed(how, String::new()),
                    },
                }
            }
        };
        Ok(self.described(commit, (directory, machine), result))
    }

    /// The directory and machine of a layout, with its result. Fails if no machine can hold its
    /// files.
    fn placed(&self, linked: Relinked, lab: &mut Lab<'_>) -> Result<(Option<String>, Machine, RelinkResult), Error> {
        let Some(directory) = linked.directory else { return Ok((None, Machine::Host, linked.result)) };
        Ok(match self.run.machine(&self.line.artefact, &directory, lab)? {
            Ok(machine) => (Some(directory.to_string_lossy().into_owned()), machine, linked.result),
            Err(how) => (None, Machine::Host, RelinkResult::Failed { how, output: String::new() }),
        })
    }

    /// The subject of a commit that was built in a directory, or failed to build.
    fn described(
        &self,
        commit: &CommitInfo,
        (directory, machine): (Option<String>, Machine),
        result: BuildResult,
    ) -> Subject {
        let setup = Setup { command: self.line.artefact.command().to_vec(), directory, ..Setup::default() };
        let repository = Some(self.line.repository.clone());
        Subject {
            commit: Some(Commit { id: commit.id.clone(), repository }),
            build: Some(result),
            ..Subject::on(commit.id.clone(), machine, setup)
        }
    }
}

/// Reports that the next build waits for another command.
pub(crate) fn note_turn(commits: &dyn Commits, lab: &mut Lab<'_>) {
    if let Some(directory) = commits.building_elsewhere() {
        lab.observer.notice(&Notice::AwaitingBuild { directory: directory.to_owned() });
    }
}

/// The notice that a commit is built: its place on the line of a search, or its number in a
/// history.
fn building(record: &RunRecord, position: u32, commit: &CommitInfo) -> Notice {
    let is_relinked = |subject: &&Subject| matches!(subject.build, Some(BuildResult::Relinked { .. }));
    let built = record.subjects.iter().filter(|subject| !is_relinked(subject)).count();
    let commit = commit.id.clone();
    match (record.settings.history(), record.settings.measured_line()) {
        (None, Some(line)) => Notice::BuildingCommit {
            commit,
            number: position as usize + 1,
            of: line.line.commits.len(),
            tried: Some(built),
        },
        (history, _) => {
            let of = history.map_or(0, |history| history.wanted.len());
            Notice::BuildingCommit { commit, number: built + 1, of, tried: None }
        }
    }
}

/// Fails if the tools differ. `before`: the tools with which the run began.
fn check_tools(before: &BuildTools, now: &BuildTools, run: RunId) -> Result<(), Error> {
    if before.digest == now.digest {
        return Ok(());
    }
    let changed = before.changed(now);
    let what = if changed.is_empty() {
        "the build command's file, or a variable with options for tools, has".to_owned()
    } else {
        let tools: Vec<String> = changed.iter().map(versions).collect();
        format!("{} {}", tools.join(", "), if tools.len() == 1 { "has" } else { "have" })
    };
    Err(Error::failed(
        format!("{what} changed since run {run} began, so builds before and after are not comparable"),
        format!("restore the tools and resume, or start a new run; run {run} is kept (`faultline show {run}`)"),
    ))
}

/// A tool with its versions.
fn versions(tool: &ChangedTool<'_>) -> String {
    let version = |version: Option<&str>| version.map_or_else(|| "none".to_owned(), |text| format!("'{text}'"));
    format!("`{}` (was {}, is {})", tool.asked, version(tool.before), version(tool.now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(digest: &str, compiler: &str) -> BuildTools {
        let versions = [("cc --version".to_owned(), compiler.to_owned())].into();
        BuildTools { digest: digest.to_owned(), versions }
    }

    #[test]
    fn a_changed_tool_is_named_with_its_versions() {
        let before = tools("1", "gcc 12.2");
        assert!(check_tools(&before, &before, RunId(3)).is_ok());
        let refused = check_tools(&before, &tools("2", "gcc 13.1"), RunId(3)).unwrap_err();
        assert_eq!(
            refused.problem,
            "`cc --version` (was 'gcc 12.2', is 'gcc 13.1') has changed since run 3 began, so builds before and after are not comparable"
        );
        let refused = check_tools(&before, &tools("2", "gcc 12.2"), RunId(3)).unwrap_err();
        assert!(refused.problem.starts_with("the build command's file, or a variable"), "{refused:?}");
    }
}
