//! Quirks of a series in words: what changed, how it is bridged, and what that says of steps.

use crate::fact_words;
use crate::moment;
use crate::one_line::{cut, one_line};
use crate::style::Signs;
use faultline_model::commit::short_name;
use faultline_model::drill::{Change, StepLabel};
use faultline_model::history::quirk::{ChangedFact, Quirk, QuirkPlace, StepCause};
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
        StepLabel::Quirk => format!(", {quirk} {letters}"),
        StepLabel::Code => format!(", code (not {quirk} {letters})"),
        StepLabel::Layout | StepLabel::Undecided => format!(", code or {quirk} {letters}"),
    }
}

/// The word for what changed at a step; empty without quirks.
pub(super) fn cause_word(step: &HistoryStep) -> &'static str {
    match step.cause.as_ref().map(|cause| cause.label) {
        None => "",
        Some(StepLabel::Code) => "code",
        Some(StepLabel::Quirk) => "quirk",
        Some(StepLabel::Layout | StepLabel::Undecided) => "undecided",
    }
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

/// What is said of quirks besides the sentence for each: steps that may be quirks, and quirks that could not be placed.
pub(super) fn remarks(series: &HistorySeries) -> Vec<String> {
    let mut said = Vec::new();
    if series.steps.steps.iter().any(|step| cause_word(step) == "undecided") {
        said.push(
            "code or quirk: no commit that was measured in both surroundings tells which. `faultline history run` measures one \
             when it measures in new surroundings; more executions (`repeats`) make it more precise."
                .to_owned(),
        );
    }
    said.extend(series.unplaced_quirks.iter().map(|what| {
        format!("The declared quirk '{}' names a commit without a result, so it is not placed.", text(what))
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
