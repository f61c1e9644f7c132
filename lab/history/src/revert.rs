//! `--revert`: undoes the commits that a search named, each on top of the newest one, builds the results, and plans what is measured of them.

use crate::build::Build;
use crate::commits::Commits;
use crate::subject::{described, subject};
use crate::tools_again;
use crate::undone::{Revert, Reverted};
use faultline_experiment::{Error, GrowingRun, Lab, Notice};
use faultline_model::commit::short_name;
use faultline_model::machine::Machine;
use faultline_model::plan::LineSearch;
use faultline_model::recipe::BuildTools;
use faultline_model::reverted::RevertResult;
use faultline_model::subject::{BuildResult, Subject};
use faultline_stats::drill::RevertNext;

/// Does what is asked for next. Fails on a stop, if the tools are not those with which the search began, or if the database cannot be written.
pub(crate) fn go_on(
    run: &mut GrowingRun,
    search: &LineSearch,
    next: RevertNext,
    commits: &dyn Commits,
    lab: &mut Lab<'_>,
) -> Result<(), Error> {
    let Some(on) = &search.revert else { return Ok(()) };
    match next {
        RevertNext::Base => {
            let tools = tools(run, search, commits, lab)?;
            lab.observer.notice(&Notice::BuildingSide { side: short_name(&on.id).to_owned() });
            let build = commits.build(on, &search.recipe, &tools, lab)?;
            let base = subject(on, search, build, run, lab)?;
            run.add_unplanned(&base)
        }
        RevertNext::Revert { position } => {
            let [before, commit] = [position - 1, position].map(|position| &search.line.commits[position as usize]);
            undo(run, search, &Revert { commit, before, on }, commits, lab)
        }
        RevertNext::Measure { subjects, blocks, first_seed: None } => run.plan(&vec![subjects; blocks as usize]),
        RevertNext::Measure { subjects, blocks, first_seed: Some(first) } => {
            let seeds: Vec<_> = (first..first + blocks).map(|seed| (seed, subjects.clone())).collect();
            run.count(&seeds)
        }
        RevertNext::Nothing => Ok(()),
    }
}

/// The tools that build. Fails if they are not those with which the search began.
fn tools(run: &GrowingRun, search: &LineSearch, commits: &dyn Commits, lab: &Lab<'_>) -> Result<BuildTools, Error> {
    let tools = commits.tools(&search.recipe, lab)?;
    tools_again::check(search.tools.as_ref(), &tools, run.record().id)?;
    Ok(tools)
}

/// Undoes a commit, builds the result, and saves what came of it.
fn undo(
    run: &mut GrowingRun,
    search: &LineSearch,
    asked: &Revert<'_>,
    commits: &dyn Commits,
    lab: &mut Lab<'_>,
) -> Result<(), Error> {
    let tools = tools(run, search, commits, lab)?;
    let name = format!("{} without {}", short_name(&asked.on.id), short_name(&asked.commit.id));
    lab.observer.notice(&Notice::BuildingSide { side: name.clone() });
    let of = asked.commit.id.clone();
    let saved = match commits.revert(asked, lab)? {
        Reverted::Conflict(files) => unbuilt(asked, search, RevertResult::Conflict { files }),
        Reverted::Empty => unbuilt(asked, search, RevertResult::Empty),
        Reverted::Tree(tree) => {
            let build = commits.build(&tree, &search.recipe, &tools, lab)?;
            built(asked, search, build, run, lab)?
        }
    };
    let (subject, result) = saved;
    let build = Some(BuildResult::Reverted { of, result });
    // It is built from no commit of the repository.
    run.add_unplanned(&Subject { name, commit: None, build, ..subject })
}

fn unbuilt(asked: &Revert<'_>, search: &LineSearch, result: RevertResult) -> (Subject, RevertResult) {
    (described(asked.on, search, (None, Machine::Host), BuildResult::Built), result)
}

fn built(
    asked: &Revert<'_>,
    search: &LineSearch,
    build: Build,
    run: &GrowingRun,
    lab: &mut Lab<'_>,
) -> Result<(Subject, RevertResult), Error> {
    let subject = subject(asked.on, search, build, run, lab)?;
    let result = match &subject.build {
        Some(BuildResult::Failed { how, output }) => RevertResult::Failed { how: how.clone(), output: output.clone() },
        _ => RevertResult::Built,
    };
    Ok((subject, result))
}
