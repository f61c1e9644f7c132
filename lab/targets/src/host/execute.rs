//! Executes one program under a keeper: hands on its lines as they come, and ends it at its limit, on a stop, or when the
//! reader has had enough.

use super::HostPaths;
use super::deadline::Deadline;
use super::keeper::{self, Mark, Told};
use crate::target::LineSink;
use crate::{Ending, Execution, StopFlag};
use faultline_model::protocol::LONGEST_LINE_BYTES;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
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

/// How much of the end of standard error is kept.
const STDERR_KEPT_BYTES: usize = 4096;

/// How long the keeper may take to clear up: more than it allows itself for killing.
const KEEPER_LIMIT: Duration = Duration::from_secs(10);

/// The signal that ends a process whose keeper is gone; its number is 9 on every system.
const SIGKILL: i32 = 9;

/// See [`crate::Target::execute`].
pub(super) fn execute(paths: &HostPaths, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
    match Kept::start(paths, execution) {
        Ok(kept) => kept.follow(execution.limit, sink, stop),
        Err(text) => Ending::NotStarted { text },
    }
}

/// A program under way, with its keeper.
struct Kept {
    keeper: Child,
    /// Our end; closing it has the keeper kill everything.
    socket: UnixStream,
    lines: Receiver<Vec<u8>>,
    stderr: Receiver<String>,
    mark: Mark,
    scratch: PathBuf,
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
    fn start(paths: &HostPaths, execution: &Execution) -> Result<Self, String> {
        let program = paths.workloads.join(&execution.workload);
        let mark = Mark::new();
        let scratch = paths.scratch.join(mark.name());
        let (socket, theirs) = UnixStream::pair().map_err(|error| format!("no socket pair: {error}"))?;
        let mut keeper = Command::new(&paths.keeper)
            .arg(keeper::ARGUMENT)
            .args([scratch.as_os_str(), program.as_os_str()])
            .args(&execution.arguments)
            .env(keeper::MARK_VARIABLE, mark.name())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own: Ctrl-C in the terminal reaches us alone, and we end the workload in order.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("no keeper: {error}"))?;
        let (stdout, stderr) = (keeper.stdout.take(), keeper.stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else { return Err("no pipes to the keeper".to_owned()) };
        let (sender, lines) = sync_channel(WAITING_LINES);
        thread::spawn(move || read_lines(stdout, &sender));
        let (end, last_words) = sync_channel(1);
        thread::spawn(move || end.send(read_end(stderr)));
        Ok(Kept { keeper, socket, lines, stderr: last_words, mark, scratch })
    }

    fn follow(mut self, limit: Duration, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        let mut deadline = Deadline::after(limit);
        let followed = self.take_lines(&mut deadline, sink, stop);
        match followed {
            Followed::OutputEnded => self.await_end(deadline, stop),
            Followed::Refused => self.kill(Ending::Refused),
            Followed::Stopped => self.kill(Ending::Stopped),
            Followed::TimedOut => self.kill(Ending::TimedOut),
        }
    }

    fn take_lines(&mut self, deadline: &mut Deadline, sink: &mut LineSink<'_>, stop: &StopFlag) -> Followed {
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
                Ok(line) if sink(&line).is_break() => return Followed::Refused,
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
    fn await_end(mut self, mut deadline: Deadline, stop: &StopFlag) -> Ending {
        let mut heard = Vec::new();
        loop {
            if stop.is_set() {
                return self.kill(Ending::Stopped);
            }
            let left = deadline.left();
            if left.is_zero() {
                return self.kill(Ending::TimedOut);
            }
            match self.hear(left.min(STOP_POLL), &mut heard) {
                Heard::More | Heard::Silence => {}
                Heard::End => {
                    self.reap();
                    return self.ending(&String::from_utf8_lossy(&heard));
                }
            }
        }
    }

    /// Takes what the keeper has said, waiting for it for at most `wait`, which is never zero.
    fn hear(&mut self, wait: Duration, heard: &mut Vec<u8>) -> Heard {
        let mut chunk = [0; 256];
        match self.socket.set_read_timeout(Some(wait)).and_then(|()| self.socket.read(&mut chunk)) {
            Ok(0) => Heard::End,
            Ok(count) => {
                heard.extend_from_slice(&chunk[..count]);
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

    fn ending(self, heard: &str) -> Ending {
        let told = Told::read(heard);
        if told.is_none() {
            self.clear_up();
        }
        // Not for ever: a process that the keeper could not kill may hold it open.
        let stderr = self.stderr.recv_timeout(KEEPER_LIMIT).unwrap_or_default();
        match told {
            Some(Told::Status(status)) => Ending::Exited { status, stderr },
            Some(Told::Signal(signal)) => Ending::Signalled { signal, stderr },
            Some(Told::NotStarted(text)) => Ending::NotStarted { text },
            None => Ending::Signalled { signal: SIGKILL, stderr: "its keeper was killed".to_owned() },
        }
    }

    fn kill(mut self, ending: Ending) -> Ending {
        // Fails only when the keeper is gone already, and then there is nothing left to tell it.
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
        self.reap();
        ending
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
fn read_lines(stdout: ChildStdout, sender: &SyncSender<Vec<u8>>) {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let longest = LONGEST_LINE_BYTES as u64 + 1;
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
fn read_end(mut stderr: ChildStderr) -> String {
    let mut end = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk) {
        end.extend_from_slice(&chunk[..count]);
        let excess = end.len().saturating_sub(STDERR_KEPT_BYTES);
        end.drain(..excess);
    }
    String::from_utf8_lossy(&end).into_owned()
}
