//! The agent and the workloads for a machine other than this host. Programs for guests are linked
//! statically; images and hosts with another system have its shared libraries.

use super::System;
use crate::TargetError;
use crate::executable::{self, Executable, Linking};
use faultline_record::facts::Facts;
use sha2::{Digest, Sha256};
use std::ops::Range;
use std::path::Path;

const AGENT: &str = "agent";
const WORKLOADS: &str = "workloads";

/// A program for the machine.
#[derive(Debug, Clone)]
pub(crate) struct GuestProgram {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// The agent and the programs.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    /// Their operating system.
    pub(crate) system: System,
    pub(crate) agent: Vec<u8>,
    pub(crate) programs: Vec<GuestProgram>,
}

impl GuestProgram {
    /// True for a workload. A program with a dot in its name belongs to a workload.
    pub(crate) fn is_workload(&self) -> bool {
        !self.name.contains('.')
    }
}

impl Programs {
    /// Reads `agent` and all of `workloads/` in the directory with the guests' parts. Fails if they
    /// cannot be read, or cannot run in a guest.
    pub(crate) fn read(guest: &Path) -> Result<Self, TargetError> {
        Self::of(System::of_guests(), guest)
    }

    /// Reads the programs for a system. Fails if there are none, they cannot be read, or they are
    /// for another system.
    pub(crate) fn of(system: System, guest: &Path) -> Result<Self, TargetError> {
        system.check_directory(guest)?;
        let directory = system.directory(guest);
        let read = |path: &Path| read(path, &system);
        let missing = |path: &Path, reason: &str| missing(path, &system, reason);
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
        Ok(Programs { system, agent, programs })
    }

    /// Programs for guests, and for every other system that has readable ones. Fails as
    /// [`Programs::read`] does.
    pub(crate) fn of_all_systems(guest: &Path) -> Result<Vec<Self>, TargetError> {
        let of_guests = Self::read(guest)?;
        let others = System::with_directories(guest).into_iter().filter_map(|system| Self::of(system, guest).ok());
        Ok([of_guests].into_iter().chain(others).collect())
    }

    /// The agent alone, for a guest that runs a user's program. Fails if the agent cannot be read,
    /// or cannot run in a guest.
    pub(crate) fn agent_alone(directory: &Path) -> Result<Self, TargetError> {
        let system = System::of_guests();
        Ok(Programs { agent: read(&directory.join(AGENT), &system)?, system, programs: Vec::new() })
    }

    /// Address range of the agent's code. Fails if the agent's file is damaged.
    pub(crate) fn agent_code(&self) -> Result<Range<u64>, TargetError> {
        executable::code_range(&self.agent)
            .ok_or_else(|| missing(Path::new(AGENT), &self.system, "its ELF headers do not say where its code is"))
    }

    /// Adds the programs' hashes: two runs are comparable only if their workloads are the same
    /// programs.
    pub(crate) fn put_digests(&self, facts: &mut Facts) {
        for program in self.programs.iter().filter(|program| program.is_workload()) {
            let hex: String = Sha256::digest(&program.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            facts.text(&format!("workload.{}.sha256", program.name), hex);
        }
    }
}

/// Reads a program. Fails if it is for another system, or if a guest's program needs shared
/// libraries, which a guest does not have.
fn read(path: &Path, system: &System) -> Result<Vec<u8>, TargetError> {
    let bytes = std::fs::read(path).map_err(|error| missing(path, system, &error.to_string()))?;
    match Executable::read(&bytes).and_then(|program| check(program, system)) {
        Ok(()) => Ok(bytes),
        Err(problem) => Err(missing(path, system, &problem)),
    }
}

/// Fails, with a text, if a program cannot run on the system.
fn check(program: Executable, system: &System) -> Result<(), String> {
    match program {
        Executable { system: Some(other), .. } if other != system.name() => Err(format!("it is a program for {other}")),
        Executable { linking: Linking::Dynamic, .. } if *system == System::of_guests() => {
            Err("it needs shared libraries, which a guest does not have".to_owned())
        }
        _ => Ok(()),
    }
}

fn missing(path: &Path, system: &System, reason: &str) -> TargetError {
    let place = if *system == System::of_guests() { "a guest".to_owned() } else { system.to_string() };
    TargetError { problem: format!("cannot put {} into {place}: {reason}", path.display()), hint: system.hint() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executable::Architecture;

    #[test]
    fn shared_libraries_are_for_systems_that_have_them_and_a_program_is_for_its_own_system() {
        let program = |linking, system| Executable { architecture: Architecture::X86_64, linking, system };
        let freebsd = System::parse("FreeBSD amd64").unwrap();
        assert_eq!(check(program(Linking::Dynamic, Some("FreeBSD")), &freebsd), Ok(()));
        assert_eq!(check(program(Linking::Dynamic, None), &freebsd), Ok(()));
        assert_eq!(check(program(Linking::Static, None), &System::of_guests()), Ok(()));
        assert!(check(program(Linking::Dynamic, None), &System::of_guests()).unwrap_err().contains("shared libraries"));
        for system in [&freebsd, &System::of_guests()] {
            let refused = check(program(Linking::Dynamic, Some("NetBSD")), system);
            assert_eq!(refused, Err("it is a program for NetBSD".to_owned()));
        }
    }
}
