//! What random layouts of the commits on both sides of a step told.

use super::{change_words, label, short};
use faultline_model::commit::CommitLine;
use faultline_model::drill::{DrillStep, LayoutsTried};

/// What they told; `None` if none were tried.
pub(super) fn sentence(step: &DrillStep, line: &CommitLine) -> Option<String> {
    let tried = step.layouts.as_ref()?;
    let commit = short(line, step.after);
    if tried.distinct == 0 {
        return Some(format!("{commit} was not measured in other layouts: {}.", why_none(tried)));
    }
    let change = match &step.under_layouts {
        Some(change) => {
            format!("the change is {}, so the step is labelled {}", change_words(change), label(step.label))
        }
        None => format!("the change has no interval; the step is labelled {}", label(step.label)),
    };
    let left_out = left_out(tried);
    let left_out = if left_out.is_empty() { left_out } else { format!(" ({left_out})") };
    Some(format!("{commit}: in {} random layouts{left_out} {change}.{}", tried.distinct, spread(tried)))
}

/// Why no layout could be measured.
pub(crate) fn why_none(tried: &LayoutsTried) -> String {
    if tried.unchanged == 0 {
        return format!("with {} of {} layouts a commit cannot be linked or does not run", tried.failed, tried.tried);
    }
    format!(
        "with {} of {} layouts the linker's output had the same places of code and data, because it is not GNU ld, has a script of its own, or has nothing to move",
        tried.unchanged, tried.tried
    )
}

/// Layouts that were tried and are not measured; empty if there are none.
pub(crate) fn left_out(tried: &LayoutsTried) -> String {
    let same = tried.tried.saturating_sub(tried.distinct + tried.unchanged + tried.failed);
    let kinds = [(same, "are the same as others"), (tried.unchanged, "changed nothing"), (tried.failed, "failed")];
    let shown: Vec<String> =
        kinds.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} more {what}")).collect();
    shown.join(", ")
}

/// How much values vary between layouts and within one; empty if that is not known.
pub(crate) fn spread(tried: &LayoutsTried) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    match (tried.between, tried.within) {
        (Some(between), Some(within)) => format!(
            " Standard deviation between layouts of one commit: {}; between executions of one layout: {}.",
            percent(between),
            percent(within)
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::drill::{Change, StepLabel};

    fn told(tried: LayoutsTried, under_layouts: Option<Change>, label: StepLabel) -> String {
        let line = CommitLine { commits: Vec::new() };
        let step = DrillStep {
            before: 1,
            after: 2,
            candidates: vec![2],
            probability: 1.0,
            confirmed: true,
            change: None,
            values: None,
            label,
            under_layouts,
            layouts: Some(tried),
            of_surroundings: None,
            of_commits: None,
            reverted: None,
            explained: None,
            moved: None,
            counters: Vec::new(),
        };
        sentence(&step, &line).unwrap()
    }

    #[test]
    fn the_change_in_random_layouts_and_both_spreads_are_told() {
        let tried =
            LayoutsTried { tried: 12, distinct: 9, unchanged: 1, failed: 1, between: Some(0.014), within: Some(0.008) };
        let change = Change { ratio: 1.002, low: 0.99, high: 1.01, units: 9 };
        assert_eq!(
            told(tried, Some(change), StepLabel::Layout),
            ": in 9 random layouts (1 more are the same as others, 1 more changed nothing, 1 more failed) the change is +0.2 % (-1.0 … +1.0), so the \
             step is labelled layout. Standard deviation between layouts of one commit: 1.4 %; between executions of one layout: 0.8 %."
        );
    }

    #[test]
    fn layouts_that_change_nothing_are_told() {
        let tried = LayoutsTried { tried: 2, distinct: 0, unchanged: 2, failed: 0, between: None, within: None };
        let told = told(tried, None, StepLabel::Inconclusive);
        assert!(told.contains("with 2 of 2 layouts the linker's output had the same places"), "{told}");
    }
}
