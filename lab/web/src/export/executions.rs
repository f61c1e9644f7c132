//! The executions of a run as files: the list, and a page of each with its first raw samples and its console.

use super::directory::Directory;
use faultline_experiment::stored_executions::StoredExecutions;
use faultline_experiment::{Error, Places};
use faultline_model::execution::{Phase, SampleRange};
use faultline_model::record::RunId;
use faultline_model::time::UnixMillis;
use faultline_report::site::{Further, SamplesPage, Site, execution_page, executions_page};

/// Samples in a page.
const MOST_SAMPLES: u32 = 500;

/// Writes up to `most` executions of a run, in the order in which they began. Returns how many there are. Fails if they cannot be written or read.
pub(super) fn write(
    run: RunId,
    most: u32,
    made: UnixMillis,
    places: &Places,
    directory: &mut Directory<'_>,
) -> Result<usize, Error> {
    // One more, which says whether there are further ones.
    let stored = StoredExecutions::open(places)?;
    let mut executions = stored.lines(run, None, None, most.saturating_add(1))?;
    let has_further = executions.len() > most as usize;
    executions.truncate(most as usize);
    let further = has_further.then_some(Further::InDatabase);
    let list = executions_page(run, &executions, further, &Site::of_files(2, made));
    directory.write(&format!("runs/{run}/executions.html"), &list)?;
    let below = Site::of_files(3, made);
    for line in &executions {
        let range = SampleRange { phase: Phase::Window, from: 0, most: MOST_SAMPLES };
        let samples = stored.samples(run, line.id, &range)?;
        let console = stored.console(run, line)?;
        let page = SamplesPage {
            run,
            execution: line.id.0,
            phase: range.phase,
            outcome: line.outcome.as_ref(),
            console: console.as_deref(),
            samples: &samples,
            further: None,
        };
        directory.write(&format!("runs/{run}/executions/{}.html", line.id.0), &execution_page(&page, &below))?;
    }
    Ok(executions.len())
}
