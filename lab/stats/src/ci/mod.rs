//! The gate between two commits: each program by each measure, with its budget and verdict.
//!
//! Counts of the lens come from a run of a line of two commits (`counted`, `paired`), costs of
//! executions from a live comparison (`executed`). A deciding measure closes the gate only if it
//! shows a change for the worse of at least the budget.

mod counted;
mod executed;
mod lines;
mod paired;

pub use counted::{counted, next_of_record, overlap_of, unusable};
pub use executed::executed;
pub use lines::moved_lines;
pub use paired::MOST_SEEDS;

use crate::history::NotMeasured;
use crate::thresholds::CI_OVERLAP;
use faultline_record::commit::CommitInfo;
use faultline_record::quantity::Quantity;
use faultline_record::record::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of the gate. `format` is [`CiResult::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CiResult {
    /// Name and version of this structure.
    pub format: String,
    /// The old commit.
    pub base: CommitInfo,
    /// The new commit.
    pub head: CommitInfo,
    /// Measures that decide.
    pub by: Vec<Quantity>,
    /// The measured programs.
    pub programs: Vec<CiProgram>,
}

/// A program of both commits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CiProgram {
    /// The subject's name, or the command.
    pub name: String,
    /// The runs with all values.
    pub runs: Vec<RunId>,
    /// True if both builds have the same files, so that every measure is equal.
    pub has_same_build: bool,
    /// A side that cannot be measured; then there are no rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unusable: Option<CiUnusable>,
    /// The reason, in words, why nothing was executed on this host, if something failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_executed: Option<String>,
    /// Share of the program's time in which at least two CPUs were busy, of the commit with more.
    /// `None` if it was not counted. Transfers decide from [`CI_OVERLAP`] on.
    ///
    /// [`CI_OVERLAP`]: crate::thresholds::CI_OVERLAP
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<f64>,
    /// The measures.
    pub rows: Vec<CiRow>,
    /// The code behind counts that rose or fell by the budget, most important first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<CiLine>,
}

impl CiProgram {
    /// True if transfers cannot decide, because the program's CPUs hardly work at the same time.
    pub fn is_serial(&self) -> bool {
        self.overlap.is_some_and(|share| share < CI_OVERLAP)
    }
}

/// Code behind a changed count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CiLine {
    /// The count.
    pub quantity: Quantity,
    /// The function.
    pub function: String,
    /// The source file: its path in the repository. `None` if it is unknown, or no file of the new
    /// commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Transfers: the line of the function that moves most in the new commit. Instructions: the
    /// function's first line, because they are not counted by line. `None` if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Change of the function's count per execution. `None` for instructions: the function's code
    /// differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
}

/// A side that cannot be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CiUnusable {
    /// True for the new commit.
    pub is_head: bool,
    /// The reason.
    #[serde(flatten)]
    pub reason: NotMeasured,
}

/// A program by a measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CiRow {
    /// The measure.
    pub quantity: Quantity,
    /// Value of the old commit, in the quantity's unit.
    pub base: f64,
    /// Value of the new commit.
    pub head: f64,
    /// The change of cost as a share; worse is positive. `None` if the old value is 0.
    pub change: Option<f64>,
    /// Interval of the change; `None` for exact values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Executions of each side; `None` for exact values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executions: Option<u32>,
    /// Smallest change for the worse that closes the gate, as a share.
    pub budget: f64,
    /// True if the measure decides the gate.
    pub decides: bool,
    /// The verdict.
    pub verdict: CiVerdict,
    /// Smallest change that these values could have shown, as a share; `None` for exact values, and
    /// if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
}

/// The verdict on a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CiVerdict {
    /// Equal values.
    Equal,
    /// Better by at least the budget.
    Better,
    /// A change smaller than the budget.
    Within,
    /// Neither shown to be within the budget nor worse.
    Inconclusive,
    /// Worse by at least the budget.
    Worse,
}

/// State of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CiState {
    /// Every deciding measure is within the budget, or better.
    Within,
    /// No deciding measure is shown to be worse, and one is inconclusive.
    Inconclusive,
    /// A deciding measure is worse.
    Worse,
    /// A program lacks a deciding measure.
    NotMeasured,
}

impl CiResult {
    /// Name and version of this structure.
    pub const FORMAT: &'static str = "faultline-ci/1";

    /// The state. A worse measure outweighs a missing one.
    pub fn state(&self) -> CiState {
        let rows = || self.programs.iter().flat_map(|program| &program.rows);
        if rows().any(CiRow::closes) {
            CiState::Worse
        } else if self.programs.iter().any(|program| !self.lacking(program).is_empty()) {
            CiState::NotMeasured
        } else if rows().any(|row| row.decides && row.verdict == CiVerdict::Inconclusive) {
            CiState::Inconclusive
        } else {
            CiState::Within
        }
    }

    /// The deciding measures that a program lacks. Transfers decide only for programs whose CPUs
    /// work at the same time.
    pub fn lacking(&self, program: &CiProgram) -> Vec<Quantity> {
        if program.has_same_build && program.unusable.is_none() {
            return Vec::new();
        }
        let has = |what: Quantity| program.rows.iter().any(|row| row.decides && row.quantity == what);
        let is_counted = program.rows.iter().any(|row| row.quantity == Quantity::Instructions);
        let is_idle = |what: Quantity| what == Quantity::Transfers && is_counted;
        self.by.iter().copied().filter(|what| !has(*what) && !is_idle(*what)).collect()
    }
}

impl CiRow {
    /// True if it closes the gate.
    pub fn closes(&self) -> bool {
        self.decides && self.verdict == CiVerdict::Worse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(decides: bool, verdict: CiVerdict) -> CiRow {
        CiRow {
            quantity: Quantity::Instructions,
            base: 100.0,
            head: 103.0,
            change: Some(0.03),
            interval: None,
            executions: None,
            budget: 0.01,
            decides,
            verdict,
            detectable: None,
        }
    }

    /// Of programs that instructions decide. Each: whether its builds are equal, and its rows.
    fn state(programs: &[(bool, &[CiRow])]) -> CiState {
        let program = |(has_same_build, rows): &(bool, &[CiRow])| CiProgram {
            name: "./prog".to_owned(),
            runs: Vec::new(),
            has_same_build: *has_same_build,
            unusable: None,
            not_executed: None,
            overlap: None,
            rows: rows.to_vec(),
            lines: Vec::new(),
        };
        let programs = programs.iter().map(program).collect();
        let commit = CommitInfo::default;
        let by = vec![Quantity::Instructions, Quantity::Transfers];
        CiResult { format: CiResult::FORMAT.to_owned(), base: commit(), head: commit(), by, programs }.state()
    }

    #[test]
    fn only_a_deciding_measure_closes_the_gate() {
        let (within, worse) = (row(true, CiVerdict::Within), row(true, CiVerdict::Worse));
        let slower = row(false, CiVerdict::Worse);
        assert_eq!(state(&[(false, &[within.clone(), slower.clone()])]), CiState::Within);
        assert_eq!(state(&[(false, &[within.clone(), worse.clone()])]), CiState::Worse);
        assert_eq!(state(&[(false, &[row(true, CiVerdict::Inconclusive)])]), CiState::Inconclusive);
        assert_eq!(state(&[(false, std::slice::from_ref(&slower))]), CiState::NotMeasured);
        assert_eq!(state(&[(true, &[])]), CiState::Within, "equal builds");
        assert_eq!(state(&[(false, &[]), (false, &[worse])]), CiState::Worse);
        assert_eq!(state(&[(false, &[]), (false, &[within])]), CiState::NotMeasured);
    }
}
