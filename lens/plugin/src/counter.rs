// SPDX-License-Identifier: GPL-2.0-or-later
//! What one CPU counts: its part of the cache model, its instructions and its accesses.

use crate::address::Place;
use crate::site::Site;
use faultline_coherence::{Access, Cpu, Kind};

/// One CPU's counts.
#[derive(Debug)]
pub(crate) struct Counter {
    /// Its caches and transfers.
    pub(crate) cpu: Cpu<'static>,
    /// Instructions begun.
    pub(crate) instructions: u64,
    /// Accesses to memory; an atomic read-modify-write is one.
    pub(crate) accesses: u64,
    /// An atomic instruction has loaded from that address and will store to it.
    store_to_come: Option<(Site, u64)>,
}

/// An access as the emulator reports it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) site: Site,
    pub(crate) place: Place,
    pub(crate) size: u8,
    pub(crate) is_store: bool,
    pub(crate) is_user: bool,
}

impl Counter {
    /// Nothing counted.
    pub(crate) fn new(cpu: Cpu<'static>) -> Self {
        Counter { cpu, instructions: 0, accesses: 0, store_to_come: None }
    }

    /// Counts an access; returns what it cost in clocks: nothing, if the CPU's own cache has the line as it must be.
    ///
    /// QEMU reports an atomic read-modify-write as one store when several threads run, since a helper of its own carries it out,
    /// and as a load and then a store while there is but one. Either counts as one atomic access, at its first event.
    #[inline]
    pub(crate) fn access(&mut self, event: Event) -> u64 {
        let kind = match (event.site.is_atomic, event.is_store) {
            (false, false) => Kind::Read,
            (false, true) => Kind::Write,
            (true, is_store) => {
                let pair = Some((event.site, event.place.address));
                if is_store && self.store_to_come.take() == pair {
                    return 0;
                }
                self.store_to_come = pair.filter(|_| !is_store);
                Kind::Atomic
            }
        };
        self.accesses += 1;
        self.cpu.access(&Access {
            address: event.place.address,
            size: event.size,
            kind,
            site: event.site.address,
            user: event.is_user,
            contents: event.place.contents,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_coherence::{Machine, Topology};

    fn event(is_atomic: bool, is_store: bool) -> Event {
        Event {
            site: Site { address: 0x40_1000, is_atomic },
            place: Place { address: 0x1000, contents: false },
            size: 8,
            is_store,
            is_user: true,
        }
    }

    #[test]
    fn a_load_and_a_store_of_one_atomic_are_one_access() {
        let machine: &'static Machine = Box::leak(Box::new(Machine::new(Topology::new(2, 1, 2).unwrap())));
        let (mut one, mut other) = (Counter::new(machine.cpu(0)), Counter::new(machine.cpu(1)));
        one.access(event(true, false));
        one.access(event(true, true));
        assert_eq!(one.accesses, 1);
        assert_eq!(other.access(event(true, false)), 1);
        assert_eq!(other.access(event(true, true)), 0);
        assert_eq!(one.access(event(true, true)), 1);
        assert_eq!((one.accesses, other.accesses), (2, 1));
        assert!(one.cpu.tally().iter().all(|(key, _)| key.atomic));
    }

    #[test]
    fn plain_loads_and_stores_are_two() {
        let machine: &'static Machine = Box::leak(Box::new(Machine::new(Topology::new(1, 1, 1).unwrap())));
        let mut counter = Counter::new(machine.cpu(0));
        counter.access(event(false, false));
        counter.access(event(false, true));
        assert_eq!(counter.accesses, 2);
    }
}
