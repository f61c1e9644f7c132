//! CPU time of the executions whose time is compared, for workloads without an answer by time.
//!
//! The CPU times of all workloads are one suite, tested apart from the answers, so they have an
//! error rate of their own. docs/METHODOLOGY.md, §13, describes the method.

use super::paired::by_boot;
use super::pairs::Pair;
use crate::comparison::ComparedWorkload;
use crate::datasets::{MeasuredRun, Measurement};
use crate::side_figures::CPU_TIME;
use crate::two_sample::{Run, Samples, Settings, TwoSampleError, Workload, compare, no_ratio};
use crate::unmatched::Letter;
use crate::workload_comparison::Answer;
use faultline_record::direction::Direction;

/// Adds the CPU time to each workload whose answer is inconclusive, if every run of both sides has
/// one. It replaces the further figure.
///
/// Fails if the level is out of range.
pub(super) fn add_cpu_times(
    workloads: &mut [ComparedWorkload],
    pairs: &[Pair],
    sides: &[Measurement<'_>; 2],
    settings: &Settings,
) -> Result<(), TwoSampleError> {
    if workloads.iter().all(|workload| workload.comparison.answer != Answer::Inconclusive) {
        return Ok(());
    }
    let mut with_cpu_time = Vec::new();
    let mut suite = Vec::new();
    for (workload, pair) in workloads.iter_mut().zip(pairs) {
        if let Some(cpu_time) = cpu_time(pair, sides, &workload.comparison.unit) {
            with_cpu_time.push(workload);
            suite.push(cpu_time);
        }
    }
    if suite.is_empty() {
        return Ok(());
    }
    let tested = compare(&suite, &Settings { resamples: 0, ..*settings })?;
    for (workload, cpu_time) in with_cpu_time.into_iter().zip(tested.workloads) {
        if workload.comparison.answer == Answer::Inconclusive {
            workload.details.figures.retain(|figure| figure.name != CPU_TIME);
            workload.details.by_cpu_time = Some(Box::new(cpu_time));
        }
    }
    Ok(())
}

/// The CPU times of a pair; `None` if a run has none, or one without a usable ratio.
fn cpu_time(pair: &Pair, sides: &[Measurement<'_>; 2], unit: &str) -> Option<Workload> {
    let samples = |side: usize, series: usize, letter: Letter| {
        let run = |run: &MeasuredRun<'_>| {
            let value = run.cpu_time.filter(|value| no_ratio(letter, *value).is_none())?;
            Some((run.boot.clone(), Run { order: run.order, block: run.block, intervals: vec![value] }))
        };
        let runs: Vec<_> = sides[side].runs[series].iter().map(run).collect::<Option<_>>()?;
        let conditions = sides[side].conditions[series];
        Some(Samples { boots: by_boot(runs.into_iter()), conditions, ..Samples::default() })
    };
    // Rates are operations per second: `turn/s`.
    let unit = unit.strip_suffix("/s").map_or_else(|| "s".to_owned(), |operation| format!("s/{operation}"));
    Some(Workload {
        name: CPU_TIME.to_owned(),
        unit,
        direction: Direction::Lower,
        a: samples(0, pair.a, Letter::A)?,
        b: samples(1, pair.b, Letter::B)?,
    })
}
