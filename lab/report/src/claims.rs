//! Claims: published improvements, recomputed, tested, and compared with the authors' figures.

use crate::figure;
use crate::format::Format;
use crate::sheet::{Sheet, in_format};
use crate::style::{Signs, Style, Tone};
use crate::table::{self, ResultTable};
use faultline_stats::claims::{Agreement, ClaimedRange, TestedClaim, TestedClaims};
use faultline_stats::workload_comparison::Answer;
use serde::Serialize;

/// Name and version of the JSON.
const FORMAT: &str = "faultline-claims/1";

#[derive(Serialize)]
struct Claims<'a> {
    format: &'static str,
    comparisons: &'a [TestedClaims],
}

/// A claim with its comparison.
struct Row<'a> {
    of: &'a TestedClaims,
    tested: &'a TestedClaim,
}

/// The claims about each comparison, with their tests.
pub fn claims(found: &[TestedClaims], format: Format, style: &Style) -> String {
    let csv = || ResultTable::new(columns(), found.iter().flat_map(rows)).csv();
    in_format(format, style, |sheet| body(sheet, found), || Claims { format: FORMAT, comparisons: found }, csv)
}

fn body(mut sheet: Sheet<'_>, found: &[TestedClaims]) -> String {
    for claims in found {
        sheet.space();
        sheet.paragraph(Some(Tone::Title), "", &title(claims));
        sheet.table(&ResultTable::new(columns(), rows(claims)));
        for sentence in sentences(claims) {
            sheet.paragraph(None, "", &sentence);
        }
    }
    sheet.legend(LEGEND);
    sheet.text
}

fn title(claims: &TestedClaims) -> String {
    format!("{} to {}", claims.before, claims.after)
}

fn rows(of: &TestedClaims) -> impl Iterator<Item = Row<'_>> {
    of.claims.iter().map(move |tested| Row { of, tested })
}

fn columns<'a>() -> Vec<table::Column<Row<'a>>> {
    type Column<'a> = table::Column<Row<'a>>;
    vec![
        Column::csv_only("before", |row| row.of.before.clone()),
        Column::csv_only("after", |row| row.of.after.clone()),
        Column::left("benchmark", |row, _| row.tested.claim.benchmark.clone()).csv_as_shown("benchmark"),
        Column::right("tasks", |row, _| row.tasks()).csv_as_shown("tasks"),
        Column::csv_option("measure", |row| row.tested.claim.measure.clone()),
        Column::csv_only("unit", |row| row.tested.unit.clone()),
        Column::right("before", |row, signs| row.mean(0, signs))
            .csv("mean_before", |row| row.tested.means[0].to_string()),
        Column::right("after", |row, signs| row.mean(1, signs))
            .csv("mean_after", |row| row.tested.means[1].to_string()),
        Column::right("n", |row, _| format!("{} + {}", row.tested.n[0], row.tested.n[1])),
        Column::csv_only("n_before", |row| row.tested.n[0].to_string()),
        Column::csv_only("n_after", |row| row.tested.n[1].to_string()),
        Column::left("as", |row, _| row.tested.claim.improvement.word().to_owned()).csv_as_shown("improvement"),
        Column::right("recomputed", |row, _| format!("{:.*} %", row.decimals(), row.tested.recomputed_percent))
            .csv("recomputed_percent", |row| row.tested.recomputed_percent.to_string()),
        Column::left("interval", |row, signs| row.interval(signs)),
        Column::csv_option("low_percent", |row| row.tested.interval.map(|interval| interval.low)),
        Column::csv_option("high_percent", |row| row.tested.interval.map(|interval| interval.high)),
        Column::csv_option("level_ratio", |row| row.tested.interval.map(|interval| interval.level)),
        Column::left("answer", |row, _| answer(row.tested.answer).to_owned()).csv_as_shown("answer"),
        Column::left("alone", |row, _| row.tested.answer_alone.map_or("", |alone| answer(Some(alone))).to_owned())
            .csv_as_shown("answer_alone"),
        Column::right("claimed", |row, _| format!("{} %", row.tested.claim.percent))
            .csv("claimed_percent", |row| row.tested.claim.percent.clone()),
        Column::left("agreement", |row, _| row.agreement())
            .csv("agreement", |row| row.tested.agreement.word().to_owned()),
        Column::csv_option("remark", |row| row.tested.claim.remark.clone()),
    ]
}

impl Row<'_> {
    fn tasks(&self) -> String {
        self.tested.claim.tasks.map_or_else(String::new, |tasks| tasks.to_string())
    }

    /// The mean of a side, or its single published value.
    fn mean(&self, side: usize, signs: &Signs) -> String {
        let (mean, unit) = (self.tested.means[side], &self.tested.unit);
        if self.tested.n[side] < 2 { figure::printed(mean, unit, signs) } else { figure::quantity(mean, unit, signs) }
    }

    /// One digit more than the claim has.
    fn decimals(&self) -> usize {
        self.tested.claim.decimals() + 1
    }

    /// `18.3 … 18.8 %`, with its level if that is not the comparison's.
    fn interval(&self, signs: &Signs) -> String {
        let Some(interval) = self.tested.interval else { return "none".to_owned() };
        let level =
            if interval.level == self.of.level { String::new() } else { format!(" ({})", level(interval.level)) };
        let decimals = self.decimals();
        format!("{:.decimals$} {} {:.decimals$} %{level}", interval.low, signs.to, interval.high)
    }

    /// `differs: medians in place of means give 14.4 %`.
    fn agreement(&self) -> String {
        let word = self.tested.agreement.word();
        self.tested.claim.remark.as_ref().map_or_else(|| word.to_owned(), |remark| format!("{word}: {remark}"))
    }
}

fn answer(answer: Option<Answer>) -> &'static str {
    match answer {
        None => "not tested",
        Some(Answer::Faster) => "faster",
        Some(Answer::Slower) => "slower",
        Some(Answer::Equal) => "equal",
        Some(Answer::Inconclusive) => "inconclusive",
    }
}

/// `95 %`, `66.7 %`.
fn level(level: f64) -> String {
    format!("{} %", (level * 1000.0).round() / 10.0)
}

/// The sentences below a table: claimed ranges, and the level of the answers.
fn sentences(claims: &TestedClaims) -> Vec<String> {
    let mut sentences: Vec<String> = claims.ranges.iter().map(range).collect();
    sentences.push(match claims.tests {
        0 => "No benchmark has repeats on both sides: there are no intervals and no answers.".to_owned(),
        tests => format!(
            "Answers: {tests} benchmarks tested together at a familywise confidence level of {level} (Holm's procedure). \
             Intervals and the column `alone`: each benchmark tested alone at {level}.",
            level = level(claims.level)
        ),
    });
    sentences
}

fn range(range: &ClaimedRange) -> String {
    let verdict = match range.agreements.map(|agreement| agreement != Agreement::Differs) {
        [true, true] => "reproduced",
        [true, false] => "the upper end is not reproduced",
        [false, true] => "the lower end is not reproduced",
        [false, false] => "neither end is reproduced",
    };
    let ClaimedRange { percent, recomputed_percent: [low, high], .. } = range;
    let tasks = range.tasks.map_or_else(|| "all benchmarks".to_owned(), |tasks| format!("benchmarks at {tasks} tasks"));
    format!("Claimed for {tasks}: {percent} %. Recomputed: {low:.1} to {high:.1} %: {verdict}.")
}

const LEGEND: [&str; 4] = [
    "before, after: means of n values, or the single published value. gain: new rate / old rate - 1, for times old / new - 1. \
     saved: (old - new) / old.",
    "reproduced: the improvement of the means rounds to the claim. truncated: it is the claim without rounding.",
    "Intervals and answers come from ranks, or from Welch's test on logarithms if there are too few values for ranks. 2 + 2 \
     values give the range of ratios of any two of them, which covers the true ratio with a probability of two thirds.",
    "Before and after are different kernels, so no boot holds both, and the order of the runs is unknown. If each kernel was \
     booted once, the difference includes the effect of these boots.",
];

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_stats::claims::{Claim, Definition};
    use faultline_stats::workload_comparison::Bounded;

    fn found() -> TestedClaims {
        let claim = |percent: &str, remark: Option<&str>| Claim {
            benchmark: "zero_fill:base on xeon".to_owned(),
            tasks: Some(32),
            measure: Some("real".to_owned()),
            percent: percent.to_owned(),
            improvement: Definition::Gain,
            remark: remark.map(str::to_owned),
        };
        let tested = TestedClaim {
            claim: claim("14", Some("medians give 14.4 %")),
            unit: "s".to_owned(),
            means: [18.67, 16.45],
            n: [3, 3],
            recomputed_percent: 13.498,
            interval: Some(Bounded { value: 13.5, low: 9.04, high: 18.2, level: 0.95 }),
            answer: Some(Answer::Inconclusive),
            answer_alone: Some(Answer::Faster),
            agreement: Agreement::Differs,
        };
        let single = TestedClaim {
            claim: claim("7 to 13", None),
            n: [1, 1],
            interval: None,
            answer: None,
            answer_alone: None,
            agreement: Agreement::Reproduced,
            ..tested.clone()
        };
        TestedClaims {
            before: "old".to_owned(),
            after: "new".to_owned(),
            level: 0.95,
            tests: 14,
            ranges: vec![ClaimedRange {
                tasks: Some(32),
                percent: "7 to 13".to_owned(),
                recomputed_percent: [6.87, 16.46],
                agreements: [Agreement::Reproduced, Agreement::Differs],
            }],
            claims: vec![tested, single],
        }
    }

    #[test]
    fn a_claim_has_its_recomputed_improvement() {
        let markdown = claims(&[found()], Format::Markdown, &Style::PLAIN);
        let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with("| zero")).collect();
        let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        assert_eq!(
            cells(rows[0])[2..],
            [
                "18.67 s",
                "16.45 s",
                "3 + 3",
                "gain",
                "13.5 %",
                "9.0 … 18.2 %",
                "inconclusive",
                "faster",
                "14 %",
                "differs: medians give 14.4 %"
            ]
        );
        assert_eq!(cells(rows[1])[7..], ["none", "not tested", "", "7 to 13 %", "reproduced"]);
        assert!(markdown.contains(
            "Claimed for benchmarks at 32 tasks: 7 to 13 %. Recomputed: 6.9 to 16.5 %: the upper end is not reproduced."
        ));
    }

    #[test]
    fn csv_has_raw_values() {
        let csv = claims(&[found()], Format::Csv, &Style::PLAIN);
        assert_eq!(
            csv.lines().nth(1).unwrap(),
            "old,new,zero_fill:base on xeon,32,real,s,18.67,16.45,3,3,gain,13.498,9.04,18.2,0.95,inconclusive,faster,14,differs,\
             medians give 14.4 %"
        );
    }
}
