//! The user's working tree as a tree of ours: its files are hashed into an index and a repository
//! of ours, so nothing of the user's is written.

use super::git::{Failure, Git, must_succeed};
use super::patches::{Bench, Changed, SUBMODULE};
use super::{Repository, unquoted, unwritable};
use faultline_experiment::{Error, Lab};
use faultline_record::commit::{CommitInfo, short_name};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of a working tree, with untracked ones that are not ignored. Submodules are those of
/// the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingTree {
    /// The result, named after its tree, because no commit is made.
    pub commit: CommitInfo,
    /// Number of files that differ from the commit.
    pub changed: usize,
    /// Those that the commit does not have.
    pub new: Vec<String>,
    /// The submodules with changes of their own, which are left out.
    pub edited_submodules: Vec<String>,
}

/// An initialised submodule of a working tree, at the commit that the index names.
struct Initialised {
    /// Its path below the top, as git prints it.
    path: String,
    commit: String,
    /// Its files.
    directory: PathBuf,
    /// Objects of its repository.
    objects: PathBuf,
}

impl Repository {
    /// The working tree around `there`, whose `HEAD` is a commit. Fails if there is none, if it is
    /// sparse, if a file cannot be read, or if a submodule has another commit.
    pub fn working_tree(&self, head: &CommitInfo, there: &Path, lab: &Lab<'_>) -> Result<WorkingTree, Error> {
        let theirs = Git::in_theirs(there, lab)?.with_users_configuration();
        let top = top(&theirs, there, lab)?;
        refuse_sparse(&theirs, lab)?;
        let bench = Bench::new(self, head, lab)?;
        self.copy_excludes()?;
        let excludes =
            setting(&theirs, "path", "core.excludesFile", lab)?.map(|file| format!("core.excludesFile={file}"));
        let git = self.git.with(&[("GIT_INDEX_FILE", &bench.index), ("GIT_WORK_TREE", &top)]);
        // In a submodule, `add` would run `git status` with the configuration of the submodule.
        let submodules = initialised(&git, &top, lab)?;
        let without: Vec<String> =
            submodules.iter().map(|submodule| format!(":(top,exclude,literal){}", submodule.path)).collect();
        let excludes: Vec<&str> = excludes.iter().flat_map(|setting| ["-c", setting.as_str()]).collect();
        let mut add = excludes.clone();
        // Our repository, where git starts, may lie within the working tree.
        add.extend(["add", "--all", "--", ":/"]);
        add.extend(without.iter().map(String::as_str));
        git.lines(&add, lab).map_err(|failure| failure.or_exited_saying(not_added, "read the working tree"))?;
        let tree = bench.tree(lab)?;
        let mut changed = 0;
        let mut new = Vec::new();
        let compare = ["diff-tree", "-r", "--no-renames", &head.tree, &tree];
        for line in self.git.run(&compare, "list the changes of the working tree", lab)? {
            let Some(file) = Changed::read(&line) else { continue };
            if file.mode == SUBMODULE {
                return Err(match file.is_new {
                    true => nested(file.path),
                    false => other_commit(file.path),
                });
            }
            changed += 1;
            new.extend(file.is_new.then(|| file.path.to_owned()));
        }
        let mut edited_submodules = Vec::new();
        for submodule in submodules {
            if self.is_edited(&submodule, &bench, &excludes, lab)? {
                edited_submodules.push(submodule.path);
            }
        }
        let subject = format!("working tree on {}", short_name(&head.id));
        let commit = CommitInfo {
            files: None,
            id: tree.clone(),
            tree,
            parents: vec![head.id.clone()],
            committed_s: head.committed_s,
            author: String::new(),
            subject,
        };
        Ok(WorkingTree { commit, changed, new, edited_submodules })
    }

    /// True if a submodule has files that its commit has not, or differently. Neither its
    /// configuration nor its index is used, because both can name programs.
    fn is_edited(
        &self,
        submodule: &Initialised,
        bench: &Bench<'_>,
        excludes: &[&str],
        lab: &Lab<'_>,
    ) -> Result<bool, Error> {
        let index = bench.directory.join("submodule");
        let _ = fs::remove_file(&index);
        let git = self.git.with(&[
            ("GIT_INDEX_FILE", &index),
            ("GIT_WORK_TREE", &submodule.directory),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", &submodule.objects),
        ]);
        git.run(&["read-tree", &submodule.commit], "read the commit of a submodule", lab)?;
        let mut list = excludes.to_vec();
        list.extend(["ls-files", "--modified", "--deleted", "--others", "--exclude-standard", "--", ":/"]);
        Ok(!git.run(&list, "list the changes of a submodule", lab)?.is_empty())
    }

    /// Copies the patterns of ignored files that belong to the user's repository alone.
    fn copy_excludes(&self) -> Result<(), Error> {
        let [from, to] = [&self.theirs_shallow, &self.git.directory().join("shallow")]
            .map(|beside| beside.with_file_name("info").join("exclude"));
        let patterns = fs::read(from).unwrap_or_default();
        fs::create_dir_all(to.with_file_name(""))
            .and_then(|()| fs::write(&to, patterns))
            .map_err(|e| unwritable(&to, &e))
    }
}

/// The top of a working tree. Fails for a bare repository.
fn top(theirs: &Git, there: &Path, lab: &Lab<'_>) -> Result<PathBuf, Error> {
    let lines = theirs.lines(&["rev-parse", "--show-toplevel"], lab);
    let none = || {
        Error::usage(
            format!("{} is not in a working tree", there.display()),
            "go to one, or name two commits instead of `.`",
        )
    };
    let lines = lines.map_err(|failure| failure.or_exited(none, "find the working tree"))?;
    lines.into_iter().next().map(PathBuf::from).ok_or_else(none)
}

/// Refuses a sparse checkout: its missing files would count as deleted.
fn refuse_sparse(theirs: &Git, lab: &Lab<'_>) -> Result<(), Error> {
    match setting(theirs, "bool", "core.sparseCheckout", lab)?.as_deref() {
        Some("true") => Err(Error::usage(
            "the working tree is a sparse checkout, and its missing files would count as deleted",
            "`git sparse-checkout disable` brings them; or compare two commits",
        )),
        _ => Ok(()),
    }
}

/// The initialised submodules in an index. Fails if one has another commit.
fn initialised(index: &Git, top: &Path, lab: &Lab<'_>) -> Result<Vec<Initialised>, Error> {
    let mut found = Vec::new();
    for line in index.run(&["-c", "core.quotePath=false", "ls-files", "--stage"], "list submodules", lab)? {
        let Some((commit, path)) = read_entry(&line) else { continue };
        let directory = top.join(&path);
        let is_there = fs::symlink_metadata(&directory).is_ok_and(|found| found.is_dir());
        if !is_there || fs::symlink_metadata(directory.join(".git")).is_err() {
            continue;
        }
        let submodule = Git::in_theirs(&directory, lab)?.with_users_configuration();
        // This reads a reference and a path, and executes nothing that a configuration names.
        let read = ["rev-parse", "HEAD", "--path-format=absolute", "--git-path", "objects"];
        let lines = submodule.run(&read, "read the commit of a submodule", lab)?;
        match &lines[..] {
            [head, objects] if head == commit => {
                found.push(Initialised { path, commit: head.clone(), directory, objects: objects.into() });
            }
            _ => return Err(other_commit(&path)),
        }
    }
    Ok(found)
}

/// Parses a submodule's line of `git ls-files`, `160000 ID STAGE<TAB>PATH`: its commit and path.
fn read_entry(line: &str) -> Option<(&str, String)> {
    let (words, path) = line.strip_prefix(SUBMODULE)?.split_once('\t')?;
    Some((words.split_whitespace().next()?, unquoted(path)))
}

fn other_commit(path: &str) -> Error {
    Error::usage(
        format!("the working tree has another commit of the submodule {}", path.escape_debug()),
        "commit it, or leave out nested repositories by .gitignore; then compare the commits",
    )
}

/// The error for files that git does not add. A repository without commits is one.
fn not_added(said: &str) -> Error {
    match said.split('\'').nth(1).filter(|_| said.contains("does not have a commit checked out")) {
        Some(path) => nested(path.trim_end_matches('/')),
        None => must_succeed(Failure::Exited(said.to_owned()), "read the working tree"),
    }
}

/// The error for a repository within the working tree that no commit of it names.
fn nested(path: &str) -> Error {
    Error::usage(
        format!("the working tree contains another repository, {}, which is no submodule", path.escape_debug()),
        "leave it out by .gitignore, or move it; then compare again",
    )
}

/// A setting of the user's configuration, if there is one. `kind`: its type for git.
fn setting(theirs: &Git, kind: &str, name: &str, lab: &Lab<'_>) -> Result<Option<String>, Error> {
    match theirs.lines(&["config", &format!("--type={kind}"), "--get", name], lab) {
        Ok(lines) => Ok(lines.into_iter().next()),
        Err(Failure::Exited(_)) => Ok(None),
        Err(failure) => Err(must_succeed(failure, "read its configuration")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_submodules_are_read_from_an_index() {
        assert_eq!(read_entry("160000 12ab 0\t\"l\\tb\""), Some(("12ab", "l\tb".to_owned())));
        assert_eq!(read_entry("160000 12ab 0\tlib/a b"), Some(("12ab", "lib/a b".to_owned())));
        assert_eq!(read_entry("100644 12ab 0\tx"), None);
    }
}
