//! `faultline compare OLD NEW -- COMMAND` in a repository made by the tests. Programs sleep: a busy
//! host changes the length of a sleep less than the time of a computation.

use crate::lab::repository::{Repository, commit, create, git};
use crate::lab::{assert_refused, kill, stderr, stdout};
use faultline_record::subject::BuildResult;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

/// A program that sleeps for `sleep_ms`.
fn program(sleep_ms: u32) -> String {
    format!("#!/bin/sh\nsleep 0.{sleep_ms:03}\n")
}

/// A repository with one commit, whose program sleeps for 300 ms.
fn sleeper() -> Repository {
    let mut repository = Repository::new();
    repository.write_programs(&[("source", &program(300))]);
    repository.write(&[(".gitignore", "*.log\n")]);
    repository.commit_all("a slow program");
    repository
}

fn compare(repository: &Repository, what: &[&str], more: &[&str]) -> Output {
    let mut command = repository.lab.command(&["compare", "--repeats", "8", "--once", "--build", "cp source prog"]);
    command.args(what).args(more).current_dir(repository.path()).env("XDG_CACHE_HOME", repository.lab.path("cache"));
    command.output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Every file of a directory with its content.
fn content(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(content(&entry.path())),
            false => found.push((entry.path().display().to_string(), fs::read(entry.path()).unwrap())),
        }
    }
    found.sort();
    found
}

/// Adds the submodule `lib`, whose configuration has a filter that writes a file. A file of it has
/// a new time, so `git status` would run the filter.
fn add_submodule(repository: &mut Repository) -> PathBuf {
    let library = repository.lab.path("library");
    create(&library);
    fs::write(library.join("file"), "x").unwrap();
    commit(&library, "a library");
    let allowed = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.to_str().unwrap(), "lib"];
    git(&repository.path(), &allowed);
    repository.commit_all("a submodule");
    let lib = repository.path().join("lib");
    git(&lib, &["config", "filter.spy.clean", "touch spied; cat"]);
    fs::write(repository.path().join(".git/modules/lib/info/attributes"), "* filter=spy\n").unwrap();
    fs::write(lib.join("file"), "x").unwrap();
    lib
}

#[test]
fn a_commit_is_compared_with_the_working_tree() {
    let mut repository = sleeper();
    add_submodule(&mut repository);
    repository.write_programs(&[("source", &program(10))]);
    repository.write(&[("left.log", "ignored"), ("wanted", "new")]);
    let before = content(&repository.path());
    let output = compare(&repository, &["HEAD", "."], &["--format", "json", "--", "./prog"]);
    let found = json(&output);
    assert_eq!(found["workloads"][0]["answer"], "faster", "{found}");
    let head = repository.commits.last().unwrap();
    let id = &head[..12];
    assert_eq!(found["a"]["name"], format!("HEAD ({id})"));
    assert_eq!(found["b"]["name"], format!("working tree on {id}"));
    let said = stderr(&output);
    assert!(said.contains("in 2 files; new and not ignored: wanted\n"), "{said}");
    assert_eq!(content(&repository.path()), before, "nothing of the user's was written");

    let subjects = repository.lab.record(1).head.subjects;
    let commits: Vec<_> = subjects.iter().map(|side| side.commit.as_ref().map(|commit| commit.id.clone())).collect();
    assert_eq!(commits[0].as_ref(), Some(head));
    assert!(commits[1].is_some() && commits[1] != commits[0], "the files have a commit of their own: {commits:?}");
    assert!(subjects.iter().all(|side| side.build == Some(BuildResult::Built)));
}

#[test]
fn the_cache_may_lie_in_the_working_tree() {
    let repository = sleeper();
    repository.write_programs(&[("source", &program(10))]);
    let words = ["compare", "HEAD", ".", "--repeats", "8", "--once", "--build", "cp source prog", "--format", "json"];
    let mut command = repository.lab.command(&[&words[..], &["--", "./prog"]].concat());
    command.current_dir(repository.path()).env("XDG_CACHE_HOME", repository.path().join("cache"));
    assert_eq!(json(&command.output().unwrap())["workloads"][0]["answer"], "faster");
}

#[test]
fn two_commits_are_compared_from_anywhere() {
    let mut repository = sleeper();
    repository.write_programs(&[("source", &program(10))]);
    repository.commit_all("a fast program");
    let path = repository.path();
    let mut command =
        repository.lab.command(&["compare", "-q", "HEAD~1", "HEAD", "--repeats", "8", "--once", "--gate"]);
    command.args(["--repository", path.to_str().unwrap(), "--build", "cp source prog", "--", "./prog"]);
    let output = command.env("XDG_CACHE_HOME", repository.lab.path("cache")).output().unwrap();
    assert!(output.status.success() && stdout(&output).contains("faster"), "{}{}", stdout(&output), stderr(&output));
    assert!(!stdout(&output).contains("command ./prog"), "only with --verbose: {}", stdout(&output));
}

#[test]
fn excluded_files_are_not_part_of_the_working_tree() {
    let repository = sleeper();
    repository.write(&[("private", "x"), ("mine", "y"), ("added", "z")]);
    fs::write(repository.path().join(".git/info/exclude"), "private\n").unwrap();
    fs::write(repository.lab.path("ignored"), "mine\n").unwrap();
    let file = repository.lab.path("ignored");
    git(&repository.path(), &["config", "core.excludesFile", file.to_str().unwrap()]);
    let output = compare(&repository, &["HEAD", "."], &["--", "./prog"]);
    assert!(stderr(&output).contains("in 1 file; new and not ignored: added\n"), "{}", stderr(&output));
}

#[test]
fn sides_without_a_difference_or_a_command_are_refused() {
    let repository = sleeper();
    let refused = |what: &[&str], more: &[&str], problem: &str| {
        let output = compare(&repository, what, &[&["-q"], more].concat());
        let text = stderr(&output);
        assert!(text.contains(problem) && output.status.code() == Some(2), "{text}");
    };
    refused(&["HEAD", "."], &["--", "./prog"], "'HEAD' and '.' have the same files");
    refused(&["HEAD", "."], &["--setup", "true", "--", "./prog"], "a set-up could change a build");
    refused(&["HEAD", "nowhere"], &["--", "./prog"], "the repository has no commit 'nowhere'");
    refused(&["HEAD"], &["--", "./prog"], "a command after `--` is measured at two commits");
    let mut plain = repository.lab.command(&["compare", "HEAD", "."]);
    let output = plain.current_dir(repository.path()).output().unwrap();
    assert_refused(&output, 2, "'.' is the working tree of a repository, and there is no command to measure");
    fs::write(repository.path().join("new"), "").unwrap();
    let own = repository.path().canonicalize().unwrap().join("prog");
    refused(&["HEAD", "."], &["--", own.to_str().unwrap()], "is in your checkout, not in the build: write ./prog");
}

#[test]
fn a_changed_submodule_and_another_repository_are_refused() {
    let mut repository = sleeper();
    let lib = add_submodule(&mut repository);
    let inner = repository.path().join("inner");
    create(&inner);
    let refused = |problem: &str| {
        let output = compare(&repository, &["HEAD", "."], &["-q", "--", "./prog"]);
        assert_refused(&output, 2, problem);
    };
    let nested = "the working tree contains another repository, inner, which is no submodule";
    refused(nested);
    fs::write(inner.join("file"), "x").unwrap();
    commit(&inner, "nested");
    refused(nested);
    git(&lib, &["commit", "--quiet", "--allow-empty", "--message", "newer"]);
    refused("the working tree has another commit of the submodule lib");
}

#[test]
fn a_full_disk_before_the_comparison_offers_no_resume() {
    let mut repository = sleeper();
    repository.write(&[("source", &program(200))]);
    repository.commit_all("faster");
    let script = "mkdir $1/disk; mount -t tmpfs -o size=8m tmpfs $1/disk; export FAULTLINE_DB=$1/db.sqlite
        $2 compare HEAD~1 HEAD --repository $1/repository --work $1/disk/work -q \\
            --build 'sh -ec \"head -c 9000000 /dev/zero > object\"' -- ./prog 2>&1 || echo status $?";
    let Some(output) = repository.lab.in_namespace(script) else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("could not be built: the disk is full"), "{text}");
    let end = "hint: remove the cause, for example free space, and repeat the command\nstatus 1\n";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn a_tool_that_hangs_is_named() {
    let repository = sleeper();
    repository.write_programs(&[("rustc", "#!/bin/sh\nexec sleep 1000\n")]);
    let mut command = repository.lab.command(&["compare", "HEAD", ".", "--build", "cp source prog", "--", "./prog"]);
    let path = format!("{}:{}", repository.path().display(), std::env::var("PATH").unwrap());
    command.current_dir(repository.path()).env("XDG_CACHE_HOME", repository.lab.path("cache")).env("PATH", path);
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let named = lines.map_while(Result::ok).any(|line| line == "waiting for `rustc --version`");
    kill(child);
    assert!(named);
}

#[test]
fn changes_inside_a_submodule_are_named_as_left_out() {
    let mut repository = sleeper();
    let lib = add_submodule(&mut repository);
    repository.write(&[("added", "new")]);
    let notice = || stderr(&compare(&repository, &["HEAD", "."], &["--", "./prog"]));
    assert!(!notice().contains("left out"), "{}", notice());
    fs::write(lib.join("file"), "changed").unwrap();
    let expected = "in 1 file; new and not ignored: added; left out, changes in submodules: lib\n";
    assert!(notice().contains(expected), "{}", notice());
    assert!(!lib.join("spied").exists() && !repository.path().join("spied").exists());
}

#[test]
fn a_repository_without_commits_is_refused() {
    let repository = Repository::new();
    let empty = repository.lab.path("empty");
    create(&empty);
    let words = ["compare", "HEAD", ".", "--repository", empty.to_str().unwrap(), "--", "./prog"];
    let output = repository.lab.command(&words).env("XDG_CACHE_HOME", repository.lab.path("cache")).output().unwrap();
    assert_refused(&output, 2, "the repository's HEAD has no commit yet");
}

#[test]
fn a_sparse_checkout_is_refused() {
    let repository = sleeper();
    git(&repository.path(), &["config", "core.sparseCheckout", "yes"]);
    let output = compare(&repository, &["HEAD", "."], &["-q", "--", "./prog"]);
    assert_refused(&output, 2, "the working tree is a sparse checkout");
}
