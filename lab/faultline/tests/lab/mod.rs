//! A lab to run the command in, with its own database, scratch space and workloads. Each process
//! started by the command carries a mark, so that survivors are found.

pub mod guest;
pub mod lens;
pub mod repository;

use faultline_record::record::{RunId, RunRecord};
use faultline_store::Store;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Name of the environment variable that marks our processes.
pub const MARK: &str = "FAULTLINE_TEST_MARK";

/// Time limit for killed processes to disappear.
const GONE_LIMIT: Duration = Duration::from_secs(10);

pub struct Lab {
    directory: tempfile::TempDir,
    mark: String,
}

impl Lab {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mark = directory.path().file_name().unwrap().to_str().unwrap().to_owned();
        for name in ["scratch", "fakes"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        Lab { directory, mark }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The mark of our processes.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    pub fn db(&self) -> PathBuf {
        self.path("db.sqlite")
    }

    /// The command with this lab's database and scratch space.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .env("FAULTLINE_DB", self.db())
            .env("TMPDIR", self.path("scratch"))
            .env("XDG_STATE_HOME", self.path("state"))
            // Tests write the files that they use; `trust.rs` tests the question.
            .env("FAULTLINE_TRUST", "1")
            .env(MARK, &self.mark)
            .env_remove("FAULTLINE_WORKLOADS")
            .stdin(Stdio::null());
        command
    }

    /// The command with the fake workloads of [`Lab::fake`] in addition.
    pub fn faked(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.env("FAULTLINE_WORKLOADS", self.path("fakes"));
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Adds a workload that describes itself correctly, and then runs `body`, a shell script. The
    /// script may use `$variant`, `$mode`, `$tasks`, `$scratch`, and the function `header`, which
    /// prints a valid header.
    pub fn fake(&self, name: &str, body: &str) {
        self.fake_with_partners(name, &[], body);
    }

    /// Adds a fake workload with partners in these roles. Partners run the script with `$role` set.
    pub fn fake_with_partners(&self, name: &str, roles: &[&str], body: &str) {
        let roles: String = roles.iter().map(|role| format!("role {role}\\n")).collect();
        let script = format!(
            r#"#!/bin/sh
if [ "$1" = --describe ]; then
    printf 'faultline-describe 1 {name}\nsummary a fake\noperation turn\nunit turn/s\ndirection higher\n'
    printf 'style loop\nwindow_ms 10\nvariant only process a fake\n{roles}end\n'
    exit 0
fi
while [ $# -gt 1 ]; do
    case $1 in
        --scratch) scratch=$2 ;;
        --variant) variant=$2 ;;
        --mode) mode=$2 ;;
        --tasks) tasks=$2 ;;
        --role) role=$2 ;;
    esac
    shift 2
done
header() {{
    printf 'faultline-workload 1 {name}\noperation turn\nunit turn/s\ndirection higher\n'
    printf 'variant %s\nmode %s\ntasks %s\nready 1\nbegin 2\n' "$variant" "$mode" "$tasks"
}}
{body}
"#
        );
        let path = self.path("fakes").join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A fake without faults: one window of one interval.
    pub fn good_fake(&self, name: &str) {
        self.fake(name, "header; echo interval 2 10000002 100; echo end 10000003; echo done");
    }

    /// Runs a script in its own mount namespace, with `$1` the lab's directory and `$2` the
    /// command. `None` if this machine does not allow one.
    pub fn in_namespace(&self, script: &str) -> Option<Output> {
        let root = rustix::process::geteuid().is_root();
        let own = match root {
            false => &["--user", "--map-root-user", "--mount"][..],
            true if nothing_mounted_is_shared() => &["--mount", "--propagation", "unchanged"],
            true => &["--mount"],
        };
        let possible =
            Command::new("unshare").args(own).arg("true").output().is_ok_and(|output| output.status.success());
        if !possible {
            println!("skipped: this machine gives us no mount namespace");
            return None;
        }
        let mut command = Command::new("unshare");
        command.args(own).args(["sh", "-euc", script, "sh"]).arg(self.path("")).arg(program());
        command.env("FAULTLINE_WORKLOADS", self.path("fakes")).env("FAULTLINE_TRUST", "1");
        Some(command.output().unwrap())
    }

    /// Processes with our mark that still exist after the time allowed for a kill.
    pub fn left_over(&self) -> Vec<String> {
        let until = Instant::now() + GONE_LIMIT;
        loop {
            let left = [marked(&self.mark), naming(&self.path("scratch"))].concat();
            if left.is_empty() || Instant::now() > until {
                return left;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A saved run.
    pub fn record(&self, run: i64) -> RunRecord {
        Store::open_existing(&self.db()).unwrap().load_run(RunId(run)).unwrap()
    }

    /// Number of attempts of the first run; `None` before it is saved.
    pub fn attempts(&self) -> Option<usize> {
        self.attempts_of(1)
    }

    /// Number of attempts of a run; `None` while there is no such run.
    pub fn attempts_of(&self, run: i64) -> Option<usize> {
        Some(Store::open_existing(&self.db()).ok()?.load_run(RunId(run)).ok()?.attempts.len())
    }

    #[track_caller]
    pub fn assert_nothing_left(&self) {
        assert_eq!(self.left_over(), Vec::<String>::new());
        assert_eq!(self.scratch_left(), Vec::<PathBuf>::new());
    }

    /// Files left in the scratch directory.
    pub fn scratch_left(&self) -> Vec<PathBuf> {
        fs::read_dir(self.path("scratch")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

/// True if no mount is shared, so mounts in a new namespace stay private by themselves. Making them
/// private fails if the root is no mount point.
pub fn nothing_mounted_is_shared() -> bool {
    fs::read_to_string("/proc/self/mountinfo").is_ok_and(|mounts| !mounts.contains(" shared:"))
}

/// The command under test.
pub fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_faultline"))
}

/// Command lines of processes that name a directory. Needed because programs may drop the
/// environment they were started with.
fn naming(directory: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let words = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    words.filter(|words| words.contains(&*directory.to_string_lossy())).collect()
}

/// Command lines of the processes that carry the mark.
fn marked(mark: &str) -> Vec<String> {
    let wanted = format!("{MARK}={mark}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(environment) = fs::read(entry.path().join("environ")) else { continue };
        if environment.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes()) {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&words).replace('\0', " "));
        }
    }
    found
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Standard output followed by standard error.
pub fn output_text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Waits for at most 30 s until `condition` holds.
pub fn await_that(what: &str, condition: impl FnMut() -> bool) {
    await_within(Duration::from_secs(30), what, condition);
}

/// Waits until `condition` holds, with time for a boot on a loaded machine.
pub fn await_boot(what: &str, condition: impl FnMut() -> bool) {
    await_within(Duration::from_secs(300), what, condition);
}

pub fn await_within(limit: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + limit;
    while !condition() {
        assert!(Instant::now() < until, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Kills and reaps.
pub fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Asserts the exit status, one line with the problem, and one line with a hint.
#[track_caller]
pub fn assert_refused(output: &Output, status: i32, problem: &str) {
    let text = stderr(output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(output.status.code(), Some(status), "{text}");
    assert_eq!(lines.len(), 2, "one line and a hint: {text}");
    assert!(lines[0].starts_with("faultline: ") && lines[0].contains(problem), "{text}");
    assert!(lines[1].starts_with("hint: "), "{text}");
}
