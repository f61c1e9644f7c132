//! A run that is killed repeatedly. At the end, each planned sample exists exactly once.

use crate::lab::Lab;
use faultline_record::outcome::Outcome;
use faultline_record::record::{RunId, RunRecord, RunState};
use faultline_store::Store;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Stdio;
use std::time::Duration;

/// 3 variants at 2 numbers of tasks (or 1, on a machine with one CPU), in 8 blocks, with 2 short
/// intervals each.
const RUN: &[&str] =
    &["run", "path_stat", "--repeats", "8", "--warmup", "0ms", "--window", "20ms", "--interval", "10ms", "--quiet"];

const KILLS: u32 = 20;

#[test]
fn every_planned_sample_is_there_once_after_twenty_kills() {
    let lab = Lab::new();
    let mut random = ChaCha8Rng::seed_from_u64(20_190_614);
    let mut killed_under_way = 0;
    for round in 0..KILLS {
        let arguments: &[&str] = if round == 0 { RUN } else { &["resume", "--quiet"] };
        let mut child = lab.command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        if round == 0 {
            crate::lab::await_that("a saved plan", || open_runs(&lab) == 1);
        }
        std::thread::sleep(Duration::from_millis(random.random_range(0..250)));
        if child.try_wait().unwrap().is_none() {
            killed_under_way += 1;
        }
        crate::lab::kill(child);
        assert_eq!(lab.left_over(), Vec::<String>::new(), "after kill {round}");
    }
    let last = lab.run(&["resume", "1", "--quiet"]);
    assert!(last.status.success(), "{}{}", crate::lab::stdout(&last), crate::lab::stderr(&last));

    let record = Store::open_existing(&lab.db()).unwrap().load_run(RunId(1)).unwrap();
    assert_all_there_once(&record);
    assert_eq!(lab.scratch_left(), Vec::<std::path::PathBuf>::new());
    assert!(killed_under_way >= KILLS / 2, "only {killed_under_way} of {KILLS} kills met a run under way");
    println!("{killed_under_way} of {KILLS} kills met a run under way; {} attempts", record.attempts.len());
}

fn open_runs(lab: &Lab) -> usize {
    Store::open_existing(&lab.db()).and_then(|store| store.list_runs()).map_or(0, |runs| runs.len())
}

fn assert_all_there_once(record: &RunRecord) {
    assert_eq!(record.state, RunState::Finished);
    assert!(!record.plan.is_empty());
    for item in &record.plan {
        let of_item = || record.attempts.iter().filter(|attempt| attempt.ordinal == item.ordinal);
        let final_ones: Vec<_> =
            of_item().filter(|attempt| attempt.outcome.as_ref().is_some_and(Outcome::is_final)).collect();
        assert_eq!(final_ones.len(), 1, "item {}", item.ordinal);
        assert_eq!(final_ones[0].outcome, Some(Outcome::Done), "item {}", item.ordinal);
        assert_eq!(final_ones[0].window.len() as u64, item.timing.unwrap().intervals());
        assert!(of_item().all(|attempt| attempt.outcome.is_some()), "item {} was left open", item.ordinal);
    }
}

#[test]
fn ctrl_c_ends_cleanly_and_the_rest_can_be_resumed() {
    let lab = Lab::new();
    let mut command = lab.command(RUN);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    crate::lab::await_that("a saved plan", || open_runs(&lab) == 1);
    std::thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{}", crate::lab::stderr(&stopped));
    assert!(crate::lab::stderr(&stopped).contains("hint: `faultline resume 1` continues"));
    assert_eq!(lab.left_over(), Vec::<String>::new());
    assert_eq!(lab.scratch_left(), Vec::<std::path::PathBuf>::new());

    let last = lab.run(&["resume", "--quiet"]);
    assert!(last.status.success(), "{}{}", crate::lab::stdout(&last), crate::lab::stderr(&last));
    assert_all_there_once(&Store::open_existing(&lab.db()).unwrap().load_run(RunId(1)).unwrap());
}
