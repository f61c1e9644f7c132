//! Words about histories and steps, equal in text, Markdown and on pages, and the result of a gate.

use super::causes::{
    by_layouts, by_quirks, doubt, layout_log, layout_remarks, quirk_parts, quirk_remarks, quirk_sentences,
};
use super::ends;
use crate::bisect::words::load;
use crate::escape::{cut, one_line};
use crate::figure::{self, Scale, percent};
use crate::quantity::{QuantityChoiceWords, QuantityWords};
use crate::sentences::change_caution;
use crate::sheet::gate_result;
use crate::style::{Signs, Style, Tone, UNICODE};
use faultline_record::bisect::Unusable;
use faultline_record::change_event::{ChangeEvent, ChangeState, Source};
use faultline_record::commit::short_name;
use faultline_record::direction::Effect;
use faultline_stats::changes::Status;
use faultline_stats::gate::Gate;
use faultline_stats::history::gate::Finding;
use faultline_stats::history::{
    CpuTimeStep, CpuTimeSteps, Differing, HistoryPoint, HistorySeries, HistoryStep, OtherRun, PointResult, StepBasis,
};

/// Maximum letters of a person's name.
const LETTERS: usize = 72;

/// Suffix of a series' name: measure and command.
pub(crate) fn about(series: &HistorySeries) -> String {
    let quantity = series.quantity.name();
    format!(": {quantity} of `{}`, {}", subject(series), measured_by(series))
}

/// The command, or the workload for kernels.
pub(crate) fn subject(series: &HistorySeries) -> String {
    one_line(&series.workload.clone().unwrap_or_else(|| series.command.join(" ")))
}

/// Measure, number of tasks, and host of a series.
pub(crate) fn measured(series: &HistorySeries) -> String {
    let host = series.host.as_ref().map_or_else(String::new, |host| format!(", on {}", one_line(host)));
    format!("{}, {}{host}", series.quantity.name(), measured_by(series))
}

/// [`measured`] after the workload or the program's file name.
pub(crate) fn measured_of(series: &HistorySeries) -> String {
    let program = series.command.first().map_or("", String::as_str);
    let program = program.rsplit('/').next().unwrap_or(program);
    format!("{}: {}", series.workload.as_deref().unwrap_or(program), measured(series))
}

/// Number of tasks, and the denominator of values.
fn measured_by(series: &HistorySeries) -> String {
    let each = if series.workload.is_some() { "per operation, " } else { "" };
    format!("{each}{}", tasks(series, series.tasks))
}

/// A number of tasks: CPUs of a kernel, threads of a program under the lens, otherwise copies.
pub(crate) fn tasks(series: &HistorySeries, tasks: u32) -> String {
    if series.workload.is_some() {
        return format!("{tasks} {}", if tasks == 1 { "CPU" } else { "CPUs" });
    }
    match (tasks, series.quantity.is_counted()) {
        (1, true) => "1 thread".to_owned(),
        (tasks, true) => format!("{tasks} threads"),
        (1, false) => "1 copy".to_owned(),
        (tasks, false) => format!("{tasks} copies"),
    }
}

/// A value with its unit; a count per run in full, per operation with four digits.
pub(crate) fn quantity(series: &HistorySeries, value: f64, signs: &Signs) -> String {
    match (series.quantity.is_counted(), &series.workload) {
        (false, _) => Scale::of(value, &series.unit, signs).quantity(value),
        (true, None) => value.to_string(),
        (true, Some(_)) => figure::transfers(value),
    }
}

/// The kind of a series' points, in the singular.
pub(crate) fn point(series: &HistorySeries) -> &'static str {
    if series.has_releases { "release" } else { "commit" }
}

/// The change of a step, its kind, and its state unless it was only found.
pub(crate) fn step(step: &HistoryStep, signs: &Signs) -> String {
    let state = match step.state.now {
        ChangeState::Found => String::new(),
        state => format!(", {}", state.word()),
    };
    format!("{}, {}{state}", change(step, signs), kind(step))
}

/// The log of a step, a line each: shares of quirks and commits, layouts, bisections, remarks.
pub(crate) fn log(series: &HistorySeries, step: &HistoryStep, signs: &Signs) -> Vec<String> {
    let fixed = step
        .state
        .fixed_by
        .and_then(|by| series.commit(by))
        .map(|commit| format!("reverted by the step at {}", short_name(&commit.id)));
    let said = step.state.log.iter().map(event_text).chain(fixed);
    quirk_parts(step, signs).into_iter().chain(layout_log(step, signs)).chain(said).collect()
}

fn event_text(event: &ChangeEvent) -> String {
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
    format!("{}: {who}{commits}{reason}", figure::date_time(event.at))
}

/// The change of a step in percent.
pub(crate) fn change(step: &HistoryStep, signs: &Signs) -> String {
    let percent = 100.0 * (step.to - step.from) / step.from.abs();
    if percent.is_finite() { format!("{percent:+.1} %") } else { signs.none.to_owned() }
}

/// Direction and certainty of a step.
pub(crate) fn kind(step: &HistoryStep) -> String {
    let effect = match step.effect {
        Effect::Better => "better",
        Effect::Worse => "worse",
    };
    // After a bisection or a remark, more commits are not needed to confirm the step.
    let is_open = step.status == Some(Status::Provisional) && step.state.now == ChangeState::Found;
    let provisional = if is_open { ", provisional" } else { "" };
    let between = if step.between_runs { ", between runs" } else { "" };
    format!("{effect}{provisional}{between}{}{}", by_quirks(step), by_layouts(step))
}

/// The reason for a commit without a value; empty if it has one or was not tried.
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

/// The sentences below a table.
pub(crate) fn sentences(series: &HistorySeries, signs: &Signs) -> Vec<String> {
    [of_values(series), quirk_sentences(series, signs), layout_remarks(series), of_others(series)].concat()
}

/// The sentences without those about single quirks, which a legend shows.
pub(crate) fn sentences_beside_legend(series: &HistorySeries) -> Vec<String> {
    [of_values(series), quirk_remarks(series), layout_remarks(series), of_others(series)].concat()
}

fn of_values(series: &HistorySeries) -> Vec<String> {
    let mut said = vec![counts(series)];
    said.extend(coverage(series));
    said.push(steps(series));
    if series.quantity.is_cpu_time() {
        said.push(
            "Steps compare the least of each commit's executions: other programs only lengthen CPU times.".to_owned(),
        );
    }
    said.extend(series.by_cpu_time.as_ref().map(|by| by_cpu_time(series, by)));
    said.extend(series.choice.and_then(QuantityChoiceWords::reason));
    said.extend(series.load.as_ref().map(load));
    said.extend(unjudged(series));
    if series.steps.steps.iter().any(|step| step.between_runs) {
        said.push(
            "between runs: no run measured commits on both sides of the step. The machine may have changed between \
             the runs instead of the program; `faultline bisect SUBJECT` measures both sides together."
                .to_owned(),
        );
    }
    if let StepBasis::Noisy { cautions, .. } = &series.steps.basis {
        said.extend(cautions.iter().map(|caution| change_caution(caution, std::slice::from_ref(&series.subject))));
    }
    said
}

/// Marks without a step, and runs left out.
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

/// The confidence level of the intervals, which is low for few executions. One has no interval.
fn coverage(series: &HistorySeries) -> Option<String> {
    let coverage = |point: &HistoryPoint| match &point.result {
        PointResult::Measured { estimate, .. } => Some(estimate.coverage),
        PointResult::Unusable(_) | PointResult::None => None,
    };
    let all = || series.points.iter().filter_map(coverage);
    let (least, most) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let range = if least == most { percent(least) } else { format!("{} to {}", percent(least), percent(most)) };
    (series.steps.basis != StepBasis::Exact && most > 0.0)
        .then(|| format!("interval: of the median over n executions, with a confidence level of {range}."))
}

fn steps(series: &HistorySeries) -> String {
    let seen = match &series.steps.basis {
        StepBasis::Noisy { detectable, .. } | StepBasis::Seeds { detectable, .. } => *detectable,
        StepBasis::Exact | StepBasis::TooShort { .. } => Some(series.steps.least_change),
    };
    let found = match series.steps.steps.len() {
        0 => seen.map_or_else(
            || "No step was found".to_owned(),
            |least| format!("No step of {} or more was found", percent(least)),
        ),
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
                format!(" Smallest detectable step between any two neighbours (80 % power): {}.", percent(least))
            });
            format!(
                "{found}. Counts depend on the seed, so each commit was counted with {seeds} of them, and neighbours are compared by \
                 all: a step has a p-value of at most {}.{detectable}",
                percent(*no_step)
            )
        }
        StepBasis::Noisy { false_alarms, false_confirmations, smaller, detectable, .. } => {
            let detectable = detectable.map_or_else(String::new, |least| {
                format!(
                    " Smallest detectable step with 5 or more commits on each side (80 % power): {}.",
                    percent(least)
                )
            });
            let smaller = match smaller {
                0 => String::new(),
                1 => format!(" 1 step of less than {least} is left out."),
                several => format!(" {several} steps of less than {least} are left out."),
            };
            format!(
                "{found}. Stated false-positive rate: {} of series without a step, {} for firm steps.{detectable}{smaller}",
                percent(*false_alarms),
                percent(*false_confirmations)
            )
        }
        StepBasis::TooShort { points, needed } => {
            format!("Not searched for steps: a search needs {needed} measured commits, and there are {points}.")
        }
    }
}

/// The steps by CPU time, beside a time without any.
fn by_cpu_time(series: &HistorySeries, by: &CpuTimeSteps) -> String {
    let step = |step: &CpuTimeStep| {
        let at = series.commit(step.by).map_or("", |commit| short_name(&commit.id));
        format!("{:+.1} % by {at}", 100.0 * (step.to - step.from) / step.from.abs())
    };
    let steps = match (by.steps.as_slice(), by.detectable) {
        ([], Some(least)) => format!("no step of {} or more", percent(least)),
        ([], None) => "no step".to_owned(),
        (steps, _) => steps.iter().map(step).collect::<Vec<_>>().join(", "),
    };
    format!(
        "By the CPU time of the same executions: {steps}. Its false-positive rate is {}, apart from that of the time; \
         `measure = \"cpu-time\"` in faultline.toml searches by it.",
        percent(by.false_alarms)
    )
}

/// The validity of exact counts.
fn schedules(series: &HistorySeries) -> &'static str {
    let seeds = |point: &HistoryPoint| match &point.result {
        PointResult::Measured { estimate, .. } => estimate.n,
        PointResult::Unusable(_) | PointResult::None => 0,
    };
    match series.points.iter().map(seeds).max() {
        Some(2..) => "Other seeds gave equal counts.",
        _ => {
            "They belong to one schedule: if tasks contend, another seed or commit may have another count for that reason \
             alone; `seeds` in faultline.toml takes several seeds."
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
            Some(format!("At {commits} no step can be found: a step needs counts with {needed} seeds or more."))
        }
        StepBasis::Exact | StepBasis::Noisy { .. } => Some(format!(
            "At the newest {number} measured commits no step can be found yet: a step needs more commits after them."
        )),
    }
}

/// Marks whose change is not found any more.
fn unplaced(number: u32) -> Option<String> {
    let marks = match number {
        0 => return None,
        1 => "1 mark belongs to a change that is".to_owned(),
        several => format!("{several} marks belong to changes that are"),
    };
    Some(format!("{marks} no longer found."))
}

fn left_out(runs: &[OtherRun]) -> Option<String> {
    let one = |other: &OtherRun| {
        let what = match other.differs_in {
            Differing::Recipe => "another build recipe",
            Differing::Command => "another command",
            Differing::Measure => "another measure",
            Differing::Machine => "another machine",
            Differing::Seed => "another seed",
        };
        format!("run {} ({what})", other.run)
    };
    let all: Vec<String> = runs.iter().map(one).collect();
    (!all.is_empty()).then(|| format!("Left out, because their results are not comparable: {}.", all.join(", ")))
}

/// The result of a gate on histories, for people.
pub fn history_gate(gate: &Gate<Finding<'_>>, style: &Style) -> String {
    let number = |is_it: fn(&Finding<'_>) -> bool| gate.noted.iter().filter(|found| is_it(found)).count();
    let settled = number(|found| matches!(found, Finding::Settled { .. }));
    let inconclusive = number(|found| matches!(found, Finding::Inconclusive { .. }));
    let if_open = match (settled, gate.noted.len() - settled) {
        _ if inconclusive > 0 => (Tone::Middling, "but it is inconclusive whether the program became worse"),
        (0, 0) => (Tone::Good, "no new step for the worse"),
        (0, _) => (Tone::Middling, "no new step for the worse is known"),
        (_, 0) => (Tone::Good, "each new step for the worse is ignored, fixed, a quirk, or caused by layout"),
        (_, _) => (Tone::Middling, "each known new step for the worse is ignored, fixed, a quirk, or caused by layout"),
    };
    gate_result(gate, if_open, finding, style)
}

fn finding(found: &Finding<'_>) -> String {
    match *found {
        Finding::Worse { series, step } => worse(series, step),
        Finding::Settled { series, step } => format!("{}{}", worse(series, step), settled_reason(step)),
        Finding::Inconclusive { series, step } => format!("{}: {}", worse(series, step), doubt(step, &UNICODE)),
        Finding::TooShort(series) => {
            format!(
                "{}: inconclusive: {} measured commits are too few to find steps",
                series_name(series),
                series.steps.unjudged
            )
        }
        Finding::Unjudged(series) => {
            let newest = if matches!(series.steps.basis, StepBasis::Seeds { .. }) { "" } else { "the newest " };
            format!(
                "{}: at {newest}{} measured commits no step can be found yet",
                series_name(series),
                series.steps.unjudged
            )
        }
    }
}

fn worse(series: &HistorySeries, found: &HistoryStep) -> String {
    let [after, by] = ends(series, found);
    let worse = series.quantity.worse();
    format!("{}: {worse} after {after}, by {by}: {}", series_name(series), step(found, &UNICODE))
}

/// A person's reason for a settled change.
fn settled_reason(step: &HistoryStep) -> String {
    let reason = step.state.last().and_then(|event| event.reason.as_deref());
    reason.map_or_else(String::new, |reason| format!(" ({})", one_line(reason)))
}

/// The confirmation of a mark, in one line.
pub fn history_marked(series: &HistorySeries, step: &HistoryStep, state: ChangeState) -> String {
    let [after, by] = ends(series, step);
    let what = format!("{}, {}", change(step, &UNICODE), kind(step));
    format!("{}: the step after {after}, by {by} ({what}) is marked as {}\n", series_name(series), state.word())
}

fn series_name(series: &HistorySeries) -> String {
    format!("{} at {}", one_line(&series.subject), series.tasks)
}
