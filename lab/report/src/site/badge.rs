//! What is known of a step, as badges: how certain it is, and its state. Each has a sign, so that it needs no colour.

use crate::history::words;
use crate::one_line::one_line;
use faultline_model::changes::Effect;
use faultline_model::history::HistoryStep;
use faultline_model::history::certainty::Certainty;
use faultline_model::history::change::ChangeState;
use maud::{Markup, html as markup};

/// A badge. `class`: `good`, `bad`, `partly` or `quiet`.
pub(super) fn badge(class: &str, sign: &str, text: &str) -> Markup {
    markup! { span.badge.(class) { span.sign aria-hidden="true" { (sign) } " " (one_line(text)) } }
}

/// Whether a step is for the better, and how certain it is.
pub(super) fn kind(step: &HistoryStep) -> Markup {
    let (class, sign) = match (step.certainty(), step.effect) {
        (Certainty::Certain, Effect::Worse) => ("bad", "▼"),
        (Certainty::Certain, Effect::Better) => ("good", "▲"),
        (Certainty::Provisional | Certainty::Inconclusive, _) => ("partly", "?"),
        (Certainty::Layout | Certainty::Quirk, _) => ("quiet", "~"),
    };
    badge(class, sign, &words::kind(step))
}

/// The state of a step.
pub(super) fn state(step: &HistoryStep) -> Markup {
    let (class, sign) = match (step.state.now, step.effect) {
        (ChangeState::Found, _) => ("quiet", "•"),
        (ChangeState::Confirmed, Effect::Worse) => ("bad", "!"),
        (ChangeState::Confirmed, Effect::Better) => ("good", "!"),
        (ChangeState::Ignored, _) => ("quiet", "–"),
        (ChangeState::Fixed, _) => ("good", "✓"),
    };
    badge(class, sign, step.state.now.word())
}
