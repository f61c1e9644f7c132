//! What is measured, and where: each item of a plan belongs to one of its run's subjects.
//!
//! A plain run has one subject; a comparison has two, called A and B.

use crate::lens::raw::LensMode;
use crate::machine::Machine;
use crate::relink::RelinkResult;
use crate::reverted::RevertResult;
use crate::setup::Setup;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A subject's place among those of its run, from 0. Shown to people as a letter: `A`, `B`, …
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
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

/// What a subject is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum SubjectKind {
    /// The system that runs on the machine, measured by the workloads' loops.
    System,
    /// A program.
    Program {
        /// The program and its arguments; `{threads}` stands for the number of threads.
        argv: Vec<String>,
    },
    /// A kernel that is booted, measured by the workloads' loops.
    Kernel {
        /// Its image.
        image: String,
        /// What is added to its command line.
        command_line: String,
    },
    /// A system of any kind that the emulator starts by itself, with what runs in it.
    Machine {
        /// Its kernel.
        image: String,
        /// The kernel's command line.
        command_line: String,
        /// What the kernel is given beside it: files, each with its arguments.
        modules: Vec<String>,
    },
}

/// The kind of a subject: what it is, without values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// All of them.
    pub const ALL: [KindOfSubject; 4] =
        [KindOfSubject::System, KindOfSubject::Program, KindOfSubject::Kernel, KindOfSubject::Machine];

    /// As it is written and saved.
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
    /// Its kind, without values.
    pub fn kind(&self) -> KindOfSubject {
        match self {
            SubjectKind::System => KindOfSubject::System,
            SubjectKind::Program { .. } => KindOfSubject::Program,
            SubjectKind::Kernel { .. } => KindOfSubject::Kernel,
            SubjectKind::Machine { .. } => KindOfSubject::Machine,
        }
    }

    /// How the lens counts it.
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
    /// The repository, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

impl Commit {
    /// The minimum number of digits that git shows of a commit's name.
    pub const FEWEST_DIGITS: usize = 7;

    /// The number of digits of git's longest names.
    const MOST_DIGITS: usize = 64;

    /// The commit with that name; `None` if it cannot be the name of a commit. Upper case is changed to lower case.
    pub fn named(id: &str) -> Option<Self> {
        let is_name = (Self::FEWEST_DIGITS..=Self::MOST_DIGITS).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_name.then(|| Commit { id: id.to_ascii_lowercase(), repository: None })
    }
}

/// How the build of a subject ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum BuildResult {
    /// It can be measured.
    Built,
    /// There is nothing to measure, which is a result too.
    Failed {
        /// How it failed, in words.
        how: String,
        /// The last lines of its output.
        output: String,
    },
    /// The commit was built before, and was linked again with a random layout.
    Relinked {
        /// The seed of the layout.
        layout: u32,
        /// What came of it.
        result: RelinkResult,
    },
    /// A commit with another one undone on top. The subject has no commit.
    Reverted {
        /// The name of the commit that is undone.
        of: String,
        /// What came of it.
        result: RevertResult,
    },
}

/// What is measured, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// A name for people, as declared or written by the user.
    pub name: String,
    /// What it is.
    pub what: SubjectKind,
    /// What it was built from, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Commit>,
    /// How its build ended; `None` if it was not built by us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<BuildResult>,
    /// Its setup: everything that differs from the unchanged machine.
    #[serde(default)]
    pub setup: Setup,
    /// Where it is measured.
    #[serde(default)]
    pub machine: Machine,
}

impl Subject {
    /// The subject that runs on `machine` with `setup`: the setup's command, a guest's kernel, or the system there.
    pub fn on(name: String, machine: Machine, setup: Setup) -> Self {
        let what = match &machine {
            _ if !setup.command.is_empty() => SubjectKind::Program { argv: setup.command.clone() },
            Machine::Qemu(guest) => SubjectKind::Kernel {
                image: guest.kernel.as_ref().map_or_else(String::new, |kernel| kernel.to_string_lossy().into_owned()),
                command_line: guest.parameters.join(" "),
            },
            Machine::Host | Machine::Netns | Machine::Ssh(_) | Machine::Image(_) | Machine::Gvisor(_) => {
                SubjectKind::System
            }
        };
        Subject { name, what, commit: None, build: None, setup, machine }
    }

    /// The unchanged system of `machine`.
    pub fn as_is(machine: Machine) -> Self {
        Self::on(machine.to_string(), machine, Setup::default())
    }
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
