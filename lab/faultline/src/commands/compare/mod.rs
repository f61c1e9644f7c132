//! `faultline compare`: two sides that were measured before, or two that are measured now.

pub(crate) mod live;
mod stored;

use super::{measure, present, run};
use crate::arguments::compare::Compare;
use crate::failure::{self, Failure};
use faultline_model::comparison::Comparison;
use faultline_model::workload_comparison::{Answer, WorkloadComparison};
use faultline_runner::Request;
use live::{Begin, Went};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn compare(arguments: &Compare, db: Option<&Path>) -> Result<ExitCode, Failure> {
    if arguments.a.is_none() && arguments.b.is_none() {
        return stored::compare(arguments, db);
    }
    let comparison = live::comparison(arguments)?;
    let request =
        Request { workloads: arguments.what.clone(), ..run::measuring(&arguments.measuring, &arguments.conduct) };
    let begin = Begin {
        request,
        comparison,
        machine: &arguments.machine,
        conduct: &arguments.conduct,
        sources: arguments.sources.as_deref(),
        seed: arguments.measuring.seed,
        label: arguments.label.as_deref(),
    };
    match live::begin(begin, db)? {
        Went::Finished(store, run) => {
            let code = measure::conclude(&store, run, &arguments.conduct)?;
            let compared = present::compared(&store.load_run(run)?)?;
            Ok(compared.map_or(code, |compared| gated(code, &compared, arguments)))
        }
        Went::Stopped => Ok(failure::stopped()),
    }
}

/// The exit status: `code`, or that of a gate that is closed: by something slower, and by what can't be judged.
fn gated(code: ExitCode, compared: &Comparison, arguments: &Compare) -> ExitCode {
    let passes = |workload: &WorkloadComparison| matches!(workload.answer, Answer::Faster | Answer::NoDifference);
    let open = compared.unmatched.is_empty() && compared.suite.workloads.iter().all(passes);
    if arguments.gate && !open { failure::some_failed() } else { code }
}
