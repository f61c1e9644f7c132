//! Follows one program under a keeper: hands on its lines as they come, and ends it at its limit, on a stop, or when the
//! reader has had enough. One that has something to write down is asked to end before it is killed.

use super::Deadline;
use super::keeper::{self, Account, Mark, Told};
use crate::{StopFlag, system_settings};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;
use wait_timeout::ChildExt;

/// How often a stop is looked for. Short enough for a hand on Ctrl-C, long enough not to disturb what is measured.
const STOP_POLL: Duration = Duration::from_millis(100);

/// Polls without a line after which the output of a keeper that is gone counts as ended.
const SILENT_POLLS: u32 = 10;

/// Lines that may wait to be taken; a workload that prints faster waits in its turn.
const WAITING_LINES: usize = 256;

/// How long the keeper may take to clear up: more than it allows itself for killing.
const KEEPER_LIMIT: Duration = Duration::from_secs(10);

/// A program to be kept.
pub(crate) struct Program<'a> {
    /// A program that, called with [`keeper::ARGUMENT`] first, runs [`keeper::run`].
    pub(crate) keeper: &'a Path,
    /// Directory in which it gets a scratch directory of its own.
    pub(crate) scratch: &'a Path,
    /// The program's file.
    pub(crate) file: &'a Path,
    /// Its arguments, given its scratch directory.
    pub(crate) arguments: &'a dyn Fn(&Path) -> Vec<OsString>,
    /// What becomes of its output.
    pub(crate) output: Output,
    /// How long it may take to end once it is asked to.
    pub(crate) grace: Grace,
    /// A directory of ours that the keeper is to remove if we are killed.
    pub(crate) ours: Option<&'a Path>,
    /// Variables of its environment, beside ours.
    pub(crate) environment: &'a [(String, String)],
    /// Settings of the system while it runs, by the paths of their files.
    pub(crate) system_settings: &'a [(String, String)],
}

impl Program<'_> {
    /// The keeper's words between the directories and the program.
    fn words(&self) -> Vec<&str> {
        let environment = self.environment.iter().map(|variable| (keeper::ENVIRONMENT, variable));
        let settings = self.system_settings.iter().map(|setting| (keeper::SETTING, setting));
        let both = environment.chain(settings);
        both.flat_map(|(kind, (name, value))| [kind, name, value]).chain([keeper::PROGRAM]).collect()
    }
}

/// What becomes of a program's standard output and standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Lines go to the sink, of longer ones the beginning; of standard error the end is kept.
    Taken {
        /// Longest line in bytes. One that is longer is cut one byte past it, so that it is seen to be.
        longest_line: usize,
        /// How much of the end of standard error is kept.
        stderr_bytes: usize,
    },
    /// Both go where ours go.
    Inherited,
}

/// How long a program may take to end after SIGTERM, before it is killed; where it is zero, it is killed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grace {
    /// At its time limit.
    pub(crate) at_limit: Duration,
    /// On a stop, for which somebody waits.
    pub(crate) on_stop: Duration,
}

impl Grace {
    /// For what has nothing to write down.
    pub(crate) const NONE: Grace = Grace { at_limit: Duration::ZERO, on_stop: Duration::ZERO };
}

/// How a kept program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// With an exit status.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// Somebody killed its keeper, and with it the program.
    KeeperKilled,
    /// It never began, in words why.
    NotStarted(String),
    /// Killed at its time limit.
    TimedOut,
    /// Killed because the sink had enough.
    Refused,
    /// Killed because a stop was asked for.
    Stopped,
}

/// A kept program's end, and its last words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) end: End,
    /// The end of its standard error; empty where that was not taken.
    pub(crate) stderr: String,
    /// Settings of the system that could not be put back, in words.
    pub(crate) left: Vec<String>,
}

/// Takes lines without their ends; may set another deadline; `Break` has the program killed.
pub(crate) type KeptSink<'a> = dyn FnMut(&[u8], &mut Deadline) -> ControlFlow<()> + 'a;

/// A program under way, with its keeper.
pub(crate) struct Kept {
    keeper: Child,
    /// Our end; closing it has the keeper kill everything.
    socket: UnixStream,
    lines: Receiver<Vec<u8>>,
    stderr: Receiver<String>,
    mark: Mark,
    scratch: PathBuf,
    grace: Grace,
    /// What the keeper has told so far.
    heard: Vec<u8>,
}

/// Why following a program came to an end.
enum Followed {
    OutputEnded,
    Refused,
    Stopped,
    TimedOut,
}

/// What came of listening to the keeper.
enum Heard {
    More,
    Silence,
    End,
}

impl Kept {
    /// Starts the program. The error is in words.
    pub(crate) fn start(program: &Program<'_>) -> Result<Self, String> {
        let mark = Mark::new();
        let scratch = program.scratch.join(mark.name());
        let (socket, theirs) = UnixStream::pair().map_err(|error| format!("no socket pair: {error}"))?;
        let mut command = Command::new(program.keeper);
        command
            .arg(keeper::ARGUMENT)
            .args([scratch.as_os_str(), program.ours.unwrap_or(Path::new("")).as_os_str()])
            .args(program.words())
            .arg(program.file)
            .args((program.arguments)(&scratch))
            .env(keeper::MARK_VARIABLE, mark.name())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // A group of its own: Ctrl-C in the terminal reaches us alone, and we end the program in order.
            .process_group(0);
        if program.output != Output::Inherited {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let mut keeper = command.spawn().map_err(|error| format!("no keeper: {error}"))?;
        let (sender, lines) = sync_channel(WAITING_LINES);
        let (end, last_words) = sync_channel(1);
        if let Output::Taken { longest_line, stderr_bytes } = program.output {
            let (stdout, stderr) = (keeper.stdout.take(), keeper.stderr.take());
            let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
                return Err("no pipes to the keeper".to_owned());
            };
            thread::spawn(move || read_lines(stdout, longest_line, &sender));
            thread::spawn(move || end.send(read_end(stderr, stderr_bytes)));
        }
        Ok(Kept { keeper, socket, lines, stderr: last_words, mark, scratch, grace: program.grace, heard: Vec::new() })
    }

    /// Follows the program to its end. When this returns nothing of it runs any more.
    pub(crate) fn follow(mut self, limit: Duration, sink: &mut KeptSink<'_>, stop: &StopFlag) -> Ended {
        let mut deadline = Deadline::after(limit);
        let end = match self.take_lines(&mut deadline, sink, stop) {
            Followed::OutputEnded => self.await_end(deadline, stop),
            Followed::Refused => self.kill(End::Refused),
            Followed::Stopped => self.stop(),
            Followed::TimedOut => self.time_out(),
        };
        // Not for ever: a process that the keeper could not kill may hold it open.
        let stderr = self.stderr.recv_timeout(KEEPER_LIMIT).unwrap_or_default();
        Ended { end, stderr, left: self.settle() }
    }

    fn take_lines(&mut self, deadline: &mut Deadline, sink: &mut KeptSink<'_>, stop: &StopFlag) -> Followed {
        let mut silent_polls = 0;
        loop {
            if stop.is_set() {
                return Followed::Stopped;
            }
            let left = deadline.left();
            if left.is_zero() {
                return Followed::TimedOut;
            }
            match self.lines.recv_timeout(left.min(STOP_POLL)) {
                Ok(line) if sink(&line, deadline).is_break() => return Followed::Refused,
                Ok(_) => {}
                // A keeper that is gone while the output stays open was killed; it ends only after all others have. What they
                // printed may still be on its way, when we were stopped.
                Err(RecvTimeoutError::Timeout) if matches!(self.keeper.try_wait(), Ok(Some(_))) => {
                    silent_polls += 1;
                    if silent_polls > SILENT_POLLS {
                        return Followed::OutputEnded;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Followed::OutputEnded,
            }
        }
    }

    /// The output is closed, or the keeper gone; what remains is to hear how the program ended.
    fn await_end(&mut self, mut deadline: Deadline, stop: &StopFlag) -> End {
        loop {
            if stop.is_set() {
                return self.stop();
            }
            let left = deadline.left();
            if left.is_zero() {
                return self.time_out();
            }
            match self.hear(left.min(STOP_POLL)) {
                Heard::More | Heard::Silence => {}
                Heard::End => {
                    self.reap();
                    return self.end();
                }
            }
        }
    }

    /// Takes what the keeper has said, waiting for it for at most `wait`, which is never zero.
    fn hear(&mut self, wait: Duration) -> Heard {
        let mut chunk = [0; 256];
        match self.socket.set_read_timeout(Some(wait)).and_then(|()| self.socket.read(&mut chunk)) {
            Ok(0) => Heard::End,
            Ok(count) => {
                self.heard.extend_from_slice(&chunk[..count]);
                Heard::More
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) =>
            {
                Heard::Silence
            }
            Err(_) => Heard::End,
        }
    }

    fn account(&self) -> Account {
        Account::read(&String::from_utf8_lossy(&self.heard))
    }

    fn end(&self) -> End {
        match self.account().told {
            Some(Told::Status(status)) => End::Exited(status),
            Some(Told::Signal(signal)) => End::Signalled(signal),
            Some(Told::NotStarted(text)) => End::NotStarted(text),
            // It was killed itself.
            None => {
                self.clear_up();
                End::KeeperKilled
            }
        }
    }

    /// The keeper is gone. One that was killed has left the settings as they were in the execution: puts them back in its place. Returns
    /// those that could not be put back, in words.
    fn settle(&mut self) -> Vec<String> {
        while matches!(self.hear(STOP_POLL), Heard::More) {}
        let account = self.account();
        match account.told {
            Some(_) => account.left,
            None => system_settings::put_back_all(&account.before),
        }
    }

    fn stop(&mut self) -> End {
        self.ask_to_end(self.grace.on_stop);
        self.kill(End::Stopped)
    }

    fn time_out(&mut self) -> End {
        self.ask_to_end(self.grace.at_limit);
        self.kill(End::TimedOut)
    }

    /// Asks the program to end, and waits until the keeper is gone, and the program with it, or the grace is over. What it prints
    /// meanwhile is taken, so that no full pipe holds it up, and passed over.
    fn ask_to_end(&mut self, grace: Duration) {
        if grace.is_zero() || self.socket.write_all(keeper::ASK_TO_END).is_err() {
            return;
        }
        let mut grace = Deadline::after(grace);
        loop {
            let left = grace.left();
            if left.is_zero() {
                return;
            }
            match self.lines.recv_timeout(left.min(STOP_POLL)) {
                Err(RecvTimeoutError::Disconnected) => {
                    // Its output is closed; now it ends, or never.
                    let _ = self.keeper.wait_timeout(left);
                    return;
                }
                _ if matches!(self.keeper.try_wait(), Ok(None)) => {}
                _ => return,
            }
        }
    }

    fn kill(&mut self, end: End) -> End {
        // Fails only when the keeper is gone already, and then there is nothing left to tell it.
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
        self.reap();
        end
    }

    /// Waits for the keeper, which ends once nothing of the program is left.
    fn reap(&mut self) {
        if let Ok(Some(_)) = self.keeper.wait_timeout(KEEPER_LIMIT) {
            return;
        }
        // It hangs, then.
        self.clear_up();
        let _ = self.keeper.wait();
    }

    /// Does the keeper's work when it was killed, or hangs: kills it and all that it was there for, removes the scratch
    /// directory.
    fn clear_up(&self) {
        // Fails when there is none left, which is what we want.
        let _ = kill_process_group(Pid::from_child(&self.keeper), Signal::KILL);
        self.mark.kill_processes();
        // Gone already if the keeper got so far.
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

/// Sends each line without its end; a line that is too long is cut one byte past the limit, so that it is seen to be.
fn read_lines(stdout: ChildStdout, longest_line: usize, sender: &SyncSender<Vec<u8>>) {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let longest = longest_line as u64 + 1;
        match reader.by_ref().take(longest).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if sender.send(line).is_err() {
            return;
        }
    }
}

/// The end of what comes, as text.
fn read_end(mut stderr: ChildStderr, kept_bytes: usize) -> String {
    let mut end = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk) {
        end.extend_from_slice(&chunk[..count]);
        let excess = end.len().saturating_sub(kept_bytes);
        end.drain(..excess);
    }
    String::from_utf8_lossy(&end).into_owned()
}
