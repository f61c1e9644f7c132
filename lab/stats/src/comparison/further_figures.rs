//! Further figures of the workloads: what their runs measured beside the main figure, such as the CPU time and the memory of a command.
//!
//! They are tested as a suite of their own, so they change no answer. Methods stand in docs/METHODOLOGY.md, §13.

use super::paired::by_boot;
use super::pairs::Pair;
use crate::datasets::{MeasuredRun, Measurement};
use crate::side_figures::Value;
use crate::two_sample::{Run, Samples, Settings, TwoSampleError, Workload, compare, no_ratio};
use faultline_model::direction::Direction;
use faultline_model::unmatched::Letter;
use faultline_model::workload_comparison::WorkloadComparison;

/// The further figures of each pair, in the order in which its runs name them. A figure is left out if one side lacks it, if the sides' units or
/// directions differ, or if a value has no usable ratio, such as 0.
///
/// Fails if the level isn't one.
pub(super) fn further_figures(
    pairs: &[Pair],
    sides: &[Measurement<'_>; 2],
    settings: &Settings,
) -> Result<Vec<Vec<WorkloadComparison>>, TwoSampleError> {
    let of_pair = |(index, pair): (usize, &Pair)| workloads(pair, sides).into_iter().map(move |figure| (index, figure));
    let (places, figures): (Vec<usize>, Vec<Workload>) = pairs.iter().enumerate().flat_map(of_pair).unzip();
    let mut compared = vec![Vec::new(); pairs.len()];
    if figures.is_empty() {
        return Ok(compared);
    }
    let suite = compare(&figures, &Settings { resamples: 0, ..*settings })?;
    for (place, figure) in places.into_iter().zip(suite.workloads) {
        compared[place].push(figure);
    }
    Ok(compared)
}

fn workloads(pair: &Pair, sides: &[Measurement<'_>; 2]) -> Vec<Workload> {
    let (runs_a, runs_b) = (&sides[0].runs[pair.a], &sides[1].runs[pair.b]);
    let names = runs_a.iter().flat_map(|run| &run.figures).fold(Vec::new(), |mut names: Vec<&Value>, figure| {
        if names.iter().all(|known| known.name != figure.name) {
            names.push(figure);
        }
        names
    });
    let of = |figure: &&Value| {
        let a = samples(figure, runs_a, Letter::A)?;
        let b = samples(figure, runs_b, Letter::B)?;
        Some(Workload {
            name: figure.name.clone(),
            unit: figure.unit.clone(),
            direction: figure.direction.unwrap_or(Direction::Lower),
            a: Samples { conditions: sides[0].conditions[pair.a], ..a },
            b: Samples { conditions: sides[1].conditions[pair.b], ..b },
        })
    };
    names.iter().filter_map(of).collect()
}

/// The values of a figure. None if no run has it, if a run has it in another unit or direction, or if a value has no usable ratio.
fn samples(figure: &Value, runs: &[MeasuredRun<'_>], side: Letter) -> Option<Samples> {
    let with_figure = |run| Some((run, find(run, &figure.name)?));
    let found: Vec<(&MeasuredRun<'_>, &Value)> = runs.iter().filter_map(with_figure).collect();
    let is_usable = |(_, value): &(&MeasuredRun<'_>, &Value)| {
        value.unit == figure.unit && value.direction == figure.direction && no_ratio(side, value.value).is_none()
    };
    if found.is_empty() || !found.iter().all(is_usable) {
        return None;
    }
    let run = |(run, value): (&MeasuredRun<'_>, &Value)| {
        (run.boot.clone(), Run { order: run.order, block: run.block, intervals: vec![value.value] })
    };
    Some(Samples { boots: by_boot(found.into_iter().map(run)), ..Samples::default() })
}

fn find<'r>(run: &'r MeasuredRun<'_>, name: &str) -> Option<&'r Value> {
    run.figures.iter().find(|figure| figure.name == name)
}
