//! Improvements, intervals and answers in words.

use super::footnotes::Footnotes;
use super::ranges::{ranges, sentence};
use super::row::{Interval, Row};
use super::table::{Judged, Table};
use crate::claims::Claim;
use crate::improvement::{Improvement, Measured};
use crate::words::{figure, stand};
use faultline_model::workload_comparison::Answer;
use faultline_report::style::Signs;

/// `6 + 6`.
pub(super) fn repeats(comparison: &Improvement) -> String {
    let n = |side: &Option<Measured>| side.as_ref().map_or(0, |side| side.n);
    format!("{} + {}", n(&comparison.before), n(&comparison.after))
}

/// Mean, or the one value.
pub(super) fn value(side: &Option<Measured>, unit: &str, signs: &Signs) -> String {
    side.as_ref().map_or_else(|| signs.none.to_owned(), |side| figure(side, unit, signs))
}

/// `18.6 %`, with a digit more than the claim has.
pub(super) fn improvement(row: &Row<'_>) -> String {
    row.improvement_percent.map_or_else(String::new, |percent| format!("{percent:.*} %", decimals(row)))
}

/// `18.3 … 18.8 %`, with its level where that isn't the suite's, or why there is none.
pub(super) fn interval(row: &Row<'_>, judged: Option<&Judged>, signs: &Signs) -> String {
    let Some(Interval { low_percent, high_percent, level_ratio, .. }) = &row.interval else {
        return format!("none: {}", row.no_interval.as_deref().unwrap_or_default());
    };
    let decimals = decimals(row);
    let usual = judged.is_some_and(|judged| judged.suite.level == *level_ratio);
    let level = if usual { String::new() } else { format!(" (of {})", level_words(*level_ratio)) };
    format!("{low_percent:.decimals$} {} {high_percent:.decimals$} %{level}", signs.to)
}

fn decimals(row: &Row<'_>) -> usize {
    row.comparison.claim.as_ref().map_or(1, Claim::decimals)
}

/// `95 %`, `66.7 %`.
fn level_words(level: f64) -> String {
    format!("{} %", (level * 1000.0).round() / 10.0)
}

/// The answer with its footnotes' numbers.
pub(super) fn answer(row: &Row<'_>, notes: &Footnotes) -> String {
    let word = row.judgement.as_ref().map_or("not tested", |judgement| match judgement.answer {
        Answer::Faster => "faster",
        Answer::Slower => "slower",
        Answer::NoDifference => "no difference",
        Answer::Undecided => "undecided",
    });
    format!("{word}{}", notes.marks(row))
}

/// `23 %: borne out`.
pub(super) fn claimed(comparison: &Improvement) -> String {
    match (&comparison.claim, comparison.agreement) {
        (Some(claim), Some(agreement)) => format!("{} %: {}", claim.percent, stand(agreement)),
        _ => "nothing".to_owned(),
    }
}

/// What stands below a table: ranges claimed, the level, footnotes.
pub(super) fn below(table: &Table, judged: Option<&Judged>, notes: &Footnotes) -> Vec<String> {
    let mut sentences: Vec<String> = ranges(table).iter().map(sentence).collect();
    sentences.push(multiplicity(judged));
    sentences.extend(notes.common.iter().cloned().chain(notes.numbered()));
    sentences
}

/// How many tests the answers are corrected for, and at which level.
fn multiplicity(judged: Option<&Judged>) -> String {
    let Some(judged) = judged else {
        return "No test has repeats on both sides: there are no intervals and no answers.".to_owned();
    };
    let (level, tests) = (level_words(judged.suite.level), judged.suite.workloads.len());
    format!(
        "Each interval is one of {level} for its test alone, unless it says otherwise. The answers are for the {tests} tests with repeats on both sides \
         taken together: with a chance of {level} at least, none of them is falsely said to differ (Holm's procedure)."
    )
}

/// What holds for every table.
pub(super) fn legend() -> [&'static str; 3] {
    [
        "before and after: mean of the repeats, or the one value as printed; n: repeats before + after. gain: new rate / old rate - 1, for times \
         old / new - 1; saved: (old - new) / old; each table has its author's. It is that of the means, and a claim is borne out when it rounds to it.",
        "Intervals and answers come from ranks, or, where there are too few values for that, from Welch's test on logarithms; 2 + 2 values allow no more than the \
         interval from the least to the greatest ratio of any two of them, which covers two times in three.",
        "Before and after are different kernels, which share no boot, and nothing is known of the order of the runs: if each kernel was booted once, the \
         difference includes what those boots differ by.",
    ]
}
