//! Takes other tools' figures into the database.

use crate::error::Error;
use crate::operand;
use crate::places::Places;
use faultline_exchange::Format;
use faultline_runner::Clock;
use faultline_store::Store;
use std::io::ErrorKind;
use std::path::PathBuf;

/// What is to be taken in.
#[derive(Debug, Clone)]
pub struct ImportRequest {
    /// A file or directory.
    pub file: PathBuf,
    /// Its format; seen from its content where none is given.
    pub from: Option<Format>,
    /// Name to keep it under; the file's where none is given.
    pub name: Option<String>,
}

/// What was taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Its name.
    pub name: String,
    /// The format it was read from.
    pub format: Format,
    /// Series.
    pub series: usize,
    /// Points of all series.
    pub points: usize,
}

/// Reads figures and keeps them, with the time at which they were read.
pub fn import(request: &ImportRequest, places: &Places, clock: &dyn Clock) -> Result<Imported, Error> {
    let file = &request.file;
    if file.metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Err(Error::usage(
            format!("there is no file {}", file.display()),
            "name a file or directory that another tool wrote; `/dev/stdin` is standard input",
        ));
    }
    let (format, dataset) = operand::read(file, request.from)?;
    let name = match &request.name {
        Some(name) => name.clone(),
        None => file.file_name().map_or_else(|| "import".to_owned(), |name| name.to_string_lossy().into_owned()),
    };
    check_name(&name)?;
    let mut store = Store::open_or_create(places.database()?)?;
    store.save_dataset(&name, format.name(), clock.now(), &dataset)?;
    let points = dataset.series.iter().map(|series| series.points.len()).sum();
    Ok(Imported { name, format, series: dataset.series.len(), points })
}

/// Refuses names that mean something else.
fn check_name(name: &str) -> Result<(), Error> {
    let is_plain = !name.trim().is_empty() && name.trim() == name && !name.contains(char::is_control);
    if !is_plain || name.parse::<i64>().is_ok() || name.contains('@') {
        return Err(Error::usage(
            format!(
                "'{name}' cannot be a name: a name is not a number, and has no '@', no control characters, and no blanks at its ends"
            ),
            "`--name NAME` gives another name",
        ));
    }
    Ok(())
}
