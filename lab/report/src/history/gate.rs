//! What a gate found of histories, in words.

use super::{ends, layouts, quirks, words};
use crate::gate;
use crate::one_line::one_line;
use crate::quantity::Quantity;
use crate::style::{Style, Tone, UNICODE};
use faultline_model::gate::Gate;
use faultline_model::history::change::ChangeState;
use faultline_model::history::gate::Finding;
use faultline_model::history::{HistorySeries, HistoryStep, StepBasis};

/// What a gate found of histories, for people.
pub fn history_gate(gate: &Gate<Finding<'_>>, style: &Style) -> String {
    let number = |is_it: fn(&Finding<'_>) -> bool| gate.noted.iter().filter(|found| is_it(found)).count();
    let settled = number(|found| matches!(found, Finding::Settled { .. }));
    let inconclusive = number(|found| matches!(found, Finding::Inconclusive { .. }));
    let if_open = match (settled, gate.noted.len() - settled) {
        _ if inconclusive > 0 => (Tone::Middling, "but it is inconclusive whether the program became worse"),
        (0, 0) => (Tone::Good, "no new step for the worse"),
        (0, _) => (Tone::Middling, "no new step for the worse is known"),
        (_, 0) => (Tone::Good, "each new step for the worse is ignored, fixed, a quirk, or of the layout"),
        (_, _) => {
            (Tone::Middling, "each new step for the worse that is known is ignored, fixed, a quirk, or of the layout")
        }
    };
    gate::told(gate, if_open, line, style)
}

fn line(found: &Finding<'_>) -> String {
    match *found {
        Finding::Worse { series, step } => worse(series, step),
        Finding::Settled { series, step } => format!("{}{}", worse(series, step), why(step)),
        Finding::Inconclusive { series, step } => format!("{}: {}", worse(series, step), doubt(step)),
        Finding::TooShort(series) => {
            format!(
                "{}: inconclusive: {} measured commits are too few to find steps",
                name(series),
                series.steps.unjudged
            )
        }
        Finding::Unjudged(series) => {
            let newest = if matches!(series.steps.basis, StepBasis::Seeds { .. }) { "" } else { "the newest " };
            format!("{}: at {newest}{} measured commits no step can be found yet", name(series), series.steps.unjudged)
        }
    }
}

fn worse(series: &HistorySeries, step: &HistoryStep) -> String {
    let [after, by] = ends(series, step);
    let worse = Quantity::counted(series.counted).worse();
    format!("{}: {worse} after {after}, by {by}: {}", name(series), words::step(step, &UNICODE))
}

/// What is not shown of a step.
fn doubt(step: &HistoryStep) -> String {
    layouts::doubt(step, &UNICODE).unwrap_or_else(|| quirks::doubt(step))
}

/// Why a change is settled, if somebody said so.
fn why(step: &HistoryStep) -> String {
    let reason = step.state.last().and_then(|event| event.reason.as_deref());
    reason.map_or_else(String::new, |reason| format!(" ({})", one_line(reason)))
}

/// What was said of a step, in a line.
pub fn history_marked(series: &HistorySeries, step: &HistoryStep, state: ChangeState) -> String {
    let [after, by] = ends(series, step);
    let what = format!("{}, {}", words::change(step, &UNICODE), words::kind(step));
    format!("{}: the step after {after}, by {by} ({what}) is marked as {}\n", name(series), state.word())
}

fn name(series: &HistorySeries) -> String {
    format!("{} at {}", one_line(&series.subject), series.tasks)
}
