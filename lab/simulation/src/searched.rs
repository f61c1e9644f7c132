//! What a search concluded, held against what is true of its commits.

use crate::history::History;
use faultline_model::drill::{Drill, DrillStep, StepLabel};

/// What a search said.
#[derive(Debug, Clone, Copy, Default)]
pub struct Searched {
    /// Steps that it found.
    pub said: u32,
    /// Those of them that contain no step.
    pub wrong: u32,
    /// Steps of one change that it labelled as of the code or of the layout.
    pub labelled: u32,
    /// Those of them that it labelled wrongly.
    pub mislabelled: u32,
    /// Sum of the probabilities with which it said that they are none.
    pub doubt: f64,
    /// Steps that are there, between ends that can be measured.
    pub planted: u32,
    /// Those of them that it found.
    pub found: u32,
    /// Those of them that it missed, although they are greater than what it said it would detect.
    pub missed: u32,
}

/// Checks the label of a step. Without layouts that can be measured it is not decided.
fn label(step: &DrillStep, history: &History, searched: &mut Searched) -> Result<(), String> {
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
pub(crate) fn searched(found: &Drill, history: &History) -> Result<Searched, String> {
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
