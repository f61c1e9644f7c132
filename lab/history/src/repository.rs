//! Our bare repository that borrows the objects of a user's repository.
//!
//! Git runs without the configuration of the user or the repository, so their hooks, filters and
//! monitors are not executed. Ours holds only `objects/info/alternates` and copies of references,
//! so names mean the same as for the user. Reverts happen in an index of ours: no file is checked
//! out, and no commit is made.

use crate::commits::{Revert, Reverted, Walk, Walked, Which};
use crate::repository::git::Failure;
use crate::repository::import::NEWEST;
use crate::repository::patches::Bench;
use faultline_experiment::{Error, Lab};
use faultline_record::commit::{CommitInfo, CommitLine, short_name};
use faultline_record::explained::{FileChange, FilesChanged, LinesChanged};
use faultline_record::forge::page_of_remote;
use faultline_stats::history::{Author, Between};
use git::Git;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

mod checkout;
mod git;
mod import;
mod patches;
mod submodules;
mod working_tree;

pub(crate) use checkout::BuildEnvironment;
pub use checkout::Checkout;
pub use patches::{Patch, Patched};
pub use working_tree::WorkingTree;

/// Reference with a copy of the user's `HEAD`.
const THEIR_HEAD: &str = "refs/faultline/head";

/// Our repository with the user's commits.
#[derive(Debug)]
pub struct Repository {
    git: Git,
    /// Directories with the user's copies of the submodules' repositories, by name.
    modules: Vec<PathBuf>,
    /// The user's file with the commits at which a shallow clone ends.
    theirs_shallow: PathBuf,
    /// Its page on a forge, by the user's remote.
    pub(crate) forge: Option<String>,
}

impl Repository {
    /// Opens a user's repository through ours in `ours`, which is created if missing. Fails if the
    /// directory cannot be written.
    pub(crate) fn open(theirs: &Theirs, ours: &Path, lab: &Lab<'_>) -> Result<Self, Error> {
        let own = Path::new(&theirs.repository);
        let git = Git::below(ours, lab)?.trusting(&[own, own.parent().unwrap_or(own), &theirs.shared])?;
        let modules = [own, &theirs.shared].map(|directory| directory.join("modules"));
        let forge = forge(&git, &theirs.shared.join("config"), lab);
        let theirs_shallow = theirs.shared.join("shallow");
        let repository = Repository { git, modules: modules.to_vec(), theirs_shallow, forge };
        repository.borrow(&theirs.objects, lab)?;
        repository.copy_references(theirs, lab)?;
        Ok(repository)
    }

    /// The user's checkout around the repository; `None` if it is elsewhere, or there is none.
    pub(crate) fn checkout(&self) -> Option<&Path> {
        let git = self.theirs_shallow.parent()?;
        git.parent().filter(|_| git.file_name().is_some_and(|name| name == ".git"))
    }

    /// Creates the repository if it is missing, and borrows the objects in a directory.
    fn borrow(&self, objects: &Path, lab: &Lab<'_>) -> Result<(), Error> {
        self.create(lab)?;
        let information = self.git.directory().join("objects/info");
        let alternates = information.join("alternates");
        fs::create_dir_all(&information)
            .and_then(|()| fs::write(&alternates, format!("{}\n", objects.display())))
            .map_err(|error| unwritable(&alternates, &error))
    }

    /// Creates the repository if it is missing.
    fn create(&self, lab: &Lab<'_>) -> Result<(), Error> {
        if !self.git.directory().join("objects").is_dir() {
            self.git.run(&["init", "--quiet", "--bare", "--template=", "."], "create a repository of ours", lab)?;
        }
        Ok(())
    }

    /// Copies the references and `HEAD`.
    fn copy_references(&self, theirs: &Theirs, lab: &Lab<'_>) -> Result<(), Error> {
        let head = format!("+HEAD:{THEIR_HEAD}");
        let fetch = [
            "fetch",
            "--quiet",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
            "--update-shallow",
            "--",
            &theirs.repository,
        ];
        let fetch = [&fetch[..], &["+refs/*:refs/*", &head]].concat();
        // The user's may have become complete; `fetch` writes it again if not.
        let _ = fs::remove_file(self.git.directory().join("shallow"));
        let incomplete = |said: &str| match said.ends_with("remote ref HEAD") {
            true => Error::usage(
                "the repository's HEAD has no commit yet",
                "commit first, or check out a branch with commits",
            ),
            false => Error::failed(
                format!("git cannot read the repository: {said}"),
                "`git fsck` checks it, and `git fetch` may bring what it lacks",
            ),
        };
        if self.git.run(&fetch, "read the repository", lab).is_err() {
            if lab.stop.is_set() {
                return Err(Error::stopped());
            }
            self.drop_references()?;
            let what = "read the repository";
            self.git.lines(&fetch, lab).map_err(|failure| failure.or_exited_saying(incomplete, what))?;
        }
        let set = ["update-ref", "--no-deref", "HEAD", THEIR_HEAD];
        self.git.run(&set, "read the repository's HEAD", lab).map(drop)
    }

    /// Removes the copied references. Git reads nothing if one names a missing commit, after the
    /// user's repository was cleaned up or recreated.
    fn drop_references(&self) -> Result<(), Error> {
        let ours = self.git.directory();
        let drop = || {
            match fs::remove_file(ours.join("packed-refs")) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => fs::remove_dir_all(ours.join("refs"))?,
            }
            // A repository needs these two.
            fs::create_dir(ours.join("refs"))?;
            fs::write(ours.join("HEAD"), format!("ref: {THEIR_HEAD}\n"))
        };
        drop().map_err(|error| unwritable(ours, &error))
    }

    /// The hint about a commit that is not where it should be.
    fn hint<'a>(&self, usual: &'a str) -> &'a str {
        match self.theirs_shallow.exists() {
            true => "the repository is a shallow clone: `git fetch --unshallow` brings its older commits",
            false => usual,
        }
    }

    fn no_commit(&self, name: &str) -> Error {
        let problem = format!("the repository has no commit '{}'", name.escape_debug());
        Error::usage(problem, self.hint("name a branch, a tag or a commit; `git log --oneline` shows them"))
    }

    /// The commit with a name: a branch, tag, `HEAD~3`, or digits. Fails if there is none.
    pub fn commit(&self, name: &str, lab: &Lab<'_>) -> Result<CommitInfo, Error> {
        let id = self.resolve(name, lab)?;
        let mut found = self.log(&["--max-count=1", &id], lab)?;
        found.pop().ok_or_else(|| self.no_commit(name))
    }

    /// The newest common ancestor of two commits. Fails if there is none.
    pub fn merge_base(&self, a: &CommitInfo, b: &CommitInfo, lab: &Lab<'_>) -> Result<CommitInfo, Error> {
        let none = || {
            Error::usage(
                format!("{} and {} have no common ancestor", short_name(&a.id), short_name(&b.id)),
                "a shallow clone lacks older commits: `git fetch --unshallow` completes it",
            )
        };
        let lines = self.git.lines(&["merge-base", &a.id, &b.id], lab);
        let lines = lines.map_err(|failure| failure.or_exited(none, "find a common ancestor"))?;
        self.commit(lines.first().ok_or_else(none)?, lab)
    }

    /// Fails if the second of two commits is an ancestor of the first. `names`: of both, as given.
    pub fn check_order(&self, commits: [&CommitInfo; 2], names: [&str; 2], lab: &Lab<'_>) -> Result<(), Error> {
        let [old, new] = names.map(str::escape_debug);
        let is_older = self.git.lines(&["merge-base", "--is-ancestor", &commits[1].id, &commits[0].id], lab);
        match is_older {
            Ok(_) => Err(Error::usage(format!("'{new}' is older than '{old}'"), "name the older commit first")),
            Err(Failure::Exited(_)) => Ok(()),
            Err(failure) => Err(failure.or_exited(Error::stopped, "compare two commits")),
        }
    }

    fn resolve(&self, name: &str, lab: &Lab<'_>) -> Result<String, Error> {
        let wanted = format!("{name}^{{commit}}");
        let lines = self
            .git
            .lines(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted], lab)
            .map_err(|failure| failure.or_exited(|| self.no_commit(name), "find a commit"))?;
        match lines.as_slice() {
            [id] if id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) => Ok(id.clone()),
            _ => Err(self.no_commit(name)),
        }
    }
}

impl Repository {
    /// Fails if the repository lacks a part of a commit.
    fn check_whole(&self, commit: &CommitInfo, lab: &Lab<'_>) -> Result<(), Error> {
        let list = ["rev-list", "--objects", "--no-walk", "--quiet", "--end-of-options", &commit.id];
        let incomplete = |said: &str| {
            Error::failed(
                format!("the repository lacks a part of commit {}: {said}", short_name(&commit.id)),
                "`git fetch` may bring it; if the history was rewritten and pruned, start a new run",
            )
        };
        self.git.lines(&list, lab).map(drop).map_err(|failure| failure.or_exited_saying(incomplete, "check a commit"))
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::usage(
        format!("cannot write {}: {error}", path.display()),
        "`--work DIR` (in faultline.toml: `work`) names a directory for checkouts and builds",
    )
}

/// The top of the repository around a directory, if it belongs to another user.
fn of_another_user(there: &Path) -> Option<&Path> {
    let top = there.ancestors().find(|above| above.join(".git").exists() || above.join("objects").is_dir())?;
    let ours = rustix::process::geteuid().as_raw();
    let is_another = |path: &Path| path.metadata().is_ok_and(|metadata| metadata.uid() != ours);
    (is_another(top) || is_another(&top.join(".git"))).then_some(top)
}

/// A user's repository.
#[derive(Debug)]
pub(crate) struct Theirs {
    /// Directory of the repository: `.git`, or that of a worktree with its own `HEAD`.
    repository: String,
    /// Directory shared by all its worktrees.
    shared: PathBuf,
    /// Directory of its objects.
    objects: PathBuf,
}

impl Theirs {
    /// Finds the repository of a directory. Only this command runs with the user's configuration,
    /// and it executes nothing that a configuration names. Fails without a repository or without
    /// git.
    pub(crate) fn find(there: &Path, lab: &Lab<'_>) -> Result<Self, Error> {
        let ask =
            ["rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-common-dir", "--git-path", "objects"];
        let git = Git::in_theirs(there, lab)?.with_users_configuration();
        let lines = git.lines(&ask, lab).map_err(|failure| {
            let hint = match of_another_user(there) {
                Some(top) => format!(
                    "it belongs to another user; if you trust them: `git config --global --add safe.directory {}`",
                    top.display()
                ),
                None => "go to a directory of a repository, or name one with `--repository DIR` (in faultline.toml: `repository`)"
                    .to_owned(),
            };
            let refused = |said: &str| Error::usage(format!("{}: {said}", there.display()), hint);
            failure.or_exited_saying(refused, "find a repository")
        })?;
        match lines.as_slice() {
            [repository, shared, objects] if Path::new(objects).is_dir() => {
                Ok(Theirs { repository: repository.clone(), shared: shared.into(), objects: objects.into() })
            }
            _ => Err(Error::usage(
                format!("{}: git does not say where its objects are", there.display()),
                "use git 2.31 or newer, and a repository whose path is UTF-8",
            )),
        }
    }

    /// Identity of the repository, even if another one is later at the same path: path, inode
    /// number and creation time of its shared directory. Worktrees of a repository share it. Fails
    /// if the directory cannot be read.
    pub(crate) fn identity(&self) -> Result<String, Error> {
        let read = || -> std::io::Result<String> {
            let (path, metadata) = (self.shared.canonicalize()?, self.shared.metadata()?);
            let created = metadata.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            Ok(format!("{path:?} {} {created:?}", metadata.ino()))
        };
        read().map_err(|error| {
            Error::usage(
                format!("cannot read {}: {error}", self.shared.display()),
                "name another repository with `--repository DIR` (in faultline.toml: `repository`)",
            )
        })
    }
}

/// The page of a repository on a forge, by the remote `origin` in its configuration, of which only
/// this value is read.
fn forge(git: &Git, configuration: &Path, lab: &Lab<'_>) -> Option<String> {
    let ask = ["config", "--file", &configuration.to_string_lossy(), "--get", "remote.origin.url"];
    page_of_remote(git.lines(&ask, lab).ok()?.first()?)
}

/// Fields of a commit, separated by NUL, which no field can contain: name, tree, parents, time,
/// author, subject.
const FORMAT: &str = "--format=tformat:%H%x00%T%x00%P%x00%ct%x00%an%x00%s";

impl Repository {
    /// The commits from `old` to `new`, both included, along first parents. Fails if a commit is
    /// unknown, or if `old` is not on that line.
    pub fn line(&self, old: &str, new: &str, lab: &Lab<'_>) -> Result<CommitLine, Error> {
        let (first, last) = (self.commit(old, lab)?, self.commit(new, lab)?);
        if first.id == last.id {
            return Err(Error::usage(
                format!("'{}' and '{}' are the same commit", old.escape_debug(), new.escape_debug()),
                "name an older and a newer commit",
            ));
        }
        let range = format!("{}..{}", first.id, last.id);
        let after = self.log(&["--first-parent", "--reverse", &range], lab)?;
        if after.first().and_then(|commit| commit.parents.first()) != Some(&first.id) {
            return Err(self.not_on_the_line(&first, &last, (old, new), lab));
        }
        Ok(CommitLine { commits: std::iter::once(first).chain(after).collect() })
    }

    /// The error for an `old` that is not on the line to `new`, with a suggestion.
    fn not_on_the_line(&self, first: &CommitInfo, last: &CommitInfo, (old, new): (&str, &str), lab: &Lab<'_>) -> Error {
        if let Err(error) = self.check_order([first, last], [old, new], lab) {
            return error;
        }
        let (old, new) = (old.escape_debug(), new.escape_debug());
        let base = self.git.lines(&["merge-base", &first.id, &last.id], lab).unwrap_or_default();
        let Some(base) = base.first() else {
            return Error::usage(
                format!("'{old}' and '{new}' have no commit in common"),
                self.hint("name two commits of one history"),
            );
        };
        let problem = format!("'{old}' is not on the line of first parents that leads to '{new}'");
        Error::usage(problem, format!("begin with a commit of that line; the last that both have is {base}"))
    }

    /// Commits as `git log` lists them.
    pub(super) fn log(&self, arguments: &[&str], lab: &Lab<'_>) -> Result<Vec<CommitInfo>, Error> {
        let command =
            [&["log", FORMAT, "--encoding=UTF-8", "--no-show-signature", "--no-notes"], arguments, &["--"]].concat();
        let lines = self.git.lines(&command, lab);
        let unread =
            |said: &str| Error::failed(format!("git cannot list commits: {said}"), "`git fsck` checks the repository");
        let lines = lines.map_err(|failure: Failure| failure.or_exited_saying(unread, "list commits"))?;
        lines.iter().map(|line| read_commit(line).ok_or_else(|| unread("it prints something else"))).collect()
    }
}

fn read_commit(line: &str) -> Option<CommitInfo> {
    let fields: Vec<&str> = line.splitn(6, '\0').collect();
    let [id, tree, parents, committed, author, subject] = fields[..] else { return None };
    Some(CommitInfo {
        files: None,
        id: id.to_owned(),
        tree: tree.to_owned(),
        parents: parents.split_whitespace().map(str::to_owned).collect(),
        committed_s: committed.parse().ok()?,
        author: author.to_owned(),
        subject: subject.to_owned(),
    })
}

/// Output of `for-each-ref` for a tag: its object, and the annotated object if it is an annotation.
const TAG: &str = "--format=%(objectname) %(*objectname)";

impl Repository {
    /// All commits from which a history picks, oldest first. Fails if a named commit is unknown, or
    /// if there is none.
    pub fn walk(&self, which: &Which, lab: &Lab<'_>) -> Result<Walked, Error> {
        match which {
            Which::Named(names) => {
                let mut commits = names.iter().map(|name| self.commit(name, lab)).collect::<Result<Vec<_>, _>>()?;
                let mut tagged = BTreeSet::new();
                // Several names may mean one commit.
                commits.retain(|commit| tagged.insert(commit.id.clone()));
                Ok(Walked { commits, tagged })
            }
            Which::Releases => self.walk_branch(NEWEST, None, Walk::FirstParent, lab),
            Which::Branch { newest, since, walk, .. } => self.walk_branch(newest, since.as_deref(), *walk, lab),
        }
    }

    fn walk_branch(&self, newest: &str, since: Option<&str>, walk: Walk, lab: &Lab<'_>) -> Result<Walked, Error> {
        let last = self.commit(newest, lab)?;
        let first = since.map(|since| self.commit(since, lab)).transpose()?;
        let order: &[&str] = match walk {
            Walk::FirstParent => &["--first-parent", "--topo-order", "--reverse"],
            Walk::Full => &["--topo-order", "--reverse"],
        };
        let range = first.as_ref().map_or_else(|| last.id.clone(), |first| format!("{}..{}", first.id, last.id));
        let after = self.log(&[order, &[&range]].concat(), lab)?;
        if let (Some(first), Some(since)) = (&first, since) {
            self.check_descends(&first.id, &last.id, (since, newest), lab)?;
        }
        let commits = first.into_iter().chain(after).collect();
        Ok(Walked { commits, tagged: self.tagged(lab)? })
    }

    /// Fails if a commit is not an ancestor of another.
    fn check_descends(&self, old: &str, new: &str, names: (&str, &str), lab: &Lab<'_>) -> Result<(), Error> {
        let is_ancestor = self.git.lines(&["merge-base", "--is-ancestor", old, new], lab);
        is_ancestor.map(drop).map_err(|failure| {
            let (since, newest) = (names.0.escape_debug(), names.1.escape_debug());
            let refused = || {
                Error::usage(
                    format!("'{since}' is not an ancestor of '{newest}'"),
                    self.hint("`since` takes a commit from which the branch descends"),
                )
            };
            failure.or_exited(refused, "compare two commits")
        })
    }

    /// The commits that tags name.
    fn tagged(&self, lab: &Lab<'_>) -> Result<BTreeSet<String>, Error> {
        let lines = self.git.run(&["for-each-ref", TAG, "refs/tags"], "list the tags", lab)?;
        Ok(lines.iter().flat_map(|line| line.split_whitespace()).map(str::to_owned).collect())
    }
}

/// Commits that lead to one commit and not to another.
#[derive(Debug)]
pub struct CommitsBetween {
    /// The commits, newest first; at most [`Between::MOST_COMMITS`].
    pub commits: Vec<CommitInfo>,
    /// Number of all commits.
    pub count: u32,
    /// Authors of the listed commits, most commits first.
    pub authors: Vec<Author>,
}

impl Repository {
    /// The commits that lead to `new` and not to `old`. Fails if a commit is gone, or if git fails.
    pub fn commits_between(&self, old: &str, new: &str, lab: &Lab<'_>) -> Result<CommitsBetween, Error> {
        let range = format!("{old}..{new}");
        let counted = self.git.run(&["rev-list", "--count", &range, "--"], "count commits", lab)?;
        let most = format!("--max-count={}", Between::MOST_COMMITS);
        let commits = self.log(&["--topo-order", &most, &range], lab)?;
        Ok(CommitsBetween {
            count: counted.first().and_then(|count| count.trim().parse().ok()).unwrap_or(commits.len() as u32),
            authors: authors(&commits),
            commits,
        })
    }
}

fn authors(commits: &[CommitInfo]) -> Vec<Author> {
    let mut by_name: BTreeMap<&str, u32> = BTreeMap::new();
    for commit in commits {
        *by_name.entry(&commit.author).or_default() += 1;
    }
    let mut authors: Vec<Author> =
        by_name.into_iter().map(|(name, commits)| Author { name: name.to_owned(), commits }).collect();
    authors.sort_by_key(|author| Reverse(author.commits));
    authors
}

/// Compares two trees: runs no program of the user, and reports a moved file as removed and added.
/// Git quotes special characters, so each path is on one line.
const DIFF: [&str; 8] =
    ["-c", "core.quotePath=false", "diff-tree", "-r", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv"];

impl Repository {
    /// The files that differ between two commits. Fails on a stop, or if git cannot read them.
    pub(crate) fn files(&self, from: &CommitInfo, to: &CommitInfo, lab: &Lab<'_>) -> Result<FilesChanged, Error> {
        let lines = self.git.run(&[&DIFF[..], &[&from.id, &to.id, "--"]].concat(), "compare two commits", lab)?;
        Ok(FilesChanged::of(lines.iter().filter_map(|line| read_file(line)).collect()))
    }

    /// True if a commit has a file. Fails on a stop.
    pub(crate) fn has_file(&self, commit: &CommitInfo, path: &str, lab: &Lab<'_>) -> Result<bool, Error> {
        match self.git.lines(&["cat-file", "-e", &format!("{}:{path}", commit.id)], lab) {
            Err(Failure::Stopped) => Err(Error::stopped()),
            found => Ok(found.is_ok()),
        }
    }
}

/// Parses a line of git: lines added, lines removed, path. A binary file has `-` for both numbers.
fn read_file(line: &str) -> Option<FileChange> {
    let fields: Vec<&str> = line.splitn(3, '\t').collect();
    let [added, removed, path] = fields[..] else { return None };
    let lines = match (added, removed) {
        ("-", "-") => None,
        _ => Some(LinesChanged { added: added.parse().ok()?, removed: removed.parse().ok()? }),
    };
    Some(FileChange { path: unquoted(path), lines })
}

/// A path without git's quotes. Invalid UTF-8 is replaced.
fn unquoted(path: &str) -> String {
    let Some(quoted) = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) else { return path.to_owned() };
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut rest = quoted.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'\\' { escaped(&mut rest) } else { byte });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The byte of an escape sequence.
fn escaped(rest: &mut std::str::Bytes<'_>) -> u8 {
    match rest.next() {
        Some(b'a') => 7,
        Some(b'b') => 8,
        Some(b't') => b'\t',
        Some(b'n') => b'\n',
        Some(b'v') => 11,
        Some(b'f') => 12,
        Some(b'r') => b'\r',
        Some(first @ b'0'..=b'7') => {
            let digits = [first, rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
            digits.iter().fold(0, |value: u8, digit| value.wrapping_mul(8).wrapping_add(digit.wrapping_sub(b'0')))
        }
        Some(sign) => sign,
        None => b'\\',
    }
}

impl Repository {
    /// Undoes a commit on top of another. A conflict with later commits is a result. Fails on a
    /// stop, or if git fails.
    pub fn revert(&self, asked: &Revert<'_>, lab: &Lab<'_>) -> Result<Reverted, Error> {
        let Revert { commit, before, on } = *asked;
        if commit.tree == before.tree {
            return Ok(Reverted::Empty);
        }
        let bench = Bench::new(self, on, lab)?;
        if let Err(files) = bench.undo(commit, before, lab)? {
            return Ok(Reverted::Conflict(files));
        }
        let tree = bench.tree(lab)?;
        if tree == on.tree {
            return Ok(Reverted::Empty);
        }
        let subject = format!("without {}", short_name(&commit.id));
        Ok(Reverted::Tree(Box::new(CommitInfo {
            files: None,
            id: tree.clone(),
            tree,
            parents: vec![on.id.clone()],
            committed_s: on.committed_s,
            author: on.author.clone(),
            subject,
        })))
    }
}

impl Bench<'_> {
    /// Returns a commit's files in the index to those of another, merging files that changed since.
    /// Inner error: the files with conflicts.
    fn undo(&self, commit: &CommitInfo, before: &CommitInfo, lab: &Lab<'_>) -> Result<Result<(), Vec<String>>, Error> {
        let diff = self.directory.join("diff");
        let output = format!("--output={}", diff.display());
        let compare = ["diff-tree", "-p", "--binary", "--full-index", "--no-renames", "--no-textconv", "--no-ext-diff"];
        let ends = [output.as_str(), &commit.tree, &before.tree];
        self.repository.git.run(&[&compare[..], &ends].concat(), "compare two commits", lab)?;
        let git = self.repository.git.with(&[("GIT_INDEX_FILE", &self.index)]);
        let apply = ["apply", "--cached", "--3way", "--whitespace=nowarn", "--", &diff.to_string_lossy()];
        match git.lines(&apply, lab) {
            Ok(_) => Ok(Ok(())),
            Err(Failure::Exited(_)) => {
                let listed = git.run(&["diff", "--cached", "--name-only", "--diff-filter=U"], "list conflicts", lab)?;
                Ok(Err(listed))
            }
            Err(failure) => Err(failure.or_exited(Error::stopped, "undo a commit")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_git_is_a_commit_whatever_its_texts_hold() {
        let commit = read_commit("1f\x003a\x00aa bb\x001700000000\x00A\u{1b}[31m \"B\"\x00<b>x</b> \u{fffd}").unwrap();
        assert_eq!((commit.id.as_str(), commit.parents.len(), commit.committed_s), ("1f", 2, 1_700_000_000));
        assert_eq!((commit.author.as_str(), commit.subject.as_str()), ("A\u{1b}[31m \"B\"", "<b>x</b> \u{fffd}"));
        assert_eq!(read_commit("1f\x003a\x00\x00never\x00A\x00B"), None);
        assert_eq!(read_commit("1f"), None);
    }

    #[test]
    fn lines_of_git_are_read_whatever_the_paths_hold() {
        let lines = |added, removed| Some(LinesChanged { added, removed });
        let read = |line| read_file(line).map(|file| (file.path, file.lines));
        assert_eq!(read("12\t3\tsrc/a b.c"), Some(("src/a b.c".to_owned(), lines(12, 3))));
        assert_eq!(read("-\t-\tü.png"), Some(("ü.png".to_owned(), None)));
        assert_eq!(
            read("1\t0\t\"a\\nb\\\"\\\\\\t\\033[31m\\377\""),
            Some(("a\nb\"\\\t\u{1b}[31m\u{fffd}".to_owned(), lines(1, 0)))
        );
        for line in ["", "1\t2", "x\ty\tz", "-\t1\tz"] {
            assert_eq!(read(line), None, "{line:?}");
        }
        for cut in ["\"\\", "\"\\\"", "\"\\7\"", "\"\\777\"", "\""] {
            unquoted(cut);
        }
    }
}
