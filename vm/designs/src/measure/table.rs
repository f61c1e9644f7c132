//! The output of a run: a table for each number of threads, one of the mixed runs, and the results of the goals.

use super::benchmark::Metric;
use super::fragmentation::{Left, Trace};
use super::rounds::{Leavings, Plan};
use super::samples::{Samples, Spread};
use super::subject::Subject;
use crate::BLOCK_FRAMES;
use crate::pinning::usable_cpus;

const NAME_WIDTH: usize = 15;
const CELL_WIDTH: usize = 21;

/// All figures of the samples. A cell has a median and the quartiles around it.
pub(super) fn of_samples(samples: &Samples, plan: &Plan, subjects: &[Subject]) -> String {
    plan.threads.iter().map(|&threads| of_threads(samples, plan, subjects, threads)).collect()
}

fn of_threads(samples: &Samples, plan: &Plan, subjects: &[Subject], threads: usize) -> String {
    let cpus = usable_cpus().map_or(1, |cpus| cpus.len());
    let gib = (plan.frames * 4096) as f64 / (1 << 30) as f64;
    let plural = if threads == 1 { "" } else { "s" };
    let rounds = plan.rounds;
    let mut text = format!(
        "{threads} thread{plural} on {cpus} CPUs, {gib} GiB of frames: nanoseconds of CPU time per operation, median (quartiles), n = {rounds}\n"
    );
    for metrics in [&Metric::SINGLE[..], &Metric::HUGE] {
        text += &row("", &metrics.iter().map(|metric| metric.name().to_owned()).collect::<Vec<_>>());
        for subject in subjects {
            let spreads = metrics.iter().map(|&metric| samples.spread(subject.name, metric, threads));
            let spreads: Vec<Option<Spread>> = spreads.collect();
            if spreads.iter().any(Option::is_some) {
                text += &row(subject.name, &spreads.into_iter().map(cell).collect::<Vec<_>>());
            }
        }
    }
    text + "\n"
}

fn cell(spread: Option<Spread>) -> String {
    let Some(Spread { quarter, median, three_quarters, .. }) = spread else { return "–".to_owned() };
    if median < 100.0 {
        format!("{median:.1} ({quarter:.1}–{three_quarters:.1})")
    } else {
        format!("{median:.0} ({quarter:.0}–{three_quarters:.0})")
    }
}

/// The results of the mixed runs.
pub(super) fn of_mixed_runs(runs: &[(Trace, Leavings)]) -> String {
    runs.iter().map(|(trace, leavings)| of_mixed_run(trace, leavings)).collect()
}

fn of_mixed_run(trace: &Trace, leavings: &Leavings) -> String {
    let kind = if trace.huge { ", some of it in huge frames" } else { "" };
    let (millions, blocks) = (trace.gets as f64 / 1e6, trace.frames / BLOCK_FRAMES);
    let runs = leavings.first().map_or(0, |(_, left)| left.len());
    let mut text = format!(
        "A mixed run of {millions} million frames{kind}, over {blocks} blocks of 2 MiB: what is left, median (quartiles), n = {runs}\n"
    );
    let titles = ["free frames", "whole blocks", "% of the free", "huge gets", "refused"];
    text += &row("", &titles.map(str::to_owned));
    for (name, left) in leavings {
        let column = |of: &dyn Fn(&Left) -> Option<f64>| counts(left.iter().map(of).collect());
        text += &row(
            name,
            &[
                column(&|left| Some(left.free as f64)),
                column(&|left| Some(left.whole as f64)),
                column(&|left| Some(left.share() * 100.0)),
                column(&|left| left.huge.map(|huge| huge as f64)),
                column(&|left| trace.huge.then_some(left.refused as f64)),
            ],
        );
    }
    text + "\n"
}

fn counts(numbers: Option<Vec<f64>>) -> String {
    let Some(Spread { quarter, median, three_quarters, .. }) = numbers.and_then(Spread::of) else {
        return "–".to_owned();
    };
    format!("{median:.0} ({quarter:.0}–{three_quarters:.0})")
}

fn row(name: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("{cell:>CELL_WIDTH$}")).collect();
    format!("{name:NAME_WIDTH$}{cells}\n")
}
