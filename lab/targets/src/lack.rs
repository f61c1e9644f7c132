//! Evidence that this host lacked disk space, files or memory when a program failed. Such a failure
//! is the lab's, and says nothing about the program.

use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Free space below which a disk counts as full. Programs remove incomplete files, so some space
/// may be free again.
const LEAST_BYTES: u64 = 1 << 20;

/// Free space with which a disk has room for what a program is expected to write.
const ROOM_BYTES: u64 = 256 << 20;

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

/// A lack of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// The lack, in words.
    pub text: String,
    /// True if it is over, so the program itself may be the cause: a process was killed, or the
    /// program printed an error of a full disk, and the host has room again.
    pub is_over: bool,
}

impl Lack {
    /// A lack that persists.
    pub fn present(text: String) -> Self {
        Lack { text, is_over: false }
    }

    /// A lack that is over.
    pub fn over(text: String) -> Self {
        Lack { text, is_over: true }
    }
}

/// The first line of a program's output that says that a disk is full.
pub fn said_in(output: &str) -> Option<String> {
    output.lines().find(|line| DISK_FULL.iter().any(|said| line.contains(said))).map(said)
}

fn said(line: &str) -> String {
    format!("the disk is full: {}", line.trim())
}

/// This host's state before a program starts.
#[derive(Debug, Clone)]
pub struct Watch {
    /// Directory with `proc` and `sys`: the root, except in tests.
    root: PathBuf,
    /// Number of processes that the system had killed for lack of memory; `None` if unknown.
    killed: Option<u64>,
}

impl Watch {
    /// The state now.
    pub fn begin() -> Self {
        Self::below(Path::new("/"))
    }

    fn below(root: &Path) -> Self {
        Watch { root: root.to_owned(), killed: killed(root) }
    }

    /// The lack of this host now that the program has failed; `None` if there is none.
    /// `directories`: those to which it may have written.
    pub fn lack(&self, directories: &[&Path]) -> Option<Lack> {
        let full = directories.iter().find_map(|directory| full(directory)).map(Lack::present);
        full.or_else(|| self.memory())
    }

    fn memory(&self) -> Option<Lack> {
        let bytes = fs::read_to_string(self.root.join(MEMINFO)).ok().and_then(|text| available_in(&text));
        if let Some(bytes) = bytes.filter(|bytes| *bytes < LEAST_MEMORY_BYTES) {
            return Some(Lack::present(format!("the memory ran out: {} KiB are available", bytes >> 10)));
        }
        let was_killed = self.killed.zip(killed(&self.root)).is_some_and(|(before, now)| now > before);
        was_killed.then(|| Lack::over("the memory ran out, and the system killed a process".to_owned()))
    }
}

/// True if there is room in all directories that we may write.
pub fn has_room(directories: &[&Path]) -> bool {
    directories.iter().all(|directory| full_below(directory, ROOM_BYTES).is_none())
}

fn full(directory: &Path) -> Option<String> {
    full_below(directory, LEAST_BYTES)
}

/// The lack of space or files in a directory that we may write; `None` if there is none, or if it
/// cannot be read.
fn full_below(directory: &Path, least_bytes: u64) -> Option<String> {
    let found = statvfs(directory).ok()?;
    // A read-only file system has no free space, and one without files, such as /proc, no blocks.
    let is_written = !found.f_flag.contains(StatVfsMountFlags::RDONLY) && found.f_blocks > 0;
    if !is_written || access(directory, Access::WRITE_OK).is_err() {
        return None;
    }
    let bytes = found.f_bavail.saturating_mul(found.f_frsize);
    let lacking = match () {
        () if bytes < least_bytes => "space",
        // Some file systems have no limit on files and report 0.
        () if found.f_files > 0 && found.f_favail == 0 => "inodes",
        () => return None,
    };
    let shown = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    Some(format!("the disk is full: no {lacking} left in {}", shown.display()))
}

/// Number of processes killed for lack of memory: those of our control group, in either version, or
/// else those of the system.
fn killed(root: &Path) -> Option<u64> {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let groups = read("proc/self/cgroup").unwrap_or_default();
    let of_group = groups.lines().find_map(|line| {
        let (number, rest) = line.split_once(':')?;
        match rest.split_once(':')? {
            ("", path) if number == "0" => read(&format!("sys/fs/cgroup{path}/memory.events")),
            (kinds, path) if kinds.split(',').any(|kind| kind == "memory") => {
                read(&format!("sys/fs/cgroup/memory{path}/memory.oom_control"))
            }
            _ => None,
        }
    });
    let count = |text: String| text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
    of_group.and_then(count).or_else(|| read("proc/vmstat").and_then(count))
}

/// File with the state of the memory, below the root.
const MEMINFO: &str = "proc/meminfo";

/// Memory that can be used without swapping; `None` if the system does not report it.
pub(crate) fn available_bytes() -> Option<u64> {
    available_in(&fs::read_to_string(Path::new("/").join(MEMINFO)).ok()?)
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
        let directories = [temporary.as_path(), Path::new("/no/such/directory"), Path::new("/proc"), Path::new("/")];
        assert_eq!(directories.iter().find_map(|directory| full(directory)), None);
    }

    /// A root with these files.
    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), files);
        root
    }

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
    }

    #[test]
    fn a_process_that_the_system_killed_is_evidence() {
        let root = root(&[("proc/vmstat", "pgfault 7\noom_kill 3\n"), (MEMINFO, "MemAvailable: 900000 kB\n")]);
        let watch = Watch::below(root.path());
        assert_eq!(watch.lack(&[]), None);
        write(root.path(), &[("proc/vmstat", "pgfault 9\noom_kill 4\n")]);
        assert!(watch.lack(&[]).unwrap().is_over, "there is memory again");
        write(root.path(), &[(MEMINFO, "MemAvailable: 5 kB\n")]);
        assert_eq!(watch.lack(&[]), Some(Lack::present("the memory ran out: 5 KiB are available".to_owned())));
    }

    #[test]
    fn a_process_killed_in_another_control_group_is_no_evidence() {
        let version_2 = [("proc/self/cgroup", "0::/us\n"), ("sys/fs/cgroup/us/memory.events", "oom 0\noom_kill 1\n")];
        let version_1 = [
            ("proc/self/cgroup", "12:pids:/us\n4:memory,x:/us\n0::/\n"),
            ("sys/fs/cgroup/memory/us/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"),
        ];
        for group in [version_2, version_1] {
            let root = root(&group);
            write(root.path(), &[("proc/vmstat", "oom_kill 3\n")]);
            let watch = Watch::below(root.path());
            write(root.path(), &[("proc/vmstat", "oom_kill 4\n")]);
            assert_eq!(watch.lack(&[]), None);
            let (counts, text) = group[1];
            write(root.path(), &[(counts, text.replace("oom_kill 1", "oom_kill 2").as_str())]);
            assert!(watch.lack(&[]).is_some());
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
