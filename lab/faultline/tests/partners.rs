//! Workloads with partners, from end to end: fakes whose partners and measured executions all run
//! on this host.

use crate::lab::{Lab, assert_refused, stderr, stdout};
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::record::{RunId, RunRecord};
use faultline_store::Store;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

const SHORT: [&str; 8] = ["--tasks", "1", "--warmup", "0ms", "--window", "10ms", "--interval", "10ms"];

/// A partner that serves until it is stopped, without its own region of interest. It has a child
/// outside its process group. The file `$0.there` exists from its start until the sender removes
/// it.
const RECEIVER: &str = "touch \"$0.there\"; setsid sleep 1000 & header | grep -v ^begin; sleep 1000";

/// One window, which succeeds only next to a receiver.
const SENDER: &str = "[ -e \"$0.there\" ] || exit 9; header; rm \"$0.there\"; echo interval 2 10000002 100; echo end 10000003; echo done";

fn add_send(lab: &Lab, receiver: &str, sender: &str) {
    let body = format!("if [ \"$role\" = receiver ]; then\n{receiver}\nexit\nfi\n{sender}");
    lab.fake_with_partners("send", &["receiver"], &body);
}

fn words<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [words, &SHORT].concat()
}

fn run_words() -> Vec<&'static str> {
    words(&["run", "send", "--repeats", "2", "--partner", "receiver=host"])
}

fn record(lab: &Lab) -> RunRecord {
    Store::open_existing(&lab.db()).unwrap().load_run(RunId(1)).unwrap()
}

fn outcomes(lab: &Lab) -> Vec<Outcome> {
    record(lab).attempts.into_iter().map(|attempt| attempt.outcome.unwrap()).collect()
}

fn assert_nothing_left(lab: &Lab) {
    assert_eq!(lab.left_over(), Vec::<String>::new());
    assert_eq!(lab.scratch_left(), Vec::<PathBuf>::new());
}

#[test]
fn a_partner_runs_beside_what_is_measured_and_is_gone_after() {
    let lab = Lab::new();
    add_send(&lab, RECEIVER, SENDER);
    let output = lab.faked(&run_words()).output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(outcomes(&lab), vec![Outcome::Done; 2]);
    let setup = &record(&lab).subjects[0].setup;
    assert_eq!(setup.partners, [("receiver".parse().unwrap(), Machine::Host)].into());
    assert_nothing_left(&lab);
}

#[test]
fn a_partner_that_crashes_is_recorded_with_its_role() {
    let lab = Lab::new();
    add_send(&lab, "header; sleep 0.1; echo 'no more packets' >&2; kill -SEGV $$", "header; sleep 1000");
    let output = lab.faked(&run_words()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let crashed = Outcome::Crashed { signal: 11, stderr: "no more packets\n".into() };
    let failed = Outcome::PartnerFailed { role: "receiver".parse().unwrap(), outcome: Box::new(crashed) };
    assert_eq!(outcomes(&lab), vec![failed; 2]);
    let told = "partner receiver failed: ended by signal 11: no more packets";
    assert!(stdout(&output).contains(told), "{}", stdout(&output));
    assert_nothing_left(&lab);
}

#[test]
fn a_partner_that_does_not_become_ready_ends_at_the_limit() {
    let lab = Lab::new();
    add_send(&lab, "sleep 1000", SENDER);
    let output = lab.faked(&[&run_words()[..], &["--limit", "500ms"]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = "the receiver was not ready, or did not end, within 500 ms".to_owned();
    assert_eq!(outcomes(&lab), [Outcome::LabFailed { text }], "the run can be resumed");
    assert_nothing_left(&lab);
}

/// Starts a run whose first measured execution lasts while the file `hold` exists. Returns during
/// that execution.
fn held(lab: &Lab) -> Child {
    let hold = lab.path("hold");
    fs::write(&hold, "").unwrap();
    add_send(
        lab,
        RECEIVER,
        &format!("touch \"$0.held\"; while [ -e {} ]; do sleep 0.01; done; {SENDER}", hold.display()),
    );
    let child = lab.faked(&run_words()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    crate::lab::await_that("the measured execution", || lab.path("fakes/send.held").exists());
    child
}

#[test]
fn ctrl_c_ends_both_and_a_resume_has_the_same_partner() {
    let lab = Lab::new();
    let child = held(&lab);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{}", stderr(&stopped));
    assert_nothing_left(&lab);
    fs::remove_file(lab.path("hold")).unwrap();
    let resumed = lab.faked(&["resume", "-q"]).output().unwrap();
    assert!(resumed.status.success(), "{}{}", stdout(&resumed), stderr(&resumed));
    assert_eq!(outcomes(&lab), [Outcome::Interrupted, Outcome::Done, Outcome::Done]);
    assert_nothing_left(&lab);
}

#[test]
fn a_kill_leaves_nothing_of_both() {
    let lab = Lab::new();
    crate::lab::kill(held(&lab));
    assert_nothing_left(&lab);
}

#[test]
fn both_sides_of_a_comparison_have_their_partners() {
    let lab = Lab::new();
    add_send(&lab, RECEIVER, SENDER);
    let compared = |sides: &[&'static str]| {
        lab.faked(&[&words(&["compare", "send", "-q", "--repeats", "6"])[..], sides].concat()).output().unwrap()
    };
    let refused = compared(&["--a", "partner.receiver=host", "--b", ""]);
    assert_refused(&refused, 2, "send needs a partner in the role receiver");
    let output = compared(&["--a", "partner.receiver=host", "--b", "partner.receiver=host"]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let outcomes = outcomes(&lab);
    assert!(!outcomes.is_empty() && outcomes.iter().all(|outcome| *outcome == Outcome::Done), "{outcomes:?}");
    assert_nothing_left(&lab);
}

#[test]
fn roles_without_partners_and_partners_without_roles_are_refused() {
    let lab = Lab::new();
    add_send(&lab, RECEIVER, SENDER);
    lab.good_fake("good");
    for (arguments, problem) in [
        (&["run", "send"][..], "send needs a partner in the role receiver"),
        (&["check", "send"], "send needs a partner in the role receiver"),
        (&["run", "send", "--partner", "forwarder=host"], "send needs a partner in the role receiver"),
        (&["run", "good", "--partner", "receiver=host"], "no selected workload has the role receiver"),
        (
            &["run", "send", "--partner", "receiver=host", "--partner", "receiver=host"],
            "'--partner receiver=…' is given twice",
        ),
        (
            &["run", "send", "--partner", "receiver=host", "--partner", "forwarder=host"],
            "no selected workload has the role forwarder",
        ),
        (&["run", "send", "--partner", "receiver"], "not ROLE=MACHINE"),
        (&["run", "send", "--partner", "Receiver=host"], "'Receiver' is not a role"),
        (&["run", "send", "--partner", "receiver=vax"], "not a machine"),
    ] {
        assert_refused(&lab.faked(arguments).output().unwrap(), 2, problem);
    }
    assert!(!lab.db().exists());
}
