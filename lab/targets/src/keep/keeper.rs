//! The keeper, a process between us and a workload or emulator. No process survives us, even if
//! SIGKILL ends us.
//!
//! The keeper holds one end of a socket (its standard input), and we hold the other. Its duties, in
//! order:
//!
//! - It creates the scratch directory, sends us the present value of each system setting, and
//!   writes the settings.
//! - It starts the workload. A byte from us makes it ask the workload to end (SIGTERM). When our
//!   end closes, for any reason, it kills the workload and all its descendants.
//! - When all processes of the workload are gone, it restores the settings, removes the scratch
//!   directory, and reports the ending, the settings that it could not restore, and what the host
//!   lacked at a failure, one per line.
//! - If we do not acknowledge the report, because we were killed, it also removes the directory
//!   that we would have removed.
//!
//! On Linux it adopts orphans (`PR_SET_CHILD_SUBREAPER`), so it also finds processes that left
//! their group. On other systems it finally kills its own process group, which contains the
//! workload. If the keeper itself is killed, the kernel kills the workload (Linux). We then kill
//! the group, and every other process that carries the execution's identifier in its environment,
//! and restore the settings. If we are killed too, the keeper's guard kills those processes
//! (Linux), and the next command restores the settings.

use crate::lack::{self, Lack};
use crate::sandbox::{self, NotMade, Sandbox};
use crate::system_settings::{self, Before};
pub(super) use account::{Account, Told};
use account::{before_line, lack_line};
use guard::{GUARD, Guard};
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

mod account;
mod guard;

/// The first argument that makes a program the keeper.
pub const ARGUMENT: &str = "__keep";

/// The environment variable that identifies the processes of an execution.
pub(super) const MARK_VARIABLE: &str = "FAULTLINE_EXECUTION";

/// Our request that the workload end.
pub(super) const ASK_TO_END: &[u8] = b"e";

/// Our acknowledgement of the keeper's report.
pub(super) const HEARD: &[u8] = b"h";

/// The lack of a host on which a killed process does not end.
pub(super) const SURVIVES: &str = "a process of the program survives being killed";

/// Time limit for killed processes to disappear. A process in an uninterruptible wait can take
/// longer.
const KILL_LIMIT: Duration = Duration::from_secs(5);

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

    /// The identifier with this name.
    pub(super) fn named(name: &str) -> Self {
        Mark(name.to_owned())
    }

    pub(super) fn name(&self) -> &str {
        &self.0
    }

    /// Kills until no process carries the identifier, or until the time limit.
    pub(super) fn kill_all(&self) {
        let until = Instant::now() + KILL_LIMIT;
        while self.kill_processes() && Instant::now() < until {
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Kills every process that carries the identifier, according to `/proc`; none if there is no
    /// `/proc`. True if there was one.
    pub(super) fn kill_processes(&self) -> bool {
        let mut is_found = false;
        let wanted = format!("{MARK_VARIABLE}={}", self.0);
        for (process, _) in processes() {
            let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            if environment.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes()) {
                is_found = true;
                // Fails if the process is already gone, as intended.
                let _ = kill_process(process, Signal::KILL);
            }
        }
        is_found
    }
}

/// The keeper's arguments.
struct Request {
    /// The scratch directory to create for the program.
    scratch: PathBuf,
    /// The caller's directory; may be empty.
    callers: OsString,
    /// Settings by the paths of their files.
    settings: Vec<(String, String)>,
    /// File of the network namespace of the execution.
    namespace: Option<PathBuf>,
    sandbox: Option<Sandbox>,
    program: OsString,
    arguments: Vec<OsString>,
}

/// Name prefix of the program's variables in the keeper's environment. A command line would be
/// public, and some variables are secrets.
const OF_PROGRAM: &str = "FAULTLINE_OF_PROGRAM_";

/// The name of a variable of the program in the keeper's environment.
pub(super) fn of_program(name: &str) -> String {
    format!("{OF_PROGRAM}{name}")
}

/// The program's variables in an environment: the prefixed name, the own name, and the value.
fn variables_of_program(
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString, OsString)> {
    let own = |name: &OsString| {
        name.as_bytes().strip_prefix(OF_PROGRAM.as_bytes()).map(|own| OsStr::from_bytes(own).to_owned())
    };
    let named = |name: &OsString| own(name).filter(|own| !own.is_empty());
    environment.filter_map(|(name, value)| named(&name).map(|own| (name, own, value))).collect()
}

/// Words in the keeper's arguments: two words of a setting follow, the file of a network namespace
/// follows, or the program and its arguments follow. [`sandbox::WORD`] is another one.
pub(super) const SETTING: &str = "setting";
pub(super) const NAMESPACE: &str = "namespace";
pub(super) const PROGRAM: &str = "program";

impl Request {
    fn read(mut words: impl Iterator<Item = OsString>) -> Option<Self> {
        let (scratch, callers) = (words.next()?.into(), words.next()?);
        let (mut settings, mut namespace, mut sandbox) = (Vec::new(), None, None::<Sandbox>);
        loop {
            let kind = words.next()?;
            if kind == OsStr::new(PROGRAM) {
                let program = words.next()?;
                let arguments = words.collect();
                return Some(Request { scratch, callers, settings, namespace, sandbox, program, arguments });
            }
            if kind == OsStr::new(NAMESPACE) {
                namespace = Some(words.next()?.into());
                continue;
            }
            let (name, value) = (words.next()?, words.next()?);
            if kind == OsStr::new(sandbox::WORD) {
                sandbox.get_or_insert_default().add(&name, value)?;
                continue;
            }
            match kind.to_str()? {
                SETTING => settings.push((name.into_string().ok()?, value.into_string().ok()?)),
                _ => return None,
            }
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        if let Some(sandbox) = &self.sandbox {
            command.env_clear().envs(sandbox::variables(std::env::vars_os(), sandbox.has_network));
        }
        for (name, own, value) in variables_of_program(std::env::vars_os()) {
            command.env_remove(name).env(own, value);
        }
        // The variable identifies the processes if the keeper is killed.
        if let Some(mark) = std::env::var_os(MARK_VARIABLE) {
            command.env(MARK_VARIABLE, mark);
        }
        command
    }
}

/// Runs the keeper. `arguments`: the scratch directory to create; the caller's directory, or an
/// empty word; any number of `setting PATH VALUE`, `namespace FILE` and `sandbox KIND VALUE`;
/// `program`, the program, its arguments. The program's own variables are in the environment
/// ([`of_program`]).
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    run_below(arguments, &system_settings::ROOTS.map(Path::new))
}

/// [`run`] with settings below other directories, for tests without privileges.
#[doc(hidden)]
pub fn run_below(arguments: impl Iterator<Item = OsString>, roots: &[&Path]) -> ExitCode {
    let mut arguments = arguments.peekable();
    if arguments.next_if(|first| first == GUARD).is_some() {
        return guard::run(arguments);
    }
    let Some(request) = Request::read(arguments) else { return ExitCode::from(2) };
    let Ok(mut socket) = take_socket() else { return ExitCode::from(2) };
    adopt_orphans();
    let scratch = &request.scratch;
    let mut before = Vec::new();
    let guard = Guard::start(scratch, &request.callers);
    let events = watch_socket(&socket);
    let watch = lack::Watch::begin();
    let (told, mut lack) = match std::fs::DirBuilder::new().mode(0o700).create(scratch) {
        Ok(()) => {
            let entered = request.namespace.as_deref().map_or(Ok(()), enter);
            match entered.and_then(|()| set(&request.settings, roots, &mut socket, &mut before)) {
                Ok(()) => keep(&events, &request, guard.as_ref()),
                Err(text) => (Told::NotStarted(text), None),
            }
        }
        Err(error) => {
            let text = format!("no scratch directory {}: {error}", scratch.display());
            (Told::NotStarted(text.clone()), Some(Lack::present(text)))
        }
    };
    // Before the scratch directory is removed, which may make room.
    if lack.is_none() && !matches!(told, Told::Status(0) | Told::NotStarted(_)) {
        lack = watch.lack(&[scratch, Path::new("."), &std::env::temp_dir()]);
    }
    let left = system_settings::put_back_all(&before);
    // Errors are ignored: no process of the workload is left that could use the directory.
    let _ = sandbox::remove_scratch(scratch);
    let left: String = left.iter().map(|text| format!("left {text}\n")).collect();
    let lack = lack.as_ref().map_or_else(String::new, lack_line);
    let is_heard = socket.write_all((left + &lack + &told.line()).as_bytes()).is_ok();
    let is_kept = request.callers.is_empty() || (is_heard && is_acknowledged(&mut socket, &events));
    if !is_kept {
        let _ = std::fs::remove_dir_all(&request.callers);
    }
    if let Some(guard) = guard {
        guard.end();
    }
    kill_own_group();
    ExitCode::SUCCESS
}

/// Enters the network namespace of a file, for everything that is started and set afterwards. Fails
/// with a text.
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

/// Writes the settings, each after the previous value was sent and added to `before`. Fails with a
/// text.
fn set(
    settings: &[(String, String)],
    roots: &[&Path],
    socket: &mut UnixStream,
    before: &mut Vec<Before>,
) -> Result<(), String> {
    for (path, value) in settings {
        let file = system_settings::find(path, roots)?;
        let was = Before::read(&file)?;
        socket.write_all(before_line(&was).as_bytes()).map_err(|error| format!("the caller is gone: {error}"))?;
        before.push(was);
        system_settings::write(&file, value)?;
    }
    Ok(())
}

/// Our end of the socket, which is standard input.
fn take_socket() -> std::io::Result<UnixStream> {
    let descriptor = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3)?;
    Ok(UnixStream::from(descriptor))
}

/// Waits until the caller has read the report. False if the caller was killed before. A report in
/// the socket is not enough: a caller that is stopped, or waits for a CPU, may be killed before it
/// reads.
fn is_acknowledged(socket: &mut UnixStream, events: &Events) -> bool {
    close_output();
    loop {
        match events.receiver.recv() {
            Ok(Woken::Heard) => return true,
            // A caller that has stopped the program closes one direction only; then the write
            // succeeds.
            Ok(Woken::Abandoned) | Err(_) => return socket.write_all(b"\n").is_ok(),
            Ok(Woken::Asked | Woken::Ended(_)) => {}
        }
    }
}

/// Closes the pipes of standard output and standard error, which the caller reads until the end.
fn close_output() {
    let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") else { return };
    let _ = rustix::stdio::dup2_stdout(&null).and_then(|()| rustix::stdio::dup2_stderr(&null));
}

/// Runs the program until it ends. Also returns the lack of this host that kept it from starting.
fn keep(events: &Events, request: &Request, guard: Option<&Guard>) -> (Told, Option<Lack>) {
    let mut command = request.command();
    command.stdin(Stdio::null());
    let not_made = |how: &NotMade| {
        let text = how.text();
        (Told::NotStarted(text.clone()), Some(Lack::present(text)))
    };
    let entered = match enter_sandbox(request, &mut command) {
        Ok(entered) => entered,
        Err(how) => return not_made(&how),
    };
    // Afterwards: a new user namespace resets it.
    die_with_parent(&mut command);
    let spawned = command.spawn();
    drop(command);
    let child = match spawned {
        Ok(child) => child,
        Err(error) => {
            if let Some(how) = entered.and_then(|entered| entered.not_made(&error)) {
                return not_made(&how);
            }
            let lack = lack::is_error(&error).then(|| Lack::present(format!("cannot start a program: {error}")));
            return (Told::NotStarted(error.to_string()), lack);
        }
    };
    let process = Pid::from_child(&child);
    watch_child(child, events.sender.clone());
    let guard = guard.map(Guard::process);
    let told = wait_for_end(events, process, guard);
    let lack = (!kill_the_rest(guard)).then(|| Lack::present(SURVIVES.to_owned()));
    (told, lack)
}

/// Makes the command enter the sandbox of the request, if it has one.
#[cfg(target_os = "linux")]
fn enter_sandbox(request: &Request, command: &mut Command) -> Result<Option<sandbox::Failed>, NotMade> {
    let Some(wanted) = &request.sandbox else { return Ok(None) };
    let variables = variables_of_program(std::env::vars_os());
    let values = variables.iter().map(|(_, _, value)| value);
    let environment = |name: &str| std::env::var_os(of_program(name)).or_else(|| std::env::var_os(name));
    let words = [&request.program].into_iter().chain(&request.arguments).chain(values).map(OsString::as_os_str);
    let entrance = sandbox::Entrance::prepare(wanted, words.collect(), &environment, &request.scratch)?;
    entrance.enter_with(command).map(Some).map_err(NotMade::failed)
}

#[cfg(not(target_os = "linux"))]
fn enter_sandbox(request: &Request, _command: &mut Command) -> Result<Option<sandbox::Failed>, NotMade> {
    request.sandbox.as_ref().map_or(Ok(None), |_| Err(NotMade::refused("it has no namespaces")))
}

/// An event for the keeper.
enum Woken {
    /// The program ended.
    Ended(ExitStatus),
    /// [`ASK_TO_END`] arrived.
    Asked,
    /// [`HEARD`] arrived.
    Heard,
    /// The caller's end was closed.
    Abandoned,
}

/// The keeper's events.
struct Events {
    sender: Sender<Woken>,
    receiver: Receiver<Woken>,
}

fn watch_child(mut child: Child, sender: Sender<Woken>) {
    thread::spawn(move || {
        if let Ok(status) = child.wait() {
            let _ = sender.send(Woken::Ended(status));
        }
    });
}

/// Events of the socket. When the caller's end closes, the read returns the end of the file.
fn watch_socket(socket: &UnixStream) -> Events {
    let (sender, receiver) = channel();
    let events = Events { sender: sender.clone(), receiver };
    let Ok(mut socket) = socket.try_clone() else { return events };
    thread::spawn(move || {
        let mut byte = [0; 1];
        while let Ok(1..) = socket.read(&mut byte) {
            let _ = sender.send(if byte == *HEARD { Woken::Heard } else { Woken::Asked });
        }
        let _ = sender.send(Woken::Abandoned);
    });
    events
}

/// `process`: the workload's own process.
fn wait_for_end(Events { sender, receiver }: &Events, process: Pid, guard: Option<Pid>) -> Told {
    loop {
        match receiver.recv() {
            Ok(Woken::Ended(status)) => return end_report(status),
            // Fails if the process is already gone, as intended.
            Ok(Woken::Asked) => drop(kill_process(process, Signal::TERM)),
            Ok(Woken::Heard) => {}
            Ok(Woken::Abandoned) | Err(_) => break,
        }
    }
    kill_descendants(guard);
    let ended = receiver.recv_timeout(KILL_LIMIT);
    // For the acknowledgement, which will not come. Sending never fails: the receiver is here.
    let _ = sender.send(Woken::Abandoned);
    match ended {
        Ok(Woken::Ended(status)) => end_report(status),
        Ok(Woken::Asked | Woken::Heard | Woken::Abandoned)
        | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Told::Signal(Signal::KILL.as_raw()),
    }
}

fn end_report(status: ExitStatus) -> Told {
    match (status.code(), status.signal()) {
        (Some(code), _) => Told::Status(code),
        (None, signal) => Told::Signal(signal.unwrap_or(0)),
    }
}

/// Kills and reaps until no process of the workload is left, or until the time limit. True if none
/// is left.
fn kill_the_rest(guard: Option<Pid>) -> bool {
    let until = Instant::now() + KILL_LIMIT;
    while Instant::now() < until {
        let is_last = !kill_descendants(guard);
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            // Only the guard is left.
            Ok(None) if is_last => return true,
            Ok(None) => thread::sleep(Duration::from_millis(2)),
            // No child is left, including adopted ones.
            Err(_) => return true,
        }
    }
    false
}

/// Kills all descendants except the guard. True if there were any, dead ones included.
fn kill_descendants(guard: Option<Pid>) -> bool {
    let mut is_found = false;
    for process in descendants().into_iter().filter(|process| Some(*process) != guard) {
        is_found = true;
        // Fails if the process is already gone, as intended.
        let _ = kill_process(process, Signal::KILL);
    }
    is_found
}

/// The keeper's last action on systems without a list of descendants: kills its own group.
#[cfg(not(target_os = "linux"))]
fn kill_own_group() {
    let _ = rustix::process::kill_current_process_group(Signal::KILL);
}

#[cfg(target_os = "linux")]
fn kill_own_group() {}

#[cfg(target_os = "linux")]
fn adopt_orphans() {
    // Fails only on kernels before 3.4, where the process group is still killed.
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
        // The keeper may have died before the line above. Then the signal would never be sent.
        if rustix::process::getppid() != Some(keeper) {
            return Err(std::io::Error::from(rustix::io::Errno::SRCH));
        }
        Ok(())
    };
    // SAFETY:
    // 1. `prepare` runs in the forked child before exec, where only async-signal-safe work is
    //    allowed.
    // 2. It makes two system calls (prctl, getppid), allocates nothing and takes no lock; its error
    //    is built from a number.
    unsafe {
        command.pre_exec(prepare);
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_command: &mut Command) {}

/// All descendants of this process, according to `/proc`; none without `/proc`.
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
    // The name in brackets may contain anything. The fields after the last bracket are: state,
    // parent.
    let after_name = &stat[stat.rfind(')')? + 1..];
    Pid::from_raw(after_name.split_whitespace().nth(1)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn variables_of_the_program_are_distinguished_from_those_of_the_keeper() {
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
