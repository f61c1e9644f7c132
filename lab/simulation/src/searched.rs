//! What a search concluded, held against what is true of its commits.

use crate::history::History;
use faultline_model::drill::Drill;

/// What a search said.
#[derive(Debug, Clone, Copy, Default)]
pub struct Searched {
    /// Steps that it found.
    pub said: u32,
    /// Those of them that contain no step.
    pub wrong: u32,
    /// Sum of the probabilities with which it said that they are none.
    pub doubt: f64,
    /// Steps that are there, between ends that can be measured.
    pub planted: u32,
    /// Those of them that it found.
    pub found: u32,
    /// Those of them that it missed, although they are greater than what it said it would detect.
    pub missed: u32,
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
