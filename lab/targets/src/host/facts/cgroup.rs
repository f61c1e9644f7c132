//! CPU time that control groups allow this process.

use std::fs;
use std::path::{Path, PathBuf};

fn text(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn number(path: impl AsRef<Path>) -> Option<i64> {
    text(path)?.parse().ok()
}

/// In CPUs: the smallest quota on the path to the root, of version 2 or 1.
pub(super) fn cpu_quota() -> Option<f64> {
    let membership = text("/proc/self/cgroup")?;
    quotas(&membership, Path::new("/sys/fs/cgroup")).into_iter().reduce(f64::min)
}

/// The quotas of all groups in the lines of `membership`, below the mount point `root`. A line is
/// `number:controllers:path`. Version 2 has no controllers there. Version 1 mounts each set of controllers in its own directory,
/// which has the name of the set or of the controller.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
