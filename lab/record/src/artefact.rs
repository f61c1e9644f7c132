//! The measured part of a build: a program that is executed, or a kernel that is booted and runs a
//! workload.

use crate::cell::TaskMode;
use crate::machine::Accelerator;
use serde::{Deserialize, Serialize};

/// The measured part of each build of a line of commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Artefact {
    /// A program: words of the command, which is executed in the directory of a build.
    Command(Vec<String>),
    /// A kernel.
    Kernel(Box<BuiltKernel>),
}

impl Artefact {
    /// Words of the command; empty for a kernel.
    pub fn command(&self) -> &[String] {
        match self {
            Artefact::Command(words) => words,
            Artefact::Kernel(_) => &[],
        }
    }

    /// Text for people: the command, or the workload of a kernel.
    pub fn words(&self) -> String {
        match self {
            Artefact::Command(words) => words.join(" "),
            Artefact::Kernel(kernel) => kernel.workload.clone(),
        }
    }

    /// The kernel; `None` for a program.
    pub fn kernel(&self) -> Option<&BuiltKernel> {
        match self {
            Artefact::Kernel(kernel) => Some(kernel),
            Artefact::Command(_) => None,
        }
    }
}

/// A kernel from a build, and the workload that it runs. It runs in guests under the lens, in
/// guests without the lens if time is measured, or on a host where it is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltKernel {
    /// The kernel's image: a path below the top of a build.
    pub image: String,
    /// An ELF file of that kernel with debugging information, a path below the top of a build. Used
    /// for names only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vmlinux: Option<String>,
    /// The workload, as `name:variant`.
    pub workload: String,
    /// Kind of task; `None` for the variant's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<TaskMode>,
    /// Execution of the guests' instructions, if time is measured in guests.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub accelerator: Accelerator,
}

fn is_usual(accelerator: &Accelerator) -> bool {
    *accelerator == Accelerator::default()
}

/// A release. A history consists of releases instead of commits if its subject has no repository
/// here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// The release's name, unique in its history.
    pub name: String,
    /// Time of the release, in seconds since 1970.
    pub released_s: i64,
    /// The kernel's image, or the archive with the sources.
    #[serde(flatten)]
    pub file: ReleaseFile,
    /// For a kernel that is installed on a host: the output of `uname -r` once that kernel runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uname: Option<String>,
}

/// The file of a release, by its full path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReleaseFile {
    /// A kernel's image, which is booted unchanged.
    Kernel(String),
    /// A tarball or a package. Its files are built like those of a commit.
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
    /// True for a kernel: no files have to be built.
    pub fn is_kernel(&self) -> bool {
        matches!(self.file, ReleaseFile::Kernel(_))
    }

    /// Maximum length of a name, in bytes.
    pub const MOST_LETTERS: usize = 64;

    /// True for a valid name of a release: letters, digits and `.`, `_`, `+`, `~`, `-`, the first
    /// of them a letter or digit.
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
