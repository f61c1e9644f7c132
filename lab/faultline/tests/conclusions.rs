//! Saved conclusions of finished runs. They are shown without loading the samples, and computed
//! again if another version of the method saved them.

use crate::lab::{Lab, stderr, stdout};

/// A run of two repeats, either finished or stopped after the first.
fn measured(arguments: &[&str]) -> Lab {
    let lab = Lab::new();
    lab.good_fake("good");
    let short = ["--tasks", "1", "--repeats", "2", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms"];
    let all: Vec<&str> = ["run", "good", "-q"].into_iter().chain(short).chain(arguments.iter().copied()).collect();
    let output = lab.faked(&all).output().unwrap();
    assert!(output.status.success(), "{}", crate::lab::stderr(&output));
    lab
}

fn sql(lab: &Lab, statement: &str) {
    rusqlite::Connection::open(lab.db()).unwrap().execute_batch(statement).unwrap();
}

fn number(lab: &Lab, query: &str) -> i64 {
    rusqlite::Connection::open(lab.db()).unwrap().query_row(query, [], |row| row.get(0)).unwrap()
}

fn shown(lab: &Lab) -> String {
    crate::lab::stdout(&lab.run(&["show", "--format", "json"]))
}

#[test]
fn a_finished_run_is_shown_without_its_samples() {
    let lab = measured(&[]);
    let before = shown(&lab);
    sql(&lab, "DELETE FROM sample");
    assert_eq!(shown(&lab), before);
    assert!(lab.run(&["show", "-o", "-"]).status.success());
    assert_eq!(lab.run(&["store", "check"]).status.code(), Some(1));
}

#[test]
fn a_damaged_sample_is_no_figure() {
    let lab = measured(&[]);
    let whole = lab.run(&["store", "check"]);
    assert!(whole.status.success() && stderr(&whole).contains("damaged: 0"), "{}", stderr(&whole));
    sql(&lab, "UPDATE sample SET to_ns = to_ns + 1 WHERE attempt_id = 2 AND number = 0; DELETE FROM conclusion");
    let refused = lab.run(&["show", "1"]);
    assert!(!refused.status.success() && stdout(&refused).is_empty(), "{}", stdout(&refused));
    let told = stderr(&refused);
    assert!(told.contains("execution 2 of run 1 does not match its checksum"), "{told}");
    assert!(told.contains("`faultline store check` lists all"), "{told}");
    let checked = lab.run(&["store", "check"]);
    assert_eq!(checked.status.code(), Some(1));
    assert_eq!(stdout(&checked), "run 1: execution 2 does not match its checksum\n");
}

#[test]
fn what_another_version_concluded_is_made_again_and_replaced() {
    let lab = measured(&["--label", "mine"]);
    let before = shown(&lab);
    sql(&lab, "UPDATE conclusion SET json = replace(json, 'mine', 'theirs')");
    assert!(shown(&lab).contains("theirs"), "the kept one is shown");
    sql(&lab, "UPDATE conclusion SET method = method - 1");
    assert_eq!(shown(&lab), before);
    assert_eq!(number(&lab, "SELECT count(*) FROM conclusion WHERE instr(json, 'theirs') = 0"), 1);
}

#[test]
fn an_open_run_has_no_conclusion_and_a_resumed_one_has_a_new_one() {
    let lab = measured(&[]);
    sql(&lab, "UPDATE run SET finished = 0; UPDATE attempt SET final = 0, outcome = NULL WHERE id = 2");
    assert_eq!(number(&lab, "SELECT count(*) FROM conclusion"), 0, "the change dropped it");
    let open = shown(&lab);
    assert!(open.contains("\"state\": \"open\""), "{open}");
    assert_eq!(number(&lab, "SELECT count(*) FROM conclusion"), 0, "an open run's is not kept");
    assert!(lab.faked(&["resume", "-q"]).output().unwrap().status.success());
    assert_eq!(number(&lab, "SELECT count(*) FROM conclusion WHERE kind = 'figures'"), 1);
    assert!(shown(&lab).contains("\"done\": 2"));
}

#[test]
fn a_resume_of_a_finished_run_still_reports_its_failure_by_status() {
    let lab = Lab::new();
    lab.fake("bad", "exit 3");
    let run = ["run", "bad", "-q", "--tasks", "1", "--repeats", "1"];
    assert_eq!(lab.faked(&run).output().unwrap().status.code(), Some(1));
    assert_eq!(lab.faked(&["resume", "1", "-q"]).output().unwrap().status.code(), Some(1));
}
