//! A server in its own process, so that its memory can be measured.

use faultline_experiment::Places;
use faultline_web::{DeclaredQuirks, ServeRequest, Server};
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Argument that runs this program as a server; the database follows.
pub const ARGUMENT: &str = "--serve";

/// Serves until standard input ends. Prints the address.
pub fn serve(database: &Path) {
    let places = Places { database: Some(database.to_owned()), ..Places::find().expect("this program has a path") };
    let request = ServeRequest {
        listen: "127.0.0.1:0".parse().expect("an address"),
        name: None,
        tokens: None,
        quirks: DeclaredQuirks::default(),
        hosts: Vec::new(),
        log: Arc::new(|line: &str| eprintln!("{line}")),
    };
    let server = Server::bind(request, places).expect("the database can be served");
    println!("{}", server.address());
    let stop = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&stop);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        // Relaxed: only the flag itself is communicated.
        ended.store(true, Ordering::Relaxed);
    });
    server.run(move || stop.load(Ordering::Relaxed)).expect("the server runs");
}

pub struct ServerProcess {
    pub address: SocketAddr,
    child: Child,
}

impl ServerProcess {
    pub fn start(database: &Path) -> Self {
        let own = std::env::current_exe().expect("this program has a path");
        let mut child = Command::new(own)
            .arg(ARGUMENT)
            .arg(database)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line).expect("the server starts");
        ServerProcess { address: line.trim().parse().expect("the server prints its address"), child }
    }

    /// CPU time of its threads so far, in milliseconds; not affected by a busy machine.
    pub fn cpu_ms(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("the server runs");
        let fields = stat.rsplit_once(')').expect("a name is in parentheses").1;
        // User and system time are the 14th and 15th fields, in ticks of 10 ms; the rest begins
        // with the third.
        let ticks: f64 =
            fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<f64>().expect("a number")).sum();
        ticks * 10.0
    }

    /// Peak resident memory so far, in MB of 1,000,000 bytes.
    pub fn peak_memory_mb(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("the server runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux says it");
        let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
        kib * 1024.0 / 1e6
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
