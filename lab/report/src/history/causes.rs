//! Causes of a step in words: quirks, which changed the environment, and the layout, as random
//! layouts showed.

use crate::bisect::words::{left_out, spread, why_none};
use crate::escape::{cut, one_line};
use crate::figure::percent;
use crate::style::Signs;
use crate::{facts, figure};
use faultline_record::commit::short_name;
use faultline_stats::bisect::{Change, StepLabel};
use faultline_stats::history::{Blame, HistoryPoint, HistorySeries, HistoryStep};
use faultline_stats::history::{BootSpread, ShareOfStep, StepLayouts};
use faultline_stats::history::{CauseLabel, ChangedFact, Quirk, QuirkPlace, StepCause};

/// Maximum letters of a text from outside.
const LETTERS: usize = 100;

/// Facts listed per quirk.
const LISTED: usize = 4;

/// The letters of the quirks in whose environment a commit was measured.
pub(super) fn of_point(series: &HistorySeries, position: u32, point: &HistoryPoint) -> String {
    let quirks = series.quirks.iter().enumerate();
    let letters = quirks.filter(|(number, quirk)| holds(*number, quirk, position, point));
    letters.map(|(_, quirk)| quirk.letter.as_str()).collect::<Vec<_>>().join(" ")
}

/// True if a commit was measured in the environment of a quirk. `number`: the quirk's number in its
/// series.
pub(crate) fn holds(number: usize, quirk: &Quirk, position: u32, point: &HistoryPoint) -> bool {
    match quirk.place {
        QuirkPlace::Runs { .. } => point.run.is_some() && number < point.environment as usize,
        QuirkPlace::Commits { first, last } => (first..=last).contains(&position),
    }
}

/// Suffix of a step's words, if quirks lie within its range.
pub(super) fn by_quirks(step: &HistoryStep) -> String {
    let Some(StepCause { quirks, label, .. }) = &step.cause else { return String::new() };
    let letters = quirks.join(", ");
    let quirk = if quirks.len() == 1 { "quirk" } else { "quirks" };
    match label {
        CauseLabel::Quirk => format!(", {quirk} {letters}"),
        CauseLabel::MostlyQuirk => format!(", mostly {quirk} {letters}"),
        CauseLabel::Code => format!(", code (not {quirk} {letters})"),
        CauseLabel::Inconclusive => format!(", code or {quirk} {letters}"),
    }
}

/// The cause of a step in a word; empty without quirks.
pub(super) fn cause_word(step: &HistoryStep) -> &'static str {
    match step.cause.as_ref().map(|cause| cause.label) {
        None => "",
        Some(CauseLabel::Code) => "code",
        Some(CauseLabel::Quirk) => "quirk",
        Some(CauseLabel::MostlyQuirk) => "mostly-quirk",
        Some(CauseLabel::Inconclusive) => "inconclusive",
    }
}

/// The doubt about a step caused by program or environment.
fn quirk_doubt(step: &HistoryStep) -> String {
    let of_commits = step.cause.as_ref().and_then(|cause| cause.of_commits.as_ref());
    let part = of_commits.map_or_else(
        || "the program or the environment may have changed".to_owned(),
        |part| format!("the commits may have changed it by {} to {}", share(part.low), share(part.high)),
    );
    format!("inconclusive: {part}")
}

/// The shares of environment and commits in a step, if known.
pub(super) fn quirk_parts(step: &HistoryStep, signs: &Signs) -> Option<String> {
    let cause = step.cause.as_ref()?;
    let (environment, commits) = (cause.of_environment.as_ref()?, cause.of_commits.as_ref()?);
    Some(format!("share of the environment: {}; of the commits: {}", span(environment, signs), span(commits, signs)))
}

fn span(change: &Change, signs: &Signs) -> String {
    if change.low == change.high {
        return share(change.ratio);
    }
    format!("{} ({} {} {})", share(change.ratio), share(change.low), signs.to, share(change.high))
}

/// The doubt about a step that a gate reports.
pub(super) fn doubt(step: &HistoryStep, signs: &Signs) -> String {
    layout_doubt(step, signs).unwrap_or_else(|| quirk_doubt(step))
}

/// A ratio as a percentage change.
fn share(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

/// A sentence per quirk, and the remarks on all.
pub(super) fn quirk_sentences(series: &HistorySeries, signs: &Signs) -> Vec<String> {
    let each = series.quirks.iter().map(|quirk| quirk_sentence(series, quirk, signs));
    each.chain(quirk_remarks(series)).collect()
}

/// The meaning of the labels of steps, and quirks without a place.
pub(crate) fn quirk_remarks(series: &HistorySeries) -> Vec<String> {
    let mut said = Vec::new();
    let least = percent(series.steps.least_change);
    let of_labels = [
        ("quirk", format!("quirk: the environment changed the value; the commits changed it by at most {least}.")),
        (
            "mostly-quirk",
            format!(
                "mostly quirk: the environment caused at least half of the step. The commits may have changed the value by more than \
                 {least}; more executions (`repeats`) make this more precise."
            ),
        ),
        (
            "inconclusive",
            "code or quirk: no commit measured in both environments decides between them. `faultline history run` measures one in \
             a new environment; more executions (`repeats`) make this more precise."
                .to_owned(),
        ),
    ];
    let has = |label: &str| series.steps.steps.iter().any(|step| cause_word(step) == label);
    said.extend(of_labels.into_iter().filter(|(label, _)| has(label)).map(|(_, sentence)| sentence));
    said.extend(series.unplaced_quirks.iter().map(|what| {
        format!(
            "The declared quirk '{}' has no place: the history lacks some of its commits, or the last one precedes the first.",
            text(what)
        )
    }));
    said
}

/// A quirk: place, changes, and bridge.
pub(crate) fn quirk_sentence(series: &HistorySeries, quirk: &Quirk, signs: &Signs) -> String {
    let name = |position: u32| series.commit(position).map_or("", |commit| short_name(&commit.id));
    let place = match quirk.place {
        QuirkPlace::Runs { since, began, .. } => format!("since run {since} ({})", figure::date_time(began)),
        QuirkPlace::Commits { first, last } => format!("commits {} to {}", name(first), name(last)),
    };
    let declared = quirk.declared.iter().map(|what| format!("{} (declared)", text(what)));
    let more = quirk.changed.len().saturating_sub(LISTED);
    let more = (more > 0).then(|| format!("and {more} more facts"));
    let facts = quirk.changed.iter().take(LISTED).map(changed);
    let what: Vec<String> = declared.chain(facts).chain(more).collect();
    let bridge = match (&quirk.bridge, quirk.place) {
        (_, QuirkPlace::Commits { .. }) => " Not measured: it belongs to the commits.".to_owned(),
        (None, QuirkPlace::Runs { .. }) => " Not bridged: no commit was measured both before and after it.".to_owned(),
        (Some(bridge), QuirkPlace::Runs { .. }) => {
            format!(" Bridged by {}: {} after it.", name(bridge.commit), span(&bridge.change, signs))
        }
    };
    format!("Quirk {}, {place}: {}.{bridge}", quirk.letter, what.join("; "))
}

fn changed(fact: &ChangedFact) -> String {
    let name = if fact.key.contains(' ') { format!("`{}`", text(&fact.key)) } else { facts::name(&fact.key) };
    match (&fact.before, &fact.now) {
        (None, None) => format!("{} changed", text(&fact.key)),
        (before, now) => {
            let value = |value: &Option<String>| {
                value.as_deref().map_or_else(|| "none".to_owned(), |value| format!("'{}'", text(value)))
            };
            format!("{name} was {}, is {}", value(before), value(now))
        }
    }
}

fn text(text: &str) -> String {
    cut(&one_line(text), LETTERS)
}

/// The label of a step that is mostly caused by layout, while the rest may still be a step.
const MOSTLY_LAYOUT: &str = "mostly-layout";

/// Suffix of a step's words, if random layouts were tried.
pub(super) fn by_layouts(step: &HistoryStep) -> &'static str {
    match layout_word(step) {
        "code" => ", code (not the layout)",
        "layout" => ", layout",
        MOSTLY_LAYOUT => ", mostly layout",
        "inconclusive" => ", code or layout",
        _ => "",
    }
}

/// A step's label from random layouts; empty without them.
pub(super) fn layout_word(step: &HistoryStep) -> &'static str {
    let Some(layouts) = step.layouts else { return "" };
    match layouts.label {
        StepLabel::Code => "code",
        StepLabel::Layout if layouts.is_mostly_layout() => MOSTLY_LAYOUT,
        StepLabel::Layout => "layout",
        StepLabel::Inconclusive | StepLabel::Quirk => "inconclusive",
    }
}

/// The doubt about a step caused by code or layout; `None` if layouts leave no doubt.
fn layout_doubt(step: &HistoryStep, signs: &Signs) -> Option<String> {
    let layouts = step.layouts.filter(|layouts| layouts.blame() == Blame::Inconclusive)?;
    let what = match (layouts.is_mostly_layout(), &layouts.of_commits) {
        (true, Some(part)) => format!(
            "the layout caused most of the step, but the code may have caused the remaining {}",
            of_commits(part, signs)
        ),
        _ => "random layouts do not decide between code and layout".to_owned(),
    };
    Some(format!("inconclusive: {what}"))
}

/// The share of the commits: `+4.1 % (99 % interval: +3.3 % … +4.9 %)`.
fn of_commits(part: &ShareOfStep, signs: &Signs) -> String {
    let [share, low, high] = [part.share, part.low, part.high].map(|share| format!("{:+.1} %", 100.0 * share));
    format!("{share} (99 % interval: {low} {} {high})", signs.to)
}

/// The results of random layouts, and the spread between and within boots.
pub(super) fn layout_log(step: &HistoryStep, signs: &Signs) -> Vec<String> {
    let layouts = step.layouts.as_ref().map(|layouts| of_layouts(layouts, signs));
    layouts.into_iter().chain(step.boots.as_ref().map(of_boots)).collect()
}

fn of_layouts(layouts: &StepLayouts, signs: &Signs) -> String {
    let tried = &layouts.tried;
    if tried.distinct == 0 {
        return format!("not measured in other layouts: {}", why_none(tried));
    }
    let remains = layouts.remains.map_or_else(
        || "are too few to estimate how much of the step remains".to_owned(),
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
        format!(" A label needs {} measured on both sides.", StepLayouts::FEWEST)
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

/// The meaning of the labels that steps of a series have.
pub(super) fn layout_remarks(series: &HistorySeries) -> Vec<String> {
    let least = percent(series.steps.least_change);
    let of_labels = [
        (
            "layout",
            format!(
                "layout: the step disappears if the linker puts code and data in other places. What remains is less than {least}, with \
                 a confidence level of 99 %."
            ),
        ),
        (
            MOSTLY_LAYOUT,
            format!(
                "mostly layout: less than half of the step remains if the linker puts code and data in other places. The rest may be \
                 {least} or more, and so a step of the code; more layouts (`commit_layouts` in faultline.toml) make this more \
                 precise."
            ),
        ),
        (
            "inconclusive",
            "code or layout: random layouts of the commits on both sides do not decide between them. More of them \
             (`commit_layouts` in faultline.toml) make this more precise."
                .to_owned(),
        ),
    ];
    let has = |label: &str| series.steps.steps.iter().any(|step| layout_word(step) == label);
    of_labels.into_iter().filter(|(label, _)| has(label)).map(|(_, sentence)| sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{ASCII, UNICODE};
    use faultline_stats::bisect::LayoutsTried;

    const TRIED: LayoutsTried =
        LayoutsTried { tried: 9, distinct: 8, unchanged: 0, failed: 1, between: Some(0.014), within: Some(0.008) };

    fn layouts(label: StepLabel, remains: Option<ShareOfStep>, tried: LayoutsTried) -> StepLayouts {
        StepLayouts { label, remains, of_commits: None, is_no_step: false, tried }
    }

    #[test]
    fn the_remainder_of_a_layout_step_is_reported_as_a_change_too() {
        let remains = Some(ShareOfStep { share: 0.4, low: 0.35, high: 0.45 });
        let of_commits = Some(ShareOfStep { share: 0.041, low: 0.033, high: 0.049 });
        let told = of_layouts(&StepLayouts { of_commits, ..layouts(StepLabel::Layout, remains, TRIED) }, &UNICODE);
        let change = "40 % of the step remain (95 % interval: 35 … 45 %), where 100 % is code and 0 % is layout, which is a change of +4.1 % (99 % interval: +3.3 % … +4.9 %). ";
        assert!(told.contains(change), "{told}");
    }

    #[test]
    fn the_remainder_is_reported_with_all_that_varies() {
        let remains = Some(ShareOfStep { share: 0.93, low: 0.815, high: 1.062 });
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
        assert!(of_layouts(&too_few, &ASCII).contains("are too few to estimate how much of the step remains"));
        let few = LayoutsTried { distinct: 7, ..TRIED };
        let remains = Some(ShareOfStep { share: 0.93, low: 0.815, high: 1.062 });
        let told = of_layouts(&layouts(StepLabel::Inconclusive, remains, few), &UNICODE);
        assert!(told.contains(" A label needs 8 measured on both sides. Standard deviation"), "{told}");
        let tried = LayoutsTried { tried: 2, distinct: 0, unchanged: 2, failed: 0, between: None, within: None };
        let none = layouts(StepLabel::Inconclusive, None, tried);
        assert!(
            of_layouts(&none, &ASCII).starts_with("not measured in other layouts: with 2 of 2 layouts the linker's")
        );
    }
}
