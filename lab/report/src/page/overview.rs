//! The first answer: which curves scale, and how well at the greatest number of tasks with CPUs of their own.

use crate::introduction;
use crate::page::{anchor, value};
use faultline_model::estimate::Estimate;
use faultline_model::summary::{Curve, RunSummary};
use faultline_model::verdict::Verdict;
use maud::{Markup, html as markup};
use std::collections::BTreeMap;

/// The overview.
pub(crate) fn section(summary: &RunSummary) -> Markup {
    markup! {
        section #overview aria-labelledby="overview-title" {
            h2 #overview-title { "Does it scale?" }
            @if summary.curves.is_empty() {
                p.nothing { "There are no figures yet." }
            } @else {
                p.tally {
                    @for (verdict, count) in counted(&summary.curves) { span { b { (count) } " " (badge(verdict)) } }
                }
                (table(&summary.curves))
            }
        }
    }
}

/// How many curves have each verdict that any of them has.
fn counted(curves: &[Curve]) -> BTreeMap<Verdict, usize> {
    let mut counts = BTreeMap::new();
    for curve in curves {
        *counts.entry(curve.verdict.verdict).or_insert(0) += 1;
    }
    counts
}

fn table(curves: &[Curve]) -> Markup {
    markup! {
        div.scroll tabindex="0" role="region" aria-label="Overview of all curves" {
            table.sortable {
                thead {
                    tr {
                        th scope="col" { "curve" }
                        th scope="col" { "verdict" }
                        th.number scope="col" { "efficiency" }
                        th scope="col" { "interval" }
                        th.number scope="col" { "at tasks" }
                        th.number scope="col" { "rate or time" }
                        th scope="col" { "interval" }
                        th.number scope="col" { "speed-up" }
                        th.number scope="col" { "n" }
                    }
                }
                tbody { @for curve in curves { (row(curve)) } }
            }
        }
    }
}

/// A curve's row, the answer first: a narrow screen shows no more. With the figures of the point that its verdict rests on, or of the base where there is no verdict.
fn row(curve: &Curve) -> Markup {
    let tasks = curve.verdict.rests_on.map(|basis| basis.tasks).or(curve.base_tasks);
    let point = tasks.and_then(|tasks| curve.point(tasks));
    let base = point.is_some_and(|point| curve.base_tasks == Some(point.tasks));
    let derived = |estimate: Option<Estimate>| estimate.filter(|_| !base);
    let value = point.and_then(|point| point.value);
    let efficiency = derived(point.and_then(|point| point.efficiency));
    markup! {
        tr {
            th scope="row" {
                a href={ "#" (anchor::of_case(&curve.case)) } { (value::name(&curve.case.to_string())) } " "
                span.mode { (introduction::tasks_are(curve.case.mode)) }
            }
            td { (badge(curve.verdict.verdict)) }
            td.number { (value::share(efficiency)) }
            td { span.with-gauge { span { (value::share_interval(efficiency)) } (gauge(efficiency)) } }
            td.number { @if let Some(point) = point { (value::count(point.tasks)) } @else { (value::none()) } }
            td.number { (value::median(value, &curve.unit)) }
            td { (value::interval(value, &curve.unit)) }
            td.number { (value::median(derived(point.and_then(|point| point.speedup)), "")) }
            td.number { (value::n(value)) }
        }
    }
}

/// The verdict with a sign that doesn't need colour.
pub(crate) fn badge(verdict: Verdict) -> Markup {
    let (class, sign) = match verdict {
        Verdict::Scales => ("good", "✓"),
        Verdict::Partly => ("partly", "◐"),
        Verdict::DoesNotScale => ("bad", "✕"),
        Verdict::Inconclusive => ("quiet", "?"),
        Verdict::NotMeasured => ("quiet", "–"),
    };
    markup! { span.badge.(class) { span.sign aria-hidden="true" { (sign) } " " (verdict.words()) } }
}

/// Efficiency from 0 to 100 % as a small bar with its interval. The numbers stand beside it.
fn gauge(efficiency: Option<Estimate>) -> Markup {
    let place = |share: f64| (share * 100.0).clamp(0.0, 110.0) / 1.1;
    markup! {
        @if let Some(e) = efficiency {
            span.gauge aria-hidden="true" {
                span.gauge-fill style={ "width:" (format!("{:.2}", place(e.median))) "%" } {}
                span.gauge-interval
                    style={ "left:" (format!("{:.2}", place(e.low))) "%;width:" (format!("{:.2}", (place(e.high) - place(e.low)).max(0.5))) "%" } {}
            }
        }
    }
}
