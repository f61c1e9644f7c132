//! The columns of a run's table: a row per point of each curve. In CSV, numbers are raw and shares
//! are ratios from 0 to 1.

use crate::figure::{self, Scale};
use crate::page::element;
use crate::run::words;
use crate::style::{Signs, UNICODE};
use crate::table::{self, Attributes, Form, ResultTable, number};
use crate::{names, sentences};
use faultline_stats::estimate::Estimate;
use faultline_stats::summary::{Curve, Point, RunSummary, TimeShares};
use maud::html as markup;

/// A point of a curve of a run.
pub(crate) struct Row<'a> {
    summary: &'a RunSummary,
    curve: &'a Curve,
    point: &'a Point,
}

/// The table of the points that are `wanted`.
pub(super) fn table(summary: &RunSummary, wanted: fn(&Point) -> bool) -> ResultTable<Row<'_>> {
    let rows = summary.curves.iter().flat_map(|curve| rows(summary, curve));
    ResultTable::new(columns(), rows.filter(|row| wanted(row.point)))
}

/// The table of one curve, for its card on the page.
pub(crate) fn curve_table<'a>(summary: &'a RunSummary, curve: &'a Curve) -> ResultTable<Row<'a>> {
    ResultTable::new(columns(), rows(summary, curve))
        .row_attributes(|row| Attributes::default().with("data-tasks", row.point.tasks))
}

fn rows<'a>(summary: &'a RunSummary, curve: &'a Curve) -> impl Iterator<Item = Row<'a>> {
    curve.points.iter().map(move |point| Row { summary, curve, point })
}

type Column<'a> = table::Column<Row<'a>>;

fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::csv_only("run", |row| row.summary.run.to_string()),
        Column::csv_only("label", |row| row.summary.label.clone().unwrap_or_default()),
        Column::csv_only("started_utc", |row| figure::iso_time(row.summary.started)),
        Column::csv_only("workload", |row| row.curve.case.workload.clone()),
        Column::csv_only("variant", |row| row.curve.case.variant.clone()),
        Column::csv_only("mode", |row| row.curve.case.mode.word().to_owned()),
        Column::csv_only("operation", |row| row.curve.operation.clone()),
        Column::csv_only("direction", |row| row.curve.direction.word().to_owned()),
        Column::left("curve", |row, _| row.name()).on(&[Form::Markdown]),
        Column::right("tasks", |row, _| row.point.tasks.to_string()).indented(2).csv_as_shown("tasks").row_heading(),
        Column::csv_only("unit", |row| row.curve.unit.clone()),
        Column::right("rate", |row, signs| row.scaled(signs, |value, scale| scale.quantity(value.median)))
            .number("value_median", |row| row.point.value.map(|value| value.median)),
        Column::left("interval", |row, signs| {
            row.scaled(signs, |value, scale| scale.span(value.low, value.high, signs))
        })
        .on(Form::ALL_BUT_NARROW)
        .html(|row| element::interval(row.point.value, &row.curve.unit)),
        Column::right("interval", |row, signs| row.scaled(signs, |value, _| figure::relative_margin(&value, signs)))
            .on(Form::NARROW),
        Column::csv_only("value_low", |row| low(row.point.value)),
        Column::csv_only("value_high", |row| high(row.point.value)),
        Column::page_right("coverage", |row| {
            row.point.value.map_or_else(element::none, |value| element::plain_share(value.coverage))
        })
        .csv("value_coverage_ratio", |row| coverage(row.point.value)),
        Column::page_right("intervals", |row| markup! { (row.point.intervals) })
            .csv("n_intervals", |row| row.point.intervals.to_string()),
        Column::csv_option("base_tasks", |row| row.curve.base_tasks),
        Column::right("speed-up", |row, signs| row.speedup(signs))
            .number("speedup_ratio", |row| row.point.speedup.map(|speedup| speedup.median)),
        Column::left("interval", |row, signs| row.speedup_span(signs))
            .on(&[Form::Wide])
            .html(|row| element::interval(row.point.speedup.filter(|_| !row.is_base()), "")),
        Column::csv_only("speedup_low_ratio", |row| low(row.point.speedup)),
        Column::csv_only("speedup_high_ratio", |row| high(row.point.speedup)),
        Column::right("efficiency", |row, signs| row.efficiency(signs.none, |e| figure::percent(e.median)))
            .on(Form::ALL_BUT_NARROW)
            .csv("efficiency_ratio", |row| median(row.point.efficiency))
            .html(|row| match row.is_base() {
                true => markup! { "base" },
                false => element::share(row.point.efficiency),
            }),
        Column::left("interval", |row, signs| row.efficiency("", |e| figure::percent_span(&e, signs)))
            .on(&[Form::Wide, Form::Medium]),
        Column::left("interval", |row, signs| row.efficiency(signs.none, |e| figure::percent_span(&e, signs)))
            .on(&[Form::Markdown])
            .html(|row| element::share_interval(row.own_efficiency())),
        Column::right("efficiency", |row, signs| row.efficiency(signs.none, |e| figure::percent_margin(&e, signs)))
            .on(Form::NARROW),
        Column::csv_only("efficiency_low_ratio", |row| low(row.point.efficiency)),
        Column::csv_only("efficiency_high_ratio", |row| high(row.point.efficiency)),
        Column::csv_only("efficiency_coverage_ratio", |row| coverage(row.point.efficiency)),
        Column::right("system", |row, signs| row.system(signs))
            .csv("system_share_of_task_time_ratio", |row| median(row.point.system_share))
            .html(|row| element::share(row.point.system_share)),
        Column::page("interval", |row: &Row<'_>| element::share_interval(row.point.system_share)),
        Column::csv_only("system_share_low_ratio", |row| low(row.point.system_share)),
        Column::csv_only("system_share_high_ratio", |row| high(row.point.system_share)),
        machine_share("machine: user", "machine_user_time_ratio", |shares| shares.user),
        machine_share("machine: system", "machine_system_time_ratio", |shares| shares.system),
        machine_share("machine: idle", "machine_idle_time_ratio", |shares| shares.idle),
        machine_share("machine: steal", "machine_steal_time_ratio", |shares| shares.steal),
        Column::csv_only("repeats", |row| row.point.repeats.iter().map(f64::to_string).collect::<Vec<_>>().join(";")),
        Column::right("n", |row, _| row.n()).csv_as_shown("n_repeats").html(|row| element::n(row.point.value)),
        Column::page("failures", |row: &Row<'_>| {
            markup! { (words::shortfall(row.point, &UNICODE).unwrap_or_else(|| "none".to_owned())) }
        })
        .class("words")
        .csv("failures", |row| row.point.failures.len().to_string()),
        Column::csv_only("failure_texts", |row| {
            row.point.failures.iter().map(|failure| sentences::failure(failure)).collect::<Vec<_>>().join("; ")
        }),
        Column::left("verdict", |row, signs| row.verdict(signs)).on(&[Form::Markdown]).csv("verdict", |row| {
            let word = serde_json::to_value(row.curve.verdict.verdict).ok();
            word.as_ref().and_then(|word| word.as_str()).unwrap_or_default().to_owned()
        }),
        Column::csv_only("verdict_reason", |row| {
            row.curve.verdict.reason.as_ref().map_or_else(String::new, |reason| reason.word().to_owned())
        }),
    ]
}

/// A share of the machine's CPU time.
fn machine_share<'a>(heading: &'static str, name: &'static str, part: fn(&TimeShares) -> f64) -> Column<'a> {
    let share = move |row: &Row<'_>| row.point.shares.as_ref().map(part);
    Column::page_right(heading, move |row: &Row<'a>| share(row).map_or_else(element::none, element::plain_share))
        .csv(name, move |row| number(share(row)))
}

impl Row<'_> {
    /// True for the first point of a curve, whose row describes the curve.
    fn is_first(&self) -> bool {
        self.curve.points.first().is_some_and(|first| std::ptr::eq(first, self.point))
    }

    fn is_base(&self) -> bool {
        self.curve.base_tasks == Some(self.point.tasks)
    }

    fn name(&self) -> String {
        let Curve { case, direction, .. } = self.curve;
        match self.is_first() {
            true => format!("{case} ({}, {} is better)", names::tasks_are(case.mode), direction.word()),
            false => String::new(),
        }
    }

    /// The figure in the scale of its median.
    fn scaled(&self, signs: &Signs, words: impl Fn(Estimate, Scale<'_>) -> String) -> String {
        let in_words = |value: Estimate| words(value, Scale::of(value.median, &self.curve.unit, signs));
        self.point.value.map_or_else(|| signs.none.to_owned(), in_words)
    }

    fn n(&self) -> String {
        self.point.value.map_or(0, |value| value.n).to_string()
    }

    fn speedup(&self, signs: &Signs) -> String {
        match self.point.speedup {
            _ if self.is_base() => "base".to_owned(),
            Some(speedup) => figure::plain(speedup.median),
            None => signs.none.to_owned(),
        }
    }

    fn speedup_span(&self, signs: &Signs) -> String {
        let speedup = self.point.speedup.filter(|_| !self.is_base());
        speedup.map_or_else(String::new, |s| Scale::of(s.median, "", signs).span(s.low, s.high, signs))
    }

    /// The efficiency; `None` for the base, whose efficiency is 1 by definition.
    fn own_efficiency(&self) -> Option<Estimate> {
        self.point.efficiency.filter(|_| !self.is_base())
    }

    fn efficiency(&self, none: &str, words: impl Fn(Estimate) -> String) -> String {
        self.own_efficiency().map_or_else(|| none.to_owned(), words)
    }

    fn system(&self, signs: &Signs) -> String {
        self.point.system_share.map_or_else(|| signs.none.to_owned(), |share| figure::percent_margin(&share, signs))
    }

    /// The curve's verdict in the first row, and the failures of the point.
    fn verdict(&self, signs: &Signs) -> String {
        let verdict = self.is_first().then(|| self.curve.verdict.verdict.words().to_owned());
        let shortfall = words::shortfall(self.point, signs);
        verdict.into_iter().chain(shortfall).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

fn median(estimate: Option<Estimate>) -> String {
    number(estimate.map(|estimate| estimate.median))
}

fn low(estimate: Option<Estimate>) -> String {
    number(estimate.map(|estimate| estimate.low))
}

fn high(estimate: Option<Estimate>) -> String {
    number(estimate.map(|estimate| estimate.high))
}

fn coverage(estimate: Option<Estimate>) -> String {
    number(estimate.map(|estimate| estimate.coverage))
}
