//! asv's results directory (version 2): `benchmarks.json`, `MACHINE/machine.json`, and for each commit and environment
//! `MACHINE/HASH-ENVIRONMENT.json`.
//!
//! `null` is a benchmark that failed, `NaN` one that was skipped. The samples of a commit are values of one run: those of a process
//! depend on each other, and of which of the few processes (`rounds`) each is isn't kept. Where they were not recorded, the median
//! is read with its 99 % interval. A benchmark with parameters is a series for each combination, `name(p1, p2)`. Where there are
//! several machines or environments, names end in them. The time of measurement is a point's order, the commit's time its time.

mod groups;
mod read;
mod row;
mod write;

use crate::direction;
use crate::format::{Content, FormatDescriptor, Read};
use crate::recognition::{Evidence, Glance};
use faultline_model::direction::Direction;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "asv",
    description: "asv's results directory: benchmarks.json, MACHINE/machine.json, MACHINE/HASH-ENV.json",
    is_directory: true,
    recognise,
    content: Content::Values { read: Read::Files(read::read), write: Some(write::write) },
};

/// A single file is known by its columns, a directory by the names of its files.
fn recognise(glance: &Glance<'_>) -> Option<Evidence> {
    let found = if glance.is_many() { read::fits(glance.files) } else { glance.json_has(&["result_columns"]) };
    Evidence::Mark.when(found)
}

/// The columns of a result, in asv's order.
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
/// The member that asv puts among benchmarks, and beside a machine's properties.
const VERSION_KEY: &str = "version";

/// What asv knows of a machine, and the keys under which we keep it.
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
/// What we write for a machine or environment without a name.
const UNKNOWN: &str = "unknown";

const FAILED: &str = "failed";
const SKIPPED: &str = "skipped";

/// Units of the benchmarks that asv measures itself. Those that a benchmark tracks itself (`track_…`) may have any.
const TIME_UNIT: &str = "seconds";
const MEMORY_UNIT: &str = "bytes";
/// How functions of these benchmarks begin, with their unit.
const PREFIXES: [(&str, &str); 4] =
    [("time_", TIME_UNIT), ("timeraw_", TIME_UNIT), ("mem_", MEMORY_UNIT), ("peakmem_", MEMORY_UNIT)];

/// Which way a benchmark gets better. asv takes less as better for all, but says so of none; that is certain for times and memory alone.
fn direction(unit: &str) -> Option<Direction> {
    let memory = matches!(unit, MEMORY_UNIT | "byte" | "B" | "kB" | "KB" | "KiB" | "MB" | "MiB" | "GB" | "GiB");
    if memory { Some(Direction::Lower) } else { direction::of_unit(unit) }
}

/// The unit of a benchmark that `benchmarks.json` does not describe, by the name of its function.
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
