//! A server on loopback with a separate database, and plain requests to it.

use crate::filled;
use faultline_experiment::Places;
use faultline_web::{DeclaredQuirks, ServeRequest, Server, Tokens};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time limit of an answer.
const LIMIT: Duration = Duration::from_secs(60);

/// A server that runs on a thread of this process.
pub struct Served {
    pub address: SocketAddr,
    /// Reported internal failures.
    pub said: Arc<Mutex<Vec<String>>>,
    pub database: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Directory of the database, removed with the server.
    directory: Option<tempfile::TempDir>,
}

/// An answer of the server.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Head in lower case, as one text.
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The value of a header, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// The paths of an installation with only this database.
pub fn places(database: PathBuf) -> Places {
    Places { database: Some(database), ..Places::find().unwrap() }
}

impl Served {
    pub fn new(is_long: bool) -> Self {
        Self::with(is_long, None, &[])
    }

    pub fn with(is_long: bool, tokens: Option<Tokens>, hosts: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("db.sqlite");
        filled::fill(&database, is_long);
        let mut served = Self::over(database, tokens, hosts);
        served.directory = Some(directory);
        served
    }

    /// A server with declared quirks.
    pub fn with_quirks(quirks: DeclaredQuirks) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("db.sqlite");
        filled::fill(&database, false);
        let mut served = Self::started(database, None, &[], quirks);
        served.directory = Some(directory);
        served
    }

    /// A server over an existing database: a path or a URL.
    pub fn over(database: PathBuf, tokens: Option<Tokens>, hosts: &[&str]) -> Self {
        Self::started(database, tokens, hosts, DeclaredQuirks::default())
    }

    fn started(database: PathBuf, tokens: Option<Tokens>, hosts: &[&str], quirks: DeclaredQuirks) -> Self {
        let said = Arc::new(Mutex::new(Vec::new()));
        let says = Arc::clone(&said);
        let request = ServeRequest {
            listen: "127.0.0.1:0".parse().unwrap(),
            name: Some("Lab-PC".to_owned()),
            tokens,
            quirks,
            hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
            log: Arc::new(move |line: &str| says.lock().unwrap().push(line.to_owned())),
        };
        let server = Server::bind(request, places(database.clone())).unwrap();
        let (address, stop) = (server.address(), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        // Relaxed: the flag alone is passed.
        let thread = std::thread::spawn(move || server.run(move || stopped.load(Ordering::Relaxed)).unwrap());
        Served { address, said, database, stop, thread: Some(thread), directory: None }
    }

    /// Sends a GET request.
    pub fn get(&self, target: &str) -> Answer {
        self.ask("GET", target, &[])
    }

    /// Sends a request with additional headers.
    pub fn ask(&self, method: &str, target: &str, headers: &[&str]) -> Answer {
        let host = format!("Host: {}", self.address);
        let host =
            if headers.iter().any(|header| header.starts_with("Host:")) { Vec::new() } else { vec![host.as_str()] };
        let head: String = host.iter().chain(headers).map(|header| format!("{header}\r\n")).collect();
        self.raw(format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n{head}\r\n").as_bytes())
    }

    /// Sends a POST request with a body.
    pub fn post(&self, target: &str, headers: &[&str], body: &str) -> Answer {
        let head: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let (host, length) = (self.address, body.len());
        let request = format!(
            "POST {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n{head}\r\n{body}"
        );
        self.raw(request.as_bytes())
    }

    /// Sends bytes and reads the whole answer.
    pub fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        // A server may refuse a request before it has read all of it.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let head = head.to_ascii_lowercase();
        let body = if head.contains("transfer-encoding: chunked") { unchunked(body) } else { body.to_owned() };
        Answer { status, head, body }
    }
}

/// The text of a chunked body.
fn unchunked(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        let Some(chunk) = rest.get(..length).filter(|chunk| !chunk.is_empty()) else { break };
        text += chunk;
        body = &rest[length + 2..];
    }
    text
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_none_or(|ended| ended.is_ok()), "the server panicked");
    }
}

/// The identifier of a subject's history with a number of tasks.
pub fn history_called(served: &Served, subject: &str, tasks: u32) -> String {
    let all = served.get("/api/v1/histories").json();
    let found =
        all["histories"].as_array().unwrap().iter().find(|one| one["subject"] == subject && one["tasks"] == tasks);
    found.unwrap()["id"].as_str().unwrap().to_owned()
}
