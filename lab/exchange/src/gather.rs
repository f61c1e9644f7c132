//! Gathers points into series: one for each name, number of tasks and measure, in the order in which they come.

use crate::direction;
use crate::error::ReadError;
use crate::files::File;
use crate::text::quoted;
use faultline_model::dataset::{DataPoint, Dataset, Measured, Series};
use std::collections::HashMap;

/// What tells series apart.
type Key = (String, Option<u32>, Option<String>);

/// Series under way.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    places: HashMap<Key, usize>,
    series: Vec<Series>,
}

impl Gather {
    /// The series with this name, made if it isn't there. A new one has this unit, and the direction that goes with it.
    pub(crate) fn series(&mut self, name: &str, tasks: Option<u32>, measure: Option<&str>, unit: &str) -> &mut Series {
        let key = (name.to_owned(), tasks, measure.map(str::to_owned));
        let place = *self.places.entry(key).or_insert_with(|| {
            self.series.push(Series {
                name: name.to_owned(),
                tasks,
                measure: measure.map(str::to_owned),
                unit: unit.to_owned(),
                direction: direction::of_unit(unit),
                points: Vec::new(),
            });
            self.series.len() - 1
        });
        &mut self.series[place]
    }

    /// What was gathered; an error if that is nothing. `file` and `expected` are for its message.
    pub(crate) fn dataset(self, file: &str, expected: &str) -> Result<Dataset, ReadError> {
        if self.series.is_empty() {
            return Err(ReadError::new(file, None, "no benchmark", expected));
        }
        Ok(Dataset::of(self.series))
    }
}

/// More parts of a file than this are not read: each becomes a point, of a hundred bytes and more.
const MOST_PARTS: usize = 10_000_000;

/// An error if a file whose parts are parted by commas has too many of them.
pub(crate) fn check_parts(file: File<'_>) -> Result<(), ReadError> {
    let commas = file.text.bytes().filter(|byte| *byte == b',').count();
    if commas > MOST_PARTS {
        let expected = format!("at most {MOST_PARTS} parts");
        return Err(ReadError::new(file.name, None, format!("{commas} commas"), expected));
    }
    Ok(())
}

/// The unit of a series that may have had none so far, as when its first run failed; an error if it was another.
pub(crate) fn agree_on_unit(
    series: &mut Series,
    unit: &str,
    file: &str,
    line: impl Into<Option<u64>>,
) -> Result<(), ReadError> {
    if series.unit.is_empty() && series.points.iter().all(|point| point.measured.values().is_empty()) {
        series.unit = unit.to_owned();
        series.direction = direction::of_unit(unit);
    }
    if series.unit == unit {
        return Ok(());
    }
    let expected = format!("{}, the unit that {} has before", quoted(&series.unit), quoted(&series.name));
    Err(ReadError::new(file, line, format!("the unit {}", quoted(unit)), expected))
}

/// A run of which nothing but its one value is known.
pub(crate) fn value(value: f64) -> DataPoint {
    DataPoint::of(Measured::Values(vec![value]))
}

/// A run without a value, and why.
pub(crate) fn missing(why: impl Into<String>) -> DataPoint {
    DataPoint::of(Measured::Missing(why.into()))
}
