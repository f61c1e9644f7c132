//! Histories and searches in repositories and work directories in unusual states.

use crate::lab::repository::{Repository, git};
use crate::lab::{assert_refused, stderr, stdout};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Command, Output};

/// A history with these commits, each with a program that sleeps, declared with further keys.
fn history(commits: usize, keys: &str) -> Repository {
    let mut repository = Repository::new();
    for number in 0..commits {
        repository.write_programs(&[("prog", &format!("#!/bin/sh\n# {number}\nsleep 0.01\n"))]);
        repository.commit_all(&format!("commit {number}"));
    }
    repository.declare_app(keys);
    repository
}

fn run(repository: &Repository, arguments: &[&str]) -> Output {
    repository.command_beside(arguments).output().unwrap()
}

#[track_caller]
fn succeeds(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(output), stderr(output));
}

#[test]
fn another_command_that_builds_holds_up_builds_alone() {
    let repository = history(3, "");
    succeeds(&run(&repository, &["history", "commits"]));
    let lock = File::create(repository.lab.path("work/lock")).unwrap();
    lock.lock().unwrap();
    let listed = run(&repository, &["history", "commits"]);
    succeeds(&listed);
    assert!(stdout(&listed).contains(&repository.commits[2][..12]), "{}", stdout(&listed));

    let mut waiting = repository.command_beside(&["history", "run"]);
    let mut child = waiting.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let said = lines.find(|line| line.contains("waiting for another command that builds in "));
    lock.unlock().unwrap();
    assert!(said.is_some(), "it ended without waiting");
    lines.for_each(drop);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_gate_counts_from_the_nearest_measured_ancestor() {
    let repository = history(6, "pick = \"every 2\"");
    succeeds(&run(&repository, &["history", "run", "--quiet"]));
    // The second commit is between two measured ones.
    let gate = ["history", "changes", "--gate", "--inconclusive", "pass", "--since", &repository.commits[1]];
    let output = run(&repository, &gate);
    succeeds(&output);
    let near = &repository.commits[0][..12];
    assert!(stderr(&output).contains(&format!("new is what follows {near}, its nearest")), "{}", stderr(&output));
    let unknown = run(&repository, &["history", "changes", "--gate", "--since", "0000000"]);
    assert_refused(&unknown, 2, "the repository has no commit '0000000'");
}

#[test]
fn a_shallow_clone_says_how_to_complete_it() {
    let mut repository = history(5, "");
    let first = repository.commits[0].clone();
    let url = format!("file://{}", repository.path().display());
    let clone = repository.lab.path("clone");
    git(&repository.path(), &["clone", "--quiet", "--depth", "2", &url, clone.to_str().unwrap()]);
    fs::rename(repository.path(), repository.lab.path("whole")).unwrap();
    fs::rename(&clone, repository.path()).unwrap();
    let search = |repository: &Repository| {
        repository.bisect_built_by("true", &["--repeats", "4", &first, "HEAD"]).output().unwrap()
    };
    let refused = search(&repository);
    assert_refused(&refused, 2, "the repository has no commit ");
    assert!(stderr(&refused).contains("`git fetch --unshallow`"), "{}", stderr(&refused));
    git(&repository.path(), &["fetch", "--quiet", "--unshallow", repository.lab.path("whole").to_str().unwrap()]);
    let output = search(&repository);
    succeeds(&output);
    repository.commits.clear();
}

#[test]
fn a_repository_of_another_user_needs_the_trust_that_git_needs() {
    let repository = history(2, "");
    let home = repository.lab.path("home");
    fs::create_dir(&home).unwrap();
    let changed = Command::new("chown").args(["-R", "65534"]).arg(repository.path()).output().unwrap();
    if !changed.status.success() {
        println!("skipped: only root can give files to another user");
        return;
    }
    let commits = || repository.command_beside(&["history", "commits"]).env("HOME", &home).output().unwrap();
    let refused = commits();
    assert_refused(&refused, 2, "dubious ownership");
    assert!(stderr(&refused).contains("git config --global --add safe.directory "), "{}", stderr(&refused));
    let trusted = format!("[safe]\n\tdirectory = {}\n", repository.path().display());
    fs::write(home.join(".gitconfig"), trusted).unwrap();
    succeeds(&commits());
}

#[test]
fn a_machine_without_git_says_what_to_install() {
    let repository = history(2, "");
    let refused = repository.command_beside(&["history", "commits"]).env("PATH", "/nowhere").output().unwrap();
    assert_refused(&refused, 1, "there is no program 'git' in PATH");
    assert!(stderr(&refused).contains("hint: install git 2.31 or newer"), "{}", stderr(&refused));
}

#[test]
fn submodules_are_checked_out_at_the_commits_of_each_commit() {
    let mut repository = Repository::new();
    let library = repository.lab.path("library");
    crate::lab::repository::create(&library);
    let grow = |number: u32| {
        fs::write(library.join("body"), format!("#!/bin/sh\n# {number}\nsleep 0.01\n")).unwrap();
        crate::lab::repository::commit(&library, "library");
    };
    grow(0);
    let allowed = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "--quiet", "add", library.to_str().unwrap(), "deps/lib"];
    git(&repository.path(), &[&allowed[..], &add].concat());
    for number in 1..4 {
        repository.commit_all(&format!("commit {number}"));
        grow(number);
        git(&repository.path().join("deps/lib"), &[&allowed[..], &["pull", "--quiet"]].concat());
    }
    repository.commit_all("last");
    repository.declare_app("build = \"sh -c 'cp deps/lib/body prog && chmod +x prog && grep . prog'\"");
    succeeds(&run(&repository, &["history", "run", "--quiet"]));
    let programs: Vec<String> = repository
        .lab
        .record(1)
        .head
        .subjects
        .iter()
        .map(|subject| fs::read_to_string(format!("{}/prog", subject.setup.directory.as_deref().unwrap())).unwrap())
        .collect();
    for (number, commit) in repository.lab.record(1).head.subjects.iter().enumerate() {
        let id = &commit.commit.as_ref().unwrap().id;
        let at = repository.commits.iter().position(|known| known == id).unwrap();
        assert!(programs[number].contains(&format!("# {at}\n")), "{at}: {}", programs[number]);
    }
    assert_eq!(programs.len(), 4);
}
