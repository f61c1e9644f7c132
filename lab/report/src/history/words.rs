//! What is said of a series.

use super::{layouts, quirks};
use crate::figure::{self, Scale, percent};
use crate::moment;
use crate::one_line::{cut, one_line};
use crate::quantity::Quantity;
use crate::sentences::change_caution;
use crate::style::Signs;
use faultline_model::changes::{Effect, Status};
use faultline_model::commit::short_name;
use faultline_model::drill::Unusable;
use faultline_model::history::change::{ChangeEvent, ChangeState, Source};
use faultline_model::history::{Differing, HistoryPoint, HistorySeries, HistoryStep, OtherRun, PointResult, StepBasis};

/// Letters of a person's name that are shown.
const LETTERS: usize = 72;

/// What follows a series' name: what is measured of which command.
pub(crate) fn about(series: &HistorySeries) -> String {
    let quantity = Quantity::counted(series.counted).name();
    format!(": {quantity} of `{}`, {}", subject(series), measured_by(series))
}

/// The command, or the workload of kernels.
pub(crate) fn subject(series: &HistorySeries) -> String {
    one_line(&series.workload.clone().unwrap_or_else(|| series.command.join(" ")))
}

/// What is measured, with how many tasks, and on which host.
pub(crate) fn measured(series: &HistorySeries) -> String {
    let host = series.host.as_ref().map_or_else(String::new, |host| format!(", on {}", one_line(host)));
    format!("{}, {}{host}", Quantity::counted(series.counted).name(), measured_by(series))
}

/// The same, after the workload or the program's file.
pub(crate) fn measured_of(series: &HistorySeries) -> String {
    let program = series.command.first().map_or("", String::as_str);
    let program = program.rsplit('/').next().unwrap_or(program);
    format!("{}: {}", series.workload.as_deref().unwrap_or(program), measured(series))
}

/// With how many tasks, and whether values are per operation.
fn measured_by(series: &HistorySeries) -> String {
    let each = if series.workload.is_some() { "per operation, " } else { "" };
    format!("{each}{}", tasks(series, series.tasks))
}

/// A number of tasks: CPUs of a kernel, threads of a program under the lens, otherwise copies.
pub(crate) fn tasks(series: &HistorySeries, tasks: u32) -> String {
    if series.workload.is_some() {
        return format!("{tasks} {}", if tasks == 1 { "CPU" } else { "CPUs" });
    }
    match (tasks, series.counted.is_some()) {
        (1, true) => "1 thread".to_owned(),
        (tasks, true) => format!("{tasks} threads"),
        (1, false) => "1 copy".to_owned(),
        (tasks, false) => format!("{tasks} copies"),
    }
}

/// A value with its unit; a count as it is, and per operation with four digits.
pub(crate) fn quantity(series: &HistorySeries, value: f64, signs: &Signs) -> String {
    match (series.counted, &series.workload) {
        (None, _) => Scale::of(value, &series.unit, signs).quantity(value),
        (Some(_), None) => value.to_string(),
        (Some(_), Some(_)) => figure::transfers(value),
    }
}

/// What the points of a series are, in the singular.
pub(crate) fn point(series: &HistorySeries) -> &'static str {
    if series.has_releases { "release" } else { "commit" }
}

/// By how much a step changes the level, what that means, and what is known of it beyond that it was found.
pub(crate) fn step(step: &HistoryStep, signs: &Signs) -> String {
    let state = match step.state.now {
        ChangeState::Found => String::new(),
        state => format!(", {}", state.word()),
    };
    format!("{}, {}{state}", change(step, signs), kind(step))
}

/// What is known of a step besides its values, a line for each: the parts of quirks and commits, and what was said.
pub(crate) fn log(series: &HistorySeries, step: &HistoryStep, signs: &Signs) -> Vec<String> {
    let fixed = step
        .state
        .fixed_by
        .and_then(|by| series.commit(by))
        .map(|commit| format!("taken back by the step at {}", short_name(&commit.id)));
    let said = step.state.log.iter().map(said).chain(fixed);
    quirks::parts(step, signs).into_iter().chain(layouts::log(step, signs)).chain(said).collect()
}

fn said(event: &ChangeEvent) -> String {
    let who = match &event.source {
        Source::Person { name } => format!("{} by {}", event.state.word(), cut(&one_line(name), LETTERS)),
        Source::Search { run } if event.state == ChangeState::Confirmed => format!("confirmed by run {run}"),
        Source::Search { run } if event.is_inconclusive => format!("inconclusive: run {run} could not exclude it"),
        Source::Search { run } => format!("not confirmed by run {run}"),
    };
    let commits = match event.commits.as_slice() {
        [] => String::new(),
        [one] => format!(": commit {}", short_name(one)),
        [first, .., last] => {
            format!(": one of {} commits, {} to {}", event.commits.len(), short_name(first), short_name(last))
        }
    };
    let reason = event.reason.as_deref().map_or_else(String::new, |reason| format!(": {}", one_line(reason)));
    format!("{}: {who}{commits}{reason}", moment::words(event.at))
}

/// By how much.
pub(crate) fn change(step: &HistoryStep, signs: &Signs) -> String {
    let percent = 100.0 * (step.to - step.from) / step.from.abs();
    if percent.is_finite() { format!("{percent:+.1} %") } else { signs.none.to_owned() }
}

/// Whether it is for the better, and how certain it is.
pub(crate) fn kind(step: &HistoryStep) -> String {
    let effect = match step.effect {
        Effect::Better => "better",
        Effect::Worse => "worse",
    };
    // Once something else is known of it, more commits need not show whether it is one.
    let is_open = step.status == Some(Status::Provisional) && step.state.now == ChangeState::Found;
    let provisional = if is_open { ", provisional" } else { "" };
    let between = if step.between_runs { ", between runs" } else { "" };
    format!("{effect}{provisional}{between}{}{}", quirks::of_step(step), layouts::of_step(step))
}

/// Why a commit has no value; empty if it has one, or was not tried.
pub(crate) fn why(result: &PointResult) -> &'static str {
    match result {
        PointResult::Unusable(not_measured) => match not_measured.why {
            Unusable::Build => "does not build",
            Unusable::Boot => "does not boot",
            Unusable::Run => "fails",
            Unusable::Hang => "does not end",
        },
        PointResult::Measured { .. } | PointResult::None => "",
    }
}

/// What is said below a table.
pub(crate) fn sentences(series: &HistorySeries, signs: &Signs) -> Vec<String> {
    [of_values(series), quirks::sentences(series, signs), layouts::remarks(series), of_others(series)].concat()
}

/// The same without the sentence for each quirk, where a legend has it.
pub(crate) fn sentences_beside_legend(series: &HistorySeries) -> Vec<String> {
    [of_values(series), quirks::remarks(series), layouts::remarks(series), of_others(series)].concat()
}

fn of_values(series: &HistorySeries) -> Vec<String> {
    let mut said = vec![counts(series)];
    said.extend(coverage(series));
    said.push(steps(series));
    said.extend(unjudged(series));
    if series.steps.steps.iter().any(|step| step.between_runs) {
        said.push(
            "between runs: no run measured commits on both sides of the step. The machine may have changed between \
             the runs, not the program; `faultline history drill` measures both sides together."
                .to_owned(),
        );
    }
    if let StepBasis::Noisy { cautions, .. } = &series.steps.basis {
        said.extend(cautions.iter().map(|caution| change_caution(caution, std::slice::from_ref(&series.subject))));
    }
    said
}

/// What belongs to no step, and runs of another series.
fn of_others(series: &HistorySeries) -> Vec<String> {
    unplaced(series.steps.unplaced).into_iter().chain(left_out(&series.left_out)).collect()
}

fn counts(series: &HistorySeries) -> String {
    let count = |is_it: fn(&PointResult) -> bool| series.points.iter().filter(|point| is_it(&point.result)).count();
    let measured = count(|result| matches!(result, PointResult::Measured { .. }));
    let unusable = count(|result| matches!(result, PointResult::Unusable(_)));
    let missing = count(|result| matches!(result, PointResult::None));
    let runs: Vec<String> = series.runs.iter().map(ToString::to_string).collect();
    let missing = if missing == 0 { String::new() } else { format!(", {missing} without a result yet") };
    format!(
        "{measured} of {} {}s are measured, {unusable} cannot be measured{missing}. {} {}.",
        series.points.len(),
        point(series),
        if runs.len() == 1 { "Run" } else { "Runs" },
        runs.join(", ")
    )
}

/// With which probability the intervals contain the medians. Few executions have intervals that promise little.
fn coverage(series: &HistorySeries) -> Option<String> {
    let coverage = |point: &HistoryPoint| match &point.result {
        PointResult::Measured { estimate, .. } => Some(estimate.coverage),
        PointResult::Unusable(_) | PointResult::None => None,
    };
    let all = || series.points.iter().filter_map(coverage);
    let (least, most) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let range = if least == most { percent(least) } else { format!("{} to {}", percent(least), percent(most)) };
    (series.steps.basis != StepBasis::Exact)
        .then(|| format!("interval: of the median over n executions, with a confidence level of {range}."))
}

fn steps(series: &HistorySeries) -> String {
    let found = match series.steps.steps.len() {
        0 => "No step was found".to_owned(),
        1 => "1 step was found".to_owned(),
        several => format!("{several} steps were found"),
    };
    let least = percent(series.steps.least_change);
    match &series.steps.basis {
        StepBasis::Exact => {
            format!(
                "{found}. Counts are exact for their seed: neighbours that differ by {least} or more are a step. {}",
                schedules(series)
            )
        }
        StepBasis::Seeds { fewest, most, no_step, detectable, .. } => {
            let seeds = if fewest == most { fewest.to_string() } else { format!("{fewest} to {most}") };
            let detectable = detectable.map_or_else(String::new, |least| {
                format!(
                    " Smallest step that would be found between any two neighbours (80 % power): {}.",
                    percent(least)
                )
            });
            format!(
                "{found}. Counts depend on the seed, so each commit was counted with {seeds} of them, and neighbours are compared by \
                 all: a step is where the probability of none is at most {}.{detectable}",
                percent(*no_step)
            )
        }
        StepBasis::Noisy { false_alarms, false_confirmations, smaller, .. } => {
            let smaller = match smaller {
                0 => String::new(),
                1 => format!(" 1 step of less than {least} is left out."),
                several => format!(" {several} steps of less than {least} are left out."),
            };
            format!(
                "{found}. Stated false-positive rate: {} of series without a step, {} for firm steps.{smaller}",
                percent(*false_alarms),
                percent(*false_confirmations)
            )
        }
        StepBasis::TooShort { points, needed } => {
            format!("Steps were not searched for: that takes {needed} measured commits, and there are {points}.")
        }
    }
}

/// How far exact counts can be trusted.
fn schedules(series: &HistorySeries) -> &'static str {
    let seeds = |point: &HistoryPoint| match &point.result {
        PointResult::Measured { estimate, .. } => estimate.n,
        PointResult::Unusable(_) | PointResult::None => 0,
    };
    match series.points.iter().map(seeds).max() {
        Some(2..) => "Other seeds counted the same.",
        _ => {
            "They are those of one schedule: if tasks contend, another seed may count otherwise, and so may any other \
             commit; `seeds` in faultline.toml takes several."
        }
    }
}

fn unjudged(series: &HistorySeries) -> Option<String> {
    let number = series.steps.unjudged;
    match series.steps.basis {
        _ if number == 0 => None,
        StepBasis::TooShort { .. } => None,
        StepBasis::Seeds { needed, .. } => {
            let commits =
                if number == 1 { "1 measured commit".to_owned() } else { format!("{number} measured commits") };
            Some(format!("At {commits} no step can be found: that takes counts with {needed} seeds or more."))
        }
        StepBasis::Exact | StepBasis::Noisy { .. } => Some(format!(
            "At the newest {number} measured commits no step can be found yet: that takes more commits after them."
        )),
    }
}

/// Marks without their changes.
fn unplaced(number: u32) -> Option<String> {
    let marks = match number {
        0 => return None,
        1 => "1 mark is of a change that is".to_owned(),
        several => format!("{several} marks are of changes that are"),
    };
    Some(format!("{marks} not found now."))
}

fn left_out(runs: &[OtherRun]) -> Option<String> {
    let one = |other: &OtherRun| {
        let what = match other.differs_in {
            Differing::Recipe => "another way of building",
            Differing::Tools => "other build tools",
            Differing::Command => "another command",
            Differing::Measure => "another measure",
            Differing::Machine => "another machine",
            Differing::Seed => "another seed",
        };
        format!("run {} ({what})", other.run)
    };
    let all: Vec<String> = runs.iter().map(one).collect();
    (!all.is_empty()).then(|| format!("Left out, as their results are not comparable: {}.", all.join(", ")))
}

/// Text whose signs mean nothing in Markdown.
pub(super) fn plain(text: &str) -> String {
    crate::grid::escape_markdown(text)
}
