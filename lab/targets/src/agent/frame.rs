//! Reader of one line of the agent's reports, called frames (docs/FORMATS.md, "A guest's output").

use crate::Ending;
use crate::execution::LineSink;
use faultline_record::lens::counted::{GeneratedCode, Mapping};
use std::fmt;
use std::ops::ControlFlow;

/// Text of the agent's hello: format and version.
const FORMAT: &str = "faultline-guest 1";

/// Maximum length of a frame's header in bytes: kind, length, two blanks.
pub(crate) const LONGEST_HEADER_BYTES: usize = 64;

/// A frame. Bytes come from programs and may have any value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    /// The agent has started.
    Hello,
    /// Program to which the following frames belong.
    Program(String),
    /// A line of the program's standard output.
    Out(&'a [u8]),
    /// A line of the end of its standard error.
    Err(&'a [u8]),
    /// Exit status of the program.
    Exit(i32),
    /// Signal that ended the program.
    Signal(i32),
    /// The program could not be started; the reason.
    NotStarted(String),
    /// File whose lines follow.
    File(String),
    /// A line of the file.
    Line(&'a [u8]),
    /// Some of the kernel's symbols, in order.
    Symbols(&'a [u8]),
    /// Offset of the next CPU's own variables.
    PerCpu(u64),
    /// Reason why the offsets are missing.
    NoPerCpu(String),
    /// Code that a process of the program mapped.
    Map(Mapping),
    /// Reason why some mappings are missing.
    NoMaps(String),
    /// A function that a process of the program generated.
    Generated(GeneratedCode),
    /// Number of processes that ran, including the program.
    Processes(u64),
    /// Processes outlived the program and were killed.
    Left,
    /// Directory of a host's agent.
    Directory(String),
    /// The plan reached its time limit and was killed.
    TimedOut,
    /// A host's setting could not be restored; the reason.
    LeftChanged(String),
    /// The agent failed; the reason.
    Failed(String),
    /// The plan is complete.
    End,
}

/// Reason why a line is not a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoFrame {
    /// The text is shorter than the header says.
    CutOff,
    /// Another format.
    Rubbish,
    /// Another version of the agent.
    OtherVersion(String),
}

impl fmt::Display for NoFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoFrame::CutOff => f.write_str("a line from the guest was cut off"),
            NoFrame::Rubbish => f.write_str("a line from the guest is not in the format of its agent"),
            NoFrame::OtherVersion(version) => write!(f, "the guest's agent speaks '{version}', not '{FORMAT}'"),
        }
    }
}

/// Parses a line without its end. Fails unless the line is a whole frame of this format and
/// version.
pub(crate) fn parse(line: &[u8]) -> Result<Frame<'_>, NoFrame> {
    let mut parts = line.splitn(3, |&byte| byte == b' ');
    let (Some(kind), Some(length), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(NoFrame::Rubbish);
    };
    let length: usize = number(length, 10).ok_or(NoFrame::Rubbish)?;
    let frame = frame(kind, text)?;
    if text.len() == length { Ok(frame) } else { Err(NoFrame::CutOff) }
}

fn frame<'a>(kind: &[u8], text: &'a [u8]) -> Result<Frame<'a>, NoFrame> {
    let words = || String::from_utf8_lossy(text).into_owned();
    Ok(match kind {
        b"hello" if text == FORMAT.as_bytes() => Frame::Hello,
        b"hello" => return Err(NoFrame::OtherVersion(words())),
        b"program" => Frame::Program(words()),
        b"out" => Frame::Out(text),
        b"err" => Frame::Err(text),
        b"exit" => Frame::Exit(number(text, 10).ok_or(NoFrame::Rubbish)?),
        b"signal" => Frame::Signal(number(text, 10).ok_or(NoFrame::Rubbish)?),
        b"not-started" => Frame::NotStarted(words()),
        b"file" => Frame::File(words()),
        b"line" => Frame::Line(text),
        b"symbols" => Frame::Symbols(text),
        b"per-cpu" => Frame::PerCpu(number(text, 16).ok_or(NoFrame::Rubbish)?),
        b"no-per-cpu" => Frame::NoPerCpu(words()),
        b"map" => Frame::Map(mapping(text).ok_or(NoFrame::Rubbish)?),
        b"no-maps" => Frame::NoMaps(words()),
        b"generated" => Frame::Generated(generated(text).ok_or(NoFrame::Rubbish)?),
        b"processes" => Frame::Processes(number(text, 10).ok_or(NoFrame::Rubbish)?),
        b"left" => Frame::Left,
        b"directory" => Frame::Directory(words()),
        b"timed-out" => Frame::TimedOut,
        b"left-changed" => Frame::LeftChanged(words()),
        b"failed" => Frame::Failed(words()),
        b"end" => Frame::End,
        _ => return Err(NoFrame::Rubbish),
    })
}

/// `PROCESS ADDRESS LENGTH OFFSET PATH`; numbers after the first are hexadecimal.
fn mapping(text: &[u8]) -> Option<Mapping> {
    let mut words = text.splitn(5, |&byte| byte == b' ');
    let process = number(words.next()?, 10)?;
    let mut next = || number(words.next()?, 16);
    let (address, length, offset) = (next()?, next()?, next()?);
    let path = String::from_utf8_lossy(words.next()?).into_owned();
    Some(Mapping { process, address, length, offset, path })
}

/// `PROCESS ADDRESS LENGTH NAME`; address and length are hexadecimal.
fn generated(text: &[u8]) -> Option<GeneratedCode> {
    let mut words = text.splitn(4, |&byte| byte == b' ');
    let process = number(words.next()?, 10)?;
    let mut next = || number(words.next()?, 16);
    let (address, length) = (next()?, next()?);
    let name = String::from_utf8_lossy(words.next()?).into_owned();
    Some(GeneratedCode { process, address, length, name })
}

fn number<N: TryFrom<u64>>(text: &[u8], radix: u32) -> Option<N> {
    let number = u64::from_str_radix(std::str::from_utf8(text).ok()?, radix).ok()?;
    N::try_from(number).ok()
}

/// Commands for the agent, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan(Vec<Vec<String>>);

impl Plan {
    /// Adds a command. Its words must not contain NUL characters.
    pub(crate) fn add<W: AsRef<str>>(&mut self, words: &[W]) {
        self.0.push(words.iter().map(|word| word.as_ref().to_owned()).collect());
    }

    /// Encodes each command as the number of its words, then the words, each ended by NUL.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for command in &self.0 {
            let count = command.len().to_string();
            for word in [&count].into_iter().chain(command) {
                bytes.extend_from_slice(word.as_bytes());
                bytes.push(0);
            }
        }
        bytes
    }
}

/// Ending of a program, as far as the agent reported it.
#[derive(Debug, Default)]
pub(crate) struct ProgramEnd {
    pub(crate) ending: Option<Ending>,
    stderr: String,
}

impl ProgramEnd {
    /// Handles a frame: passes a line of the program to `sink` and ignores frames of other kinds.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read() {
        assert_eq!(parse(b"hello 17 faultline-guest 1"), Ok(Frame::Hello));
        assert_eq!(parse(b"out 3 a b"), Ok(Frame::Out(b"a b")));
        assert_eq!(parse(b"out 0 "), Ok(Frame::Out(b"")));
        assert_eq!(parse(b"out 3 \xff\0\r"), Ok(Frame::Out(b"\xff\0\r")));
        assert_eq!(parse(b"exit 2 71"), Ok(Frame::Exit(71)));
        assert_eq!(parse(b"per-cpu 16 ffff88803fc00000"), Ok(Frame::PerCpu(0xffff_8880_3fc0_0000)));
        assert_eq!(parse(b"end 0 "), Ok(Frame::End));
        let mapping = Mapping { process: 40, address: 0x401000, length: 0x8a000, offset: 0x1000, path: "/a b".into() };
        assert_eq!(parse(b"map 25 40 401000 8a000 1000 /a b"), Ok(Frame::Map(mapping)));
        assert_eq!(parse(b"map 5 40 40"), Err(NoFrame::Rubbish));
        let function = GeneratedCode { process: 40, address: 0x7f00, length: 0x20, name: "JS:f *a.js:1".into() };
        assert_eq!(parse(b"generated 23 40 7f00 20 JS:f *a.js:1"), Ok(Frame::Generated(function)));
        assert_eq!(parse(b"generated 7 40 7f00"), Err(NoFrame::Rubbish));
    }

    #[test]
    fn whatever_is_cut_off_is_seen_to_be() {
        let whole = b"out 11 interval 12";
        assert!(parse(whole).is_ok());
        for length in 0..whole.len() {
            assert!(parse(&whole[..length]).is_err(), "the first {length} bytes pass");
        }
        assert_eq!(parse(b"out 11 interval 1"), Err(NoFrame::CutOff));
        assert_eq!(parse(b"out 1 ab"), Err(NoFrame::CutOff));
    }

    #[test]
    fn rubbish_is_seen_to_be() {
        for line in
            [&b""[..], b"hello", b"out", b"out x y", b"out -1 y", b"shout 1 y", b"exit 1 x", b"[    1.0] printk: x"]
        {
            assert_eq!(parse(line), Err(NoFrame::Rubbish), "{}", String::from_utf8_lossy(line));
        }
        assert!(parse(b"hello 17 faultline-guest 2").unwrap_err().to_string().contains("'faultline-guest 2'"));
    }

    #[test]
    fn words_may_be_empty_or_hold_anything_but_nul() {
        let mut plan = Plan::default();
        plan.add(&["run", "/bin/x", "", "a b\nc"]);
        plan.add(&["symbols"]);
        assert_eq!(plan.bytes(), b"4\0run\0/bin/x\0\0a b\nc\x001\0symbols\0");
    }
}
