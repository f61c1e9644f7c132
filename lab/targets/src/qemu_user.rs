//! Programs in QEMU's user mode: any program for this host's kind of system, run by an emulator of its CPU with a plugin.

use crate::executable::{Architecture, Executable};
use crate::execution::LineSink;
use crate::keep::{Kept, Output, Program};
use crate::{Ending, Plugin, StopFlag, TargetError, plugin, program_output, search_path};
use faultline_model::protocol::LONGEST_LINE_BYTES;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Number of bytes at the end of standard error that are kept.
const STDERR_KEPT_BYTES: usize = 4096;

/// A program with the emulator that can run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserProgram {
    emulator: PathBuf,
    program: PathBuf,
}

/// One execution of a program under the emulator.
#[derive(Debug)]
pub struct UserExecution<'a> {
    /// A program that runs [`crate::keeper::run`] if [`crate::keeper::ARGUMENT`] is its first argument.
    pub keeper: &'a Path,
    /// Directory in which it gets its own scratch directory.
    pub scratch: &'a Path,
    /// A plugin for the emulator.
    pub plugin: Option<&'a Plugin>,
    /// The program's arguments.
    pub arguments: &'a [OsString],
    /// If it has not ended after this time, it is asked to end, and then killed.
    pub limit: Duration,
}

impl UserProgram {
    /// The program and its emulator. Fails if there is no such program, if it cannot be run, or if no emulator supports
    /// plugins. A name without a slash is looked up in `PATH`.
    pub fn find(program: &Path) -> Result<Self, TargetError> {
        let program = file(program)?;
        let bytes = std::fs::read(&program).map_err(|error| refused(&program, &format!("cannot be read: {error}")))?;
        let executable =
            Executable::read(&bytes).map_err(|problem| refused(&program, &format!("can't be run: {problem}")))?;
        let emulator = match executable.architecture {
            Architecture::X86_64 => emulator("qemu-x86_64")?,
            Architecture::I386 => emulator("qemu-i386").map_err(|error| TargetError {
                problem: format!("{} is a 32-bit program, and {}", program.display(), error.problem),
                ..error
            })?,
            Architecture::Other(number) => {
                let reason = format!("is for another architecture (ELF machine {number}), not for x86");
                return Err(refused(&program, &reason));
            }
        };
        Ok(UserProgram { emulator, program })
    }

    /// The program's file.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs the program and captures its output: lines of its standard output go to `sink`, the end of standard error is kept.
    /// When this returns, all its processes have ended.
    pub fn execute(&self, execution: &UserExecution<'_>, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        let output = Output::Taken { longest_line: LONGEST_LINE_BYTES, stderr_bytes: STDERR_KEPT_BYTES };
        self.run(execution, output, sink, stop)
    }

    /// The same, with its output going to our own standard output and standard error.
    pub fn pass_through(&self, execution: &UserExecution<'_>, stop: &StopFlag) -> Ending {
        self.run(execution, Output::Inherited, &mut |_| std::ops::ControlFlow::Continue(()), stop)
    }

    fn run(&self, execution: &UserExecution<'_>, output: Output, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        let program = Program {
            keeper: execution.keeper,
            scratch: execution.scratch,
            file: &self.emulator,
            arguments: &|_| self.arguments(execution),
            output,
            // The signal is passed to the program, which may end in order.
            waiting_is_free: false,
            grace: plugin::grace(0),
            ours: execution.plugin.and_then(|plugin| plugin.directory.as_deref()),
            environment: &[],
            system_settings: &[],
        };
        let kept = match Kept::start(&program) {
            Ok(kept) => kept,
            Err(text) => return Ending::NotStarted { text },
        };
        kept.follow(execution.limit, &mut |line, _| sink(line), stop).into()
    }

    fn arguments(&self, execution: &UserExecution<'_>) -> Vec<OsString> {
        let plugin = execution.plugin.map(|plugin| [OsString::from("-plugin"), plugin.option()]);
        let mut arguments: Vec<_> = plugin.into_iter().flatten().collect();
        arguments.push(self.program.clone().into_os_string());
        arguments.extend(execution.arguments.iter().cloned());
        arguments
    }
}

fn refused(program: &Path, reason: &str) -> TargetError {
    TargetError {
        problem: format!("{} {reason}", program.display()),
        hint: "name a program in ELF for x86-64, as a compiler writes it".to_owned(),
    }
}

/// The program's file, as a shell would find it.
fn file(program: &Path) -> Result<PathBuf, TargetError> {
    let named = program.to_str().filter(|name| !name.contains('/'));
    let file = match named {
        Some(name) => search_path::find(name).ok_or_else(|| refused(program, "is not in PATH"))?,
        None => program.to_owned(),
    };
    let metadata = file.metadata().map_err(|error| refused(program, &format!("cannot be run: {error}")))?;
    if !metadata.is_file() {
        return Err(refused(program, "is not a file"));
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        return Err(refused(program, "is not executable"));
    }
    Ok(file)
}

fn emulator(name: &str) -> Result<PathBuf, TargetError> {
    let program = search_path::find(name).ok_or_else(|| TargetError {
        problem: format!("there is no {name} here"),
        hint: "install QEMU's user mode, for example with `apt-get install qemu-user`".to_owned(),
    })?;
    let unusable = |problem: String| TargetError {
        problem: format!("{} {problem}", program.display()),
        hint: "install version 7.2 or newer with plugins: Debian 12's qemu-user has them, Debian 13's does not"
            .to_owned(),
    };
    let help =
        program_output::read(program.as_os_str(), &["-h"]).map_err(|problem| unusable(format!("-h: {problem}")))?;
    if plugin::are_known_to(&help) { Ok(program) } else { Err(unusable("was built without plugins".to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};

    fn refusal(name: &str, bytes: &[u8], mode: u32) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        UserProgram::find(&path).unwrap_err().problem
    }

    #[test]
    fn what_can_not_be_run_is_refused_with_the_reason() {
        assert!(refusal("script", b"#!/bin/sh\n", 0o755).ends_with("can't be run: it is a script, not a program"));
        assert!(refusal("text", b"hello", 0o755).ends_with("can't be run: it is not a program in ELF"));
        assert!(refusal("text", b"hello", 0o644).ends_with("is not executable"));
        let mut arm = vec![0; 64];
        arm[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xb7\0");
        assert!(refusal("arm", &arm, 0o755).contains("another architecture (ELF machine 183)"));
        let missing = UserProgram::find(Path::new("/nowhere/at/all")).unwrap_err().problem;
        assert!(missing.contains("cannot be run: No such file"), "{missing}");
        assert!(UserProgram::find(Path::new("/")).unwrap_err().problem.contains("is not a file"));
        let unknown = UserProgram::find(Path::new("no-such-program-anywhere")).unwrap_err().problem;
        assert!(unknown.contains("is not in PATH"), "{unknown}");
    }
}
