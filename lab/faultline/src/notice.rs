//! The text of notices, for users, during an experiment.

use faultline_experiment::Notice;
use faultline_model::commit::short_name;

/// One line.
pub(crate) fn words(notice: &Notice) -> String {
    match notice {
        Notice::SettingPutBack { setting } => {
            format!("restored a setting that a killed comparison had left changed: {setting}")
        }
        Notice::InstallingOnHost { host, artefact } => {
            format!("installing {} on {host}, which reboots then", artefact.display())
        }
        Notice::BuildingWorkloads { compiler } => format!("building the workloads with {compiler}"),
        Notice::BuildingCommit { commit, position, last, tried } => format!(
            "building commit {} ({} of {} from the old end; {tried} tried so far)",
            short_name(commit),
            position + 1,
            last + 1
        ),
        Notice::LinkingCommit { commit, layout, most } => {
            format!("linking commit {} with layout {} of at most {most}", short_name(commit), layout + 1)
        }
        Notice::BuildingCommitOfHistory { commit, number, of } => {
            format!("building commit {} ({number} of {of})", short_name(commit))
        }
        Notice::ContinuingHistory { run } => format!("run {run} was not finished; it goes on first"),
        Notice::BuildingSide { side } => format!("building {side}"),
        Notice::FinishedAlready { run } => format!("run {run} is already finished"),
        Notice::NoSymbols { program } => {
            format!(
                "hint: {} has no symbols, so addresses are shown instead of names; build it with `-g`",
                program.display()
            )
        }
        Notice::NoDebugInformation { vmlinux } => format!(
            "hint: {} has no debugging information, so source lines and members are not shown; build the kernel with CONFIG_DEBUG_INFO",
            vmlinux.display()
        ),
    }
}
