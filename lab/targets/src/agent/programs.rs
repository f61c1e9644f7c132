//! The programs of a machine that is not this host: the agent and the workloads, linked statically.

use crate::TargetError;
use crate::executable::{self, Executable, Linking};
use faultline_model::facts::Facts;
use sha2::{Digest, Sha256};
use std::ops::Range;
use std::path::Path;

const AGENT: &str = "agent";
const WORKLOADS: &str = "workloads";

/// A program that goes to the machine.
#[derive(Debug, Clone)]
pub(crate) struct GuestProgram {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Agent and programs.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    pub(crate) agent: Vec<u8>,
    pub(crate) programs: Vec<GuestProgram>,
}

impl GuestProgram {
    /// Programs with a dot in their names belong to a workload and are not workloads themselves.
    pub(crate) fn is_workload(&self) -> bool {
        !self.name.contains('.')
    }
}

impl Programs {
    /// Reads `agent` and all of `workloads/` in `directory`. Fails if they cannot be read, or cannot run in a guest.
    pub(crate) fn read(directory: &Path) -> Result<Self, TargetError> {
        let agent = read(&directory.join(AGENT))?;
        let workloads = directory.join(WORKLOADS);
        let entries = std::fs::read_dir(&workloads).map_err(|error| missing(&workloads, &error.to_string()))?;
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        paths.sort();
        let mut programs = Vec::new();
        for path in paths {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            programs.push(GuestProgram { name: name.to_owned(), bytes: read(&path)? });
        }
        if !programs.iter().any(GuestProgram::is_workload) {
            return Err(missing(&workloads, "it holds no workload"));
        }
        Ok(Programs { agent, programs })
    }

    /// The agent alone, for a guest in which a user's program runs. Fails if it cannot be read, or cannot run in a guest.
    pub(crate) fn agent_alone(directory: &Path) -> Result<Self, TargetError> {
        Ok(Programs { agent: read(&directory.join(AGENT))?, programs: Vec::new() })
    }

    /// The addresses of the agent's code. Fails if it is damaged.
    pub(crate) fn agent_code(&self) -> Result<Range<u64>, TargetError> {
        executable::code_range(&self.agent)
            .ok_or_else(|| missing(Path::new(AGENT), "its ELF headers do not say where its code is"))
    }

    /// Two runs are comparable only if their workloads are the same programs.
    pub(crate) fn put_digests(&self, facts: &mut Facts) {
        for program in self.programs.iter().filter(|program| program.is_workload()) {
            let hex: String = Sha256::digest(&program.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            facts.text(&format!("workload.{}.sha256", program.name), hex);
        }
    }
}

/// Reads a program. Fails if it needs shared libraries, which a guest does not have.
fn read(path: &Path) -> Result<Vec<u8>, TargetError> {
    let bytes = std::fs::read(path).map_err(|error| missing(path, &error.to_string()))?;
    match Executable::read(&bytes) {
        Ok(Executable { linking: Linking::Static, .. }) => Ok(bytes),
        Ok(_) => Err(missing(path, "it needs shared libraries, which a guest does not have")),
        Err(problem) => Err(missing(path, &problem)),
    }
}

fn missing(path: &Path, reason: &str) -> TargetError {
    TargetError {
        problem: format!("cannot put {} into a guest: {reason}", path.display()),
        hint: "`make guest` builds what guests need".to_owned(),
    }
}
