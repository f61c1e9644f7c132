//! What was recorded otherwise on both sides of a history's steps, from what is saved: the lines and code that moved, or the kernel's counters.

use faultline_experiment::{Error, ErrorKind, Lab, MeasuredCommit, compare_commits};
use faultline_model::history::compared::ComparedValues;
use faultline_model::history::moved::StepMoved;
use faultline_model::history::{HistoryPoint, HistorySeries, HistoryStep, PointResult};

/// What differs at each step of counts, and of the time of workloads; nothing of the time of programs, of which only time is recorded. A step is left out if what was recorded of one
/// of its sides is gone. Fails if the database cannot be read.
pub(super) fn moved(series: &HistorySeries, lab: &Lab<'_>) -> Result<Vec<StepMoved>, Error> {
    if series.counted.is_none() && series.workload.is_none() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for step in &series.steps.steps {
        let [Some(before), Some(after)] = sides(series, step) else { continue };
        match compare_commits(&[before, after], lab.places) {
            Ok(compared) => all.extend(of_step(step, compared.values)),
            Err(error) if error.kind == ErrorKind::Unanswerable => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

fn of_step(step: &HistoryStep, values: ComparedValues) -> Option<StepMoved> {
    let (counts, counters) = match values {
        ComparedValues::Counted(counts) => (Some(*counts), Vec::new()),
        ComparedValues::Timed(times) => (None, times.workloads.into_iter().next()?.details.counters),
    };
    (counts.is_some() || !counters.is_empty()).then_some(StepMoved { after: step.after, by: step.by, counts, counters })
}

/// The commits before and after a step, as they were measured.
fn sides(series: &HistorySeries, step: &HistoryStep) -> [Option<MeasuredCommit>; 2] {
    [step.after, step.by].map(|position| measured(&series.points[position as usize]))
}

fn measured(point: &HistoryPoint) -> Option<MeasuredCommit> {
    let PointResult::Measured { same_as, .. } = &point.result else { return None };
    let id = point.commit.id.clone();
    Some(MeasuredCommit { executed: same_as.clone().unwrap_or_else(|| id.clone()), id, run: point.run? })
}
