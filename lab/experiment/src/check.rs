//! A check: this machine against itself.

use crate::comparison::{LiveComparisonRequest, USUAL_LEVEL, compare};
use crate::conclusion::Measured;
use crate::error::Error;
use crate::lab::Lab;
use crate::measure::millis;
use faultline_model::machine::Machine;
use faultline_model::plan::{ComparisonPurpose, USUAL_MARGIN};
use faultline_model::setup::Setup;
use faultline_model::subject::Subject;
use faultline_runner::{ComparisonRequest, Request};
use std::time::Duration;

/// What the machine is tried with: memory, processes and names, each of which is disturbed by other things.
const WORKLOADS: [&str; 3] = ["zero_fill:base", "fork_exit:small", "path_stat:distinct"];

/// What is asked of a check.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// Workloads as `name` or `name:variant`; empty for the usual ones.
    pub workloads: Vec<String>,
    /// How long it may take.
    pub time: Duration,
    /// Time limit of each execution in milliseconds.
    pub limit_ms: Option<u64>,
    /// The machine.
    pub machine: Machine,
    /// Seed of the order; a random one if `None`.
    pub seed: Option<u64>,
}

/// Measures the machine against itself, and concludes whether it is fit.
pub fn check(request: &CheckRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let chosen = &request.workloads;
    let workloads = if chosen.is_empty() { WORKLOADS.map(str::to_owned).to_vec() } else { chosen.clone() };
    let same = |name: &str| Subject::on(name.to_owned(), Machine::Host, Setup::default());
    let comparison = LiveComparisonRequest {
        request: Request {
            workloads,
            budget_ms: Some(millis(request.time)),
            limit_ms: request.limit_ms,
            ..Request::default()
        },
        // It looks once, when the time is over.
        comparison: ComparisonRequest {
            sides: [same("this machine"), same("itself")],
            level: USUAL_LEVEL,
            margin: USUAL_MARGIN,
            once: true,
            purpose: ComparisonPurpose::Check,
        },
        machine: request.machine.clone(),
        seed: request.seed,
        label: Some("check".to_owned()),
    };
    compare(&comparison, lab)
}
