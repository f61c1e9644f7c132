//! Threads that concurrently choose addresses, move, lock and give up their own ranges of one
//! space, beside a page daemon: each reads back its writes, locked pages stay, and all frames are
//! free at the end.

use crate::BOTH;
use crate::host::{BOTH_TABLES, HostCpu, Tables, access, on_machine};
use crate::store::Store;
use faultline_memory::{
    Anywhere, Event, FaultError, Hand, MemoryObject, PageRange, Space, SpaceError, VirtualPage, hosted::Hosted,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const WORKERS: usize = 3;
/// Pages of a worker's range, and of its part of the object.
const PAGES: u64 = 40;
const STEPS: usize = if cfg!(miri) { 30 } else { 2_000 };

/// Repeats a call that may have to wait for frames, which the daemon frees.
fn until_done<T>(call: impl Fn() -> Result<T, SpaceError>) -> T {
    loop {
        match call() {
            Ok(done) => return done,
            Err(SpaceError::NoMemory | SpaceError::Wait(_)) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Writes a byte, and returns the previous one.
fn exchange(cpu: &HostCpu<'_, '_>, space: &Space<'_, Hosted>, page: u64, write: Option<u8>) -> u8 {
    loop {
        match access(cpu, cpu.memory(), space, page, 0, write) {
            Ok(found) => return found,
            Err(FaultError::NoMemory | FaultError::Wait(_)) => std::thread::yield_now(),
            Err(error) => panic!("page {page:#x}: {error}"),
        }
    }
}

struct Worker<'a, 'm, 'f> {
    cpu: &'a HostCpu<'m, 'f>,
    space: &'a Space<'m, Hosted>,
    /// Its private memory and its part of the object, with the contents of each page.
    ranges: [PageRange; 2],
    wrote: [[u8; PAGES as usize]; 2],
}

impl Worker<'_, '_, '_> {
    fn write(&mut self, which: usize, place: u64, value: u8, may_be_zero: bool) {
        let before = std::mem::replace(&mut self.wrote[which][place as usize], value);
        let found = exchange(self.cpu, self.space, self.ranges[which].first().0 + place, Some(value));
        assert!(found == before || may_be_zero && found == 0, "page {place}: {found}, not {before}");
    }

    fn step(&mut self, random: &mut SmallRng, window: Anywhere) {
        let (which, place) = (random.random_range(0..2), random.random_range(0..PAGES - 4));
        let range = self.ranges[which];
        let part = PageRange::new(VirtualPage(range.first().0 + place), 4).unwrap();
        match random.random_range(0..8) {
            0 => self.ranges[which] = until_done(|| self.cpu.move_anywhere(self.space, range, window)),
            1 => until_done(|| self.cpu.lock_pages(self.space, part)),
            2 => self.cpu.unlock_pages(self.space, range).unwrap(),
            3 => self.cpu.will_need(self.space, range).unwrap(),
            4 => {
                self.cpu.give_up(self.space, part).unwrap();
                // Gives the daemon a chance.
                std::thread::yield_now();
                (place..place + 4).for_each(|place| self.write(which, place, random.random(), which == 0));
            }
            _ => self.write(which, place, random.random(), false),
        }
    }

    /// Locked pages need no fault, whatever the daemon does.
    fn check_locks(&self) {
        let faults = || self.cpu.memory().counters_of(self.cpu.number()).unwrap().of(Event::Fault);
        for range in self.ranges {
            until_done(|| self.cpu.unlock_pages(self.space, range));
            let range = PageRange::new(range.first(), 8).unwrap();
            until_done(|| self.cpu.lock_pages(self.space, range));
            let before = faults();
            for _ in 0..20 {
                // Makes the TLB forget them.
                self.cpu.deactivate(self.space);
                self.cpu.activate(self.space).unwrap();
                (0..8).for_each(|page| drop(exchange(self.cpu, self.space, range.first().0 + page, None).to_string()));
                std::thread::yield_now();
            }
            assert_eq!(faults(), before, "a locked page was gone");
        }
    }

    fn check(&self) {
        for (range, wrote) in self.ranges.iter().zip(&self.wrote) {
            for (page, value) in (range.first().0..).zip(wrote) {
                assert_eq!(exchange(self.cpu, self.space, page, None), *value, "page {page:#x}");
            }
        }
    }
}

fn work<'m>(cpu: &HostCpu<'m, '_>, space: &Space<'m, Hosted>, object: &MemoryObject<'m, Hosted>, number: u64) {
    let mut random = SmallRng::seed_from_u64(number);
    cpu.activate(space).unwrap();
    // A common window, so that threads meet.
    let window = Anywhere::new(PAGES).within(PageRange::new(VirtualPage(100), 600).unwrap());
    let private = until_done(|| cpu.map_anywhere(space, window, BOTH));
    let shared = until_done(|| cpu.map_object_anywhere(space, window, BOTH, object, number * PAGES));
    let mut worker = Worker { cpu, space, ranges: [private, shared], wrote: [[0; PAGES as usize]; 2] };
    (0..STEPS).for_each(|_| worker.step(&mut random, window));
    worker.check_locks();
    worker.check();
    cpu.deactivate(space);
}

#[test]
fn own_ranges_are_moved_locked_and_given_up_beside_a_page_daemon() {
    BOTH_TABLES.into_iter().for_each(work_at_once);
}

fn work_at_once(tables: Tables) {
    let swap = |bytes| Arc::new(Store::new(bytes, |_| 0));
    on_machine(tables, WORKERS as u32 + 1, 384, 16, swap, |mut cpus, _| {
        let daemon = cpus.pop().unwrap();
        let space = daemon.new_space().unwrap();
        let object = daemon.new_object(WORKERS as u64 * PAGES).unwrap();
        let running = AtomicU64::new(WORKERS as u64);
        std::thread::scope(|scope| {
            for (number, cpu) in (0..).zip(cpus) {
                let (space, object, running) = (&space, &object, &running);
                scope.spawn(move || {
                    work(&cpu, space, object, number);
                    // Relaxed: only tells the daemon to stop.
                    running.fetch_sub(1, Relaxed);
                });
            }
            let mut hand = Hand::new(0..daemon.frames().index_count());
            while running.load(Relaxed) > 0 {
                daemon.sweep(&mut hand, 32);
                daemon.frames().drain_own();
                std::thread::yield_now();
            }
        });
        let counters = daemon.memory().counters();
        for event in [Event::Move, Event::Wire, Event::Chosen] {
            assert!(cfg!(miri) || counters.of(event) > 0, "{}: {counters}", event.words());
        }
        assert!(daemon.exit(space).is_ok());
        daemon.drop_object(object);
    });
}
