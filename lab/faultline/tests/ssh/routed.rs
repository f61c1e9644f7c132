//! Hosts joined by a network: two network namespaces behind the one in which the command runs, each
//! with the test's OpenSSH server. The second is reached through the first. All of it ends with our
//! thread.

use super::server::Server;
use crate::lab::await_that;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// The addresses of the two hosts.
pub const NEAR: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
pub const FAR: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 2);

/// Namespaces in a row, and the processes in them.
pub struct Routed {
    namespaces: Vec<Child>,
    servers: Vec<Child>,
}

/// Prefix of command lines: the program ends with our thread.
const WITH_US: [&str; 3] = ["setpriv", "--pdeathsig", "KILL"];

impl Routed {
    /// `None` if this user cannot create namespaces, or an OpenSSH server cannot run in one.
    pub fn start(server: &Server) -> Option<Self> {
        let tried = Command::new("unshare").args(["--net", "true"]).output();
        if !tried.is_ok_and(|output| output.status.success()) {
            println!("skipped: no network namespaces for this user");
            return None;
        }
        let mut routed = Routed { namespaces: (0..3).map(|_| namespace()).collect(), servers: Vec::new() };
        for link in 0..2 {
            let next = routed.namespaces[link + 1].id();
            // With equal numbers, the kernel takes a second to notice that the link is up.
            let pair =
                format!("link add on index {} type veth peer name back index {} netns {next}", 100 + link, 300 + link);
            routed.ip(link, &pair);
            for (end, device, number) in [(link, "on", 1), (link + 1, "back", 2)] {
                routed.ip(end, &format!("addr add 198.18.{link}.{number}/24 dev {device}"));
                routed.ip(end, &format!("link set {device} up"));
            }
        }
        (0..3).for_each(|end| routed.ip(end, "link set lo up"));
        routed.ip(0, "route add 198.18.1.0/24 via 198.18.0.2");
        routed.ip(2, "route add 198.18.0.0/24 via 198.18.1.1");
        routed.done(1, &["sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"]);
        server.know_at(&[NEAR, FAR]);
        routed.servers = [(1, NEAR), (2, FAR)].map(|(end, address)| routed.serve(end, server, address)).into();
        Some(routed)
    }

    /// The command, run in the first namespace.
    pub fn inside(&self, command: &Command) -> Command {
        let mut inside = self.entering(0);
        inside.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        inside.current_dir(command.get_current_dir().unwrap()).stdin(Stdio::null());
        inside
    }

    fn network(&self, end: usize) -> PathBuf {
        format!("/proc/{}/ns/net", self.namespaces[end].id()).into()
    }

    fn entering(&self, end: usize) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.network(end).display())).arg("--").args(WITH_US).arg("--");
        command
    }

    #[track_caller]
    fn done(&self, end: usize, words: &[&str]) {
        let status = self.entering(end).args(words).status().unwrap();
        assert!(status.success(), "{words:?}");
    }

    #[track_caller]
    fn ip(&self, end: usize, words: &str) {
        self.done(end, &["ip"].into_iter().chain(words.split(' ')).collect::<Vec<_>>());
    }

    fn serve(&self, end: usize, server: &Server, address: Ipv4Addr) -> Child {
        let mut command = self.entering(end);
        command.args(server.words_at(address)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = command.spawn().unwrap();
        let listens = format!("{address}:{}", server.port());
        await_that("a server that listens", || {
            let open = self.entering(end).args(["ss", "-Hlnt"]).output().unwrap();
            String::from_utf8_lossy(&open.stdout).contains(&listens)
        });
        started
    }
}

/// A process that holds a namespace.
fn namespace() -> Child {
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    let holder =
        Command::new(WITH_US[0]).args(&WITH_US[1..]).args(["--", "unshare", "--net", "sleep", "600"]).spawn().unwrap();
    await_that("a namespace", || {
        fs::read_link(format!("/proc/{}/ns/net", holder.id())).is_ok_and(|found| found != own)
    });
    holder
}

impl Drop for Routed {
    fn drop(&mut self) {
        for child in self.servers.iter_mut().chain(&mut self.namespaces) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
