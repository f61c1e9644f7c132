//! The commits between two, in order.

use super::Repository;
use super::git::Failure;
use faultline_experiment::{Error, Lab};
use faultline_model::commit::{CommitInfo, CommitLine};

/// Fields of a commit, separated by NUL, which no field can hold: name, tree, parents, time, author, subject.
const FORMAT: &str = "--format=tformat:%H%x00%T%x00%P%x00%ct%x00%an%x00%s";

impl Repository {
    /// The commits from `old` to `new`, both included, along first parents. Fails if either is unknown, or if `old` is not on that line.
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

    /// Why `old` cannot be the begin of a line to `new`, and what can.
    fn not_on_the_line(&self, first: &CommitInfo, last: &CommitInfo, (old, new): (&str, &str), lab: &Lab<'_>) -> Error {
        let (old, new) = (old.escape_debug(), new.escape_debug());
        let is_ancestor = |a: &str, b: &str| self.git.lines(&["merge-base", "--is-ancestor", a, b], lab).is_ok();
        if is_ancestor(&last.id, &first.id) {
            return Error::usage(format!("'{new}' is older than '{old}'"), "name the older commit first");
        }
        let base = self.git.lines(&["merge-base", &first.id, &last.id], lab).unwrap_or_default();
        let Some(base) = base.first() else {
            return Error::usage(
                format!("'{old}' and '{new}' have no commit in common"),
                "name two commits of one history",
            );
        };
        let problem = format!("'{old}' is not on the line of first parents that leads to '{new}'");
        Error::usage(problem, format!("begin with a commit of that line; the last that both have is {base}"))
    }

    /// What `git log` says of some commits.
    pub(super) fn log(&self, arguments: &[&str], lab: &Lab<'_>) -> Result<Vec<CommitInfo>, Error> {
        let command =
            [&["log", FORMAT, "--encoding=UTF-8", "--no-show-signature", "--no-notes"], arguments, &["--"]].concat();
        let lines = self.git.lines(&command, lab);
        let unread =
            |said: &str| Error::failed(format!("git cannot list commits: {said}"), "`git fsck` checks the repository");
        let lines = lines.map_err(|failure: Failure| failure.or_exited_saying(unread, "list commits"))?;
        lines.iter().map(|line| read(line).ok_or_else(|| unread("it prints something else"))).collect()
    }
}

fn read(line: &str) -> Option<CommitInfo> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_git_is_a_commit_whatever_its_texts_hold() {
        let commit = read("1f\x003a\x00aa bb\x001700000000\x00A\u{1b}[31m \"B\"\x00<b>x</b> \u{fffd}").unwrap();
        assert_eq!((commit.id.as_str(), commit.parents.len(), commit.committed_s), ("1f", 2, 1_700_000_000));
        assert_eq!((commit.author.as_str(), commit.subject.as_str()), ("A\u{1b}[31m \"B\"", "<b>x</b> \u{fffd}"));
        assert_eq!(read("1f\x003a\x00\x00never\x00A\x00B"), None);
        assert_eq!(read("1f"), None);
    }
}
