//! The columns of a run's table, in text, Markdown and CSV; a row for each point of each curve. In CSV numbers are raw, and shares are ratios
//! from 0 to 1.

use crate::figure::{self, Scale};
use crate::introduction;
use crate::moment;
use crate::run::words;
use crate::sentences;
use crate::style::Signs;
use crate::table::{self, Form, Table, number};
use faultline_model::estimate::Estimate;
use faultline_model::summary::{Curve, Point, RunSummary, TimeShares};

/// A point with what it belongs to.
pub(super) struct Row<'a> {
    summary: &'a RunSummary,
    curve: &'a Curve,
    point: &'a Point,
}

/// The table of the points that are `wanted`.
pub(super) fn table(summary: &RunSummary, wanted: fn(&Point) -> bool) -> Table<Row<'_>> {
    let points = summary.curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)));
    let rows = points.filter(|(_, point)| wanted(point)).map(|(curve, point)| Row { summary, curve, point });
    Table::new(columns(), rows)
}

/// Forms that show intervals rather than half-widths.
const INTERVALS: &[Form] = &[Form::Wide, Form::Medium, Form::Markdown];
/// Text that shows intervals.
const INTERVALS_IN_TEXT: &[Form] = &[Form::Wide, Form::Medium];

type Column<'a> = table::Column<Row<'a>>;

fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::csv_only("run", |row| row.summary.run.to_string()),
        Column::csv_only("label", |row| row.summary.label.clone().unwrap_or_default()),
        Column::csv_only("started_utc", |row| moment::iso(row.summary.started)),
        Column::csv_only("workload", |row| row.curve.case.workload.clone()),
        Column::csv_only("variant", |row| row.curve.case.variant.clone()),
        Column::csv_only("mode", |row| row.curve.case.mode.word().to_owned()),
        Column::csv_only("operation", |row| row.curve.operation.clone()),
        Column::csv_only("direction", |row| row.curve.direction.word().to_owned()),
        Column::left("curve", |row, _| row.name()).on(&[Form::Markdown]),
        Column::right("tasks", |row, _| row.point.tasks.to_string())
            .indented(2)
            .csv("tasks", |row| row.point.tasks.to_string()),
        Column::csv_only("unit", |row| row.curve.unit.clone()),
        Column::right("rate", |row, signs| row.scaled(signs, |value, scale| scale.quantity(value.median)))
            .csv("value_median", |row| median(row.point.value)),
        Column::left("interval", |row, signs| {
            row.scaled(signs, |value, scale| scale.span(value.low, value.high, signs))
        })
        .on(INTERVALS),
        Column::right("interval", |row, signs| row.scaled(signs, |value, _| figure::relative_margin(&value, signs)))
            .on(&[Form::Narrow]),
        Column::csv_only("value_low", |row| low(row.point.value)),
        Column::csv_only("value_high", |row| high(row.point.value)),
        Column::csv_only("value_coverage_ratio", |row| coverage(row.point.value)),
        Column::csv_only("n_repeats", |row| row.n()),
        Column::csv_only("n_intervals", |row| row.point.intervals.to_string()),
        Column::csv_only("base_tasks", |row| row.curve.base_tasks.map_or_else(String::new, |tasks| tasks.to_string())),
        Column::right("speed-up", |row, signs| row.speedup(signs))
            .csv("speedup_ratio", |row| median(row.point.speedup)),
        Column::left("interval", |row, signs| row.speedup_span(signs)).on(&[Form::Wide]),
        Column::csv_only("speedup_low_ratio", |row| low(row.point.speedup)),
        Column::csv_only("speedup_high_ratio", |row| high(row.point.speedup)),
        Column::right("efficiency", |row, signs| row.efficiency(signs.none, |e| figure::percent(e.median)))
            .on(INTERVALS)
            .csv("efficiency_ratio", |row| median(row.point.efficiency)),
        Column::left("interval", |row, signs| row.efficiency("", |e| figure::percent_span(&e, signs)))
            .on(INTERVALS_IN_TEXT),
        Column::left("interval", |row, signs| row.efficiency(signs.none, |e| figure::percent_span(&e, signs)))
            .on(&[Form::Markdown]),
        Column::right("efficiency", |row, signs| row.efficiency(signs.none, |e| figure::percent_margin(&e, signs)))
            .on(&[Form::Narrow]),
        Column::csv_only("efficiency_low_ratio", |row| low(row.point.efficiency)),
        Column::csv_only("efficiency_high_ratio", |row| high(row.point.efficiency)),
        Column::csv_only("efficiency_coverage_ratio", |row| coverage(row.point.efficiency)),
        Column::right("system", |row, signs| row.system(signs))
            .csv("system_share_of_task_time_ratio", |row| median(row.point.system_share)),
        Column::csv_only("system_share_low_ratio", |row| low(row.point.system_share)),
        Column::csv_only("system_share_high_ratio", |row| high(row.point.system_share)),
        Column::csv_only("machine_user_time_ratio", |row| row.share(|shares| shares.user)),
        Column::csv_only("machine_system_time_ratio", |row| row.share(|shares| shares.system)),
        Column::csv_only("machine_idle_time_ratio", |row| row.share(|shares| shares.idle)),
        Column::csv_only("machine_steal_time_ratio", |row| row.share(|shares| shares.steal)),
        Column::csv_only("repeats", |row| row.point.repeats.iter().map(f64::to_string).collect::<Vec<_>>().join(";")),
        Column::csv_only("failures", |row| row.point.failures.len().to_string()),
        Column::csv_only("failure_texts", |row| {
            row.point.failures.iter().map(|failure| sentences::failure(failure)).collect::<Vec<_>>().join("; ")
        }),
        Column::right("n", |row, _| row.n()),
        Column::left("verdict", |row, signs| row.verdict(signs)).on(&[Form::Markdown]).csv("verdict", |row| {
            let word = serde_json::to_value(row.curve.verdict.verdict).ok();
            word.as_ref().and_then(|word| word.as_str()).unwrap_or_default().to_owned()
        }),
        Column::csv_only("verdict_reason", |row| {
            row.curve.verdict.reason.as_ref().map_or_else(String::new, |reason| reason.word().to_owned())
        }),
    ]
}

impl Row<'_> {
    /// Whether it is its curve's first, in which stands what is said of the whole curve.
    fn is_first(&self) -> bool {
        self.curve.points.first().is_some_and(|first| std::ptr::eq(first, self.point))
    }

    fn is_base(&self) -> bool {
        self.curve.base_tasks == Some(self.point.tasks)
    }

    fn name(&self) -> String {
        let Curve { case, direction, .. } = self.curve;
        match self.is_first() {
            true => format!("{case} ({}, {} is better)", introduction::tasks_are(case.mode), direction.word()),
            false => String::new(),
        }
    }

    /// The figure by the scale of its median.
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

    /// The efficiency in words; that of the base is none.
    fn efficiency(&self, none: &str, words: impl Fn(Estimate) -> String) -> String {
        self.point.efficiency.filter(|_| !self.is_base()).map_or_else(|| none.to_owned(), words)
    }

    fn system(&self, signs: &Signs) -> String {
        self.point.system_share.map_or_else(|| signs.none.to_owned(), |share| figure::percent_margin(&share, signs))
    }

    fn share(&self, part: fn(&TimeShares) -> f64) -> String {
        number(self.point.shares.as_ref().map(part))
    }

    /// The curve's verdict in its first row, and the point's own failures.
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
