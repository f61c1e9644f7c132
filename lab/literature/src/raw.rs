//! The files of `published/`, embedded and read into series: one test, machine, load and side, with all its repeats.

use super::sources::{DRAGONFLY_5_6, DRAGONFLY_2011, OPENBSD_2024};
use faultline_model::direction::Direction;
use serde::{Deserialize, Serialize};

const DRAGONFLY_2011_CSV: &str = include_str!("../../../published/dragonfly-2011-vm-token.csv");
const DRAGONFLY_5_6_CSV: &str = include_str!("../../../published/dragonfly-5.4-vs-5.6.csv");
const OPENBSD_2024_CSV: &str = include_str!("../../../published/openbsd-percpu-page-cache.csv");
const SINGLE_CSV: &str = include_str!("../../../published/single-figures.csv");

/// The kind of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Metric {
    /// Operations per second.
    Rate,
    /// Bytes per second, rounded by the author.
    Bandwidth,
    /// Wall-clock time.
    Real,
    /// CPU time in user mode.
    User,
    /// CPU time in the kernel.
    System,
}

impl Metric {
    /// The word in tables.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Metric::Rate => "rate",
            Metric::Bandwidth => "bandwidth",
            Metric::Real => "real",
            Metric::User => "user",
            Metric::System => "system",
        }
    }

    /// Whether higher or lower is better.
    pub(crate) fn direction(self) -> Direction {
        match self {
            Metric::Rate | Metric::Bandwidth => Direction::Higher,
            Metric::Real | Metric::User | Metric::System => Direction::Lower,
        }
    }
}

/// Which side of an improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The old one.
    Before,
    /// The new one.
    After,
}

/// What was measured, without the side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Subject {
    /// The source's name.
    pub source: &'static str,
    /// The test's name.
    pub test: String,
    /// The machine's name.
    pub machine: String,
    /// Tasks, jobs or CPUs: the number on the axis of a scaling curve.
    pub tasks: u32,
    /// That number in words, with the rest of the load: `-j 40, 4 copies`.
    pub load: String,
    /// Builds at the same time.
    pub copies: u32,
    /// The author's note.
    pub note: String,
}

impl Subject {
    /// Load and note in one cell.
    pub(crate) fn load_and_note(&self) -> String {
        if self.note.is_empty() { self.load.clone() } else { format!("{}, {}", self.load, self.note) }
    }
}

/// All repeats of one side.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    /// What was measured.
    pub subject: Subject,
    /// What the figures are.
    pub metric: Metric,
    /// Their unit.
    pub unit: String,
    /// Which side.
    pub side: Side,
    /// The side's name: `5.4`, `postpatch`.
    pub release: String,
    /// One value per repeat.
    pub values: Vec<f64>,
}

/// A single figure in a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SingleFigure {
    /// The source's name.
    pub source: String,
    /// The test's name.
    pub test: String,
    /// The machine's name, or `-`.
    pub machine: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// The author's note.
    pub note: String,
}

/// Every series of every source, in the order of the files.
pub(crate) fn series() -> Vec<Series> {
    let mut all = Vec::new();
    records::<TimesRow>(DRAGONFLY_2011_CSV).into_iter().for_each(|row| row.collect(&mut all));
    records::<FigureRow>(DRAGONFLY_5_6_CSV).into_iter().for_each(|row| row.collect(&mut all));
    records::<DesignRow>(OPENBSD_2024_CSV).into_iter().for_each(|row| row.collect(&mut all));
    all
}

/// The single figures.
pub(crate) fn single_figures() -> Vec<SingleFigure> {
    records(SINGLE_CSV)
}

/// All records of an embedded file.
pub(crate) fn records<T: serde::de::DeserializeOwned>(text: &str) -> Vec<T> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|record| record.expect("an embedded file, read by the tests")).collect()
}

/// A row of the 2011 mail.
#[derive(Deserialize)]
struct TimesRow {
    test: String,
    machine: String,
    jobs: u32,
    copies: u32,
    kernel: String,
    real_s: f64,
    user_s: f64,
    system_s: f64,
}

impl TimesRow {
    fn collect(self, all: &mut Vec<Series>) {
        let side = if self.kernel == "prepatch" { Side::Before } else { Side::After };
        let subject = Subject {
            source: DRAGONFLY_2011.name,
            test: self.test,
            machine: self.machine,
            tasks: self.jobs,
            load: load_of_build(self.jobs, self.copies),
            copies: self.copies,
            note: String::new(),
        };
        push_times(all, &subject, side, &self.kernel, [self.real_s, self.user_s, self.system_s]);
    }
}

/// A row of the 2019 mail: one figure.
#[derive(Deserialize)]
struct FigureRow {
    test: String,
    machine: String,
    tasks: u32,
    release: String,
    value: f64,
    unit: String,
}

impl FigureRow {
    fn collect(self, all: &mut Vec<Series>) {
        let side = if self.release == "5.4" { Side::Before } else { Side::After };
        let (metric, unit) = match self.unit.split_once(' ') {
            Some(("real", unit)) => (Metric::Real, unit),
            Some(("user", unit)) => (Metric::User, unit),
            Some(("system", unit)) => (Metric::System, unit),
            Some(_) => (Metric::Bandwidth, self.unit.as_str()),
            None => (Metric::Rate, self.unit.as_str()),
        };
        let build = self.test == "native-kernel-build";
        let load = if build { load_of_build(self.tasks, 1) } else { format!("{} tasks", self.tasks) };
        let subject = Subject {
            source: DRAGONFLY_5_6.name,
            test: self.test,
            machine: self.machine,
            tasks: self.tasks,
            load,
            copies: 1,
            note: String::new(),
        };
        push(all, &subject, (metric, unit), side, &self.release, self.value);
    }
}

/// A row of the OpenBSD mail.
#[derive(Deserialize)]
struct DesignRow {
    test: String,
    design: String,
    cpus: u32,
    note: String,
    real_s: f64,
    user_s: f64,
    system_s: f64,
}

impl DesignRow {
    fn collect(self, all: &mut Vec<Series>) {
        let side = if self.design == "global-mutex" { Side::Before } else { Side::After };
        let apple = self.note.contains("Apple");
        let subject = Subject {
            source: OPENBSD_2024.name,
            test: self.test,
            machine: if apple { "apple-m2-pro" } else { "ampere-80" }.to_owned(),
            tasks: self.cpus,
            load: format!("{} CPUs", self.cpus),
            copies: 1,
            note: if apple { String::new() } else { self.note },
        };
        push_times(all, &subject, side, &self.design, [self.real_s, self.user_s, self.system_s]);
    }
}

fn load_of_build(jobs: u32, copies: u32) -> String {
    if copies == 1 { format!("-j {jobs}") } else { format!("-j {jobs}, {copies} copies") }
}

/// Adds real, user and system seconds of one execution.
fn push_times(all: &mut Vec<Series>, subject: &Subject, side: Side, release: &str, times: [f64; 3]) {
    for (metric, value) in [Metric::Real, Metric::User, Metric::System].into_iter().zip(times) {
        push(all, subject, (metric, "s"), side, release, value);
    }
}

/// Adds a value to its series, or starts one.
fn push(all: &mut Vec<Series>, subject: &Subject, what: (Metric, &str), side: Side, release: &str, value: f64) {
    let same = |series: &&mut Series| {
        series.subject == *subject && series.metric == what.0 && series.unit == what.1 && series.release == release
    };
    match all.iter_mut().find(same) {
        Some(series) => series.values.push(value),
        None => all.push(Series {
            subject: subject.clone(),
            metric: what.0,
            unit: what.1.to_owned(),
            side,
            release: release.to_owned(),
            values: vec![value],
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_every_file_is_read() {
        let lines = |text: &str| text.lines().count() - 1;
        let values: usize = series().iter().map(|series| series.values.len()).sum();
        let times = lines(DRAGONFLY_2011_CSV) + lines(OPENBSD_2024_CSV);
        assert_eq!(values, 3 * times + lines(DRAGONFLY_5_6_CSV));
        assert_eq!(single_figures().len(), lines(SINGLE_CSV));
    }
}
