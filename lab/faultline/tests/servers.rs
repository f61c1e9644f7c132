//! The command with a database on a PostgreSQL server. All that works with a file works there, a
//! killed server loses nothing, and refusals are one line and a hint.

use crate::lab::{Lab, assert_refused, await_that, stderr, stdout};
use crate::postgres::{PASSWORD, PASSWORD_IN_URL, Server, USER};
use faultline_record::outcome::Outcome;
use faultline_record::record::RunId;
use faultline_store::Store;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const SHORT: [&str; 8] = ["--tasks", "1", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms"];

/// Results of another tool.
const FIGURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../exchange/tests/samples/go-bench/count.txt");

/// The command with this database.
fn command(lab: &Lab, url: &str, arguments: &[&str]) -> Command {
    let mut command = lab.faked(arguments);
    command.env("FAULTLINE_DB", url).env_remove("PGPASSWORD").env("PGPASSFILE", lab.path("pgpass"));
    command
}

fn output_of(lab: &Lab, url: &str, arguments: &[&str]) -> String {
    let output = command(lab, url, arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn run(lab: &Lab, url: &str, label: &str) -> Output {
    let words = [&measuring("good", "2")[..], &["--label", label]].concat();
    command(lab, url, &words).output().unwrap()
}

/// Arguments that measure a workload for a short time, with this number of repeats.
fn measuring<'a>(workload: &'a str, repeats: &'a str) -> Vec<&'a str> {
    ["run", workload, "--repeats", repeats].into_iter().chain(SHORT).collect()
}

/// The URL of a new database.
fn database(server: &Server, name: &str) -> String {
    let mut client = postgres::Client::connect(&server.url("postgres", "public"), postgres::NoTls).unwrap();
    client.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
    server.url(name, "public")
}

#[test]
fn a_server_does_for_a_file() {
    let (lab, server) = (Lab::new(), Server::start());
    lab.good_fake("good");
    let url = database(&server, "team");
    for arguments in [&["list"][..], &["show"], &["resume"]] {
        let shown = format!("there is no database at postgres://{USER}@/team");
        assert_refused(&command(&lab, &url, arguments).output().unwrap(), 2, &shown);
    }
    let first = run(&lab, &url, "first");
    assert!(first.status.success(), "{}{}", stdout(&first), stderr(&first));
    assert!(stderr(&first).contains(&format!("saved as run 1 in postgres://{USER}@/team?host=")), "{}", stderr(&first));
    assert!(run(&lab, &url, "second").status.success());
    assert!(output_of(&lab, &url, &["list"]).contains("second"));
    assert!(output_of(&lab, &url, &["show", "first", "-o", "-"]).contains("</html>"));
    assert!(output_of(&lab, &url, &["export", "1", "--to", "faultline"]).contains("faultline-dataset/1"));
    output_of(&lab, &url, &["compare", "1", "2"]);
    output_of(&lab, &url, &["import", FIGURES, "--name", "go"]);
    assert_refused(&command(&lab, &url, &["show", "third"]).output().unwrap(), 2, "there is no run 'third'");

    // Copied to a file, to another database, and to a file again. Each shows the same.
    let (there, back) = (lab.path("there.sqlite"), lab.path("back.sqlite"));
    let other = database(&server, "other");
    let copy = |from: &str, to: &str| command(&lab, &url, &["store", "copy", from, to]).output().unwrap();
    let copied = copy(&url, there.to_str().unwrap());
    assert!(stderr(&copied).starts_with("copied: 2 runs, "), "{}", stderr(&copied));
    assert!(copy(there.to_str().unwrap(), &other).status.success());
    assert!(copy(&other, back.to_str().unwrap()).status.success());
    for arguments in [&["list", "--format", "json"][..], &["show", "1", "--format", "json"], &["import"]] {
        let shown = output_of(&lab, &url, arguments);
        for place in [there.to_str().unwrap(), &other, back.to_str().unwrap()] {
            assert_eq!(output_of(&lab, place, arguments), shown);
        }
    }
    assert_refused(&copy(&url, &other), 2, "is not empty, so nothing was copied");
    assert_refused(&copy("missing.sqlite", lab.path("new.sqlite").to_str().unwrap()), 2, "there is no database at");
    assert!(!lab.path("new.sqlite").exists(), "nothing is created for a copy that cannot begin");

    output_of(&lab, &url, &["store", "delete", "1", "--yes"]);
    assert_refused(&command(&lab, &url, &["show", "1"]).output().unwrap(), 2, "there is no run 1 in postgres://");
    assert!(run(&lab, &url, "third").status.success());
    output_of(&lab, &url, &["show", "3"]);
}

#[test]
fn a_run_whose_server_is_killed_is_resumed_with_everything_acknowledged() {
    let (lab, mut server) = (Lab::new(), Server::start());
    // Fifty executions of about 0.1 s.
    lab.fake("slow", "header; sleep 0.05; echo interval 2 10000002 100; echo end 10000003; echo done");
    let url = database(&server, "team");
    let words = [&measuring("slow", "50")[..], &["-q"]].concat();
    let ended = |store: &Store| {
        store
            .load_run(RunId(1))
            .map_or(0, |record| record.attempts.iter().filter(|attempt| attempt.outcome.is_some()).count())
    };
    let child = command(&lab, &url, &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    await_that("some executions", || Store::open_existing(Path::new(&url)).is_ok_and(|store| ended(&store) > 5));
    let seen = ended(&Store::open_existing(Path::new(&url)).unwrap());
    server.kill();
    let broken = child.wait_with_output().unwrap();
    assert_refused(&broken, 1, "the connection was lost");
    assert!(stderr(&broken).contains("`faultline resume` continues"), "{}", stderr(&broken));
    lab.assert_nothing_left();
    let refused = command(&lab, &url, &["resume"]).output().unwrap();
    assert_refused(&refused, 2, "cannot connect to the database");

    server.start_again();
    assert!(ended(&Store::open_existing(Path::new(&url)).unwrap()) >= seen);
    output_of(&lab, &url, &["resume", "-q"]);
    let record = Store::open_existing(Path::new(&url)).unwrap().load_run(RunId(1)).unwrap();
    assert_eq!(record.plan.len(), 50);
    for item in &record.plan {
        let outcomes = record.attempts.iter().filter(|attempt| attempt.ordinal == item.ordinal);
        assert_eq!(outcomes.filter(|attempt| attempt.outcome == Some(Outcome::Done)).count(), 1);
    }
}

#[test]
fn two_runs_measure_at_once_only_on_two_machines() {
    let (lab, server) = (Lab::new(), Server::start());
    lab.fake("slow", "header; sleep 6; echo interval 2 10000002 100; echo end 10000003; echo done");
    lab.good_fake("good");
    let url = database(&server, "team");
    let words = [&measuring("slow", "1")[..], &["-q"]].concat();
    let child = command(&lab, &url, &words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    await_that("a saved plan", || {
        Store::open_existing(Path::new(&url)).and_then(|store| store.list_runs()).is_ok_and(|runs| runs.len() == 1)
    });
    assert_refused(&run(&lab, &url, "second"), 2, &format!("another run (process {} on ", child.id()));
    let first = child.wait_with_output().unwrap();
    assert!(first.status.success(), "{}", stderr(&first));
    assert!(run(&lab, &url, "third").status.success(), "the lock is gone with its process");
}

#[test]
fn passwords_are_found_and_not_shown() {
    let (lab, server) = (Lab::new(), Server::start());
    lab.good_fake("good");
    database(&server, "team");
    let url = |login: &str| server.tcp_url(login, "team");
    let good = format!("{USER}:{PASSWORD_IN_URL}");
    let first = run(&lab, &url(&good), "first");
    assert!(first.status.success(), "{}", stderr(&first));
    assert!(stderr(&first).contains(&format!("saved as run 1 in postgres://{USER}@127.0.0.1:")), "{}", stderr(&first));
    let list = |url: &str, password: Option<&str>| {
        let mut command = command(&lab, url, &["list"]);
        command.envs(password.map(|password| ("PGPASSWORD", password))).output().unwrap()
    };
    assert!(list(&url(USER), Some(PASSWORD)).status.success());
    assert_refused(&list(&url(USER), Some("sesame")), 2, "the user or the password is wrong");
    assert_refused(&list(&url(USER), None), 2, "the server asks for a password");
    assert_refused(&list(&url(&format!("{USER}:sesame")), None), 2, "the user or the password is wrong");

    let file = lab.path("pgpass");
    fs::write(&file, format!("127.0.0.1:{}:team:{USER}:{PASSWORD}\n", server.port())).unwrap();
    assert_refused(&list(&url(USER), None), 2, "other users may read the passwords in");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(list(&url(USER), None).status.success());
    let elsewhere = format!("postgres://{USER}:sesame@db.example/team");
    assert_refused(
        &list(&elsewhere, None),
        2,
        &format!("cannot connect to the database postgres://{USER}@db.example/team"),
    );
    for output in [first, list(&url(&format!("{USER}:sesame")), None), list(&elsewhere, None)] {
        let said = stdout(&output) + &stderr(&output);
        assert!(!said.contains("sesame") && !said.contains(PASSWORD) && !said.contains(PASSWORD_IN_URL), "{said}");
    }
}
