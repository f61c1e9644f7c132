//! What random layouts and boots tell of a step, in words.

use crate::drill::layouts::{left_out, spread, why_none};
use crate::figure::percent;
use crate::style::Signs;
use faultline_model::drill::StepLabel;
use faultline_model::history::layouts::{BootSpread, Part, StepLayouts};
use faultline_model::history::{Blame, HistorySeries, HistoryStep};

/// The label of a step of which most is the layout's, and what remains may be a step nevertheless.
const MOSTLY_LAYOUT: &str = "mostly-layout";

/// What follows the words for a step, if random layouts were tried.
pub(super) fn of_step(step: &HistoryStep) -> &'static str {
    match word(step) {
        "code" => ", code (not the layout)",
        "layout" => ", layout",
        MOSTLY_LAYOUT => ", mostly layout",
        "inconclusive" => ", code or layout",
        _ => "",
    }
}

/// The label of a step by random layouts; empty without them.
pub(super) fn word(step: &HistoryStep) -> &'static str {
    let Some(layouts) = step.layouts else { return "" };
    match layouts.label {
        StepLabel::Code => "code",
        StepLabel::Layout if layouts.is_mostly_layout() => MOSTLY_LAYOUT,
        StepLabel::Layout => "layout",
        StepLabel::Inconclusive | StepLabel::Quirk => "inconclusive",
    }
}

/// What is not shown of a step that the code or the layout made; `None` if layouts leave no doubt.
pub(super) fn doubt(step: &HistoryStep, signs: &Signs) -> Option<String> {
    let layouts = step.layouts.filter(|layouts| layouts.blame() == Blame::Inconclusive)?;
    let what = match (layouts.is_mostly_layout(), &layouts.of_commits) {
        (true, Some(part)) => format!(
            "the layout made most of the step, but the code may have made the {} that remain",
            of_commits(part, signs)
        ),
        _ => "random layouts do not tell whether the code changed it, or only its layout".to_owned(),
    };
    Some(format!("inconclusive: {what}"))
}

/// `+4.1 % (99 % interval: +3.3 % … +4.9 %)`.
fn of_commits(part: &Part, signs: &Signs) -> String {
    let [share, low, high] = [part.share, part.low, part.high].map(|share| format!("{:+.1} %", 100.0 * share));
    format!("{share} (99 % interval: {low} {} {high})", signs.to)
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
            format!(
                "{share} % of the step remain (95 % interval: {low} {} {high} %), where 100 % is code and 0 % is layout",
                signs.to
            )
        },
    );
    let change = layouts.of_commits.filter(|_| layouts.label == StepLabel::Layout);
    let change = change.map_or_else(String::new, |part| format!(", which is a change of {}", of_commits(&part, signs)));
    let left_out = left_out(tried);
    let left_out = if left_out.is_empty() { left_out } else { format!(" ({left_out})") };
    let too_few = if tried.distinct < StepLayouts::FEWEST {
        format!(" A label needs {} that were measured on both sides.", StepLayouts::FEWEST)
    } else {
        String::new()
    };
    format!("in {} random layouts{left_out} {remains}{change}.{too_few}{}", tried.distinct, spread(tried))
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
    let least = percent(series.steps.least_change);
    let of_labels = [
        (
            "layout",
            format!(
                "layout: the step is gone when the linker puts code and data in other places. What remains of it is less than {least}, with a confidence \
                 level of 99 %."
            ),
        ),
        (
            MOSTLY_LAYOUT,
            format!(
                "mostly layout: less than half of the step remains when the linker puts code and data in other places. What remains may be {least} or more, and \
                 so a step of the code; more layouts (`commit_layouts` in faultline.toml) make it more precise."
            ),
        ),
        (
            "inconclusive",
            "code or layout: random layouts of the commits on both sides do not tell which. More of them (`commit_layouts` in faultline.toml) make it more precise."
                .to_owned(),
        ),
    ];
    let has = |label: &str| series.steps.steps.iter().any(|step| word(step) == label);
    of_labels.into_iter().filter(|(label, _)| has(label)).map(|(_, sentence)| sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{ASCII, UNICODE};
    use faultline_model::drill::LayoutsTried;

    const TRIED: LayoutsTried =
        LayoutsTried { tried: 9, distinct: 8, unchanged: 0, failed: 1, between: Some(0.014), within: Some(0.008) };

    fn layouts(label: StepLabel, remains: Option<Part>, tried: LayoutsTried) -> StepLayouts {
        StepLayouts { label, remains, of_commits: None, is_no_step: false, tried }
    }

    #[test]
    fn what_remains_of_a_step_of_the_layout_is_told_as_a_change_too() {
        let remains = Some(Part { share: 0.4, low: 0.35, high: 0.45 });
        let of_commits = Some(Part { share: 0.041, low: 0.033, high: 0.049 });
        let told = of_layouts(&StepLayouts { of_commits, ..layouts(StepLabel::Layout, remains, TRIED) }, &UNICODE);
        let change = "40 % of the step remain (95 % interval: 35 … 45 %), where 100 % is code and 0 % is layout, which is a change of +4.1 % (99 % interval: +3.3 % … +4.9 %). ";
        assert!(told.contains(change), "{told}");
    }

    #[test]
    fn the_part_that_remains_is_told_with_all_that_varies() {
        let remains = Some(Part { share: 0.93, low: 0.815, high: 1.062 });
        assert_eq!(
            of_layouts(&layouts(StepLabel::Code, remains, TRIED), &UNICODE),
            "in 8 random layouts (1 more failed) 93 % of the step remain (95 % interval: 82 … 106 %), where 100 % is code and 0 % is layout. \
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
        let too_few = layouts(StepLabel::Inconclusive, None, TRIED);
        assert!(of_layouts(&too_few, &ASCII).contains("are too few to tell how much of the step remains"));
        let few = LayoutsTried { distinct: 7, ..TRIED };
        let remains = Some(Part { share: 0.93, low: 0.815, high: 1.062 });
        let told = of_layouts(&layouts(StepLabel::Inconclusive, remains, few), &UNICODE);
        assert!(told.contains(" A label needs 8 that were measured on both sides. Standard deviation"), "{told}");
        let tried = LayoutsTried { tried: 2, distinct: 0, unchanged: 2, failed: 0, between: None, within: None };
        let none = layouts(StepLabel::Inconclusive, None, tried);
        assert!(
            of_layouts(&none, &ASCII).starts_with("not measured in other layouts: with 2 of 2 layouts the linker's")
        );
    }
}
