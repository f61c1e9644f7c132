//! Hosts declared in `faultline.toml`. An artefact is installed on them, they reboot, and are
//! measured when they are back. The tests use a real OpenSSH server on loopback. The boot id is a
//! file, which the reboot command rewrites.

use crate::lab::{Lab, assert_refused, stderr, stdout};
use crate::ssh::server::Server;
use faultline_record::machine::Machine;
use std::fs;
use std::process::Output;

/// Keys of a declaration, in addition to the host's address.
struct Declared<'a> {
    install: &'a str,
    reboot: &'a str,
    others: &'a str,
}

/// Writes the declaration of the host `lab`.
fn declare(lab: &Lab, server: &Server, declared: &Declared<'_>) {
    let Declared { install, reboot, others } = declared;
    let text = format!(
        "[variant.x]\n[host.lab]\nssh = \"{}\"\nconfig = \"ssh/ssh_config\"\n\
         install = ['sh', '-c', '''{install}''', '{{artefact}}']\nreboot = ['sh', '-c', '''{reboot}''']\n{others}\n",
        server.destination()
    );
    fs::write(lab.path("faultline.toml"), text).unwrap();
}

fn run(lab: &Lab, arguments: &[&str]) -> Output {
    let mut command = lab.command(&["run", "path_stat:distinct", "--on", "ssh:lab", "--tasks", "1", "--repeats", "2"]);
    command.args(["--warmup", "0ms", "--window", "20ms", "--interval", "10ms"]).args(arguments);
    command.env("FAULTLINE_GUEST", crate::lab::guest::guest_directory()).current_dir(lab.path("")).output().unwrap()
}

/// A lab with a host and an artefact, `a new kernel`; `None` if this machine does not allow it.
fn begin() -> Option<(Lab, Server)> {
    let lab = Lab::new();
    let server = Server::start_with_boot_id(&lab)?;
    fs::write(lab.path("kernel.deb"), "a new kernel").unwrap();
    Some((lab, server))
}

/// Script of a reboot: cuts the connection, then changes the boot id.
fn reboots(server: &Server) -> String {
    format!("echo second >{}", server.path("boot_id").display())
}

fn installs(server: &Server) -> String {
    format!("cp \"$0\" {}", server.path("installed").display())
}

#[test]
fn a_host_gets_something_new_reboots_and_is_measured() {
    let Some((lab, server)) = begin() else { return };
    let (install, reboot) = (installs(&server), reboots(&server));
    declare(&lab, &server, &Declared { install: &install, reboot: &reboot, others: "" });
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let output = run(&lab, &["--install", "kernel.deb", "--release", release.trim()]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert!(stderr(&output).contains("installing kernel.deb on"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(server.path("installed")).unwrap(), "a new kernel");
    let record = lab.record(1);
    assert_eq!(record.all_facts().next().unwrap().get_text("boot.id"), Some("second"));
    let Machine::Ssh(host) = &record.subjects[0].machine else { panic!("{:?}", record.subjects) };
    assert_eq!((host.destination(), host.config.as_deref()), (server.destination(), Some(&*server.path("ssh_config"))));
    lab.assert_nothing_left();
    assert_eq!(server.left(), Vec::<String>::new());

    // Without an artefact to install, the name is enough. The saved run does not need the
    // declaration.
    assert!(run(&lab, &[]).status.success());
}

#[test]
fn a_host_that_hangs_is_switched_off_and_on_once() {
    let Some((lab, server)) = begin() else { return };
    let (install, hangs) = (installs(&server), "true");
    let others = "back_limit = \"3s\"\npower_cycle = ['./plug', 'a b']";
    declare(&lab, &server, &Declared { install: &install, reboot: hangs, others });
    let plug = |text: &str| {
        use std::os::unix::fs::PermissionsExt;
        fs::write(lab.path("plug"), format!("#!/bin/sh\n[ \"$1\" = 'a b' ] && {text}\n")).unwrap();
        fs::set_permissions(lab.path("plug"), fs::Permissions::from_mode(0o755)).unwrap();
    };
    plug("echo cycled >>cycles && echo third >ssh/boot_id");
    let output = run(&lab, &["--install", "kernel.deb"]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(lab.record(1).all_facts().next().unwrap().get_text("boot.id"), Some("third"));

    plug("echo cycled >>cycles");
    let output = run(&lab, &["--install", "kernel.deb", "--quiet"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("did not come back within 3 s; power-cycling it did not help"),
        "{}",
        stderr(&output)
    );
    assert_eq!(fs::read_to_string(lab.path("cycles")).unwrap(), "cycled\ncycled\n", "once each");
    plug("exit 7");
    let output = run(&lab, &["--install", "kernel.deb"]);
    assert!(
        stderr(&output).contains("power-cycling it failed: `./plug a b`: it ended with status 7"),
        "{}",
        stderr(&output)
    );
    lab.assert_nothing_left();
}

#[test]
fn a_host_that_is_not_up_is_not_measured() {
    let Some((lab, server)) = begin() else { return };
    let (install, reboot) = (installs(&server), reboots(&server));
    let boot_id = || fs::read_to_string(server.path("boot_id")).unwrap();
    let fails = |status: i32, words: &[&str], problem: &str| {
        let output = run(&lab, words);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        assert!(stderr(&output).contains(problem), "{}", stderr(&output));
        assert!(!lab.db().exists() || lab.attempts().is_none());
        lab.assert_nothing_left();
        assert_eq!(server.left(), Vec::<String>::new());
    };
    let new = ["--install", "kernel.deb"];
    declare(
        &lab,
        &server,
        &Declared { install: "echo broken package; echo in two lines >&2; exit 3", reboot: &reboot, others: "" },
    );
    fails(1, &new, "it ended with status 3: broken package / in two lines");
    assert_eq!(boot_id(), "first\n", "it was not rebooted");
    declare(&lab, &server, &Declared { install: &install, reboot: "exit 4", others: "" });
    fails(1, &new, "could not be rebooted");
    declare(&lab, &server, &Declared { install: &install, reboot: "true", others: "back_limit = \"1s\"" });
    fails(1, &new, "did not come back within 1 s; no `power_cycle` is declared");
    declare(&lab, &server, &Declared { install: &install, reboot: &reboot, others: "" });
    fails(1, &["--install", "kernel.deb", "--release", "9.9"], "instead of 9.9");
    fails(2, &["--install", "nothing.deb"], "cannot install nothing.deb");
}

#[test]
fn declarations_that_make_no_sense_are_refused() {
    let lab = Lab::new();
    fs::write(lab.path("kernel.deb"), "a new kernel").unwrap();
    let refused = |text: &str, problem: &str| {
        fs::write(lab.path("faultline.toml"), text).unwrap();
        assert_refused(&run(&lab, &["--install", "kernel.deb"]), 2, problem);
    };
    refused("", "no `install` command is declared for lab");
    refused("[host.lab]\nssh = \"127.0.0.1\"\n", "does not say how to install");
    refused("[host.lab]\nssh = \"-l\"\n", "faultline.toml:1: host 'lab': '-l' is not the name of a host");
    refused("[host.lab]\nssh = \"a\"\npassword = \"x\"\n", "unknown field `password`");
    let on_this_host = lab.command(&["run", "--on", "host", "--install", "x"]).output().unwrap();
    assert_refused(&on_this_host, 2, "host does not support installation");
}
