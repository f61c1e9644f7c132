//! What the lens counted otherwise on both sides of a history's steps, from the readings that are saved.

use faultline_experiment::{Error, Lab, stored};
use faultline_model::cell::Case;
use faultline_model::history::moved::StepMoved;
use faultline_model::history::{HistoryPoint, HistorySeries, HistoryStep, PointResult};
use faultline_model::lens::reading::Reading;
use faultline_model::outcome::Outcome;
use faultline_model::record::{RunId, RunRecord};
use faultline_stats::lens::compare;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What differs at each step of counts; nothing of times. A step without readings on both sides is left out. Fails if the database cannot be read.
pub(super) fn moved(series: &HistorySeries, lab: &Lab<'_>) -> Result<Vec<StepMoved>, Error> {
    if series.counted.is_none() {
        return Ok(Vec::new());
    }
    let steps = &series.steps.steps;
    let points = |step: &HistoryStep| [step.after, step.by].map(|position| &series.points[position as usize]);
    let mut records: BTreeMap<RunId, RunRecord> = BTreeMap::new();
    for run in steps.iter().flat_map(points).filter_map(|point| point.run) {
        if let Entry::Vacant(vacant) = records.entry(run) {
            vacant.insert(stored::load(run, lab.places)?);
        }
    }
    let of_step = |step: &HistoryStep| {
        let [before, after] = points(step).map(|point| reading(point, &records));
        let ((case, before), (_, after)) = (before?, after?);
        let counts = compare(case, series.tasks, &[before], &[after])?;
        Some(StepMoved { after: step.after, by: step.by, counts })
    };
    Ok(steps.iter().filter_map(of_step).collect())
}

/// What was counted of a point, and of what.
fn reading<'a>(point: &HistoryPoint, records: &'a BTreeMap<RunId, RunRecord>) -> Option<(&'a Case, &'a Reading)> {
    let PointResult::Measured { same_as, .. } = &point.result else { return None };
    let id = same_as.as_ref().unwrap_or(&point.commit.id);
    let record = records.get(&point.run?)?;
    let is_of_it = |subject: u32| {
        let commit = record.subjects.get(subject as usize).and_then(|subject| subject.commit.as_ref());
        commit.is_some_and(|commit| commit.id == *id)
    };
    record.attempts.iter().filter(|attempt| attempt.outcome == Some(Outcome::Done)).find_map(|attempt| {
        let item = record.plan.iter().find(|item| item.ordinal == attempt.ordinal && is_of_it(item.subject.0))?;
        Some((&item.cell.case, attempt.reading.as_deref()?))
    })
}
