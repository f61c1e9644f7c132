//! Runs a small program for its output, with a time limit.

use std::ffi::OsStr;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;
use wait_timeout::ChildExt;

/// Longer than any of these programs takes on a loaded machine.
const LIMIT: Duration = Duration::from_secs(10);

/// As much output as is read; the programs asked here print far less than a pipe holds, so that none waits for its reader.
const LONGEST_OUTPUT_BYTES: u64 = 64 * 1024;

/// Standard output of a program that ended with status 0. The error is a fragment for people.
pub(crate) fn output(program: &OsStr, arguments: &[&str]) -> Result<String, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let ended = child.wait_timeout(LIMIT);
    let Ok(Some(status)) = ended else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("it did not end within {} s", LIMIT.as_secs()));
    };
    if !status.success() {
        return Err(format!("it ended with {status}"));
    }
    let mut text = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(LONGEST_OUTPUT_BYTES).read_to_end(&mut text).map_err(|error| error.to_string())?;
    }
    String::from_utf8(text).map_err(|_| "it printed no text".to_owned())
}

/// First line of what a program prints; none where there is no such program or it fails.
pub(super) fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let text = output(program.as_ref(), arguments).ok()?;
    text.lines().next().map(str::to_owned)
}
