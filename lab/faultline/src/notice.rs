//! The text of notices, for users, during an experiment.

use faultline_experiment::Notice;

/// One line.
pub(crate) fn words(notice: &Notice) -> String {
    match notice {
        Notice::SettingPutBack { setting } => {
            format!("a comparison that was killed had left the system changed: {setting}")
        }
        Notice::BuildingWorkloads { compiler } => format!("building the workloads with {compiler}"),
        Notice::FinishedAlready { run } => format!("run {run} is finished already"),
        Notice::NoSymbols { program } => {
            format!("hint: {} has no symbols, so addresses stand for names; `-g` gives it some", program.display())
        }
        Notice::NoDebugInformation { vmlinux } => format!(
            "hint: {} has no debugging information, so there are no source lines and members; build the kernel with CONFIG_DEBUG_INFO",
            vmlinux.display()
        ),
    }
}
