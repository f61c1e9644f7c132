//! `faultline check`: this machine against itself.

use super::compare::live::{self, Begin, Went};
use super::{present, run};
use crate::arguments::compare::{Check, USUAL_LEVEL};
use crate::arguments::measuring::Measuring;
use crate::failure::{self, Failure};
use crate::output;
use faultline_model::comparison::Fit;
use faultline_model::machine::Machine;
use faultline_model::setup::Setup;
use faultline_model::subject::Subject;
use faultline_runner::{ComparisonRequest, Request};
use std::path::Path;
use std::process::ExitCode;

/// What the machine is tried with: memory, processes and names, each of which is disturbed by other things.
const WORKLOADS: [&str; 3] = ["zero_fill:base", "fork_exit:small", "path_stat:distinct"];

pub(crate) fn check(arguments: &Check, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    let chosen = &arguments.workloads_chosen;
    let workloads = if chosen.is_empty() { WORKLOADS.map(str::to_owned).to_vec() } else { chosen.clone() };
    let measuring = Measuring { time: Some(arguments.time), ..Measuring::default() };
    let same = |name: &str| Subject::on(name.to_owned(), Machine::Host, Setup::default());
    let begin = Begin {
        request: Request { workloads, ..run::measuring(&measuring, conduct) },
        // It looks once, when the time is over.
        comparison: ComparisonRequest {
            sides: [same("this machine"), same("itself")],
            level: USUAL_LEVEL,
            precision: 0.0,
        },
        machine: &arguments.machine,
        conduct,
        sources: None,
        seed: None,
        label: Some("check"),
    };
    let Went::Finished(store, run) = live::begin(begin, db)? else { return Ok(failure::stopped()) };
    let record = store.load_run(run)?;
    let Some(compared) = present::compared(&record)? else { return Ok(failure::some_failed()) };
    let fitness = faultline_stats::fitness::fitness(compared, &record);
    if let Some(path) = &conduct.output {
        present::write(&faultline_report::comparison_html(&fitness.compared), path)?;
    }
    output::print(&faultline_report::fitness(&fitness, conduct.format.format, &output::style()))?;
    if !conduct.quiet {
        failure::warn(&format!("saved as run {run} in {}", store.path().display()));
    }
    Ok(if fitness.fit == Fit::Unfit { failure::some_failed() } else { ExitCode::SUCCESS })
}
