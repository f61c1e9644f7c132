//! This host as a target: finds the workloads' programs, executes them under a keeper, and reads
//! the machine's facts. Can build the programs with another compiler.

pub mod build;
pub mod command;
mod facts;
pub mod ping_pong;
mod topology;

pub(crate) use topology::pinning_order;

use crate::execution::LineSink;
use crate::keep::{Grace, Kept, Output, Program};
use crate::network::Attachment;
use crate::sandbox::Sandbox;
use crate::{Ending, Execution, StopFlag, Target, TargetError, lack, search_path};
use faultline_record::describe::{self, WorkloadInfo};
use faultline_record::facts::Facts;
use faultline_record::protocol::LONGEST_LINE_BYTES;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

/// Paths on this host.
#[derive(Debug, Clone)]
pub struct HostPaths {
    /// Directory of the workloads' programs.
    pub workloads: PathBuf,
    /// Directory in which each execution gets its own scratch directory.
    pub scratch: PathBuf,
    /// A program that runs [`crate::keeper::run`] if its first argument is
    /// [`crate::keeper::ARGUMENT`].
    pub keeper: PathBuf,
    /// Sandbox of the programs that workloads run; none if `None`.
    pub sandbox: Option<Sandbox>,
}

/// This host.
#[derive(Debug)]
pub struct Host {
    paths: HostPaths,
    cpus: Vec<u32>,
}

impl Host {
    /// This host in its present state. Later changes of its CPUs are not noticed.
    pub fn new(paths: HostPaths) -> Self {
        Host { paths, cpus: topology::usable_cpus() }
    }
}

impl Target for Host {
    fn facts(&self) -> Facts {
        facts::read(&self.paths, &self.cpus)
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        describe_all(&self.paths.workloads)
    }

    fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    fn writes_here(&self) -> bool {
        true
    }

    fn execute(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        execute_workload(&self.paths, execution, sink, stop)
    }
}

/// Number of bytes at the end of standard error that are kept.
const STDERR_KEPT_BYTES: usize = 4096;

/// See [`crate::Target::execute`].
fn execute_workload(paths: &HostPaths, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
    if let Err(text) = execution.check() {
        return Ending::NotStarted { text };
    }
    let arguments = |scratch: &Path| {
        let mut arguments = vec![OsString::from("--scratch"), scratch.as_os_str().to_owned()];
        arguments.extend(execution.arguments.iter().map(OsString::from));
        arguments
    };
    let sandbox =
        paths.sandbox.as_ref().map(|sandbox| sandbox.around(&paths.workloads, execution.directory.as_deref()));
    let program = Program {
        keeper: &paths.keeper,
        scratch: &paths.scratch,
        file: &paths.workloads.join(&execution.workload),
        arguments: &arguments,
        output: Output { longest_line: LONGEST_LINE_BYTES, stderr_bytes: STDERR_KEPT_BYTES },
        directory: execution.directory.as_deref(),
        waiting_is_free: false,
        grace: Grace::NONE,
        ours: None,
        environment: &execution.environment,
        system_settings: &execution.system_settings,
        namespace: match &execution.attachment {
            Attachment::Already => None,
            Attachment::Wires(_) => return Ending::NotStarted { text: "wires join guests, not this host".to_owned() },
            Attachment::Namespace(file) => Some(file),
        },
        sandbox: sandbox.as_ref(),
    };
    let kept = match Kept::start(&program) {
        Ok(kept) => kept,
        Err(text) => return Ending::LabFailed { text },
    };
    match kept.follow(execution.limit, &mut |line, _| sink(line), stop).or_said().into() {
        Ending::NotStarted { .. } if !program.file.is_file() => {
            Ending::LabFailed { text: format!("there is no workload {} any more", program.file.display()) }
        }
        ending => ending,
    }
}

/// Every program in the directory that describes itself, by name. A program with a dot in its name
/// need not: it belongs to a workload (such as the small program that `self_exec` executes). Fails
/// for any other program that does not describe itself, and if the directory cannot be read.
fn describe_all(directory: &Path) -> Result<Vec<WorkloadInfo>, TargetError> {
    let programs = list(directory)?;
    if programs.is_empty() {
        return Err(no_workloads(directory, "it holds none"));
    }
    programs.iter().map(|program| describe(program)).collect()
}

/// Paths of the workloads' programs, by name. Fails if the directory cannot be read.
fn list(directory: &Path) -> Result<Vec<PathBuf>, TargetError> {
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
        hint: "`make build` rebuilds the workloads".to_owned(),
    };
    let output = search_path::read(program.as_os_str(), &["--describe"], search_path::USUAL_LIMIT).map_err(unusable)?;
    let info = describe::parse(&output).map_err(|error| unusable(error.to_string()))?;
    if program.file_name().is_none_or(|name| name != info.name.as_str()) {
        return Err(unusable(format!("it calls itself '{}'", info.name)));
    }
    Ok(info)
}

/// Number of machines of `bytes_each` that can run at the same time, each on one CPU: at most the
/// usable CPUs (affinity and quotas respected), and as many as fit into the available memory. At
/// least one. If the system does not report its memory, the CPUs alone decide.
pub fn machines_at_once(bytes_each: u64) -> NonZeroUsize {
    let cpus = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    at_once(cpus, lack::available_bytes(), bytes_each)
}

fn at_once(cpus: NonZeroUsize, bytes: Option<u64>, bytes_each: u64) -> NonZeroUsize {
    let by_memory = bytes.map_or(usize::MAX, |bytes| (bytes / bytes_each.max(1)) as usize);
    NonZeroUsize::new(by_memory).map_or(NonZeroUsize::MIN, |by_memory| by_memory.min(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_and_memory_both_limit() {
        let four = NonZeroUsize::new(4).unwrap();
        let of = |bytes| at_once(four, bytes, 1000).get();
        assert_eq!((of(None), of(Some(9999)), of(Some(3999)), of(Some(999)), of(Some(0))), (4, 4, 3, 1, 1));
        assert_eq!(at_once(NonZeroUsize::MIN, Some(u64::MAX), 1), NonZeroUsize::MIN);
    }
}
