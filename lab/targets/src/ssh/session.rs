//! Lines from and bytes to a remote agent: a running OpenSSH client under a keeper, or a serial
//! line of a machine in the emulator. The client does not outlive us, and the remote command's
//! input ends when the client does. A serial line ends with its machine.

use crate::keep::{Deadline, Ended, Grace, Kept, Output, Program, read_lines};
use crate::{StopFlag, scratch_directory};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tempfile::TempDir;

/// A shell script: the words after it are the command, and `$0` is the file of standard input.
const SHELL: &str = "exec \"$@\" <\"$0\"";

/// Maximum number of lines in the queue.
const WAITING_LINES: usize = 256;

/// Interval between checks for a stop.
const POLL: Duration = Duration::from_millis(100);

/// Waiting time at a full pipe.
const PIPE_POLL: Duration = Duration::from_millis(2);

/// Time limit for the client's start.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Number of bytes at the end of standard error that are kept.
const STDERR_KEPT_BYTES: usize = 8192;

/// Chunk size on a serial line: a system has little room for unread bytes, and cannot report that
/// it is full.
const LINE_BYTES: usize = 256;

/// Time limit for a sign of life: the agent at the other end of a serial line sends one every 15 s.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);

/// Ends the agent at the other end of a serial line, which has no end of file: it is not a request.
const FAREWELL: &[u8] = b"\n";

/// The last line of a serial line whose agent has ended.
const LAST_LINE: &[u8] = b"faultline-ended";

/// A running client, or a serial line.
pub(super) struct Session {
    lines: Receiver<Vec<u8>>,
    input: Option<File>,
    /// Thread that follows it to its end. A serial line has no final output.
    follower: Option<JoinHandle<Option<Ended>>>,
    other_end: OtherEnd,
}

/// The other end.
enum OtherEnd {
    Client {
        give_up: StopFlag,
        /// Contains the pipe to standard input, and the client's own files.
        _directory: TempDir,
    },
    Serial(UnixStream),
}

/// A command, as a function of an empty directory for its own files.
pub(super) type InDirectory<'a> = dyn Fn(&Path) -> Vec<OsString> + 'a;

/// Inputs of a client.
pub(super) struct Start<'a> {
    /// A program that runs [`crate::keeper::run`] if its first argument is
    /// [`crate::keeper::ARGUMENT`].
    pub(super) keeper: &'a Path,
    /// Directory for the pipe, and for the keeper.
    pub(super) scratch: &'a Path,
    /// The client's program and its arguments.
    pub(super) argv: &'a InDirectory<'a>,
    /// Maximum length of a line in bytes.
    pub(super) longest_line: usize,
}

/// Reason why bytes were not sent, or no line came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoMore {
    /// The client has ended.
    Ended,
    /// A stop was requested.
    Stopped,
    /// The limit was reached.
    TimedOut,
}

impl Session {
    /// Starts the client. Fails, with a text, if it cannot be started.
    pub(super) fn start(start: &Start<'_>) -> Result<Self, String> {
        let no_pipe = |error: &dyn std::fmt::Display| format!("no pipe in {}: {error}", start.scratch.display());
        let directory =
            scratch_directory::create("faultline-ssh-", start.scratch).map_err(|error| no_pipe(&error.kind()))?;
        let (pipe, own) = (directory.path().join("input"), directory.path().join("own"));
        std::fs::create_dir(&own).map_err(|error| no_pipe(&error.kind()))?;
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).map_err(|error| no_pipe(&error))?;
        let arguments = |_: &Path| {
            let words = [OsString::from("-c"), SHELL.into(), pipe.clone().into_os_string()];
            words.into_iter().chain((start.argv)(&own)).collect()
        };
        let kept = Kept::start(&Program {
            keeper: start.keeper,
            scratch: start.scratch,
            file: Path::new("/bin/sh"),
            arguments: &arguments,
            directory: None,
            output: Output { longest_line: start.longest_line, stderr_bytes: STDERR_KEPT_BYTES },
            waiting_is_free: false,
            grace: Grace::NONE,
            ours: Some(directory.path()),
            environment: &[("LC_ALL".to_owned(), "C".to_owned()), of_own_files(&own)],
            system_settings: &[],
            namespace: None,
            sandbox: None,
        })?;
        let (sender, lines) = sync_channel(WAITING_LINES);
        let give_up = StopFlag::default();
        let stop = give_up.clone();
        let follower = thread::spawn(move || {
            // No limit here: callers have limits, and give up.
            let pass_on = &mut |line: &[u8], _: &mut Deadline| {
                // The receiver is gone after the last execution.
                let _ = sender.send(line.to_owned());
                ControlFlow::Continue(())
            };
            Some(kept.follow(Duration::MAX, pass_on, &stop))
        });
        let other_end = OtherEnd::Client { give_up, _directory: directory };
        let mut session = Session { lines, input: None, follower: Some(follower), other_end };
        session.input = session.open(&pipe);
        Ok(session)
    }

    /// A session on a serial line of a machine in the emulator. Fails if the socket cannot be set
    /// up.
    pub(super) fn on_line(line: UnixStream, longest_line: usize) -> io::Result<Self> {
        let (input, output) = (line.try_clone()?, line.try_clone()?);
        input.set_write_timeout(Some(PIPE_POLL))?;
        let (sender, lines) = sync_channel(WAITING_LINES);
        let follower = thread::spawn(move || {
            let pass_on = &mut |line: Vec<u8>| match line == LAST_LINE || sender.send(line).is_err() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            read_lines(output, longest_line, pass_on);
            None
        });
        let input = Some(File::from(OwnedFd::from(input)));
        Ok(Session { lines, input, follower: Some(follower), other_end: OtherEnd::Serial(line) })
    }

    /// Our end of the pipe, as soon as the client has the other end; `None` if the client ends
    /// before.
    fn open(&self, pipe: &Path) -> Option<File> {
        let mut limit = Deadline::after(START_LIMIT);
        while !limit.left().is_zero() && self.is_running() {
            match rustix::fs::open(pipe, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
                Ok(file) => return Some(File::from(file)),
                Err(rustix::io::Errno::NXIO | rustix::io::Errno::INTR) => thread::sleep(PIPE_POLL),
                Err(_) => return None,
            }
        }
        None
    }

    /// True while the client runs, or the agent at the other end of the serial line.
    pub(super) fn is_running(&self) -> bool {
        self.follower.as_ref().is_some_and(|follower| !follower.is_finished())
    }

    /// Sends bytes. Fails unless all of them were sent.
    pub(super) fn send(&mut self, mut bytes: &[u8], limit: &mut Deadline, stop: &StopFlag) -> Result<(), NoMore> {
        let is_serial = matches!(self.other_end, OtherEnd::Serial(_));
        let at_once = if is_serial { LINE_BYTES } else { usize::MAX };
        while !bytes.is_empty() {
            let input = self.input.as_mut().ok_or(NoMore::Ended)?;
            match input.write(&bytes[..bytes.len().min(at_once)]) {
                Ok(count) => {
                    bytes = &bytes[count..];
                    if is_serial {
                        thread::sleep(PIPE_POLL);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if stop.is_set() {
                        return Err(NoMore::Stopped);
                    }
                    if limit.left().is_zero() {
                        return Err(NoMore::TimedOut);
                    }
                    thread::sleep(PIPE_POLL);
                }
                Err(_) => return Err(NoMore::Ended),
            }
        }
        Ok(())
    }

    /// The next line. Fails if none comes.
    pub(super) fn next(&self, limit: &mut Deadline, stop: &StopFlag) -> Result<Vec<u8>, NoMore> {
        self.next_within(limit, Duration::MAX, stop)
    }

    /// The next line of a working agent. Fails if none comes, or without a sign of life over a
    /// serial line. OpenSSH's client checks for itself, and ends.
    pub(super) fn next_of_work(&self, limit: &mut Deadline, stop: &StopFlag) -> Result<Vec<u8>, NoMore> {
        let silence = match &self.other_end {
            OtherEnd::Client { .. } => Duration::MAX,
            OtherEnd::Serial(_) => LONGEST_SILENCE,
        };
        self.next_within(limit, silence, stop)
    }

    fn next_within(&self, limit: &mut Deadline, silence: Duration, stop: &StopFlag) -> Result<Vec<u8>, NoMore> {
        let mut silence = Deadline::after(silence);
        loop {
            if stop.is_set() {
                return Err(NoMore::Stopped);
            }
            let left = limit.left().min(silence.left());
            if left.is_zero() {
                return Err(NoMore::TimedOut);
            }
            match self.lines.recv_timeout(left.min(POLL)) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(NoMore::Ended),
            }
        }
    }

    /// Ends the session: the remote command's input ends, so that it can end in order within the
    /// grace period. Then the client is killed, or the serial line is closed.
    pub(super) fn end(mut self, grace: Duration) -> Option<Ended> {
        self.finish(grace)
    }

    fn finish(&mut self, grace: Duration) -> Option<Ended> {
        let follower = self.follower.take()?;
        self.say_farewell();
        let mut grace = Deadline::after(grace);
        while !follower.is_finished() {
            if grace.left().is_zero() {
                self.give_up();
            }
            // Lines are read meanwhile, because a full queue would block the client.
            if self.lines.recv_timeout(POLL) == Err(RecvTimeoutError::Disconnected) {
                thread::sleep(PIPE_POLL);
            }
        }
        follower.join().ok().flatten()
    }

    /// Ends the input of the remote command.
    fn say_farewell(&mut self) {
        let input = self.input.take();
        if let (OtherEnd::Serial(_), Some(mut input)) = (&self.other_end, input) {
            // Fails if the machine is off, or does not read: then nothing is left to end.
            let _ = input.write(FAREWELL);
        }
    }

    fn give_up(&self) {
        match &self.other_end {
            OtherEnd::Client { give_up, .. } => give_up.set(),
            // Fails if the machine is off.
            OtherEnd::Serial(line) => drop(line.shutdown(Shutdown::Both)),
        }
    }
}

/// The variable that puts a program's temporary files into this directory, which is removed even if
/// the program is killed.
fn of_own_files(own: &Path) -> (String, String) {
    ("TMPDIR".to_owned(), own.to_string_lossy().into_owned())
}

/// Time limit for the remote command, or an agent, to kill what it started and to remove its files.
pub(super) const USUAL_GRACE: Duration = Duration::from_secs(20);

impl Drop for Session {
    fn drop(&mut self) {
        self.finish(USUAL_GRACE);
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("is_running", &self.is_running()).finish_non_exhaustive()
    }
}
