//! Histories whose commits are measured on a host over SSH. Programs are copied there; kernels are
//! installed, and the host reboots. The tests use a real OpenSSH server on loopback. The boot id is
//! a file, which the reboot command rewrites.

use crate::lab::repository::Repository;
use crate::lab::{assert_refused, await_boot, await_that, stderr, stdout};
use crate::ssh::server::Server;
use faultline_record::record::Attempt;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::process::{Command, Output, Stdio};

/// Keys of a declaration, in addition to the host's address.
#[derive(Default)]
struct Declared<'a> {
    host: &'a str,
    subject: &'a str,
}

fn declare(repository: &Repository, server: &Server, declared: &Declared<'_>) {
    let text = format!(
        "[host.lab]\nssh = \"{}\"\nconfig = \"ssh/ssh_config\"\n{}\n\
         [subject.app]\nrepository = \"repository\"\nwork = \"work\"\nbuild = \"./build\"\non = \"ssh:lab\"\nseed = 1\n{}\n",
        server.destination(),
        declared.host,
        declared.subject
    );
    fs::write(repository.lab.path("faultline.toml"), text).unwrap();
}

fn command(repository: &Repository, arguments: &[&str]) -> Command {
    let mut command = repository.lab.command(arguments);
    command.env("FAULTLINE_GUEST", crate::lab::guest::guest_directory()).current_dir(repository.lab.path(""));
    command
}

fn run(repository: &Repository, arguments: &[&str]) -> Output {
    command(repository, arguments).output().unwrap()
}

#[track_caller]
fn assert_ends(output: &Output, status: i32) {
    assert_eq!(output.status.code(), Some(status), "{}{}", stdout(output), stderr(output));
}

/// The points of the only series.
#[track_caller]
fn points(repository: &Repository) -> Vec<Value> {
    let output = run(repository, &["history", "show", "--format", "json"]);
    assert_ends(&output, 0);
    let series: Value = serde_json::from_slice(&output.stdout).unwrap();
    series[0]["points"].as_array().unwrap().clone()
}

/// Outcome of each commit: `measured`, or the reason why it was not.
fn results(repository: &Repository) -> Vec<String> {
    let result = |point: &Value| point["why"].as_str().or(point["result"].as_str()).unwrap_or("none").to_owned();
    points(repository).iter().map(result).collect()
}

/// A repository of programs that look for a file next to them, and sleep for `sleeps_ms`.
fn programs(sleeps_ms: &[u32]) -> Repository {
    let mut repository = Repository::new();
    for (number, sleep_ms) in sleeps_ms.iter().enumerate() {
        let program = format!("#!/bin/sh\n# {number}\ntest -f 'data dir/file' && sleep 0.{sleep_ms:03}\n");
        let build = "#!/bin/sh\nmkdir -p 'data dir' && echo x >'data dir/file'\n";
        repository.write_programs(&[("prog", &program), ("build", build)]);
        repository.commit_all(&format!("sleeps {sleep_ms}"));
    }
    repository
}

const PROGRAM: Declared<'_> =
    Declared { host: "", subject: "command = \"./prog\"\nkeep = [\"prog\", \"data dir\"]\nrepeats = 6" };

#[test]
fn programs_of_commits_are_sent_to_a_host_and_measured_there() {
    let repository = programs(&[30, 30, 90]);
    let mut server = Server::start(&repository.lab);
    declare(&repository, &server, &PROGRAM);
    assert_ends(&run(&repository, &["history", "run", "--quiet"]), 0);
    repository.lab.assert_nothing_left();
    assert_eq!(server.left(), Vec::<String>::new());
    let points = points(&repository);
    let median = |at: usize| points[at]["estimate"]["median"].as_f64().unwrap();
    assert!(median(1) > 0.03 && median(2) > 0.09, "{points:?}");
    let record = repository.lab.record(1);
    let host = record.subjects[0].machine.to_string();
    assert!(host.starts_with(&format!("ssh:{}", server.destination())), "{host}");
    assert!(record.all_facts().next().unwrap().get_text("workload.program.sha256").is_some());

    // Without a new commit there is nothing to do. Checking this needs the host.
    let again = run(&repository, &["history", "run"]);
    assert_ends(&again, 0);
    assert!(repository.lab.attempts() == Some(18), "{}", stdout(&again));

    // A list does not: it compares with the host of the newest run.
    server.stop();
    let listed = run(&repository, &["history", "commits"]);
    assert_ends(&listed, 0);
    assert!(stdout(&listed).contains("0 of 3 would be measured"), "{}", stdout(&listed));
}

#[test]
fn a_step_is_searched_on_the_host() {
    let repository = programs(&[[100; 6], [500; 6]].concat());
    let server = Server::start(&repository.lab);
    declare(&repository, &server, &PROGRAM);
    assert_ends(&run(&repository, &["history", "run", "--quiet"]), 0);
    let searched = run(&repository, &["bisect", "app", "--quiet"]);
    assert_ends(&searched, 0);
    assert!(stdout(&searched).contains(&repository.commits[6][..12]), "{}", stdout(&searched));
    let machines =
        repository.lab.record(2).head.subjects.iter().map(|subject| subject.machine.to_string()).collect::<Vec<_>>();
    assert!(!machines.is_empty() && machines.iter().all(|machine| machine.starts_with("ssh:")), "{machines:?}");
    assert_eq!(server.left(), Vec::<String>::new());
}

#[test]
fn a_search_between_two_commits_measures_on_a_named_host() {
    let repository = programs(&[[30; 4], [300; 4]].concat());
    let server = Server::start(&repository.lab);
    declare(&repository, &server, &PROGRAM);
    let (old, new) = (&repository.commits[0], &repository.commits[7]);
    let bisect = |more: &[&str]| {
        let words = ["bisect", old, new, "--repository", "repository", "--work", "search", "--quiet"];
        let build = ["--build", "./build", "--keep", "prog", "--keep", "data dir", "--", "./prog"];
        run(&repository, &[&words[..], more, &build].concat())
    };
    assert_refused(&bisect(&["--on", "qemu"]), 2, "--on takes a host over SSH");
    assert_refused(
        &bisect(&["--on", "ssh:lab", "--by", "transfers"]),
        2,
        "--on applies only to executions of programs",
    );
    assert!(!repository.lab.db().exists());

    let found = bisect(&["--on", "ssh:lab"]);
    assert_ends(&found, 0);
    assert!(stdout(&found).contains(&repository.commits[4][..12]), "{}", stdout(&found));
    let record = repository.lab.record(1);
    let machines = record.head.subjects.iter().map(|subject| subject.machine.to_string());
    assert!(machines.clone().count() > 1 && machines.clone().all(|machine| machine.starts_with("ssh:")));
    assert_eq!(server.left(), Vec::<String>::new());
}

#[test]
fn a_run_goes_on_after_its_connection_was_cut_and_after_a_kill() {
    let repository = programs(&[100, 100]);
    let mut server = Server::start(&repository.lab);
    let subject = PROGRAM.subject.replace('6', "9");
    declare(&repository, &server, &Declared { host: "back_limit = \"60s\"", subject: &subject });
    let begin = |arguments: &[&str], executions: usize| {
        let child = command(&repository, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        await_boot("executions", || repository.lab.attempts().is_some_and(|count| count >= executions));
        child
    };
    let child = begin(&["history", "run", "--quiet"], 3);
    // The SSH server is down for a while.
    server.stop();
    server.listen();
    await_boot("the next execution", || repository.lab.attempts().is_some_and(|count| count >= 6));
    crate::lab::kill(child);
    let child = begin(&["history", "run", "--quiet"], 9);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_ends(&run(&repository, &["resume", "--quiet"]), 0);
    let record = repository.lab.record(1);
    let ended = |kind: &str| {
        let is_it = |outcome: &&_| serde_json::to_value(outcome).unwrap()["kind"] == kind;
        record.attempts.iter().filter_map(|attempt| attempt.outcome.as_ref()).filter(is_it).count()
    };
    assert_eq!((ended("done"), record.plan.len()), (18, 18));
    assert!((1..=4).contains(&ended("connection_lost")), "{:?}", record.attempts);
    assert_eq!(results(&repository), ["measured", "measured"]);
    await_that("an empty host", || server.left().is_empty());
}

/// The release of the running kernel, as the host reports it.
fn own_release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim().to_owned()
}

/// Adds a commit with the file to install, and the release that is expected to boot.
fn commit_kernel(repository: &mut Repository, text: &str, release: &str) {
    repository.write(&[("image", text), ("release", release)]);
    repository.write_programs(&[("build", "#!/bin/sh\nexec test -s image\n")]);
    repository.commit_all(text);
}

const KERNEL: &str = "image = \"image\"\nrelease_file = \"release\"\nworkloads = [\"path_stat:distinct\"]\nrepeats = 2";

/// Declares a host that installs the artefact as the file `installed`; `others` may override this.
/// A reboot changes the boot id, unless the installed kernel hangs or is lost.
fn host(server: &Server, others: &str) -> String {
    let there = server.path("").display().to_string();
    format!(
        "install = ['sh', '-c', '''echo once >>{there}installations; if grep -q broken \"$0\"; then echo no room >&2; exit 3; fi; cp \"$0\" {there}installed''', '{{artefact}}']\n\
         reboot = ['sh', '-c', '''if grep -q lost {there}installed; then kill $(cat {there}pid); elif ! grep -q hangs {there}installed; then cat /proc/sys/kernel/random/uuid >{there}boot_id; fi''']\n\
         back_limit = \"3s\"\n{others}"
    )
}

fn installations(server: &Server) -> usize {
    fs::read_to_string(server.path("installations")).unwrap_or_default().lines().count()
}

#[test]
fn what_cannot_be_installed_or_booted_is_a_result_of_its_commit() {
    let mut repository = Repository::new();
    let Some(server) = Server::start_with_boot_id(&repository.lab) else { return };
    let release = own_release();
    for (text, release) in
        [("first", &*release), ("broken", &release), ("hangs", &release), ("other", "9.9.9"), ("last", &release)]
    {
        commit_kernel(&mut repository, text, release);
    }
    repository.write(&[("image", "")]);
    repository.commit_all("does not build");
    declare(&repository, &server, &Declared { host: &host(&server, ""), subject: KERNEL });
    let ran = run(&repository, &["history", "run"]);
    assert_ends(&ran, 0);
    assert_eq!(results(&repository), ["measured", "run", "boot", "boot", "measured", "build"]);
    let shown = stdout(&run(&repository, &["history", "show"]));
    assert!(shown.contains("the time of `path_stat:distinct`, per operation, 1 CPU"), "{shown}");
    let record = repository.lab.record(1);
    let said = format!("{:?}", record.attempts);
    for words in ["status 3: no room", "did not come back within 3 s", "instead of 9.9.9"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // Seconds per operation of each execution of the first commit.
    let seconds = |attempt: &&Attempt| {
        let window_ns: u64 = attempt.window.iter().map(|interval| interval.to_ns - interval.from_ns).sum();
        let operations: u64 = attempt.window.iter().flat_map(|interval| &interval.operations).sum();
        window_ns as f64 / 1e9 / operations as f64
    };
    let is_of_first = |attempt: &&Attempt| {
        let item = record.plan.iter().find(|item| item.ordinal == attempt.ordinal).unwrap();
        record.subject(item.subject).unwrap().commit.as_ref().unwrap().id == repository.commits[0]
    };
    let mut own: Vec<f64> = record.attempts.iter().filter(is_of_first).map(|attempt| seconds(&attempt)).collect();
    own.sort_by(f64::total_cmp);
    let estimate = &points(&repository)[0]["estimate"];
    let range = ["low", "high"].map(|end| estimate[end].as_f64().unwrap());
    assert!(
        own.len() == 2 && own.iter().zip(range).all(|(own, end)| (own / end - 1.0).abs() < 1e-9),
        "{own:?} {range:?}"
    );
    // Five installations in the first block, two in the second.
    assert_eq!(installations(&server), 7);
    assert_ends(&run(&repository, &["history", "run", "--quiet"]), 0);
    assert_eq!(installations(&server), 7, "each commit has its result");
    repository.lab.assert_nothing_left();
    assert_eq!(server.left(), Vec::<String>::new());
}

#[test]
fn kernels_that_are_there_already_are_installed_too() {
    let repository = Repository::new();
    let Some(server) = Server::start_with_boot_id(&repository.lab) else { return };
    for text in ["first", "broken", "last"] {
        fs::write(repository.lab.path(text), text).unwrap();
    }
    let release = |kernel: &str, uname: &str| {
        format!("[[subject.app.release]]\nname = \"{kernel}\"\ndate = \"2023-06-10\"\nkernel = \"{kernel}\"\n{uname}")
    };
    let uname = format!("uname = \"{}\"\n", own_release());
    let declared = |releases: &[String], keys: &str| {
        let keys = format!("workloads = [\"path_stat:distinct\"]\nrepeats = 2\n{keys}{}", releases.concat());
        declare(&repository, &server, &Declared { host: &host(&server, ""), subject: &keys });
        let file = repository.lab.path("faultline.toml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("repository = \"repository\"\n", "").replace("build = \"./build\"\n", ""))
            .unwrap();
    };
    let refused = |problem: &str| assert_refused(&run(&repository, &["history", "run"]), 2, problem);
    declared(&[release("first", "")], "");
    refused("release first: give `uname`");
    declared(&[release("first", &uname)], "release_file = \"x\"\n");
    refused("`release_file` does not apply to kernels that are there already");
    declared(&[release("first", "uname = \"a b\"\n")], "");
    refused("`uname` takes what `uname -r` prints");

    let other = release("other", "uname = \"9.9.9\"\n").replace("kernel = \"other\"", "kernel = \"last\"");
    declared(&[release("first", &uname), release("broken", &uname), other, release("last", &uname)], "");
    assert_ends(&run(&repository, &["history", "run", "--quiet"]), 0);
    assert_eq!(results(&repository), ["measured", "run", "boot", "measured"]);
    let names: Vec<_> = points(&repository).iter().map(|point| point["commit"]["id"].clone()).collect();
    assert_eq!(names, ["first", "broken", "other", "last"]);
    repository.lab.assert_nothing_left();
    assert_eq!(server.left(), Vec::<String>::new());
}

#[test]
fn a_host_that_is_lost_pauses_the_run_which_goes_on_later() {
    let mut repository = Repository::new();
    let Some(mut server) = Server::start_with_boot_id(&repository.lab) else { return };
    let release = own_release();
    for text in ["first", "lost", "last"] {
        commit_kernel(&mut repository, text, &release);
    }
    let plug = "power_cycle = ['sh', '-c', 'echo cycled >>cycles']";
    declare(&repository, &server, &Declared { host: &host(&server, plug), subject: KERNEL });
    let paused = run(&repository, &["history", "run", "--quiet"]);
    assert_ends(&paused, 1);
    assert!(stderr(&paused).contains("faultline: cannot connect to"), "{}", stderr(&paused));
    assert!(
        stderr(&paused).contains("`faultline resume 1` continues when the host answers again"),
        "{}",
        stderr(&paused)
    );
    assert_eq!(fs::read_to_string(repository.lab.path("cycles")).unwrap(), "cycled\n", "once");
    // The next night, the host is still down. The run waits for it, and power-cycles it again.
    let down = run(&repository, &["history", "run", "--quiet"]);
    assert!(stderr(&down).contains("did not come back within"), "{}", stderr(&down));
    assert_eq!(fs::read_to_string(repository.lab.path("cycles")).unwrap(), "cycled\n".repeat(2));
    fs::write(server.path("installed"), "").unwrap();
    server.stop();
    server.listen();
    let done = |repository: &Repository| {
        let record = repository.lab.record(1);
        record.attempts.iter().filter(|attempt| attempt.outcome.is_some()).count()
    };
    let before = done(&repository);
    assert_ends(&run(&repository, &["history", "run", "--quiet"]), 0);
    assert_eq!(results(&repository), ["measured", "boot", "measured"]);
    let total = done(&repository);
    assert_eq!((total, total > before), (5, true), "three in the first block, two in the second, none twice");
}

/// Invalid declarations are refused before anything is built.
#[test]
fn declarations_that_make_no_sense_are_refused_with_their_line() {
    let repository = programs(&[1]);
    let server = Server::start(&repository.lab);
    let refused = |host: &str, subject: &str, problem: &str| {
        declare(&repository, &server, &Declared { host, subject });
        assert_refused(&run(&repository, &["history", "run"]), 2, problem);
    };
    let install = "install = [\"cp\", \"{artefact}\", \"/x\"]";
    refused("", "command = \"./prog\"\nmeasure = \"transfers\"", "`on` applies only to time");
    refused("", KERNEL, "`[host.lab]` does not say how to install");
    refused(install, &KERNEL.replace("release_file = \"release\"\n", ""), "give `release_file`");
    refused(install, &format!("{KERNEL}\nops = 3"), "`ops` does not apply to kernels that are installed on a host");
    refused(install, &KERNEL.replace("release\"", "../release\""), "takes paths below the top of a build");
    refused("", "command = \"./prog\"\nrelease_file = \"x\"", "`release_file` belongs to a kernel");
    let text = fs::read_to_string(repository.lab.path("faultline.toml")).unwrap();
    let other = |on: &str| text.replace("ssh:lab", on).replace("release_file = \"x\"\n", "");
    for (on, problem) in [
        ("ssh:other", "`[host.other]` is not declared in this file (lab)"),
        ("qemu", "`on` takes a declared host, `ssh:NAME`, not 'qemu'"),
        ("vax", "not a machine"),
    ] {
        fs::write(repository.lab.path("faultline.toml"), other(on)).unwrap();
        assert_refused(&run(&repository, &["history", "run"]), 2, problem);
    }
    assert!(!repository.lab.path("work").exists());
}
