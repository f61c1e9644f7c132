//! Every figure of the literature: values before and after with the improvement by both definitions, and single figures.

use super::claims::{Agreement, Claim};
use super::document::{Document, Headed, Heading, MARKDOWN, Spacing, TEXT, View};
use super::improvement::{Improvement, Measured, improvements};
use super::raw::{Metric, SingleFigure, single_figures};
use super::selection::{UnknownName, Wanted, sources_of};
use super::sources::Source;
use super::words::{heading, mean_and_farthest, raw, remark, stand, with_remark};
use faultline_report::figure::printed;
use faultline_report::style::Signs;
use faultline_report::table::{self, Column, Table};
use faultline_report::{Format, Style};
use serde::Serialize;

/// Name and version of the JSON.
const FORMAT: &str = "faultline-published/1";

/// The literature's figures with improvements recomputed from the raw values. `name` selects the sources and tests that contain it. Text
/// has rates, real and system times; the other formats have every metric. Fails if no source and no test contains `name`.
pub fn figures(name: Option<&str>, format: Format, style: &Style) -> Result<String, UnknownName> {
    Ok(Figures::of(name)?.written(format, style))
}

/// All of the literature, or a part of it.
#[derive(Debug, Serialize)]
struct Figures {
    format: &'static str,
    sources: Vec<Source>,
    #[serde(rename = "comparisons")]
    improvements: Vec<Improvement>,
    #[serde(rename = "figures")]
    singles: Vec<SingleFigure>,
}

impl Figures {
    /// The figures of the sources and tests whose names contain `name`; all figures without one.
    fn of(name: Option<&str>) -> Result<Self, UnknownName> {
        let wanted = Wanted::new(name);
        let all = (improvements(), single_figures());
        let improvements: Vec<Improvement> =
            all.0.iter().filter(|i| wanted.holds(i.subject.source, &i.subject.test)).cloned().collect();
        let singles: Vec<SingleFigure> = all.1.iter().filter(|f| wanted.holds(&f.source, &f.test)).cloned().collect();
        let sources = sources_of(&improvements, &singles);
        if sources.is_empty() {
            return Err(UnknownName::new("figures", name, &all.0, &all.1));
        }
        Ok(Figures { format: FORMAT, sources, improvements, singles })
    }
}

impl View for Figures {
    fn tell(&self, document: &mut Document<'_>) {
        let for_text = |i: &&Improvement| !matches!(i.metric, Metric::User | Metric::Bandwidth);
        for source in &self.sources {
            document.source(source);
            let improvements = self.improvements.iter().filter(|i| i.subject.source == source.name);
            let shown: Vec<_> = improvements.filter(|i| for_text(i) || !document.is_text()).collect();
            document.table_with_headings(improvement_columns(), &shown, Spacing::Tight);
            let singles: Vec<_> = self.singles.iter().filter(|figure| figure.source == source.name).collect();
            document.table(single_columns(), &singles);
        }
        document.legend(&legend(document.signs()));
    }

    /// A record per side and per single figure.
    fn records(&self) -> String {
        let sides = self.improvements.iter().flat_map(|i| i.sides().map(move |side| Record::of_side(i, side)));
        Table::new(record_columns(), sides.chain(self.singles.iter().map(Record::of_single))).csv()
    }
}

impl Headed for &Improvement {
    fn heading(&self) -> Heading {
        heading(self)
    }

    fn remark(&self) -> Option<String> {
        remark(self)
    }
}

fn improvement_columns<'a>() -> Vec<Column<&'a Improvement>> {
    type Column<'a> = table::Column<&'a Improvement>;
    vec![
        Column::left("      ", |i, _| i.metric.word().to_owned()).indented(2).on(TEXT),
        Column::left("test", |i, _| i.subject.test.clone()).on(MARKDOWN),
        Column::left("machine", |i, _| i.subject.machine.clone()).on(MARKDOWN),
        Column::left("load", |i, _| i.subject.load_and_note()).on(MARKDOWN),
        Column::left("figure", |i, _| i.metric.word().to_owned()).on(MARKDOWN),
        Column::right("before", |i, signs| mean_and_farthest(i.before.as_ref(), &i.unit, signs)),
        Column::right("n", |i, _| raw(i.before.as_ref().map(|side| side.n))).on(TEXT),
        Column::right("n", |i, _| i.before.as_ref().map_or(0, |side| side.n).to_string()).on(MARKDOWN),
        Column::right("after", |i, signs| mean_and_farthest(i.after.as_ref(), &i.unit, signs)),
        Column::right("n", |i, _| raw(i.after.as_ref().map(|side| side.n))).on(TEXT),
        Column::right("n", |i, _| i.after.as_ref().map_or(0, |side| side.n).to_string()).on(MARKDOWN),
        Column::right("gain", |i, _| percent(i.gain_percent)),
        Column::right("saved", |i, _| percent(i.saved_percent)),
        Column::left("claimed", |i, _| claimed(i)).on(TEXT),
        Column::left("claimed", |i, _| with_remark(claimed(i), i)).on(MARKDOWN),
    ]
}

fn single_columns<'a>() -> Vec<Column<&'a SingleFigure>> {
    type Column<'a> = table::Column<&'a SingleFigure>;
    vec![
        Column::left("test", |figure, _| figure.test.clone()),
        Column::left("machine", |figure, _| figure.machine.clone()),
        Column::right("figure", |figure, signs| printed(figure.value, &figure.unit, signs)),
        Column::left("note", |figure, _| figure.note.clone()),
    ]
}

/// A side, or a single figure.
struct Record<'a> {
    source: &'a str,
    test: &'a str,
    machine: &'a str,
    note: &'a str,
    metric: &'static str,
    unit: &'a str,
    mean: f64,
    lowest: f64,
    highest: f64,
    /// For a side: its improvement, and the side.
    side: Option<(&'a Improvement, &'a Measured)>,
}

impl<'a> Record<'a> {
    fn of_side(improvement: &'a Improvement, side: &'a Measured) -> Self {
        Record {
            source: improvement.subject.source,
            test: &improvement.subject.test,
            machine: &improvement.subject.machine,
            note: &improvement.subject.note,
            metric: improvement.metric.word(),
            unit: &improvement.unit,
            mean: side.mean,
            lowest: side.lowest,
            highest: side.highest,
            side: Some((improvement, side)),
        }
    }

    fn of_single(figure: &'a SingleFigure) -> Self {
        Record {
            source: &figure.source,
            test: &figure.test,
            machine: &figure.machine,
            note: &figure.note,
            metric: "single",
            unit: &figure.unit,
            mean: figure.value,
            lowest: figure.value,
            highest: figure.value,
            side: None,
        }
    }

    /// Improvement and claim are in the record of the new side.
    fn improved(&self) -> Option<&'a Improvement> {
        let (improvement, side) = self.side?;
        (improvement.before.is_some() && improvement.after.as_ref() == Some(side)).then_some(improvement)
    }

    fn claim(&self) -> Option<&'a Claim> {
        self.improved()?.claim.as_ref()
    }
}

fn record_columns<'a>() -> Vec<Column<Record<'a>>> {
    type Column<'a> = table::Column<Record<'a>>;
    vec![
        Column::csv_only("source", |record| record.source.to_owned()),
        Column::csv_only("test", |record| record.test.to_owned()),
        Column::csv_only("machine", |record| record.machine.to_owned()),
        Column::csv_only("tasks", |record| raw(record.side.map(|(i, _)| i.subject.tasks))),
        Column::csv_only("load", |record| raw(record.side.map(|(i, _)| &i.subject.load))),
        Column::csv_only("note", |record| record.note.to_owned()),
        Column::csv_only("metric", |record| record.metric.to_owned()),
        Column::csv_only("release", |record| raw(record.side.map(|(_, side)| &side.release))),
        Column::csv_only("unit", |record| record.unit.to_owned()),
        Column::csv_only("mean", |record| record.mean.to_string()),
        Column::csv_only("lowest", |record| record.lowest.to_string()),
        Column::csv_only("highest", |record| record.highest.to_string()),
        Column::csv_only("n_repeats", |record| raw(record.side.map(|(_, side)| side.n))),
        Column::csv_only("gain_percent", |record| raw(record.improved().and_then(|i| i.gain_percent))),
        Column::csv_only("saved_percent", |record| raw(record.improved().and_then(|i| i.saved_percent))),
        Column::csv_only("claimed_percent", |record| raw(record.claim().map(|claim| &claim.percent))),
        Column::csv_only("claimed_as", |record| raw(record.claim().map(|claim| claim.definition.word()))),
        Column::csv_only("agreement", |record| raw(record.improved().and_then(|i| i.agreement).map(Agreement::word))),
        Column::csv_only("remark", |record| raw(record.improved().and_then(|i| i.remark))),
    ]
}

/// An improvement, if there is one.
fn percent(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.1} %"))
}

/// The claim, its definition, and whether the raw values agree: `23 % gain: reproduced`.
fn claimed(improvement: &Improvement) -> String {
    let Some(claim) = &improvement.claim else { return String::new() };
    let claimed = format!("{} % {}", claim.percent, claim.definition.word());
    match improvement.agreement {
        Some(Agreement::Differs) => format!("{claimed}: recomputed {}", recomputed(improvement, claim)),
        Some(agreement) => format!("{claimed}: {}", stand(agreement)),
        None => claimed,
    }
}

fn recomputed(improvement: &Improvement, claim: &Claim) -> String {
    let decimals = claim.decimals();
    improvement.percent(claim.definition).map_or_else(String::new, |value| format!("{value:.decimals$} %"))
}

/// The meaning of the columns.
fn legend(signs: &Signs) -> [String; 3] {
    [
        format!(
            "before and after: mean over n repeats, {} the repeat farthest from it; the sources give no confidence intervals.",
            signs.plus_minus
        ),
        "single figures: as their authors print them; the number of repeats is unknown.".to_owned(),
        "gain: new rate / old rate - 1, for times old / new - 1; saved: (old - new) / old, for times. Beside a claim stands the \
         definition that reproduces its author's claims; a claim is reproduced if the recomputed figure rounds to it."
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_narrows_what_is_shown() {
        let shown = figures(Some("zero_fill"), Format::Csv, &Style::PLAIN).unwrap();
        assert!(shown.lines().skip(1).all(|line| line.contains("zero-fill")), "{shown}");
        assert!(shown.lines().count() > 10, "{shown}");
        let source = figures(Some("openbsd-2019"), Format::Csv, &Style::PLAIN).unwrap();
        assert_eq!(source.lines().count(), 5, "{source}");
    }

    #[test]
    fn an_unknown_name_lists_what_there_is() {
        let unknown = figures(Some("quicksort"), Format::Table, &Style::PLAIN).unwrap_err();
        assert_eq!(unknown.to_string(), "no published figures have 'quicksort' in their name");
        for name in ["dragonfly-2011-vm-token", "zero-fill"] {
            assert!(unknown.known.contains(&name.to_owned()), "{unknown:?}");
        }
    }
}
