//! `faultline compare`: two sides that were measured before, or two that are measured now.

use super::{measuring, present};
use crate::arguments::compare::Compare;
use crate::failure::{self, Failure};
use crate::{output, places};
use faultline_experiment::variants::Variants;
use faultline_experiment::{
    LiveComparisonRequest, Places, ResultsOrCommands, StoredComparisonRequest, USUAL_LEVEL, compare_stored,
    results_or_commands,
};
use faultline_model::comparison::Comparison;
use faultline_model::gate::Gate;
use faultline_model::plan::{ComparisonPurpose, USUAL_MARGIN, WhenInconclusive};
use faultline_model::subject::Subject;
use faultline_runner::{ComparisonRequest, Request};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn compare(arguments: &Compare, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let found = Places { settings: arguments.config.clone(), ..places::for_measuring(&arguments.conduct, db)? };
    let places = Places { sources: arguments.sources.clone().or(found.sources), ..found };
    if arguments.a.is_some() || arguments.b.is_some() {
        return live(sides(arguments)?, &arguments.what, arguments, &places);
    }
    match results_or_commands(&arguments.what, &places)? {
        ResultsOrCommands::Results => stored(arguments, &places),
        ResultsOrCommands::Commands(commands) => live(*commands, &[], arguments, &places),
    }
}

fn live(sides: [Subject; 2], workloads: &[String], arguments: &Compare, places: &Places) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    let comparison = ComparisonRequest {
        sides,
        level: arguments.certainty.level.unwrap_or(USUAL_LEVEL),
        margin: arguments.certainty.margin.unwrap_or(USUAL_MARGIN),
        once: arguments.certainty.once,
        purpose: purpose(arguments.gate, arguments.inconclusive.into()),
    };
    let request = LiveComparisonRequest {
        comparison,
        request: Request { workloads: workloads.to_vec(), ..measuring::request(&arguments.measuring, conduct) },
        machine: arguments.machine.on.clone().unwrap_or_default(),
        seed: arguments.measuring.seed,
        label: arguments.label.clone(),
    };
    let concluded = measuring::conduct(conduct, places, |lab| faultline_experiment::compare(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}

/// What a live comparison is for.
pub(super) fn purpose(gate: bool, when_inconclusive: WhenInconclusive) -> ComparisonPurpose {
    if gate { ComparisonPurpose::Gate(when_inconclusive) } else { ComparisonPurpose::Answer }
}

/// The sides that the arguments name.
fn sides(arguments: &Compare) -> Result<[Subject; 2], Failure> {
    let variants = Variants::read(arguments.config.as_deref())?;
    let side = |text: &Option<String>| variants.setup(text.as_deref().unwrap_or_default());
    Ok([side(&arguments.a)?, side(&arguments.b)?])
}

fn stored(arguments: &Compare, places: &Places) -> Result<ExitCode, Failure> {
    let request = StoredComparisonRequest {
        what: arguments.what.clone(),
        level: arguments.certainty.level,
        margin: arguments.certainty.margin,
        assume_quiet: arguments.assume_quiet,
        better: arguments.better.map(Into::into),
    };
    arguments.conduct.output.as_deref().map_or(Ok(()), output::check_file)?;
    let comparison = compare_stored(&request, places)?;
    if let Some(path) = &arguments.conduct.output {
        present::write_page(&faultline_report::comparison_html(&comparison), path)?;
    }
    output::print(&faultline_report::comparison(&comparison, arguments.conduct.format.format, &output::style()))?;
    Ok(if is_refused(&comparison, arguments) { failure::some_failed() } else { ExitCode::SUCCESS })
}

/// Whether a gate was asked for, and is closed. What it found goes to standard error, as standard output has the comparison.
fn is_refused(comparison: &Comparison, arguments: &Compare) -> bool {
    if !arguments.gate {
        return false;
    }
    let gate = Gate::of_comparison(comparison, arguments.inconclusive.into());
    failure::warn(&faultline_report::comparison_gate(&gate, &output::style()).trim_end());
    !gate.is_open()
}
