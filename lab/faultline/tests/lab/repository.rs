//! Git repositories of tests, made by this machine's git.

use super::{Lab, stderr, stdout};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository in its own lab.
pub struct Repository {
    pub lab: Lab,
    /// Names of its commits, from oldest to newest.
    pub commits: Vec<String>,
}

impl Repository {
    /// A repository without commits.
    pub fn new() -> Self {
        let repository = Repository { lab: Lab::new(), commits: Vec::new() };
        create(&repository.path());
        repository
    }

    pub fn path(&self) -> PathBuf {
        self.lab.path("repository")
    }

    /// Writes files, given by name and content.
    pub fn write(&self, files: &[(&str, &str)]) {
        for (name, text) in files {
            fs::write(self.path().join(name), text).unwrap();
        }
    }

    /// Writes executable files.
    pub fn write_programs(&self, files: &[(&str, &str)]) {
        self.write(files);
        for (name, _) in files {
            fs::set_permissions(self.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// Commits all files.
    pub fn commit_all(&mut self, subject: &str) {
        self.commits.push(commit(&self.path(), subject));
    }

    /// Declares the subject `app`, whose program is `./prog`, with further keys.
    pub fn declare_app(&self, keys: &str) {
        let text = format!(
            "[subject.app]\nrepository = \"repository\"\nwork = \"work\"\nkeep = [\"prog\"]\ncommand = \"./prog\"\n\
             repeats = 2\nseed = 1\n{keys}\n"
        );
        fs::write(self.lab.path("faultline.toml"), text).unwrap();
    }

    /// A command in the directory with that declaration, beside the repository.
    pub fn command_beside(&self, arguments: &[&str]) -> Command {
        let mut command = self.lab.command(arguments);
        command.current_dir(self.lab.path(""));
        command
    }

    /// A command that bisects the repository, with its own cache.
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

/// Runs a git command, asserts success, and returns its output.
pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let named = ["-c", "user.name=A. Uthor", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
    let output = Command::new("git").current_dir(directory).args(named).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}
