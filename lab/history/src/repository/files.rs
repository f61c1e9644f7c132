//! The files that differ between two commits, with their numbers of lines.

use super::Repository;
use faultline_experiment::{Error, Lab};
use faultline_model::commit::CommitInfo;
use faultline_model::explained::{FileChange, FilesChanged, LinesChanged};

/// Compares two trees. No program of the user's runs, a moved file is one that went and one that came, and each path is on one line: git quotes what is not
/// plain text.
const DIFF: [&str; 8] =
    ["-c", "core.quotePath=false", "diff-tree", "-r", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv"];

impl Repository {
    /// The files that differ between two commits. Fails on a stop, or if git cannot read them.
    pub(crate) fn files(&self, from: &CommitInfo, to: &CommitInfo, lab: &Lab<'_>) -> Result<FilesChanged, Error> {
        let lines = self.git.run(&[&DIFF[..], &[&from.id, &to.id, "--"]].concat(), "compare two commits", lab)?;
        Ok(FilesChanged::of(lines.iter().filter_map(|line| read(line)).collect()))
    }
}

/// A line of git: lines added, lines removed, path. Numbers of a file that is no text are `-`.
fn read(line: &str) -> Option<FileChange> {
    let fields: Vec<&str> = line.splitn(3, '\t').collect();
    let [added, removed, path] = fields[..] else { return None };
    let lines = match (added, removed) {
        ("-", "-") => None,
        _ => Some(LinesChanged { added: added.parse().ok()?, removed: removed.parse().ok()? }),
    };
    Some(FileChange { path: unquoted(path), lines })
}

/// A path as it is, from the form in which git writes one with signs that need quotes. What is not UTF-8 is replaced.
fn unquoted(path: &str) -> String {
    let Some(quoted) = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) else { return path.to_owned() };
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut rest = quoted.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'\\' { escaped(&mut rest) } else { byte });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The byte that a backslash and what follows mean.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_git_are_read_whatever_the_paths_hold() {
        let lines = |added, removed| Some(LinesChanged { added, removed });
        let read = |line| read(line).map(|file| (file.path, file.lines));
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
