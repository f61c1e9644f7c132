//! Submodules of a commit that is checked out, from the user's copies of their repositories. Their
//! configuration is not read, and nothing is fetched.

use super::checkout::Checkout;
use super::git::{Failure, Git, must_succeed};
use super::{Repository, unquoted, unwritable};
use crate::tools::Words;
use faultline_experiment::{Error, Lab};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Maximum depth of submodules within submodules.
const DEEPEST: usize = 8;

/// A submodule of a commit.
struct Submodule {
    /// Name of its repository.
    name: String,
    /// Its path below the commit's files.
    path: String,
    /// Its commit.
    commit: String,
}

/// A repository whose commit is checked out.
struct Above<'a> {
    repository: &'a Repository,
    commit: &'a str,
    /// Its files.
    directory: &'a Path,
    depth: usize,
}

impl Checkout {
    /// Checks out the submodules of a commit whose own files are checked out, and theirs, into a
    /// directory without files of another commit's submodules. Returns the paths of those that the
    /// user has not initialised or whose commit is missing: their directories stay empty. Inner
    /// error: git's reason to refuse a submodule. Fails on a stop, or if the lab fails.
    pub(super) fn add_submodules(
        &self,
        repository: &Repository,
        commit: &str,
        lab: &Lab<'_>,
    ) -> Result<Result<Vec<String>, String>, Error> {
        let mut missing = Vec::new();
        let above = Above { repository, commit, directory: self.directory(), depth: 0 };
        Ok(self.add_below(&above, &mut missing, lab)?.map(|()| missing))
    }

    fn add_below(
        &self,
        above: &Above<'_>,
        missing: &mut Vec<String>,
        lab: &Lab<'_>,
    ) -> Result<Result<(), String>, Error> {
        for submodule in submodules(&above.repository.git, above.commit, lab)? {
            let directory = above.directory.join(&submodule.path);
            let found = match above.depth < DEEPEST && is_below(&submodule.name) {
                true => self.opened(above.repository, &submodule, lab)?,
                false => None,
            };
            let Some(repository) = found.filter(|_| self.holds(&directory)) else {
                missing.push(submodule.path);
                continue;
            };
            let index = repository.git.directory().with_file_name("index");
            let git = repository.git.with(&[("GIT_WORK_TREE", &directory), ("GIT_INDEX_FILE", &index)]);
            // Of an earlier commit, whose files are gone.
            let _ = fs::remove_file(&index);
            match git.lines(&["read-tree", "--reset", "-u", &submodule.commit], lab) {
                Ok(_) => {}
                Err(Failure::Exited(said)) => return Ok(Err(format!("submodule {}: {said}", submodule.path))),
                Err(failure) => return Err(must_succeed(failure, "check out a submodule")),
            }
            let commit = &submodule.commit;
            let below = Above { repository: &repository, commit, directory: &directory, depth: above.depth + 1 };
            if let Err(said) = self.add_below(&below, missing, lab)? {
                return Ok(Err(said));
            }
        }
        Ok(Ok(()))
    }

    /// True if a directory is below ours, also behind symbolic links. Creates it.
    fn holds(&self, directory: &Path) -> bool {
        fs::create_dir_all(directory).is_ok()
            && directory.canonicalize().is_ok_and(|directory| directory.starts_with(self.directory()))
    }

    /// Our repository that borrows a submodule's objects; `None` if the user has no copy of it, or
    /// none with its commit.
    fn opened(&self, above: &Repository, submodule: &Submodule, lab: &Lab<'_>) -> Result<Option<Repository>, Error> {
        let copies = above.modules.iter().map(|modules| modules.join(&submodule.name));
        let Some(theirs) = copies.into_iter().find(|copy| copy.join("objects").is_dir()) else { return Ok(None) };
        let mut words = Words::default();
        words.add(theirs.as_os_str().as_encoded_bytes());
        let ours = self.modules().join(&words.digest()[..16]);
        fs::create_dir_all(&ours).map_err(|error| unwritable(&ours, &error))?;
        let repository = Repository {
            git: Git::below(&ours, lab)?,
            modules: vec![theirs.join("modules")],
            theirs_shallow: theirs.join("shallow"),
            forge: None,
        };
        repository.borrow(&theirs.join("objects"), lab)?;
        let commit = format!("{}^{{commit}}", submodule.commit);
        match repository.git.lines(&["cat-file", "-e", &commit], lab) {
            Ok(_) => Ok(Some(repository)),
            Err(Failure::Exited(_)) => Ok(None),
            Err(failure) => Err(must_succeed(failure, "look for a submodule's commit")),
        }
    }

    /// Directory with our repositories of submodules.
    pub(super) fn modules(&self) -> PathBuf {
        self.directory().with_file_name("modules")
    }
}

/// True if a name is a path without `..`.
fn is_below(name: &str) -> bool {
    Path::new(name).components().all(|component| matches!(component, Component::Normal(_)))
}

/// The submodules of a commit that its `.gitmodules` names.
fn submodules(git: &Git, commit: &str, lab: &Lab<'_>) -> Result<Vec<Submodule>, Error> {
    let blob = format!("{commit}:.gitmodules");
    let get = ["config", "--blob", &blob, "--get-regexp", "^submodule\\..*\\.path$"];
    let named = match git.lines(&get, lab) {
        Ok(named) => named,
        // No such file, or a malformed one.
        Err(Failure::Exited(_)) => return Ok(Vec::new()),
        Err(failure) => return Err(must_succeed(failure, "read .gitmodules")),
    };
    let named: Vec<(&str, &str)> = named.iter().filter_map(|line| read_named(line)).collect();
    let entries = git.run(&["-c", "core.quotePath=false", "ls-tree", "-r", commit], "list submodules", lab)?;
    let links = entries.iter().filter_map(|line| read_link(line));
    let submodule = |(commit, path): (&str, String)| {
        let (name, _) = named.iter().find(|(_, at)| *at == path)?;
        Some(Submodule { name: (*name).to_owned(), path, commit: commit.to_owned() })
    };
    Ok(links.filter_map(submodule).collect())
}

/// Parses `submodule.NAME.path PATH`.
fn read_named(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("submodule.")?.split_once(".path ")
}

/// Parses `160000 commit ID<TAB>PATH`.
fn read_link(line: &str) -> Option<(&str, String)> {
    let (commit, path) = line.strip_prefix("160000 commit ")?.split_once('\t')?;
    Some((commit, unquoted(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_commits_of_submodules_are_read() {
        assert_eq!(read_named("submodule.a b.path lib/a b"), Some(("a b", "lib/a b")));
        assert_eq!(read_link("160000 commit 12ab\t\"l\\tb\""), Some(("12ab", "l\tb".to_owned())));
        assert_eq!(read_link("100644 blob 12ab\tx"), None);
    }

    #[test]
    fn a_name_that_leads_out_is_not_followed() {
        assert!(is_below("lib") && is_below("a/b"));
        assert!(!is_below("../lib") && !is_below("/lib") && !is_below("a/../../b"));
    }
}
