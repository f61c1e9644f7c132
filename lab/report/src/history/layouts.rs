//! What random layouts and boots tell of a step, in words.

use crate::drill::layouts::{left_out, spread, why_none};
use crate::figure::percent;
use crate::style::Signs;
use faultline_model::drill::StepLabel;
use faultline_model::history::layouts::{BootSpread, StepLayouts};
use faultline_model::history::{HistorySeries, HistoryStep};

/// What follows the words for a step, if random layouts were tried.
pub(super) fn of_step(step: &HistoryStep) -> &'static str {
    match step.layouts.map(|layouts| layouts.label) {
        None => "",
        Some(StepLabel::Code) => ", code (not the layout)",
        Some(StepLabel::Layout) => ", layout",
        Some(StepLabel::Inconclusive | StepLabel::Quirk) => ", code or layout",
    }
}

/// The label of a step by random layouts; empty without them.
pub(super) fn word(step: &HistoryStep) -> &'static str {
    match step.layouts.map(|layouts| layouts.label) {
        None => "",
        Some(StepLabel::Code) => "code",
        Some(StepLabel::Layout) => "layout",
        Some(StepLabel::Inconclusive | StepLabel::Quirk) => "inconclusive",
    }
}

/// What is not shown of a step that the code or the layout made; `None` if layouts leave no doubt.
pub(super) fn doubt(step: &HistoryStep) -> Option<&'static str> {
    let is_open = step.layouts.is_some_and(|layouts| layouts.label == StepLabel::Inconclusive);
    is_open.then_some("inconclusive: random layouts do not tell whether the code changed it, or only its layout")
}

/// What layouts tell, and how much values vary between boots and within one.
pub(super) fn log(step: &HistoryStep, signs: &Signs) -> Vec<String> {
    let layouts = step.layouts.as_ref().map(|layouts| of_layouts(layouts, signs));
    layouts.into_iter().chain(step.boots.as_ref().map(of_boots)).collect()
}

fn of_layouts(layouts: &StepLayouts, signs: &Signs) -> String {
    let tried = &layouts.tried;
    if tried.distinct == 0 {
        return format!("not measured in other layouts: {}", why_none(tried));
    }
    let remains = layouts.remains.map_or_else(
        || "are too few to tell how much of the step remains".to_owned(),
        |part| {
            let [share, low, high] = [part.share, part.low, part.high].map(|share| format!("{:.0}", 100.0 * share));
            format!("{share} % of the step remain ({low} {} {high}), where 100 % is code and 0 % is layout", signs.to)
        },
    );
    let left_out = left_out(tried);
    let left_out = if left_out.is_empty() { left_out } else { format!(" ({left_out})") };
    format!("in {} random layouts{left_out} {remains}.{}", tried.distinct, spread(tried))
}

fn of_boots(boots: &BootSpread) -> String {
    format!(
        "Standard deviation between {} boots of one build: {}; between executions within a boot: {}.",
        boots.boots,
        percent(boots.between),
        percent(boots.within)
    )
}

/// What the labels mean that steps of a series have.
pub(super) fn remarks(series: &HistorySeries) -> Vec<String> {
    let of_labels = [
        (
            "layout",
            "layout: less than half of the step remains when the linker puts code and data in other places, so its commits need not be changed.",
        ),
        (
            "inconclusive",
            "code or layout: random layouts of the commits on both sides do not tell which. More of them (`commit_layouts` in faultline.toml), or `faultline history \
             drill --layouts N`, make it more precise.",
        ),
    ];
    let has = |label: &str| series.steps.steps.iter().any(|step| word(step) == label);
    of_labels.into_iter().filter(|(label, _)| has(label)).map(|(_, sentence)| sentence.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{ASCII, UNICODE};
    use faultline_model::drill::LayoutsTried;
    use faultline_model::history::layouts::Part;

    const TRIED: LayoutsTried =
        LayoutsTried { tried: 9, distinct: 8, unchanged: 0, failed: 1, between: Some(0.014), within: Some(0.008) };

    #[test]
    fn the_part_that_remains_is_told_with_all_that_varies() {
        let remains = Some(Part { share: 0.93, low: 0.815, high: 1.062 });
        let layouts = StepLayouts { label: StepLabel::Code, remains, tried: TRIED };
        assert_eq!(
            of_layouts(&layouts, &UNICODE),
            "in 8 random layouts (1 more failed) 93 % of the step remain (82 … 106), where 100 % is code and 0 % is layout. \
             Standard deviation between layouts of one commit: 1.4 %; between executions of one layout: 0.8 %."
        );
        let boots = BootSpread { boots: 3, between: 0.02, within: 0.005 };
        let told = of_boots(&boots);
        assert_eq!(
            told,
            "Standard deviation between 3 boots of one build: 2.0 %; between executions within a boot: 0.5 %."
        );
    }

    #[test]
    fn too_few_layouts_claim_nothing() {
        let layouts = StepLayouts { label: StepLabel::Inconclusive, remains: None, tried: TRIED };
        assert!(of_layouts(&layouts, &ASCII).contains("are too few to tell how much of the step remains"));
        let tried = LayoutsTried { tried: 2, distinct: 0, unchanged: 2, failed: 0, between: None, within: None };
        let none = StepLayouts { label: StepLabel::Inconclusive, remains: None, tried };
        assert!(
            of_layouts(&none, &ASCII).starts_with("not measured in other layouts: with 2 of 2 layouts the linker's")
        );
    }
}
