//! The CPUs that we may use, and the order in which tasks are placed on them.

use crate::linux_facts::{Place, place};
use crate::system_files::{OwnFiles, SystemFiles};
use std::collections::BTreeMap;

/// CPUs that this process may run on, in pinning order. If the system reports only their count, they are in the order of
/// their numbers.
pub(super) fn usable_cpus() -> Vec<u32> {
    pinning_order(&allowed_cpus(), &OwnFiles)
}

/// These CPUs of the machine with these files, in pinning order.
pub(crate) fn pinning_order(cpus: &[u32], files: &dyn SystemFiles) -> Vec<u32> {
    let places: Vec<(u32, Option<Place>)> = cpus.iter().map(|&cpu| (cpu, place(files, cpu))).collect();
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
fn order(places: &[(u32, Option<Place>)]) -> Vec<u32> {
    let mut threads_of_core: BTreeMap<Place, u32> = BTreeMap::new();
    let mut keyed: Vec<(u32, Option<Place>, u32)> = Vec::new();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_come_before_their_second_threads_and_sockets_in_turn() {
        let at = |socket, core| Some(Place { socket, core });
        // Two sockets of two cores with two threads each; threads are numbered as on many servers: 4…7 are second threads.
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
}
