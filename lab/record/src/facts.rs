//! Facts about the measured machine, as dotted keys with plain values. Facts of two machines can be
//! compared.

use crate::record::RunId;
use crate::time::UnixMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A fact's value. Sizes are in bytes, times in nanoseconds, frequencies in hertz; the key ends
/// with the unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(untagged)]
pub enum FactValue {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Count(i64),
    /// A number with a fraction.
    Real(f64),
    /// Any other value, as the system reports it.
    Text(String),
}

impl fmt::Display for FactValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FactValue::Flag(true) => f.write_str("yes"),
            FactValue::Flag(false) => f.write_str("no"),
            FactValue::Count(n) => n.fmt(f),
            FactValue::Real(x) => x.fmt(f),
            FactValue::Text(text) => f.write_str(text),
        }
    }
}

/// Persistence of a fact on a machine that is not reconfigured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// Changes at any moment.
    Moment,
    /// Changes with each boot.
    Boot,
    /// Does not change.
    Lasting,
}

/// Persistence of facts that do not last, by key prefix.
const PASSING: [(&str, Persistence); 3] =
    [("load.", Persistence::Moment), ("memory.available_bytes", Persistence::Moment), ("boot.id", Persistence::Boot)];

impl Persistence {
    /// Persistence of the fact with this key.
    pub fn of(key: &str) -> Self {
        let passing = PASSING.iter().find(|(beginning, _)| key.starts_with(beginning));
        passing.map_or(Persistence::Lasting, |(_, persistence)| *persistence)
    }
}

/// Facts by key. A key is dotted, and its first part is the section: `cpu.model`, `kernel.release`.
/// Unknown facts are left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Facts(pub BTreeMap<String, FactValue>);

impl Facts {
    /// Adds a text, unless it is empty.
    pub fn text(&mut self, key: &str, value: impl Into<String>) {
        let value = value.into();
        let value = value.trim();
        if !value.is_empty() {
            self.0.insert(key.to_owned(), FactValue::Text(value.to_owned()));
        }
    }

    /// Adds a whole number.
    pub fn count(&mut self, key: &str, value: i64) {
        self.0.insert(key.to_owned(), FactValue::Count(value));
    }

    /// Adds a number with a fraction.
    pub fn real(&mut self, key: &str, value: f64) {
        self.0.insert(key.to_owned(), FactValue::Real(value));
    }

    /// Adds a flag.
    pub fn flag(&mut self, key: &str, value: bool) {
        self.0.insert(key.to_owned(), FactValue::Flag(value));
    }

    /// The whole number under `key`; `None` for other values.
    pub fn get_count(&self, key: &str) -> Option<i64> {
        match self.0.get(key) {
            Some(FactValue::Count(n)) => Some(*n),
            _ => None,
        }
    }

    /// The number under `key`, whole or not.
    pub fn get_real(&self, key: &str) -> Option<f64> {
        match self.0.get(key) {
            Some(FactValue::Real(x)) => Some(*x),
            Some(FactValue::Count(n)) => Some(*n as f64),
            _ => None,
        }
    }

    /// The text under `key`.
    pub fn get_text(&self, key: &str) -> Option<&str> {
        match self.0.get(key) {
            Some(FactValue::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// Facts about a run's machine when the run began or was resumed.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionFacts {
    /// The run.
    pub run: RunId,
    /// Start of the run, or time of the resume.
    pub started: UnixMillis,
    /// Facts about the machine of the run's first subject.
    pub facts: Facts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_last_unless_they_are_of_a_boot_or_a_moment() {
        for (key, persistence) in [
            ("load.one_minute", Persistence::Moment),
            ("memory.available_bytes", Persistence::Moment),
            ("memory.total_bytes", Persistence::Lasting),
            ("boot.id", Persistence::Boot),
            ("kernel.release", Persistence::Lasting),
        ] {
            assert_eq!(Persistence::of(key), persistence, "{key}");
        }
    }
}
