//! Further figures of the workloads beside the main one, such as the CPU time and memory of a
//! command.
//!
//! They are tested as a separate suite, so they affect no answer. docs/METHODOLOGY.md, §13,
//! describes the methods.

use super::paired::by_boot;
use super::pairs::Pair;
use crate::comparison::{UntestedFigure, UntestedReason};
use crate::datasets::{MeasuredRun, Measurement};
use crate::median::median;
use crate::side_figures::Value;
use crate::two_sample::{Run, Samples, Settings, TwoSampleError, Workload, compare, no_ratio};
use crate::unmatched::Letter;
use crate::workload_comparison::WorkloadComparison;
use faultline_record::direction::Direction;

/// Results for the further figures.
pub(super) struct FurtherFigures {
    /// Tested figures of each pair, in the order in which its runs name them.
    pub(super) tested: Vec<Vec<WorkloadComparison>>,
    /// Figures that both sides have, but with a value that has no usable ratio.
    pub(super) untested: Vec<UntestedFigure>,
}

/// The further figures of the pairs. A figure is left out if one side lacks it, or if the sides'
/// units or directions differ.
///
/// Fails if the level is out of range.
pub(super) fn further_figures(
    pairs: &[Pair],
    sides: &[Measurement<'_>; 2],
    settings: &Settings,
) -> Result<FurtherFigures, TwoSampleError> {
    let mut found = FurtherFigures { tested: vec![Vec::new(); pairs.len()], untested: Vec::new() };
    let (mut places, mut figures) = (Vec::new(), Vec::new());
    for (place, pair) in pairs.iter().enumerate() {
        for figure in on_both_sides(pair, sides) {
            if figure.values().all(|(side, value)| no_ratio(side, value).is_none()) {
                places.push(place);
                figures.push(figure.workload(pair, sides));
            } else {
                found.untested.extend(figure.untested(pair));
            }
        }
    }
    if figures.is_empty() {
        return Ok(found);
    }
    let suite = compare(&figures, &Settings { resamples: 0, ..*settings })?;
    for (place, figure) in places.into_iter().zip(suite.workloads) {
        found.tested[place].push(figure);
    }
    Ok(found)
}

/// A figure, with the runs of both sides that have it.
struct Figure<'a> {
    first: &'a Value,
    sides: [Vec<(&'a MeasuredRun<'a>, &'a Value)>; 2],
}

/// The figures that both sides have, in one unit and direction.
fn on_both_sides<'a>(pair: &Pair, sides: &'a [Measurement<'_>; 2]) -> Vec<Figure<'a>> {
    let runs = [&sides[0].runs[pair.a], &sides[1].runs[pair.b]];
    let names = runs[0].iter().flat_map(|run| &run.figures).fold(Vec::new(), |mut names: Vec<&Value>, figure| {
        if names.iter().all(|known| known.name != figure.name) {
            names.push(figure);
        }
        names
    });
    let with_runs = |first: &'a Value| {
        let of_side = |side: usize| runs[side].iter().filter_map(|run| Some((run, find(run, &first.name)?))).collect();
        Figure { first, sides: [0, 1].map(of_side) }
    };
    names.into_iter().map(with_runs).filter(Figure::is_on_both).collect()
}

impl Figure<'_> {
    fn is_on_both(&self) -> bool {
        let is_alike = |&(_, value): &(&MeasuredRun<'_>, &Value)| {
            value.unit == self.first.unit && value.direction == self.first.direction
        };
        self.sides.iter().all(|side| !side.is_empty() && side.iter().all(is_alike))
    }

    fn values(&self) -> impl Iterator<Item = (Letter, f64)> {
        let of_side =
            |(side, letter): (usize, Letter)| self.sides[side].iter().map(move |(_, value)| (letter, value.value));
        [(0, Letter::A), (1, Letter::B)].into_iter().flat_map(of_side)
    }

    fn direction(&self) -> Direction {
        self.first.direction.unwrap_or(Direction::Lower)
    }

    fn workload(&self, pair: &Pair, measured: &[Measurement<'_>; 2]) -> Workload {
        let [a, b] = [0, 1].map(|side| self.samples(side));
        Workload {
            name: self.first.name.clone(),
            unit: self.first.unit.clone(),
            direction: self.direction(),
            a: Samples { conditions: measured[0].conditions[pair.a], ..a },
            b: Samples { conditions: measured[1].conditions[pair.b], ..b },
        }
    }

    fn samples(&self, side: usize) -> Samples {
        let run = |&(run, value): &(&MeasuredRun<'_>, &Value)| {
            (run.boot.clone(), Run { order: run.order, block: run.block, intervals: vec![value.value] })
        };
        Samples { boots: by_boot(self.sides[side].iter().map(run)), ..Samples::default() }
    }

    fn untested(&self, pair: &Pair) -> Option<UntestedFigure> {
        let middle = |side: usize| median(&self.sides[side].iter().map(|(_, value)| value.value).collect::<Vec<_>>());
        Some(UntestedFigure {
            name: pair.name.clone(),
            figure: Some(self.first.name.clone()),
            reason: UntestedReason::NoRatio,
            tasks: pair.tasks,
            unit: self.first.unit.clone(),
            direction: self.direction(),
            a: middle(0)?,
            b: middle(1)?,
        })
    }
}

fn find<'r>(run: &'r MeasuredRun<'_>, name: &str) -> Option<&'r Value> {
    run.figures.iter().find(|figure| figure.name == name)
}
