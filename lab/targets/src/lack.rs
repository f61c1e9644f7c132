//! Evidence that this host lacked disk space, files or memory when a program failed. Such a failure
//! is the lab's, and says nothing about the program.

use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use rustix::io::Errno;
use std::path::Path;
use std::{fs, io};

/// Free space below which a disk counts as full. Programs remove incomplete files, so some space
/// may be free again.
const LEAST_BYTES: u64 = 1 << 20;

/// Available memory below which it counts as exhausted.
const LEAST_MEMORY_BYTES: u64 = 8 << 20;

/// Errors of a call that lacked something of this host.
const ERRORS: [Errno; 6] = [Errno::NOSPC, Errno::DQUOT, Errno::NOMEM, Errno::MFILE, Errno::NFILE, Errno::AGAIN];

/// English messages of programs for a full disk (`ENOSPC`, `EDQUOT`).
const DISK_FULL: [&str; 2] = ["No space left on device", "Disk quota exceeded"];

/// True if an operation of ours failed because this host lacked something.
pub fn is_error(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| ERRORS.iter().any(|lack| lack.raw_os_error() == code))
}

/// True for the number of an error of a full disk.
pub fn is_disk_full(errno: i64) -> bool {
    [Errno::NOSPC, Errno::DQUOT].iter().any(|full| i64::from(full.raw_os_error()) == errno)
}

/// The first line of a program's output that says that a disk is full.
pub fn said_in(output: &str) -> Option<String> {
    output.lines().find(|line| DISK_FULL.iter().any(|said| line.contains(said))).map(said)
}

fn said(line: &str) -> String {
    format!("the disk is full: {}", line.trim())
}

/// This host's state before a program starts.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    /// Number of processes that the system had killed for lack of memory; `None` if unknown.
    killed: Option<u64>,
}

impl Watch {
    /// The state now.
    pub fn begin() -> Self {
        Watch { killed: killed() }
    }

    /// The lack of this host now that the program has failed, in words; `None` if there is none.
    /// `directories`: those to which it may have written.
    pub fn lack(&self, directories: &[&Path]) -> Option<String> {
        directories.iter().find_map(|directory| full(directory)).or_else(|| self.memory())
    }

    fn memory(&self) -> Option<String> {
        if self.killed.zip(killed()).is_some_and(|(before, now)| now > before) {
            return Some("the memory ran out, and the system killed a process".to_owned());
        }
        let bytes = available_bytes()?;
        (bytes < LEAST_MEMORY_BYTES).then(|| format!("the memory ran out: {} KiB are available", bytes >> 10))
    }
}

/// The lack of space or files in a directory that we may write; `None` if there is none, or if it
/// cannot be read.
fn full(directory: &Path) -> Option<String> {
    let found = statvfs(directory).ok()?;
    // A read-only file system has no free space, and one without files, such as /proc, no blocks.
    let is_written = !found.f_flag.contains(StatVfsMountFlags::RDONLY) && found.f_blocks > 0;
    if !is_written || access(directory, Access::WRITE_OK).is_err() {
        return None;
    }
    let bytes = found.f_bavail.saturating_mul(found.f_frsize);
    let lacking = match () {
        () if bytes < LEAST_BYTES => "space",
        // Some file systems have no limit on files and report 0.
        () if found.f_files > 0 && found.f_favail == 0 => "inodes",
        () => return None,
    };
    let shown = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    Some(format!("the disk is full: no {lacking} left in {}", shown.display()))
}

/// Number of processes killed for lack of memory: those of our control group, or of the system.
fn killed() -> Option<u64> {
    let group = fs::read_to_string("/proc/self/cgroup").ok().and_then(|text| {
        let path = text.lines().find_map(|line| line.strip_prefix("0::"))?.to_owned();
        fs::read_to_string(format!("/sys/fs/cgroup{path}/memory.events")).ok()
    });
    let text = group.or_else(|| fs::read_to_string("/proc/vmstat").ok())?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// Memory that can be used without swapping; `None` if the system does not report it.
pub(crate) fn available_bytes() -> Option<u64> {
    available_in(&fs::read_to_string("/proc/meminfo").ok()?)
}

/// Parses the lines of `/proc/meminfo`.
fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_about_a_full_disk_are_found() {
        let said = |line: &str| Some(format!("the disk is full: {line}"));
        let compiler = "/tmp/ccX.s: fatal error: error writing to a.o: No space left on device";
        assert_eq!(said_in(&format!("a.c: warning\n {compiler}\nmore\n")), said(compiler));
        assert_eq!(
            said_in("cp: error writing 'x': Disk quota exceeded"),
            said("cp: error writing 'x': Disk quota exceeded")
        );
        assert_eq!(said_in("a.c:1: error: no space before device"), None);
    }

    #[test]
    fn a_host_with_room_lacks_nothing() {
        let temporary = std::env::temp_dir();
        let directories = [&temporary, Path::new("/no/such/directory"), Path::new("/proc"), Path::new("/")];
        assert_eq!(Watch::begin().lack(&directories), None);
    }

    #[test]
    fn a_process_that_the_system_killed_is_evidence() {
        let Some(killed) = killed() else { return };
        assert!(Watch { killed: Some(killed) }.memory().is_none());
        if killed > 0 {
            assert!(Watch { killed: Some(killed - 1) }.memory().is_some());
        }
    }

    #[test]
    fn errors_of_a_host_that_lacks_something_are_distinguished() {
        let error = |errno: Errno| io::Error::from(errno);
        assert!(ERRORS.iter().all(|&errno| is_error(&error(errno))));
        assert!(!is_error(&error(Errno::NOENT)) && !is_error(&io::ErrorKind::StorageFull.into()));
        let errno = |errno: Errno| i64::from(errno.raw_os_error());
        assert!(is_disk_full(errno(Errno::NOSPC)) && !is_disk_full(errno(Errno::NOMEM)));
    }

    #[test]
    fn available_memory_is_read() {
        let text = "MemTotal:       24683520 kB\nMemFree:         2000 kB\nMemAvailable:    3000 kB\nBuffers: 5 kB\n";
        assert_eq!(available_in(text), Some(3000 << 10));
        assert_eq!(available_in("MemTotal: 5 kB\n"), None);
    }
}
