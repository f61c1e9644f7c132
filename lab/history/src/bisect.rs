//! `bisect`: which commits between two changed the time of a program, or what the lens counts of it? Builds and measures what `stats::drill` asks for, until it asks for nothing more.

use crate::commits::Commits;
use crate::explain;
use crate::linked::{Linked, link};
use crate::measure::MeasureRequest;
use crate::revert;
use crate::source;
use crate::subject::{shared, subject};
use crate::tools_again;
use crate::workshop::{Workshop, absolute};
use faultline_experiment::{Error, Gone, GrowingRequest, GrowingRun, Lab, Measured, Notice};
use faultline_model::artefact::{Artefact, Release};
use faultline_model::commit::{CommitInfo, CommitLine};
use faultline_model::drill::{self, DrillSettings, Next};
use faultline_model::line_host::LineHost;
use faultline_model::named_change::NamedChange;
use faultline_model::plan::{KnownCommit, LineSearch, MeasuredLine, RunKind, WhenInconclusive};
use faultline_model::recipe::Recipe;
use faultline_model::record::{RunHead, RunId};
use faultline_model::relink::{LayoutKind, RelinkResult};
use faultline_model::subject::{BuildResult, Subject, SubjectIndex};
use faultline_stats::drill::{RevertNext, next_of_record, next_revert};
use std::path::PathBuf;

/// The request for a search.
#[derive(Debug, Clone)]
pub struct BisectRequest {
    /// A directory of the repository.
    pub repository: PathBuf,
    /// The directory for checkouts and builds; one among the user's caches if `None`.
    pub work: Option<PathBuf>,
    /// Archives of releases instead of a repository; none if there is one.
    pub releases: Vec<Release>,
    /// The old commit, as git names it.
    pub old: String,
    /// The new one.
    pub new: String,
    /// How a commit is built.
    pub recipe: Recipe,
    /// What is measured of a build.
    pub artefact: Artefact,
    /// The host over SSH on which time is measured; `None` for this host.
    pub on: Option<LineHost>,
    /// How the line is searched.
    pub search: DrillSettings,
    /// How random layouts are drawn.
    pub layouts: LayoutKind,
    /// What is measured.
    pub measure: MeasureRequest,
    /// Time limit of each execution in milliseconds.
    pub limit_ms: Option<u64>,
    /// Seed of the order; a random one if `None`. Under the lens also that of all guests, and one that is always the same if `None`.
    pub seed: Option<u64>,
    /// A name for people.
    pub label: Option<String>,
    /// What an inconclusive search does to its gate; `None` if it has none.
    pub gate: Option<WhenInconclusive>,
    /// Whether each commit that made a step is undone on top of the new one.
    pub revert: bool,
}

/// Searches the commits between two. Fails if the repository, a commit or the machine is not available, or if the database cannot be written. A commit that does
/// not build or run is no failure.
pub fn bisect(request: &BisectRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let workshop = Workshop::open(&request.repository, request.work.as_deref(), lab)?;
    search(request, &workshop, lab)
}

/// The same, with commits from anywhere.
pub fn search(request: &BisectRequest, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    search_with(request, None, |line| line.commits.last().cloned(), |_| Vec::new(), commits, lab)
}

/// The same, with what earlier runs say of commits of the line. `of`: the change of a history that is to be confirmed. `newest`: the commit on top of which others are
/// undone, if that is asked for.
pub(crate) fn search_with(
    request: &BisectRequest,
    of: Option<NamedChange>,
    newest: impl FnOnce(&CommitLine) -> Option<CommitInfo>,
    known: impl FnOnce(&CommitLine) -> Vec<KnownCommit>,
    commits: &dyn Commits,
    lab: &mut Lab<'_>,
) -> Result<Measured, Error> {
    let line = commits.line(&request.old, &request.new, lab)?;
    let known = known(&line);
    let revert = if request.revert { newest(&line) } else { None };
    let measured = MeasuredLine {
        measure: request.measure.settings(lab)?,
        repository: absolute(&request.repository)?,
        work: request.work.as_deref().map(absolute).transpose()?,
        line,
        recipe: request.recipe.clone(),
        tools: Some(commits.tools(&request.recipe, lab)?),
        releases: request.releases.clone(),
        artefact: request.artefact.clone(),
        on: request.on.clone(),
    };
    let search = LineSearch {
        measured,
        search: request.search,
        layouts: request.layouts,
        gate: request.gate,
        revert,
        known,
        of,
    };
    let growing = GrowingRequest {
        kind: RunKind::Drill(Box::new(search)),
        repeats: request.search.most_blocks,
        tasks: request.measure.tasks(),
        limit_ms: request.limit_ms,
        seed: request.seed.or(request.measure.usual_seed()),
        label: request.label.clone(),
    };
    let run = GrowingRun::begin(&growing, lab)?;
    go_along(run, commits, lab)
}

/// Continues a search that was stopped or killed. `limit_ms`: time limit of each execution instead of the run's own. Fails like [`bisect`], if the commits
/// are not there any more, or if another commit is to be built and the tools are others.
pub fn resume(head: &RunHead, limit_ms: Option<u64>, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let search = search_of(head)?;
    let commits = source::of_line(search, lab)?;
    go_on(head.id, limit_ms, commits.as_ref(), lab)
}

/// The same, with commits from anywhere.
pub fn go_on(run: RunId, limit_ms: Option<u64>, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    go_along(GrowingRun::resume(run, limit_ms, lab)?, commits, lab)
}

fn go_along(run: GrowingRun, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let search = search_of(run.record())?.clone();
    follow(run, &search, commits, lab)
}

fn search_of(head: &RunHead) -> Result<&LineSearch, Error> {
    head.settings.drill().ok_or_else(|| {
        Error::usage(format!("run {} searches no line of commits", head.id), "`faultline list` shows the runs")
    })
}

/// Does what is asked for next, until nothing is.
fn follow(
    mut run: GrowingRun,
    search: &LineSearch,
    commits: &dyn Commits,
    lab: &mut Lab<'_>,
) -> Result<Measured, Error> {
    loop {
        if run.measure(lab)? == Gone::Stopped || lab.stop.is_set() {
            return Ok(Measured::Stopped { run: run.record().id });
        }
        match next_of_record(run.record()) {
            None | Some(Next::Nothing) => match next_revert(run.record()) {
                RevertNext::Nothing => return finish(run, search, commits, lab),
                next => match revert::go_on(&mut run, search, next, commits, lab) {
                    Err(error) if error == Error::stopped() => {
                        return Ok(Measured::Stopped { run: run.record().id });
                    }
                    done => done?,
                },
            },
            Some(Next::Try { position, .. }) => match try_commit(&mut run, search, position, commits, lab) {
                // Everything until now is saved.
                Err(error) if error == Error::stopped() => return Ok(Measured::Stopped { run: run.record().id }),
                tried => tried?,
            },
            Some(Next::Relink { builds }) => {
                for build in &builds {
                    match relink(&mut run, search, build, commits, lab) {
                        Err(error) if error == Error::stopped() => {
                            return Ok(Measured::Stopped { run: run.record().id });
                        }
                        linked => linked?,
                    }
                }
            }
            Some(Next::Measure { blocks }) => {
                let subjects = &run.record().subjects;
                let blocks: Vec<Vec<SubjectIndex>> = blocks
                    .iter()
                    .map(|builds| builds.iter().filter_map(|build| built(subjects, search, build)).collect())
                    .collect();
                run.plan(&blocks)?;
            }
            Some(Next::Count { seeds }) => {
                let subjects = &run.record().subjects;
                let seeds: Vec<(u32, Vec<SubjectIndex>)> = seeds
                    .iter()
                    .map(|(seed, builds)| {
                        (*seed, builds.iter().filter_map(|build| built(subjects, search, build)).collect())
                    })
                    .collect();
                run.count(&seeds)?;
            }
        }
    }
}

/// Explains the steps, and ends the run.
fn finish(
    mut run: GrowingRun,
    search: &LineSearch,
    commits: &dyn Commits,
    lab: &mut Lab<'_>,
) -> Result<Measured, Error> {
    match explain::explained(run.record(), search, commits, lab) {
        Err(error) if error == Error::stopped() => Ok(Measured::Stopped { run: run.record().id }),
        explained => {
            run.explain(&explained?)?;
            run.finish()
        }
    }
}

/// Builds a commit, and plans one execution of it, which shows whether it runs. Fails if the tools are not those with which the search began.
fn try_commit(
    run: &mut GrowingRun,
    search: &LineSearch,
    position: u32,
    commits: &dyn Commits,
    lab: &mut Lab<'_>,
) -> Result<(), Error> {
    let commit = &search.line.commits[position as usize];
    let tools = commits.tools(&search.recipe, lab)?;
    tools_again::check(search.tools.as_ref(), &tools, run.record().id)?;
    lab.observer.notice(&Notice::BuildingCommit {
        commit: commit.id.clone(),
        position,
        last: search.line.last(),
        tried: run.record().subjects.iter().filter(|subject| !is_relinked(subject)).count(),
    });
    let build = shared(commits.build(commit, &search.recipe, &tools, lab)?, search, commits);
    let subject = subject(commit, search, build, run, lab)?;
    run.add_subject(&subject)
}

/// Whether a subject is a random layout of a commit that was built before.
fn is_relinked(subject: &Subject) -> bool {
    matches!(subject.build, Some(BuildResult::Relinked { .. }))
}

/// Links the build of a commit with a random layout, and saves what came of it. Fails if the tools are not those with which the search began.
fn relink(
    run: &mut GrowingRun,
    search: &LineSearch,
    build: &drill::Build,
    commits: &dyn Commits,
    lab: &mut Lab<'_>,
) -> Result<(), Error> {
    let own = built(&run.record().subjects, search, &drill::Build { layout: None, ..*build });
    let own = own.and_then(|index| run.record().subjects[index.at()].setup.directory.as_deref());
    // Or an earlier run built it.
    let known = search.known.iter().find(|known| known.position == build.position).and_then(|known| known.build());
    let own = own.or(known).unwrap_or_default().to_owned();
    let asked = Linked {
        commit: &search.line.commits[build.position as usize],
        own: &own,
        layout: search.layouts.with_seed(build.layout.unwrap_or_default()),
        most: search.search.layouts,
    };
    link(&asked, search, run, commits, lab)
}

/// The subject of a build that is asked for.
fn built(subjects: &[Subject], search: &LineSearch, build: &drill::Build) -> Option<SubjectIndex> {
    let id = &commit_at(&search.line, build.position)?.id;
    let is_so = |result: &BuildResult| match (build.layout, result) {
        (None, BuildResult::Built) => true,
        (Some(asked), BuildResult::Relinked { layout, result: RelinkResult::Placed { .. } }) => asked == *layout,
        _ => false,
    };
    let is_it = |subject: &Subject| {
        subject.build.as_ref().is_some_and(is_so) && subject.commit.as_ref().is_some_and(|commit| commit.id == *id)
    };
    subjects.iter().position(is_it).map(|index| SubjectIndex(index as u32))
}

fn commit_at(line: &CommitLine, position: u32) -> Option<&CommitInfo> {
    line.commits.get(position as usize)
}
