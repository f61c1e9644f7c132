//! Saves, once a history was measured, what lies between the commits of its steps: their files, and how the programs that were built differ. Pages show it: a server has
//! neither the repository nor the builds.

use super::history::build;
use super::linked;
use crate::commits::Commits;
use crate::over::Over;
use faultline_experiment::stored::{self, StoredHistory};
use faultline_experiment::{Error, Lab};
use faultline_model::commit::CommitLine;
use faultline_model::explained::{CommitChanges, LinkedChanges, StepExplained};
use faultline_model::history::{HistorySeries, HistoryStep};
use faultline_model::record::RunId;
use faultline_stats::history::StepSettings;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Saves what is not saved yet, each step with the run that measured its first commit. A step whose builds are gone is left as it is. Fails on a stop, or if the
/// database cannot be read or written.
pub fn save(over: &Over<'_>, commits: &dyn Commits, lab: &Lab<'_>) -> Result<(), Error> {
    let Ok(Some(series)) = over.series(&StepSettings::default(), lab.places)? else { return Ok(()) };
    let runs = over.stored(lab.places)?;
    let mut known: BTreeMap<RunId, Vec<StepExplained>> = BTreeMap::new();
    for step in &series.steps.steps {
        let Some((run, line, [before, after])) = place(&series, step, &runs) else { continue };
        let of_run = match known.entry(run) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(stored::explained(run, lab.places)?),
        };
        if of_run.iter().any(|one| [one.before, one.after] == [before, after]) {
            continue;
        }
        let [old, new] = [step.after, step.by].map(|position| build(&series.points[position as usize], &runs));
        let linked = linked(old, new);
        if linked == LinkedChanges::Gone {
            continue;
        }
        of_run.push(StepExplained {
            before,
            after,
            commits: vec![changes(line, before, after, commits, lab)?],
            linked,
        });
        stored::save_explained(run, of_run, lab.places)?;
    }
    Ok(())
}

/// The run that measured the first commit of a step, its line, and the places of both sides there.
fn place<'a>(
    series: &HistorySeries,
    step: &HistoryStep,
    runs: &'a [StoredHistory],
) -> Option<(RunId, &'a CommitLine, [u32; 2])> {
    let run = series.points.get(step.by as usize)?.run?;
    let line = &runs.iter().find(|one| one.head.id == run)?.head.settings.history()?.line;
    let position = |position| line.position(&series.commit(position)?.id);
    Some((run, line, [position(step.after)?, position(step.by)?]))
}

/// What differs between the commits at two places. The line may have only some of the commits between, so it is the difference as a whole, and no commit's own.
fn changes(
    line: &CommitLine,
    before: u32,
    after: u32,
    commits: &dyn Commits,
    lab: &Lab<'_>,
) -> Result<CommitChanges, Error> {
    let (from, to) = (&line.commits[before as usize], &line.commits[after as usize]);
    let files = match commits.files(from, to, lab) {
        Err(error) if error == Error::stopped() => return Err(error),
        files => files.ok(),
    };
    Ok(CommitChanges { commit: to.id.clone(), files })
}
