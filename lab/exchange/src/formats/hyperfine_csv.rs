//! hyperfine's CSV (`--export-csv`): a row per command, in seconds. It is only read.
//!
//! The single times are not in it. So the mean is read, with minimum, maximum and deviation; and the means of user and system time. Commands
//! of the same text that differ in a parameter (columns `parameter_*`) get it in their name, as in `hyperfine`.

use super::hyperfine::{self, Command};
use crate::csv_error;
use crate::decimal;
use crate::error::ReadError;
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::gather::check_parts;
use crate::json::Members;
use crate::recognition::Evidence;
use crate::text::quoted;
use csv::{ReaderBuilder, StringRecord};
use faultline_model::dataset::Dataset;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "hyperfine-csv",
    description: "hyperfine's CSV (--export-csv)",
    is_directory: false,
    recognise: |glance| Evidence::Mark.when(glance.text_begins(|text| text.starts_with(HEADER))),
    content: Content::Values { read: Read::File(read), write: None },
};

/// How the header begins.
const HEADER: &str = "command,mean,stddev,median,user,system,min,max";
const PARAMETER: &str = "parameter_";

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    check_parts(file)?;
    if !file.text.starts_with(HEADER) {
        let found = quoted(file.text.lines().next().unwrap_or_default());
        return Err(ReadError::new(file.name, 1, found, format!("`{HEADER}`")));
    }
    let mut reader = ReaderBuilder::new().from_reader(file.text.as_bytes());
    let header = reader.headers().map_err(|error| csv_error::in_words(file.name, &error))?.clone();
    let mut commands = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| csv_error::in_words(file.name, &error))?;
        commands.push(command(file, &header, &row)?);
    }
    hyperfine::dataset(file, &commands)
}

fn command(file: File<'_>, header: &StringRecord, row: &StringRecord) -> Result<Command, ReadError> {
    let line = row.position().map_or(1, csv::Position::line);
    // A command that ran once has no deviation: its cell is blank.
    let figure = |column: usize| {
        let cell = Some(&row[column]).filter(|cell| !cell.is_empty());
        cell.map(|cell| decimal::finite(file.name, line, cell, &header[column])).transpose()
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
