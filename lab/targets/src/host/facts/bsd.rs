//! Facts of a BSD, from `sysctl`.

use crate::program_output::first_line;
use faultline_model::facts::Facts;
use std::path::Path;

/// A fact, and its names on the BSDs; the first that exists is used.
const TEXTS: &[(&str, &[&str])] = &[
    ("cpu.model", &["hw.model"]),
    ("boot.id", &["kern.boot_id", "kern.boottime"]),
    ("kernel.command_line", &["kern.bootfile"]),
    ("clock.source", &["kern.timecounter.hardware"]),
    ("aslr.setting", &["kern.elf64.aslr.enable", "security.pax.aslr.enabled"]),
    ("virtualisation.reported", &["kern.vm_guest"]),
];

const COUNTS: &[(&str, &[&str])] = &[
    ("cpu.logical", &["hw.ncpuonline", "hw.ncpu"]),
    ("cpu.cores", &["kern.smp.cores"]),
    ("numa.nodes", &["vm.ndomains"]),
    ("memory.total_bytes", &["hw.physmem64", "hw.physmem"]),
];

pub(super) fn read(facts: &mut Facts, _scratch: &Path) {
    for (key, names) in TEXTS {
        if let Some(text) = first_of(names) {
            facts.text(key, text);
        }
    }
    for (key, names) in COUNTS {
        if let Some(count) = first_of(names).and_then(|text| text.trim().parse().ok()) {
            facts.count(key, count);
        }
    }
    if let Some(load) = first_of(&["vm.loadavg"]).and_then(|text| one_minute(&text)) {
        facts.real("load.one_minute", load);
    }
}

fn first_of(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| first_line("sysctl", &["-n", name]))
}

/// `{ 0.10 0.20 0.30 }`, or without the braces.
fn one_minute(text: &str) -> Option<f64> {
    text.trim_start_matches('{').split_whitespace().next()?.parse().ok()
}
