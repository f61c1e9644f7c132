//! How many machines of a certain size have room on this host.

use std::fs;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

/// Machines of `bytes_each` that can run at the same time, each on one CPU: as many as CPUs that may be used (affinity and quotas respected), and
/// as have room in the memory that is available. At least one. Where the system does not tell its memory, the CPUs alone decide.
pub fn machines_at_once(bytes_each: u64) -> NonZeroUsize {
    let cpus = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let bytes = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_bytes(&text));
    at_once(cpus, bytes, bytes_each)
}

fn at_once(cpus: NonZeroUsize, bytes: Option<u64>, bytes_each: u64) -> NonZeroUsize {
    let by_memory = bytes.map_or(usize::MAX, |bytes| (bytes / bytes_each.max(1)) as usize);
    NonZeroUsize::new(by_memory).map_or(NonZeroUsize::MIN, |by_memory| by_memory.min(cpus))
}

/// From the lines of `/proc/meminfo`.
fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_and_memory_both_limit() {
        let four = NonZeroUsize::new(4).unwrap();
        let of = |bytes| at_once(four, bytes, 1000).get();
        assert_eq!((of(None), of(Some(9999)), of(Some(3999)), of(Some(999)), of(Some(0))), (4, 4, 3, 1, 1));
        assert_eq!(at_once(NonZeroUsize::MIN, Some(u64::MAX), 1), NonZeroUsize::MIN);
    }

    #[test]
    fn available_memory_is_read() {
        let text = "MemTotal:       24683520 kB\nMemFree:         2000 kB\nMemAvailable:    3000 kB\nBuffers: 5 kB\n";
        assert_eq!(available_bytes(text), Some(3000 << 10));
        assert_eq!(available_bytes("MemTotal: 5 kB\n"), None);
    }
}
