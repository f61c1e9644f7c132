//! Subjects of the measurement (a design, or the host's kernel), and the order of a run.
//!
//! In each round every subject takes every benchmark on every number of threads, starting with a
//! different subject each time. A temporary disturbance of the host thus affects all of them
//! equally.

use crate::measure::benchmark::{Bench, Figures, Pages, Shape};
use crate::measure::fragmentation::{Left, Trace};
use crate::measure::samples::Samples;
use crate::measure::{fragmentation, host, huge, single};
use crate::{Array16, ColourQueues, Design, GlobalMutex, Magazines, Ours, SpinBuddy, SpinList};
use std::time::Instant;

/// Plan of a measurement.
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

/// Takes all samples. Discards the first round of each. Reports progress on standard error.
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

/// A subject of the measurement.
pub struct Subject {
    pub(super) name: &'static str,
    pub(super) sample: fn(Bench, &Shape<'_>) -> Option<Figures>,
    /// `None` if the subject has no frames of its own.
    pub(super) mixed_run: Option<fn(&Trace) -> Left>,
    pub(super) has_huge: bool,
}

impl Subject {
    /// All designs of this crate, ours first.
    pub fn all() -> Vec<Self> {
        vec![
            Self::of::<Ours>(),
            Self::of::<GlobalMutex>(),
            Self::of::<Array16>(),
            Self::of::<Magazines>(),
            Self::of::<ColourQueues>(),
            Self::of::<SpinBuddy>(),
            Self::of::<SpinList>(),
        ]
    }

    /// A design.
    pub fn of<D: Design>() -> Self {
        Subject {
            name: D::NAME,
            sample: |bench, shape| (D::HAS_HUGE || bench != Bench::Huge).then(|| sample::<D>(bench, shape)),
            mixed_run: Some(fragmentation::mixed_run::<D>),
            has_huge: D::HAS_HUGE,
        }
    }

    /// The host's kernel, for comparison: it also maps, faults and clears pages.
    pub(super) fn host() -> Self {
        Subject { name: "host kernel", sample: host::sample, mixed_run: None, has_huge: false }
    }
}

fn sample<D: Design>(bench: Bench, shape: &Shape<'_>) -> Figures {
    match bench {
        Bench::Bulk => single::bulk::<D>(shape),
        Bench::Repeat => single::repeat::<D>(shape),
        Bench::Rand => single::random::<D>(shape),
        Bench::Faults => single::faults::<D>(shape),
        Bench::NearlyFull => single::nearly_full::<D>(shape),
        Bench::Huge => huge::sample::<D>(shape),
    }
}
