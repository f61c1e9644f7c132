//! Times of a cache line between CPUs of this host. For every pair of CPUs, two threads, each bound
//! to a CPU, pass a line back and forth. Callers interpret the times.

mod bounce;
mod delays;

use crate::host::topology;
use crate::linux_facts::OwnFiles;
use crate::{StopFlag, TargetError};
use bounce::Failure;
use faultline_record::lens::calibration::{Nearness, Pair, Probe, Time};
use std::time::{Duration, Instant};

/// Amount of measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounds {
    /// Number of round trips of the line in each sample; at least 1.
    pub round_trips: u32,
    /// Samples of each pair; at least 1.
    pub samples: u32,
    /// Time limit of the whole probe.
    pub limit: Duration,
}

impl Default for Rounds {
    fn default() -> Self {
        Rounds { round_trips: 1000, samples: 31, limit: Duration::from_secs(120) }
    }
}

/// Median of the transfers over all pairs at that distance, in nanoseconds; `None` without such a
/// pair.
pub fn hand_over_ns(probe: &Probe, nearness: Nearness) -> Option<f64> {
    let near = probe.pairs.iter().filter(|pair| pair.nearness == nearness);
    quartiles(near.map(|pair| pair.hand_over.median_ns).collect()).map(|[_, median, _]| median)
}

/// Measures every pair of `cpus`, one after the other. Nothing else should run on these CPUs.
///
/// Each side waits until it reads the other's number, and writes the next one. Call this from an
/// optimised build; otherwise the time of the instruction is wrong.
///
/// # Errors
/// Fails with fewer than two CPUs, with a CPU that we may not use, at the time limit, and on a
/// stop.
pub fn probe(cpus: &[u32], rounds: Rounds, stop: &StopFlag) -> Result<Probe, TargetError> {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.len() < 2 {
        return Err(error(
            "measuring transfers needs two CPUs, and this machine has one",
            "choose a preset of `--costs` instead",
        ));
    }
    let deadline = Instant::now() + rounds.limit;
    let mut pairs = Vec::new();
    for (index, &one) in cpus.iter().enumerate() {
        for &other in &cpus[index + 1..] {
            let times =
                bounce::measure([one, other], rounds, deadline, stop).map_err(|failure| in_words(failure, rounds))?;
            let Some([lower, median_ns, upper]) = quartiles(times) else { continue };
            let nearness = topology::between(&OwnFiles, one, other);
            let hand_over = Time { median_ns, quartiles_ns: (lower, upper) };
            pairs.push(Pair { one, other, nearness, hand_over });
        }
    }
    let instruction_ps = quartiles(delays::samples_ps()).map_or(f64::NAN, |[_, median, _]| median);
    let delays = delays::measure([cpus[0], cpus[1]], stop).map_err(|failure| in_words(failure, rounds))?;
    Ok(Probe { instruction_ps, pairs, delays })
}

fn in_words(failure: Failure, rounds: Rounds) -> TargetError {
    match failure {
        Failure::CanNotBeTied(cpu) => {
            error(format!("cannot bind a thread to CPU {cpu}"), "the system may not offer it, or not allow this CPU")
        }
        Failure::TimedOut(one, other) => error(
            format!("the probe took longer than {} s, and was at CPUs {one} and {other}", rounds.limit.as_secs_f64()),
            "the machine may be busy; fewer CPUs take less time",
        ),
        Failure::Stopped => error("the probe was stopped", "nothing was saved"),
    }
}

fn error(problem: impl Into<String>, hint: &str) -> TargetError {
    TargetError { problem: problem.into(), hint: hint.into() }
}

/// First quartile, median and third quartile; `None` without values.
fn quartiles(mut values: Vec<f64>) -> Option<[f64; 3]> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some([1, 2, 3].map(|quarter| values[last * quarter / 4]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::lens::calibration::Delays;

    const FEW: Rounds = Rounds { round_trips: 100, samples: 5, limit: Duration::from_secs(60) };

    #[test]
    fn one_cpu_is_refused_in_words() {
        for cpus in [&[][..], &[0], &[0, 0]] {
            let refused = probe(cpus, FEW, &StopFlag::default()).unwrap_err();
            assert_eq!(refused.problem, "measuring transfers needs two CPUs, and this machine has one");
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused_in_words() {
        for missing in [1023, u32::MAX] {
            let refused = probe(&[missing - 1, missing], FEW, &StopFlag::default()).unwrap_err();
            assert!(refused.problem.starts_with("cannot bind a thread to CPU "), "{}", refused.problem);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn every_pair_is_measured() {
        let cpus = super::super::topology::usable_cpus();
        let cpus = &cpus[..cpus.len().min(3)];
        if cpus.len() < 2 {
            return;
        }
        let probe = probe(cpus, FEW, &StopFlag::default()).unwrap();
        assert_eq!(probe.pairs.len(), cpus.len() * (cpus.len() - 1) / 2);
        for pair in &probe.pairs {
            let Time { median_ns, quartiles_ns: (low, high) } = pair.hand_over;
            assert!(pair.one < pair.other && low <= median_ns && median_ns <= high);
            // Lower bound: no line crosses a chip faster than light. There is no upper bound,
            // because other work may delay a line.
            assert!(median_ns > 0.1, "{pair:?}");
            assert!(hand_over_ns(&probe, pair.nearness).is_some());
        }
        assert!(probe.instruction_ps > 10.0, "{}", probe.instruction_ps);
        let Delays { atomic, contended, wake, interrupt, call } = probe.delays;
        for (time, least_ns) in [(atomic, 0.1), (contended, 0.1), (wake, 10.0), (interrupt, 0.0), (call, 1.0)] {
            let (low, high) = time.quartiles_ns;
            assert!(low <= time.median_ns && time.median_ns <= high && time.median_ns >= least_ns, "{time:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn it_ends_when_it_is_stopped_and_at_its_limit() {
        let cpus = super::super::topology::usable_cpus();
        if cpus.len() < 2 {
            return;
        }
        let endless = Rounds { round_trips: u32::MAX, samples: 1, limit: Duration::from_millis(50) };
        let ended = probe(&cpus[..2], endless, &StopFlag::default()).unwrap_err().problem;
        assert!(ended.starts_with("the probe took longer than 0.05 s, and was at CPUs"), "{ended}");
        let stop = StopFlag::default();
        stop.set();
        let ended = probe(&cpus[..2], Rounds { limit: Duration::from_secs(60), ..endless }, &stop).unwrap_err().problem;
        assert_eq!(ended, "the probe was stopped");
    }

    #[test]
    fn quartiles_are_values_that_were_measured() {
        assert_eq!(quartiles(vec![5.0, 1.0, 4.0, 2.0, 3.0]), Some([2.0, 3.0, 4.0]));
        assert_eq!((quartiles(vec![7.0]), quartiles(vec![])), (Some([7.0; 3]), None));
    }
}
