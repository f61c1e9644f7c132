//! The literature's improvements with intervals, answers, and whether they reproduce the claims.

use super::claims::{Agreement, Claim, Range};
use super::document::{Document, Headed, Heading, MARKDOWN, Spacing, TEXT, View};
use super::estimates::{Estimated, Interval, SourceEstimates, estimates};
use super::footnotes::Footnotes;
use super::improvement::{Improvement, Measured};
use super::selection::UnknownName;
use super::words::{heading, mean, raw, remark, stand, with_remark};
use faultline_model::workload_comparison::{Answer, CautionCode};
use faultline_report::style::Signs;
use faultline_report::table::{self, Table};
use faultline_report::{Format, Style};
use serde::Serialize;
use std::collections::BTreeSet;

/// Name and version of the JSON.
const FORMAT: &str = "faultline-published-comparison/2";

/// The literature's improvements with intervals and answers; `name` narrows them to the sources and tests that contain it.
pub fn answers(name: Option<&str>, format: Format, style: &Style) -> Result<String, UnknownName> {
    Ok(Answers { format: FORMAT, sources: estimates(name)? }.written(format, style))
}

#[derive(Debug, Serialize)]
struct Answers {
    format: &'static str,
    #[serde(rename = "tables")]
    sources: Vec<SourceEstimates>,
}

impl View for Answers {
    fn tell(&self, document: &mut Document<'_>) {
        for of in &self.sources {
            let notes = Footnotes::of(&of.rows);
            document.source(&of.source);
            let rows = rows(of, &notes);
            let columns = columns(of.improvement_as.word());
            document.table_with_headings(columns, &rows.iter().collect::<Vec<_>>(), Spacing::Tight);
            document.notes(&below(of, &notes));
        }
        document.legend(&LEGEND.map(str::to_owned));
    }

    /// A record per improvement.
    fn records(&self) -> String {
        let rows: Vec<Row> = self.sources.iter().flat_map(|of| rows(of, &Footnotes::of(&of.rows))).collect();
        Table::new(columns("improvement"), &rows).csv()
    }
}

/// An estimated improvement in its table.
struct Row<'a> {
    of: &'a SourceEstimates,
    estimated: &'a Estimated,
    improvement: &'a Improvement,
    /// Its footnotes: ` [1,3]`.
    marks: String,
}

impl Headed for &Row<'_> {
    fn heading(&self) -> Heading {
        heading(self.improvement)
    }

    fn remark(&self) -> Option<String> {
        remark(self.improvement)
    }
}

fn rows<'a>(of: &'a SourceEstimates, notes: &Footnotes) -> Vec<Row<'a>> {
    let row = |estimated: &'a Estimated| Row {
        of,
        estimated,
        improvement: &estimated.improvement,
        marks: notes.marks(estimated),
    };
    of.rows.iter().map(row).collect()
}

type Column<'a> = table::Column<&'a Row<'a>>;

/// `improvement`: the author's word for it.
fn columns<'a>(improvement: &'static str) -> Vec<Column<'a>> {
    vec![
        Column::csv_only("source", |row| row.improvement.subject.source.to_owned()),
        Column::left("    ", |row, _| row.improvement.metric.word().to_owned()).indented(2).on(TEXT),
        Column::left("test", |row, _| row.improvement.subject.test.clone())
            .on(MARKDOWN)
            .csv("test", |row| row.improvement.subject.test.clone()),
        Column::left("machine", |row, _| row.improvement.subject.machine.clone())
            .on(MARKDOWN)
            .csv("machine", |row| row.improvement.subject.machine.clone()),
        Column::csv_only("tasks", |row| row.improvement.subject.tasks.to_string()),
        Column::left("load", |row, _| row.improvement.subject.load_and_note())
            .on(MARKDOWN)
            .csv("load", |row| row.improvement.subject.load.clone()),
        Column::csv_only("note", |row| row.improvement.subject.note.clone()),
        Column::csv_only("metric", |row| row.improvement.metric.word().to_owned()),
        Column::csv_only("unit", |row| row.improvement.unit.clone()),
        Column::csv_only("release_before", |row| raw(row.before().map(|side| &side.release))),
        Column::csv_only("release_after", |row| raw(row.after().map(|side| &side.release))),
        Column::csv_only("n_before", |row| raw(row.before().map(|side| side.n))),
        Column::csv_only("n_after", |row| raw(row.after().map(|side| side.n))),
        Column::right("before", |row, signs| mean(row.before(), &row.improvement.unit, signs))
            .csv("mean_before", |row| raw(row.before().map(|side| side.mean))),
        Column::right("after", |row, signs| mean(row.after(), &row.improvement.unit, signs))
            .csv("mean_after", |row| raw(row.after().map(|side| side.mean))),
        Column::right("n", |row, _| row.repeats()),
        Column::csv_only("improvement_as", |row| row.estimated.improvement_as.word().to_owned()),
        Column::right(improvement, |row, _| row.percent())
            .csv("improvement_percent", |row| raw(row.estimated.improvement_percent)),
        Column::csv_only("claimed_percent", |row| raw(row.improvement.claim.as_ref().map(|claim| &claim.percent))),
        Column::csv_only("agreement", |row| raw(row.improvement.agreement.map(Agreement::word))),
        Column::csv_only("remark", |row| raw(row.improvement.remark)),
        Column::left("interval", |row, signs| row.interval(signs))
            .csv("interval_low_percent", |row| raw(row.found().map(|interval| interval.low_percent))),
        Column::csv_only("interval_high_percent", |row| raw(row.found().map(|interval| interval.high_percent))),
        Column::csv_only("interval_level_ratio", |row| raw(row.found().map(|interval| interval.level_ratio))),
        Column::csv_only("interval_method", |row| word(row.found().map(|interval| interval.method))),
        Column::csv_only("no_interval", |row| raw(row.estimated.no_interval.as_ref())),
        Column::left("answer", |row, _| row.answer())
            .csv("answer", |row| word(row.estimated.judgement.as_ref().map(|judgement| judgement.answer))),
        Column::csv_only("answer_alone", |row| {
            word(row.estimated.judgement.as_ref().and_then(|judgement| judgement.answer_alone))
        }),
        Column::csv_only("p", |row| raw(row.estimated.judgement.as_ref().and_then(|judgement| judgement.p))),
        Column::csv_only("p_corrected", |row| {
            raw(row.estimated.judgement.as_ref().and_then(|judgement| judgement.p_corrected))
        }),
        Column::csv_only("suite_tests", |row| raw(row.estimated.judgement.as_ref().map(|_| row.of.tests))),
        Column::csv_only("suite_level_ratio", |row| raw(row.estimated.judgement.as_ref().and(row.of.level_ratio))),
        Column::csv_only("cautions", |row| row.cautions()),
        Column::left("claimed", |row, _| claimed(row.improvement)).on(TEXT),
        Column::left("claimed", |row, _| with_remark(claimed(row.improvement), row.improvement)).on(MARKDOWN),
    ]
}

impl Row<'_> {
    fn before(&self) -> Option<&Measured> {
        self.improvement.before.as_ref()
    }

    fn after(&self) -> Option<&Measured> {
        self.improvement.after.as_ref()
    }

    fn found(&self) -> Option<&Interval> {
        self.estimated.interval.as_ref()
    }

    /// `6 + 6`.
    fn repeats(&self) -> String {
        let [before, after] = [self.before(), self.after()].map(|side| side.map_or(0, |side| side.n));
        format!("{before} + {after}")
    }

    /// `18.6 %`, with a digit more than the claim has.
    fn percent(&self) -> String {
        let decimals = self.decimals();
        self.estimated.improvement_percent.map_or_else(String::new, |percent| format!("{percent:.decimals$} %"))
    }

    fn decimals(&self) -> usize {
        self.improvement.claim.as_ref().map_or(1, Claim::decimals)
    }

    /// `18.3 … 18.8 %`, with its level where that isn't the source's, or why there is none.
    fn interval(&self, signs: &Signs) -> String {
        let Some(Interval { low_percent, high_percent, level_ratio, .. }) = self.found() else {
            return format!("none: {}", self.estimated.no_interval.as_deref().unwrap_or_default());
        };
        let decimals = self.decimals();
        let usual = self.of.level_ratio == Some(*level_ratio);
        let level = if usual { String::new() } else { format!(" (of {})", level_words(*level_ratio)) };
        format!("{low_percent:.decimals$} {} {high_percent:.decimals$} %{level}", signs.to)
    }

    /// The answer with its footnotes' numbers.
    fn answer(&self) -> String {
        let word = self.estimated.judgement.as_ref().map_or("not tested", |judgement| match judgement.answer {
            Answer::Faster => "faster",
            Answer::Slower => "slower",
            Answer::Equal => "equal",
            Answer::Inconclusive => "inconclusive",
        });
        format!("{word}{}", self.marks)
    }

    /// What its cautions are about.
    fn cautions(&self) -> String {
        let codes: BTreeSet<CautionCode> = self.estimated.cautions.iter().map(|caution| caution.code()).collect();
        codes.into_iter().map(CautionCode::word).collect::<Vec<_>>().join(" ")
    }
}

/// `23 %: reproduced`.
fn claimed(improvement: &Improvement) -> String {
    match (&improvement.claim, improvement.agreement) {
        (Some(claim), Some(agreement)) => format!("{} %: {}", claim.percent, stand(agreement)),
        _ => "nothing".to_owned(),
    }
}

/// An answer or method as JSON has it: `signed-ranks`.
fn word(value: Option<impl Serialize>) -> String {
    let value = value.map(|value| serde_json::to_value(value).expect("a word"));
    value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// `95 %`, `66.7 %`.
fn level_words(level: f64) -> String {
    format!("{} %", (level * 1000.0).round() / 10.0)
}

/// What stands below a table: ranges claimed, the level, footnotes.
fn below(of: &SourceEstimates, notes: &Footnotes) -> Vec<String> {
    let mut sentences: Vec<String> = of.ranges.iter().map(range).collect();
    sentences.push(multiplicity(of));
    sentences.extend(notes.common.iter().cloned().chain(notes.numbered()));
    sentences
}

/// A claimed range and its tests.
fn range(Range { load, claim, lowest_percent, highest_percent, agreements }: &Range) -> String {
    let verdict = match agreements.map(|agreement| agreement != Agreement::Differs) {
        [true, true] => "reproduced",
        [true, false] => "the upper end is not reproduced",
        [false, true] => "the lower end is not reproduced",
        [false, false] => "neither end is reproduced",
    };
    format!(
        "All tests with {load}: {} % {} claimed, {lowest_percent:.1} to {highest_percent:.1} % recomputed: {verdict}.",
        claim.percent,
        claim.definition.word()
    )
}

/// How many tests the answers are corrected for, and at which level.
fn multiplicity(of: &SourceEstimates) -> String {
    let (Some(level), tests) = (of.level_ratio.map(level_words), of.tests) else {
        return "No test has repeats on both sides: there are no intervals and no answers.".to_owned();
    };
    format!(
        "Each interval is one of {level} for its test alone, unless it says otherwise. The answers are for the {tests} tests with repeats on both sides \
         taken together, at a familywise confidence level of {level} (Holm's procedure)."
    )
}

/// What holds for every table.
const LEGEND: [&str; 3] = [
    "before and after: mean of the repeats, or the one value as printed; n: repeats before + after. gain: new rate / old rate - 1, for times \
         old / new - 1; saved: (old - new) / old; each table has its author's. It is that of the means, and a claim is reproduced if it rounds to it.",
    "Intervals and answers come from ranks, or, where there are too few values for that, from Welch's test on logarithms; 2 + 2 values allow no more than the \
         interval from the least to the greatest ratio of any two of them, whose coverage is two thirds.",
    "Before and after are different kernels, which share no boot, and nothing is known of the order of the runs: if each kernel was booted once, the \
         difference includes what those boots differ by. Answers hold if each machine did the same during all of its runs. equal: the interval lies within \
         2 % of equality; inconclusive: neither a difference nor equality was shown.",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_range_is_told_with_its_ends() {
        let found: Vec<String> = estimates(Some("openbsd")).unwrap()[0].ranges.iter().map(range).collect();
        assert_eq!(
            found,
            [
                "All tests with 16 CPUs: 7 to 13 % saved claimed, 6.9 to 16.5 % recomputed: the upper end is not reproduced.",
                "All tests with 32 CPUs: 19 to 33 % saved claimed, 18.5 to 32.3 % recomputed: the upper end is not reproduced.",
            ]
        );
    }
}
