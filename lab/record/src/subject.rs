//! Measured subjects and their machines: each item of a plan belongs to one of its run's subjects.
//!
//! A plain run has one subject; a comparison has two, called A and B.

use crate::machine::Machine;
use crate::relink::RelinkResult;
use crate::setup::Setup;
use faultline_lens_format::LensMode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A subject's index in its run, from 0. Shown to people as a letter: `A`, `B`, …
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, ts_rs::TS,
)]
#[serde(transparent)]
pub struct SubjectIndex(pub u32);

impl SubjectIndex {
    /// The only subject of a plain run; in a comparison, the old side.
    pub const A: SubjectIndex = SubjectIndex(0);

    /// In a comparison, the new side.
    pub const B: SubjectIndex = SubjectIndex(1);

    /// Both sides of a comparison, in their order.
    pub const SIDES: [SubjectIndex; 2] = [Self::A, Self::B];

    /// The subject for a letter, of either case; `None` for anything except one letter from a to z.
    pub fn from_letter(text: &str) -> Option<Self> {
        match text.as_bytes() {
            [letter @ (b'a'..=b'z' | b'A'..=b'Z')] => Some(SubjectIndex(u32::from(letter.to_ascii_lowercase() - b'a'))),
            _ => None,
        }
    }

    /// The index in an array of values by subject.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// The letter; a number from the 27th on.
impl fmt::Display for SubjectIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u8::try_from(self.0) {
            Ok(index @ 0..26) => write!(f, "{}", char::from(b'A' + index)),
            _ => self.0.fmt(f),
        }
    }
}

/// The content of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum SubjectKind {
    /// The system that runs on the machine, measured by the workloads' loops.
    System,
    /// A program.
    Program {
        /// The program and its arguments; `{tasks}` stands for the number of tasks.
        argv: Vec<String>,
    },
    /// A kernel that is booted, measured by the workloads' loops.
    Kernel {
        /// The kernel's image.
        image: String,
        /// Parameters added to the kernel's command line.
        command_line: String,
    },
    /// A system of any kind that the emulator starts by itself, with the programs in it.
    Machine {
        /// The image of the system's kernel.
        image: String,
        /// The kernel's command line.
        command_line: String,
        /// Modules for the kernel: files, each with its arguments.
        modules: Vec<String>,
    },
}

/// The kind of a subject, without values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "lowercase")]
pub enum KindOfSubject {
    /// [`SubjectKind::System`]
    System,
    /// [`SubjectKind::Program`]
    Program,
    /// [`SubjectKind::Kernel`]
    Kernel,
    /// [`SubjectKind::Machine`]
    Machine,
}

impl KindOfSubject {
    /// All kinds.
    pub const ALL: [KindOfSubject; 4] =
        [KindOfSubject::System, KindOfSubject::Program, KindOfSubject::Kernel, KindOfSubject::Machine];

    /// The word in outputs and in saved data.
    pub fn word(self) -> &'static str {
        match self {
            KindOfSubject::System => "system",
            KindOfSubject::Program => "program",
            KindOfSubject::Kernel => "kernel",
            KindOfSubject::Machine => "machine",
        }
    }
}

impl SubjectKind {
    /// The kind, without values.
    pub fn kind(&self) -> KindOfSubject {
        match self {
            SubjectKind::System => KindOfSubject::System,
            SubjectKind::Program { .. } => KindOfSubject::Program,
            SubjectKind::Kernel { .. } => KindOfSubject::Kernel,
            SubjectKind::Machine { .. } => KindOfSubject::Machine,
        }
    }

    /// Mode of the lens for this subject.
    pub fn lens_mode(&self) -> LensMode {
        match self {
            SubjectKind::Program { .. } => LensMode::Program,
            SubjectKind::System | SubjectKind::Kernel { .. } | SubjectKind::Machine { .. } => LensMode::Kernel,
        }
    }
}

/// The state of a repository that a subject was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The commit's name: hexadecimal digits, at least [`Commit::FEWEST_DIGITS`].
    pub id: String,
    /// The repository, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

impl Commit {
    /// Minimum number of digits of a commit's name in git's output.
    pub const FEWEST_DIGITS: usize = 7;

    /// Number of digits of git's longest names.
    const MOST_DIGITS: usize = 64;

    /// The commit with that name; `None` for an invalid name. Upper case is changed to lower case.
    pub fn named(id: &str) -> Option<Self> {
        let is_name = (Self::FEWEST_DIGITS..=Self::MOST_DIGITS).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_name.then(|| Commit { id: id.to_ascii_lowercase(), repository: None })
    }
}

/// Result of a subject's build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum BuildResult {
    /// The build succeeded, so the subject can be measured.
    Built,
    /// The build failed, which is a result too: nothing can be measured.
    Failed {
        /// The failure, in words.
        how: String,
        /// The last lines of the build's output.
        output: String,
    },
    /// The commit was built before, and was relinked in a random layout.
    Relinked {
        /// The seed of the layout.
        layout: u32,
        /// Result of relinking.
        result: RelinkResult,
    },
    /// A commit with another one undone on top. The subject has no commit.
    Reverted {
        /// The name of the commit that is undone.
        of: String,
        /// Result of undoing the commit.
        result: RevertResult,
    },
}

/// A measured subject, with its setup and machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// A name for people, as declared or written by the user.
    pub name: String,
    /// The content of the subject.
    pub what: SubjectKind,
    /// The commit that the subject was built from, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<Commit>,
    /// Result of the subject's build; `None` if it was not built by us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<BuildResult>,
    /// The subject's setup: everything that differs from the unchanged machine.
    pub setup: Setup,
    /// The machine on which the subject is measured.
    pub machine: Machine,
}

impl Subject {
    /// The subject that runs on `machine` with `setup`: the setup's command, a guest's kernel, or
    /// the machine's system.
    pub fn on(name: String, machine: Machine, setup: Setup) -> Self {
        let what = match machine.guest() {
            _ if !setup.command.is_empty() => SubjectKind::Program { argv: setup.command.clone() },
            Some(guest) => SubjectKind::Kernel {
                image: guest.kernel.as_ref().map_or_else(String::new, |kernel| kernel.to_string_lossy().into_owned()),
                command_line: guest.parameters.join(" "),
            },
            None => SubjectKind::System,
        };
        Subject { name, what, commit: None, build: None, setup, machine }
    }

    /// The unchanged system of `machine`.
    pub fn as_is(machine: Machine) -> Self {
        Self::on(machine.to_string(), machine, Setup::default())
    }
}

/// The result of undoing a commit, before execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RevertResult {
    /// The reverted tree was built.
    Built,
    /// Later commits changed the same lines.
    Conflict {
        /// The files with conflicts, as git writes them. They come from outside: they may hold any
        /// character.
        files: Vec<String>,
    },
    /// Undoing the commit changes no file: it has been undone already.
    Empty,
    /// The reverted tree cannot be built.
    Failed {
        /// The failure, in words.
        how: String,
        /// The last lines of the build's output.
        output: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_lead_to_their_subjects() {
        for subject in [SubjectIndex::A, SubjectIndex::B, SubjectIndex(25)] {
            assert_eq!(SubjectIndex::from_letter(&subject.to_string()), Some(subject));
            assert_eq!(SubjectIndex::from_letter(&subject.to_string().to_lowercase()), Some(subject));
        }
        assert_eq!(SubjectIndex(26).to_string(), "26");
        for text in ["", "ab", "1", "ä", "-"] {
            assert_eq!(SubjectIndex::from_letter(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_of_a_commit_is_long_enough_and_hexadecimal() {
        assert_eq!(Commit::named("1F3A9c2").unwrap().id, "1f3a9c2");
        for text in ["1f3a9c", "1f3a9cg", "", &"a".repeat(65)] {
            assert_eq!(Commit::named(text), None, "{text}");
        }
    }

    #[test]
    fn what_a_subject_is_follows_from_where_and_with_what_it_is_measured() {
        let guest: Machine = "qemu:cpus=2,kernel=/k,append=quiet,append=a=1".parse().unwrap();
        let kernel = SubjectKind::Kernel { image: "/k".to_owned(), command_line: "quiet a=1".to_owned() };
        assert_eq!(Subject::as_is(guest).what, kernel);
        assert_eq!(Subject::as_is(Machine::Host).what, SubjectKind::System);
        let setup = Setup { command: vec!["./x".to_owned()], ..Setup::default() };
        let program = Subject::on("x".to_owned(), Machine::Host, setup);
        assert_eq!(program.what, SubjectKind::Program { argv: vec!["./x".to_owned()] });
    }
}
