//! Quirks of a series in words: what changed, how it is bridged, and what that says of steps.

use crate::fact_words;
use crate::figure::percent;
use crate::moment;
use crate::one_line::{cut, one_line};
use crate::style::Signs;
use faultline_model::commit::short_name;
use faultline_model::drill::Change;
use faultline_model::history::quirk::{CauseLabel, ChangedFact, Quirk, QuirkPlace, StepCause};
use faultline_model::history::{HistoryPoint, HistorySeries, HistoryStep};

/// Letters of a text of others that are shown.
const LETTERS: usize = 100;

/// Facts that are listed of a quirk.
const LISTED: usize = 4;

/// The quirks in whose surroundings a commit was measured.
pub(super) fn of_point(series: &HistorySeries, position: u32, point: &HistoryPoint) -> String {
    let quirks = series.quirks.iter().enumerate();
    let letters = quirks.filter(|(number, quirk)| holds(*number, quirk, position, point));
    letters.map(|(_, quirk)| quirk.letter.as_str()).collect::<Vec<_>>().join(" ")
}

/// Whether a commit was measured in the surroundings of a quirk, by the quirk's number in its series.
pub(crate) fn holds(number: usize, quirk: &Quirk, position: u32, point: &HistoryPoint) -> bool {
    match quirk.place {
        QuirkPlace::Runs { .. } => point.run.is_some() && number < point.surroundings as usize,
        QuirkPlace::Commits { first, last } => (first..=last).contains(&position),
    }
}

/// What follows the words for a step, if quirks lie within its range.
pub(super) fn of_step(step: &HistoryStep) -> String {
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

/// The word for what changed at a step; empty without quirks.
pub(super) fn cause_word(step: &HistoryStep) -> &'static str {
    match step.cause.as_ref().map(|cause| cause.label) {
        None => "",
        Some(CauseLabel::Code) => "code",
        Some(CauseLabel::Quirk) => "quirk",
        Some(CauseLabel::MostlyQuirk) => "mostly-quirk",
        Some(CauseLabel::Inconclusive) => "inconclusive",
    }
}

/// What is not shown of a step that the program or the surroundings made.
pub(super) fn doubt(step: &HistoryStep) -> String {
    let of_commits = step.cause.as_ref().and_then(|cause| cause.of_commits.as_ref());
    let part = of_commits.map_or_else(
        || "it is not known whether the program or the surroundings changed".to_owned(),
        |part| format!("the commits may have changed it by {} to {}", share(part.low), share(part.high)),
    );
    format!("inconclusive: {part}")
}

/// How large the parts of the quirks and of the commits are, where that is known.
pub(super) fn parts(step: &HistoryStep, signs: &Signs) -> Option<String> {
    let cause = step.cause.as_ref()?;
    let (surroundings, commits) = (cause.of_surroundings.as_ref()?, cause.of_commits.as_ref()?);
    Some(format!("of the surroundings: {}; of the commits: {}", span(surroundings, signs), span(commits, signs)))
}

fn span(change: &Change, signs: &Signs) -> String {
    if change.low == change.high {
        return share(change.ratio);
    }
    format!("{} ({} {} {})", share(change.ratio), share(change.low), signs.to, share(change.high))
}

/// A ratio as a change.
fn share(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

/// A sentence for each quirk, and what is said of all together.
pub(super) fn sentences(series: &HistorySeries, signs: &Signs) -> Vec<String> {
    let each = series.quirks.iter().map(|quirk| sentence(series, quirk, signs));
    each.chain(remarks(series)).collect()
}

/// What is said of quirks besides the sentence for each: what the labels of steps mean, and quirks that could not be placed.
pub(crate) fn remarks(series: &HistorySeries) -> Vec<String> {
    let mut said = Vec::new();
    let least = percent(series.steps.least_change);
    let of_labels = [
        ("quirk", format!("quirk: the surroundings changed the value, and the commits by at most {least}.")),
        (
            "mostly-quirk",
            format!(
                "mostly quirk: the surroundings made at least half of the step. The commits may have changed the value by more than {least}; \
                 more executions (`repeats`) make it more precise."
            ),
        ),
        (
            "inconclusive",
            "code or quirk: no commit that was measured in both surroundings tells which. `faultline history run` measures one \
             when it measures in new surroundings; more executions (`repeats`) make it more precise."
                .to_owned(),
        ),
    ];
    let has = |label: &str| series.steps.steps.iter().any(|step| cause_word(step) == label);
    said.extend(of_labels.into_iter().filter(|(label, _)| has(label)).map(|(_, sentence)| sentence));
    said.extend(series.unplaced_quirks.iter().map(|what| {
        format!(
            "The declared quirk '{}' is not placed: the history has not all of its commits, or the last one comes before the first.",
            text(what)
        )
    }));
    said
}

/// What a quirk is, where it is, and how it is bridged.
pub(crate) fn sentence(series: &HistorySeries, quirk: &Quirk, signs: &Signs) -> String {
    let name = |position: u32| series.commit(position).map_or("", |commit| short_name(&commit.id));
    let place = match quirk.place {
        QuirkPlace::Runs { since, began, .. } => format!("since run {since} ({})", moment::words(began)),
        QuirkPlace::Commits { first, last } => format!("commits {} to {}", name(first), name(last)),
    };
    let declared = quirk.declared.iter().map(|what| format!("{} (declared)", text(what)));
    let more = quirk.changed.len().saturating_sub(LISTED);
    let more = (more > 0).then(|| format!("and {more} more facts"));
    let facts = quirk.changed.iter().take(LISTED).map(changed);
    let what: Vec<String> = declared.chain(facts).chain(more).collect();
    let bridge = match (&quirk.bridge, quirk.place) {
        (_, QuirkPlace::Commits { .. }) => " Not measured: it belongs to the commits.".to_owned(),
        (None, QuirkPlace::Runs { .. }) => " Not bridged: no commit was measured before and after it.".to_owned(),
        (Some(bridge), QuirkPlace::Runs { .. }) => {
            format!(" Bridged by {}: {} after it.", name(bridge.commit), span(&bridge.change, signs))
        }
    };
    format!("Quirk {}, {place}: {}.{bridge}", quirk.letter, what.join("; "))
}

fn changed(fact: &ChangedFact) -> String {
    let name = if fact.key.contains(' ') { format!("`{}`", text(&fact.key)) } else { fact_words::name(&fact.key) };
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
