//! asv's results directory (version 2): `benchmarks.json`, `MACHINE/machine.json`, and per commit
//! and environment `MACHINE/HASH-ENVIRONMENT.json`.
//!
//! `null` is a failed benchmark, `NaN` a skipped one. The samples of a commit are values of one
//! run: samples of a process depend on each other, and the file does not say which of the few
//! processes (`rounds`) each comes from. Without samples, the median is read with its 99 %
//! interval. Each combination of parameters is a series `name(p1, p2)`. With several machines or
//! environments, names end in them. The time of measurement becomes the order of a point, the
//! commit's time its time.
//!
//! Samples: asv 0.6.6, Python 3.11; `asv run --machine bench-1 -a rounds=2 -a repeat=3 -a
//! sample_time=0.005 --record-samples main`, over three commits of a small package with parameters,
//! a benchmark that fails and ones that are skipped.

mod read;
mod write;

use crate::format::{Content, FormatDescriptor, Read};
use crate::recognition::{FormatMatch, Glance};
use crate::values;
use faultline_record::direction::Direction;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "asv",
    description: "asv's results directory, version 2",
    reads: "samples of a commit as values of one run, otherwise the median with its 99 % interval; null = failed, NaN = skipped; name(p1, p2); name [machine, environment]",
    writes: "a file per commit, which needs commits and times; not boots, deviations; runs of one commit become one",
    is_directory: true,
    recognise,
    content: Content::Values { read: Read::Files(read::read), write: Some(write::write) },
};

/// Recognises a file by its columns, and a directory by file names.
fn recognise(glance: &Glance<'_>) -> Option<FormatMatch> {
    let found = if glance.is_many() { read::fits(glance.files) } else { glance.json_has(&["result_columns"]) };
    FormatMatch::Mark.when(found)
}

/// The columns of a result in asv's order.
const COLUMNS: [&str; 13] = [
    RESULT,
    PARAMETERS,
    "version",
    STARTED,
    "duration",
    LOW,
    HIGH,
    "stats_q_25",
    "stats_q_75",
    "stats_number",
    REPEAT,
    SAMPLES,
    "profile",
];
const RESULT: &str = "result";
const PARAMETERS: &str = "params";
const STARTED: &str = "started_at";
const LOW: &str = "stats_ci_99_a";
const HIGH: &str = "stats_ci_99_b";
const REPEAT: &str = "stats_repeat";
const SAMPLES: &str = "samples";

const BENCHMARKS: &str = "benchmarks.json";
const MACHINE: &str = "machine.json";
const VERSION: u64 = 2;
/// A member among the benchmarks and among a machine's properties.
const VERSION_KEY: &str = "version";

/// asv's keys of a machine's properties, with the fact keys.
const MACHINE_FACTS: [(&str, &str); 6] = [
    ("machine", HOST),
    ("cpu", "cpu.model"),
    ("num_cpu", CPUS),
    ("os", "asv.os"),
    ("arch", "asv.arch"),
    ("ram", "asv.ram"),
];
const HOST: &str = "host.name";
const CPUS: &str = "cpu.logical";
const ENVIRONMENT: &str = "asv.environment";
const PYTHON: &str = "asv.python";
/// The name written for an unnamed machine or environment.
const UNKNOWN: &str = "unknown";

const FAILED: &str = "failed";
const SKIPPED: &str = "skipped";

/// Units of the benchmarks that asv times. Tracked values (`track_…`) have arbitrary units.
const TIME_UNIT: &str = "seconds";
const MEMORY_UNIT: &str = "bytes";
/// Prefixes of these benchmarks' functions, with their units.
const PREFIXES: [(&str, &str); 4] =
    [("time_", TIME_UNIT), ("timeraw_", TIME_UNIT), ("mem_", MEMORY_UNIT), ("peakmem_", MEMORY_UNIT)];

/// The better direction. asv assumes lower for all benchmarks; that is certain only for times and
/// memory.
fn direction(unit: &str) -> Option<Direction> {
    let memory = matches!(unit, MEMORY_UNIT | "byte" | "B" | "kB" | "KB" | "KiB" | "MB" | "MiB" | "GB" | "GiB");
    if memory { Some(Direction::Lower) } else { values::direction_of_unit(unit) }
}

/// The unit of a benchmark that `benchmarks.json` lacks, by its function's name.
fn unit_by_name(benchmark: &str) -> &'static str {
    let function = benchmark.rsplit('.').next().unwrap_or_default();
    PREFIXES.iter().find(|(prefix, _)| function.starts_with(prefix)).map_or("", |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_and_memory_are_known_to_be_better_when_less() {
        for unit in ["seconds", "bytes", "MiB", "ms"] {
            assert_eq!(direction(unit), Some(Direction::Lower), "{unit}");
        }
        for unit in ["unit", "", "objects", "percent"] {
            assert_eq!(direction(unit), None, "{unit}");
        }
        assert_eq!(direction("requests/s"), Some(Direction::Higher));
    }

    #[test]
    fn functions_that_asv_measures_itself_have_their_unit_in_their_name() {
        assert_eq!(unit_by_name("suite.Class.time_work"), "seconds");
        assert_eq!(unit_by_name("peakmem_list"), "bytes");
        assert_eq!(unit_by_name("suite.time_machine.track_sum"), "");
    }
}
