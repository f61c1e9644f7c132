//! Patches on top of a commit, applied to an index of ours: no file is checked out, and nothing of
//! the user's is written.
//!
//! Git refuses paths outside the tree, below `.git`, and behind a symbolic link. Links that leave
//! the tree and submodules are refused here.

use super::{Repository, unwritable};
use crate::workshop::Turn;
use faultline_experiment::{Error, Lab};
use faultline_record::commit::{CommitInfo, short_name};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Git's modes of a symbolic link and of a submodule's commit.
const LINK: &str = "120000";
pub(super) const SUBMODULE: &str = "160000";

/// An applied patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// Title: the subject of its mail, or the name of its file.
    pub title: String,
    /// Author, if the patch came as a mail.
    pub author: Option<String>,
}

/// A commit with patches on top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patched {
    /// The result, named after its tree, because no commit is made.
    pub commit: CommitInfo,
    /// The patches in their order.
    pub patches: Vec<Patch>,
}

impl Repository {
    /// Applies patches to a commit in order. A file is a diff of `git diff`, or mails of `git
    /// format-patch`. Fails if a patch cannot be read, does not apply or leaves the tree, and if
    /// nothing changes.
    pub fn with_patches(&self, base: &CommitInfo, files: &[PathBuf], lab: &Lab<'_>) -> Result<Patched, Error> {
        let bench = Bench::new(self, base, lab)?;
        let mut patches = Vec::new();
        for file in files {
            patches.extend(bench.apply(file, lab)?);
        }
        let tree = bench.tree(lab)?;
        if tree == base.tree {
            return Err(Error::usage(
                format!("the patches do not change {}", short_name(&base.id)),
                "`--on COMMIT` names a commit that does not have them yet",
            ));
        }
        self.check_links(base, &tree, lab)?;
        let subject = patches.iter().map(|patch: &Patch| patch.title.as_str()).collect::<Vec<_>>().join(", ");
        let parents = vec![base.id.clone()];
        let author = patches.iter().find_map(|patch| patch.author.clone()).unwrap_or_default();
        let commit =
            CommitInfo { files: None, id: tree.clone(), tree, parents, committed_s: base.committed_s, author, subject };
        Ok(Patched { commit, patches })
    }

    /// Refuses symbolic links that leave the tree, and submodules, among the differences between a
    /// commit and a tree.
    fn check_links(&self, base: &CommitInfo, tree: &str, lab: &Lab<'_>) -> Result<(), Error> {
        let compare = ["diff-tree", "-r", "--no-renames", &base.tree, tree];
        for line in self.git.run(&compare, "list what the patches change", lab)? {
            let Some(changed) = Changed::read(&line) else { continue };
            let place = changed.path.escape_debug();
            if changed.mode == SUBMODULE {
                let hint = "leave it out: patches to submodules are not applied";
                return Err(Error::usage(format!("a patch changes the submodule {place}"), hint));
            }
            if changed.mode == LINK {
                let target =
                    self.git.run(&["cat-file", "blob", changed.object], "read a symbolic link", lab)?.join("\n");
                if leads_out(changed.path, &target) {
                    return Err(Error::usage(
                        format!("a patch adds the symbolic link {place} to {}, out of the tree", target.escape_debug()),
                        "leave it out: a build could write through it",
                    ));
                }
            }
        }
        Ok(())
    }
}

/// A line of `git diff-tree`: a file that differs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changed<'a> {
    pub(super) mode: &'a str,
    object: &'a str,
    /// Quoted by git if it has unusual characters.
    pub(super) path: &'a str,
    /// True if the first side does not have the file.
    pub(super) is_new: bool,
}

impl<'a> Changed<'a> {
    /// Parses `:100644 120000 OLD NEW T<TAB>PATH`.
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let (words, path) = line.strip_prefix(':')?.split_once('\t')?;
        let words: Vec<&str> = words.split(' ').collect();
        let [_, mode, _, object, status] = words[..] else { return None };
        Some(Changed { mode, object, path, is_new: status == "A" })
    }
}

/// True if a symbolic link leaves the tree. `path`: of the link, quoted by git, which keeps
/// slashes.
fn leads_out(path: &str, target: &str) -> bool {
    let mut depth = path.matches('/').count();
    for part in target.split('/') {
        match part {
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            "" | "." => {}
            _ => depth += 1,
        }
    }
    target.starts_with('/')
}

/// An index of ours in which patches are applied, and a directory for the parts of mails.
pub(super) struct Bench<'a> {
    pub(super) repository: &'a Repository,
    base: &'a CommitInfo,
    pub(super) directory: PathBuf,
    pub(super) index: PathBuf,
    /// Other commands wait for it.
    _turn: File,
}

impl<'a> Bench<'a> {
    /// An index with the files of a commit. Fails if the directory cannot be written.
    pub(super) fn new(repository: &'a Repository, base: &'a CommitInfo, lab: &Lab<'_>) -> Result<Self, Error> {
        let directory = repository.git.directory().with_file_name("patches");
        let ours = directory.parent().unwrap_or(&directory);
        let turn = Turn::at(ours, "patches.lock")?.take(lab)?;
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).map_err(|error| unwritable(&directory, &error))?;
        let bench = Bench { repository, base, index: directory.join("index"), directory, _turn: turn };
        let read = ["read-tree", &base.id];
        repository.git.with(&[("GIT_INDEX_FILE", &bench.index)]).run(&read, "read a commit", lab)?;
        Ok(bench)
    }

    /// Applies a file of the user. Fails if it has no patch, or one that does not apply.
    fn apply(&self, file: &Path, lab: &Lab<'_>) -> Result<Vec<Patch>, Error> {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        let bytes = fs::read(file).map_err(|error| {
            Error::usage(
                format!("cannot read {}: {error}", file.display()),
                "name files as `git format-patch` or `git diff` writes them",
            )
        })?;
        let ours = self.directory.join("file");
        fs::write(&ours, &bytes).map_err(|error| unwritable(&ours, &error))?;
        if !is_mail(&bytes) {
            if !holds_diff(&bytes) {
                return Err(no_patch(&name));
            }
            self.apply_diff(&ours, &name, lab)?;
            return Ok(vec![Patch { title: name, author: None }]);
        }
        let mut patches = Vec::new();
        for mail in self.mails(&ours, lab)? {
            patches.extend(self.apply_mail(&mail, &name, lab)?);
        }
        if patches.is_empty() { Err(no_patch(&name)) } else { Ok(patches) }
    }

    /// The mails of a mailbox, each in a file.
    fn mails(&self, mailbox: &Path, lab: &Lab<'_>) -> Result<Vec<PathBuf>, Error> {
        let directory = self.directory.join("mails");
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).map_err(|error| unwritable(&directory, &error))?;
        let into = format!("-o{}", directory.display());
        self.repository.git.run(&["mailsplit", "-b", &into, &mailbox.to_string_lossy()], "split a mailbox", lab)?;
        let entries = fs::read_dir(&directory).map_err(|error| unwritable(&directory, &error))?;
        // Their names are numbers with leading zeros.
        let mut mails: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        mails.sort();
        Ok(mails)
    }

    /// Applies the patch of a mail; `None` if it has none, like a cover letter.
    fn apply_mail(&self, mail: &Path, name: &str, lab: &Lab<'_>) -> Result<Option<Patch>, Error> {
        let [message, diff] = ["message", "diff"].map(|name| self.directory.join(name));
        let words = ["mailinfo", &message.to_string_lossy(), &diff.to_string_lossy()];
        let told = self.repository.git.run_reading(mail, &words, "read a mail", lab)?;
        let field = |key: &str| told.iter().find_map(|line| line.strip_prefix(key)).map(|text| text.trim().to_owned());
        if !fs::read(&diff).is_ok_and(|diff| holds_diff(&diff)) {
            return Ok(None);
        }
        let title = field("Subject:").filter(|title| !title.is_empty()).unwrap_or_else(|| name.to_owned());
        self.apply_diff(&diff, &title, lab)?;
        Ok(Some(Patch { title, author: field("Author:") }))
    }

    /// Applies a diff. `name`: of the patch, for people.
    fn apply_diff(&self, diff: &Path, name: &str, lab: &Lab<'_>) -> Result<(), Error> {
        let git = self.repository.git.with(&[("GIT_INDEX_FILE", &self.index)]);
        let refused = |said: &str| {
            Error::usage(
                format!("{} does not apply to {}: {said}", name.escape_debug(), short_name(&self.base.id)),
                "`--on COMMIT` names the commit that it was made for",
            )
        };
        let words = ["apply", "--cached", "--whitespace=nowarn", "--", &diff.to_string_lossy()];
        git.lines(&words, lab).map(drop).map_err(|failure| failure.or_exited_saying(refused, "apply a patch"))
    }

    /// The tree with all applied patches.
    pub(super) fn tree(&self, lab: &Lab<'_>) -> Result<String, Error> {
        let git = self.repository.git.with(&[("GIT_INDEX_FILE", &self.index)]);
        Ok(git.run(&["write-tree"], "write a tree", lab)?.concat())
    }
}

/// True if a file is a mail or mailbox: its first paragraph has a sender.
fn is_mail(bytes: &[u8]) -> bool {
    let mut header = bytes.split(|&byte| byte == b'\n').take_while(|line| !line.trim_ascii().is_empty());
    header.any(|line| line.starts_with(b"From ") || line.starts_with(b"From: "))
}

/// True if a text contains the start of a diff.
fn holds_diff(bytes: &[u8]) -> bool {
    bytes.split(|&byte| byte == b'\n').any(|line| line.starts_with(b"diff --git ") || line.starts_with(b"+++ "))
}

fn no_patch(name: &str) -> Error {
    Error::usage(
        format!("there is no patch in {}", name.escape_debug()),
        "name files as `git format-patch` or `git diff` writes them",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_stay_in_the_tree_are_distinguished_from_others() {
        for (path, target) in [("a", "b"), ("d/a", "../b"), ("d/e/a", "../../b/./c"), ("a", "d/../b")] {
            assert!(!leads_out(path, target), "{path} {target}");
        }
        for (path, target) in [("a", "../b"), ("a", "/etc"), ("d/a", "../../b"), ("d/a", "../x/../../b"), ("a", "..")] {
            assert!(leads_out(path, target), "{path} {target}");
        }
    }

    #[test]
    fn a_line_of_git_is_a_change() {
        let line = ":000000 120000 0000 1f3a A\t\"d/a\\tb\"";
        assert_eq!(
            Changed::read(line),
            Some(Changed { mode: LINK, object: "1f3a", path: "\"d/a\\tb\"", is_new: true })
        );
        assert_eq!(Changed::read("1f3a"), None);
    }

    #[test]
    fn mails_are_distinguished_from_diffs() {
        let format_patch = b"From 1f3a Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH] x\n\n---\n";
        let mail = b"Received: x\nFrom: A <a@b>\nSubject: y\n\ntext\n";
        assert!(is_mail(format_patch) && is_mail(mail));
        let diff = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-From: a\n+From: b\n";
        assert!(!is_mail(diff) && !is_mail(b"") && !is_mail(b"\nFrom: late\n"));
    }
}
