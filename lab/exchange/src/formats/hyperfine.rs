//! hyperfine's JSON (`--export-json`): times of commands in seconds, with the means of user and system time.
//!
//! The command is started anew for each time, so each is a run. A newer hyperfine also gives the memory of each. Commands of the same
//! text that differ in a parameter get it in their name. Exit statuses are not kept. We write of a run's intervals the median, all
//! runs of a command as one result, and a figure that sums up runs as a result of its own.

use crate::error::{ReadError, WriteError};
use crate::figures;
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::gather::{Gather, value};
use crate::json::{self, Members};
use crate::recognition::Evidence;
use crate::reduction::Reduction;
use crate::written::Written;
use faultline_model::dataset::{DataPoint, Dataset, Measured, Series, Summed};
use faultline_model::direction::Direction;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "hyperfine",
    description: "hyperfine's JSON (--export-json)",
    is_directory: false,
    recognise: |glance| Evidence::Mark.when(glance.json_has(&["results", "command"])),
    content: Content::Values { read: Read::File(read), write: Some(write) },
};

const UNIT: &str = "s";
const USER: &str = "user";
const SYSTEM: &str = "system";
const MEMORY: &str = "memory";
const MEMORY_UNIT: &str = "B";

#[derive(Serialize, Deserialize)]
struct Results {
    results: Vec<Command>,
}

/// What the tool has of one command.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Command {
    pub(super) command: String,
    pub(super) mean: Option<f64>,
    pub(super) stddev: Option<f64>,
    pub(super) median: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system: Option<f64>,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) times: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory_usage_byte: Option<Vec<f64>>,
    #[serde(skip_serializing)]
    pub(super) parameters: Members<String>,
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let Results { results } = json::parse(file, "hyperfine's JSON")?;
    dataset(file, &results)
}

/// The commands of a file as a dataset. A command without times and mean is an error, and a file without commands.
pub(super) fn dataset(file: File<'_>, results: &[Command]) -> Result<Dataset, ReadError> {
    let mut times_named: HashMap<&str, usize> = HashMap::new();
    for command in results {
        *times_named.entry(&command.command).or_default() += 1;
    }
    let mut gather = Gather::default();
    for (place, command) in results.iter().enumerate() {
        let name = name(command, times_named[command.command.as_str()] > 1);
        let times = command.times.as_deref().unwrap_or_default();
        let measured = if times.is_empty() { summary(command).into_iter().collect() } else { runs(times) };
        if measured.is_empty() {
            let found = format!("command {} without times and mean", place + 1);
            return Err(ReadError::new(file.name, None, found, "`times` or `mean` of each"));
        }
        gather.series(&name, None, None, UNIT).points.extend(measured);
        for (measure, mean) in [(USER, command.user), (SYSTEM, command.system)] {
            if let Some(mean) = mean {
                gather.series(&name, None, Some(measure), UNIT).points.push(share(mean, times.len()));
            }
        }
        if let Some(bytes) = command.memory_usage_byte.as_deref().filter(|bytes| !bytes.is_empty()) {
            let memory = gather.series(&name, None, Some(MEMORY), MEMORY_UNIT);
            memory.direction = Some(Direction::Lower);
            memory.points.extend(runs(bytes));
        }
    }
    gather.dataset(file.name, "results of hyperfine")
}

fn name(command: &Command, ambiguous: bool) -> String {
    if !ambiguous || command.parameters.0.is_empty() {
        return command.command.clone();
    }
    let parameters: Vec<_> = command.parameters.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{} ({})", command.command, parameters.join(", "))
}

fn runs(values: &[f64]) -> Vec<DataPoint> {
    values.iter().copied().map(value).collect()
}

fn summary(command: &Command) -> Option<DataPoint> {
    let Command { mean, stddev: deviation, min: low, max: high, .. } = *command;
    Some(DataPoint::of(Measured::Summary(Summed { value: mean?, low, high, deviation, n: None })))
}

/// A mean of user or system time over all `runs`.
fn share(value: f64, runs: usize) -> DataPoint {
    let n = u32::try_from(runs).ok().filter(|runs| *runs > 0);
    DataPoint::of(Measured::Summary(Summed { value, low: None, high: None, deviation: None, n }))
}

/// Which of the tool's figures a series is, in the order in which it has them.
fn figure(series: &Series) -> Option<usize> {
    let names = [None, Some(USER), Some(SYSTEM), Some(MEMORY)];
    let figure = names.iter().position(|name| series.measure.as_deref() == *name)?;
    let unit = if figure == 3 { MEMORY_UNIT } else { UNIT };
    (series.unit == unit).then_some(figure)
}

fn write(whole: Reduction) -> Result<Written, WriteError> {
    let reduced =
        whole.no_facts().no_commits().no_times().no_boots().no_order().no_missing().no_empty().fold_tasks().only(
            |series| figure(series).is_some(),
            "measures other than a command's times in seconds, user, system and memory",
        );
    let reduced = with_commands(reduced).directions(|_| Some(Direction::Lower)).ready(FORMAT.name)?;
    let results = reduced.dataset.series.chunk_by(|a, b| a.name == b.name).flat_map(commands).collect();
    Ok(Written::file("hyperfine.json", json::text(&Results { results }), reduced))
}

/// Lets figures be what the tool has of them: of a command its times, means of user and system time, and memory by run.
fn with_commands(reduction: Reduction) -> Reduction {
    let times = reduction.dataset.series.iter().filter(|series| series.measure.is_none());
    let single = |point: &&DataPoint| !is_summary(point);
    let commands: HashMap<String, (usize, usize)> = times
        .enumerate()
        .map(|(place, series)| (series.name.clone(), (place, series.points.iter().filter(single).count())))
        .collect();
    reduction
        .only(|series| commands.contains_key(&series.name), "figures of commands whose times are not there")
        .medians()
        .each_series(
            |series| series.measure.is_none() && without_counts(series),
            "numbers of values that were summed up",
        )
        .each_series(
            |series| series.measure.is_some() && as_the_tool_has_it(series, commands[&series.name].1),
            "user, system and memory figures beyond those that hyperfine has",
        )
        .arranged(|dataset| {
            dataset.series.iter_mut().for_each(|series| series.points.sort_by_key(is_summary));
            dataset.series.sort_by_cached_key(|series| (commands[&series.name].0, figure(series)));
        })
}

fn is_summary(point: &DataPoint) -> bool {
    matches!(point.measured, Measured::Summary(_))
}

fn without_counts(series: &mut Series) -> bool {
    let counts = series.points.iter_mut().filter_map(|point| match &mut point.measured {
        Measured::Summary(summed) => summed.n.take(),
        _ => None,
    });
    counts.count() > 0
}

fn values(series: &Series) -> Vec<f64> {
    series.points.iter().flat_map(|point| point.measured.values()).copied().collect()
}

/// `times`: how many the command has.
fn as_the_tool_has_it(series: &mut Series, times: usize) -> bool {
    let values = values(series);
    let points = match series.unit.as_str() {
        MEMORY_UNIT => runs(&values),
        _ => vec![share(figures::mean(&values), times)],
    };
    std::mem::replace(&mut series.points, points) != series.points
}

/// The results of one command: one of all its runs, then one for each figure that sums up others. The first has what else is known.
fn commands(figures: &[Series]) -> Vec<Command> {
    let (times, others) = figures.split_first().expect("a chunk is not empty");
    let (single, summed) = times.points.split_at(times.points.partition_point(|point| !is_summary(point)));
    let single: Vec<f64> = single.iter().flat_map(|point| point.measured.values()).copied().collect();
    let timed = (!single.is_empty()).then(|| timed(single));
    let mut commands: Vec<Command> = timed.into_iter().chain(summed.iter().filter_map(summed_up)).collect();
    for command in &mut commands {
        command.command.clone_from(&times.name);
    }
    let first = commands.first_mut().expect("no series is without runs");
    for series in others {
        let values = values(series);
        match series.measure.as_deref() {
            Some(USER) => first.user = values.first().copied(),
            Some(SYSTEM) => first.system = values.first().copied(),
            _ => first.memory_usage_byte = Some(values),
        }
    }
    commands
}

fn timed(times: Vec<f64>) -> Command {
    let (min, max) = figures::extremes(&times);
    Command {
        mean: Some(figures::mean(&times)),
        stddev: figures::deviation(&times),
        median: Some(figures::median(&times)),
        min,
        max,
        times: Some(times),
        ..Command::default()
    }
}

fn summed_up(point: &DataPoint) -> Option<Command> {
    let Measured::Summary(Summed { value, low: min, high: max, deviation: stddev, .. }) = point.measured else {
        return None;
    };
    Some(Command { mean: Some(value), stddev, min, max, ..Command::default() })
}
