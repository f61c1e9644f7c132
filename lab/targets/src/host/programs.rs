//! The workloads' programs: which exist, and how they describe themselves.

use crate::TargetError;
use crate::program_output;
use faultline_model::describe::{self, WorkloadInfo};
use std::path::{Path, PathBuf};

/// Every program in the directory that describes itself, by name. A program that does not is allowed if its name has a dot, because it is then not a workload
/// (such as the small program that `self_exec` executes). Fails for any other program that does not, and if the directory cannot be read.
pub(super) fn describe_all(directory: &Path) -> Result<Vec<WorkloadInfo>, TargetError> {
    let programs = list(directory)?;
    if programs.is_empty() {
        return Err(no_workloads(directory, "it holds none"));
    }
    programs.iter().map(|program| describe(program)).collect()
}

/// Paths of the workloads' programs, by name. Fails if the directory cannot be read.
pub(super) fn list(directory: &Path) -> Result<Vec<PathBuf>, TargetError> {
    let entries = std::fs::read_dir(directory).map_err(|error| no_workloads(directory, &error.to_string()))?;
    let mut programs: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file() && path.extension().is_none())
        .collect();
    programs.sort();
    Ok(programs)
}

fn no_workloads(directory: &Path, reason: &str) -> TargetError {
    TargetError {
        problem: format!("no workloads in {}: {reason}", directory.display()),
        hint: "`make build` builds them; `--workloads DIR` names their directory".to_owned(),
    }
}

fn describe(program: &Path) -> Result<WorkloadInfo, TargetError> {
    let unusable = |problem: String| TargetError {
        problem: format!("{} is not a workload: {problem}", program.display()),
        hint: "`make build` builds the workloads anew".to_owned(),
    };
    let output =
        program_output::read(program.as_os_str(), &["--describe"], program_output::USUAL_LIMIT).map_err(unusable)?;
    let info = describe::parse(&output).map_err(|error| unusable(error.to_string()))?;
    if program.file_name().is_none_or(|name| name != info.name.as_str()) {
        return Err(unusable(format!("it calls itself '{}'", info.name)));
    }
    Ok(info)
}
