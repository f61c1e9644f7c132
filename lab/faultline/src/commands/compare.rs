//! `faultline compare` and `changes`: two sides, stored or live; steps of series over commits.

use super::building::recipe;
use super::measuring::{self, places, places_to_measure};
use super::result::{Detail, form_of_file, write_text};
use super::share::warn_of_missing;
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
use faultline_history::compare_trees::{WORKING_TREE, compare_trees};
use faultline_history::two_builds::TwoBuilds;
use faultline_record::dataset::Dataset;
use faultline_record::plan::{ComparisonPurpose, USUAL_MARGIN};
use faultline_record::subject::Subject;
use faultline_report::{Format, Style};
use faultline_runner::{ComparisonRequest, Request};
use faultline_stats::changes::{ChangesFound, changes_found};
use faultline_stats::comparison::Comparison;
use faultline_stats::gate::Gate;
use std::path::Path;
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
    if !arguments.command.is_empty() {
        return trees(arguments, places);
    }
    if arguments.a.is_some() || arguments.b.is_some() {
        let sides = surrounded(sides(arguments, &places)?, arguments)?;
        return live(sides, &arguments.what, arguments, &places);
    }
    if let Some(commands) = given_commands(arguments)? {
        return live(commands, &[], arguments, &places);
    }
    if arguments.what.iter().any(|word| word == WORKING_TREE) && Path::new(".git").exists() {
        return Err(Failure::usage(
            "'.' is the working tree of a repository, and there is no command to measure",
            "name it after `--`: `faultline compare HEAD . --build make -- ./prog`",
        ));
    }
    match results_or_commands(&arguments.what, &places)? {
        ResultsOrCommands::Results => stored(arguments, &places),
        ResultsOrCommands::Commands(commands) => live(*commands, &[], arguments, &places),
    }
}

/// Compares builds of two commits, of which one may be the working tree.
fn trees(arguments: &Compare, places: Places) -> Result<ExitCode, Failure> {
    let Compare { around, building, certainty, measuring, conduct, .. } = arguments;
    let [a, b] = &arguments.what[..] else {
        return Err(Failure::usage(
            "a command after `--` is measured at two commits",
            "name them: `faultline compare HEAD . -- ./prog`, where `.` is the working tree",
        ));
    };
    let builds = TwoBuilds {
        repository: building.repository.clone(),
        work: building.work.clone(),
        recipe: recipe(building)?,
        setup: measuring::around(around, measuring)?.command(&arguments.command)?.setup,
        quantity: arguments.by.unwrap_or_default(),
        level: certainty.level.unwrap_or(USUAL_LEVEL),
        margin: certainty.margin.unwrap_or(USUAL_MARGIN),
        once: certainty.once,
        purpose: purpose(&arguments.gate),
        measuring: measuring::request(measuring, conduct)?,
        seed: measuring.seed,
        label: arguments.label.clone(),
    };
    let places = Places { sandboxing: building.sandbox.choice(), ..places };
    let measured = measuring::with_lab(conduct, &places, |lab| Ok(compare_trees([a, b], &builds, lab)?))?;
    let concluded = measuring::conclude_in(detail(arguments), measured, conduct)?;
    Ok(measuring::status(concluded.as_ref()))
}

/// The commands, if options say that the arguments are commands. Fails unless they are two.
fn given_commands(arguments: &Compare) -> Result<Option<[Subject; 2]>, Failure> {
    let around = measuring::around(&arguments.around, &arguments.measuring)?;
    let Some(option) = around.given() else { return Ok(None) };
    let [a, b] = &arguments.what[..] else {
        return Err(Failure::usage(
            format!("{option} belongs to commands, and there are not two"),
            "name two: `faultline compare './old' './new'`",
        ));
    };
    Ok(Some([around.command(std::slice::from_ref(a))?, around.command(std::slice::from_ref(b))?]))
}

/// The sides with what runs around their commands.
fn surrounded(mut sides: [Subject; 2], arguments: &Compare) -> Result<[Subject; 2], Failure> {
    let Compare { around, measuring, .. } = arguments;
    if sides.iter().all(|side| side.setup.command.is_empty()) {
        measuring::refuse_around(around, measuring)?;
        return Ok(sides);
    }
    let around = measuring::around(around, measuring)?;
    sides.iter_mut().try_for_each(|side| around.surround(side))?;
    Ok(sides)
}

fn live(sides: [Subject; 2], workloads: &[String], arguments: &Compare, places: &Places) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    let of_sides = sides.iter().flat_map(|side| side.setup.on.iter().chain(side.setup.partners.values()));
    hosts::check(arguments.machine.on.iter().chain(of_sides), places)?;
    let comparison = ComparisonRequest {
        sides,
        quantity: arguments.by.unwrap_or_default(),
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
    let measured = measuring::with_lab(conduct, places, |lab| Ok(faultline_experiment::compare(&request, lab)?))?;
    let concluded = measuring::conclude_in(detail(arguments), measured, conduct)?;
    Ok(measuring::status(concluded.as_ref()))
}

/// The detail of the table.
fn detail(arguments: &Compare) -> Detail {
    if arguments.verbose { Detail::Whole } else { Detail::Brief }
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
        measure: arguments.by,
    };
    let file = arguments.conduct.output.as_deref();
    let form = file.map(form_of_file).transpose()?;
    file.map_or(Ok(()), output::check_file)?;
    let comparison = compare_stored(&request, places)?;
    if let Some((path, form)) = file.zip(form) {
        write_text(&text(&comparison, form, &Style::PLAIN)?, path)?;
    }
    let style = output::style();
    output::print(&match (arguments.conduct.format, detail(arguments)) {
        (Format::Table, Detail::Brief) => faultline_report::comparison_brief(&comparison, &style),
        (format, _) => faultline_report::comparison(&comparison, format, &style),
    })?;
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
    warn_of_missing(&dataset);
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
