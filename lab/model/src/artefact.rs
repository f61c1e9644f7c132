//! What is measured of a build: a program that is executed, or a kernel that is booted and runs a workload.

use crate::cell::TaskMode;
use crate::machine::Accelerator;
use serde::{Deserialize, Serialize};

/// What is measured of each build of a line of commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Artefact {
    /// A program: words of the command that is executed in the directory of a build.
    Command(Vec<String>),
    /// A kernel.
    Kernel(Box<BuiltKernel>),
}

impl Artefact {
    /// Words of the command; none of a kernel.
    pub fn command(&self) -> &[String] {
        match self {
            Artefact::Command(words) => words,
            Artefact::Kernel(_) => &[],
        }
    }

    /// What is measured, for people: the command, or the workload of a kernel.
    pub fn words(&self) -> String {
        match self {
            Artefact::Command(words) => words.join(" "),
            Artefact::Kernel(kernel) => kernel.workload.clone(),
        }
    }

    /// The kernel, if it is one.
    pub fn kernel(&self) -> Option<&BuiltKernel> {
        match self {
            Artefact::Kernel(kernel) => Some(kernel),
            Artefact::Command(_) => None,
        }
    }
}

/// A kernel that a build leaves, and what it runs: in guests under the lens, in guests without it if time is measured, or on a host on which it is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltKernel {
    /// Its image: a path below the top of a build.
    pub image: String,
    /// The same kernel as an ELF file with debugging information, likewise; only for names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vmlinux: Option<String>,
    /// The workload, as `name:variant`.
    pub workload: String,
    /// What tasks are; the variant's usual mode if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<TaskMode>,
    /// If time is measured in guests: how their instructions are executed.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub accelerator: Accelerator,
}

fn is_usual(accelerator: &Accelerator) -> bool {
    *accelerator == Accelerator::default()
}

/// A release: what a history has instead of a commit if its subject has no repository here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// Its name, which is unique in its history.
    pub name: String,
    /// When it was released, in seconds since 1970.
    pub released_s: i64,
    /// What there is of it.
    #[serde(flatten)]
    pub file: ReleaseFile,
    /// Of a kernel that is installed on a host: what `uname -r` prints there once it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uname: Option<String>,
}

/// What there is of a release: a whole path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReleaseFile {
    /// A kernel's image, which is booted as it is.
    Kernel(String),
    /// A tarball or a package, whose files are built like those of a commit.
    Archive(String),
}

impl ReleaseFile {
    /// The path.
    pub fn path(&self) -> &str {
        match self {
            ReleaseFile::Kernel(path) | ReleaseFile::Archive(path) => path,
        }
    }
}

impl Release {
    /// Whether it is a kernel, so that there are no files to build.
    pub fn is_kernel(&self) -> bool {
        matches!(self.file, ReleaseFile::Kernel(_))
    }

    /// The most letters of a name.
    pub const MOST_LETTERS: usize = 64;

    /// Whether a release can have that name: letters, digits and `.`, `_`, `+`, `~`, `-`, and not a sign at the beginning.
    pub fn is_name(text: &str) -> bool {
        let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "._+~-".contains(sign);
        text.len() <= Self::MOST_LETTERS
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text.chars().all(is_sign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_saved_as_it_was_before_there_were_kernels() {
        let command = Artefact::Command(vec!["./x".to_owned()]);
        assert_eq!(serde_json::to_string(&command).unwrap(), r#"{"command":["./x"]}"#);
        let kernel: Artefact =
            serde_json::from_str(r#"{"kernel":{"image":"bzImage","workload":"zero_fill:base"}}"#).unwrap();
        assert_eq!(kernel.kernel().map(|kernel| kernel.workload.as_str()), Some("zero_fill:base"));
        assert!(kernel.command().is_empty() && command.kernel().is_none());
    }

    #[test]
    fn a_release_is_saved_as_it_was_before_there_were_archives() {
        let saved = r#"{"name":"6.1","released_s":5,"kernel":"/k"}"#;
        let kernel: Release = serde_json::from_str(saved).unwrap();
        assert_eq!(serde_json::to_string(&kernel).unwrap(), saved);
        let archive: Release = serde_json::from_str(r#"{"name":"1.0","released_s":5,"archive":"/a.tar"}"#).unwrap();
        assert_eq!((kernel.is_kernel(), archive.is_kernel(), archive.file.path()), (true, false, "/a.tar"));
    }

    #[test]
    fn names_of_releases_are_plain_words() {
        for name in ["6.1.0-50", "v7.2~rc1", "5.10+deb11"] {
            assert!(Release::is_name(name), "{name}");
        }
        for name in ["", "-6", ".hidden", "6 1", "a/b", "<b>", "x\n", &"1".repeat(65)] {
            assert!(!Release::is_name(name), "{name}");
        }
    }
}
