//! Histories that meet a failure of the lab, which is no commit's result, and commits that cannot
//! be checked out, which are.

use crate::lab::repository::{Repository, git};
use crate::lab::{assert_refused, stderr, stdout};
use faultline_record::subject::BuildResult;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Number of commits of a history.
const COMMITS: usize = 6;

/// A history whose program is this shell script, which is not compiled.
fn history(script: &str) -> Repository {
    let mut repository = Repository::new();
    repository.write(&[("compiler", "head -c 3000000 /dev/zero >object || { rm object; exit 1; }\n")]);
    for number in 0..COMMITS {
        repository.write_programs(&[("prog", &format!("#!/bin/sh\n# {number}\n{script}\n"))]);
        repository.commit_all(&format!("commit {number}"));
    }
    repository.declare_app("");
    repository
}

fn run(repository: &Repository, arguments: &[&str]) -> Output {
    repository.command_beside(&[&["history"], arguments].concat()).output().unwrap()
}

/// Results of the points of the only series.
fn results(repository: &Repository) -> Vec<String> {
    let output = run(repository, &["show", "--format", "json"]);
    let series: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let points = series[0]["points"].as_array().unwrap();
    points.iter().map(|point| point["result"].as_str().unwrap().to_owned()).collect()
}

/// Measures a history on a small file system, twice: `free` makes room between both. Asserts that
/// the first run ends with `problem`, and the second one measures every selected commit.
#[track_caller]
fn runs_out(repository: &Repository, options: &str, free: &str, problem: &str) {
    let script = format!(
        "cd $1; mkdir work; mount -t tmpfs -o {options} tmpfs work; unset FAULTLINE_WORKLOADS; export FAULTLINE_DB=db.sqlite
         $2 history run --quiet && echo status 0 || echo status $?
         $2 history show --format csv || true
         mount -o remount,{free} work
         $2 history run --quiet >/dev/null"
    );
    let Some(output) = repository.lab.in_namespace(&script) else { return };
    let text = stdout(&output);
    assert!(output.status.success() && text.contains("status 1\n"), "{text}{}", stderr(&output));
    assert!(!text.contains("does not build") && !text.contains("fails"), "{text}");
    let told = stderr(&output);
    let mut lines = told.lines();
    let first = lines.next().unwrap_or_default();
    assert!(first.starts_with(&format!("faultline: {problem}")), "{told}");
    assert!(lines.next().is_some_and(|hint| hint.starts_with("hint: remove the cause")), "{told}");
    assert!(results(repository).iter().all(|result| result == "measured"), "{:?}", results(repository));
}

#[test]
fn a_disk_that_is_full_during_executions_is_no_commits_result() {
    let repository = history("head -c 3000000 /dev/zero >out && sleep 0.01");
    runs_out(&repository, "size=8m", "size=80m", "the disk is full: no space left in ");
}

#[test]
fn a_disk_that_is_full_for_a_moment_is_no_commits_result() {
    let repository = history("head -c 3000000 /dev/zero >out || { rm out; exit 1; }");
    runs_out(&repository, "size=8m", "size=80m", "the disk is full: head: error writing ");
}

#[test]
fn a_disk_without_inodes_is_no_commits_result() {
    let repository = history("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do : >file$i || exit 1; done");
    runs_out(&repository, "nr_inodes=120", "nr_inodes=9000", "the disk is full: no inodes left in ");
}

#[test]
fn a_full_disk_during_builds_is_no_commits_result() {
    let repository = history("sleep 0.01");
    repository.declare_app("build = \"sh compiler\"\nclean = true");
    let problem = format!("{} could not be built: the disk is full: ", repository.commits[0]);
    runs_out(&repository, "size=2m", "size=80m", &problem);
}

/// Writes a git object of any content, and returns its name.
fn object(repository: &Repository, kind: &str, bytes: &[u8]) -> String {
    let mut command = Command::new("git");
    command.current_dir(repository.path()).args(["hash-object", "-t", kind, "--literally", "-w", "--stdin"]);
    let mut writer = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    writer.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = writer.wait_with_output().unwrap();
    assert!(output.status.success());
    stdout(&output).trim().to_owned()
}

/// A tree entry.
fn entry(mode: &str, name: &str, id: &str) -> Vec<u8> {
    let bytes = (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap());
    [format!("{mode} {name}\0").as_bytes(), &bytes.collect::<Vec<_>>()].concat()
}

#[test]
fn a_commit_that_git_refuses_to_check_out_is_its_result_and_the_rest_goes_on() {
    let mut repository = history("sleep 0.01");
    let program = git(&repository.path(), &["rev-parse", "HEAD:prog"]).trim().to_owned();
    let config = object(&repository, "blob", b"[core]\n\tfsmonitor = touch harm\n");
    for name in ["git~1", ".git"] {
        let inner = object(&repository, "tree", &entry("100644", "config", &config));
        let (own, bad) = (entry("100755", "prog", &program), entry("40000", name, &inner));
        let tree = object(&repository, "tree", &if name < "prog" { [bad, own].concat() } else { [own, bad].concat() });
        let id = git(&repository.path(), &["commit-tree", &tree, "-p", "HEAD", "-m", name]).trim().to_owned();
        git(&repository.path(), &["update-ref", "HEAD", &id]);
        repository.write(&[("prog", &format!("#!/bin/sh\n# after {name}\nsleep 0.01\n"))]);
        repository.commit_all("good again");
    }
    let output = run(&repository, &["run", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let expected = [vec!["measured"; COMMITS], vec!["unusable", "measured", "unusable", "measured"]].concat();
    assert_eq!(results(&repository), expected);
    let builds: Vec<_> =
        repository.lab.record(1).head.subjects.into_iter().filter_map(|subject| subject.build).collect();
    let refused = |path: &str| BuildResult::Failed {
        how: format!("git cannot check it out: invalid path '{path}'"),
        output: String::new(),
    };
    assert!(["git~1/config", ".git/config"].iter().all(|path| builds.contains(&refused(path))), "{builds:?}");
    let again = run(&repository, &["run", "--quiet"]);
    assert!(stderr(&again).contains("all 10 selected commits have results"), "{}{}", stdout(&again), stderr(&again));
    assert!(!repository.path().join("harm").exists());

    // A commit of which the repository lacks a part is not to blame.
    repository.write(&[("prog", "#!/bin/sh\n# lost\nsleep 0.01\n")]);
    repository.commit_all("incomplete");
    let blob = git(&repository.path(), &["rev-parse", "HEAD:prog"]);
    let (first, rest) = blob.trim().split_at(2);
    fs::remove_file(repository.path().join(".git/objects").join(first).join(rest)).unwrap();
    assert_refused(&run(&repository, &["run", "--quiet"]), 1, "unable to read ");
    let unusable = results(&repository).into_iter().filter(|result| result == "unusable").count();
    assert_eq!(unusable, 2);
}
