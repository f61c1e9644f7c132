//! What the agent tells of a program that it runs: its lines as they arrive, and how it ended.

use super::frame::Frame;
use crate::Ending;
use crate::execution::LineSink;
use std::ops::ControlFlow;

/// How a program ended, as far as it was told.
#[derive(Debug, Default)]
pub(crate) struct ProgramEnd {
    pub(crate) ending: Option<Ending>,
    stderr: String,
}

impl ProgramEnd {
    /// Takes a frame, and passes a line of the program on to `sink`. Other frames mean nothing here.
    pub(crate) fn take(&mut self, frame: &Frame<'_>, sink: &mut LineSink<'_>) -> ControlFlow<()> {
        match frame {
            Frame::Out(line) => return sink(line),
            Frame::Err(line) => {
                self.stderr.push_str(&String::from_utf8_lossy(line));
                self.stderr.push('\n');
            }
            Frame::Exit(status) => {
                self.ending = Some(Ending::Exited { status: *status, stderr: std::mem::take(&mut self.stderr) });
            }
            Frame::Signal(signal) => {
                self.ending = Some(Ending::Signalled { signal: *signal, stderr: std::mem::take(&mut self.stderr) });
            }
            Frame::NotStarted(text) => self.ending = Some(Ending::NotStarted { text: text.clone() }),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
