//! Headers whose meaning is known, in lower case, with blanks instead of `_`, `-` and points.

pub(super) const VALUE: &str = "value";
pub(super) const TIMES: &[&str] = &[
    "time",
    "times",
    "timestamp",
    "date",
    "datetime",
    "date time",
    "commit date",
    "commit time",
    "commit timestamp",
    "author date",
    "committed at",
    "created at",
    "measured at",
    "day",
    "when",
];
pub(super) const COMMITS: &[&str] = &[
    "commit",
    "commit id",
    "commit hash",
    "commit sha",
    "git commit",
    "git hash",
    "git sha",
    "sha",
    "sha1",
    "hash",
    "revision",
    "rev",
    "changeset",
];
pub(super) const VERSIONS: &[&str] = &["version", "release", "tag"];
pub(super) const NAMES: &[&str] =
    &["benchmark", "benchmark name", "name", "test", "test name", "case", "workload", "series"];
/// Numbers of concurrent tasks.
pub(super) const TASKS: &[&str] = &["tasks", "threads", "cpus", "jobs"];
pub(super) const MEASURES: &[&str] = &["measure", "metric"];
/// Columns of numbers or texts that are no values.
pub(super) const SKIPPED: &[&str] = &[
    "",
    "#",
    "note",
    "notes",
    "comment",
    "comments",
    "remark",
    "remarks",
    "index",
    "id",
    "no",
    "nr",
    "number",
    "row",
    "run",
    "build",
    "iteration",
    "branch",
    "author",
    "subject",
    "message",
    "url",
];
/// Last words of headers of measured values. A column of one of these is no clock.
pub(super) const UNITS: &[&str] = &[
    "ns",
    "us",
    "µs",
    "ms",
    "s",
    "sec",
    "secs",
    "seconds",
    "milliseconds",
    "min",
    "minutes",
    "b",
    "bytes",
    "kb",
    "mb",
    "gb",
    "kib",
    "mib",
    "gib",
    "cycles",
    "ops",
];
