//! Facts that only a process of this machine can read under Linux: its limits, the machine's load,
//! and the file system of its scratch files. `linux_facts` reads the rest.

use crate::linux_facts;
use crate::linux_facts::OwnFiles;
use faultline_record::facts::Facts;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(super) fn read(facts: &mut Facts, scratch: &Path) {
    let scratch = scratch.canonicalize().unwrap_or_else(|_| scratch.to_owned());
    linux_facts::read(&OwnFiles, facts, &scratch);
    if facts.get_text(linux_facts::SCRATCH_FILESYSTEM).is_none()
        && let Some(kind) = kind_of_filesystem(&scratch)
    {
        facts.text(linux_facts::SCRATCH_FILESYSTEM, kind);
    }
    if let Some(quota) = cpu_quota() {
        facts.real("cgroup.cpu_quota_cpus", quota);
    }
    if let Some(busy) = busy_cpus() {
        facts.real("load.busy_cpus", busy);
    }
}

/// Length of the interval: 30 ticks, so one tick is 0.03 CPUs.
const STRETCH: Duration = Duration::from_millis(300);

/// Average number of CPUs that programs use during the interval; `None` if Linux does not report
/// it.
fn busy_cpus() -> Option<f64> {
    let ticks = || busy_ticks(&fs::read_to_string("/proc/stat").ok()?);
    let (before, began) = (ticks()?, Instant::now());
    sleep(STRETCH);
    let (after, length) = (ticks()?, began.elapsed());
    let seconds = after.saturating_sub(before) as f64 / rustix::param::clock_ticks_per_second() as f64;
    Some(seconds / length.as_secs_f64())
}

/// Ticks of all CPUs in user mode and in the kernel since boot, without interrupts.
fn busy_ticks(stat: &str) -> Option<u64> {
    let (name, ticks) = stat.lines().next()?.split_once(' ')?;
    let ticks: Vec<u64> = ticks.split_whitespace().take(3).map(str::parse).collect::<Result<_, _>>().ok()?;
    // User, nice, system: these three are as old as the file.
    (name == "cpu" && ticks.len() == 3).then(|| ticks.iter().sum())
}

fn text(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn number(path: impl AsRef<Path>) -> Option<i64> {
    text(path)?.parse().ok()
}

/// Number of CPUs: the smallest quota on the path to the root, of version 2 or 1.
fn cpu_quota() -> Option<f64> {
    let membership = text("/proc/self/cgroup")?;
    quotas(&membership, Path::new("/sys/fs/cgroup")).into_iter().reduce(f64::min)
}

/// The quotas of all groups in the lines of `membership`, below the mount point `root`. A line is
/// `number:controllers:path`. Version 2 has no controllers there. Version 1 mounts each set of
/// controllers in its own directory, which has the name of the set or of the controller.
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

/// A group's directory and its parents, up to the mount point.
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

/// Numbers from Linux's `linux/magic.h` and the file systems' own headers, with names as in
/// `/proc/self/mounts`. Three file systems share one number.
const KINDS: &[(u32, &str)] = &[
    (0xEF53, "ext2/ext3/ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683E, "btrfs"),
    (0xF2F5_2010, "f2fs"),
    (0x2FC1_2FC1, "zfs"),
    (0xCA45_1A4E, "bcachefs"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58F6, "ramfs"),
    (0x794C_7630, "overlay"),
    (0x7371_7368, "squashfs"),
    (0xE0F5_E1E2, "erofs"),
    (0x6969, "nfs"),
    (0xFF53_4D42, "cifs"),
    (0x00C3_6400, "ceph"),
    (0x0BD0_0BD0, "lustre"),
    (0x6573_5546, "fuse"),
    (0x0102_1997, "9p"),
];

/// Kind of the file system that contains `path`: its name, or its number if the table lacks it.
/// `None` if the path does not exist.
fn kind_of_filesystem(path: &Path) -> Option<String> {
    let status = rustix::fs::statfs(path).ok()?;
    // The field's width differs between architectures; the numbers have 32 bits.
    Some(name(status.f_type as u32))
}

fn name(number: u32) -> String {
    let known = KINDS.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("{number:#x}"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_has_a_file_system() {
        let mut facts = Facts::default();
        read(&mut facts, Path::new("/"));
        assert!(facts.get_text(linux_facts::SCRATCH_FILESYSTEM).is_some());
    }

    #[test]
    fn user_nice_and_system_are_busy() {
        let stat = "cpu  100 20 3 9000 50 6 7 8 0 0\ncpu0 1 1 1 1\n";
        assert_eq!(busy_ticks(stat), Some(123));
        for other in ["", "cpu", "cpu  1 2", "cpu  1 x 3", "intr 1 2 3"] {
            assert_eq!(busy_ticks(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_busy_loop_is_seen() {
        let stop = std::sync::atomic::AtomicBool::new(false);
        let busy = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let busy = busy_cpus();
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            busy.unwrap()
        });
        assert!(busy > 0.5, "{busy}");
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
    fn a_quota_is_in_cpus() {
        assert_eq!(quota("150000 100000"), Some(1.5));
        assert_eq!(quota("max 100000"), None);
    }

    #[test]
    fn every_path_has_a_kind_and_nothing_else_has() {
        assert_eq!(kind_of_filesystem(Path::new("/proc")).as_deref(), Some("0x9fa0"));
        assert!(kind_of_filesystem(Path::new("/")).is_some());
        assert_eq!(kind_of_filesystem(Path::new("/nowhere/at/all")), None);
    }

    #[test]
    fn what_is_known_has_a_name() {
        assert_eq!(name(0x0102_1994), "tmpfs");
        assert_eq!(name(0x9123_683E), "btrfs");
    }
}
