//! A connection to the agent: its setup, requests to the agent, and answers.

use super::client::SYSTEM;
use super::complaint::{self, Failed, NotConnected, Why};
use super::reach::Reach;
use super::session::{NoMore, Session, USUAL_GRACE};
use crate::agent::frame::{self, Frame, LONGEST_HEADER_BYTES, NoFrame};
use crate::agent::{GuestProgram, Plan, Programs, System};
use crate::host::HostPaths;
use crate::keep::{Deadline, End};
use crate::network::Connection;
use crate::{StopFlag, TargetError};
use faultline_record::protocol::LONGEST_LINE_BYTES;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Added to a time limit that the agent enforces. After that it no longer answers.
const ANSWER_SLACK: Duration = Duration::from_secs(60);

/// Time limit for a client whose host does not answer.
const NO_GRACE: Duration = Duration::ZERO;

/// Maximum number of lines that a host prints before the remote command, from its shell's start-up
/// files.
const MOST_LINES_BEFORE: usize = 1000;

/// Inputs of a connection.
pub(super) struct Connecting<'a> {
    pub(super) reach: &'a Reach,
    pub(super) paths: &'a HostPaths,
    pub(super) programs: Offered<'a>,
    /// Time limit for connecting, and for the transfer of the agent and the programs.
    pub(super) limit: Duration,
}

/// Programs that may be sent to the host.
#[derive(Clone, Copy)]
pub(super) enum Offered<'a> {
    /// The programs for its system, from the directory with the guests' parts.
    OfItsSystem(&'a Path),
    /// These programs, for a host with their system.
    These(&'a Programs),
}

impl<'a> Offered<'a> {
    /// The programs for a system. Fails if there are none.
    fn programs(self, system: System) -> Result<Cow<'a, Programs>, TargetError> {
        match self {
            Offered::OfItsSystem(guest) => Ok(Cow::Owned(Programs::of(system, guest)?)),
            Offered::These(programs) if programs.system == system => Ok(Cow::Borrowed(programs)),
            Offered::These(programs) => Err(TargetError {
                problem: format!("it is {system}, and not {}", programs.system),
                hint: "a run measures each host under one system; only Linux can be installed".to_owned(),
            }),
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    session: Session,
    /// Directory of the agent and the programs on the host.
    directory: String,
    connection: Option<Connection>,
    /// Directories of this host that were sent, with their paths there.
    brought: BTreeMap<PathBuf, String>,
    /// Number of directories whose transfer has begun.
    builds: u32,
}

/// A request to the agent.
pub(super) struct Asked<'a> {
    pub(super) plan: &'a Plan,
    /// Time limit for the plan; the agent kills it afterwards.
    pub(super) limit: Duration,
}

/// The agent's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The plan is complete.
    Done,
    /// The agent could not execute the plan; the reason.
    Failed(String),
    /// The plan reached its limit and was killed.
    TimedOut,
    /// Settings could not be restored; their names and the reasons.
    LeftChanged(String),
}

/// Reason for a missing answer. The connection is no longer usable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// The sink returned `Break`.
    Refused,
    /// A stop was requested.
    Stopped,
    /// The connection was lost, or the host did not answer; the reason.
    Lost(String),
}

/// Receives the frames of a plan as they arrive.
pub(super) type FrameSink<'a> = dyn FnMut(&Frame<'_>) -> ControlFlow<()> + 'a;

impl<'a> Connecting<'a> {
    /// Connects, starts the agent on the host, and sends the programs. Fails if a step fails, or on
    /// a stop.
    pub(super) fn connect(&self, stop: &StopFlag) -> Result<(Link, Cow<'a, Programs>), NotConnected> {
        let mut limit = Deadline::after(self.limit);
        let longest_line = LONGEST_LINE_BYTES + 1 + LONGEST_HEADER_BYTES;
        let session = self.reach.connect(self.paths, longest_line, &mut limit, stop)?;
        self.greet(session, limit, stop)
    }

    fn greet(
        &self,
        mut session: Session,
        mut limit: Deadline,
        stop: &StopFlag,
    ) -> Result<(Link, Cow<'a, Programs>), NotConnected> {
        let mut greeting = Greeting::default();
        match self.exchange(&mut session, &mut greeting, &mut limit, stop) {
            Ok((directory, programs)) => {
                let connection = greeting.connection;
                Ok((Link { session, directory, connection, brought: BTreeMap::new(), builds: 0 }, programs))
            }
            Err(no_more) => Err(self.explain(session, no_more, &greeting)),
        }
    }

    /// Waits for the host's identity, sends the programs for it, and waits for the agent's
    /// directory.
    fn exchange(
        &self,
        session: &mut Session,
        greeting: &mut Greeting,
        limit: &mut Deadline,
        stop: &StopFlag,
    ) -> Result<(String, Cow<'a, Programs>), NoMore> {
        let system = loop {
            greeting.take(&session.next(limit, stop)?)?;
            if let Some(system) = &greeting.system {
                break system.clone();
            }
        };
        let programs = self.programs.programs(system).or_else(|refusal| greeting.refuse(refusal))?;
        let scratch = self.reach.scratch().unwrap_or_default();
        if self.reach.has_programs() {
            session.send(format!("{scratch}\n").as_bytes(), limit, stop)?;
            return Ok((greeting.served(session, limit, stop)?, programs));
        }
        let first = format!("{scratch}\n{}\n", programs.agent.len());
        let agent = [first.as_bytes(), &programs.agent].concat();
        match session.send(&agent, limit, stop) {
            // The host's shell did not read all of it; its earlier output has the reason.
            Err(NoMore::Ended) => loop {
                greeting.take(&session.next(limit, stop)?)?;
            },
            sent => sent?,
        }
        let directory = greeting.served(session, limit, stop)?;
        for program in &programs.programs {
            put(session, program, limit, stop)?;
        }
        Ok((directory, programs))
    }

    fn explain(&self, session: Session, no_more: NoMore, greeting: &Greeting) -> NotConnected {
        // A machine of ours is switched off.
        let is_left = no_more == NoMore::TimedOut || self.reach.has_programs();
        let ended = session.end(if is_left { NO_GRACE } else { USUAL_GRACE });
        let failed = |text: String| self.reach.failed(text);
        if let Some(trouble) = &greeting.trouble {
            return failed(trouble.clone()).into();
        }
        if let Some(TargetError { problem, hint }) = greeting.refusal.clone() {
            return NotConnected { error: TargetError { hint, ..failed(problem) }, why: Why::Stranger };
        }
        match no_more {
            NoMore::Stopped => failed("stopped".to_owned()).into(),
            NoMore::TimedOut => {
                let error = failed(format!("it took more than {} s", self.limit.as_secs()));
                NotConnected { error, why: Why::Silent }
            }
            NoMore::Ended => {
                let status = ended.as_ref().and_then(|ended| match &ended.end {
                    End::Exited(status) => Some(*status),
                    _ => None,
                });
                let stderr = ended.as_ref().map_or("", |ended| &ended.stderr);
                let system = greeting.system.as_ref().map(System::to_string);
                self.reach.explain(&Failed { status, stderr, system: system.as_deref() })
            }
        }
    }
}

/// The host's output before the agent serves.
#[derive(Debug, Default)]
struct Greeting {
    lines: usize,
    system: Option<System>,
    connection: Option<Connection>,
    has_agent: bool,
    directory: Option<String>,
    trouble: Option<String>,
    /// Reason why nothing is sent.
    refusal: Option<TargetError>,
}

/// System and architecture, and the rest of the line.
fn system_and_connection(said: &str) -> (String, String) {
    let said: String = said.chars().filter(|c| !c.is_control()).collect();
    let words: Vec<&str> = said.split_whitespace().collect();
    let (system, connection) = words.split_at(words.len().min(2));
    (system.join(" "), connection.join(" "))
}

impl Greeting {
    /// Handles a line. Fails if the agent cannot run there.
    fn take(&mut self, line: &[u8]) -> Result<(), NoMore> {
        self.lines += 1;
        if self.lines > MOST_LINES_BEFORE {
            return self.give_up("the host's output does not end".to_owned());
        }
        if self.system.is_none() {
            let text = String::from_utf8_lossy(line);
            if let Some((_, system)) = text.split_once(SYSTEM) {
                let (system, connection) = system_and_connection(system);
                self.connection = Connection::parse(&connection);
                self.system = Some(System::parse(&system).or_else(|trouble| self.give_up(trouble))?);
            }
            return Ok(());
        }
        match frame::parse(line) {
            Ok(Frame::Hello) => self.has_agent = true,
            Ok(Frame::Directory(directory)) => self.directory = Some(directory),
            Ok(Frame::Failed(text)) => return self.give_up(text),
            Err(no_frame @ NoFrame::OtherVersion(_)) => return self.give_up(no_frame.to_string()),
            Ok(_) | Err(_) => {}
        }
        Ok(())
    }

    /// Handles lines until the agent serves. Returns its directory.
    fn served(&mut self, session: &Session, limit: &mut Deadline, stop: &StopFlag) -> Result<String, NoMore> {
        loop {
            self.take(&session.next(limit, stop)?)?;
            if let Some(directory) = self.directory.clone().filter(|_| self.has_agent) {
                return Ok(directory);
            }
        }
    }

    fn give_up<T>(&mut self, trouble: String) -> Result<T, NoMore> {
        self.trouble = Some(trouble);
        Err(NoMore::Ended)
    }

    fn refuse<T>(&mut self, refusal: TargetError) -> Result<T, NoMore> {
        self.refusal = Some(refusal);
        Err(NoMore::Ended)
    }
}

impl Link {
    /// The directory of the agent on the host.
    pub(super) fn directory(&self) -> &str {
        &self.directory
    }

    /// The ends of the connection, if the host reported them.
    pub(super) fn connection(&self) -> Option<Connection> {
        self.connection
    }

    /// True if the connection stands, without asking the agent.
    pub(super) fn is_up(&self) -> bool {
        self.session.is_running()
    }

    /// Path there of a directory of this host, if it was sent.
    pub(super) fn brought(&self, directory: &Path) -> Option<String> {
        self.brought.get(directory).cloned()
    }

    /// A unique name for the next directory.
    pub(super) fn next_build(&mut self) -> String {
        self.builds += 1;
        format!("build-{}", self.builds)
    }

    /// Records the path of a sent directory.
    pub(super) fn note_brought(&mut self, directory: &Path, there: &str) {
        self.brought.insert(directory.to_owned(), there.to_owned());
    }

    /// Sends a file to the directory of the programs. A failure ends the connection.
    pub(super) fn put(mut self, program: &GuestProgram, stop: &StopFlag) -> Result<Link, NoAnswer> {
        // At 1 MB/s.
        let mut limit = Deadline::after(ANSWER_SLACK + Duration::from_secs(program.bytes.len() as u64 >> 20));
        match put(&mut self.session, program, &mut limit, stop) {
            Ok(()) => Ok(self),
            Err(no_more) => Err(self.give_up(no_more, &Answering::default())),
        }
    }

    /// Sends a request, and passes on the answers until it is complete. Without an answer, the
    /// connection is ended: then nothing of the plan runs any longer, unless the host cannot be
    /// reached; there it ends soon by itself.
    pub(super) fn ask(
        mut self,
        asked: &Asked<'_>,
        sink: &mut FrameSink<'_>,
        stop: &StopFlag,
    ) -> Result<(Link, Answer), NoAnswer> {
        let mut answering = Answering::default();
        let asked = self.exchange(asked, &mut answering, sink, stop);
        match asked {
            Ok(()) => Ok((self, answering.answer())),
            Err(no_more) => Err(self.give_up(no_more, &answering)),
        }
    }

    fn exchange(
        &mut self,
        asked: &Asked<'_>,
        answering: &mut Answering,
        sink: &mut FrameSink<'_>,
        stop: &StopFlag,
    ) -> Result<(), NoMore> {
        let plan = asked.plan.bytes();
        let limit_ms = i64::try_from(asked.limit.as_millis()).unwrap_or(i64::MAX).min(LONGEST_LIMIT_MS);
        let mut limit = Deadline::after(asked.limit.saturating_add(ANSWER_SLACK));
        self.session.send(format!("do {} {limit_ms}\n", plan.len()).as_bytes(), &mut limit, stop)?;
        self.session.send(&plan, &mut limit, stop)?;
        while !answering.is_done {
            let line = self.session.next_of_work(&mut limit, stop)?;
            if answering.take(&line, sink).is_break() {
                answering.is_refused = true;
                return Err(NoMore::Stopped);
            }
        }
        Ok(())
    }

    fn give_up(self, no_more: NoMore, answering: &Answering) -> NoAnswer {
        let grace = if no_more == NoMore::TimedOut { NO_GRACE } else { USUAL_GRACE };
        let ended = self.session.end(grace);
        match no_more {
            NoMore::Stopped if answering.is_refused => NoAnswer::Refused,
            NoMore::Stopped => NoAnswer::Stopped,
            NoMore::TimedOut => NoAnswer::Lost("the host does not answer".to_owned()),
            NoMore::Ended => {
                let said = ended.as_ref().and_then(|ended| complaint::last_line(&ended.stderr));
                let why = answering.trouble.clone().or(said);
                NoAnswer::Lost(why.unwrap_or_else(|| "it ended without a message".to_owned()))
            }
        }
    }
}

fn put(session: &mut Session, program: &GuestProgram, limit: &mut Deadline, stop: &StopFlag) -> Result<(), NoMore> {
    session.send(format!("put {} {}\n", program.bytes.len(), program.name).as_bytes(), limit, stop)?;
    session.send(&program.bytes, limit, stop)
}

/// One year: an upper bound that every clock can add.
const LONGEST_LIMIT_MS: i64 = 366 * 24 * 3600 * 1000;

/// The agent's answers so far.
#[derive(Debug, Default)]
struct Answering {
    is_done: bool,
    is_refused: bool,
    is_timed_out: bool,
    left_changed: Vec<String>,
    /// The agent's own failure, or an error in its lines.
    trouble: Option<String>,
}

impl Answering {
    fn take(&mut self, line: &[u8], sink: &mut FrameSink<'_>) -> ControlFlow<()> {
        match frame::parse(line) {
            // The agent ends the line of a killed process before its own.
            Err(_) if line.is_empty() => {}
            Err(no_frame) => drop(self.trouble.get_or_insert(no_frame.to_string())),
            Ok(Frame::End) => self.is_done = true,
            Ok(Frame::Failed(text)) => self.trouble = Some(format!("the host's agent: {text}")),
            Ok(Frame::TimedOut) => self.is_timed_out = true,
            Ok(Frame::LeftChanged(text)) => self.left_changed.push(text),
            Ok(frame) => return sink(&frame),
        }
        ControlFlow::Continue(())
    }

    fn answer(self) -> Answer {
        if !self.left_changed.is_empty() {
            return Answer::LeftChanged(format!("the host is left changed: {}", self.left_changed.join("; ")));
        }
        if self.is_timed_out {
            return Answer::TimedOut;
        }
        self.trouble.map_or(Answer::Done, Answer::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(lines: &[&str]) -> (Greeting, Result<(), NoMore>) {
        let mut greeting = Greeting::default();
        let taken = lines.iter().try_for_each(|line| greeting.take(line.as_bytes()));
        (greeting, taken)
    }

    #[test]
    fn what_a_shell_prints_before_is_passed_over() {
        let own = format!("faultline-host Linux {}", std::env::consts::ARCH);
        let (heard, taken) =
            greeting(&["Welcome!", "", &own, "sh: noise", "hello 17 faultline-guest 1", "directory 2 /x"]);
        assert_eq!(taken, Ok(()));
        assert_eq!((heard.directory.as_deref(), heard.system), (Some("/x"), Some(System::of_guests())));
    }

    #[test]
    fn hosts_that_cannot_run_our_programs_are_reported() {
        for (lines, problem) in [
            (&["faultline-host ../x amd64"][..], "it says that it is '../x amd64'"),
            (
                &[&format!("faultline-host Linux {}", std::env::consts::ARCH), "hello 17 faultline-guest 9"],
                "'faultline-guest 9'",
            ),
            (&["x"; 1001], "output does not end"),
        ] {
            let (heard, taken) = greeting(lines);
            assert_eq!(taken, Err(NoMore::Ended));
            assert!(heard.trouble.as_ref().unwrap().contains(problem), "{heard:?}");
        }
    }

    #[test]
    fn a_host_that_has_another_system_than_its_programs_gets_none() {
        let these = Programs { system: System::of_guests(), agent: Vec::new(), programs: Vec::new() };
        assert!(Offered::These(&these).programs(System::of_guests()).is_ok());
        let refusal = Offered::These(&these).programs(System::parse("NetBSD amd64").unwrap()).unwrap_err();
        assert!(refusal.problem.starts_with("it is NetBSD amd64, and not Linux"), "{refusal:?}");
    }

    fn answer(lines: &[&str]) -> (bool, Answer) {
        let mut answering = Answering::default();
        for line in lines {
            assert!(answering.take(line.as_bytes(), &mut |_| ControlFlow::Continue(())).is_continue());
        }
        (answering.is_done, answering.answer())
    }

    #[test]
    fn answers_are_distinguished() {
        assert_eq!(answer(&["out 1 x", "end 0 "]), (true, Answer::Done));
        assert_eq!(answer(&["out 9 x", "", "timed-out 4 1000", "end 0 "]), (true, Answer::TimedOut));
        let left = Answer::LeftChanged("the host is left changed: x".to_owned());
        assert_eq!(answer(&["timed-out 4 1000", "left-changed 1 x", "end 0 "]), (true, left));
        assert_eq!(answer(&["failed 1 x", "end 0 "]), (true, Answer::Failed("the host's agent: x".to_owned())));
        assert!(matches!(answer(&["out 9 x"]), (false, Answer::Failed(_))));
    }
}
