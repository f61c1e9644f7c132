//! A system in the emulator that is reached by its two serial ports, without a network: somebody logs in at the first one, its console (`dialogue`), and starts the
//! agent, which serves over the second one. The agent and the programs are on a disk (`programs_disk`).

mod dialogue;
mod programs_disk;

use self::dialogue::{Dialogue, Turn, Who};
use super::complaint::{NotConnected, Why};
use super::session::Session;
use crate::agent::Programs;
use crate::keep::Deadline;
use crate::qemu::{channel_socket, console_socket};
use crate::{StopFlag, TargetError};
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often to look for something to do at the console, and for a stop.
const POLL: Duration = Duration::from_millis(100);

/// How long the emulator may take to listen at a port whose socket is there.
const LISTEN_LIMIT: Duration = Duration::from_secs(10);

/// How long the emulator may take for a line that is typed.
const TYPE_LIMIT: Duration = Duration::from_secs(10);

/// Longest password in bytes: more does not fit a line of every terminal.
const LONGEST_PASSWORD_BYTES: usize = 200;

/// How much of a file with a password is read.
const MOST_READ_BYTES: u64 = 4096;

/// A password, which nothing prints.
#[derive(Clone)]
pub(crate) struct Password(String);

/// How to log in to a system by its serial ports.
#[derive(Debug, Clone)]
pub(crate) struct SerialLine {
    /// The system's name, for people.
    pub(crate) system: String,
    /// Where the sockets of both ports are.
    pub(crate) directory: PathBuf,
    pub(crate) user: String,
    pub(crate) password: Option<Password>,
    /// The directory there for scratch files; the default one if `None`.
    pub(crate) scratch: Option<String>,
}

/// All bytes of the disk with the agents and the programs of these systems. Fails if one of them has a name that does not fit.
pub(super) fn disk(programs: &[Programs]) -> Result<Vec<u8>, TargetError> {
    programs_disk::bytes(programs).map_err(|error| TargetError {
        problem: format!("no disk can be made of the programs of guests: {error}"),
        hint: "`make guest` builds them anew".to_owned(),
    })
}

impl Password {
    /// As it is typed.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The first line of a file. Fails if it cannot be read, or cannot be typed.
    pub(crate) fn read(file: &Path) -> Result<Self, TargetError> {
        let refused = |reason: &str| TargetError {
            problem: format!("cannot take a password from {}: {reason}", file.display()),
            hint: "`password=FILE` names a file whose first line is the password".to_owned(),
        };
        let is_file = file.metadata().map(|about| about.is_file()).map_err(|error| refused(&error.to_string()))?;
        if !is_file {
            // Of others the end may never come.
            return Err(refused("it is no file"));
        }
        let mut text = String::new();
        let opened = File::open(file).and_then(|file| file.take(MOST_READ_BYTES).read_to_string(&mut text));
        opened.map_err(|error| refused(&error.to_string()))?;
        match text.lines().next().unwrap_or_default() {
            "" => Err(refused("its first line is empty")),
            line if line.len() > LONGEST_PASSWORD_BYTES => Err(refused("its first line is too long")),
            line if line.contains(char::is_control) => Err(refused("its first line has a control character")),
            line => Ok(Password(line.to_owned())),
        }
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

impl SerialLine {
    /// The system's name, for people.
    pub(super) fn system(&self) -> &str {
        &self.system
    }

    /// The directory there for scratch files; the default one if `None`.
    pub(super) fn scratch(&self) -> Option<&str> {
        self.scratch.as_deref()
    }

    /// Logs in and starts the agent. Returns the second port, where it serves. Fails if nobody answers within the limit, or if the system does not let us in.
    pub(super) fn connect(
        &self,
        longest_line: usize,
        limit: &mut Deadline,
        stop: &StopFlag,
    ) -> Result<Session, NotConnected> {
        // What comes before somebody listens is lost.
        let channel = socket(&channel_socket(&self.directory), stop).map_err(|error| self.broken(&error))?;
        let console = socket(&console_socket(&self.directory), stop).map_err(|error| self.broken(&error))?;
        let session = Session::on_line(channel, longest_line).map_err(|error| self.broken(&error))?;
        match self.log_in(console, limit, stop) {
            Ok(()) => Ok(session),
            Err(not) => {
                session.end(Duration::ZERO);
                Err(not)
            }
        }
    }

    /// When it is done, nobody reads the console any more: the emulator writes it down.
    fn log_in(&self, mut console: UnixStream, limit: &mut Deadline, stop: &StopFlag) -> Result<(), NotConnected> {
        let set = console.set_read_timeout(Some(POLL)).and_then(|()| console.set_write_timeout(Some(TYPE_LIMIT)));
        set.map_err(|error| self.broken(&error))?;
        let password = self.password.as_ref().map(|password| password.0.as_str());
        let mut dialogue = Dialogue::new(Who { system: &self.system, user: &self.user, password });
        let mut last = Instant::now();
        loop {
            if stop.is_set() {
                return Err(self.not_connected("stopped", Why::Refused));
            }
            if limit.left().is_zero() {
                return Err(self.not_connected("its serial console does not answer", Why::Silent));
            }
            if let Some(bytes) = read(&mut console).map_err(|error| self.broken(&error))? {
                dialogue.hear(&bytes);
                last = Instant::now();
            }
            match dialogue.turn(last.elapsed()) {
                Turn::Listen => {}
                Turn::Type(text) => {
                    console.write_all(text.as_bytes()).map_err(|error| self.broken(&error))?;
                    last = Instant::now();
                }
                Turn::Started => return Ok(()),
                Turn::Refused(error) => return Err(error.into()),
            }
        }
    }

    fn broken(&self, error: &io::Error) -> NotConnected {
        self.not_connected(&format!("its serial ports are gone: {error}"), Why::Silent)
    }

    fn not_connected(&self, why: &str, meaning: Why) -> NotConnected {
        let error = TargetError {
            problem: format!("cannot log in to {}: {why}", self.system),
            hint: "docs/IMAGES.md says what a login at the serial console needs".to_owned(),
        };
        NotConnected { error, why: meaning }
    }
}

/// What has been printed; `None` if nothing was. Fails if the machine is off.
fn read(console: &mut UnixStream) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = [0; 4096];
    match console.read(&mut bytes) {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(count) => Ok(Some(bytes[..count].to_vec())),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A port of the emulator, as soon as it listens.
fn socket(path: &Path, stop: &StopFlag) -> io::Result<UnixStream> {
    let mut limit = Deadline::after(LISTEN_LIMIT);
    loop {
        match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused && !limit.left().is_zero() && !stop.is_set() => {
                sleep(POLL);
            }
            connected => return connected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::thread;

    #[test]
    fn a_password_is_the_first_line_of_a_file_and_is_not_printed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("password");
        std::fs::write(&file, "s e,cret\r\nmore\n").unwrap();
        let password = Password::read(&file).unwrap();
        assert_eq!((password.0.as_str(), format!("{password:?}").as_str()), ("s e,cret", "Password"));
        for (text, problem) in [("", "is empty"), ("\nx", "is empty"), ("a\tb", "control"), (&*"a".repeat(201), "long")]
        {
            std::fs::write(&file, text).unwrap();
            let refused = Password::read(&file).unwrap_err().problem;
            assert!(refused.contains("cannot take a password from /") && refused.contains(problem), "{refused}");
        }
        for file in [directory.path(), Path::new("/dev/zero")] {
            assert!(Password::read(file).unwrap_err().problem.ends_with("it is no file"));
        }
    }

    /// Plays a system's part at the other end of its console: waits for each line, and answers.
    fn system(console: &UnixListener, parts: &[(&str, &str)]) {
        let (mut socket, _) = console.accept().unwrap();
        for (awaited, answer) in parts {
            let mut heard = String::new();
            while !heard.ends_with(awaited) {
                let mut byte = [0];
                socket.read_exact(&mut byte).unwrap();
                heard.push(char::from(byte[0]));
            }
            socket.write_all(answer.as_bytes()).unwrap();
        }
    }

    #[test]
    fn lines_come_from_the_second_port_once_the_first_one_let_us_in() {
        let directory = tempfile::tempdir().unwrap();
        let line = SerialLine {
            system: "small.img".to_owned(),
            directory: directory.path().to_owned(),
            user: "root".to_owned(),
            password: Some(Password("secret".to_owned())),
            scratch: None,
        };
        let console = UnixListener::bind(console_socket(directory.path())).unwrap();
        let channel = UnixListener::bind(channel_socket(directory.path())).unwrap();
        let there = thread::spawn(move || {
            let (mut agent, _) = channel.accept().unwrap();
            let parts = [
                ("", "login: "),
                ("root\r", "Password: "),
                ("secret\r", "# "),
                ("shell\r", "faultline-shell\r\n# "),
                ("ended\r", "faultline-started\r\n"),
            ];
            system(&console, &parts);
            agent.write_all(b"noise\n\nfaultline-host x\n").unwrap();
            let mut heard = [0; 4];
            agent.read_exact(&mut heard).unwrap();
            agent.write_all(b"faultline-ended\n").unwrap();
            (heard, agent)
        });
        let (mut limit, stop) = (Deadline::after(Duration::from_secs(60)), StopFlag::default());
        let mut session = line.connect(100, &mut limit, &stop).unwrap();
        for expected in ["noise", "", "faultline-host x"] {
            assert_eq!(session.next(&mut limit, &stop).unwrap(), expected.as_bytes());
        }
        session.send(b"\0\r\n\xff", &mut limit, &stop).unwrap();
        assert!(session.next(&mut limit, &stop).is_err());
        assert!(!session.is_running() && session.end(Duration::from_secs(60)).is_none());
        assert_eq!(there.join().unwrap().0, *b"\0\r\n\xff");
    }
}
