//! Consent to a `faultline.toml`: nothing that it declares is executed before its user trusts it.
//! Other tests trust all files by `FAULTLINE_TRUST`.

use crate::lab::repository::{Repository, git};
use crate::lab::{Lab, assert_refused, await_that, kill, output_text, stderr, stdout};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const UNTRUSTED: &str = "faultline.toml has not been trusted, or has changed since";

/// Two commits of a program whose build, outside of the sandbox, leaves the file `executed` in the
/// lab.
fn repository(keys: &str) -> Repository {
    let mut repository = Repository::new();
    for number in 0..2 {
        repository.write_programs(&[("prog", &format!("#!/bin/sh\n# {number}\nsleep 0.01\n"))]);
        repository.commit_all(&format!("commit {number}"));
    }
    let executed = repository.lab.path("executed").display().to_string();
    repository.declare_app(&format!("build = [\"touch\", \"{executed}\"]\nsandbox = false\n{keys}"));
    repository
}

/// The command beside the repository, of a user who trusts nothing yet.
fn asking(repository: &Repository, arguments: &[&str]) -> Command {
    let mut command = repository.command_beside(arguments);
    command.env_remove("FAULTLINE_TRUST").env("XDG_CACHE_HOME", repository.lab.path("cache"));
    command
}

fn run(repository: &Repository, arguments: &[&str]) -> Output {
    asking(repository, arguments).output().unwrap()
}

#[track_caller]
fn assert_ends(output: &Output, status: i32) {
    assert_eq!(output.status.code(), Some(status), "{}", output_text(output));
}

fn append(file: &Path, text: &str) {
    fs::OpenOptions::new().append(true).open(file).unwrap().write_all(text.as_bytes()).unwrap();
}

const RUN: [&str; 3] = ["history", "run", "--quiet"];

#[test]
fn a_file_is_used_after_its_user_trusts_it_and_until_it_changes() {
    let repository = repository("");
    let executed = repository.lab.path("executed");
    assert_refused(&run(&repository, &RUN), 2, UNTRUSTED);
    let said = stderr(&run(&repository, &RUN));
    assert!(said.contains("`faultline trust faultline.toml` shows what it would execute"), "{said}");
    for made in ["executed", "work", "cache", "db.sqlite"] {
        assert!(!repository.lab.path(made).exists(), "{made}");
    }

    // Without a terminal only `--yes` is a yes.
    let refused = run(&repository, &["trust"]);
    assert_ends(&refused, 2);
    assert!(stderr(&refused).contains("`faultline trust` asks first"), "{}", stderr(&refused));
    assert_refused(&run(&repository, &RUN), 2, UNTRUSTED);
    let trusted = run(&repository, &["trust", "--yes"]);
    assert_ends(&trusted, 0);
    let build = format!("subject.app.build = [\"touch\",\"{}\"]    # builds each commit", executed.display());
    assert!(stdout(&trusted).contains(&build), "{}", stdout(&trusted));
    assert!(!executed.exists());
    let list = repository.lab.path("state/faultline/trusted");
    assert_eq!(list.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_ends(&run(&repository, &RUN), 0);
    assert!(executed.exists());
    assert!(stderr(&run(&repository, &["trust"])).contains("is trusted already"));

    append(&repository.lab.path("faultline.toml"), "# changed\n");
    assert_refused(&run(&repository, &RUN), 2, UNTRUSTED);
    assert_ends(&run(&repository, &[&RUN[..], &["--trust"]].concat()), 0);
    assert_ends(&asking(&repository, &RUN).env("FAULTLINE_TRUST", "1").output().unwrap(), 0);
    assert_refused(&run(&repository, &RUN), 2, UNTRUSTED);

    // A copy of the content is another file.
    assert_ends(&run(&repository, &["trust", "--yes"]), 0);
    fs::copy(repository.lab.path("faultline.toml"), repository.lab.path("copy.toml")).unwrap();
    let copy = run(&repository, &["history", "run", "--config", "copy.toml"]);
    assert_refused(&copy, 2, "copy.toml has not been trusted");
    assert_ends(&run(&repository, &RUN), 0);
}

#[test]
fn every_command_that_would_execute_a_declaration_asks_and_others_do_not() {
    let repository = repository(
        "[notify]\ncommand = [\"touch\", \"executed\"]\n[variant.fast]\ncommand = [\"touch\", \"executed\"]\n\
         [host.lab]\nssh = \"127.0.0.1:1\"\n",
    );
    repository.lab.good_fake("good");
    let asked = |arguments: &[&str]| {
        let mut command = asking(&repository, arguments);
        command.env("FAULTLINE_WORKLOADS", repository.lab.path("fakes")).output().unwrap()
    };
    for arguments in [
        &["history", "run"][..],
        &["history", "work"],
        &["history", "mark", "app", "fixed", "--step", "1", "--reason", "x"],
        &["bisect", "app"],
        &["bisect", "HEAD~1", "HEAD", "--repository", "repository", "--on", "ssh:lab", "--", "./prog"],
        &["compare", "good", "--a", "fast", "--b", ""],
        &["compare", "good", "--a", "", "--b", "on=ssh:lab"],
        &["compare", "good", "--a", "", "--b", "partner.receiver=ssh:lab"],
        &["run", "good", "--on", "ssh:lab"],
        &["run", "--list", "--on", "ssh:lab"],
        &["run", "good", "--partner", "receiver=ssh:lab"],
        &["run", "good", "--on", "ssh:lab", "--install", "x"],
        &["check", "good", "--on", "ssh:lab"],
        &["check", "--facts", "--on", "ssh:lab"],
    ] {
        assert_refused(&asked(arguments), 2, UNTRUSTED);
        assert!(!repository.lab.db().exists(), "{arguments:?}");
    }
    let quick = ["--tasks", "1", "--repeats", "1", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms", "-q"];
    assert_ends(&asked(&[&["run", "good"][..], &quick].concat()), 0);
    assert_refused(&asked(&["compare", "good", "--a", "", "--b", "no-program"]), 2, "there is no variant");
    assert_ends(&asked(&["history", "init", "other.toml"]), 0);
    for arguments in [&["history", "show"][..], &["history", "changes"]] {
        let output = asked(arguments);
        assert!(stderr(&output).contains("these subjects have no results yet"), "{}", stderr(&output));
    }
    let undeclared = asked(&["run", "good", "--on", "ssh:localhost,identity=/nowhere"]);
    assert!(!stderr(&undeclared).contains("trusted"), "{}", stderr(&undeclared));
    assert!(!repository.lab.path("executed").exists());
}

#[test]
fn the_list_shows_what_runs_and_its_text_cannot_hide_any_of_it() {
    let lab = Lab::new();
    let text = "[subject.app]\nbuild = \"make\u{202e} \\u001b[2K\"\ncommand = './prog'\nrepeats = 9\nsandbox = false\n\
        [host.lab]\nssh = \"lab.example\"\nconfig = \"ssh_config\"\npower_cycle = [\"./plug\"]\n\
        [notify]\nwebhook = \"https://example.org/secret\"\n[variant.v]\nsysctl = { \"vm.x\" = 1 }\n";
    fs::write(lab.path("faultline.toml"), text).unwrap();
    let shown = lab.command(&["trust", "--yes"]).current_dir(lab.path("")).output().unwrap();
    assert_ends(&shown, 0);
    assert_eq!(
        stdout(&shown),
        "faultline.toml declares what is executed or used:\n\n\
        \x20 host.lab.config = \"ssh_config\"    # OpenSSH configuration; its ProxyCommand and Match exec run on this machine\n\
        \x20 host.lab.power_cycle = [\"./plug\"]    # runs on this machine\n\
        \x20 host.lab.ssh = \"lab.example\"    # login; programs run there\n\
        \x20 notify.webhook = \"https://example.org/…\"    # gets confirmed changes\n\
        \x20 subject.app.build = \"make\u{fffd} \\u001b[2K\"    # builds each commit, on this machine\n\
        \x20 subject.app.command = \"./prog\"    # program that is executed and measured\n\
        \x20 subject.app.sandbox = false    # with false, builds and programs run outside of the sandbox\n\
        \x20 variant.v.sysctl = {\"vm.x\":1}    # system settings that are written\n"
    );
    fs::write(lab.path("broken.toml"), "[subject.app\n").unwrap();
    let broken = lab.command(&["trust", "--yes", "broken.toml"]).current_dir(lab.path("")).output().unwrap();
    assert_refused(&broken, 2, "broken.toml:1: ");
}

/// A check of a file from elsewhere: tools, SSH's configuration and git's configuration, all of
/// which would leave files if they were executed.
#[test]
fn history_commits_executes_nothing_that_the_file_names() {
    let repository = repository("environment = { CC = \"./cc\", PATH = \"tools\" }\non = \"ssh:lab\"\n");
    let touches = |name: &str| format!("touch {}", repository.lab.path(name).display());
    append(&repository.lab.path("faultline.toml"), "[host.lab]\nssh = \"lab.example\"\nconfig = \"ssh_config\"\n");
    let ssh = format!(
        "Match exec \"{}\"\n  User x\nHost *\n  ProxyCommand {}\n",
        touches("executed-match"),
        touches("executed-proxy")
    );
    fs::write(repository.lab.path("ssh_config"), ssh).unwrap();
    let work = repository.lab.path("work");
    fs::create_dir_all(work.join("repository")).unwrap();
    git(&work.join("repository"), &["init", "--quiet", "--bare"]);
    git(&work.join("repository"), &["config", "core.alternateRefsCommand", &touches("executed-git")]);
    fs::create_dir_all(work.join("builds/tools")).unwrap();
    for tool in ["cc", "tools/cc", "tools/gcc"] {
        let file = work.join("builds").join(tool);
        fs::write(&file, format!("#!/bin/sh\n/usr/bin/{}\n", touches("executed-tool"))).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for arguments in [&["history", "commits"][..], &["history", "commits", "--retry"]] {
        let listed = run(&repository, arguments);
        assert_ends(&listed, 0);
        assert!(stdout(&listed).contains("2 of 2 would be measured"), "{}", stdout(&listed));
        assert!(stdout(&listed).contains(&repository.commits[1][..12]), "{}", stdout(&listed));
    }
    let executed = || {
        let names = fs::read_dir(repository.lab.path("")).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("executed")).collect::<Vec<_>>()
    };
    assert_eq!(executed(), Vec::<std::ffi::OsString>::new());
    assert!(!work.join("gitconfig").exists(), "it wrote to the directory that the file names");
    // Trusted or not, a check does not reach the host or ask the tools.
    fs::remove_dir_all(&work).unwrap();
    assert_ends(&run(&repository, &["history", "commits", "--trust"]), 0);
    assert_eq!(executed(), Vec::<std::ffi::OsString>::new());
    assert!(work.exists());
}

#[test]
fn a_resumed_run_asks_nothing() {
    let repository = repository("");
    let text = fs::read_to_string(repository.lab.path("faultline.toml")).unwrap();
    fs::write(repository.lab.path("faultline.toml"), text.replace("repeats = 2", "repeats = 40")).unwrap();
    let mut begun = asking(&repository, &[&RUN[..], &["--trust"]].concat());
    let child = begun.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_that("executions", || repository.lab.attempts().is_some_and(|count| count > 3));
    kill(child);
    assert_refused(&run(&repository, &RUN), 2, UNTRUSTED);
    fs::remove_file(repository.lab.path("faultline.toml")).unwrap();
    assert_ends(&run(&repository, &["resume", "--quiet"]), 0);
}

/// The command in a terminal, with this input; `None` if this machine has no `script`.
fn on_a_terminal(repository: &Repository, arguments: &str, input: &str) -> Option<Output> {
    let program = crate::lab::program().display().to_string();
    let asked = asking(repository, &[]);
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--return", "--command", &format!("'{program}' {arguments}"), "/dev/null"]);
    for (name, value) in asked.get_envs() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    terminal.current_dir(repository.lab.path("")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = terminal.spawn() else {
        println!("skipped: this machine has no program `script`");
        return None;
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Some(child.wait_with_output().unwrap())
}

#[test]
fn a_terminal_is_asked_and_the_command_goes_on_after_a_yes() {
    let repository = repository("");
    let Some(no) = on_a_terminal(&repository, "history run --quiet", "n\n") else { return };
    assert_ends(&no, 2);
    let said = stdout(&no);
    assert!(said.contains("subject.app.build = ") && said.contains("Trust this file? [y/N] "), "{said}");
    assert!(said.contains(UNTRUSTED), "{said}");
    assert!(!repository.lab.path("executed").exists());
    let yes = on_a_terminal(&repository, "history run --quiet", "y\n").unwrap();
    assert_ends(&yes, 0);
    assert!(repository.lab.path("executed").exists(), "{}", stdout(&yes));
    // It was asked once.
    assert_ends(&run(&repository, &RUN), 0);
    let again = on_a_terminal(&repository, "trust", "").unwrap();
    assert!(stdout(&again).contains("is trusted already"), "{}", stdout(&again));
}
