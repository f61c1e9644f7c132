//! How close two CPUs are to each other.

use crate::linux_facts::place;
use crate::system_files::SystemFiles;
use faultline_model::lens::calibration::Nearness;

/// The nearness of two CPUs, from the system's files.
pub(super) fn between(files: &dyn SystemFiles, one: u32, other: u32) -> Nearness {
    let (Some(one_place), Some(other_place)) = (place(files, one), place(files, other)) else {
        return Nearness::Unknown;
    };
    if one_place == other_place {
        Nearness::SameCore
    } else if one_place.socket != other_place.socket {
        Nearness::OtherSocket
    } else if shares_last_cache(files, one, other) {
        Nearness::SameCache
    } else {
        Nearness::SameSocket
    }
}

/// Whether both CPUs share the highest-level cache of `one`.
fn shares_last_cache(files: &dyn SystemFiles, one: u32, other: u32) -> bool {
    let directory = format!("/sys/devices/system/cpu/cpu{one}/cache");
    let caches = files.names(&directory).into_iter().filter(|name| name.starts_with("index"));
    let levels = caches.filter_map(|name| Some((files.number(&format!("{directory}/{name}/level"))?, name)));
    let Some((_, last)) = levels.max() else { return false };
    let list = files.text(&format!("{directory}/{last}/shared_cpu_list")).unwrap_or_default();
    contains(&list, other)
}

/// Whether a list such as `0-3,8` names a CPU.
fn contains(list: &str, cpu: u32) -> bool {
    list.split(',').any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        matches!((first.trim().parse::<u32>(), last.trim().parse::<u32>()), (Ok(first), Ok(last)) if first <= cpu && cpu <= last)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system_files::SentFiles;
    use std::collections::BTreeMap;

    /// Two sockets of four cores; two cores share a level 3 cache; CPUs 8… are second threads.
    fn files() -> SentFiles {
        let mut files = BTreeMap::new();
        for cpu in 0..16 {
            let mut put =
                |name: &str, text: String| files.insert(format!("/sys/devices/system/cpu/cpu{cpu}/{name}"), text);
            let (core, first) = (cpu % 8, cpu % 8 / 2 * 2);
            put("topology/physical_package_id", (core / 4).to_string());
            put("topology/core_id", (core % 4).to_string());
            put("cache/index0/level", "1".into());
            put("cache/index0/shared_cpu_list", format!("{core},{}", core + 8));
            put("cache/index3/level", "3".into());
            put("cache/index3/shared_cpu_list", format!("{first}-{},{}-{}", first + 1, first + 8, first + 9));
        }
        SentFiles(files)
    }

    #[test]
    fn the_files_tell_what_is_shared() {
        let near = |one, other| between(&files(), one, other);
        assert_eq!(near(0, 8), Nearness::SameCore);
        assert_eq!([near(0, 1), near(1, 8)], [Nearness::SameCache; 2]);
        assert_eq!([near(0, 2), near(9, 3)], [Nearness::SameSocket; 2]);
        assert_eq!([near(0, 4), near(3, 12)], [Nearness::OtherSocket; 2]);
        assert_eq!(near(0, 16), Nearness::Unknown);
    }

    #[test]
    fn lists_name_single_cpus_and_ranges() {
        assert!(contains("0-3,8", 2) && contains("0-3,8", 8) && contains("5", 5));
        assert!(!contains("0-3,8", 4) && !contains("", 0) && !contains("-", 0));
    }
}
