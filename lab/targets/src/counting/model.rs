//! The machine that the lens models, and its options for the plugin.

use crate::TargetError;
use crate::keep::Grace;
use faultline_coherence::{Caches, CostTable, DelayTimes, Topology};
use faultline_record::lens::settings::Precision;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A machine, except for its number of CPUs.
#[derive(Debug, Clone)]
pub struct MachineModel {
    /// Sockets.
    pub sockets: u32,
    /// CPUs that share a last-level cache; `None` for all CPUs of a socket.
    pub cpus_per_cache: Option<u32>,
    /// Times of instructions and transfers. With delays, the plugin also models other times, and
    /// rates can be predicted.
    pub costs: CostTable,
    /// Precision of measured times; `None` if the times are not measured.
    pub precision: Option<Precision>,
    /// Size of each CPU's own cache; `None` for an unbounded cache.
    pub caches: Option<Caches>,
    /// Maximum lead of a CPU over the slowest one, in cycles.
    pub quanta: Quanta,
}

/// Maximum lead of a CPU, in cycles, where specified.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quanta {
    /// Soon after a transfer.
    pub contended: Option<u64>,
    /// Long after the CPU's last transfer.
    pub private: Option<u64>,
}

impl MachineModel {
    /// Number of CPUs of a machine for that many threads of a program: one per thread and one for
    /// the thread that starts them, rounded up so that all sockets and caches have equally many.
    pub fn cpus_for_threads(&self, threads: u32) -> u32 {
        let part = self.sockets.max(1).saturating_mul(self.cpus_per_cache.unwrap_or(1).max(1));
        threads.saturating_add(1).div_ceil(part).saturating_mul(part)
    }

    /// Fails if the machine is impossible with one of these numbers of CPUs.
    pub fn check(&self, cpus: &[u32]) -> Result<(), TargetError> {
        let hint = "all sockets, and all caches of a socket, have the same number of CPUs: for example `--sockets 2 --cpus-per-cache 4` for 8 CPUs";
        for &cpus in cpus {
            let per_cache = self.cpus_per_cache.unwrap_or(cpus / self.sockets.max(1));
            Topology::new(cpus, self.sockets, per_cache).map_err(|error| TargetError {
                problem: format!("impossible machine: {error}"),
                hint: hint.to_owned(),
            })?;
        }
        Ok(())
    }

    /// The plugin for a machine of `cpus` CPUs that writes its report to `output`.
    pub fn plugin(&self, file: &Path, cpus: u32, output: &str, is_whole: bool) -> Plugin {
        let mut values: Vec<(String, String)> = Vec::new();
        let mut put = |key: &str, value: String| values.push((key.to_owned(), value));
        put("cpus", cpus.to_string());
        put("sockets", self.sockets.to_string());
        let optional = [
            ("cpus_per_cache", self.cpus_per_cache.map(u64::from)),
            ("quantum", self.quanta.contended),
            ("private_quantum", self.quanta.private),
            ("cache_ways", self.caches.map(|caches| caches.ways.into())),
        ];
        for (key, value) in optional {
            value.into_iter().for_each(|value| put(key, value.to_string()));
        }
        put("cache_lines", self.caches.map_or_else(|| "unbounded".to_owned(), |caches| caches.lines.to_string()));
        let CostTable { times, delays, .. } = &self.costs;
        for (key, value) in times.numbers().chain(delays.iter().flat_map(DelayTimes::numbers)) {
            put(key, value.to_string());
        }
        put("output", output.to_owned());
        if is_whole {
            put("whole", "on".to_owned());
        }
        Plugin { file: PathBuf::from(file), values, directory: None }
    }
}

/// Time limit for an emulator to end after a request to end, because its plugin has to write its
/// counts. A machine of 32 CPUs with millions of transfers took 11 s on two busy CPUs.
const GRACE: Duration = Duration::from_secs(10);
const GRACE_PER_CPU: Duration = Duration::from_secs(1);

/// Grace period of an emulator with a plugin, for a machine with that many CPUs.
pub(crate) fn grace(cpus: u32) -> Grace {
    Grace { at_limit: GRACE + GRACE_PER_CPU * cpus, on_stop: GRACE }
}

/// A plugin for QEMU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// The shared library.
    pub file: PathBuf,
    /// Options: keys and values.
    pub values: Vec<(String, String)>,
    /// Directory of its output that is removed if we are killed. If `None`, the caller removes it.
    pub directory: Option<PathBuf>,
}

impl Plugin {
    /// The option's value in QEMU's syntax: parts separated by commas, commas within a part
    /// doubled.
    pub(crate) fn option(&self) -> OsString {
        let mut option = OsString::from("file=");
        option.push(doubled(self.file.as_os_str()));
        for (key, value) in &self.values {
            option.push(format!(",{key}={}", value.replace(',', ",,")));
        }
        option
    }
}

fn doubled(path: &std::ffi::OsStr) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = path.as_bytes().iter().flat_map(|&byte| if byte == b',' { vec![byte; 2] } else { vec![byte] });
    OsString::from_vec(bytes.collect())
}

/// True if an emulator's help mentions plugins. An emulator that was built without them does not.
pub(crate) fn are_known_to(help: &str) -> bool {
    help.lines().any(|line| line.trim_start().starts_with("-plugin"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_are_doubled() {
        let values = vec![("output".to_owned(), "a,b.json".to_owned()), ("cpus".to_owned(), "8".to_owned())];
        let plugin = Plugin { file: PathBuf::from("/lib/lens,1.so"), values, directory: None };
        assert_eq!(plugin.option(), "file=/lib/lens,,1.so,output=a,,b.json,cpus=8");
    }

    #[test]
    fn help_says_whether_there_are_plugins() {
        assert!(are_known_to("-strace ...\n-plugin           QEMU_PLUGIN        [file=]<file>"));
        assert!(!are_known_to("-strace\n-d plugin enable logging of plugin\n"));
    }
}
