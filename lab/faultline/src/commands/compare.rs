//! `faultline compare` and `changes`: two sides, stored or live; steps of series over commits.

use super::measuring::{self, places, places_to_measure};
use super::result::{form_of_file, write_text};
use crate::arguments::Global;
use crate::arguments::compare::{self, Changes, Compare};
use crate::arguments::stored::Shown;
use crate::failure::{self, Failure};
use crate::output;
use faultline_exchange::{Format as Foreign, write_changes};
use faultline_experiment::variants::Variants;
use faultline_experiment::{
    LiveComparisonRequest, Places, ResultsOrCommands, StoredComparisonRequest, USUAL_LEVEL, compare_stored, hosts,
    operand, published, results_or_commands,
};
use faultline_record::dataset::Dataset;
use faultline_record::plan::{ComparisonPurpose, USUAL_MARGIN};
use faultline_record::subject::Subject;
use faultline_report::Style;
use faultline_runner::{ComparisonRequest, Request};
use faultline_stats::changes::{ChangesFound, changes_found};
use faultline_stats::comparison::Comparison;
use faultline_stats::gate::Gate;
use std::process::ExitCode;

pub(crate) fn compare(arguments: &Compare, global: &Global) -> Result<ExitCode, Failure> {
    if matches!(&arguments.what[..], [only] if only == published::CLAIMS) {
        let claims = published::claims();
        output::print(&faultline_report::claims(&claims, arguments.conduct.format, &output::style()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let found = places_to_measure(&arguments.conduct, global)?;
    let places = Places {
        settings: arguments.config.clone().or(found.settings),
        sources: arguments.sources.clone().or(found.sources),
        ..found
    };
    if arguments.a.is_some() || arguments.b.is_some() {
        return live(sides(arguments, &places)?, &arguments.what, arguments, &places);
    }
    match results_or_commands(&arguments.what, &places)? {
        ResultsOrCommands::Results => stored(arguments, &places),
        ResultsOrCommands::Commands(commands) => live(*commands, &[], arguments, &places),
    }
}

fn live(sides: [Subject; 2], workloads: &[String], arguments: &Compare, places: &Places) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    let of_sides = sides.iter().flat_map(|side| side.setup.on.iter().chain(side.setup.partners.values()));
    hosts::check(arguments.machine.on.iter().chain(of_sides), places)?;
    let comparison = ComparisonRequest {
        sides,
        quantity: arguments.measure.unwrap_or_default(),
        level: arguments.certainty.level.unwrap_or(USUAL_LEVEL),
        margin: arguments.certainty.margin.unwrap_or(USUAL_MARGIN),
        once: arguments.certainty.once,
        purpose: purpose(&arguments.gate),
    };
    let request = LiveComparisonRequest {
        comparison,
        request: Request { workloads: workloads.to_vec(), ..measuring::request(&arguments.measuring, conduct)? },
        machine: arguments.machine.on.clone().unwrap_or_default(),
        seed: arguments.measuring.seed,
        label: arguments.label.clone(),
    };
    let concluded = measuring::conduct(conduct, places, |lab| faultline_experiment::compare(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}

/// The purpose of a live comparison.
pub(super) fn purpose(gate: &compare::Gate) -> ComparisonPurpose {
    gate.when_inconclusive().map_or(ComparisonPurpose::Answer, ComparisonPurpose::Gate)
}

/// The sides that the arguments name.
fn sides(arguments: &Compare, places: &Places) -> Result<[Subject; 2], Failure> {
    let variants = Variants::read(places)?;
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
        measure: arguments.measure,
    };
    let file = arguments.conduct.output.as_deref();
    let form = file.map(form_of_file).transpose()?;
    file.map_or(Ok(()), output::check_file)?;
    let comparison = compare_stored(&request, places)?;
    if let Some((path, form)) = file.zip(form) {
        write_text(&text(&comparison, form, &Style::PLAIN)?, path)?;
    }
    output::print(&text(&comparison, Shown::Table(arguments.conduct.format), &output::style())?)?;
    Ok(if is_refused(&comparison, arguments) { failure::some_failed() } else { ExitCode::SUCCESS })
}

fn text(comparison: &Comparison, form: Shown, style: &Style) -> Result<String, Failure> {
    match form {
        Shown::Table(format) => Ok(faultline_report::comparison(comparison, format, style)),
        Shown::Page => Ok(faultline_report::comparison_html(comparison)),
        Shown::Folded => Err(Failure::usage("a comparison has no callers of transfers", "write it as .html or .md")),
    }
}

/// True if a gate is requested and fails. The reasons go to standard error, because standard output
/// has the comparison.
fn is_refused(comparison: &Comparison, arguments: &Compare) -> bool {
    let Some(when_inconclusive) = arguments.gate.when_inconclusive() else { return false };
    let gate = Gate::of_comparison(comparison, when_inconclusive);
    failure::warn(&faultline_report::comparison_gate(&gate, &output::style()).trim_end());
    !gate.is_open()
}

pub(crate) fn changes(arguments: &Changes, global: &Global) -> Result<ExitCode, Failure> {
    let dataset = operand::resolve(&arguments.what, arguments.from.from, &places(global)?)?.dataset();
    let (rate, least) = (arguments.steps.false_alarms, arguments.steps.min_change);
    let found = changes_found(&dataset, rate, least, arguments.better.map(Into::into))
        .map_err(|error| Failure::usage(error.to_string(), "for example `--false-alarms 5% --min-change 2%`"))?;
    match arguments.to {
        None => output::print(&faultline_report::changes(&found, arguments.format.format, &output::style()))?,
        Some(foreign) => output::print(&written(&dataset, &found, foreign)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn written(dataset: &Dataset, found: &ChangesFound, format: Foreign) -> Result<String, Failure> {
    let written = write_changes(&found.with_values(dataset), format)
        .map_err(|error| Failure::usage(error.to_string(), error.hint))?;
    for loss in &written.losses {
        failure::warn(&format!("left out: {loss}"));
    }
    Ok(written.text)
}
