//! Reverts after a search: the commit of each step is undone on top of the newest one, and both are
//! measured in the same blocks. Next work and conclusions are functions of the record.

use super::concluded::{blocks_of_reverts, concluded_of_record, evidence, revert};
use super::line::{Line, State};
use super::next::settled_or_samples;
use super::sides::{CONFIRMING_BLOCKS, exact_change, shift};
use crate::bisect::result::{RevertOutcome, Share, StepReverted};
use crate::bisect::{BisectResult, FoundStep};
use crate::commit_runs::{self, LineNext, RevertNext};
use crate::progress::{Standing, standings};
use crate::two_sample::sign_shift;
use faultline_record::bisect::{BisectSettings, Noise};
use faultline_record::commit::CommitInfo;
use faultline_record::plan::{LineSearch, PlanItem};
use faultline_record::record::RunRecord;
use faultline_record::subject::{BuildResult, RevertResult, Subject, SubjectIndex};
use std::collections::{BTreeMap, BTreeSet};

/// The next work after a search that has found its steps.
pub(super) fn next_revert(record: &RunRecord) -> LineNext {
    let next = || {
        let reverts = Reverts::of(record)?;
        reverts.next(&concluded_of_record(record)?)
    };
    next().unwrap_or(LineNext::Nothing)
}

/// The result of undoing the commit of each step; `None` without a single candidate commit, and
/// until it is known.
pub(super) fn reverted(record: &RunRecord, found: &BisectResult) -> Vec<Option<StepReverted>> {
    let reverts = Reverts::of(record);
    found.steps.iter().map(|step| reverts.as_ref()?.step_reverted(step)).collect()
}

/// The commit of a step, if it is a single candidate.
fn named(step: &FoundStep) -> Option<u32> {
    match step.candidates[..] {
        [one] => Some(one),
        _ => None,
    }
}

/// The record of reverts.
struct Reverts<'a> {
    record: &'a RunRecord,
    search: &'a LineSearch,
    on: &'a CommitInfo,
    blocks: BTreeSet<u32>,
    standings: Vec<(&'a PlanItem, Standing<'a>)>,
}

impl<'a> Reverts<'a> {
    /// `None` if none were requested.
    fn of(record: &'a RunRecord) -> Option<Self> {
        let search = record.settings.bisect()?;
        let on = search.revert.as_ref()?;
        Some(Reverts { record, search, on, blocks: blocks_of_reverts(record), standings: standings(record) })
    }

    /// `None` if no work is left.
    fn next(&self, found: &BisectResult) -> Option<LineNext> {
        let named: Vec<u32> = found.steps.iter().filter_map(named).collect();
        if named.is_empty() {
            return None;
        }
        let Some((base, is_built)) = self.base() else {
            return Some(LineNext::BuildBase { commit: Box::new(self.on.clone()) });
        };
        if !is_built {
            return None;
        }
        if let Some(&position) = named.iter().find(|position| self.subject(**position).is_none()) {
            let commit = |position: u32| self.search.line.commits.get(position as usize).cloned();
            let (commit, before) = (commit(position)?, commit(position.checked_sub(1)?)?);
            return Some(LineNext::Revert(Box::new(RevertNext { commit, before, on: self.on.clone() })));
        }
        let all = named.iter().filter_map(|position| self.subject(*position));
        let mut subjects: Vec<SubjectIndex> =
            all.filter(|(_, result)| **result == RevertResult::Built).map(|(index, _)| index).collect();
        let planned = self.blocks.len() as u32;
        // The first block shows which subjects run.
        if planned > 0 {
            subjects.retain(|subject| self.has_run(*subject));
        }
        let blocks = if planned == 0 { 1 } else { self.wanted(found).saturating_sub(planned) };
        if subjects.is_empty() || blocks == 0 || (planned > 0 && !self.has_run(base)) {
            return None;
        }
        subjects.insert(0, base);
        // Counts that depend on the seed: one seed per block.
        let is_seeded = self.settings().noise == Noise::Seeds;
        let block = |number: u32| (if is_seeded { number } else { 0 }, subjects.clone());
        Some(LineNext::Execute { blocks: (planned..planned + blocks).map(block).collect() })
    }

    /// The settings of the search, given the counts of the line's ends.
    fn settings(&self) -> BisectSettings {
        settled_or_samples(&evidence(self.record, self.search), &self.search.search)
    }

    /// Number of blocks: the largest number that confirmed a step.
    fn wanted(&self, found: &BisectResult) -> u32 {
        let confirming = found.steps.iter().filter_map(|step| step.change).map(|change| change.units).max();
        match self.settings().noise {
            Noise::None => 1,
            _ => confirming.unwrap_or(0).max(CONFIRMING_BLOCKS as u32).min(self.search.search.most_blocks),
        }
    }

    /// The subject of the commit on top of which others are undone, and whether its build
    /// succeeded.
    fn base(&self) -> Option<(SubjectIndex, bool)> {
        let is_it = |subject: &Subject| {
            subject.commit.as_ref().is_some_and(|commit| commit.id == self.on.id)
                && matches!(subject.build, Some(BuildResult::Built | BuildResult::Failed { .. }))
        };
        let index = self.record.subjects.iter().position(is_it)?;
        Some((SubjectIndex(index as u32), self.record.subjects[index].build == Some(BuildResult::Built)))
    }

    /// The subject that undoes a commit.
    fn subject(&self, position: u32) -> Option<(SubjectIndex, &'a RevertResult)> {
        let id = &self.search.line.commits.get(position as usize)?.id;
        let mut all = (0..).map(SubjectIndex).zip(&self.record.subjects);
        all.find_map(|(index, subject)| revert(subject).filter(|(of, _)| of == id).map(|(_, result)| (index, result)))
    }

    /// Executions of a subject in the blocks of reverts.
    fn executions(&self, subject: SubjectIndex) -> impl Iterator<Item = &(&'a PlanItem, Standing<'a>)> {
        let is_of_it = move |item: &PlanItem| item.subject == subject && self.blocks.contains(&item.block);
        self.standings.iter().filter(move |(item, _)| is_of_it(item))
    }

    fn has_run(&self, subject: SubjectIndex) -> bool {
        self.executions(subject).any(|(_, standing)| matches!(standing, Standing::Done(_)))
    }

    /// The value of a subject in each block of reverts that has one.
    fn values(&self, subject: SubjectIndex) -> BTreeMap<u32, f64> {
        let value = |(item, standing): &(&PlanItem, Standing<'_>)| match standing {
            Standing::Done(attempt) => {
                Some((item.block, commit_runs::value(self.record, &self.search.measure, item, attempt)?))
            }
            Standing::Failed(_) | Standing::Skipped | Standing::Left => None,
        };
        self.executions(subject).filter_map(value).collect()
    }

    fn step_reverted(&self, step: &FoundStep) -> Option<StepReverted> {
        let position = named(step)?;
        let (base, is_built) = self.base()?;
        let outcome = if is_built { self.outcome(step, position, base)? } else { RevertOutcome::NothingToCompare };
        Some(StepReverted { on: self.on.id.clone(), outcome })
    }

    /// The result of a revert; `None` until it is known.
    fn outcome(&self, step: &FoundStep, position: u32, base: SubjectIndex) -> Option<RevertOutcome> {
        let (subject, result) = self.subject(position)?;
        match result {
            RevertResult::Conflict { files } => return Some(RevertOutcome::Conflict { files: files.clone() }),
            RevertResult::Empty => return Some(RevertOutcome::Empty),
            RevertResult::Failed { how, .. } => return Some(RevertOutcome::NotBuilt { how: how.clone() }),
            RevertResult::Built => {}
        }
        let (without, with) = (self.values(base), self.values(subject));
        if with.is_empty() {
            let failed = self.executions(subject).find_map(|(_, standing)| match standing {
                Standing::Failed(attempt) => Some(commit_runs::why(attempt)),
                Standing::Done(_) | Standing::Skipped | Standing::Left => None,
            });
            return failed.map(|why| RevertOutcome::NotRun { why });
        }
        let pairs: Vec<[f64; 2]> =
            without.iter().filter_map(|(block, before)| Some([*before, *with.get(block)?])).collect();
        if pairs.is_empty() {
            return Some(RevertOutcome::NothingToCompare);
        }
        Some(match self.settings().noise {
            Noise::None => exact(step, pairs[0]),
            _ => self.noisy(step, &pairs),
        })
    }

    /// Both differences have intervals at half of the error, so their quotient has one at the
    /// level.
    fn noisy(&self, step: &FoundStep, pairs: &[[f64; 2]]) -> RevertOutcome {
        let error = 1.0 - self.search.search.level;
        // A count of 0 has no ratio.
        let logarithms =
            pairs.iter().map(|[without, with]| (with / without).ln()).filter(|ratio| ratio.is_finite()).collect();
        let back = interval(pairs.iter().map(|[without, with]| without - with), error / 2.0);
        let whole = interval(self.step_differences(step).into_iter(), error / 2.0);
        let taken_back = back.zip(whole).and_then(|(back, whole)| quotient(back, whole));
        RevertOutcome::Measured { change: shift(logarithms, error), values: None, taken_back }
    }

    /// The difference of the values after and before a step, in each block with its sides alone.
    fn step_differences(&self, step: &FoundStep) -> Vec<f64> {
        let evidence = evidence(self.record, self.search);
        let line = Line::new(&evidence, &settled_or_samples(&evidence, &self.search.search));
        let (State::Usable(before), State::Usable(after)) = (line.state(step.before), line.state(step.after)) else {
            return Vec::new();
        };
        let alone = line.confirming_blocks([before.position, after.position]);
        let (before, after) = (line.by_block(before), line.by_block(after));
        let difference = |block: &u32| Some(after.get(block)?.exp() - before.get(block)?.exp());
        alone.iter().filter_map(difference).collect()
    }
}

/// Exact values have an exact difference.
fn exact(step: &FoundStep, [without, with]: [f64; 2]) -> RevertOutcome {
    let whole = step.values.map(|[before, after]| after - before).filter(|whole| *whole != 0.0);
    let share = whole.map(|whole| (without - with) / whole);
    RevertOutcome::Measured {
        change: if without > 0.0 { exact_change((with / without).ln()) } else { None },
        values: Some([without, with]),
        taken_back: share.map(|share| Share { share, low: share, high: share }),
    }
}

/// The shift of differences, with the ends of its interval; `None` with too few.
fn interval(differences: impl Iterator<Item = f64>, error: f64) -> Option<(f64, f64, f64)> {
    let mut differences: Vec<f64> = differences.collect();
    differences.sort_by(f64::total_cmp);
    sign_shift(&differences, error)
}

/// A part of a whole, both with intervals; `None` if the whole may be 0.
fn quotient(part: (f64, f64, f64), whole: (f64, f64, f64)) -> Option<Share> {
    let (centre, low, high) = whole;
    if low.signum() != high.signum() || low == 0.0 || high == 0.0 {
        return None;
    }
    let ends = [part.1 / low, part.1 / high, part.2 / low, part.2 / high];
    let (least, most) =
        ends.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), end| (least.min(*end), most.max(*end)));
    Some(Share { share: part.0 / centre, low: least, high: most })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_ends_that_both_intervals_allow() {
        let share = quotient((1.0, 0.9, 1.1), (2.0, 1.8, 2.2)).unwrap();
        assert_eq!((share.share, share.low, share.high), (0.5, 0.9 / 2.2, 1.1 / 1.8));
        let faster = quotient((-1.0, -1.1, 0.1), (-2.0, -2.2, -1.8)).unwrap();
        assert_eq!((faster.share, faster.low, faster.high), (0.5, 0.1 / -1.8, -1.1 / -1.8));
        assert_eq!(quotient((1.0, 0.9, 1.1), (0.1, -0.1, 0.3)), None);
    }
}
