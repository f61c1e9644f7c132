//! What a gate found of histories, in words.

use super::{ends, words};
use crate::gate;
use crate::one_line::one_line;
use crate::quantity::Quantity;
use crate::style::{Style, Tone, UNICODE};
use faultline_model::gate::Gate;
use faultline_model::history::HistorySeries;
use faultline_model::history::gate::Finding;

/// What a gate found of histories, for people.
pub fn history_gate(gate: &Gate<Finding<'_>>, style: &Style) -> String {
    let if_open = match gate.noted.as_slice() {
        [] => (Tone::Good, "no new step for the worse"),
        _ => (Tone::Middling, "no new step for the worse is known"),
    };
    gate::told(gate, if_open, line, style)
}

fn line(found: &Finding<'_>) -> String {
    match *found {
        Finding::Worse { series, step } => {
            let [after, by] = ends(series, step);
            let worse = Quantity::counted(series.counted).worse();
            let what = format!("{}, {}", words::change(step, &UNICODE), words::kind(step));
            format!("{}: {worse} after {after}, by {by}: {what}", name(series))
        }
        Finding::TooShort(series) => {
            format!(
                "{}: inconclusive: {} measured commits are too few to find steps",
                name(series),
                series.steps.unjudged
            )
        }
        Finding::Unjudged(series) => {
            format!(
                "{}: at the newest {} measured commits no step can be found yet",
                name(series),
                series.steps.unjudged
            )
        }
    }
}

fn name(series: &HistorySeries) -> String {
    format!("{} at {}", one_line(&series.subject), series.tasks)
}
