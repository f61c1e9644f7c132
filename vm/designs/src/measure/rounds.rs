//! The order of a run. In each round every subject takes every benchmark on every number of threads, starting with a
//! different subject each time. So a temporary disturbance of the host affects all of them equally.

use super::benchmark::{Bench, Pages, Shape};
use super::fragmentation::{Left, Trace};
use super::samples::Samples;
use super::subject::Subject;
use std::time::Instant;

/// What is measured, and how much.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) rounds: usize,
    pub(super) threads: Vec<usize>,
    pub(super) frames: usize,
    /// Kinds of mixed runs, each made with several seeds.
    pub(super) mixed_runs: Vec<Trace>,
    pub(super) seeds_of_mixed_runs: u64,
    pub(super) seed: u64,
}

/// The results of mixed runs of one kind, by subject and seed.
pub(super) type Leavings = Vec<(&'static str, Vec<Left>)>;

/// Takes all samples. The first round of each is discarded. Progress goes to standard error.
pub(super) fn take(plan: &Plan, subjects: &[Subject]) -> Samples {
    let pages = Pages::of(plan.frames);
    let mut samples = Samples::default();
    let begin = Instant::now();
    for round in 0..=plan.rounds {
        for &threads in &plan.threads {
            let shape = Shape { frames: plan.frames, threads, pages: &pages, seed: plan.seed + round as u64 };
            for bench in Bench::ALL {
                for place in 0..subjects.len() {
                    let subject = &subjects[(place + round) % subjects.len()];
                    let figures = (subject.sample)(bench, &shape).unwrap_or_default();
                    for (metric, ns) in figures.into_iter().filter(|_| round > 0) {
                        samples.add(subject.name, metric, threads, round - 1, ns);
                    }
                }
            }
        }
        let what = if round == 0 { "warm-up".to_owned() } else { format!("round {round} of {}", plan.rounds) };
        eprintln!("{what} done, {:.0} s", begin.elapsed().as_secs_f64());
    }
    samples
}

/// Runs the mixed runs.
pub(super) fn mix(plan: &Plan, subjects: &[Subject]) -> Vec<(Trace, Leavings)> {
    let mut all = Vec::new();
    for trace in &plan.mixed_runs {
        let mut leavings = Vec::new();
        for subject in subjects.iter().filter(|subject| !trace.huge || subject.has_huge) {
            let Some(run) = subject.mixed_run else { continue };
            let seeds = (0..plan.seeds_of_mixed_runs).map(|more| trace.seed + more);
            leavings.push((subject.name, seeds.map(|seed| run(&Trace { seed, ..*trace })).collect()));
            eprintln!("mixed runs{} of {} done", if trace.huge { " with huge frames" } else { "" }, subject.name);
        }
        all.push((*trace, leavings));
    }
    all
}
