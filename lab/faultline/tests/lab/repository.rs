//! Git repositories of tests' own, made by the git of this machine.

use super::{stderr, stdout};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Makes a directory a repository without commits.
pub fn create(directory: &Path) {
    fs::create_dir(directory).unwrap();
    git(directory, &["init", "--quiet", "--initial-branch=main"]);
}

/// Commits everything in the directory, and returns the commit's name.
pub fn commit(directory: &Path, subject: &str) -> String {
    git(directory, &["add", "--all"]);
    git(directory, &["commit", "--quiet", "--message", subject]);
    git(directory, &["rev-parse", "HEAD"]).trim().to_owned()
}

/// What a command of git prints, which must succeed.
pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let named = ["-c", "user.name=A. Uthor", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
    let output = Command::new("git").current_dir(directory).args(named).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}
