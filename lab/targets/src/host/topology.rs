//! The CPUs that we may use, and the order in which tasks are placed on them.

use crate::linux_facts::{CpuLocation, place};
use crate::linux_facts::{OwnFiles, SystemFiles};
use faultline_record::lens::calibration::Nearness;
use std::collections::BTreeMap;

/// CPUs that this process may run on, in pinning order; in numerical order if the system reports
/// only their count.
pub(super) fn usable_cpus() -> Vec<u32> {
    pinning_order(&allowed_cpus(), &OwnFiles)
}

/// These CPUs of the machine with these files, in pinning order.
pub(crate) fn pinning_order(cpus: &[u32], files: &dyn SystemFiles) -> Vec<u32> {
    let places: Vec<(u32, Option<CpuLocation>)> = cpus.iter().map(|&cpu| (cpu, place(files, cpu))).collect();
    order(&places)
}

#[cfg(target_os = "linux")]
fn allowed_cpus() -> Vec<u32> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect(),
        Err(_) => counted_cpus(),
    }
}

#[cfg(not(target_os = "linux"))]
fn allowed_cpus() -> Vec<u32> {
    counted_cpus()
}

fn counted_cpus() -> Vec<u32> {
    let count = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    (0..count).collect()
}

/// Cores before second hardware threads of used cores, and one socket before the next.
fn order(places: &[(u32, Option<CpuLocation>)]) -> Vec<u32> {
    let mut threads_of_core: BTreeMap<CpuLocation, u32> = BTreeMap::new();
    let mut keyed: Vec<(u32, Option<CpuLocation>, u32)> = Vec::new();
    for &(cpu, place) in places {
        let thread = place.map_or(0, |place| {
            let count = threads_of_core.entry(place).or_insert(0);
            *count += 1;
            *count - 1
        });
        keyed.push((thread, place, cpu));
    }
    keyed.sort();
    keyed.into_iter().map(|(_, _, cpu)| cpu).collect()
}

/// The distance between two CPUs, from the system's files.
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

/// True if both CPUs share the highest-level cache of `one`.
fn shares_last_cache(files: &dyn SystemFiles, one: u32, other: u32) -> bool {
    let directory = format!("/sys/devices/system/cpu/cpu{one}/cache");
    let caches = files.names(&directory).into_iter().filter(|name| name.starts_with("index"));
    let levels = caches.filter_map(|name| Some((files.number(&format!("{directory}/{name}/level"))?, name)));
    let Some((_, last)) = levels.max() else { return false };
    let list = files.text(&format!("{directory}/{last}/shared_cpu_list")).unwrap_or_default();
    contains(&list, other)
}

/// True if a list such as `0-3,8` contains a CPU.
fn contains(list: &str, cpu: u32) -> bool {
    list.split(',').any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        matches!((first.trim().parse::<u32>(), last.trim().parse::<u32>()), (Ok(first), Ok(last)) if first <= cpu && cpu <= last)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux_facts::SentFiles;
    use std::collections::BTreeMap;

    #[test]
    fn cores_come_before_their_second_threads_and_sockets_in_turn() {
        let at = |socket, core| Some(CpuLocation { socket, core });
        // Two sockets of two cores with two threads each; threads are numbered as on many servers:
        // 4…7 are second threads.
        let places = [
            (0, at(0, 0)),
            (1, at(1, 0)),
            (2, at(0, 1)),
            (3, at(1, 1)),
            (4, at(0, 0)),
            (5, at(1, 0)),
            (6, at(0, 1)),
            (7, at(1, 1)),
        ];
        assert_eq!(order(&places), [0, 2, 1, 3, 4, 6, 5, 7]);
    }

    #[test]
    fn without_places_the_numbers_decide() {
        assert_eq!(order(&[(3, None), (1, None)]), [1, 3]);
    }

    #[test]
    fn this_machine_has_a_cpu() {
        assert!(!usable_cpus().is_empty());
    }

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
