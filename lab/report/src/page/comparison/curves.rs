//! Scaling of both sides: a curve of each over the number of tasks, as a chart and a table, with what their laws say.

use super::noscript;
use super::workload::class;
use crate::comparison::{scaling as laws, words};
use crate::one_line::one_line;
use crate::page::document::table;
use crate::page::{anchor, value};
use crate::style::UNICODE;
use faultline_model::comparison::{ComparedWorkload, Comparison, ScaledCase};
use maud::{Markup, html as markup};

/// The comparisons of one workload at several numbers of tasks, in the order in which the script finds them too.
struct Curves<'a> {
    name: &'a str,
    /// With the anchors of their cards, by number of tasks.
    points: Vec<(u32, &'a ComparedWorkload, String)>,
}

impl<'a> Curves<'a> {
    /// Those of all workloads that have several numbers of tasks.
    fn all(compared: &'a Comparison) -> Vec<Self> {
        let mut all: Vec<Curves<'a>> = Vec::new();
        for (workload, anchor) in compared.workloads.iter().zip(anchor::of_workloads(&compared.workloads)) {
            let Some(tasks) = workload.details.tasks else { continue };
            let (name, point) = (workload.comparison.name.as_str(), (tasks, workload, anchor));
            match all.iter_mut().find(|curves| curves.name == name) {
                Some(curves) => curves.points.push(point),
                None => all.push(Curves { name, points: vec![point] }),
            }
        }
        all.iter_mut().for_each(|curves| curves.points.sort_by_key(|(tasks, ..)| *tasks));
        all.retain(|curves| curves.points.windows(2).any(|pair| pair[0].0 != pair[1].0));
        all
    }
}

/// Whether there is anything to show.
pub(super) fn are_there(compared: &Comparison) -> bool {
    !compared.scaling.is_empty() || !Curves::all(compared).is_empty()
}

/// The section.
pub(super) fn scaling(compared: &Comparison) -> Markup {
    let all = Curves::all(compared);
    let is_drawn = |case: &&ScaledCase| all.iter().any(|curves| curves.name == case.name);
    markup! {
        @if are_there(compared) {
            section #scaling aria-labelledby="scaling-title" {
                h2 #scaling-title { "Scaling" }
                @for curves in &all {
                    h3 { (one_line(curves.name)) }
                    (figure(curves))
                    @for case in compared.scaling.iter().filter(|case| case.name == curves.name) { (law(case)) }
                }
                @for case in compared.scaling.iter().filter(|case| !is_drawn(case)) {
                    h3 { (one_line(&case.name)) }
                    (law(case))
                }
            }
        }
    }
}

fn law(case: &ScaledCase) -> Markup {
    markup! {
        p.about { (laws::title(case)) ":" }
        ul.law {
            @for (tone, sentence) in laws::sentences(case, &UNICODE) { li.(class(tone)) { (sentence) } }
        }
    }
}

fn figure(curves: &Curves<'_>) -> Markup {
    let name = one_line(curves.name);
    let tasks: Vec<String> = curves.points.iter().map(|(tasks, ..)| tasks.to_string()).collect();
    let label = format!("Scaling of {name} on A and B, at {} tasks", tasks.join(", "));
    let head = markup! {
        th.number scope="col" { "tasks" }
        @for side in ["A", "B"] { th.number scope="col" { (side) } }
        th scope="col" { "n" }
        th scope="col" { "answer" }
    };
    let body = markup! {
        @for (tasks, ComparedWorkload { comparison, .. }, anchor) in &curves.points {
            @let medians = words::medians(comparison, &one_line(&comparison.unit), &UNICODE);
            tr {
                th.number scope="row" { a href={ "#" (anchor) } { (value::count(*tasks)) } }
                td.number { (value::data(comparison.a.median, &medians[0])) }
                td.number { (value::data(comparison.b.median, &medians[1])) }
                td { (words::units(comparison)) }
                td { (super::badge(comparison)) }
            }
        }
    };
    markup! {
        figure.both {
            div.chart aria-label=(label) aria-describedby="chart-keys" { (noscript()) }
            figcaption { "Medians by number of tasks (A: circles, dashed; B: diamonds), and every value (faint, A to the left, B to the right)" }
        }
        (table(&format!("{name} by number of tasks"), false, head, body))
    }
}
