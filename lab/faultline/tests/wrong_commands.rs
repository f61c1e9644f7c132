//! Wrong commands: one line, a hint, and exit status 2. Status 1 is the answer "no".

use crate::lab::{Lab, assert_refused, await_that, kill, stderr};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn a_device_is_no_database() {
    let lab = Lab::new();
    for command in [&["list"][..], &["run", "--repeats", "1"], &["resume"], &["serve", "--listen", "127.0.0.1:0"]] {
        let output = lab.run(&[command, &["--db", "/dev/null"]].concat());
        assert_refused(&output, 2, "/dev/null is no regular file, so it cannot be a database");
    }
}

#[test]
fn a_missing_directory_of_guests_is_a_wrong_command() {
    let output = Lab::new().run(&["run", "zero_fill", "--on", "qemu:cpus=1", "--guest", "/nosuch"]);
    assert_refused(&output, 2, "there is no directory /nosuch with the guest's parts");
}

#[test]
fn nothing_to_resume_is_a_wrong_command() {
    let lab = Lab::new();
    lab.good_fake("good");
    let run =
        ["run", "good", "--tasks", "1", "--repeats", "1", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms"];
    assert!(lab.faked(&run).output().unwrap().status.success());
    assert_refused(&lab.run(&["resume"]), 2, "every run is finished");
}

#[test]
fn numbers_out_of_range_are_refused_with_the_range() {
    let lab = Lab::new();
    let range = |range: &str| format!("it must be a whole number from {range}");
    for (command, expected) in [
        (&["run", "--repeats", "0"][..], range("1 to 1000000")),
        (&["run", "--repeats", "99999999999"], range("1 to 1000000")),
        (&["run", "--tasks", "0"], range("1 to 4096")),
        (&["run", "--tasks", "4097"], range("1 to 4096")),
        (
            &["run", "--tasks", "2x0"],
            "K copies of a tree, from 1 to 1024, with N tasks each, from 1 to 4096".to_owned(),
        ),
        (&["run", "--seed", "-1"], range("0 to 9223372036854775807")),
        (&["compare", "a", "b", "--repeats", "0"], range("1 to 1000000")),
        (&["compare", "a", "b", "--level", "30%"], "it must be between 50% and 99.99%".to_owned()),
        (&["bisect", "a", "b", "--repeats", "3", "--", "x"], range("4 to 10000")),
        (&["bisect", "a", "b", "--layouts", "7", "--", "x"], range("8 to 1000")),
        (&["bisect", "a", "b", "--seeds", "2", "--", "x"], "it must be 1, or a whole number from 8 to 1000".to_owned()),
        (&["bisect", "app", "--step", "0"], range("1 to 1000000")),
        (&["try", "a.patch", "--repeats", "0", "--", "x"], range("1 to 1000000")),
        (&["ci", "a..b", "--tasks", "1000", "--", "x"], range("1 to 254")),
        (&["ci", "a..b", "--keep", "../x", "--", "x"], "it must be a path within the build, such as target".to_owned()),
        (&["bisect", "a", "b", "--keep", "/etc", "--", "x"], "it must be a path within the build".to_owned()),
        (&["lens", "program", "--memory", "0", "--", "x"], range("1 to 4194304")),
        (&["resume", "--jobs", "0"], range("1 to 4096")),
        (&["serve", "--export", "site", "--executions", "x"], range("0 to 1000000")),
        (&["compare", "a", "b", "--margin", "-5"], "it must be between 0% and 100%".to_owned()),
        (&["compare", "a", "b", "--level", "-5%"], "it must be between 50% and 99.99%".to_owned()),
        (&["ci", "a..b", "--budget", "-5", "--", "x"], "it must be between 0% and 100%".to_owned()),
        (&["changes", "/dev/null", "--min-change", "nan"], "it must be 0% or more".to_owned()),
        (&["changes", "/dev/null", "--min-change", "-5"], "it must be 0% or more".to_owned()),
        (&["changes", "/dev/null", "--false-alarms", "-5"], "it must be between 0.1% and 20%".to_owned()),
        (&["check", "--time", "900d"], "it must be at most 366 days".to_owned()),
    ] {
        assert_refused(&lab.run(command), 2, &expected);
    }
}

#[test]
fn a_command_without_its_subcommand_shows_its_own_help() {
    let output = Lab::new().run(&["history"]);
    let text = stderr(&output);
    assert!(text.starts_with("Measure a program over the commits of its repository\n"), "{text}");
    assert!(text.contains("Usage: faultline history [OPTIONS] <COMMAND>"), "{text}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_server_listens_on_a_host_name() {
    let lab = Lab::new();
    lab.good_fake("good");
    let short = ["--tasks", "1", "--repeats", "1", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms", "-q"];
    let output = lab.faked(&[&["run", "good"][..], &short].concat()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let mut server = lab
        .command(&["serve", "--listen", "localhost:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/')).map(str::to_owned);
    await_that("the server", || address.as_ref().is_some_and(|address| std::net::TcpStream::connect(address).is_ok()));
    assert!(line.starts_with("http://127.0.0.1:") || line.starts_with("http://[::1]:"), "{line}");
    kill(server);
    for (place, expected) in [
        ("localhost", "a port is missing; write it like 127.0.0.1:8710 or localhost:8710"),
        ("localhost:99999", "the port '99999' is wrong: it must be a whole number from 0 to 65535"),
        ("a_b:80", "not an address or host name"),
        ("nowhere.invalid:80", "cannot find the address of 'nowhere.invalid:80'"),
    ] {
        assert_refused(&lab.run(&["serve", "--listen", place]), 2, expected);
    }
}
