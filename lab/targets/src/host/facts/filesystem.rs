//! The kind of a file system by the number in Linux's `statfs`, for paths that no line of `/proc/self/mounts` covers. In
//! a changed root that is not a mount point, the mount that holds the root is not listed.

use std::path::Path;

/// Numbers from Linux's `linux/magic.h` and the file systems' own headers, with names as in `/proc/self/mounts`. Three file systems
/// share one number.
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

/// The kind of file system that holds `path`: its name, or the number if it is not in the table. `None` if there is no such path.
pub(super) fn kind(path: &Path) -> Option<String> {
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
    fn every_path_has_a_kind_and_nothing_else_has() {
        assert_eq!(kind(Path::new("/proc")).as_deref(), Some("0x9fa0"));
        assert!(kind(Path::new("/")).is_some());
        assert_eq!(kind(Path::new("/nowhere/at/all")), None);
    }

    #[test]
    fn what_is_known_has_a_name() {
        assert_eq!(name(0x0102_1994), "tmpfs");
        assert_eq!(name(0x9123_683E), "btrfs");
    }
}
