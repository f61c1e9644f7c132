//! What holds at the end: every item has ended or was left out for a reason, and a comparison looked when it was to look.

use crate::record::has_ended;
use crate::scenario::Difference;
use crate::world::World;
use faultline_experiment::Concluded;
use faultline_model::comparison::{ComparedWorkload, Comparison, Ended, Sequential};
use faultline_model::record::{RunRecord, RunState};
use faultline_model::workload_comparison::Answer;
use faultline_stats::sequential::planned_looks;

/// What a comparison said.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    /// What is true.
    pub difference: Difference,
    /// Whether a difference was found.
    pub found: bool,
}

/// Checks a finished run.
pub(crate) fn check(world: &World, record: &RunRecord) -> Result<(), String> {
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

/// Checks what a comparison concluded, and holds its answers against what is true. None of a plain run.
pub(crate) fn answered(world: &World, record: &RunRecord, what: &Concluded) -> Result<Option<Answered>, String> {
    let Some(difference) = world.scenario.difference() else { return Ok(None) };
    let comparison = match what {
        Concluded::Comparison(comparison) => comparison,
        Concluded::Fitness(fitness) => &fitness.compared,
        Concluded::Figures(_) | Concluded::Drill(_) | Concluded::History(_) => {
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

/// A difference in the wrong direction is never found; whether one is found at all is a matter of chance.
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
