//! A system in the emulator that is reached by its two serial ports, without a network. We log in
//! at the first one, its console (`dialogue`), and start the agent, which serves over the second
//! one. The agent and the programs are on a disk (`programs_disk`).

mod dialogue;

use super::complaint::{NotConnected, Why};
use super::session::Session;
use crate::agent::Programs;
use crate::keep::Deadline;
use crate::qemu::{channel_socket, console_socket};
use crate::{StopFlag, TargetError};
use dialogue::{Dialogue, Turn, Who};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fmt, io};

/// Interval between checks of the console, and for a stop.
const POLL: Duration = Duration::from_millis(100);

/// Time limit for the emulator to listen at a port whose socket exists.
const LISTEN_LIMIT: Duration = Duration::from_secs(10);

/// Time limit for the emulator to take a typed line.
const TYPE_LIMIT: Duration = Duration::from_secs(10);

/// Maximum length of a password in bytes: a longer one does not fit a line of every terminal.
const LONGEST_PASSWORD_BYTES: usize = 200;

/// Number of bytes of a password file that are read.
const MOST_READ_BYTES: u64 = 4096;

/// A password, which is never printed.
#[derive(Clone)]
pub(crate) struct Password(String);

/// Inputs of a login by serial ports.
#[derive(Debug, Clone)]
pub(crate) struct SerialLine {
    /// The system's name for messages.
    pub(crate) system: String,
    /// Directory of the sockets of both ports.
    pub(crate) directory: PathBuf,
    pub(crate) user: String,
    pub(crate) password: Option<Password>,
    /// Scratch directory there; the default one if `None`.
    pub(crate) scratch: Option<String>,
}

/// All bytes of the disk with the agents and the programs of these systems. Fails if a name does
/// not fit.
pub(super) fn disk(programs: &[Programs]) -> Result<Vec<u8>, TargetError> {
    bytes(programs).map_err(|error| TargetError {
        problem: format!("cannot create a disk with the guests' programs: {error}"),
        hint: "`make guest` rebuilds them".to_owned(),
    })
}

impl Password {
    /// As typed.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The first line of a file. Fails if it cannot be read or typed.
    pub(crate) fn read(file: &Path) -> Result<Self, TargetError> {
        let refused = |reason: &str| TargetError {
            problem: format!("cannot take a password from {}: {reason}", file.display()),
            hint: "`password=FILE` names a file whose first line is the password".to_owned(),
        };
        let is_file = file.metadata().map(|about| about.is_file()).map_err(|error| refused(&error.to_string()))?;
        if !is_file {
            // Other kinds of files may have no end.
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
    /// The system's name for messages.
    pub(super) fn system(&self) -> &str {
        &self.system
    }

    /// Scratch directory there; the default one if `None`.
    pub(super) fn scratch(&self) -> Option<&str> {
        self.scratch.as_deref()
    }

    /// Logs in and starts the agent. Returns the second port, where it serves. Fails if there is no
    /// answer within the limit, or if the login is refused.
    pub(super) fn connect(
        &self,
        longest_line: usize,
        limit: &mut Deadline,
        stop: &StopFlag,
    ) -> Result<Session, NotConnected> {
        // Bytes are lost until a reader connects.
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

    /// Afterwards the console is not read any more: the emulator writes it to a file.
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

/// New output; `None` if there is none. Fails if the machine is off.
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

/// The script, and its name, which identifies the disk.
const START: &str = include_str!("serial/start.sh");
const START_NAME: &str = "faultline.sh";

/// For the owner alone, who may start them.
const MODE: u32 = 0o700;

/// Granularity of the disk's size: controllers of old disks count in larger units than sectors.
const UNIT_BYTES: usize = 1 << 20;

/// All bytes of the disk. Fails if a name does not fit.
fn bytes(systems: &[Programs]) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    put(&mut archive, START_NAME, START.as_bytes())?;
    for Programs { system, agent, programs } in systems {
        let directory = system.directory_name();
        put_directory(&mut archive, &directory)?;
        put(&mut archive, &format!("{directory}/agent"), agent)?;
        for program in programs {
            put(&mut archive, &format!("{directory}/workloads/{}", program.name), &program.bytes)?;
        }
    }
    let mut bytes = archive.into_inner()?;
    bytes.resize(bytes.len().next_multiple_of(UNIT_BYTES), 0);
    Ok(bytes)
}

/// Busybox' tar finds an entry by its name alone, and reports an error for a directory that only
/// its files name.
fn put_directory(archive: &mut tar::Builder<Vec<u8>>, path: &str) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::Directory);
    header.set_size(0);
    header.set_mode(MODE);
    archive.append_data(&mut header, path, io::empty())
}

fn put(archive: &mut tar::Builder<Vec<u8>>, path: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_size(bytes.len() as u64);
    header.set_mode(MODE);
    archive.append_data(&mut header, path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{GuestProgram, System};
    use crate::search_path;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;
    use std::process::Command;
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

    #[test]
    fn every_tar_unpacks_it_and_its_first_file_is_the_script() {
        let programs = |said: &str, byte: u8| Programs {
            system: System::parse(said).unwrap(),
            agent: b"agent".to_vec(),
            programs: vec![GuestProgram { name: "x".to_owned(), bytes: vec![byte; 1000] }],
        };
        let disk = bytes(&[programs("Linux x86_64", 7), programs("NetBSD amd64", 8)]).unwrap();
        assert!(disk.starts_with(START_NAME.as_bytes()) && disk.len() == UNIT_BYTES);
        assert_eq!(&disk[512..512 + START.len()], START.as_bytes());
        assert!(START.ends_with("\nexit\n"), "what comes after it on the disk is not run");
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("disk");
        std::fs::write(&file, disk).unwrap();
        let mut tars: Vec<&[&str]> = vec![&["tar"]];
        if search_path::find("busybox").is_some() {
            tars.push(&["busybox", "tar"]);
        }
        for tar in tars {
            let mut command = Command::new(tar[0]);
            command.args(&tar[1..]).arg("-xf").arg(&file).arg("-C").arg(place.path()).arg("x86_64-netbsd");
            assert!(command.status().unwrap().success() && !place.path().join("x86_64-linux").exists(), "{tar:?}");
        }
        assert_eq!(std::fs::read(place.path().join("x86_64-netbsd/workloads/x")).unwrap(), [8; 1000]);
        let mode = place.path().join("x86_64-netbsd/agent").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
