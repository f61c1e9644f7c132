//! An OpenSSH server of a test, on loopback, in the lab's directory, with its own keys,
//! configuration and port. The user's own configuration is not used. Processes started for a client
//! carry the lab's mark.

use crate::lab::{Lab, MARK, nothing_mounted_is_shared};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An absolute path: the server executes itself for each connection.
const PROGRAM: &str = "/usr/sbin/sshd";

/// Directory that privileged servers need for their unprivileged processes. The package's service
/// creates it.
const PRIVILEGED_DIRECTORY: &str = "/run/sshd";

pub struct Server {
    directory: PathBuf,
    port: u16,
    listener: Option<Child>,
    /// The host shows the boot id in the file `boot_id`.
    shows_boot_id: bool,
}

impl Server {
    /// Starts a server in the lab. Server and client accept each other's keys.
    pub fn start(lab: &Lab) -> Self {
        Self::start_with(lab, "")
    }

    /// Starts a server whose boot id is in its file `boot_id`, so that a command can change it as a
    /// reboot does. `None` if this machine does not allow a mount namespace.
    pub fn start_with_boot_id(lab: &Lab) -> Option<Self> {
        let is_possible =
            Command::new("unshare").args(own_mounts()).arg("true").output().is_ok_and(|output| output.status.success());
        if !is_possible {
            println!("skipped: this machine gives us no mount namespace");
            return None;
        }
        Some(Self::start_as(lab, "", true))
    }

    /// As [`Server::start`], with additional lines of configuration, which take precedence.
    pub fn start_with(lab: &Lab, lines: &str) -> Self {
        Self::start_as(lab, lines, false)
    }

    fn start_as(lab: &Lab, lines: &str, shows_boot_id: bool) -> Self {
        assert!(Path::new(PROGRAM).exists(), "no {PROGRAM}; hint: apt-get install openssh-server");
        let directory = lab.path("ssh");
        for name in ["", "remote"] {
            fs::create_dir(directory.join(name)).unwrap();
        }
        if rustix::process::geteuid().is_root() {
            fs::create_dir_all(PRIVILEGED_DIRECTORY).unwrap();
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Server { directory, port, listener: None, shows_boot_id };
        for name in ["host_key", "key", "other_key"] {
            server.make_key(name);
        }
        server.authorise("key");
        let there = server.directory.display();
        let config = format!(
            "{lines}\nPort {port}\nListenAddress 127.0.0.1\nHostKey {there}/host_key\nPidFile {there}/pid\n\
             AuthorizedKeysFile {there}/authorized_keys\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPermitRootLogin yes\nSetEnv {MARK}={} TMPDIR={there}/remote\n",
            lab.mark(),
        );
        fs::write(server.path("sshd_config"), config).unwrap();
        let client = format!(
            "UserKnownHostsFile {there}/known_hosts\nGlobalKnownHostsFile /dev/null\nIdentityFile {there}/key\nIdentitiesOnly yes\n\
             IdentityAgent none\n"
        );
        fs::write(server.path("ssh_config"), client).unwrap();
        fs::write(server.path("boot_id"), "first\n").unwrap();
        server.know("host_key");
        server.listen();
        server
    }

    /// A file of the server or its client.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The machine, for `--on`.
    pub fn machine(&self) -> String {
        format!("ssh:{},config={}", self.destination(), self.path("ssh_config").display())
    }

    /// The machine at another address, where [`Server::words_at`] serves.
    pub fn machine_at(&self, address: Ipv4Addr) -> String {
        format!("ssh:{}@{address}:{},config={}", user(), self.port, self.path("ssh_config").display())
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// A command that serves at another address, with the same keys.
    pub fn words_at(&self, address: Ipv4Addr) -> Vec<OsString> {
        let listen = format!("ListenAddress={address}");
        let words = [PROGRAM, "-D", "-e", "-o", &listen, "-o", "PidFile=none", "-f"].map(OsString::from);
        words.into_iter().chain([self.path("sshd_config").into_os_string()]).collect()
    }

    /// The destination as named in messages.
    pub fn destination(&self) -> String {
        format!("{}@127.0.0.1:{}", user(), self.port)
    }

    fn make_key(&self, name: &str) {
        let file = self.path(name);
        let made =
            Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&file).status().unwrap();
        assert!(made.success());
    }

    fn public(&self, name: &str) -> String {
        fs::read_to_string(self.path(&format!("{name}.pub"))).unwrap()
    }

    /// Makes this the only key that may log in.
    pub fn authorise(&self, name: &str) {
        fs::write(self.path("authorized_keys"), self.public(name)).unwrap();
    }

    /// Makes this the only host key that the client knows.
    pub fn know(&self, name: &str) {
        fs::write(self.path("known_hosts"), format!("[127.0.0.1]:{} {}", self.port, self.public(name))).unwrap();
    }

    /// Lets the client know the host's key at these addresses.
    pub fn know_at(&self, addresses: &[Ipv4Addr]) {
        let line = |address: &Ipv4Addr| format!("[{address}]:{} {}", self.port, self.public("host_key"));
        fs::write(self.path("known_hosts"), addresses.iter().map(line).collect::<String>()).unwrap();
    }

    /// Makes the client forget all hosts.
    pub fn know_nothing(&self) {
        fs::write(self.path("known_hosts"), "").unwrap();
    }

    /// Listens, again if it was stopped.
    pub fn listen(&mut self) {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.path("log")).unwrap();
        // The server ends with our thread, whichever way the thread ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if self.shows_boot_id {
            command.arg("unshare").args(own_mounts());
            command.args(["sh", "-euc", "mount --bind \"$0\" /proc/sys/kernel/random/boot_id; exec \"$@\""]);
            command.arg(self.path("boot_id"));
        }
        command.arg(PROGRAM);
        command.args(["-D", "-e", "-f"]).arg(self.path("sshd_config")).stdin(Stdio::null()).stdout(Stdio::null());
        self.listener = Some(command.stderr(log).spawn().unwrap());
        let log = self.path("log");
        crate::lab::await_within(Duration::from_secs(60), "a server that listens", || {
            TcpStream::connect(("127.0.0.1", self.port)).is_ok()
                || panic_if_ended(self.listener.as_mut().unwrap(), &log)
        });
    }

    /// Kills the processes of all connections, like a network failure.
    pub fn cut(&self) {
        let listener = Pid::from_child(self.listener.as_ref().unwrap());
        for process in below(listener).into_iter().filter(|process| name(*process).starts_with("sshd")) {
            let _ = kill_process(process, Signal::KILL);
        }
    }

    /// Cuts all connections, and stops listening.
    pub fn stop(&mut self) {
        let Some(mut listener) = self.listener.take() else { return };
        let processes = below(Pid::from_child(&listener));
        listener.kill().unwrap();
        listener.wait().unwrap();
        for process in processes.into_iter().filter(|process| name(*process).starts_with("sshd")) {
            let _ = kill_process(process, Signal::KILL);
        }
    }

    /// Starts another listening process. Connections survive the end of the first.
    pub fn restart_listener(&mut self) {
        let mut listener = self.listener.take().unwrap();
        listener.kill().unwrap();
        listener.wait().unwrap();
        self.listen();
    }

    /// Files that clients have left in the host's directory for temporary files.
    pub fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("remote")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Arguments for private mounts.
fn own_mounts() -> &'static [&'static str] {
    if nothing_mounted_is_shared() { &["--mount", "--propagation", "unchanged"] } else { &["--mount"] }
}

fn panic_if_ended(listener: &mut Child, log: &Path) -> bool {
    let ended = listener.try_wait().unwrap();
    assert!(ended.is_none(), "sshd ended: {}", fs::read_to_string(log).unwrap_or_default());
    false
}

/// The name of our user, which the server lets in.
fn user() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// All descendants of a process.
fn below(process: Pid) -> Vec<Pid> {
    let numbers = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let pairs: Vec<(i32, i32)> = numbers.filter_map(|number: i32| Some((number, parent(number)?))).collect();
    let mut found = vec![process.as_raw_nonzero().get()];
    let mut next = 0;
    while let Some(&above) = found.get(next) {
        found.extend(pairs.iter().filter(|(_, parent)| *parent == above).map(|(number, _)| *number));
        next += 1;
    }
    found[1..].iter().filter_map(|&number| Pid::from_raw(number)).collect()
}

fn parent(process: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat[stat.rfind(')')? + 1..].split_whitespace().nth(1)?.parse().ok()
}

fn name(process: Pid) -> String {
    fs::read_to_string(format!("/proc/{}/comm", process.as_raw_nonzero())).unwrap_or_default()
}
