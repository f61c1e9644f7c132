//! What Linux tells of itself, in `/proc` and `/sys`.

use crate::host::topology::{self, Place};
use faultline_model::facts::Facts;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn read(facts: &mut Facts, scratch: &Path) {
    cpu(facts);
    frequency(facts);
    caches(facts);
    numa(facts);
    memory(facts);
    kernel(facts);
    mitigations(facts);
    load(facts);
    if let Some(quota) = cpu_quota() {
        facts.real("cgroup.cpu_quota_cpus", quota);
    }
    if let Some(kind) = filesystem_of(scratch) {
        facts.text("scratch.filesystem", kind);
    }
}

/// A file's text without the white space around it; none where it can't be read.
fn text(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn number(path: impl AsRef<Path>) -> Option<i64> {
    text(path)?.parse().ok()
}

fn put_text(facts: &mut Facts, key: &str, path: impl AsRef<Path>) {
    if let Some(text) = text(path) {
        facts.text(key, text);
    }
}

fn put_count(facts: &mut Facts, key: &str, path: impl AsRef<Path>) {
    if let Some(number) = number(path) {
        facts.count(key, number);
    }
}

/// The option in brackets of `always [madvise] never`.
fn put_choice(facts: &mut Facts, key: &str, path: &str) {
    let choice = text(path).and_then(|text| {
        let (_, rest) = text.split_once('[')?;
        Some(rest.split_once(']')?.0.to_owned())
    });
    if let Some(choice) = choice {
        facts.text(key, choice);
    }
}

/// Numbers in a list such as `0-3,8`.
fn list(text: &str) -> Vec<u32> {
    let ranges = text.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    });
    ranges.flatten().collect()
}

fn cpu(facts: &mut Facts) {
    for (key, field) in [
        ("cpu.model", "model name"),
        ("cpu.vendor", "vendor_id"),
        ("cpu.family", "cpu family"),
        ("cpu.model_number", "model"),
        ("cpu.stepping", "stepping"),
        ("cpu.microcode", "microcode"),
    ] {
        if let Some(value) = cpuinfo(field) {
            facts.text(key, value);
        }
    }
    let online = text("/sys/devices/system/cpu/online").map(|text| list(&text)).unwrap_or_default();
    let places: Vec<Place> = online.iter().filter_map(|&cpu| topology::place(cpu)).collect();
    if !online.is_empty() {
        facts.count("cpu.logical", online.len() as i64);
    }
    if places.len() == online.len() && !places.is_empty() {
        let cores: BTreeSet<Place> = places.iter().copied().collect();
        let sockets: BTreeSet<i64> = places.iter().map(|place| place.socket).collect();
        facts.count("cpu.cores", cores.len() as i64);
        facts.count("cpu.sockets", sockets.len() as i64);
        facts.count("cpu.threads_per_core", (places.len() / cores.len()) as i64);
    }
    put_text(facts, "cpu.isolated", "/sys/devices/system/cpu/isolated");
}

/// A field of the first CPU's block.
fn cpuinfo(field: &str) -> Option<String> {
    let info = text("/proc/cpuinfo")?;
    let line = info.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == field))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn frequency(facts: &mut Facts) {
    let policy = Path::new("/sys/devices/system/cpu/cpu0/cpufreq");
    facts.flag("cpu.frequency_scaling", policy.exists());
    put_text(facts, "cpu.governor", policy.join("scaling_governor"));
    put_text(facts, "cpu.frequency_driver", policy.join("scaling_driver"));
    for (key, file) in [("cpu.lowest_hz", "cpuinfo_min_freq"), ("cpu.highest_hz", "cpuinfo_max_freq")] {
        if let Some(khz) = number(policy.join(file)) {
            facts.count(key, khz * 1000);
        }
    }
    let boost = number("/sys/devices/system/cpu/cpufreq/boost").map(|on| on == 1);
    let no_turbo = number("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == 0);
    if let Some(boost) = boost.or(no_turbo) {
        facts.flag("cpu.boost", boost);
    }
}

fn caches(facts: &mut Facts) {
    for index in 0.. {
        let cache = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
        let (Some(level), Some(kind)) = (text(format!("{cache}/level")), text(format!("{cache}/type"))) else { return };
        let suffix = match kind.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        let key = format!("cache.l{level}{suffix}");
        if let Some(bytes) = text(format!("{cache}/size")).and_then(|size| size_bytes(&size)) {
            facts.count(&format!("{key}.size_bytes"), bytes);
        }
        put_count(facts, &format!("{key}.line_bytes"), format!("{cache}/coherency_line_size"));
        if let Some(sharing) = text(format!("{cache}/shared_cpu_list")) {
            facts.count(&format!("{key}.shared_by_cpus"), list(&sharing).len() as i64);
        }
    }
}

/// `32K`, `1M`.
fn size_bytes(size: &str) -> Option<i64> {
    let unit = match size.chars().last()? {
        'K' => 1 << 10,
        'M' => 1 << 20,
        'G' => 1 << 30,
        _ => return size.parse().ok(),
    };
    Some(size[..size.len() - 1].parse::<i64>().ok()? * unit)
}

fn numa(facts: &mut Facts) {
    let online = text("/sys/devices/system/node/online").map(|text| list(&text)).unwrap_or_default();
    if online.is_empty() {
        return;
    }
    facts.count("numa.nodes", online.len() as i64);
    for node in online {
        let directory = format!("/sys/devices/system/node/node{node}");
        put_text(facts, &format!("numa.node{node}.cpus"), format!("{directory}/cpulist"));
        put_text(facts, &format!("numa.node{node}.distances"), format!("{directory}/distance"));
        let memory = text(format!("{directory}/meminfo")).and_then(|info| kilobytes(&info, "MemTotal:"));
        if let Some(bytes) = memory {
            facts.count(&format!("numa.node{node}.memory_bytes"), bytes);
        }
    }
    put_count(facts, "numa.balancing", "/proc/sys/kernel/numa_balancing");
}

/// The figure behind `key` in lines such as `MemTotal:  1024 kB`, in bytes.
fn kilobytes(info: &str, key: &str) -> Option<i64> {
    let line = info.lines().find(|line| line.contains(key))?;
    let (_, rest) = line.split_once(key)?;
    Some(rest.split_whitespace().next()?.parse::<i64>().ok()? * 1024)
}

fn memory(facts: &mut Facts) {
    let info = text("/proc/meminfo").unwrap_or_default();
    for (key, field) in [
        ("memory.total_bytes", "MemTotal:"),
        ("memory.available_bytes", "MemAvailable:"),
        ("memory.swap_bytes", "SwapTotal:"),
        ("huge_pages.size_bytes", "Hugepagesize:"),
    ] {
        if let Some(bytes) = kilobytes(&info, field) {
            facts.count(key, bytes);
        }
    }
    put_choice(facts, "huge_pages.transparent", "/sys/kernel/mm/transparent_hugepage/enabled");
    put_choice(facts, "huge_pages.defrag", "/sys/kernel/mm/transparent_hugepage/defrag");
    put_choice(facts, "huge_pages.shared_memory", "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    put_count(facts, "huge_pages.reserved", "/proc/sys/vm/nr_hugepages");
    put_count(facts, "memory.overcommit", "/proc/sys/vm/overcommit_memory");
}

fn kernel(facts: &mut Facts) {
    put_text(facts, "kernel.command_line", "/proc/cmdline");
    put_text(facts, "boot.id", "/proc/sys/kernel/random/boot_id");
    put_count(facts, "aslr.randomize_va_space", "/proc/sys/kernel/randomize_va_space");
    put_text(facts, "clock.source", "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    put_choice(facts, "kernel.preemption", "/sys/kernel/debug/sched/preempt");
    put_count(facts, "kernel.autogroup", "/proc/sys/kernel/sched_autogroup_enabled");
}

fn mitigations(facts: &mut Facts) {
    let Ok(directory) = fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else { return };
    for entry in directory.flatten() {
        put_text(facts, &format!("mitigation.{}", entry.file_name().to_string_lossy()), entry.path());
    }
}

fn load(facts: &mut Facts) {
    let Some(text) = text("/proc/loadavg") else { return };
    let mut words = text.split_whitespace();
    if let Some(load) = words.next().and_then(|word| word.parse().ok()) {
        facts.real("load.one_minute", load);
    }
    // Fourth word: runnable/existing tasks; the one that reads this is runnable itself.
    let runnable = words.nth(2).and_then(|word| word.split_once('/')?.0.parse::<i64>().ok());
    if let Some(runnable) = runnable {
        facts.count("load.runnable_others", (runnable - 1).max(0));
    }
}

/// CPU time that control groups allow, in CPUs: the least along the way to the root, of version 2 or 1.
fn cpu_quota() -> Option<f64> {
    let membership = text("/proc/self/cgroup")?;
    quotas(&membership, Path::new("/sys/fs/cgroup")).into_iter().reduce(f64::min)
}

/// The quotas of all groups that the lines of `membership` lead to, below the mount point `root`. A line is
/// `number:controllers:path`; version 2 has no controllers there, and version 1 mounts each set of them in a directory of its
/// own, under the set's name or the controller's.
fn quotas(membership: &str, root: &Path) -> Vec<f64> {
    let mut quotas = Vec::new();
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let path = path.trim_start_matches('/');
        if controllers.is_empty() {
            quotas.extend(along(root, path).filter_map(|group| quota(&text(group.join("cpu.max"))?)));
        } else if controllers.split(',').any(|controller| controller == "cpu") {
            for mount in [root.join(controllers), root.join("cpu")] {
                quotas.extend(along(&mount, path).filter_map(|group| quota_version_1(&group)));
            }
        }
    }
    quotas
}

/// A group's directory and those above it, up to the mount point.
fn along(mount: &Path, path: &str) -> impl Iterator<Item = PathBuf> {
    let (own, mount) = (mount.join(path), mount.to_owned());
    let mut directories: Vec<PathBuf> = own.ancestors().map(Path::to_owned).collect();
    directories.retain(|directory| directory.starts_with(&mount));
    directories.into_iter()
}

fn quota_version_1(group: &Path) -> Option<f64> {
    let quota = number(group.join("cpu.cfs_quota_us"))?;
    let period = number(group.join("cpu.cfs_period_us"))?;
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// `200000 100000`, or `max 100000` for no limit.
fn quota(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

/// Type of the file system that holds `directory`, from the mount with the longest matching path.
fn filesystem_of(directory: &Path) -> Option<String> {
    let directory = fs::canonicalize(directory).ok()?;
    let mounts = text("/proc/self/mounts")?;
    let matching = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (point, kind) = (words.nth(1)?, words.next()?);
        directory.starts_with(point).then(|| (point.len(), kind.to_owned()))
    });
    matching.max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_sizes_and_quotas_are_read() {
        assert_eq!(list("0-2,8"), [0, 1, 2, 8]);
        assert_eq!(size_bytes("32K"), Some(32768));
        assert_eq!(quota("150000 100000"), Some(1.5));
        assert_eq!(quota("max 100000"), None);
        assert_eq!(kilobytes("MemTotal:   10 kB\n", "MemTotal:"), Some(10240));
    }

    #[test]
    fn quotas_of_both_versions_are_found_on_the_way_to_the_root() {
        let root = std::env::temp_dir().join(format!("faultline-quotas-{}", std::process::id()));
        let put = |name: &str, content: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        put("a/b/cpu.max", "max 100000\n");
        put("a/cpu.max", "150000 100000\n");
        put("cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n");
        put("cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
        assert_eq!(quotas("0::/a/b\n", &root), [1.5]);
        assert_eq!(quotas("4:memory:/x\n3:cpu,cpuacct:/x/y\n", &root), [0.5]);
        assert_eq!(quotas("nonsense\n4:cpuset:/x", &root), [0.0; 0]);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn the_root_has_a_file_system() {
        assert!(filesystem_of(Path::new("/")).is_some());
    }
}
