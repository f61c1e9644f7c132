//! The output of a run: a table for each number of threads, one of the mixed runs, and the verdicts
//! on the goals of our own allocator relative to its peers in one run.

use crate::BLOCK_FRAMES;
use crate::measure::benchmark::Metric;
use crate::measure::fragmentation::{Left, Trace};
use crate::measure::rounds::{Leavings, Plan, Subject};
use crate::measure::samples::{Samples, Spread};
use crate::team::usable_cpus;

const NAME_WIDTH: usize = 15;
const CELL_WIDTH: usize = 21;

/// Tables of all figures. A cell has a median and the quartiles around it.
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

const OURS: &str = "ours";
const LLFREE: &str = "llfree";
const BUDDY: &str = "spin-buddy";

/// A goal for the ratio of our time to a peer's.
struct Goal {
    words: &'static str,
    metrics: &'static [Metric],
    threads: usize,
    peer: &'static str,
    most: f64,
}

const fn beside_llfree(words: &'static str, metrics: &'static [Metric], threads: usize, most: f64) -> Goal {
    Goal { words, metrics, threads, peer: LLFREE, most }
}

const BULK: &[Metric] = &[Metric::BulkGet, Metric::BulkPut];
const NEARLY_FULL: &[Metric] = &[Metric::NearlyFullGet, Metric::NearlyFullPut];
const HUGE_BULK: &[Metric] = &[Metric::HugeBulkGet, Metric::HugeBulkPut];
const HUGE_RAND: &[Metric] = &[Metric::HugeRandGet, Metric::HugeRandPut];

const GOALS: &[Goal] = &[
    beside_llfree("repeat", &[Metric::Repeat], 1, 0.3),
    beside_llfree("repeat", &[Metric::Repeat], 2, 0.3),
    Goal { words: "repeat", metrics: &[Metric::Repeat], threads: 1, peer: BUDDY, most: 0.25 },
    Goal { words: "repeat", metrics: &[Metric::Repeat], threads: 2, peer: BUDDY, most: 0.25 },
    beside_llfree("bulk get and put", BULK, 1, 0.35),
    beside_llfree("bulk get and put", BULK, 2, 0.35),
    beside_llfree("rand put", &[Metric::RandPut], 1, 0.65),
    beside_llfree("rand put", &[Metric::RandPut], 2, 0.65),
    beside_llfree("fault", &[Metric::Fault], 1, 0.35),
    beside_llfree("fault", &[Metric::Fault], 2, 0.35),
    beside_llfree("get and put, 2 % free", NEARLY_FULL, 1, 1.0),
    beside_llfree("get and put, 2 % free", NEARLY_FULL, 2, 1.0),
    beside_llfree("get, 2 % free", &[Metric::NearlyFullGet], 1, 1.0),
    beside_llfree("get, 2 % free", &[Metric::NearlyFullGet], 2, 1.0),
    beside_llfree("huge repeat", &[Metric::HugeRepeat], 1, 1.0),
    beside_llfree("huge repeat", &[Metric::HugeRepeat], 2, 1.0),
    beside_llfree("huge bulk get and put", HUGE_BULK, 1, 1.0),
    beside_llfree("huge bulk get and put", HUGE_BULK, 2, 1.0),
    beside_llfree("huge rand get and put", HUGE_RAND, 1, 1.0),
    beside_llfree("huge rand get and put", HUGE_RAND, 2, 1.0),
    beside_llfree("huge get, 2 % free", &[Metric::HugeNearlyFull], 1, 1.0),
    beside_llfree("huge get, 2 % free", &[Metric::HugeNearlyFull], 2, 1.0),
];

/// The verdict on each goal, one sentence each.
pub(super) fn verdicts(samples: &Samples, leavings: &[Leavings]) -> Vec<String> {
    let times = GOALS.iter().map(|goal| time_verdict(samples, goal));
    let whole = leavings.iter().flat_map(|left| [LLFREE, BUDDY].map(|peer| whole_verdict(left, peer)));
    times.chain(whole.flatten()).collect()
}

fn time_verdict(samples: &Samples, goal: &Goal) -> String {
    let Goal { words, metrics, threads, peer, most } = goal;
    let name = format!("{words}, {threads} thread{}: at most {most} of {peer}", if *threads == 1 { "" } else { "s" });
    match samples.ratio(OURS, peer, metrics, *threads) {
        None => format!("not measured  {name}"),
        Some(ratio) => {
            let verdict = if ratio.median <= *most { "reached" } else { "MISSED" };
            let (low, high) = (ratio.quarter, ratio.three_quarters);
            format!("{verdict:12}  {name}: {:.2} ({low:.2} to {high:.2}, n = {})", ratio.median, ratio.count)
        }
    }
}

/// `None` if the run lacks one of the two.
fn whole_verdict(leavings: &Leavings, peer: &str) -> Option<String> {
    let whole = |name: &str| {
        let (_, left) = leavings.iter().find(|(subject, _)| *subject == name)?;
        Spread::of(left.iter().map(|left| left.whole as f64).collect()).map(|spread| spread.median)
    };
    let (ours, theirs) = (whole(OURS)?, whole(peer)?);
    let verdict = if ours >= theirs { "reached" } else { "MISSED" };
    Some(format!("{verdict:12}  whole blocks after mixed runs: at least those of {peer}: {ours} and {theirs}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::fragmentation::Left;

    #[test]
    fn a_goal_is_reached_missed_or_not_measured() {
        let mut samples = Samples::default();
        for (subject, ns) in [(OURS, 10.0), (LLFREE, 20.0), (BUDDY, 30.0)] {
            samples.add(subject, Metric::Repeat, 1, 0, ns);
        }
        let verdicts = verdicts(&samples, &[]);
        assert_eq!(verdicts[0], "MISSED        repeat, 1 thread: at most 0.3 of llfree: 0.50 (0.50 to 0.50, n = 1)");
        assert_eq!(verdicts[1], "not measured  repeat, 2 threads: at most 0.3 of llfree");
        assert!(verdicts[2].starts_with("MISSED        repeat, 1 thread: at most 0.25 of spin-buddy: 0.33"));
    }

    #[test]
    fn whole_blocks_are_compared_by_their_medians() {
        let left = |whole| Left { free: 9999, whole, huge: None, refused: 0 };
        let leavings = vec![(OURS, vec![left(5), left(9), left(6)]), (BUDDY, vec![left(7), left(7), left(1)])];
        let verdicts = verdicts(&Samples::default(), &[leavings]);
        assert_eq!(
            verdicts.last().unwrap(),
            "MISSED        whole blocks after mixed runs: at least those of spin-buddy: 6 and 7"
        );
    }
}
