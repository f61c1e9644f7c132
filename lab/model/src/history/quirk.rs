//! Quirks: changes of the surroundings of a history's commits, not of the commits. Each is bridged by a commit that was measured before and after it.

use crate::drill::Change;
use crate::estimate::Estimate;
use crate::record::RunId;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// The letter of a quirk by its number in its series, from 0: `A`, `B`, …; a number from the 27th on.
pub fn letter(number: usize) -> String {
    match u8::try_from(number) {
        Ok(number @ 0..26) => char::from(b'A' + number).to_string(),
        _ => (number + 1).to_string(),
    }
}

/// A change of the surroundings, as somebody declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredQuirk {
    /// What changed. It comes from outside: it may hold any character.
    pub what: String,
    /// When.
    pub when: QuirkTime,
}

/// When surroundings changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum QuirkTime {
    /// All that was measured from this time on has the new ones.
    Since {
        /// The time.
        at: UnixMillis,
    },
    /// These commits have others than the rest, whenever they are measured.
    Commits {
        /// The name of the first of them, or its first digits.
        first: String,
        /// The last of them likewise; `None` if all later ones belong to them.
        last: Option<String>,
    },
}

/// A quirk of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quirk {
    /// Its letter, in tables.
    pub letter: String,
    /// Where it is.
    #[serde(flatten)]
    pub place: QuirkPlace,
    /// What differs in what was recorded.
    pub changed: Vec<ChangedFact>,
    /// What people declared of it.
    pub declared: Vec<String>,
    /// A commit that was measured before and after it; `None` if there is none, or if the quirk belongs to commits.
    pub bridge: Option<Bridge>,
}

/// Where a quirk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "lowercase")]
pub enum QuirkPlace {
    /// Between two runs.
    Runs {
        /// The last run before it.
        before: RunId,
        /// The first run after it.
        since: RunId,
        /// When that began.
        began: UnixMillis,
    },
    /// At commits, by their places among the series' points.
    Commits {
        /// The first of them.
        first: u32,
        /// The last of them.
        last: u32,
    },
}

/// Something that differs between the surroundings of two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFact {
    /// The key of the fact, or the command that asks a tool for its version.
    pub key: String,
    /// What it was; `None` if it was not there.
    pub before: Option<String>,
    /// What it is.
    pub now: Option<String>,
}

/// A commit that was measured before and after a quirk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bridge {
    /// The commit's place among the series' points.
    pub commit: u32,
    /// Its value before the quirk.
    pub before: Estimate,
    /// That after it.
    pub now: Estimate,
    /// The second divided by the first.
    pub change: Change,
}

/// What changed at a step within whose range quirks lie, as far as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseLabel {
    /// The commits changed it by more than the smallest change that is a step.
    Code,
    /// The surroundings changed it. The commits changed it by at most the smallest change that is a step, and by at most half of the step.
    Quirk,
    /// The surroundings changed it. The commits changed it by at most half of the step, but perhaps by more than the smallest change that is a step.
    MostlyQuirk,
    /// Neither is shown.
    Inconclusive,
}

/// What a quirk says of a step within whose range it lies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepCause {
    /// The letters of the quirks.
    pub quirks: Vec<String>,
    /// Whether the program changed, or the surroundings.
    pub label: CauseLabel,
    /// The part of the quirks: the change of the bridges; `None` if one of them is not bridged.
    pub of_surroundings: Option<Change>,
    /// The part of the commits: what remains of the step's change without that.
    pub of_commits: Option<Change>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quirks_have_letters_and_numbers_after_them() {
        assert_eq!([0, 1, 25, 26].map(letter), ["A", "B", "Z", "27"]);
    }
}
