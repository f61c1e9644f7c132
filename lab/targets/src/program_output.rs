//! Runs a small program for its output, with a time limit.

use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use wait_timeout::ChildExt;

/// Longer than any small program takes on a loaded machine.
pub(crate) const USUAL_LIMIT: Duration = Duration::from_secs(10);

/// Maximum output that is read. The programs run here print far less than a pipe holds, so none waits for its reader.
const LONGEST_OUTPUT_BYTES: u64 = 64 * 1024;

/// Standard output of a program that ended with status 0 within the limit. Fails otherwise; the error is a fragment for people.
pub(crate) fn read(program: &OsStr, arguments: &[&str], limit: Duration) -> Result<String, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| error.to_string())?;
    let text = child.stdout.take().map(read_in_background);
    let ended = child.wait_timeout(limit);
    let text = text.and_then(|text| text.recv_timeout(limit).ok());
    let (Ok(Some(status)), Some(text)) = (ended, text) else {
        // Also kills processes that it left behind, which may hold the pipe open. Fails if none is left, which is what we want.
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        let _ = child.wait();
        return Err(format!("it did not end within {} s", limit.as_secs()));
    };
    if !status.success() {
        return Err(format!("it ended with {status}"));
    }
    String::from_utf8(text).map_err(|_| "it printed no text".to_owned())
}

/// Reads in another thread, because a pipe can be held open for ever.
fn read_in_background(stdout: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, text) = sync_channel(1);
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // On an error, whatever was read before it is used.
        let _ = stdout.take(LONGEST_OUTPUT_BYTES).read_to_end(&mut text);
        // After the limit nobody listens any more.
        let _ = sender.send(text);
    });
    text
}

/// First line of a program's output; `None` if there is no such program or it fails.
pub(crate) fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let text = read(program.as_ref(), arguments, USUAL_LIMIT).ok()?;
    text.lines().next().map(str::to_owned)
}
