//! Pairs of commuting operations, run without the lens: each two kinds have some, and each
//! operation returns the specified result (otherwise the program fails). `make -C vm commuting`
//! counts shared lines.

use std::collections::BTreeSet;
use std::process::{Command, Output};

fn commute_loop(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_commute_loop")).args(arguments).output().unwrap()
}

fn pairs(arguments: &[&str]) -> Vec<Vec<String>> {
    let output = commute_loop(arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text.lines().map(|line| line.split('\t').map(str::to_string).collect()).collect()
}

/// Twenty kinds of operations, so 210 pairs of kinds.
#[test]
fn every_two_kinds_of_operations_commute_in_some_state() {
    let pairs = pairs(&["--each", "1"]);
    assert_eq!(pairs.len(), 210);
    let names: BTreeSet<&str> = pairs.iter().flat_map(|pair| [pair[1].as_str(), pair[2].as_str()]).collect();
    for name in [
        "map",
        "map object",
        "unmap",
        "protect",
        "don't need",
        "fork",
        "exit",
        "new space",
        "new object",
        "drop object",
        "activate",
        "deactivate",
        "read of a page of zeroes",
        "read of a page of an object",
        "read of a translated page",
        "write of a page of zeroes",
        "write of a page of an object",
        "write of a translated page",
        "write that copies a page",
    ] {
        assert!(names.contains(name), "{name} is not among {names:?}");
    }
    let relations: BTreeSet<&str> = pairs.iter().map(|pair| pair[3].as_str()).collect();
    for relation in ["other space", "same space", "common pages", "same 64 pages", "far pages", "no common space"] {
        assert!(relations.contains(relation), "{relation} is not among {relations:?}");
    }
}

#[test]
fn a_pair_is_the_same_whichever_pairs_run_before_it() {
    let all = pairs(&["--first", "100", "--pairs", "40"]);
    let some = pairs(&["--first", "120", "--pairs", "20"]);
    assert_eq!(all[20..], some);
}

#[test]
fn what_cannot_be_run_is_refused() {
    for arguments in [["--first", "100000"], ["--each", "0"], ["--threads", "3"]] {
        let output = commute_loop(&arguments);
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "), "{output:?}");
    }
}
