//! A disk image of any system as a target: it boots in the emulator with its own loader
//! (`qemu::disk`), and is reached over SSH like a host, or at its serial console (`serial`). A
//! panic, a hang or a lost connection of its system is the execution's outcome; the machine is
//! switched off, and on again before the next execution.

use super::client::{self, Emulated};
use super::complaint::{NotConnected, Why};
use super::machine::{SshMachine, SshPaths};
use super::reach::Reach;
use super::serial::{self, Password, SerialLine};
use crate::agent::Programs;
use crate::execution::LineSink;
use crate::keep::Deadline;
use crate::qemu::{
    DiskMachine, EMULATOR_VERSION, Emulator, Entrance, Way, channel_socket, disk_arguments, facts_of_host, free_port,
    readable_image,
};
use crate::{Ending, Execution, StopFlag, Target, TargetError};
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::machine::{DiskImage, ImageBoots, LoginAt};
use faultline_record::outcome::GuestFailure;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time limit for one login, with the transfer of the agent and the programs (about 14 MB).
const TRIAL_LIMIT: Duration = Duration::from_secs(300);

/// Time limit for the server's answer in the first trial. Each further one doubles it, up to the
/// longest: a system that comes up soon is found soon, and trials do not overload one on a busy
/// host.
const FIRST_CONNECT_LIMIT_S: u64 = 5;
const LONGEST_CONNECT_LIMIT_S: u64 = 120;

/// Time between two trials.
const TRIAL_INTERVAL: Duration = Duration::from_secs(1);

/// Time limit for the console's reason after a lost connection.
const CONSOLE_DELAY: Duration = Duration::from_secs(2);

/// Interval between checks of the console meanwhile, and for a stop.
const POLL: Duration = Duration::from_millis(100);

/// Message of OpenSSH's client for a system that no longer answers.
const SILENCE: [&str; 2] = ["not responding", "does not answer"];

/// An image that has booted at least once.
#[derive(Debug)]
pub struct ImageMachine {
    booting: Booting,
    /// `None` while it is used, and when it is off.
    running: Mutex<Option<Running>>,
    cpus: Vec<u32>,
    facts: Facts,
    workloads: Vec<WorkloadInfo>,
    boot: Duration,
}

/// The inputs of a boot.
#[derive(Debug)]
struct Booting {
    image: DiskImage,
    paths: SshPaths,
    emulator: Emulator,
    login: Login,
}

/// Login method.
#[derive(Debug)]
enum Login {
    /// With OpenSSH's client.
    Ssh(PathBuf),
    /// At the serial console.
    Serial(Option<Password>),
}

impl Login {
    /// Fails if the client or the password is missing.
    fn of(image: &DiskImage) -> Result<Self, TargetError> {
        match &image.login_at {
            LoginAt::Ssh => Ok(Login::Ssh(client::find()?)),
            LoginAt::Serial { password } => Ok(Login::Serial(password.as_deref().map(Password::read).transpose()?)),
        }
    }
}

/// A machine that is switched on and reached. The machine is dropped before the connection, which
/// would wait for a silent system.
#[derive(Debug)]
struct Running {
    machine: DiskMachine,
    shell: SshMachine,
}

/// Reason why an image is not up.
struct NotUp {
    error: TargetError,
    console: String,
}

impl ImageMachine {
    /// Switches the image on, which yields its facts and workloads. Fails if the image does not
    /// exist, does not come up, cannot be reached as requested, cannot run the programs, or on a
    /// stop.
    pub fn start(image: DiskImage, paths: SshPaths, emulator: Emulator, stop: &StopFlag) -> Result<Self, TargetError> {
        readable_image(&image)?;
        let login = Login::of(&image)?;
        let booting = Booting { image, paths, emulator, login };
        let began = Instant::now();
        let running = booting.boot(stop).map_err(|not| not.error)?;
        let boot = began.elapsed();
        let (cpus, facts) = (running.shell.cpus().to_owned(), booting.facts(&running.shell));
        let workloads = running.shell.workloads()?;
        Ok(ImageMachine { booting, running: Mutex::new(Some(running)), cpus, facts, workloads, boot })
    }

    /// The running machine, or a new boot.
    fn running(&self, stop: &StopFlag) -> Result<Running, NotUp> {
        // A panic in another thread leaves it valid: it is taken out for use.
        let kept = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        match kept.filter(|running| running.machine.is_on() && running.machine.panic().is_none()) {
            Some(running) => Ok(running),
            None => self.booting.boot(stop),
        }
    }

    fn keep(&self, running: Running) {
        if self.booting.image.boots == ImageBoots::Once {
            *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
        }
    }
}

impl Booting {
    /// Switches it on, and waits until a login succeeds.
    fn boot(&self, stop: &StopFlag) -> Result<Running, NotUp> {
        match &self.login {
            Login::Ssh(client) => {
                let port = free_port().map_err(|problem| self.not_started(&problem))?;
                self.up(Entrance::Port(port), |machine| self.log_in_over_ssh(client, port, machine, stop))
            }
            Login::Serial(password) => {
                let disk = Programs::of_all_systems(&self.paths.guest).and_then(|programs| serial::disk(&programs));
                let disk = disk.map_err(|error| NotUp { error, console: String::new() })?;
                self.up(
                    Entrance::Serial { second_disk: &disk, secret: password.as_ref().map(Password::text) },
                    |machine| self.log_in_at_console(password.clone(), machine, stop),
                )
            }
        }
    }

    fn up(
        &self,
        entrance: Entrance<'_>,
        log_in: impl FnOnce(&DiskMachine) -> Result<SshMachine, NotConnected>,
    ) -> Result<Running, NotUp> {
        let machine = DiskMachine::on(&self.image, entrance, &self.emulator, &self.paths.host)
            .map_err(|problem| self.not_started(&problem))?;
        match log_in(&machine) {
            Ok(shell) => Ok(Running { shell, machine }),
            Err(not) => Err(self.not_up(machine, not)),
        }
    }

    fn not_started(&self, problem: &str) -> NotUp {
        NotUp {
            error: TargetError {
                problem: format!("the image {} could not be started: {problem}", self.image.known_as()),
                hint: "`--qemu FILE` names another emulator".to_owned(),
            },
            console: String::new(),
        }
    }

    fn log_in_at_console(
        &self,
        password: Option<Password>,
        machine: &DiskMachine,
        stop: &StopFlag,
    ) -> Result<SshMachine, NotConnected> {
        let line = SerialLine {
            system: self.image.known_as().to_owned(),
            directory: machine.directory().to_owned(),
            user: self.image.login.user().unwrap_or_default().to_owned(),
            password,
            scratch: self.image.login.scratch().map(str::to_owned),
        };
        let mut limit = Deadline::after(self.image.boot_limit);
        let is_there = || channel_socket(machine.directory()).exists();
        // An emulator that does not start makes no socket.
        while machine.is_on() && !is_there() && !limit.left().is_zero() && !stop.is_set() {
            sleep(POLL);
        }
        SshMachine::reach(Reach::Serial(line), &self.paths, limit.left(), stop)
    }

    /// Its server may not be up yet: there are several trials.
    fn log_in_over_ssh(
        &self,
        client: &Path,
        port: u16,
        machine: &DiskMachine,
        stop: &StopFlag,
    ) -> Result<SshMachine, NotConnected> {
        let at_port = self.image.login.clone().with_host("127.0.0.1").map(|host| host.with_port(port));
        let host = at_port.map_err(|problem| TargetError { problem, hint: String::new() })?;
        let began = Instant::now();
        let mut connect_limit_s = FIRST_CONNECT_LIMIT_S;
        loop {
            let emulated = Some(Emulated { known_as: self.image.known_as().to_owned(), connect_limit_s });
            connect_limit_s = (2 * connect_limit_s).min(LONGEST_CONNECT_LIMIT_S);
            let reach = Reach::Ssh { host: host.clone(), client: client.to_owned(), emulated };
            match SshMachine::reach(reach, &self.paths, TRIAL_LIMIT, stop) {
                Err(not) if not.why == Why::Silent && self.may_come_up(machine, began) && !stop.is_set() => {
                    sleep(TRIAL_INTERVAL);
                }
                reached => return reached,
            }
        }
    }

    fn may_come_up(&self, machine: &DiskMachine, began: Instant) -> bool {
        machine.is_on() && machine.panic().is_none() && began.elapsed() < self.image.boot_limit
    }

    /// Reason why it is not up, from its console if that has one.
    fn not_up(&self, machine: DiskMachine, not: NotConnected) -> NotUp {
        let name = self.image.known_as();
        if not.why == Why::Silent && matches!(self.login, Login::Serial(_)) {
            // The ports are closed before the machine counts as off.
            await_last_words(&machine);
        }
        let (panic, is_on, last) = (machine.panic(), machine.is_on(), machine.last_line());
        let (console, complaint) = machine.off();
        let last = last
            .map_or_else(|| "its serial console stayed empty".to_owned(), |line| format!("its console ends: {line}"));
        // An emulator that continued may have reported another error.
        let problem = match (panic, complaint.filter(|_| !is_on)) {
            (Some(panic), _) => format!("the image {name} panicked while it booted: {panic}"),
            (None, Some(complaint)) => format!("the image {name} could not be started: {complaint}"),
            (None, None) if !is_on => format!("the image {name} shut down during boot; {last}"),
            (None, None) if not.why != Why::Silent => return NotUp { error: not.error, console },
            (None, None) => {
                let limit_s = self.image.boot_limit.as_secs();
                format!("could not log in to the image {name} within {limit_s} s: {}; {last}", not.error.problem)
            }
        };
        let hint = "docs/IMAGES.md lists the requirements of an image; `boot_limit=10m` waits longer, `devices=old` has other devices";
        NotUp { error: TargetError { problem, hint: hint.to_owned() }, console }
    }

    fn facts(&self, shell: &SshMachine) -> Facts {
        let mut facts = Target::facts(shell);
        for (key, value) in facts_of_host(&self.paths.host).0 {
            // The system's own messages come first.
            facts.0.entry(key).or_insert(value);
        }
        let DiskImage { file, accelerator, .. } = &self.image;
        facts.text(EMULATOR_VERSION, self.emulator.version());
        // The port, or the directory, differs in each boot.
        let way = match self.login {
            Login::Ssh(_) => Way::Port(0),
            Login::Serial(_) => Way::Serial(PathBuf::new()),
        };
        let words = disk_arguments(&self.image, &way);
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        facts.text("emulator.arguments", words.join(" "));
        facts.text("emulator.accelerator", accelerator.word());
        facts.text("image.login", self.image.login_at.word());
        facts.text("image.file", file.to_string_lossy());
        if let Ok(about) = file.metadata() {
            facts.count("image.bytes", i64::try_from(about.len()).unwrap_or(i64::MAX));
            // Another image of the same size is another system.
            facts.count("image.modified_s", about.mtime());
        }
        facts.text("virtualisation.kind", "hypervisor");
        facts.text("virtualisation.hypervisor", format!("QEMU, {}", accelerator.word().to_uppercase()));
        facts
    }
}

/// Waits for the console's reason for a lost connection.
fn await_last_words(machine: &DiskMachine) {
    let began = Instant::now();
    while began.elapsed() < CONSOLE_DELAY && machine.is_on() && machine.panic().is_none() {
        sleep(POLL);
    }
}

impl Running {
    /// Reason for a lost connection. The machine is switched off.
    fn failed(self, lost: &str) -> Ending {
        await_last_words(&self.machine);
        let Running { shell, machine } = self;
        let (panic, is_on) = (machine.panic(), machine.is_on());
        // The machine first: closing the connection to a silent system would take long.
        let (console, complaint) = machine.off();
        drop(shell);
        let (failure, text) = match (panic, complaint.filter(|_| !is_on)) {
            (Some(panic), _) => (GuestFailure::Panicked, format!("the image's system panicked: {panic}")),
            (None, Some(complaint)) => (GuestFailure::Lost, complaint),
            (None, None) if !is_on => (GuestFailure::Lost, "the image's system shut down or restarted".to_owned()),
            (None, None) if SILENCE.iter().any(|words| lost.contains(words)) => {
                (GuestFailure::Hung, "the image's system stopped responding; powered off".to_owned())
            }
            (None, None) => (GuestFailure::Lost, format!("{lost}; powered off")),
        };
        Ending::GuestFailed { failure, text, console }
    }
}

impl Target for ImageMachine {
    /// Facts of the system from its first boot; facts of this host have the prefix `host.`.
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Ok(self.workloads.clone())
    }

    fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    fn overhead(&self) -> Duration {
        if self.booting.image.boots == ImageBoots::Each { self.boot } else { Duration::ZERO }
    }

    fn longest_boot(&self) -> Duration {
        self.booting.image.boot_limit + TRIAL_LIMIT
    }

    fn execute(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        let running = match self.running(stop) {
            Ok(running) => running,
            Err(_) if stop.is_set() => return Ending::Stopped,
            Err(NotUp { error, console }) => {
                return Ending::GuestFailed { failure: GuestFailure::NotBooted, text: error.problem, console };
            }
        };
        match running.shell.execute(execution, sink, stop) {
            Ending::ConnectionLost { text } => running.failed(&text),
            ending => {
                self.keep(running);
                ending
            }
        }
    }
}
