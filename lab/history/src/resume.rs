//! Resumes any run: those that build commits here, every other where it was begun.

use crate::{bisect, run};
use faultline_experiment::{Error, Lab, Measured, ResumeRequest, run_to_resume};
use faultline_model::record::RunState;

/// Resumes a run and concludes it. Fails like [`faultline_experiment::resume`] and [`bisect::resume`].
pub fn resume(request: &ResumeRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let head = run_to_resume(request, lab.places)?;
    if head.state == RunState::Open && head.settings.history().is_some() {
        return run::resume(&head, request.limit_ms, lab);
    }
    if head.state == RunState::Open && head.settings.drill().is_some() {
        return bisect::resume(&head, request.limit_ms, lab);
    }
    faultline_experiment::resume(&ResumeRequest { run: Some(head.id), ..*request }, lab)
}
