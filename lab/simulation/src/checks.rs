//! Invariants of a saved run, at any time and at its end; and the conclusions of comparisons,
//! searches and histories compared with the truth.

use crate::history::History;
use crate::scenario::Difference;
use crate::world::World;
use faultline_experiment::Concluded;
use faultline_record::outcome::Outcome;
use faultline_record::record::{Attempt, RunRecord, RunState};
use faultline_stats::bisect::{BisectResult, FoundStep, StepLabel};
use faultline_stats::comparison::{ComparedWorkload, Comparison, Ended, Sequential};
use faultline_stats::history::{CommitOutcome, HistoryResults};
use faultline_stats::sequential::planned_looks;
use faultline_stats::workload_comparison::Answer;
use std::collections::BTreeSet;

/// True if an attempt has ended its item. An attempt that was interrupted, that left the system
/// changed, or during which the lab failed is repeated.
pub(crate) fn has_ended(attempt: &Attempt) -> bool {
    !matches!(
        attempt.outcome,
        None | Some(Outcome::Interrupted | Outcome::LabFailed { .. } | Outcome::LeftChanged { .. })
    )
}

/// Checks a run by itself. At most `most_open` attempts may be open. Fails with the violated
/// invariant.
pub(crate) fn check(record: &RunRecord, most_open: usize) -> Result<(), String> {
    let mut ended = BTreeSet::new();
    for attempt in &record.attempts {
        if has_ended(attempt) && !ended.insert(attempt.ordinal) {
            return Err(format!("item {} ended twice", attempt.ordinal));
        }
        if !record.plan.iter().any(|item| item.ordinal == attempt.ordinal) {
            return Err(format!("attempt {} is of no item", attempt.id.0));
        }
    }
    let open = record.attempts.iter().filter(|attempt| attempt.outcome.is_none()).count();
    if open > most_open || (open > 0 && record.state == RunState::Finished) {
        return Err(format!("{open} attempts are open, in a run that is {:?}", record.state));
    }
    Ok(())
}

/// Checks that saved data were not altered or removed. Fails with the difference.
pub(crate) fn check_kept(before: &RunRecord, after: &RunRecord) -> Result<(), String> {
    // Searches and histories add commits and items while they run.
    let may_grow = before.settings.measured_line().is_some();
    let has_grown = after.subjects.len() > before.subjects.len() || after.plan.len() > before.plan.len();
    let is_same = before.settings == after.settings
        && after.subjects.starts_with(&before.subjects)
        && before.workloads == after.workloads
        && after.plan.starts_with(&before.plan)
        && before.label == after.label
        && (may_grow || !has_grown);
    if !is_same {
        return Err("the plan was altered".to_owned());
    }
    if !after.sessions.starts_with(&before.sessions) {
        return Err("a session was altered or dropped".to_owned());
    }
    if !before.skipped.iter().all(|ordinal| after.skipped.contains(ordinal)) {
        return Err("an item that was left out is back".to_owned());
    }
    before.attempts.iter().try_for_each(|attempt| {
        let kept = after.attempts.iter().find(|kept| kept.id == attempt.id);
        let kept = kept.ok_or_else(|| format!("attempt {} was dropped", attempt.id.0))?;
        if is_kept(attempt, kept) {
            return Ok(());
        }
        Err(format!("attempt {} was altered: {attempt:?}, and later {kept:?}", attempt.id.0))
    })
}

/// An open attempt may have become interrupted. Nothing else may change.
fn is_kept(before: &Attempt, after: &Attempt) -> bool {
    match (&before.outcome, &after.outcome) {
        (None, Some(Outcome::Interrupted)) => *before == Attempt { outcome: None, ..after.clone() },
        _ => before == after,
    }
}

/// The answer of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    /// The true difference.
    pub difference: Difference,
    /// True if a difference was found.
    pub found: bool,
}

/// Checks a finished run.
pub(crate) fn check_finished(world: &World, record: &RunRecord) -> Result<(), String> {
    if record.state != RunState::Finished {
        return Err("it is concluded and not finished".to_owned());
    }
    if let Some(attempt) = record.attempts.iter().find(|attempt| attempt.outcome.is_none()) {
        return Err(format!("attempt {} is left open", attempt.id.0));
    }
    for item in &record.plan {
        let has_ended = record.attempts.iter().any(|attempt| attempt.ordinal == item.ordinal && has_ended(attempt));
        match (has_ended, record.skipped.contains(&item.ordinal)) {
            (false, false) => return Err(format!("item {} neither ended nor was left out", item.ordinal)),
            (true, true) => return Err(format!("item {} ended and was left out", item.ordinal)),
            _ => {}
        }
    }
    if !world.scenario.is_comparison() && !record.skipped.is_empty() && !world.was_budget_used() {
        return Err(format!("{} items were left out, and there was time", record.skipped.len()));
    }
    Ok(())
}

/// Checks the conclusion of a comparison against the truth; `None` for a plain run.
pub(crate) fn answered(world: &World, record: &RunRecord, what: &Concluded) -> Result<Option<Answered>, String> {
    let Some(difference) = world.scenario.difference() else { return Ok(None) };
    let comparison = match what {
        Concluded::Comparison(comparison) => comparison,
        Concluded::Fitness(fitness) => &fitness.compared,
        Concluded::Figures(_) | Concluded::Bisect(_) | Concluded::History(_) => {
            return Err(format!("a comparison is concluded as {what:?}"));
        }
    };
    let sequential = comparison.sequential.as_ref().ok_or("a live comparison without looks")?;
    check_looks(world, record, sequential)?;
    answers(comparison, difference).map(Some)
}

fn check_looks(world: &World, record: &RunRecord, sequential: &Sequential) -> Result<(), String> {
    let taken = &sequential.looks[..sequential.taken as usize];
    let planned = planned_looks(&record.settings, &record.plan);
    match sequential.ended {
        Ended::Settled => {
            let last = taken.last().ok_or("settled without a look")?;
            let later = record.plan.iter().filter(|item| item.block >= last.blocks);
            let tried =
                later.filter(|item| record.attempts.iter().any(|attempt| attempt.ordinal == item.ordinal)).count();
            if !planned.starts_with(taken) || tried > 0 {
                return Err(format!("settled at {taken:?} of {planned:?}, {tried} later items were measured"));
            }
            Ok(())
        }
        Ended::Planned if record.skipped.is_empty() && planned == taken => Ok(()),
        Ended::Budget if world.was_budget_used() => Ok(()),
        ended => Err(format!(
            "it ended as {ended:?}, with {} items left out: {taken:?} of {planned:?}",
            record.skipped.len()
        )),
    }
}

/// A difference in the wrong direction is never found. Finding the true one is a matter of chance.
fn answers(comparison: &Comparison, difference: Difference) -> Result<Answered, String> {
    let mut answered = Answered { difference, found: false };
    for ComparedWorkload { comparison: workload, .. } in &comparison.workloads {
        let is_wrong = match workload.answer {
            Answer::Faster => difference == Difference::Slower,
            Answer::Slower => difference == Difference::Faster,
            Answer::Equal | Answer::Inconclusive => continue,
        };
        if is_wrong {
            return Err(format!("{} is said to be {:?}, and is {difference:?}", workload.name, workload.answer));
        }
        answered.found = true;
    }
    Ok(answered)
}

/// Checks the results of a finished history with `repeats` executions of each commit. Returns the
/// number of commits with values. `is_calm`: only commits cause faults.
pub(crate) fn measured(
    results: &HistoryResults,
    history: &History,
    repeats: u32,
    is_calm: bool,
) -> Result<u32, String> {
    let commits = history.line().commits;
    if results.commits.len() != commits.len() {
        return Err(format!("{} of {} commits have a result", results.commits.len(), commits.len()));
    }
    let mut measured = 0;
    for (position, (result, commit)) in results.commits.iter().zip(&commits).enumerate() {
        if result.commit != commit.id {
            return Err(format!("the result at {position} is of {}", result.commit));
        }
        match (&result.outcome, history.unusable(position)) {
            (CommitOutcome::Measured { values, .. }, None) => {
                measured += 1;
                if values.len() > repeats as usize || (is_calm && values.len() < repeats as usize) {
                    return Err(format!("{} of {repeats} values of commit {position}", values.len()));
                }
            }
            (CommitOutcome::Unusable(not_measured), Some(expected)) if not_measured.why == expected => {}
            (CommitOutcome::Unusable(_), None) if !is_calm => {}
            (outcome, expected) => {
                return Err(format!("commit {position} is {expected:?}, and its result is {outcome:?}"));
            }
        }
    }
    Ok(measured)
}

/// The answers of a search.
#[derive(Debug, Clone, Copy, Default)]
pub struct Searched {
    /// Steps that it found.
    pub said: u32,
    /// Found steps that contain no true step.
    pub wrong: u32,
    /// Steps of one change that it labelled as code or layout.
    pub labelled: u32,
    /// Wrong labels.
    pub mislabelled: u32,
    /// Sum of the reported probabilities that a found step is none.
    pub doubt: f64,
    /// True steps between usable ends.
    pub planted: u32,
    /// True steps that were found.
    pub found: u32,
    /// True steps that were missed although they exceed the reported detectable change.
    pub missed: u32,
}

/// Checks the label of a step, which stays inconclusive without measurable layouts.
fn label(step: &FoundStep, history: &History, searched: &mut Searched) -> Result<(), String> {
    let is_decided = matches!(step.label, StepLabel::Code | StepLabel::Layout);
    let can_be_decided = history.settings.layouts > 0 && history.is_movable();
    if is_decided && !can_be_decided {
        return Err(format!("a step is labelled without layouts: {step:?}"));
    }
    let planted = history.steps();
    let those: Vec<u32> = planted.iter().map(|(at, _)| *at).filter(|at| step.candidates.contains(at)).collect();
    if let ([at], true) = (&those[..], is_decided) {
        searched.labelled += 1;
        searched.mislabelled += u32::from(history.is_code(*at) != (step.label == StepLabel::Code));
    }
    Ok(())
}

/// Checks what a finished search concluded.
pub(crate) fn searched(found: &BisectResult, history: &History) -> Result<Searched, String> {
    if !found.finished {
        return Err("a search that is concluded is not over".to_owned());
    }
    let planted = history.steps();
    let mut searched = Searched::default();
    for step in &found.steps {
        if step.candidates.is_empty() || step.candidates.iter().any(|&at| at <= step.before || at > step.after) {
            return Err(format!("a step without a commit that could have made it: {step:?}"));
        }
        if step.explained.as_ref().is_none_or(|explained| explained.commits.len() != step.candidates.len()) {
            return Err(format!("a step whose commits are not explained: {step:?}"));
        }
        label(step, history, &mut searched)?;
        searched.said += 1;
        searched.wrong += u32::from(!planted.iter().any(|(position, _)| step.candidates.contains(position)));
        searched.doubt += 1.0 - step.probability;
    }
    if let Some(end) = found.unusable_end {
        let said = searched.said;
        return if said == 0 {
            Ok(searched)
        } else {
            Err(format!("{said} steps are found, and end {end} is unusable"))
        };
    }
    for (position, ratio) in &planted {
        let is_found = found.steps.iter().any(|step| step.candidates.contains(position));
        let is_great = found.detectable.is_some_and(|detectable| ratio.ln().abs() > detectable.ln_1p());
        searched.planted += 1;
        searched.found += u32::from(is_found);
        // Several steps may cancel each other.
        searched.missed += u32::from(!is_found && is_great && planted.len() == 1);
    }
    Ok(searched)
}
