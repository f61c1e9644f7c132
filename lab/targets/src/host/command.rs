//! Runs one command of the user's under a keeper, in a directory: git, or a build. All its lines go to a sink as they arrive.

use crate::execution::LineSink;
use crate::keep::{Grace, Kept, Output, Program};
use crate::{Ending, StopFlag, search_path};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest line that a sink gets; a longer one is cut one byte past this limit.
pub const LONGEST_LINE_BYTES: usize = 65_536;

/// Number of bytes at the end of standard error that are kept.
const STDERR_KEPT_BYTES: usize = 16_384;

/// What a shell runs, with redirections after it. The command is its arguments, so no word of it is interpreted; its name is the file of standard input.
const SHELL: &str = "exec \"$@\"";

/// A command.
#[derive(Debug, Clone, Copy)]
pub struct HostCommand<'a> {
    /// The program, found in `PATH` if its name has no slash, and its arguments.
    pub argv: &'a [OsString],
    /// The directory in which it runs.
    pub directory: &'a Path,
    /// Environment variables in addition to ours.
    pub environment: &'a [(String, String)],
    /// If it has not ended after this time, it is killed.
    pub limit: Duration,
    /// Where the lines of its standard error go.
    pub errors: Errors,
    /// The file that is its standard input; nothing if `None`.
    pub input: Option<&'a Path>,
}

impl HostCommand<'_> {
    /// The program that is started, and its arguments: the command itself, or a shell that redirects and then becomes the command.
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

/// Where the lines of a command's standard error go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// To the sink, in the order of those of its standard output.
    Among,
    /// Nowhere; the last ones are in the ending.
    Apart,
}

/// What runs commands: the keeper, and where each has its scratch directory.
#[derive(Debug, Clone)]
pub struct CommandRunner {
    keeper: PathBuf,
    scratch: PathBuf,
}

impl CommandRunner {
    /// `keeper`: a program that runs [`crate::keeper::run`] if [`crate::keeper::ARGUMENT`] is its first argument; `scratch`: a directory in which each
    /// command gets its own. Fails if there is no current directory and a path is relative.
    pub fn new(keeper: &Path, scratch: &Path) -> io::Result<Self> {
        Ok(CommandRunner { keeper: std::path::absolute(keeper)?, scratch: std::path::absolute(scratch)? })
    }

    /// Runs a command to its end. When this returns, all its processes have ended.
    pub fn run(&self, command: &HostCommand<'_>, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        let Some((program, arguments)) = command.argv.split_first() else {
            return Ending::NotStarted { text: "the command is empty".to_owned() };
        };
        let (file, arguments) = command.started(program, arguments);
        // The keeper searches PATH too, but a program that is not there is named here.
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
        });
        match kept {
            Ok(kept) => kept.follow(command.limit, &mut |line, _| sink(line), stop).into(),
            Err(text) => Ending::NotStarted { text },
        }
    }
}
