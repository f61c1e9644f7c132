//! Facts about a machine: names of keys, values with units, headings, and the table of `faultline
//! facts`.

use crate::escape::one_line;
use crate::figure;
use crate::format::Format;
use crate::style::{Signs, Style};
use crate::table::{self, Form, ResultTable};
use faultline_record::facts::{FactValue, Facts};

/// Facts by key. JSON is an object of the facts.
pub fn facts(facts: &Facts, format: Format, style: &Style) -> String {
    let table = ResultTable::new(columns(), &facts.0);
    table.in_format(format, style, facts)
}

type Column<'a> = table::Column<(&'a String, &'a FactValue)>;

fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::left("fact", |(key, _), _| name(key)),
        Column::left("key", |(key, _), _| one_line(key))
            .csv("fact", |(key, _)| (*key).clone())
            .on(Form::ALL_BUT_NARROW),
        Column::left("value", |(key, fact), signs| value(key, fact, signs)),
        Column::csv_only("value", |(_, value)| value.to_string()),
    ]
}

/// Names of keys. [`of_family`] names families of keys (`cache.l2.size_bytes`).
const NAMES: &[(&str, &str)] = &[
    ("aslr.randomize_va_space", "address-space randomisation"),
    ("aslr.setting", "address-space randomisation"),
    ("boot.id", "boot identifier"),
    ("cgroup.cpu_quota_cpus", "CPU quota of control groups"),
    ("clock.source", "clock source"),
    ("cost.atomic_ps", "cost of an atomic operation"),
    ("cost.entry_ns", "cost of a system call"),
    ("cost.instruction_ps", "cost of an instruction"),
    ("cost.interrupt_ns", "cost of an inter-processor interrupt"),
    ("cost.memory_ns", "cost of a cache line from memory"),
    ("cost.other_socket_ns", "cost of a transfer from another socket"),
    ("cost.request_percent", "share of a transfer before the line leaves its CPU, in percent"),
    ("cost.same_cache_ns", "cost of a transfer within a cache"),
    ("cost.same_socket_ns", "cost of a transfer within a socket"),
    ("cost.wake_ns", "cost of waking a thread"),
    ("cpu.architecture", "CPU architecture"),
    ("cpu.boost", "frequency boost"),
    ("cpu.cores", "physical cores"),
    ("cpu.family", "CPU family"),
    ("cpu.frequency_driver", "frequency driver"),
    ("cpu.frequency_scaling", "frequency scaling"),
    ("cpu.governor", "frequency governor"),
    ("cpu.highest_hz", "highest frequency"),
    ("cpu.isolated", "CPUs isolated from the scheduler"),
    ("cpu.logical", "logical CPUs"),
    ("cpu.lowest_hz", "lowest frequency"),
    ("cpu.microcode", "microcode"),
    ("cpu.model", "CPU model"),
    ("cpu.model_number", "CPU model number"),
    ("cpu.sockets", "sockets"),
    ("cpu.stepping", "CPU stepping"),
    ("cpu.threads_per_core", "threads per core"),
    ("cpu.usable", "CPUs available to Faultline"),
    ("cpu.vendor", "CPU vendor"),
    ("emulator.accelerator", "emulator's accelerator"),
    ("emulator.arguments", "emulator's arguments"),
    ("emulator.version", "emulator's version"),
    ("faultline.version", "Faultline's version"),
    ("host.name", "host name"),
    ("huge_pages.defrag", "transparent huge pages: defragmentation"),
    ("huge_pages.reserved", "huge pages reserved"),
    ("huge_pages.shared_memory", "transparent huge pages in shared memory"),
    ("huge_pages.size_bytes", "huge page size"),
    ("huge_pages.transparent", "transparent huge pages"),
    ("kernel.autogroup", "scheduler autogroups"),
    ("kernel.command_line", "kernel command line"),
    ("kernel.image", "kernel image"),
    ("kernel.image_sha256", "SHA-256 of the kernel image"),
    ("kernel.name", "kernel"),
    ("kernel.preemption", "kernel preemption"),
    ("kernel.release", "kernel release"),
    ("kernel.version", "kernel version"),
    ("load.busy_cpus", "CPUs busy at the start"),
    ("load.one_minute", "load average of one minute"),
    ("load.runnable_others", "other runnable tasks"),
    ("measured.atomic_ns", "atomic operation, measured"),
    ("measured.call_ns", "system call, measured"),
    ("measured.contended_ns", "contended atomic operation, measured"),
    ("measured.interrupt_ns", "inter-processor interrupt, measured"),
    ("measured.wake_ns", "waking a thread, measured"),
    ("memory.available_bytes", "memory available"),
    ("memory.overcommit", "memory overcommit"),
    ("memory.page_bytes", "page size"),
    ("memory.swap_bytes", "swap"),
    ("memory.total_bytes", "memory"),
    ("numa.balancing", "NUMA balancing"),
    ("numa.nodes", "NUMA nodes"),
    ("scratch.filesystem", "file system of the scratch directory"),
    ("software.compiler", "compiler"),
    ("software.libc", "C library"),
    ("software.linker", "linker"),
    ("virtualisation.hypervisor", "hypervisor"),
    ("virtualisation.kind", "type of virtualisation"),
    ("virtualisation.reported", "hypervisor as reported"),
];

/// First parts of keys with the heading of their facts, in the order of the headings.
const HEADINGS: &[(&str, &str)] = &[
    ("cpu", "CPUs"),
    ("cache", "Caches"),
    ("numa", "NUMA"),
    ("memory", "Memory"),
    ("huge_pages", "Memory"),
    ("aslr", "Memory"),
    ("kernel", "Kernel"),
    ("boot", "Kernel"),
    ("clock", "Kernel"),
    ("mitigation", "CPU vulnerabilities"),
    ("virtualisation", "Virtualisation"),
    ("emulator", "Emulator"),
    ("cgroup", "Load and limits"),
    ("load", "Load and limits"),
    ("host", "Host"),
    ("scratch", "Software"),
    ("software", "Software"),
    ("faultline", "Software"),
    ("workload", "Builds of workloads (SHA-256)"),
];

/// Numeric settings with the meaning of each number.
const SETTINGS: &[(&str, &[(i64, &str)])] = &[
    ("aslr.randomize_va_space", &[(0, "off"), (1, "on, without the heap"), (2, "on")]),
    ("kernel.autogroup", &[(0, "off"), (1, "on")]),
    ("memory.overcommit", &[(0, "by heuristic"), (1, "always"), (2, "never")]),
    ("numa.balancing", &[(0, "off"), (1, "on")]),
];

/// Formats a number in a unit.
type InUnit = fn(f64, &Signs) -> String;

/// Suffixes of keys that are units.
const UNITS: &[(&str, InUnit)] = &[
    ("bytes", bytes),
    ("cpus", |value, _| if value == 1.0 { "1 CPU".to_owned() } else { format!("{value} CPUs") }),
    ("hz", |value, signs| figure::quantity(value, "Hz", signs)),
    ("ns", |value, signs| figure::quantity(value / 1e9, "s", signs)),
    ("ps", |value, signs| figure::quantity(value / 1e12, "s", signs)),
];

/// The name of a key: `L2 cache size`. An unknown key is split into words.
pub(crate) fn name(key: &str) -> String {
    let known = NAMES.iter().find(|(known, _)| *known == key).map(|(_, name)| (*name).to_owned());
    known.or_else(|| of_family(key)).unwrap_or_else(|| separate(without_unit(key)))
}

fn of_family(key: &str) -> Option<String> {
    let (family, rest) = key.split_once('.')?;
    let (member, what) = rest.rsplit_once('.').unwrap_or((rest, ""));
    match (family, what) {
        ("cache", "size_bytes") => Some(format!("{} cache size", level(member))),
        ("cache", "line_bytes") => Some(format!("{} cache line", level(member))),
        ("cache", "shared_by_cpus") => Some(format!("{} cache shared by", level(member))),
        ("numa", "cpus") => Some(format!("CPUs of {}", node(member)?)),
        ("numa", "distances") => Some(format!("distances from {}", node(member)?)),
        ("numa", "memory_bytes") => Some(format!("memory of {}", node(member)?)),
        ("mitigation", "") => Some(separate(member)),
        ("workload", "sha256") => Some(one_line(member)),
        ("host", _) if rest.contains('.') => Some(format!("host: {}", name(rest))),
        ("pair", "hand_over_ns") => {
            let (one, other) = member.split_once('-')?;
            Some(format!("hand-over between CPUs {} and {}", one_line(one), one_line(other)))
        }
        _ => None,
    }
}

/// The name of a cache level: `l1d` becomes `L1d`.
fn level(cache: &str) -> String {
    one_line(&cache.replacen('l', "L", 1))
}

fn node(directory: &str) -> Option<String> {
    directory.strip_prefix("node").map(|number| format!("NUMA node {}", one_line(number)))
}

fn separate(key: &str) -> String {
    one_line(&key.replace(['.', '_'], " "))
}

/// A key without its unit, and the unit.
fn unit(key: &str) -> Option<(&str, InUnit)> {
    UNITS.iter().find_map(|(unit, words)| Some((key.strip_suffix(unit)?.strip_suffix('_')?, *words)))
}

fn without_unit(key: &str) -> &str {
    unit(key).map_or(key, |(rest, _)| rest)
}

/// A value with its unit: `1 MiB`.
pub(crate) fn value(key: &str, value: &FactValue, signs: &Signs) -> String {
    let setting = SETTINGS.iter().find(|(known, _)| *known == key).map(|(_, words)| *words);
    match (value, setting, unit(key)) {
        (FactValue::Count(number), Some(words), _) => {
            let word = words.iter().find(|(of, _)| of == number).map(|(_, word)| format!("{word} ({number})"));
            word.unwrap_or_else(|| number.to_string())
        }
        (FactValue::Count(number), None, Some((_, words))) => words(*number as f64, signs),
        (FactValue::Real(number), _, Some((_, words))) => words(*number, signs),
        _ => one_line(&value.to_string()),
    }
}

/// A size in the greatest unit that it reaches: `1 MiB`, `23.54 GiB`.
fn bytes(size: f64, _: &Signs) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let (divisor, unit) = units
        .into_iter()
        .map(|(power, unit)| (f64::from(power).exp2(), unit))
        .find(|(divisor, _)| size.abs() >= *divisor)
        .unwrap_or((1.0, "B"));
    let number = size / divisor;
    if number.fract() == 0.0 { format!("{number} {unit}") } else { format!("{} {unit}", figure::plain(number)) }
}

/// The heading of a fact, with its place in the order of headings.
pub(crate) fn heading(key: &str) -> (usize, &str) {
    let first = key.split_once('.').map_or("other", |(first, _)| first);
    let title = HEADINGS.iter().find(|(known, _)| *known == first).map_or(first, |(_, title)| *title);
    let place = HEADINGS.iter().position(|(_, other)| *other == title).unwrap_or(HEADINGS.len());
    (place, title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::UNICODE;

    fn count(key: &str, number: i64) -> String {
        value(key, &FactValue::Count(number), &UNICODE)
    }

    #[test]
    fn keys_have_names() {
        for (key, words) in [
            ("cpu.logical", "logical CPUs"),
            ("cache.l1d.shared_by_cpus", "L1d cache shared by"),
            ("numa.node3.memory_bytes", "memory of NUMA node 3"),
            ("mitigation.spec_store_bypass", "spec store bypass"),
            ("workload.zero_fill.sha256", "zero_fill"),
            ("host.cpu.model", "host: CPU model"),
            ("host.name", "host name"),
            ("pair.0-12.hand_over_ns", "hand-over between CPUs 0 and 12"),
            ("asv.free_memory_bytes", "asv free memory"),
            ("odd", "odd"),
            ("two\nlines.key", "two lines key"),
        ] {
            assert_eq!(name(key), words);
        }
    }

    #[test]
    fn every_documented_key_has_a_name() {
        let formats = include_str!("../../../docs/FORMATS.md");
        let table = formats.split_once("## 4. Facts").unwrap().1.split_once("## 5.").unwrap().0;
        let keys = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
        let keys = keys.flat_map(|cell| cell.split('`')).filter(|key| key.contains('.') && !key.contains(['*', ' ']));
        let unknown = |key: &&str| !NAMES.iter().any(|(known, _)| known == key) && of_family(key).is_none();
        let keys: Vec<&str> = keys.collect();
        assert!(keys.len() > 30, "{keys:?}");
        assert_eq!(keys.into_iter().filter(unknown).collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn values_have_units() {
        assert_eq!(count("cache.l1d.size_bytes", 49_152), "48 KiB");
        assert_eq!(count("memory.total_bytes", 25_276_510_208), "23.54 GiB");
        assert_eq!(count("cache.l2.line_bytes", 64), "64 B");
        assert_eq!(count("memory.swap_bytes", 0), "0 B");
        assert_eq!(count("cpu.highest_hz", 2_400_000_000), "2.400 GHz");
        assert_eq!(count("cost.same_cache_ns", 40), "40.00 ns");
        assert_eq!(count("cache.l3.shared_by_cpus", 1), "1 CPU");
        assert_eq!(value("cgroup.cpu_quota_cpus", &FactValue::Real(2.5), &UNICODE), "2.5 CPUs");
        assert_eq!(count("cpu.logical", 2), "2");
    }

    #[test]
    fn numbers_that_are_settings_say_what_they_stand_for() {
        assert_eq!(count("aslr.randomize_va_space", 2), "on (2)");
        assert_eq!(count("memory.overcommit", 0), "by heuristic (0)");
        assert_eq!(count("numa.balancing", 7), "7");
    }

    #[test]
    fn text_stays_text() {
        assert_eq!(value("numa.node0.cpus", &FactValue::Text("0-1".into()), &UNICODE), "0-1");
        assert_eq!(value("load.one_minute", &FactValue::Real(0.12), &UNICODE), "0.12");
    }

    #[test]
    fn related_facts_stand_under_one_heading() {
        assert_eq!(heading("huge_pages.transparent"), heading("memory.total_bytes"));
        assert!(heading("cpu.model") < heading("kernel.name"));
        assert_eq!(heading("asv.ram").1, "asv");
    }
}
