//! Runs a user's command under a keeper in a directory, for example git or a build, and passes its
//! lines to a sink as they arrive.

use crate::execution::LineSink;
use crate::keep::{Grace, Kept, Output, Program};
use crate::sandbox::{self, Sandbox};
use crate::{Ending, StopFlag, search_path};
use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum length of a line for a sink. A longer line is cut one byte past this limit.
pub const LONGEST_LINE_BYTES: usize = 65_536;

/// Number of bytes at the end of standard error that are kept.
const STDERR_KEPT_BYTES: usize = 16_384;

/// Time limit of the probe of a sandbox.
const PROBE_LIMIT: Duration = Duration::from_secs(60);

/// A shell script that redirects and then becomes the command. The command is in the arguments, so
/// the shell interprets no word of it; `$0` is the file of standard input.
const SHELL: &str = "exec \"$@\"";

/// A command.
#[derive(Debug, Clone, Copy)]
pub struct HostCommand<'a> {
    /// The program and its arguments. A name without a slash is looked up in `PATH`.
    pub argv: &'a [OsString],
    /// Working directory.
    pub directory: &'a Path,
    /// Environment variables in addition to ours.
    pub environment: &'a [(String, String)],
    /// Time limit. The command is killed when it is reached.
    pub limit: Duration,
    /// Destination of standard error.
    pub errors: Errors,
    /// File for standard input; none if `None`.
    pub input: Option<&'a Path>,
    /// The sandbox, for untrusted commands; none if `None`.
    pub sandbox: Option<&'a Sandbox>,
}

impl HostCommand<'_> {
    /// The program to start and its arguments: the command itself, or a shell that redirects and
    /// then becomes the command.
    fn started(&self, program: &OsString, arguments: &[OsString]) -> (PathBuf, Vec<OsString>) {
        let (input, errors) = (self.input.map(|_| " <\"$0\""), (self.errors == Errors::Among).then_some(" 2>&1"));
        if input.or(errors).is_none() {
            return (PathBuf::from(program), arguments.to_vec());
        }
        let script = [Some(SHELL), input, errors].into_iter().flatten().collect::<String>();
        let name = self.input.map_or_else(|| OsString::from("sh"), |file| file.as_os_str().to_owned());
        let words = [OsString::from("-c"), OsString::from(script), name];
        (PathBuf::from("/bin/sh"), words.into_iter().chain(self.argv.iter().cloned()).collect())
    }
}

/// Destination of a command's standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// To the sink, interleaved with standard output.
    Among,
    /// Discarded; the last lines are in the ending.
    Apart,
}

/// Runner of commands: the keeper and the scratch directory.
#[derive(Debug, Clone)]
pub struct CommandRunner {
    keeper: PathBuf,
    scratch: PathBuf,
}

impl CommandRunner {
    /// `keeper`: a program that runs [`crate::keeper::run`] if its first argument is
    /// [`crate::keeper::ARGUMENT`]. `scratch`: a directory in which each command gets its own.
    /// Fails if a path is relative and the working directory does not exist.
    pub fn new(keeper: &Path, scratch: &Path) -> io::Result<Self> {
        Ok(CommandRunner { keeper: std::path::absolute(keeper)?, scratch: std::path::absolute(scratch)? })
    }

    /// Runs a program that does nothing in a sandbox. The reason in words if this system or this
    /// user cannot have one; `None` if it can. Fails, in words, if the attempt fails for another
    /// reason.
    pub fn probe(&self, sandbox: &Sandbox, stop: &StopFlag) -> Result<Option<String>, String> {
        let command = HostCommand {
            argv: &["true".into()],
            directory: Path::new("/"),
            environment: &[],
            limit: PROBE_LIMIT,
            errors: Errors::Apart,
            input: None,
            sandbox: Some(sandbox),
        };
        match self.run(&command, &mut |_| ControlFlow::Continue(()), stop) {
            Ending::Exited { status: 0, .. } => Ok(None),
            Ending::LabFailed { text } | Ending::NotStarted { text } => match text.strip_prefix(sandbox::NOT_GIVEN) {
                Some(why) => Ok(Some(why.to_owned())),
                None => Err(text),
            },
            other => Err(format!("`true` ends with {other:?}")),
        }
    }

    /// Runs a command until it ends. All its processes have ended on return.
    pub fn run(&self, command: &HostCommand<'_>, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        let Some((program, arguments)) = command.argv.split_first() else {
            return Ending::NotStarted { text: "the command is empty".to_owned() };
        };
        let (file, arguments) = command.started(program, arguments);
        // The keeper searches `PATH` too, but a missing program is reported here.
        if let Some(name) = program.to_str().filter(|name| !name.contains('/'))
            && search_path::find(name).is_none()
        {
            return Ending::NotStarted { text: format!("there is no program '{name}' in PATH") };
        }
        let kept = Kept::start(&Program {
            keeper: &self.keeper,
            scratch: &self.scratch,
            file: &file,
            arguments: &|_| arguments.clone(),
            directory: Some(command.directory),
            output: Output { longest_line: LONGEST_LINE_BYTES, stderr_bytes: STDERR_KEPT_BYTES },
            waiting_is_free: false,
            grace: Grace::NONE,
            ours: None,
            environment: command.environment,
            system_settings: &[],
            namespace: None,
            sandbox: command.sandbox,
        });
        match kept {
            Ok(kept) => kept.follow(command.limit, &mut |line, _| sink(line), stop).or_said().into(),
            Err(text) => Ending::LabFailed { text },
        }
    }
}
