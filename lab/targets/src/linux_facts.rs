//! Facts of a Linux system from `/proc` and `/sys`: of this machine, or of a guest that sent the
//! files.

use faultline_record::facts::Facts;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Location of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CpuLocation {
    /// Socket number.
    pub(crate) socket: i64,
    /// Core number within its socket.
    pub(crate) core: i64,
}

/// Location of a CPU; `None` if the system does not report it.
pub(crate) fn place(files: &dyn SystemFiles, cpu: u32) -> Option<CpuLocation> {
    let number = |name: &str| files.number(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}"));
    Some(CpuLocation { socket: number("physical_package_id")?, core: number("core_id")? })
}

/// Key of the scratch directory's file system; absent if no listed mount covers it.
pub(crate) const SCRATCH_FILESYSTEM: &str = "scratch.filesystem";

/// Adds all facts except the kernel's name. `scratch`: the scratch directory, without symbolic
/// links.
pub(crate) fn read(files: &dyn SystemFiles, facts: &mut Facts, scratch: &Path) {
    let mut reader = Reader { files, facts };
    reader.cpu();
    reader.frequency();
    reader.caches();
    reader.numa();
    reader.memory();
    reader.kernel();
    reader.mitigations();
    reader.load();
    if let Some(kind) = filesystem_of(files, scratch) {
        facts.text(SCRATCH_FILESYSTEM, kind);
    }
}

/// Paths of all files that this module reads of a machine with these CPUs, except a process's
/// limits. A directory stands for its files.
pub(crate) fn paths(cpus: u32, nodes: u32) -> Vec<String> {
    let mut paths: Vec<String> = PATHS.iter().map(|path| (*path).to_owned()).collect();
    for cpu in 0..cpus {
        paths.push(format!("/sys/devices/system/cpu/cpu{cpu}/topology"));
    }
    for index in 0..MOST_CACHES {
        paths.push(format!("/sys/devices/system/cpu/cpu0/cache/index{index}"));
    }
    for node in 0..nodes {
        for file in ["cpulist", "distance", "meminfo"] {
            paths.push(format!("/sys/devices/system/node/node{node}/{file}"));
        }
    }
    paths
}

/// Maximum number of caches of a CPU.
const MOST_CACHES: u32 = 8;

/// Files and directories whose names do not depend on the machine.
const PATHS: &[&str] = &[
    "/proc/cmdline",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self/mounts",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/proc/sys/vm/nr_hugepages",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/vulnerabilities",
    "/sys/devices/system/node/online",
    "/sys/kernel/mm/transparent_hugepage",
];

/// Adds the contents of files to the facts.
struct Reader<'a> {
    files: &'a dyn SystemFiles,
    facts: &'a mut Facts,
}

impl Reader<'_> {
    fn text(&self, path: &str) -> Option<String> {
        self.files.text(path)
    }

    fn put_text(&mut self, key: &str, path: &str) {
        if let Some(text) = self.text(path) {
            self.facts.text(key, text);
        }
    }

    fn put_count(&mut self, key: &str, path: &str) {
        if let Some(number) = self.files.number(path) {
            self.facts.count(key, number);
        }
    }

    /// The option in brackets of `always [madvise] never`.
    fn put_choice(&mut self, key: &str, path: &str) {
        let choice = self.text(path).and_then(|text| {
            let (_, rest) = text.split_once('[')?;
            Some(rest.split_once(']')?.0.to_owned())
        });
        if let Some(choice) = choice {
            self.facts.text(key, choice);
        }
    }

    fn cpu(&mut self) {
        for (key, field) in [
            ("cpu.model", "model name"),
            ("cpu.vendor", "vendor_id"),
            ("cpu.family", "cpu family"),
            ("cpu.model_number", "model"),
            ("cpu.stepping", "stepping"),
            ("cpu.microcode", "microcode"),
        ] {
            if let Some(value) = self.cpuinfo(field) {
                self.facts.text(key, value);
            }
        }
        let online = self.text("/sys/devices/system/cpu/online").map(|text| list(&text)).unwrap_or_default();
        let places: Vec<CpuLocation> = online.iter().filter_map(|&cpu| place(self.files, cpu)).collect();
        if !online.is_empty() {
            self.facts.count("cpu.logical", online.len() as i64);
        }
        if places.len() == online.len() && !places.is_empty() {
            let cores: BTreeSet<CpuLocation> = places.iter().copied().collect();
            let sockets: BTreeSet<i64> = places.iter().map(|place| place.socket).collect();
            self.facts.count("cpu.cores", cores.len() as i64);
            self.facts.count("cpu.sockets", sockets.len() as i64);
            self.facts.count("cpu.threads_per_core", (places.len() / cores.len()) as i64);
        }
        self.put_text("cpu.isolated", "/sys/devices/system/cpu/isolated");
    }

    fn frequency(&mut self) {
        let policy = "/sys/devices/system/cpu/cpu0/cpufreq";
        self.facts.flag("cpu.frequency_scaling", !self.files.names(policy).is_empty());
        self.put_text("cpu.governor", &format!("{policy}/scaling_governor"));
        self.put_text("cpu.frequency_driver", &format!("{policy}/scaling_driver"));
        for (key, file) in [("cpu.lowest_hz", "cpuinfo_min_freq"), ("cpu.highest_hz", "cpuinfo_max_freq")] {
            if let Some(khz) = self.files.number(&format!("{policy}/{file}")) {
                self.facts.count(key, khz * 1000);
            }
        }
        let boost = self.files.number("/sys/devices/system/cpu/cpufreq/boost").map(|on| on == 1);
        let no_turbo = self.files.number("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == 0);
        if let Some(boost) = boost.or(no_turbo) {
            self.facts.flag("cpu.boost", boost);
        }
    }

    fn caches(&mut self) {
        for index in 0.. {
            let cache = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
            let (Some(level), Some(kind)) = (self.text(&format!("{cache}/level")), self.text(&format!("{cache}/type")))
            else {
                return;
            };
            let suffix = match kind.as_str() {
                "Data" => "d",
                "Instruction" => "i",
                _ => "",
            };
            let key = format!("cache.l{level}{suffix}");
            if let Some(bytes) = self.text(&format!("{cache}/size")).and_then(|size| size_bytes(&size)) {
                self.facts.count(&format!("{key}.size_bytes"), bytes);
            }
            self.put_count(&format!("{key}.line_bytes"), &format!("{cache}/coherency_line_size"));
            if let Some(sharing) = self.text(&format!("{cache}/shared_cpu_list")) {
                self.facts.count(&format!("{key}.shared_by_cpus"), list(&sharing).len() as i64);
            }
        }
    }

    fn numa(&mut self) {
        let online = self.text("/sys/devices/system/node/online").map(|text| list(&text)).unwrap_or_default();
        if online.is_empty() {
            return;
        }
        self.facts.count("numa.nodes", online.len() as i64);
        for node in online {
            let directory = format!("/sys/devices/system/node/node{node}");
            self.put_text(&format!("numa.node{node}.cpus"), &format!("{directory}/cpulist"));
            self.put_text(&format!("numa.node{node}.distances"), &format!("{directory}/distance"));
            let memory = self.text(&format!("{directory}/meminfo")).and_then(|info| kilobytes(&info, "MemTotal:"));
            if let Some(bytes) = memory {
                self.facts.count(&format!("numa.node{node}.memory_bytes"), bytes);
            }
        }
        self.put_count("numa.balancing", "/proc/sys/kernel/numa_balancing");
    }

    fn memory(&mut self) {
        let info = self.text("/proc/meminfo").unwrap_or_default();
        for (key, field) in [
            ("memory.total_bytes", "MemTotal:"),
            ("memory.available_bytes", "MemAvailable:"),
            ("memory.swap_bytes", "SwapTotal:"),
            ("huge_pages.size_bytes", "Hugepagesize:"),
        ] {
            if let Some(bytes) = kilobytes(&info, field) {
                self.facts.count(key, bytes);
            }
        }
        self.put_choice("huge_pages.transparent", "/sys/kernel/mm/transparent_hugepage/enabled");
        self.put_choice("huge_pages.defrag", "/sys/kernel/mm/transparent_hugepage/defrag");
        self.put_choice("huge_pages.shared_memory", "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
        self.put_count("huge_pages.reserved", "/proc/sys/vm/nr_hugepages");
        self.put_count("memory.overcommit", "/proc/sys/vm/overcommit_memory");
    }

    fn kernel(&mut self) {
        self.put_text("kernel.command_line", "/proc/cmdline");
        self.put_text("boot.id", "/proc/sys/kernel/random/boot_id");
        self.put_count("aslr.randomize_va_space", "/proc/sys/kernel/randomize_va_space");
        self.put_text("clock.source", "/sys/devices/system/clocksource/clocksource0/current_clocksource");
        self.put_choice("kernel.preemption", "/sys/kernel/debug/sched/preempt");
        self.put_count("kernel.autogroup", "/proc/sys/kernel/sched_autogroup_enabled");
    }

    fn mitigations(&mut self) {
        let directory = "/sys/devices/system/cpu/vulnerabilities";
        for name in self.files.names(directory) {
            self.put_text(&format!("mitigation.{name}"), &format!("{directory}/{name}"));
        }
    }

    fn load(&mut self) {
        let Some(text) = self.text("/proc/loadavg") else { return };
        let mut words = text.split_whitespace();
        if let Some(load) = words.next().and_then(|word| word.parse().ok()) {
            self.facts.real("load.one_minute", load);
        }
        // Fourth word: runnable/existing tasks. The task that reads the file is itself runnable.
        let runnable = words.nth(2).and_then(|word| word.split_once('/')?.0.parse::<i64>().ok());
        if let Some(runnable) = runnable {
            self.facts.count("load.runnable_others", (runnable - 1).max(0));
        }
    }

    /// A field of the first CPU's block.
    fn cpuinfo(&self, field: &str) -> Option<String> {
        let info = self.text("/proc/cpuinfo")?;
        let line = info.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == field))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    }
}

/// Numbers in a list such as `0-3,8`.
pub(crate) fn list(text: &str) -> Vec<u32> {
    let ranges = text.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    });
    ranges.flatten().collect()
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

/// The value of `key` in lines such as `MemTotal:  1024 kB`, in bytes.
fn kilobytes(info: &str, key: &str) -> Option<i64> {
    let line = info.lines().find(|line| line.contains(key))?;
    let (_, rest) = line.split_once(key)?;
    Some(rest.split_whitespace().next()?.parse::<i64>().ok()? * 1024)
}

/// Type of the file system that contains `directory`, from the mount with the longest matching
/// path.
fn filesystem_of(files: &dyn SystemFiles, directory: &Path) -> Option<String> {
    let mounts = files.text("/proc/self/mounts")?;
    let matching = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (point, kind) = (words.nth(1)?, words.next()?);
        directory.starts_with(point).then(|| (point.len(), kind.to_owned()))
    });
    matching.max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

/// Small text files by absolute path.
pub(crate) trait SystemFiles {
    /// A file's text without leading and trailing white space; `None` if it cannot be read.
    fn text(&self, path: &str) -> Option<String>;

    /// Names in a directory; empty if it cannot be read.
    fn names(&self, directory: &str) -> Vec<String>;

    /// The whole number in a file; `None` if there is none.
    fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }
}

/// The files of this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnFiles;

impl SystemFiles for OwnFiles {
    fn text(&self, path: &str) -> Option<String> {
        Some(fs::read_to_string(path).ok()?.trim().to_owned())
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// Files that a guest sent, by path.
#[derive(Debug, Clone, Default)]
pub(crate) struct SentFiles(pub(crate) BTreeMap<String, String>);

impl SystemFiles for SentFiles {
    fn text(&self, path: &str) -> Option<String> {
        Some(self.0.get(path)?.trim().to_owned())
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let below = format!("{directory}/");
        let names = self.0.keys().filter_map(|path| path.strip_prefix(&below)?.split('/').next());
        names.map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_sizes_are_read() {
        assert_eq!(list("0-2,8"), [0, 1, 2, 8]);
        assert_eq!(size_bytes("32K"), Some(32768));
        assert_eq!(kilobytes("MemTotal:   10 kB\n", "MemTotal:"), Some(10240));
    }

    #[test]
    fn the_longest_mount_that_covers_a_path_names_its_file_system() {
        let mounts = "/dev/vda / ext4 rw 0 0\nnone /mnt/lab tmpfs rw 0 0\nproc /proc proc rw 0 0\n";
        let files = SentFiles([("/proc/self/mounts".to_owned(), mounts.to_owned())].into());
        assert_eq!(filesystem_of(&files, Path::new("/mnt")).as_deref(), Some("ext4"));
        assert_eq!(filesystem_of(&files, Path::new("/mnt/lab/scratch")).as_deref(), Some("tmpfs"));
        let changed_root = SentFiles([("/proc/self/mounts".to_owned(), "proc /proc proc rw 0 0\n".to_owned())].into());
        assert_eq!(filesystem_of(&changed_root, Path::new("/")), None);
    }

    #[test]
    fn what_a_guest_sends_is_read_alike() {
        let files = [
            ("/proc/cmdline", "console=ttyS0\n"),
            ("/sys/devices/system/cpu/online", "0-1"),
            ("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0"),
            ("/sys/devices/system/cpu/cpu0/topology/core_id", "0"),
            ("/sys/devices/system/cpu/cpu1/topology/physical_package_id", "1"),
            ("/sys/devices/system/cpu/cpu1/topology/core_id", "0"),
            ("/sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI"),
        ];
        let files = SentFiles(files.map(|(path, text)| (path.to_owned(), text.to_owned())).into());
        let mut facts = Facts::default();
        read(&files, &mut facts, Path::new("/tmp"));
        assert_eq!(facts.get_text("kernel.command_line"), Some("console=ttyS0"));
        assert_eq!(facts.get_count("cpu.sockets"), Some(2));
        assert_eq!(facts.get_text("mitigation.meltdown"), Some("Mitigation: PTI"));
        assert_eq!(facts.get_text("scratch.filesystem"), None);
    }
}
