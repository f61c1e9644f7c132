//! Notifications of confirmed changes, after commands that may have confirmed one.

use super::out_of_range;
use crate::failure::{self, Failure};
use faultline_experiment::Lab;
use faultline_history::declared::Declared;
use faultline_history::notify::notify as tell;
use faultline_history::over::Over;
use faultline_stats::history::StepSettings;

/// Notifies whom the file declares of the confirmed changes of a series of which nobody was notified yet. A notification that fails is reported, and changes no
/// exit status: the next command tries it again.
pub(super) fn notify(declared: &Declared, over: &Over<'_>, steps: &StepSettings, lab: &Lab<'_>) -> Result<(), Failure> {
    let Some(whom) = &declared.notify else { return Ok(()) };
    let Some(series) = over.series(steps, lab.places)?.map_err(out_of_range)? else { return Ok(()) };
    for failed in tell(&series, whom, lab)? {
        failure::warn(&format!("nobody was notified of a confirmed change of {}: {}", series.subject, failed.problem));
        failure::warn(&"hint: the next `faultline history` command that measures or marks tries again");
    }
    Ok(())
}
