//! Git repositories of tests' own, made by the git of this machine.

use super::{Lab, stderr, stdout};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository in a lab of its own.
pub struct Repository {
    pub lab: Lab,
    /// Names of its commits, the oldest first.
    pub commits: Vec<String>,
}

impl Repository {
    /// One without commits.
    pub fn new() -> Self {
        let repository = Repository { lab: Lab::new(), commits: Vec::new() };
        create(&repository.path());
        repository
    }

    pub fn path(&self) -> PathBuf {
        self.lab.path("repository")
    }

    /// Writes files, by their names.
    pub fn write(&self, files: &[(&str, &str)]) {
        for (name, text) in files {
            fs::write(self.path().join(name), text).unwrap();
        }
    }

    /// Writes files that can be executed.
    pub fn write_programs(&self, files: &[(&str, &str)]) {
        self.write(files);
        for (name, _) in files {
            fs::set_permissions(self.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// Commits what was written.
    pub fn commit_all(&mut self, subject: &str) {
        self.commits.push(commit(&self.path(), subject));
    }

    /// A command that bisects it, with a cache of its own.
    pub fn bisect_built_by(&self, build: &str, arguments: &[&str]) -> Command {
        let mut command = self.lab.command(&["bisect"]);
        let path = self.path();
        command.args(["--repository", path.to_str().unwrap(), "--build", build, "--quiet", "--seed", "1"]);
        command.args(arguments).args(["--", "./prog"]).env("XDG_CACHE_HOME", self.lab.path("cache"));
        command
    }
}

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
