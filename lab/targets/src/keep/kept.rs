//! Follows one program under a keeper: passes on its lines as they arrive, and ends it at its
//! limit, on a stop, or when the sink returns `Break`. A program with data to write is asked to end
//! before it is killed.

use super::Deadline;
use super::deadline::Withheld;
use super::keeper::{self, Account, Mark, SURVIVES, Told};
use crate::lack::Lack;
use crate::sandbox::{self, Sandbox};
use crate::{StopFlag, lack, system_settings};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;
use wait_timeout::ChildExt;

/// Interval between checks for a stop: short enough for a person who presses Ctrl-C, long enough
/// not to disturb the measurement.
const STOP_POLL: Duration = Duration::from_millis(100);

/// Number of polls without a line after which the output of a dead keeper counts as ended.
const SILENT_POLLS: u32 = 10;

/// Maximum number of lines in the queue. A workload that prints faster is blocked.
const WAITING_LINES: usize = 256;

/// Time limit for the keeper's clean-up, longer than its own limit for killing.
const KEEPER_LIMIT: Duration = Duration::from_secs(10);

/// A program to run under a keeper.
pub(crate) struct Program<'a> {
    /// A program that runs [`keeper::run`] if its first argument is [`keeper::ARGUMENT`].
    pub(crate) keeper: &'a Path,
    /// Directory in which it gets its own scratch directory.
    pub(crate) scratch: &'a Path,
    /// The program's file.
    pub(crate) file: &'a Path,
    /// Arguments, as a function of its scratch directory.
    pub(crate) arguments: &'a dyn Fn(&Path) -> Vec<OsString>,
    /// Working directory; ours if `None`.
    pub(crate) directory: Option<&'a Path>,
    /// Limits of its output.
    pub(crate) output: Output,
    /// The time limit does not run while the program waits for a CPU of a busy host.
    pub(crate) waiting_is_free: bool,
    /// Time to end after a request to end.
    pub(crate) grace: Grace,
    /// Our directory that the keeper removes if we are killed.
    pub(crate) ours: Option<&'a Path>,
    /// Environment variables in addition to ours.
    pub(crate) environment: &'a [(String, String)],
    /// System settings while it runs, by the paths of their files.
    pub(crate) system_settings: &'a [(String, String)],
    /// File of its network namespace; ours if `None`.
    pub(crate) namespace: Option<&'a Path>,
    /// Its sandbox; none if `None`.
    pub(crate) sandbox: Option<&'a Sandbox>,
}

impl Program<'_> {
    /// The keeper's arguments between the directories and the program.
    fn words(&self) -> Vec<&OsStr> {
        let settings = self.system_settings.iter();
        let namespace = self.namespace.into_iter().flat_map(|file| [OsStr::new(keeper::NAMESPACE), file.as_os_str()]);
        let words = settings.flat_map(|(name, value)| [keeper::SETTING, name, value]);
        let sandbox = self.sandbox.into_iter().flat_map(Sandbox::words);
        words.map(OsStr::new).chain(namespace).chain(sandbox).chain([OsStr::new(keeper::PROGRAM)]).collect()
    }
}

/// Limits of a program's standard output, whose lines go to the sink, and of its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Output {
    /// Maximum length of a line in bytes. A longer line is cut one byte past this limit, so that
    /// the receiver can recognise it.
    pub(crate) longest_line: usize,
    /// Number of bytes at the end of standard error that are kept.
    pub(crate) stderr_bytes: usize,
}

/// Time for a program to end after SIGTERM before it is killed. If zero, it is killed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grace {
    /// At its time limit.
    pub(crate) at_limit: Duration,
    /// On a stop, when a person waits.
    pub(crate) on_stop: Duration,
}

impl Grace {
    /// For programs that have no data to write.
    pub(crate) const NONE: Grace = Grace { at_limit: Duration::ZERO, on_stop: Duration::ZERO };
}

/// Ending of a kept program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// With an exit status.
    Exited(i32),
    /// By a signal that we did not send.
    Signalled(i32),
    /// The keeper was killed, and the program with it.
    KeeperKilled,
    /// The program never started; the reason.
    NotStarted(String),
    /// Killed at its time limit.
    TimedOut,
    /// Killed because the sink returned `Break`.
    Refused,
    /// Killed because a stop was requested.
    Stopped,
}

/// Ending of a kept program, with its last output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) end: End,
    /// End of standard error.
    pub(crate) stderr: String,
    /// System settings that could not be restored, as texts.
    pub(crate) left: Vec<String>,
    /// The lack of this host that may explain a failure.
    pub(crate) lack: Option<Lack>,
    /// The disks on which the program may have written have room now.
    pub(crate) has_room: bool,
}

impl Ended {
    /// Also takes a program's own message about a full disk as evidence. Not for a guest, whose
    /// messages are about its own disk.
    pub(crate) fn or_said(self) -> Self {
        match self.end {
            End::Exited(0) | End::TimedOut | End::Refused | End::Stopped => self,
            _ => {
                let said = || lack::said_in(&self.stderr).map(|text| Lack { text, is_over: self.has_room });
                Ended { lack: self.lack.clone().or_else(said), ..self }
            }
        }
    }
}

/// Receives lines without line ends. May set another deadline. `Break` kills the program.
pub(crate) type KeptSink<'a> = dyn FnMut(&[u8], &mut Deadline) -> ControlFlow<()> + 'a;

/// A running program with its keeper.
pub(crate) struct Kept {
    keeper: Child,
    /// Our end. Closing it makes the keeper kill everything.
    socket: UnixStream,
    lines: Receiver<Vec<u8>>,
    stderr: Receiver<String>,
    /// Bytes of standard error so far.
    stderr_bytes: Arc<AtomicU64>,
    mark: Mark,
    scratch: PathBuf,
    /// The program's working directory.
    directory: PathBuf,
    /// This host's state before the start.
    watch: lack::Watch,
    grace: Grace,
    /// Present if the limit does not run while the program waits for a CPU.
    withheld: Option<Withheld>,
    /// The keeper's reports so far.
    heard: Vec<u8>,
    /// The settings are those of a network namespace.
    is_in_namespace: bool,
}

/// Reason for the end of following a program.
enum Followed {
    OutputEnded,
    Refused,
    Stopped,
    TimedOut,
}

/// The result of listening to the keeper.
enum Heard {
    More,
    Silence,
    End,
}

impl Kept {
    /// Starts the program. Fails, with a text, if there is no scratch directory or the keeper
    /// cannot be started.
    pub(crate) fn start(program: &Program<'_>) -> Result<Self, String> {
        let mark = Mark::new();
        let scratch = program.scratch.join(mark.name());
        let (socket, theirs) = UnixStream::pair().map_err(|error| format!("cannot create a socket pair: {error}"))?;
        let mut command = Command::new(program.keeper);
        command
            .arg(keeper::ARGUMENT)
            .args([scratch.as_os_str(), program.ours.unwrap_or(Path::new("")).as_os_str()])
            .args(program.words())
            .arg(program.file)
            .args((program.arguments)(&scratch))
            .envs(program.environment.iter().map(|(name, value)| (keeper::of_program(name), value)))
            .env(keeper::MARK_VARIABLE, mark.name())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // A process group of its own: Ctrl-C in the terminal reaches only us, and we end the
            // program in order.
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(directory) = program.directory {
            command.current_dir(directory);
        }
        let watch = lack::Watch::begin();
        let mut keeper = command.spawn().map_err(|error| format!("no keeper: {error}"))?;
        let (sender, lines) = sync_channel(WAITING_LINES);
        let (end, last_words) = sync_channel(1);
        let said = Arc::new(AtomicU64::new(0));
        let Output { longest_line, stderr_bytes } = program.output;
        let (stdout, stderr) = (keeper.stdout.take(), keeper.stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            return Err("no pipes to the keeper".to_owned());
        };
        thread::spawn(move || {
            let pass_on = &mut |line| match sender.send(line) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
            read_lines(stdout, longest_line, pass_on);
        });
        let counted = said.clone();
        thread::spawn(move || end.send(read_end(stderr, stderr_bytes, &counted)));
        let withheld = program.waiting_is_free.then(|| Withheld::new(keeper.id()));
        let (stderr, grace, heard) = (last_words, program.grace, Vec::new());
        let is_in_namespace = program.namespace.is_some();
        Ok(Kept {
            keeper,
            socket,
            lines,
            stderr,
            stderr_bytes: said,
            mark,
            scratch,
            directory: program.directory.unwrap_or(Path::new(".")).to_owned(),
            watch,
            grace,
            withheld,
            heard,
            is_in_namespace,
        })
    }

    /// Follows the program until it ends. All its processes have ended on return.
    pub(crate) fn follow(self, limit: Duration, sink: &mut KeptSink<'_>, stop: &StopFlag) -> Ended {
        self.follow_until(Deadline::after(limit), sink, stop)
    }

    /// [`Self::follow`] with a deadline that output on standard error may renew.
    pub(crate) fn follow_until(mut self, mut deadline: Deadline, sink: &mut KeptSink<'_>, stop: &StopFlag) -> Ended {
        let end = match self.take_lines(&mut deadline, sink, stop) {
            Followed::OutputEnded => self.await_end(deadline, stop),
            Followed::Refused => self.kill(End::Refused),
            Followed::Stopped => self.stop(),
            Followed::TimedOut => self.time_out(),
        };
        // With a time limit, because a process that the keeper could not kill may hold the pipe
        // open.
        let stderr = self.stderr.recv_timeout(KEEPER_LIMIT).unwrap_or_default();
        let left = self.settle();
        let lack = match end {
            End::Exited(_) | End::Signalled(_) | End::NotStarted(_) => self.account().lack,
            End::KeeperKilled => self.watch.lack(&[]),
            // A program killed at its limit may lack anything. A survivor is the host's failure.
            End::TimedOut | End::Refused => self.account().lack.filter(|lack| lack.text == SURVIVES),
            End::Stopped => None,
        };
        let below = self.scratch.parent().unwrap_or(Path::new("/"));
        let has_room = lack::has_room(&[below, &self.directory, &std::env::temp_dir()]);
        Ended { end, stderr, left, lack, has_room }
    }

    fn take_lines(&mut self, deadline: &mut Deadline, sink: &mut KeptSink<'_>, stop: &StopFlag) -> Followed {
        let (mut silent_polls, mut said) = (0, 0);
        loop {
            if stop.is_set() {
                return Followed::Stopped;
            }
            // Relaxed: a count.
            let says = self.stderr_bytes.load(Relaxed);
            if says != said {
                said = says;
                deadline.renew();
            }
            let left = self.left(deadline);
            if left.is_zero() {
                return Followed::TimedOut;
            }
            match self.lines.recv_timeout(left.min(STOP_POLL)) {
                Ok(line) if sink(&line, deadline).is_break() => return Followed::Refused,
                Ok(_) => {}
                // If the keeper is gone and the output stays open, the keeper was killed, because
                // it ends after all other processes. If we were stopped, output may still be on its
                // way.
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

    /// The time left until the deadline.
    fn left(&mut self, deadline: &mut Deadline) -> Duration {
        if let Some(withheld) = &mut self.withheld {
            deadline.extend(withheld.since_last());
        }
        deadline.left()
    }

    /// Waits for the report after the output was closed or the keeper is gone.
    fn await_end(&mut self, mut deadline: Deadline, stop: &StopFlag) -> End {
        loop {
            if stop.is_set() {
                return self.stop();
            }
            let left = self.left(&mut deadline);
            if left.is_zero() {
                return self.time_out();
            }
            match self.hear(left.min(STOP_POLL)) {
                Heard::More if self.account().told.is_some() => self.acknowledge(),
                Heard::More | Heard::Silence => {}
                Heard::End => {
                    self.reap();
                    return self.end();
                }
            }
        }
    }

    /// Tells the keeper that we are alive and have its report: it need not remove our directory.
    fn acknowledge(&mut self) {
        // Fails if the keeper is already gone, which has the same effect.
        let _ = self.socket.write_all(keeper::HEARD);
    }

    /// Receives the keeper's reports. Waits at most `wait`, which is never zero.
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
            // The keeper itself was killed.
            None => {
                self.clear_up();
                End::KeeperKilled
            }
        }
    }

    /// Called when the keeper is gone. If it was killed, the settings still have the execution's
    /// values, so this restores them. Returns the settings that could not be restored, as texts.
    fn settle(&mut self) -> Vec<String> {
        while matches!(self.hear(STOP_POLL), Heard::More) {}
        let account = self.account();
        match account.told {
            Some(_) => account.left,
            // The settings are gone with the namespace; ours are others.
            None if self.is_in_namespace => Vec::new(),
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

    /// Asks the program to end. Waits until the keeper and the program are gone, or the grace
    /// period is over. Reads and discards output meanwhile, so that a full pipe does not block the
    /// program.
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
                    // The output is closed, so the program ends now or never.
                    self.acknowledge();
                    let _ = self.keeper.wait_timeout(left);
                    return;
                }
                _ if matches!(self.keeper.try_wait(), Ok(None)) => {}
                _ => return,
            }
        }
    }

    fn kill(&mut self, end: End) -> End {
        // Fails only if the keeper is already gone; then there is nothing to report to it.
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
        self.reap();
        end
    }

    /// Waits for the keeper, which ends when all processes of the program are gone.
    fn reap(&mut self) {
        if let Ok(Some(_)) = self.keeper.wait_timeout(KEEPER_LIMIT) {
            return;
        }
        // The keeper hangs.
        self.clear_up();
        let _ = self.keeper.wait();
    }

    /// Replaces a keeper that was killed or hangs: kills it and all its processes, and removes the
    /// scratch directory.
    fn clear_up(&self) {
        // Fails if no process is left, as intended.
        let _ = kill_process_group(Pid::from_child(&self.keeper), Signal::KILL);
        self.mark.kill_processes();
        // Fails if the keeper has removed it.
        let _ = sandbox::remove_scratch(&self.scratch);
    }
}

/// Passes on each line without its end, until the output ends or the sink returns `Break`. A line
/// that is too long is cut one byte past the limit, so that the receiver can recognise it.
pub(crate) fn read_lines(output: impl Read, longest_line: usize, sink: &mut dyn FnMut(Vec<u8>) -> ControlFlow<()>) {
    let mut reader = BufReader::new(output);
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
        if sink(line).is_break() {
            return;
        }
    }
}

/// End of the input, as text. Counts its bytes in `read`.
fn read_end(mut stderr: ChildStderr, kept_bytes: usize, read: &AtomicU64) -> String {
    let mut end = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk) {
        // Relaxed: a count.
        read.fetch_add(count as u64, Relaxed);
        end.extend_from_slice(&chunk[..count]);
        let excess = end.len().saturating_sub(kept_bytes);
        end.drain(..excess);
    }
    String::from_utf8_lossy(&end).into_owned()
}
