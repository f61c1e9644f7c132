//! Runs in the database: read from read-only storage, selected by label, listed, and deleted.

use crate::lab::{Lab, assert_refused, stderr, stdout};
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

const SHORT: [&str; 10] =
    ["--tasks", "1", "--repeats", "1", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms"];

/// A lab with one run per label, numbered from 1.
fn lab(labels: &[&str]) -> Lab {
    let lab = Lab::new();
    lab.good_fake("good");
    for label in labels {
        run(&lab, label);
    }
    lab
}

fn run(lab: &Lab, label: &str) {
    let words: Vec<&str> = ["run", "-q", "good", "--label", label].into_iter().chain(SHORT).collect();
    let output = lab.faked(&words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output)
}

/// Makes the lab's directory read-only, then runs `$show` on its database.
const READ_ONLY: &str = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"
    ! touch \"$1/file\" 2>/dev/null
    export FAULTLINE_DB=\"$1/db.sqlite\"
    \"$2\" list; \"$2\" show 1; \"$2\" show 1 -o -; \"$2\" export 1 --to faultline";

fn assert_shown(output: &Output) {
    if stderr(output).contains("mount: ") {
        println!("skipped: this machine lets us mount nothing");
        return;
    }
    let said = succeeds(output);
    assert!(said.contains("1 of 1"), "{said}");
    assert!(said.contains("good:only") && said.contains("</html>") && said.contains("faultline-dataset/1"), "{said}");
}

#[test]
fn a_database_that_may_only_be_read_is_shown() {
    let lab = lab(&["first"]);
    assert!(!lab.path("db.sqlite-wal").exists(), "the log is gone with its last user");
    let Some(output) = lab.in_namespace(READ_ONLY) else { return };
    assert_shown(&output);
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"; exec \"$2\" --db \"$1/db.sqlite\" delete 1 --yes";
    let refused = lab.in_namespace(script).unwrap();
    assert!(stderr(&refused).contains("mount: ") || refused.status.code() == Some(2), "{}", stderr(&refused));
}

#[test]
fn a_log_beside_a_database_that_may_only_be_read_is_read_too() {
    let lab = lab(&["first"]);
    // An open connection keeps the log: the newest label is only there.
    let other = rusqlite::Connection::open(lab.db()).unwrap();
    other.execute("UPDATE run SET label = 'newest'", []).unwrap();
    assert!(fs::metadata(lab.path("db.sqlite-wal")).unwrap().len() > 0);
    let Some(output) = lab.in_namespace(READ_ONLY) else { return };
    assert_shown(&output);
    assert!(stderr(&output).contains("mount: ") || stdout(&output).contains("newest"), "{}", stdout(&output));
}

#[test]
fn a_label_does_for_a_number() {
    let lab = lab(&["nightly", "other", "nightly", "fourth"]);
    let digits = ["run", "good", "--label", "20261122"];
    assert_refused(&lab.faked(&digits).output().unwrap(), 2, "digits alone are a run's number");
    // The command refuses labels of digits, so set one directly.
    let connection = rusqlite::Connection::open(lab.db()).unwrap();
    connection.execute("UPDATE run SET label = '20261122' WHERE label = 'fourth'", []).unwrap();
    drop(connection);
    let shown = succeeds(&lab.run(&["show", "nightly", "--format", "json"]));
    assert_eq!(shown, succeeds(&lab.run(&["show", "3", "--format", "json"])), "the newest of that label");
    assert_eq!(succeeds(&lab.run(&["show", "20261122"])), succeeds(&lab.run(&["show", "4"])), "no run has that number");
    assert!(succeeds(&lab.run(&["show", "other", "-o", "-"])).contains("</html>"));
    assert!(succeeds(&lab.run(&["check", "--facts", "other"])).contains("host.name"));
    succeeds(&lab.run(&["export", "other", "--to", "faultline"]));
    assert!(stderr(&lab.faked(&["resume", "other"]).output().unwrap()).contains("run 2 is already finished"));
    assert_refused(&lab.run(&["lens", "compare", "nightly", "other"]), 2, "run 3 measured time, not transfers");
    for arguments in [
        &["show", "nighty"][..],
        &["show", "nighty", "-o", "-"],
        &["resume", "nighty"],
        &["check", "--facts", "nighty"],
    ] {
        assert_refused(&lab.run(arguments), 2, "there is no run 'nighty'");
    }
}

#[test]
fn a_list_tells_comparisons() {
    let lab = lab(&["first"]);
    let words: Vec<&str> = ["compare", "-q", "good", "--b", "env.RATE=2"].into_iter().chain(SHORT).collect();
    lab.faked(&words).output().unwrap();
    let list = succeeds(&lab.run(&["list"]));
    assert!(list.contains("comparison: baseline | env.RATE=2"), "{list}");
    assert_eq!(list.matches("comparison").count(), 1, "{list}");
}

#[test]
fn runs_are_deleted_when_that_is_confirmed() {
    let lab = lab(&["one", "two", "two", "four"]);
    let refused = lab.run(&["store", "delete", "1"]);
    assert_refused(&refused, 2, "`store delete` asks first, and standard input is not a terminal");
    assert_refused(&lab.run(&["store", "delete", "two", "--yes"]), 2, "several runs are called 'two': 3, 2");
    assert_refused(&lab.run(&["store", "delete", "1", "9", "--yes"]), 2, "there is no run 9 in ");
    assert_refused(&lab.run(&["store", "delete"]), 2, "");
    assert_eq!(succeeds(&lab.run(&["list", "--format", "csv"])).lines().count(), 5, "nothing is gone yet");

    assert_eq!(stderr(&lab.run(&["store", "delete", "one", "4", "--yes"])), "deleted: 1, 4\n");
    let left = succeeds(&lab.run(&["list", "--format", "csv"]));
    assert_eq!(left.lines().count(), 3, "{left}");
    assert_refused(&lab.run(&["show", "1"]), 2, "there is no run 1 in ");
    assert_refused(&lab.run(&["show", "one"]), 2, "there is no run 'one'");
    assert_eq!(
        succeeds(&lab.run(&["show", "--format", "json"])),
        succeeds(&lab.run(&["show", "3", "--format", "json"]))
    );
    let samples = rusqlite::Connection::open(lab.db()).unwrap();
    let count: i64 = samples.query_row("SELECT count(DISTINCT run_id) FROM attempt", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 2);
    run(&lab, "five");
    succeeds(&lab.run(&["show", "5"]));
}

#[test]
fn delete_asks_on_a_terminal() {
    let lab = lab(&["one", "two"]);
    let answered = |answer: &str| {
        let line = format!("'{}' store delete 1", crate::lab::program().display());
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).env("FAULTLINE_DB", lab.db()).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
        child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
        Some(child.wait_with_output().unwrap())
    };
    let Some(kept) = answered("n\n") else {
        println!("skipped: there is no `script` to make a terminal");
        return;
    };
    let said = stdout(&kept);
    assert!(said.contains("delete this run with all samples? [y/N]") && said.contains("nothing was deleted"), "{said}");
    assert!(said.contains("one") && !said.contains("two"), "it shows the run: {said}");
    assert_eq!(kept.status.code(), Some(1));
    assert!(answered("y\n").unwrap().status.success());
    assert_refused(&lab.run(&["show", "1"]), 2, "there is no run 1 in ");
}
