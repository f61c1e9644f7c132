//! A process between us and a workload or emulator. It ensures that no process survives us, even if we are killed by SIGKILL.
//!
//! It holds one end of a socket (its standard input), and we hold the other. It reports the workload's end over it, as a line. A byte
//! from us makes it ask the workload to end (SIGTERM). When our end closes, for any reason, the keeper kills the workload
//! and all its descendants. It also creates the scratch directory, and removes it. If nobody reads its report, because
//! we were killed, it also removes the directory that we would have removed. Before the workload starts, it writes the system settings. It first
//! sends us the value of each one. When all processes of the workload are gone, it restores the settings, and reports those that it could
//! not restore. On Linux it adopts orphans (`PR_SET_CHILD_SUBREAPER`), so it also finds processes that left their group. On other systems
//! it finally kills its own process group, which contains the workload. If the keeper itself is killed, the kernel kills
//! the workload (Linux). We then kill the group, and every other process that carries the execution's identifier in its environment,
//! and restore the settings.

use crate::system_settings::{self, Before};
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

/// The first argument that makes a program the keeper.
pub const ARGUMENT: &str = "__keep";

/// The environment variable that identifies the processes of an execution.
pub(super) const MARK_VARIABLE: &str = "FAULTLINE_EXECUTION";

/// The byte that we send to make it ask the workload to end.
pub(super) const ASK_TO_END: &[u8] = b"e";

/// How long to wait for killed processes to disappear. A process in an uninterruptible wait can take longer than anyone wants to wait.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// How the kept program ended, as the keeper reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// With an exit status.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// It could not be started.
    NotStarted(String),
}

impl Told {
    fn read(kind: &str, rest: &str) -> Option<Self> {
        match kind {
            "status" => rest.parse().ok().map(Told::Status),
            "signal" => rest.parse().ok().map(Told::Signal),
            "not-started" => Some(Told::NotStarted(rest.to_owned())),
            _ => None,
        }
    }

    fn line(&self) -> String {
        match self {
            Told::Status(status) => format!("status {status}\n"),
            Told::Signal(signal) => format!("signal {signal}\n"),
            Told::NotStarted(text) => format!("not-started {text}\n"),
        }
    }
}

/// Everything that a keeper reports, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Account {
    /// Previous values of settings; each is reported before it is written.
    pub(super) before: Vec<Before>,
    /// Settings that could not be restored, in words.
    pub(super) left: Vec<String>,
    /// How the program ended. This is the last line: once it is there, the settings have been restored.
    pub(super) told: Option<Told>,
}

impl Account {
    /// Reads the lines that the keeper wrote. A line that was cut off is ignored.
    pub(super) fn read(heard: &str) -> Self {
        let mut account = Account::default();
        for line in heard.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            let Some((kind, rest)) = line.split_once(' ') else { continue };
            match kind {
                "was" => account.before.extend(read_before(rest)),
                "left" => account.left.push(rest.to_owned()),
                _ => account.told = Told::read(kind, rest),
            }
        }
        account
    }
}

/// A resolved path and a one-line value contain no NUL character.
fn before_line(before: &Before) -> String {
    format!("was {}\0{}\n", before.file.display(), before.value)
}

fn read_before(text: &str) -> Option<Before> {
    let (file, value) = text.split_once('\0')?;
    Some(Before { file: PathBuf::from(file), value: value.to_owned() })
}

/// The identifier of one execution, unique on this machine.
#[derive(Debug)]
pub(super) struct Mark(String);

impl Mark {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: the numbers only need to differ, and a read-modify-write gives each one its own.
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Mark(format!("faultline-{}-{:x}-{count}", std::process::id(), since.as_nanos()))
    }

    pub(super) fn name(&self) -> &str {
        &self.0
    }

    /// Kills every process that carries the identifier, according to `/proc`; none if there is no `/proc`.
    pub(super) fn kill_processes(&self) {
        let wanted = format!("{MARK_VARIABLE}={}", self.0);
        for (process, _) in processes() {
            let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            if environment.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes()) {
                // Fails if the process is already gone, which is what we want.
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }
}

/// The keeper's arguments.
struct Request {
    /// The scratch directory to create for the program.
    scratch: PathBuf,
    /// A directory of the caller; may be empty.
    callers: OsString,
    /// Settings by the paths of their files.
    settings: Vec<(String, String)>,
    /// The file of the network namespace in which all of this happens.
    namespace: Option<PathBuf>,
    program: OsString,
    arguments: Vec<OsString>,
}

/// What the name of a variable begins with, in the keeper's environment, that is the program's. Everybody may read a command line, and some variables are secrets.
const OF_PROGRAM: &str = "FAULTLINE_OF_PROGRAM_";

/// The name of a variable of the program in the keeper's environment.
pub(super) fn of_program(name: &str) -> String {
    format!("{OF_PROGRAM}{name}")
}

/// The program's variables in an environment, by their names there and their own.
fn variables_of_program(
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString, OsString)> {
    let own = |name: &OsString| {
        name.as_bytes().strip_prefix(OF_PROGRAM.as_bytes()).map(|own| OsStr::from_bytes(own).to_owned())
    };
    let named = |name: &OsString| own(name).filter(|own| !own.is_empty());
    environment.filter_map(|(name, value)| named(&name).map(|own| (name, own, value))).collect()
}

/// Words that say what the two following words are, that the file of a network namespace follows, or that the program and its arguments follow.
pub(super) const SETTING: &str = "setting";
pub(super) const NAMESPACE: &str = "namespace";
pub(super) const PROGRAM: &str = "program";

impl Request {
    fn read(mut words: impl Iterator<Item = OsString>) -> Option<Self> {
        let (scratch, callers) = (words.next()?.into(), words.next()?);
        let (mut settings, mut namespace) = (Vec::new(), None);
        loop {
            let kind = words.next()?;
            if kind == OsStr::new(PROGRAM) {
                let program = words.next()?;
                let arguments = words.collect();
                return Some(Request { scratch, callers, settings, namespace, program, arguments });
            }
            if kind == OsStr::new(NAMESPACE) {
                namespace = Some(words.next()?.into());
                continue;
            }
            let (name, value) = (words.next()?, words.next()?);
            match kind.to_str()? {
                SETTING => settings.push((name.into_string().ok()?, value.into_string().ok()?)),
                _ => return None,
            }
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        for (name, own, value) in variables_of_program(std::env::vars_os()) {
            command.env_remove(name).env(own, value);
        }
        // We find processes by it if the keeper is killed.
        if let Some(mark) = std::env::var_os(MARK_VARIABLE) {
            command.env(MARK_VARIABLE, mark);
        }
        command
    }
}

/// Runs the keeper. `arguments`: the scratch directory to create; a directory of the caller, or an empty word; any number of
/// `setting PATH VALUE` and `namespace FILE`; `program`, the program, its arguments. The program's own variables are in the environment ([`of_program`]).
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    run_below(arguments, &system_settings::ROOTS.map(Path::new))
}

/// The same with settings below other directories, for tests without privileges.
#[doc(hidden)]
pub fn run_below(arguments: impl Iterator<Item = OsString>, roots: &[&Path]) -> ExitCode {
    let Some(request) = Request::read(arguments) else { return ExitCode::from(2) };
    let Ok(mut socket) = take_socket() else { return ExitCode::from(2) };
    adopt_orphans();
    let scratch = &request.scratch;
    let mut before = Vec::new();
    let told = match std::fs::DirBuilder::new().mode(0o700).create(scratch) {
        Ok(()) => {
            let entered = request.namespace.as_deref().map_or(Ok(()), enter);
            match entered.and_then(|()| set(&request.settings, roots, &mut socket, &mut before)) {
                Ok(()) => keep(&socket, &mut request.command()),
                Err(text) => Told::NotStarted(text),
            }
        }
        Err(error) => Told::NotStarted(format!("no scratch directory {}: {error}", scratch.display())),
    };
    let left = system_settings::put_back_all(&before);
    // No process of the workload is left to use it, or to be told that it could not be removed.
    let _ = std::fs::remove_dir_all(scratch);
    let left: String = left.iter().map(|text| format!("left {text}\n")).collect();
    let is_heard = socket.write_all((left + &told.line()).as_bytes()).is_ok();
    // If our other end was killed, nobody listens any more.
    if !is_heard && !request.callers.is_empty() {
        let _ = std::fs::remove_dir_all(&request.callers);
    }
    kill_own_group();
    ExitCode::SUCCESS
}

/// Enters the network namespace of a file, with everything that is started and set from here on. Fails in words.
#[cfg(target_os = "linux")]
fn enter(namespace: &Path) -> Result<(), String> {
    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
    use std::os::fd::AsFd;

    let entered = std::fs::File::open(namespace)
        .and_then(|file| Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?));
    entered.map_err(|error| format!("the network namespace {}: {error}", namespace.display()))
}

#[cfg(not(target_os = "linux"))]
fn enter(_namespace: &Path) -> Result<(), String> {
    Err("this system has no network namespaces".to_owned())
}

/// Writes the settings, each after the other end and `before` have its previous value. Fails in words.
fn set(
    settings: &[(String, String)],
    roots: &[&Path],
    socket: &mut UnixStream,
    before: &mut Vec<Before>,
) -> Result<(), String> {
    for (path, value) in settings {
        let file = system_settings::find(path, roots)?;
        let was = Before::read(&file)?;
        socket.write_all(before_line(&was).as_bytes()).map_err(|error| format!("nobody listens: {error}"))?;
        before.push(was);
        system_settings::write(&file, value)?;
    }
    Ok(())
}

/// Our end of the socket, which was passed as standard input.
fn take_socket() -> std::io::Result<UnixStream> {
    let descriptor = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3)?;
    Ok(UnixStream::from(descriptor))
}

fn keep(socket: &UnixStream, command: &mut Command) -> Told {
    command.stdin(Stdio::null());
    die_with_parent(command);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Told::NotStarted(error.to_string()),
    };
    let process = Pid::from_child(&child);
    let (sender, events) = channel();
    watch_child(child, sender.clone());
    watch_socket(socket, sender);
    let told = wait_for_end(&events, process);
    kill_the_rest();
    told
}

/// What the keeper waits for.
enum Woken {
    Ended(ExitStatus),
    Asked,
    Abandoned,
}

fn watch_child(mut child: Child, sender: Sender<Woken>) {
    thread::spawn(move || {
        if let Ok(status) = child.wait() {
            let _ = sender.send(Woken::Ended(status));
        }
    });
}

/// The other end sends nothing but [`ASK_TO_END`]. When it closes, the read returns the end of the file.
fn watch_socket(socket: &UnixStream, sender: Sender<Woken>) {
    let Ok(mut socket) = socket.try_clone() else { return };
    thread::spawn(move || {
        while let Ok(1..) = socket.read(&mut [0; ASK_TO_END.len()]) {
            let _ = sender.send(Woken::Asked);
        }
        let _ = sender.send(Woken::Abandoned);
    });
}

/// `process`: the workload's own process.
fn wait_for_end(events: &Receiver<Woken>, process: Pid) -> Told {
    loop {
        match events.recv() {
            Ok(Woken::Ended(status)) => return told(status),
            // Fails if it is already gone, which is what was asked for.
            Ok(Woken::Asked) => drop(kill_process(process, Signal::TERM)),
            Ok(Woken::Abandoned) | Err(_) => break,
        }
    }
    kill_descendants();
    match events.recv_timeout(KILL_LIMIT) {
        Ok(Woken::Ended(status)) => told(status),
        Ok(Woken::Asked | Woken::Abandoned) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            Told::Signal(Signal::KILL.as_raw())
        }
    }
}

fn told(status: ExitStatus) -> Told {
    match (status.code(), status.signal()) {
        (Some(code), _) => Told::Status(code),
        (None, signal) => Told::Signal(signal.unwrap_or(0)),
    }
}

/// Kills and reaps until no process of the workload is left.
fn kill_the_rest() {
    let until = Instant::now() + KILL_LIMIT;
    while Instant::now() < until {
        kill_descendants();
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => thread::sleep(Duration::from_millis(2)),
            // No child is left, adopted ones included.
            Err(_) => return,
        }
    }
}

fn kill_descendants() {
    for process in descendants() {
        // Fails if it is already gone, which is what we want.
        let _ = kill_process(process, Signal::KILL);
    }
}

/// The keeper's last action on systems where it cannot find its descendants: it kills the group that it belongs to.
#[cfg(not(target_os = "linux"))]
fn kill_own_group() {
    let _ = rustix::process::kill_current_process_group(Signal::KILL);
}

#[cfg(target_os = "linux")]
fn kill_own_group() {}

#[cfg(target_os = "linux")]
fn adopt_orphans() {
    // Fails only on kernels before 3.4; the process group is still killed there.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() {}

/// Makes the kernel kill the workload when the keeper is killed.
#[cfg(target_os = "linux")]
fn die_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;

    let keeper = rustix::process::getpid();
    let prepare = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The keeper may have died before the line above. Then nobody would ever send the signal.
        if rustix::process::getppid() != Some(keeper) {
            return Err(std::io::Error::from(rustix::io::Errno::SRCH));
        }
        Ok(())
    };
    // SAFETY:
    // 1. `prepare` runs in the forked child before exec, where only async-signal-safe work is allowed.
    // 2. It makes two system calls (prctl, getppid), allocates nothing and takes no lock; its error is built from a number.
    unsafe {
        command.pre_exec(prepare);
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_command: &mut Command) {}

/// All descendants of this process, according to `/proc`; none if there is no `/proc`.
fn descendants() -> Vec<Pid> {
    let pairs = processes();
    let mut found = vec![rustix::process::getpid()];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(pairs.iter().filter(|(_, of)| *of == Some(parent)).map(|(process, _)| *process));
        next += 1;
    }
    found.split_off(1)
}

/// Every process with its parent.
fn processes() -> Vec<(Pid, Option<Pid>)> {
    let Ok(directory) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = directory.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter_map(|number| Some((Pid::from_raw(number)?, parent_of(number)))).collect()
}

fn parent_of(process: i32) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in brackets may contain anything. The fields after the last bracket are: state, parent.
    let after_name = &stat[stat.rfind(')')? + 1..];
    Pid::from_raw(after_name.split_whitespace().nth(1)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_reads_back() {
        let before = vec![Before { file: "/proc/sys/a b".into(), value: "1\t2".into() }];
        let left = vec!["it can't be".to_owned()];
        for told in [Told::Status(71), Told::Signal(9), Told::NotStarted("No such file or directory".into())] {
            let heard = format!("{}left it can't be\n{}", before_line(&before[0]), told.line());
            assert_eq!(Account::read(&heard), Account { before: before.clone(), left: left.clone(), told: Some(told) });
        }
        assert_eq!(Account::read("nonsense"), Account::default());
    }

    #[test]
    fn what_is_cut_off_is_not_believed() {
        assert_eq!(Account::read("status 7"), Account::default());
        assert_eq!(Account::read("was /proc/sys/x\x005").before, []);
    }

    #[test]
    fn requests_are_read_up_to_the_program() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>().into_iter();
        let request = Request::read(words("/s  setting /p 2 program x setting y")).unwrap();
        assert_eq!((request.settings, request.namespace), (vec![("/p".into(), "2".into())], None));
        assert_eq!((request.program, request.arguments), ("x".into(), vec!["setting".into(), "y".into()]));
        let request = Request::read(words("/s  namespace /n program x")).unwrap();
        assert_eq!((request.namespace, request.program), (Some("/n".into()), "x".into()));
        for broken in
            ["/s", "/s ", "/s  x", "/s  setting A", "/s  program", "/s  namespace program", "/s  other A 1 program x"]
        {
            assert!(Request::read(words(broken)).is_none(), "{broken}");
        }
    }

    #[test]
    fn variables_of_the_program_are_told_from_those_of_the_keeper() {
        let environment = [("A", "1"), (&of_program("A"), "2"), (OF_PROGRAM, "3")];
        let environment = environment.map(|(name, value)| (name.into(), value.into()));
        let found = variables_of_program(environment.into_iter());
        assert_eq!(found, [(of_program("A").into(), "A".into(), "2".into())]);
    }

    #[test]
    fn a_child_of_ours_is_among_our_descendants() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let found = descendants();
        child.kill().unwrap();
        let process = Pid::from_child(&child);
        child.wait().unwrap();
        assert!(found.contains(&process));
    }
}
