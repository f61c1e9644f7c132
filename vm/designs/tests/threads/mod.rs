//! Threads that share a space and an object, each on a CPU of its own. All make the first use of
//! pages together. Each byte is written by one thread, which therefore knows its value: in the
//! space, and in children that it forks while the others go on.

use crate::{BOTH, access, pages};
use faultline_frame_designs::systems::{Cpu, Shape, System, on_machine};
use faultline_frames::Policy;
use faultline_memory::Rights;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const THREADS: u32 = 3;
const ROUNDS: u64 = 400;
/// Enough for all threads.
const FRAMES: u64 = 4096;
/// Pages used by all threads: a private range, and an object.
const PRIVATE: u64 = 0x1000;
const SHARED: u64 = 0x2000;
const COMMON_PAGES: u64 = 6;
/// Pages that each thread maps, protects and unmaps itself, among those of others.
const OWN: u64 = 0x3000;
const OWN_PAGES: u64 = 5;
/// Pages that all threads use for the first time at one moment.
const FRESH: u64 = 0x4000;
const FRESH_PAGES: u64 = 1000;
/// Checks of the others' progress before a thread yields its CPU.
const SPINS: u32 = 2000;
/// Time limit for all fresh pages, on a busy machine too.
const LIMIT: Duration = Duration::from_secs(120);

struct Thread<'a, 'm, S: System> {
    system: &'a S,
    cpu: &'a Cpu<'m>,
    space: &'a S::Space<'m>,
    number: u32,
    random: ChaCha8Rng,
    /// The last byte that this thread wrote into each common page: private, shared.
    written: [[u8; COMMON_PAGES as usize]; 2],
}

impl<S: System> Thread<'_, '_, S> {
    fn byte(&self) -> usize {
        self.number as usize
    }

    /// Reads and writes its byte of a common page.
    fn use_common(&mut self) {
        let (kind, page) = (self.random.random_range(0..2_usize), self.random.random_range(0..COMMON_PAGES));
        let value = self.random.random();
        let at = [PRIVATE, SHARED][kind] + page;
        let before = access(self.system, self.cpu, self.space, at, self.byte(), Some(value)).unwrap();
        assert_eq!(before, self.written[kind][page as usize], "thread {} page {at:#x}", self.number);
        self.written[kind][page as usize] = value;
    }

    /// Maps pages of its own, uses them, takes rights and contents away, and unmaps them.
    fn use_own(&mut self) {
        let (system, cpu, space) = (self.system, self.cpu, self.space);
        let first = OWN + u64::from(self.number) * OWN_PAGES;
        let own = pages(first, OWN_PAGES);
        system.map(cpu, space, own, BOTH).unwrap();
        let value = self.random.random_range(1..=255);
        for page in first..first + OWN_PAGES {
            assert_eq!(access(system, cpu, space, page, 1, Some(value)), Ok(0));
        }
        system.protect(cpu, space, pages(first + 1, 2), Rights::READ).unwrap();
        assert!(access(system, cpu, space, first + 1, 1, Some(9)).is_err());
        assert_eq!(access(system, cpu, space, first + 2, 1, None), Ok(value));
        system.dont_need(cpu, space, pages(first + 2, 2)).unwrap();
        let read = |page| access(system, cpu, space, page, 1, None);
        assert_eq!([0, 1, 2, 3, 4].map(|page| read(first + page)), [value, value, 0, 0, value].map(Ok));
        system.unmap(cpu, space, own).unwrap();
        assert!(read(first).is_err());
    }

    /// Forks a child, which must have and keep this thread's bytes; except that it sees later
    /// writes to the object.
    fn fork(&mut self) {
        let (system, cpu) = (self.system, self.cpu);
        let child = system.fork(cpu, self.space).unwrap();
        system.activate(cpu, &child).unwrap();
        let then = self.written[0];
        for page in 0..COMMON_PAGES {
            self.use_common();
            let read = access(system, cpu, &child, PRIVATE + page, self.byte(), None);
            assert_eq!(read, Ok(then[page as usize]), "a child's page {page}");
            let read = access(system, cpu, &child, SHARED + page, self.byte(), None);
            assert_eq!(read, Ok(self.written[1][page as usize]), "a child's shared page {page}");
            if page % 2 == 0 {
                access(system, cpu, &child, PRIVATE + page, self.byte(), Some(1)).unwrap();
            }
        }
        system.deactivate(cpu, &child);
        system.exit(cpu, child).unwrap();
    }

    /// Writes its byte of fresh pages, each together with the other threads: the second one at a
    /// page must find the first one's. `arrived`: at all pages so far.
    fn use_fresh(&mut self, arrived: &AtomicU64) {
        let begun = Instant::now();
        for page in 0..FRESH_PAGES {
            // A barrier of the library wakes one thread long after the other. Relaxed: orders
            // nothing that the threads use.
            arrived.fetch_add(1, Ordering::Relaxed);
            let mut spins = 0;
            while arrived.load(Ordering::Relaxed) < (page + 1) * u64::from(THREADS) {
                spins += 1;
                if spins % SPINS == 0 {
                    assert!(begun.elapsed() < LIMIT, "another thread has failed, or hangs");
                    std::thread::yield_now();
                }
                std::hint::spin_loop();
            }
            let before = access(self.system, self.cpu, self.space, FRESH + page, self.byte(), Some(page as u8 | 1));
            assert_eq!(before, Ok(0), "thread {} page {page}", self.number);
        }
        for page in 0..FRESH_PAGES {
            let read = access(self.system, self.cpu, self.space, FRESH + page, self.byte(), None);
            assert_eq!(read, Ok(page as u8 | 1), "thread {} page {page}", self.number);
        }
    }

    fn work(&mut self) {
        for _ in 0..ROUNDS {
            match self.random.random_range(0..16) {
                0..10 => self.use_common(),
                10..15 => self.use_own(),
                _ => self.fork(),
            }
        }
    }
}

fn in_threads<'m, S: System>(system: &S, cpus: Vec<Cpu<'m>>, space: &S::Space<'m>) -> Vec<Cpu<'m>> {
    let (barrier, arrived) = (Barrier::new(THREADS as usize), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let start = |(number, cpu): (u32, Cpu<'m>)| {
            let (barrier, arrived) = (&barrier, &arrived);
            scope.spawn(move || {
                system.activate(&cpu, space).unwrap();
                let random = ChaCha8Rng::seed_from_u64(number.into());
                barrier.wait();
                let mut thread = Thread { system, cpu: &cpu, space, number, random, written: Default::default() };
                thread.use_fresh(arrived);
                thread.work();
                system.deactivate(&cpu, space);
                cpu
            })
        };
        let threads: Vec<_> = (0..).zip(cpus).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

pub fn read_what_they_wrote<S: System>() {
    let shape = Shape { cpus: THREADS, frames: FRAMES, frame_bytes: 16, policy: Policy::default() };
    let ((), free) = on_machine::<S, _>(&shape, |system, cpus| {
        let first = &cpus[0];
        let space = system.new_space(first).unwrap();
        let object = system.new_object(first, COMMON_PAGES).unwrap();
        system.activate(first, &space).unwrap();
        system.map(first, &space, pages(PRIVATE, COMMON_PAGES), BOTH).unwrap();
        system.map(first, &space, pages(FRESH, FRESH_PAGES), BOTH).unwrap();
        system.map_object(first, &space, pages(SHARED, COMMON_PAGES), BOTH, &object, 0).unwrap();
        system.drop_object(first, object);
        let cpus = in_threads(system, cpus, &space);
        system.exit(&cpus[0], space).unwrap();
    })
    .unwrap();
    assert_eq!(free, FRAMES, "all frames are back");
}
