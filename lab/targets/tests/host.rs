//! Executions on this host with an environment and system settings, and builds of the workloads,
//! through a real keeper: this program is its own keeper.
//!
//! Settings are files in a directory of the tests, so that no privileges are needed; one test
//! writes a real one.

use faultline_targets::host::build::{BuildRequest, build_workloads};
use faultline_targets::host::{Host, HostPaths};
use faultline_targets::network::Attachment;
use faultline_targets::{Ending, Execution, StopFlag, Target, keeper};
use libtest_mimic::{Arguments, Trial};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Root of the settings' files.
const ROOT: &str = env!("CARGO_TARGET_TMPDIR");

/// First argument that makes this program the parent of an execution, to be killed. The directory
/// follows.
const PARENT: &str = "parent-of-an-execution";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == keeper::ARGUMENT => {
            keeper::run_below(arguments, &[ROOT, "/proc/sys", "/sys"].map(Path::new))
        }
        Some(first) if first == PARENT => {
            let place = TestHost { directory: arguments.next().unwrap().into() };
            let ending = place.execute(&place.execution(&[("setting", "7")]));
            eprintln!("nobody killed it: {ending:?}");
            ExitCode::FAILURE
        }
        _ => libtest_mimic::run(&Arguments::from_args(), tests()).exit_code(),
    }
}

fn tests() -> Vec<Trial> {
    let all: [(&str, fn()); 14] = [
        ("the_environment_is_the_workloads_alone", the_environment_is_the_workloads_alone),
        ("settings_are_put_back_however_it_ends", settings_are_put_back_however_it_ends),
        ("a_setting_that_does_not_take_starts_nothing", a_setting_that_does_not_take_starts_nothing),
        ("settings_that_cannot_be_restored_are_reported", settings_that_cannot_be_restored_are_reported),
        ("settings_last_until_the_last_descendant_is_gone", settings_last_until_the_last_descendant_is_gone),
        ("settings_are_put_back_when_we_are_killed", settings_are_put_back_when_we_are_killed),
        ("settings_are_put_back_when_the_keeper_is_killed", settings_are_put_back_when_the_keeper_is_killed),
        ("nothing_survives_when_we_and_the_keeper_are_killed", nothing_survives_when_we_and_the_keeper_are_killed),
        ("the_last_of_two_values_of_a_setting_counts", the_last_of_two_values_of_a_setting_counts),
        ("files_elsewhere_are_no_settings", files_elsewhere_are_no_settings),
        ("a_setting_of_this_system", a_setting_of_this_system),
        ("workloads_are_built_with_any_compiler", workloads_are_built_with_any_compiler),
        ("a_build_that_fails_says_why", a_build_that_fails_says_why),
        ("a_build_that_is_stopped_ends", a_build_that_is_stopped_ends),
    ];
    let trial = |(name, test): (&str, fn())| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    all.into_iter().map(trial).collect()
}

/// A directory with one workload, `fake`, scratch space, and settings with the initial value `1`.
struct TestHost {
    directory: PathBuf,
}

impl TestHost {
    /// `body`: a shell script that the workload runs, with `$place` set.
    fn new(body: &str) -> (tempfile::TempDir, Self) {
        let directory = tempfile::tempdir_in(ROOT).unwrap();
        let place = TestHost { directory: directory.path().to_owned() };
        for name in ["workloads", "scratch"] {
            fs::create_dir(place.path(name)).unwrap();
        }
        let script = format!("#!/bin/sh\nplace='{}'\n{body}\n", place.directory.display());
        fs::write(place.path("workloads/fake"), script).unwrap();
        fs::set_permissions(place.path("workloads/fake"), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["setting", "other"] {
            fs::write(place.path(name), "1\n").unwrap();
        }
        (directory, place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn execution(&self, settings: &[(&str, &str)]) -> Execution {
        let setting =
            |(name, value): &(&str, &str)| (self.path(name).to_str().unwrap().to_owned(), (*value).to_owned());
        Execution {
            workload: "fake".to_owned(),
            arguments: Vec::new(),
            limit: Duration::from_secs(30),
            directory: None,
            environment: Vec::new(),
            system_settings: settings.iter().map(setting).collect(),
            attachment: Attachment::Already,
        }
    }

    fn host(&self) -> Host {
        let keeper = std::env::current_exe().unwrap();
        Host::new(HostPaths { workloads: self.path("workloads"), scratch: self.path("scratch"), keeper, sandbox: None })
    }

    /// Its ending and its output.
    fn execute(&self, execution: &Execution) -> (Ending, String) {
        let mut output = String::new();
        let sink = &mut |line: &[u8]| {
            output.push_str(&String::from_utf8_lossy(line));
            output.push('\n');
            if line == b"enough" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let ending = self.host().execute(execution, sink, &StopFlag::default());
        (ending, output)
    }
}

#[track_caller]
fn assert_well(ending: &Ending) {
    assert_eq!(*ending, Ending::Exited { status: 0, stderr: String::new() });
}

fn await_that(what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < until, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn the_environment_is_the_workloads_alone() {
    let keepers = "tr '\\0' '\\n' < /proc/$PPID/environ | grep -c -e ^GREETING= -e ^PATH=/elsewhere";
    let (_directory, place) =
        TestHost::new(&format!("echo \"$GREETING\"; echo \"$0\"; PATH=/usr/bin:/bin; {keepers}; :"));
    let variables = [("GREETING", "hello = you"), ("PATH", "/elsewhere"), ("FAULTLINE_EXECUTION", "not ours")];
    let environment = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let (ending, output) = place.execute(&Execution { environment, ..place.execution(&[]) });
    assert_well(&ending);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "hello = you");
    assert_eq!(lines[2], "0", "the keeper has them too");
}

fn settings_are_put_back_however_it_ends() {
    let seen = "cat \"$place/setting\" \"$place/other\"";
    for (body, expected) in [
        ("exit 0", Ending::Exited { status: 0, stderr: String::new() }),
        ("exit 3", Ending::Exited { status: 3, stderr: String::new() }),
        ("kill -SEGV $$", Ending::Signalled { signal: 11, stderr: String::new() }),
        ("echo enough; sleep 60", Ending::Refused),
        ("trap '' TERM; sleep 60 & sleep 60", Ending::TimedOut),
        ("echo 9 > \"$place/setting\"", Ending::Exited { status: 0, stderr: String::new() }),
    ] {
        let (_directory, place) = TestHost::new(&format!("{seen}\n{body}"));
        let execution = Execution {
            limit: Duration::from_secs(if expected == Ending::TimedOut { 1 } else { 30 }),
            ..place.execution(&[("setting", "7"), ("other", "a b")])
        };
        let (ending, output) = place.execute(&execution);
        assert_eq!(ending, expected, "{body}");
        assert!(output.starts_with("7\na b\n"), "{body}: {output}");
        assert_eq!((place.text("setting"), place.text("other")), ("1\n".to_owned(), "1\n".to_owned()), "{body}");
    }

    let (_directory, place) = TestHost::new("echo under way; sleep 60");
    let stop = StopFlag::default();
    let mut seen = String::new();
    let sink = &mut |_: &[u8]| {
        seen = place.text("setting");
        stop.set();
        ControlFlow::Continue(())
    };
    let ending = place.host().execute(&place.execution(&[("setting", "7")]), sink, &stop);
    assert_eq!((ending, seen.as_str(), place.text("setting").as_str()), (Ending::Stopped, "7\n", "1\n"));
}

fn a_setting_that_does_not_take_starts_nothing() {
    let (_directory, place) = TestHost::new("touch \"$place/began\"");
    fs::create_dir(place.path("directory")).unwrap();
    for (name, reason) in [("none", "/none can't be read: No such file"), ("directory", "/directory is not a file")] {
        let (ending, _) = place.execute(&place.execution(&[("setting", "7"), (name, "1")]));
        let Ending::NotStarted { text } = ending else { panic!("{ending:?}") };
        assert!(text.contains(reason), "{text}");
        assert_eq!(place.text("setting"), "1\n");
    }
    let fixed = ("/proc/sys/kernel/ostype".to_owned(), "Other".to_owned());
    let execution = Execution { system_settings: vec![fixed], ..place.execution(&[]) };
    let (ending, _) = place.execute(&execution);
    let Ending::NotStarted { text } = ending else { panic!("{ending:?}") };
    assert!(text.starts_with("/proc/sys/kernel/ostype can't be set to 'Other': "), "{text}");
    assert!(!place.path("began").exists());
}

fn settings_that_cannot_be_restored_are_reported() {
    for body in ["exit 0", "sleep 60", "exit 3"] {
        let (_directory, place) = TestHost::new(&format!("rm \"$place/setting\"; {body}"));
        let execution = place.execution(&[("other", "5"), ("setting", "7")]);
        let (ending, _) = place.execute(&Execution { limit: Duration::from_secs(1), ..execution });
        let Ending::LeftChanged { text } = ending else { panic!("{ending:?}") };
        assert!(text.starts_with("system settings were not restored after it: "), "{text}");
        assert!(text.contains("/setting can't be set to '1': No such file"), "{text}");
        assert_eq!(place.text("other"), "1\n", "the other one is put back all the same");
    }
}

fn settings_last_until_the_last_descendant_is_gone() {
    let watcher = "while :; do cat \"$place/setting\" >> \"$place/seen\"; done";
    let (_directory, place) = TestHost::new(&format!(
        "export place\nsetsid sh -c '{watcher}' >/dev/null 2>&1 &\nwhile ! test -s \"$place/seen\"; do sleep 0.01; done"
    ));
    let (ending, _) = place.execute(&place.execution(&[("setting", "7")]));
    assert_well(&ending);
    assert_eq!(place.text("setting"), "1\n");
    let seen = place.text("seen");
    assert!(seen.lines().all(|line| line == "7"), "it saw the setting put back");
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(place.text("seen").len(), seen.len(), "it is still there");
}

fn settings_are_put_back_when_we_are_killed() {
    let (_directory, place) = TestHost::new("echo $$ > \"$place/began\"; sleep 60");
    let mut parent = Command::new(std::env::current_exe().unwrap());
    parent.arg(PARENT).arg(&place.directory).stdin(Stdio::null());
    let mut parent = parent.spawn().unwrap();
    await_that("the workload's begin", || place.text("began").ends_with('\n'));
    assert_eq!(place.text("setting"), "7\n");
    parent.kill().unwrap();
    parent.wait().unwrap();
    await_that("the setting put back", || place.text("setting") == "1\n");
    let workload = place.text("began").trim().to_owned();
    assert!(!Path::new("/proc").join(workload).exists(), "the setting was put back under the workload");
    await_that("its scratch space removed", || fs::read_dir(place.path("scratch")).unwrap().next().is_none());
}

fn settings_are_put_back_when_the_keeper_is_killed() {
    let (_directory, place) = TestHost::new("echo $PPID > \"$place/keeper\"; sleep 60");
    std::thread::scope(|scope| {
        let executed = scope.spawn(|| place.execute(&place.execution(&[("setting", "7"), ("other", "8")])));
        await_that("the keeper's number", || place.text("keeper").ends_with('\n'));
        assert_eq!((place.text("setting"), place.text("other")), ("7\n".to_owned(), "8\n".to_owned()));
        let keeper = Pid::from_raw(place.text("keeper").trim().parse().unwrap()).unwrap();
        kill_process(keeper, Signal::KILL).unwrap();
        let (ending, _) = executed.join().unwrap();
        assert!(matches!(ending, Ending::Signalled { signal: 9, .. }), "{ending:?}");
    });
    assert_eq!((place.text("setting"), place.text("other")), ("1\n".to_owned(), "1\n".to_owned()));
}

fn nothing_survives_when_we_and_the_keeper_are_killed() {
    let body = "setsid sleep 1000 & echo $! > \"$place/grandchild\"; echo $PPID > \"$place/keeper\"; wait";
    let (_directory, place) = TestHost::new(body);
    let mut parent = Command::new(std::env::current_exe().unwrap());
    parent.arg(PARENT).arg(&place.directory).stdin(Stdio::null());
    let mut parent = parent.spawn().unwrap();
    await_that("the keeper's number", || place.text("keeper").ends_with('\n'));
    let process = |name: &str| Pid::from_raw(place.text(name).trim().parse().unwrap()).unwrap();
    let (keeper, grandchild) = (process("keeper"), process("grandchild"));
    // Stopped first, so that neither can react to the other's end.
    for signal in [Signal::STOP, Signal::KILL] {
        [Pid::from_child(&parent), keeper].iter().for_each(|one| kill_process(*one, signal).unwrap());
    }
    parent.wait().unwrap();
    let there = Path::new("/proc").join(grandchild.as_raw_nonzero().to_string());
    // A dead process that is not reaped has no environment.
    let is_gone = || fs::read(there.join("environ")).map_or(true, |environment| environment.is_empty());
    await_that("the end of the grandchild", is_gone);
    await_that("its scratch space removed", || fs::read_dir(place.path("scratch")).unwrap().next().is_none());
}

fn the_last_of_two_values_of_a_setting_counts() {
    let (_directory, place) = TestHost::new("cat \"$place/setting\"");
    let (ending, output) = place.execute(&place.execution(&[("setting", "7"), ("setting", "8")]));
    assert_well(&ending);
    assert_eq!((output.as_str(), place.text("setting").as_str()), ("8\n", "1\n"));
}

fn files_elsewhere_are_no_settings() {
    let (_directory, place) = TestHost::new("exit 0");
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    fs::write(elsewhere.path(), "1\n").unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), place.path("link")).unwrap();
    for path in [elsewhere.path().to_owned(), place.path("link"), place.path("../x")] {
        let setting = (path.to_str().unwrap().to_owned(), "7".to_owned());
        let (ending, _) = place.execute(&Execution { system_settings: vec![setting], ..place.execution(&[]) });
        let Ending::NotStarted { text } = ending else { panic!("{ending:?}") };
        assert!(text.contains("is not a system setting"), "{text}");
    }
    assert_eq!(fs::read_to_string(elsewhere.path()).unwrap(), "1\n");
}

fn a_setting_of_this_system() {
    for (path, value, held_in) in [
        ("/proc/sys/vm/overcommit_ratio", "47", "/proc/sys/vm/overcommit_ratio"),
        // Two forms of one setting: each reads 0 when the other one is written.
        ("/proc/sys/vm/overcommit_kbytes", "4711", "/proc/sys/vm/overcommit_ratio"),
        // A setting that lists choices with one in brackets.
        (
            "/sys/kernel/mm/transparent_hugepage/shmem_enabled",
            "advise",
            "/sys/kernel/mm/transparent_hugepage/shmem_enabled",
        ),
    ] {
        if fs::OpenOptions::new().write(true).open(path).is_err() {
            println!("skipped: {path} can't be written here, or not by this user");
            continue;
        }
        let before = fs::read_to_string(held_in).unwrap();
        let (_directory, place) = TestHost::new(&format!("cat {path}"));
        let setting = (path.to_owned(), value.to_owned());
        let (ending, output) = place.execute(&Execution { system_settings: vec![setting], ..place.execution(&[]) });
        assert_well(&ending);
        assert!(output.trim() == value || output.contains(&format!("[{value}]")), "{output}");
        assert_eq!(fs::read_to_string(held_in).unwrap(), before);
    }
}

/// The workloads' own sources.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads");

fn build(place: &TestHost, sources: &Path, compiler: &str, stop: &StopFlag) -> Result<(), String> {
    let request = BuildRequest {
        sources,
        compiler,
        directory: &place.path("built"),
        keeper: &std::env::current_exe().unwrap(),
        scratch: &place.path("scratch"),
    };
    let built = build_workloads(&request, stop).map_err(|error| error.problem);
    assert!(fs::read_dir(place.path("scratch")).unwrap().next().is_none());
    built
}

fn workloads_are_built_with_any_compiler() {
    let (_directory, place) = TestHost::new("");
    // A compiler of two words that leaves a trace.
    let compiler = place.path("compiler");
    fs::write(&compiler, format!("#!/bin/sh\necho \"$1\" >> '{}'\nexec cc \"$@\"\n", place.path("calls").display()))
        .unwrap();
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    let compiler = format!("{} -O1", compiler.display());
    build(&place, Path::new(SOURCES), &compiler, &StopFlag::default()).unwrap();
    let host = Host::new(HostPaths {
        workloads: place.path("built"),
        scratch: place.path("scratch"),
        keeper: PathBuf::new(),
        sandbox: None,
    });
    let names: Vec<String> = host.workloads().unwrap().into_iter().map(|info| info.name).collect();
    assert!(names.contains(&"zero_fill".to_owned()) && names.contains(&"program".to_owned()), "{names:?}");
    let calls = place.text("calls").lines().count();
    assert!(calls > names.len(), "the compiler was called {calls} times");
    assert!(place.text("calls").lines().all(|first| first == "-O1"));
}

/// A Makefile of one rule.
fn sources(place: &TestHost, rule: &str) -> PathBuf {
    let sources = place.path("sources");
    fs::create_dir(&sources).unwrap();
    fs::write(sources.join("Makefile"), format!("all:\n\t{rule}\n")).unwrap();
    sources
}

fn a_build_that_fails_says_why() {
    let (_directory, place) = TestHost::new("");
    let stop = StopFlag::default();
    let problem = build(&place, Path::new(SOURCES), "no-such-compiler -O2", &stop).unwrap_err();
    assert!(problem.starts_with("can't build the workloads with 'no-such-compiler -O2': "), "{problem}");
    assert!(problem.contains("no-such-compiler: "), "{problem}");
    let sources = sources(&place, "@echo building; echo \"x.c:1: error: no luck\" >&2; exit 1");
    let problem = build(&place, &sources, "cc", &stop).unwrap_err();
    assert_eq!(problem, "can't build the workloads with 'cc': x.c:1: error: no luck");
    let problem = build(&place, Path::new("/nowhere"), "cc", &stop).unwrap_err();
    assert!(problem.contains("/nowhere"), "{problem}");
}

fn a_build_that_is_stopped_ends() {
    let (_directory, place) = TestHost::new("");
    let sources = sources(&place, "@echo $$$$ > ../began; exec sleep 60");
    let stop = StopFlag::default();
    std::thread::scope(|scope| {
        let built = scope.spawn(|| build(&place, &sources, "cc", &stop));
        await_that("the build's begin", || place.text("began").ends_with('\n'));
        stop.set();
        assert!(built.join().unwrap().unwrap_err().ends_with("it was stopped"));
    });
    assert!(!Path::new("/proc").join(place.text("began").trim()).exists(), "it is still there");
}
