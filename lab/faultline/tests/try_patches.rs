//! `faultline try` in a repository made by the tests. Programs sleep, because a busy host changes
//! the length of a sleep less than the time of a computation.

use crate::lab::repository::{self, Repository, git};
use crate::lab::{assert_refused, stderr, stdout};
use faultline_record::subject::SubjectIndex;
use std::fs;
use std::process::Output;

/// A program that sleeps for `sleep_ms`.
fn program(sleep_ms: u32) -> String {
    format!("#!/bin/sh\nsleep 0.{sleep_ms:03}\n")
}

trait PatchCommits {
    /// A repository with one commit, whose program sleeps for 30 ms.
    fn of_sleeper() -> Self;
    fn commit(&self, sleep_ms: u32, subject: &str);
    /// A mailed patch that changes the sleep. The repository does not contain it.
    fn patch(&self, sleep_ms: u32, subject: &str) -> String;
    fn file(&self, name: &str, text: &str) -> String;
    /// The measured times of a side.
    fn values_s(&self, side: u32) -> Vec<f64>;
    fn attempt(&self, build: &str, arguments: &[&str]) -> Output;
}

impl PatchCommits for Repository {
    fn of_sleeper() -> Self {
        let repository = Repository::new();
        repository.commit(30, "a slow program");
        repository
    }

    fn commit(&self, sleep_ms: u32, subject: &str) {
        self.write_programs(&[("source", &program(sleep_ms))]);
        repository::commit(&self.path(), subject);
    }

    fn patch(&self, sleep_ms: u32, subject: &str) -> String {
        self.commit(sleep_ms, subject);
        let mail = git(&self.path(), &["format-patch", "--stdout", "HEAD~1"]);
        git(&self.path(), &["reset", "--quiet", "--hard", "HEAD~1"]);
        self.file("change.patch", &mail)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let file = self.lab.path(name);
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    }

    fn values_s(&self, side: u32) -> Vec<f64> {
        let record = self.lab.record(1);
        let is_of = |ordinal: u32| record.plan[ordinal as usize].subject == SubjectIndex(side);
        let attempts = record.attempts.iter().filter(|attempt| is_of(attempt.ordinal));
        attempts.map(|attempt| attempt.measures[0].value).collect()
    }

    fn attempt(&self, build: &str, arguments: &[&str]) -> Output {
        let mut command = self.lab.command(&["try"]);
        let path = self.path();
        command.args(["--repository", path.to_str().unwrap(), "--build", build, "--quiet", "--seed", "1"]);
        command.args(arguments).args(["--", "./prog"]).env("XDG_CACHE_HOME", self.lab.path("cache")).output().unwrap()
    }
}

#[test]
fn a_patch_is_compared_with_what_it_changes_and_the_answer_is_markdown() {
    let repository = Repository::of_sleeper();
    let patch = repository.patch(900, "wait <b>longer</b> \u{1b}[31m");
    let output = repository.attempt("cp source prog", &["--repeats", "10", "--gate", &patch]);
    let (answer, said) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "the gate is closed: {answer}{said}");
    assert!(answer.starts_with("The patched build is slower than its base: +"), "{answer}");
    assert!(answer.contains("\n- command: ./prog\n") && answer.contains("\n- time: "), "{answer}");
    let one_line = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains(" by A. Uthor") && one_line.contains("wait \\<b>longer"), "{answer}");
    assert!(one_line.contains("Local changes of the checkout are not included"), "{answer}");
    assert!(answer.lines().all(|line| line.chars().count() <= 78), "{answer}");
    assert!(!answer.contains(repository.lab.path("cache").to_str().unwrap()), "no paths of caches: {answer}");
    assert!(!answer.contains('\u{1b}'), "{answer}");
    assert!(said.contains("gate: closed"), "{said}");
    // A busy host makes each side slower, but never faster than its sleep.
    let [without, with] = [0, 1].map(|side| repository.values_s(side));
    assert!(without.iter().any(|&value| value < 0.9) && with.iter().all(|&value| value >= 0.9), "{without:?} {with:?}");
    assert!(
        git(&repository.path(), &["status", "--porcelain", "--ignored"]).is_empty(),
        "the user's checkout is not touched"
    );
    assert_eq!(fs::read_to_string(repository.path().join("source")).unwrap(), program(30));

    // The stored result reads the same, and has the commit of one side.
    assert_eq!(stdout(&repository.lab.run(&["show", "--format", "markdown"])), answer);
    let head = git(&repository.path(), &["rev-parse", "HEAD"]);
    let subjects = repository.lab.record(1).head.subjects.clone();
    assert_eq!(subjects[0].commit.as_ref().map(|commit| commit.id.as_str()), Some(head.trim()));
    assert_eq!(subjects[1].commit, None);
    repository.lab.assert_nothing_left();
}

#[test]
fn a_patch_may_come_from_standard_input() {
    let repository = Repository::of_sleeper();
    let patch = fs::File::open(repository.patch(31, "a little longer")).unwrap();
    let mut command = repository.lab.command(&["try", "-", "--build", "cp source prog", "--quiet", "--repeats", "4"]);
    command.arg("--repository").arg(repository.path()).args(["--", "./prog"]).stdin(patch);
    let output = command.env("XDG_CACHE_HOME", repository.lab.path("cache")).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("a little longer"), "{}", stdout(&output));
}

#[test]
fn what_cannot_be_tried_is_refused_and_nothing_is_measured() {
    let repository = Repository::of_sleeper();
    let patch = repository.patch(900, "longer");
    let refused = |status: i32, build: &str, arguments: &[&str], problem: &str| {
        assert_refused(&repository.attempt(build, arguments), status, problem);
    };
    let other = fs::read_to_string(&patch).unwrap().replace("-sleep 0.030", "-sleep 0.031");
    let other = repository.file("other.patch", &other);
    refused(2, "cp source prog", &[&other], "longer does not apply to ");
    refused(2, "cp source prog", &[&patch, "--on", "no-such"], "the repository has no commit 'no-such'");
    let none = repository.file("none.patch", "nothing\n");
    refused(2, "cp source prog", &[&none], "there is no patch in none.patch");
    let outside = "diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n";
    let outside = repository.file("outside.patch", outside);
    refused(2, "cp source prog", &[&outside], "outside.patch does not apply to ");
    // The build fails with status 1 if the file has the line of the patch.
    let broken = "sh -c '! grep 0.900 source >/dev/null && cp source prog'";
    let output = repository.attempt(broken, &[&patch]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains(" with the patches does not build: it exited with status 1"),
        "{}",
        stderr(&output)
    );
    assert!(!repository.lab.db().exists() || repository.lab.attempts() == Some(0));
    assert!(!repository.lab.path("x").exists());
}
