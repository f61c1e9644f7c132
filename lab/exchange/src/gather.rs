//! Collects points into series, one for each name, number of tasks and measure, in order of
//! appearance.

use crate::error::ReadError;
use crate::files::File;
use crate::text::quoted;
use crate::values;
use faultline_record::dataset::{DataPoint, Dataset, Measured, Series};
use std::collections::HashMap;

/// The identity of a series.
type Key = (String, Option<u32>, Option<String>);

/// The series collected so far.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    places: HashMap<Key, usize>,
    series: Vec<Series>,
}

impl Gather {
    /// The series with this identity. A new one gets this unit and its usual direction.
    pub(crate) fn series(&mut self, name: &str, tasks: Option<u32>, measure: Option<&str>, unit: &str) -> &mut Series {
        let key = (name.to_owned(), tasks, measure.map(str::to_owned));
        let place = *self.places.entry(key).or_insert_with(|| {
            self.series.push(Series {
                name: name.to_owned(),
                tasks,
                measure: measure.map(str::to_owned),
                unit: unit.to_owned(),
                direction: values::direction_of_unit(unit),
                points: Vec::new(),
            });
            self.series.len() - 1
        });
        &mut self.series[place]
    }

    /// The dataset. Fails if it is empty; `file` and `expected` go into the message.
    pub(crate) fn dataset(self, file: &str, expected: &str) -> Result<Dataset, ReadError> {
        if self.series.is_empty() {
            return Err(ReadError::new(file, None, "no benchmark", expected));
        }
        Ok(Dataset::of(self.series))
    }
}

/// Limit of separated parts: each becomes a point of a hundred bytes or more.
const MOST_PARTS: usize = 10_000_000;

/// Fails if a file has too many comma-separated parts.
pub(crate) fn check_parts(file: File<'_>) -> Result<(), ReadError> {
    check_separators(file, b',', "commas")
}

/// Fails if a file has too many parts between these separators.
pub(crate) fn check_separators(file: File<'_>, separator: u8, plural: &str) -> Result<(), ReadError> {
    let count = file.text.bytes().filter(|byte| *byte == separator).count();
    if count > MOST_PARTS {
        let expected = format!("at most {MOST_PARTS} parts");
        return Err(ReadError::new(file.name, None, format!("{count} {plural}"), expected));
    }
    Ok(())
}

/// Sets the unit of a series that has none yet, such as after a failed first run. Fails if its unit
/// differs.
pub(crate) fn agree_on_unit(
    series: &mut Series,
    unit: &str,
    file: &str,
    line: impl Into<Option<u64>>,
) -> Result<(), ReadError> {
    if series.unit.is_empty() && series.points.iter().all(|point| point.measured.values().is_empty()) {
        series.unit = unit.to_owned();
        series.direction = values::direction_of_unit(unit);
    }
    if series.unit == unit {
        return Ok(());
    }
    let expected = format!("{}, the unit of the earlier values of {}", quoted(&series.unit), quoted(&series.name));
    Err(ReadError::new(file, line, format!("the unit {}", quoted(unit)), expected))
}

/// A run with one value and nothing else.
pub(crate) fn value(value: f64) -> DataPoint {
    DataPoint::of(Measured::Values(vec![value]))
}

/// A run without a value, with the reason.
pub(crate) fn missing(why: impl Into<String>) -> DataPoint {
    DataPoint::of(Measured::Missing(why.into()))
}
