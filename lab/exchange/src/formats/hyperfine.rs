//! hyperfine's JSON (`--export-json`) and CSV (`--export-csv`): times of commands in seconds, with
//! the means of user and system time.
//!
//! hyperfine starts the command for each time, so each is a run. Newer versions add the memory of
//! each. Commands of the same text that differ in a parameter get it in their name. Exit statuses
//! are not read. Written are the median of a run's intervals, all runs of a command as one result,
//! and each summary as a result of its own.
//!
//! Samples of `hyperfine`: hyperfine 1.15.0; `sleep.json`: `hyperfine -N -w 1 -m 5 -M 8
//! --export-json sleep.json -L n 0.01,0.02 'sleep {n}'`; `shell.json`: `hyperfine -m 3 -M 3 -i
//! --export-json shell.json 'exit 3' true`.
//!
//! Samples of `hyperfine-csv`: hyperfine 1.15.0; `sleep.csv`: as `hyperfine/sleep.json`, with
//! `--export-csv sleep.csv`; `shell.csv`: `hyperfine -m 3 -M 3 -i --export-csv shell.csv 'exit 3'
//! true 'echo "a, b"'`.

use crate::error::{ReadError, WriteError};
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read, Written};
use crate::gather::{Gather, check_parts, value};
use crate::json::{self, Members};
use crate::quotes::check_quotes;
use crate::recognition::FormatMatch;
use crate::reduction::Reduction;
use crate::text::{self, quoted};
use crate::values;
use csv::{ReaderBuilder, StringRecord};
use faultline_record::dataset::{DataPoint, Dataset, Measured, Series, Summed};
use faultline_record::direction::Direction;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "hyperfine",
    description: "hyperfine's JSON (--export-json)",
    reads: "a run per time and per memory value; mean user and system time; without times the mean with deviation",
    writes: "a result per command with mean, median, deviation; only times in seconds, user, system and memory; not facts, commits, times, boots, order, intervals",
    is_directory: false,
    recognise: |glance| FormatMatch::Mark.when(glance.json_has(&["results", "command"])),
    content: Content::Values { read: Read::File(read), write: Some(write) },
};

/// The CSV lacks the single times; the mean is read with minimum, maximum and deviation.
pub(crate) static CSV_FORMAT: FormatDescriptor = FormatDescriptor {
    name: "hyperfine-csv",
    description: "hyperfine's CSV (--export-csv)",
    reads: "the mean with deviation, minimum, maximum; mean user and system time",
    writes: "",
    is_directory: false,
    recognise: |glance| FormatMatch::Mark.when(glance.text_begins(|text| text.starts_with(HEADER))),
    content: Content::Values { read: Read::File(read_csv), write: None },
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

/// hyperfine's result of one command.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Command {
    command: String,
    mean: Option<f64>,
    stddev: Option<f64>,
    median: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_usage_byte: Option<Vec<f64>>,
    #[serde(skip_serializing)]
    parameters: Members<String>,
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let Results { results } = json::parse(file, "hyperfine's JSON")?;
    dataset(file, &results)
}

/// The dataset of a file's commands. Fails without commands, or for a command without times and
/// mean.
fn dataset(file: File<'_>, results: &[Command]) -> Result<Dataset, ReadError> {
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

/// The mean of user or system time over all `runs`.
fn share(value: f64, runs: usize) -> DataPoint {
    let n = u32::try_from(runs).ok().filter(|runs| *runs > 0);
    DataPoint::of(Measured::Summary(Summed { value, low: None, high: None, deviation: None, n }))
}

/// The position of a series among hyperfine's figures of a command; `None` if it is none of them.
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

/// Reduces figures to hyperfine's: times, means of user and system time, memory per run.
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

/// `times`: the command's number of times.
fn as_the_tool_has_it(series: &mut Series, times: usize) -> bool {
    let values = values(series);
    let points = match series.unit.as_str() {
        MEMORY_UNIT => runs(&values),
        _ => vec![share(values::mean(&values), times)],
    };
    std::mem::replace(&mut series.points, points) != series.points
}

/// The results of one command: one for all runs, then one per summary. The first also has the other
/// figures.
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
    let (min, max) = values::extremes(&times);
    Command {
        mean: Some(values::mean(&times)),
        stddev: values::deviation(&times),
        median: Some(values::median(&times)),
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

/// Beginning of the CSV's header.
const HEADER: &str = "command,mean,stddev,median,user,system,min,max";
const PARAMETER: &str = "parameter_";

fn read_csv(file: File<'_>) -> Result<Dataset, ReadError> {
    check_parts(file)?;
    check_quotes(file, b',')?;
    if !file.text.starts_with(HEADER) {
        let found = quoted(file.text.lines().next().unwrap_or_default());
        return Err(ReadError::new(file.name, 1, found, format!("`{HEADER}`")));
    }
    let mut reader = ReaderBuilder::new().from_reader(file.text.as_bytes());
    let header = reader.headers().map_err(|error| text::csv_error(file.name, &error))?.clone();
    let mut commands = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| text::csv_error(file.name, &error))?;
        commands.push(csv_command(file, &header, &row)?);
    }
    dataset(file, &commands)
}

fn csv_command(file: File<'_>, header: &StringRecord, row: &StringRecord) -> Result<Command, ReadError> {
    let line = row.position().map_or(1, csv::Position::line);
    // A command that ran once has a blank cell for the deviation.
    let figure = |column: usize| {
        let cell = Some(&row[column]).filter(|cell| !cell.is_empty());
        cell.map(|cell| text::finite(file.name, line, cell, &header[column])).transpose()
    };
    let parameters = header
        .iter()
        .zip(row)
        .filter_map(|(column, cell)| Some((column.strip_prefix(PARAMETER)?.to_owned(), cell.to_owned())));
    Ok(Command {
        command: row[0].to_owned(),
        mean: figure(1)?,
        stddev: figure(2)?,
        median: figure(3)?,
        user: figure(4)?,
        system: figure(5)?,
        min: figure(6)?,
        max: figure(7)?,
        parameters: Members(parameters.collect()),
        ..Command::default()
    })
}
