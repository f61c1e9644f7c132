//! A working set of four times the frames, with pagers to files that fail, end early and come late:
//! every byte is right, or its owner gets an error; nothing is lost, nothing hangs, and all frames
//! are free at the end.

mod faulty;
mod host;

use faultline_memory::{
    Event, FaultError, Hand, MemoryObject, PageRange, Rights, Space, SpaceError, VirtualPage, hosted::Hosted,
};
use faulty::{Faults, Faulty};
use host::{BOTH_TABLES, HostCpu, Tables, access, on_machine};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const BYTES: usize = 32;
const BOTH: Rights = Rights::from_bits(3);
const ALL_FAULTS: Faults = Faults { fail: 10, short: 20, late: 40 };

/// Number of failures that an owner saw.
#[derive(Debug, Default)]
struct Told {
    failed: u64,
}

/// A program's memory: private pages from 0 on, an anonymous object, and a file; with the expected
/// bytes.
struct Program<'m> {
    space: Space<'m, Hosted>,
    object: MemoryObject<'m, Hosted>,
    file: Arc<Faulty>,
    mapped: MemoryObject<'m, Hosted>,
    expected: Vec<[u8; BYTES]>,
    /// Pages of each part.
    part: usize,
}

impl<'m> Program<'m> {
    fn new(cpu: &HostCpu<'m, '_>, part: usize, faults: Faults, seed: u64) -> Self {
        let space = cpu.new_space().unwrap();
        cpu.activate(&space).unwrap();
        let object = cpu.new_object(part as u64).unwrap();
        let bytes = cpu.memory().machine().bytes().clone();
        let file = Arc::new(Faulty::new(bytes, faults, seed));
        let mapped = cpu.new_paged_object(part as u64, file.clone()).unwrap();
        let range = |number: u64| PageRange::new(VirtualPage(number * part as u64), part as u64).unwrap();
        cpu.map(&space, range(0), BOTH).unwrap();
        cpu.map_object(&space, range(1), BOTH, &object, 0).unwrap();
        cpu.map_object(&space, range(2), BOTH, &mapped, 0).unwrap();
        Self { space, object, file, mapped, expected: vec![[0; BYTES]; 3 * part], part }
    }

    /// Repeats an access until it succeeds or reports an error.
    fn access(
        &self,
        cpu: &HostCpu<'m, '_>,
        swap: &Faulty,
        hand: &mut Hand,
        page: usize,
        byte: usize,
        write: Option<u8>,
    ) -> Result<u8, FaultError> {
        let mut misses = 0;
        loop {
            match access(cpu, cpu.memory(), &self.space, page as u64, byte, write) {
                Err(FaultError::Wait(_)) => finish_one(cpu, &[swap, &self.file]),
                Err(FaultError::NoMemory) => {
                    let swept = cpu.sweep(hand, 8);
                    misses += 1;
                    if misses > 200 {
                        panic!("nothing can be reclaimed: {swept:?}\n{}", cpu.memory().counters());
                    }
                    finish_one(cpu, &[swap, &self.file]);
                }
                end => return end,
            }
        }
    }
}

fn finish_one(cpu: &HostCpu<'_, '_>, pagers: &[&Faulty]) {
    if let Some((transfer, pages)) = pagers.iter().find_map(|pager| pager.next()) {
        cpu.finish(transfer, pages);
    }
}

/// Runs with page tables per CPU if the seed is odd.
fn run(cpus: u32, frames: u64, faults: Faults, seed: u64) -> Told {
    let tables = BOTH_TABLES[seed as usize % 2];
    let swap = |bytes| Arc::new(Faulty::new(bytes, faults, seed + 1));
    on_machine(tables, cpus, frames, BYTES, swap, |cpus, swap| {
        let mut random = SmallRng::seed_from_u64(seed);
        let part = frames as usize * 4 / 3;
        let mut hand = Hand::new(0..cpus[0].frames().index_count());
        let mut told = Told::default();
        let mut program = Program::new(&cpus[0], part, faults, seed + 2);
        cpus.iter().for_each(|cpu| cpu.activate(&program.space).unwrap());
        let mut at = 0;
        for _ in 0..if cfg!(miri) { 200 } else { 20_000 } {
            let cpu = &cpus[random.random_range(0..cpus.len())];
            // Near the last one, to exercise clusters; or anywhere.
            at = if random.random_range(0..3) == 0 { random.random_range(0..3 * part) } else { (at + 1) % (3 * part) };
            let byte = random.random_range(0..BYTES);
            let write = random.random::<bool>().then(|| random.random());
            match program.access(cpu, swap, &mut hand, at, byte, write) {
                Ok(found) => {
                    assert_eq!(found, program.expected[at][byte], "page {at} byte {byte}");
                    program.expected[at][byte] = write.unwrap_or(found);
                }
                Err(FaultError::Failed) => told.failed += 1,
                Err(error) => panic!("page {at}: {error}"),
            }
            match random.random_range(0..200) {
                0 => match cpu.write_back(&program.mapped, 0, part as u64) {
                    Ok(()) | Err(SpaceError::Wait(_)) => {}
                    Err(SpaceError::Failed) => told.failed += 1,
                    Err(error) => panic!("{error}"),
                },
                1 => {
                    // A child keeps the old contents, and both continue.
                    let child = cpu.fork(&program.space).unwrap();
                    cpu.activate(&child).unwrap();
                    let parent = core::mem::replace(&mut program.space, child);
                    cpus.iter().for_each(|cpu| cpu.deactivate(&parent));
                    cpus.iter().for_each(|cpu| cpu.activate(&program.space).unwrap());
                    assert!(cpu.exit(parent).is_ok());
                }
                2..20 => finish_one(cpu, &[swap, &program.file]),
                _ => {}
            }
        }
        check_all(&cpus[0], swap, &mut hand, &program, &mut told);
        let counters = cpus[0].memory().counters();
        for (event, chance) in
            [(Event::PageOut, 1), (Event::PageIn, 1), (Event::Reclaimed, 1), (Event::PageWait, faults.late)]
        {
            assert!(cfg!(miri) || chance == 0 || counters.of(event) > 100, "{}: {counters}", event.words());
        }
        for event in [Event::FailedPageOut, Event::FailedPageIn] {
            assert!(cfg!(miri) || (counters.of(event) > 10) == (faults.fail > 0), "{}: {counters}", event.words());
        }
        end(&cpus, swap, program);
        told
    })
}

/// Reads every page; a page whose reads fail reports an error, and is read in the end.
fn check_all(cpu: &HostCpu<'_, '_>, swap: &Faulty, hand: &mut Hand, program: &Program<'_>, told: &mut Told) {
    for (page, expected) in program.expected.iter().enumerate() {
        for (byte, expected) in expected.iter().enumerate() {
            let mut tries = 0;
            let found = loop {
                match program.access(cpu, swap, hand, page, byte, None) {
                    Ok(found) => break found,
                    Err(FaultError::Failed) if tries < 100 => told.failed += 1,
                    Err(error) => panic!("page {page}: {error}"),
                }
                tries += 1;
            };
            assert_eq!(found, *expected, "page {page} byte {byte} at the end");
        }
    }
    loop {
        match cpu.write_back(&program.mapped, 0, program.part as u64) {
            Ok(()) => break,
            Err(SpaceError::Wait(_)) => finish_one(cpu, &[swap, &program.file]),
            Err(SpaceError::Failed) => told.failed += 1,
            Err(error) => panic!("{error}"),
        }
    }
    for (index, expected) in (0..).zip(&program.expected[2 * program.part..]) {
        assert_eq!(program.file.page(index), expected, "page {index} of the file");
    }
}

fn end(cpus: &[HostCpu<'_, '_>], swap: &Faulty, program: Program<'_>) {
    let cpu = &cpus[0];
    // Some transfers end before the program does, and some after it.
    (0..5).for_each(|_| finish_one(cpu, &[swap, &program.file]));
    cpus.iter().for_each(|cpu| cpu.deactivate(&program.space));
    assert!(cpu.exit(program.space).is_ok());
    cpu.drop_object(program.object);
    cpu.drop_object(program.mapped);
    while let Some((transfer, pages)) = swap.next().or_else(|| program.file.next()) {
        cpu.finish(transfer, pages);
    }
}

#[test]
fn every_byte_is_right_or_its_owner_gets_an_error() {
    let mut told = Told::default();
    for seed in 0..if cfg!(miri) { 1 } else { 8 } {
        told.failed += run(3, 256, ALL_FAULTS, 1000 * seed).failed;
    }
    assert!(cfg!(miri) || told.failed > 100, "faults are met: {told:?}");
}

#[test]
fn without_faults_there_is_no_error() {
    let told = run(2, 256, Faults { fail: 0, short: 0, late: 30 }, 5);
    assert_eq!(told.failed, 0);
}

#[test]
fn thirty_two_frames_are_enough() {
    for seed in 0..4 {
        run(1, 32, ALL_FAULTS, 77 * seed);
    }
}

/// Threads that write pages of their own, and two page daemons, which end late transfers.
#[test]
fn threads_and_page_daemons_at_once() {
    BOTH_TABLES.into_iter().for_each(write_at_once);
}

fn write_at_once(tables: Tables) {
    const WRITERS: usize = 2;
    const DAEMONS: usize = 2;
    const PAGES: usize = 400;
    let swap = |bytes| Arc::new(Faulty::new(bytes, Faults { fail: 5, short: 10, late: 50 }, 9));
    on_machine(tables, (WRITERS + DAEMONS) as u32, 512, BYTES, swap, |mut cpus, swap: &Faulty| {
        let space = cpus[0].new_space().unwrap();
        let object = cpus[0].new_object((WRITERS * PAGES) as u64).unwrap();
        cpus[0].activate(&space).unwrap();
        let range = |first: usize, pages: usize| PageRange::new(VirtualPage(first as u64), pages as u64).unwrap();
        cpus[0].map(&space, range(0, WRITERS * PAGES), BOTH).unwrap();
        cpus[0].map_object(&space, range(WRITERS * PAGES, WRITERS * PAGES), BOTH, &object, 0).unwrap();
        let running = AtomicU64::new(WRITERS as u64);
        let daemons = cpus.split_off(WRITERS);
        let (shared, running) = (&space, &running);
        let cpus: Vec<_> = std::thread::scope(|scope| {
            let writers: Vec<_> = cpus
                .into_iter()
                .enumerate()
                .map(|(number, cpu)| {
                    scope.spawn(move || {
                        write_own(&cpu, shared, number, PAGES);
                        // Relaxed: only tells the daemons to stop.
                        running.fetch_sub(1, Relaxed);
                        cpu
                    })
                })
                .collect();
            for cpu in daemons {
                scope.spawn(move || serve(&cpu, swap, running));
            }
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        cpus.iter().for_each(|cpu| cpu.deactivate(&space));
        assert!(cpus[0].exit(space).is_ok());
        cpus[0].drop_object(object);
    });
}

/// Reads and writes private pages and pages of the object, each several times.
fn write_own(cpu: &HostCpu<'_, '_>, space: &Space<'_, Hosted>, number: usize, pages: usize) {
    let mut random = SmallRng::seed_from_u64(number as u64);
    cpu.activate(space).unwrap();
    let own = |page: usize| (page / pages * 2 + number) * pages + page % pages;
    let mut expected = vec![0; 2 * pages];
    for _ in 0..6 * pages {
        let page = random.random_range(0..2 * pages);
        let value: u8 = random.random();
        let found = loop {
            match access(cpu, cpu.memory(), space, own(page) as u64, 3, Some(value)) {
                Ok(found) => break found,
                // A daemon's work.
                Err(FaultError::Wait(_) | FaultError::NoMemory | FaultError::Failed) => std::thread::yield_now(),
                Err(error) => panic!("page {page}: {error}"),
            }
        };
        assert_eq!(found, expected[page], "page {page} of thread {number}");
        expected[page] = value;
    }
}

/// A page daemon.
fn serve(cpu: &HostCpu<'_, '_>, swap: &Faulty, running: &AtomicU64) {
    let mut hand = Hand::new(0..cpu.frames().index_count());
    while running.load(Relaxed) > 0 {
        if cpu.frames().free() < 256 {
            cpu.sweep(&mut hand, 32);
            cpu.frames().drain_own();
        }
        finish_one(cpu, &[swap]);
        std::thread::yield_now();
    }
    while let Some((transfer, pages)) = swap.next() {
        cpu.finish(transfer, pages);
    }
}
