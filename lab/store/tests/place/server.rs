//! A PostgreSQL server of a test program, in a temporary directory, for local connections. A shell
//! that reads from the program ends the server when the program ends, for any reason.

use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The server's superuser, and its password over TCP. Connections over the socket need none.
pub const USER: &str = "faultline";
pub const PASSWORD: &str = "a p@ss/word";

/// The password in a URL.
pub const PASSWORD_IN_URL: &str = "a%20p%40ss%2Fword";

/// User of the server if the tests run as root, which it refuses: Debian's `nobody`.
const NOBODY: u32 = 65534;

const START_LIMIT: Duration = Duration::from_secs(60);

/// Runs the server until standard input ends, then removes its directory. The line `leave` keeps
/// the directory of a server that has ended.
const KEEPER: &str = r#"
    server=$1 directory=$2; shift 2
    "$server" -D "$directory/data" -k "$directory" "$@" >>"$directory/log" 2>&1 &
    read -r word
    if [ "$word" != leave ]; then
        # A server that just begins may not notice the first signal.
        for try in 1 2 3 4 5; do
            kill -QUIT $! && sleep 0.2
            [ -e "$directory/data/postmaster.pid" ] || break
        done
        kill -KILL $!
    fi 2>/dev/null
    wait
    [ "$word" = leave ] || rm -rf "$directory"
"#;

pub struct Server {
    directory: PathBuf,
    port: u16,
    keeper: Child,
}

impl Server {
    /// Creates a cluster and starts its server.
    pub fn start() -> Self {
        let directory = tempfile::Builder::new().prefix("faultline-postgres-").tempdir().unwrap().keep();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
        let password = directory.join("password");
        fs::write(&password, PASSWORD).unwrap();
        if geteuid().is_root() {
            for path in [&directory, &password] {
                chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let made = unprivileged(&programs().join("initdb"), &directory)
            .args(["--username", USER, "--encoding", "UTF8", "--locale", "C", "--no-sync"])
            .args(["--auth-local", "trust", "--auth-host", "scram-sha-256"])
            .arg("--pwfile")
            .arg(&password)
            .arg("--pgdata")
            .arg(directory.join("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let keeper = keep(&directory, port);
        let server = Server { directory, port, keeper };
        server.await_ready();
        server
    }

    /// The URL of a database over the socket, with one schema in the search path.
    pub fn url(&self, database: &str, schema: &str) -> String {
        let Server { directory, port, .. } = self;
        format!(
            "postgresql://{USER}@/{database}?host={}&port={port}&options=-c%20search_path%3D{schema}",
            directory.display()
        )
    }

    /// The URL of a database over TCP, with user and password.
    pub fn tcp_url(&self, login: &str, database: &str) -> String {
        format!("postgres://{login}@127.0.0.1:{}/{database}", self.port)
    }

    /// The TCP port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Turns on TLS with this certificate and key in PEM.
    pub fn encrypt(&self, certificate: &str, key: &str) {
        let data = self.directory.join("data");
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = data.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            if geteuid().is_root() {
                chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let mut client = postgres::Client::connect(&self.url("postgres", "public"), postgres::NoTls).unwrap();
        client.batch_execute("ALTER SYSTEM SET ssl = on").unwrap();
        client.batch_execute("SELECT pg_reload_conf()").unwrap();
        let until = Instant::now() + START_LIMIT;
        // A new session has the new settings.
        let is_on = || {
            let mut client = postgres::Client::connect(&self.url("postgres", "public"), postgres::NoTls).unwrap();
            client.query_one("SHOW ssl", &[]).unwrap().get::<_, String>(0) == "on"
        };
        while !is_on() {
            assert!(Instant::now() < until, "the server does not read its settings again");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills all processes of the server at once, as in a crash.
    pub fn kill(&mut self) {
        let processes = self.processes();
        for &process in &processes {
            let _ = kill_process(process, Signal::KILL);
        }
        let until = Instant::now() + START_LIMIT;
        while processes.iter().any(|&process| is_running(process)) {
            assert!(Instant::now() < until, "the server's processes do not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.keeper.stdin.take().unwrap().write_all(b"leave\n").unwrap();
        self.keeper.wait().unwrap();
    }

    /// Starts the server again after [`Server::kill`].
    pub fn start_again(&mut self) {
        // Its status file is as it was at the kill.
        fs::remove_file(self.directory.join("data/postmaster.pid")).unwrap();
        self.keeper = keep(&self.directory, self.port);
        self.await_ready();
    }

    /// The server's processes, the first one before its children.
    fn processes(&self) -> Vec<Pid> {
        let first: i32 = self.status().lines().next().unwrap().parse().unwrap();
        let of_server = |entry: fs::DirEntry| {
            let process: i32 = entry.file_name().to_str()?.parse().ok()?;
            let (_, parent) = state_and_parent(process)?;
            (parent == first).then_some(process)
        };
        let children = fs::read_dir("/proc").unwrap().flatten().filter_map(of_server);
        std::iter::once(first).chain(children).map(|process| Pid::from_raw(process).unwrap()).collect()
    }

    /// The lines of the server's own status file.
    fn status(&self) -> String {
        fs::read_to_string(self.directory.join("data/postmaster.pid")).unwrap_or_default()
    }

    fn await_ready(&self) {
        let until = Instant::now() + START_LIMIT;
        while self.status().lines().nth(7).map(str::trim) != Some("ready") {
            let log = || fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            assert!(Instant::now() < until, "PostgreSQL does not start: {}", log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The keeper ends the server when its standard input ends.
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// True until a process has ended. An ended one may still be a zombie.
fn is_running(process: Pid) -> bool {
    state_and_parent(process.as_raw_nonzero().get()).is_some_and(|(state, _)| state != "Z")
}

/// State letter and parent of a process; `None` if it does not exist.
fn state_and_parent(process: i32) -> Option<(String, i32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

fn keep(directory: &Path, port: u16) -> Child {
    let server = programs().join("postgres");
    unprivileged(Path::new("sh"), directory)
        .args(["-c", KEEPER, "sh"])
        .args([server.as_os_str(), directory.as_os_str()])
        .args(["-h", "127.0.0.1", "-p", &port.to_string()])
        // The machine does not crash, so what the server gave to its kernel is safe.
        .args(["-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=60"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The command, run by an unprivileged user.
fn unprivileged(program: &Path, directory: &Path) -> Command {
    let mut command = if geteuid().is_root() {
        let id = NOBODY.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir(directory);
    command
}

/// The directory of PostgreSQL's programs: in PATH, or where Debian and others install them.
fn programs() -> PathBuf {
    let path: OsString = std::env::var_os("PATH").unwrap_or_default();
    let below = |root: &str, tail: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(root).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.path().join(tail)).collect();
        // The newest version first.
        found.sort_by_key(|path| path.to_string_lossy().split('/').find_map(|part| part.parse::<u32>().ok()));
        found.reverse();
        found
    };
    let elsewhere = below("/usr/lib/postgresql", "bin");
    let own = [PathBuf::from("/usr/local/pgsql/bin")];
    let mut candidates = std::env::split_paths(&path).chain(elsewhere).chain(own);
    let found = candidates.find(|directory| directory.join("initdb").exists() && directory.join("postgres").exists());
    found.expect("there is no PostgreSQL server; hint: apt-get install postgresql")
}
