//! The gate between two commits: each program by each measure, with its budget and verdict.
//!
//! Counts of the lens come from a search along a line of two commits ([`crate::bisect`]), costs of
//! executions from a live comparison ([`crate::comparison`]). A deciding measure closes the gate
//! only if it shows a change for the worse of at least the budget.

use crate::bisect::{conclude_by, counts_at, for_zero, has_one_build, has_threads, sample_levels};
use crate::commit_runs::not_measured;
use crate::comparison::{Comparison, ComparisonError, Settings};
use crate::history::NotMeasured;
use crate::median::median;
use crate::progress::standings;
use crate::sequential;
use crate::workload_comparison::{Answer, Inconclusive, WorkloadComparison};
use faultline_record::bisect::Noise;
use faultline_record::commit::CommitInfo;
use faultline_record::plan::RunKind;
use faultline_record::quantity::Quantity;
use faultline_record::record::{RunId, RunRecord};
use faultline_record::subject::SubjectIndex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

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
    /// The measures.
    pub rows: Vec<CiRow>,
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

    /// The deciding measures that a program lacks. Transfers decide only for programs with threads.
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

/// The row of a count, from a search along a line of two commits with a least change of `budget`.
/// `None` for another run, without values, and for transfers of a program with one thread.
pub fn counted(record: &RunRecord, what: Quantity, budget: f64, decides: bool) -> Option<CiRow> {
    let found = conclude_by(record, what)?;
    let search = record.settings.bisect()?;
    let of = |what| {
        let ends = [0, search.line.last()];
        let [base, head] = ends.map(|position| counts_at(record, position, what).and_then(|counts| median(&counts)));
        Some([base?, head?])
    };
    let [base, head] = of(what)?;
    if what == Quantity::Transfers && !has_threads(record) {
        return None;
    }
    let is_exact = has_one_build(record) || found.ends_show.unwrap_or(search.search.noise) == Noise::None;
    let has_step = found.steps.first().is_some_and(|step| step.found);
    let samples = [0, search.line.last()].map(|position| counts_at(record, position, what).unwrap_or_default());
    let ratio = if is_exact { None } else { ratio_of(&samples, search.search.level) };
    let verdict = match ratio {
        _ if is_exact && has_step => {
            if head > base {
                CiVerdict::Worse
            } else {
                CiVerdict::Better
            }
        }
        _ if is_exact && head == base => CiVerdict::Equal,
        _ if is_exact => CiVerdict::Within,
        Some([ratio, low, high]) if has_step => of_interval(ratio, [low, high], budget),
        Some([_, _, high]) if high < 1.0 + budget => CiVerdict::Within,
        _ => CiVerdict::Inconclusive,
    };
    Some(CiRow {
        quantity: what,
        base,
        head,
        change: ratio.map(|[ratio, ..]| ratio - 1.0).or((base > 0.0).then(|| head / base - 1.0)),
        interval: ratio.map(|[_, low, high]| [low - 1.0, high - 1.0]),
        executions: (!is_exact).then_some(samples.map(|counts| counts.len() as u32).into_iter().min().unwrap_or(0)),
        budget,
        decides,
        verdict,
        detectable: found.detectable.filter(|_| !is_exact),
    })
}

/// The ratio of the geometric means of two samples of counts, with its interval at the level by
/// Student's distribution. Few counts draw their variance from both samples. `None` with fewer than
/// two counts of each.
fn ratio_of(samples: &[Vec<f64>; 2], level: f64) -> Option<[f64; 3]> {
    let degrees = samples.iter().map(|counts| counts.len().saturating_sub(1)).sum::<usize>();
    if samples.iter().any(|counts| counts.len() < 2) {
        return None;
    }
    let zero = for_zero(samples.iter().flatten().copied());
    let logarithms = |counts: &Vec<f64>| counts.iter().map(|count| count.max(zero).ln()).collect();
    let levels = sample_levels(&samples.iter().map(logarithms).collect::<Vec<Vec<f64>>>());
    let [base, head] = levels[..] else { return None };
    let student = StudentsT::new(0.0, 1.0, degrees as f64).ok()?;
    let reach = student.inverse_cdf(f64::midpoint(1.0, level)) * (base.variance + head.variance).sqrt();
    let change = head.level - base.level;
    Some([change, change - reach, change + reach].map(f64::exp))
}

/// The verdict on a ratio of costs that differs from 1, with its interval.
fn of_interval(ratio: f64, [low, high]: [f64; 2], budget: f64) -> CiVerdict {
    let most = 1.0 + budget;
    match () {
        () if ratio >= most && low > 1.0 => CiVerdict::Worse,
        () if ratio.recip() >= most && high < 1.0 => CiVerdict::Better,
        () if high < most => CiVerdict::Within,
        () => CiVerdict::Inconclusive,
    }
}

/// The first side of a search along a line of two commits that does not build, or of which an
/// execution failed: those that succeed may be the cheap ones.
pub fn unusable(record: &RunRecord) -> Option<CiUnusable> {
    let last = &record.settings.bisect()?.line.commits.last()?.id;
    let standings = standings(record);
    (0..).map(SubjectIndex).zip(&record.subjects).find_map(|(index, subject)| {
        let own = standings.iter().filter(|(item, _)| item.subject == index).map(|(_, standing)| standing);
        let is_head = subject.commit.as_ref().is_some_and(|commit| commit.id == *last);
        Some(CiUnusable { is_head, reason: not_measured(subject, own)? })
    })
}

/// The row of a cost of executions, from a live comparison whose margin is the budget. `None` for
/// another run, without values of both sides, and if an execution failed.
pub fn executed(record: &RunRecord, what: Quantity, decides: bool) -> Option<CiRow> {
    let compared = compared_by(record, what).ok()?;
    let workload = &compared.workloads.first()?.comparison;
    if workload.inconclusive == Some(Inconclusive::Failures) {
        return None;
    }
    let change = |ratio: f64| ratio - 1.0;
    let detectable = workload.detectable.map(change);
    Some(CiRow {
        quantity: what,
        base: workload.a.median,
        head: workload.b.median,
        change: workload
            .ratio
            .map(|ratio| change(ratio.value))
            .or((workload.a.median > 0.0).then(|| change(workload.b.median / workload.a.median))),
        interval: workload.ratio.map(|ratio| [change(ratio.low), change(ratio.high)]),
        executions: Some(workload.a.units.min(workload.b.units)),
        budget: workload.margin,
        decides,
        verdict: verdict(workload),
        detectable,
    })
}

/// The answer as a verdict. A smaller cost is better, so a slower second side is worse.
fn verdict(workload: &WorkloadComparison) -> CiVerdict {
    match workload.answer {
        Answer::Equal => CiVerdict::Within,
        Answer::Slower | Answer::Faster => workload.ratio.map_or(CiVerdict::Inconclusive, |ratio| {
            of_interval(ratio.value, [ratio.low, ratio.high], workload.margin)
        }),
        Answer::Inconclusive => CiVerdict::Inconclusive,
    }
}

/// The comparison of a live run by another quantity.
fn compared_by(record: &RunRecord, what: Quantity) -> Result<Comparison, ComparisonError> {
    let mut record = record.clone();
    if let RunKind::Comparison(comparison) = &mut record.head.settings.kind {
        comparison.quantity = what;
    }
    sequential::concluded(&record, &Settings::default())
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
            rows: rows.to_vec(),
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

    #[test]
    fn samples_of_counts_give_a_ratio_with_its_interval() {
        let samples = [vec![100.0, 102.0, 98.0, 101.0], vec![110.0, 112.0, 108.0, 111.0]];
        let [ratio, low, high] = ratio_of(&samples, 0.95).unwrap();
        assert!((ratio - 1.1).abs() < 0.001 && low > 1.05 && low < ratio && high < 1.15, "{ratio} {low} {high}");
        let [_, low, _] = ratio_of(&[vec![0.0, 0.0, 1.0], vec![900.0, 950.0, 920.0]], 0.95).unwrap();
        assert!(low > 1.0, "{low}");
        assert_eq!(ratio_of(&[vec![1.0], vec![1.0, 2.0]], 0.95), None);
    }

    #[test]
    fn a_noisy_change_is_worse_only_beyond_the_budget() {
        let of = |ratio, low, high| of_interval(ratio, [low, high], 0.01);
        assert_eq!(of(1.03, 1.005, 1.06), CiVerdict::Worse);
        assert_eq!(of(1.007, 1.005, 1.009), CiVerdict::Within, "a difference, and a small one");
        assert_eq!(of(1.007, 1.002, 1.015), CiVerdict::Inconclusive);
        assert_eq!(of(0.95, 0.93, 0.97), CiVerdict::Better);
        assert_eq!(of(0.995, 0.993, 0.997), CiVerdict::Within);
    }
}
