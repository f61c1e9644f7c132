//! Whether results of two runs belong to one series.

use faultline_model::history::Differing;
use faultline_model::plan::{HistorySettings, LineMeasure, Settings};
use faultline_model::recipe::Recipe;

/// What makes results of two runs of a subject incomparable; `None` if they belong to one series. The commits, the number of executions, and time limits may
/// differ, and so may the tools, which is a quirk.
pub fn differing(a: (&Settings, &HistorySettings), b: (&Settings, &HistorySettings)) -> Option<Differing> {
    let ((settings_a, a), (settings_b, b)) = (a, b);
    let is_counted = matches!(a.measure, LineMeasure::Counted(_));
    [
        (Differing::Recipe, !builds_the_same(&a.recipe, &b.recipe)),
        (Differing::Command, a.artefact != b.artefact),
        (Differing::Measure, a.measure != b.measure),
        (Differing::Seed, is_counted && settings_a.seed != settings_b.seed),
        (Differing::Tools, a.tools.is_some() != b.tools.is_some()),
        (Differing::Machine, a.machine != b.machine),
    ]
    .into_iter()
    .find_map(|(what, differs)| differs.then_some(what))
}

fn builds_the_same(a: &Recipe, b: &Recipe) -> bool {
    Recipe { limit_s: 0, ..a.clone() } == Recipe { limit_s: 0, ..b.clone() }
}
