//! Two programs with private pages and pages of a file, and a page daemon, which also ends late
//! transfers. Each program knows the contents of its pages.

use super::{BOTH, FRAMES, TestCpu, TestSpace, boot_with, has_tables_of_each_cpu, pages, run};
use crate::address::{Rights, VirtualPage};
use crate::error::{FaultError, SpaceError};
use crate::hosted::{FrameBytes, Hosted, Outcome};
use crate::memory_object::MemoryObject;
use crate::object::pager::{Pager, Started, Transfer};
use crate::reclaim::Hand;
use faultline_numbers::FrameNumber;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use shuttle::thread::yield_now;
use std::sync::Mutex;
use std::vec::Vec;

const PROGRAMS: u64 = 2;
/// Private pages of a program; then as many of the file.
const PART: u64 = 3;
const STEPS: usize = 25;
const SCHEDULES: usize = 100;

/// A store of one-byte pages. Some transfers come late. Its steps are not interleaved with others.
#[derive(Debug)]
pub(super) struct Store {
    bytes: FrameBytes,
    state: Mutex<(Vec<u8>, Vec<(Transfer, usize)>, SmallRng)>,
}

impl Store {
    fn new(bytes: FrameBytes, seed: u64) -> Self {
        Self { bytes, state: Mutex::new((std::vec![0; 64], Vec::new(), SmallRng::seed_from_u64(seed))) }
    }

    fn page(&self, index: u64) -> u8 {
        self.state.lock().unwrap().0[index as usize]
    }

    fn next(&self) -> Option<(Transfer, usize)> {
        self.state.lock().unwrap().1.pop()
    }

    fn start(&self, first: u64, frames: &[FrameNumber], transfer: Transfer, is_write: bool) -> Started {
        let (pages, late, random) = &mut *self.state.lock().unwrap();
        for (index, frame) in (first as usize..).zip(frames) {
            let mut byte = [pages[index]];
            if is_write {
                self.bytes.read(*frame, &mut byte);
                pages[index] = byte[0];
            } else {
                self.bytes.write(*frame, &byte);
            }
        }
        if random.random_range(0..3) > 0 {
            return Started::Done(transfer, frames.len());
        }
        late.push((transfer, frames.len()));
        Started::Later
    }
}

impl Pager for Store {
    fn read(&self, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started {
        self.start(first, frames, transfer, false)
    }

    fn write(&self, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started {
        self.start(first, frames, transfer, true)
    }
}

fn access(cpu: &TestCpu, space: &TestSpace, page: u64, write: Option<u8>) -> u8 {
    let rights = if write.is_some() { Rights::WRITE } else { Rights::READ };
    loop {
        match cpu.memory().machine().access(cpu.number(), space, VirtualPage(page), 0, write) {
            Outcome::Done(before) => return before,
            Outcome::Fault => match cpu.fault(space, VirtualPage(page), rights) {
                Ok(()) => {}
                // The daemon ends it.
                Err(FaultError::Wait(_)) => yield_now(),
                Err(error) => panic!("{page}: {error}"),
            },
        }
    }
}

struct Program {
    number: u64,
    space: TestSpace,
    object: Arc<MemoryObject<'static, Hosted>>,
    file: std::sync::Arc<Store>,
    values: [u8; 2 * PART as usize],
}

impl Program {
    fn map_file(&self, cpu: &TestCpu) {
        cpu.map_object(&self.space, pages(PART, PART), BOTH, &self.object, self.number * PART).unwrap();
    }

    fn step(&mut self, cpu: &TestCpu, random: &mut SmallRng) {
        let page = random.random_range(0..2 * PART);
        let (value, new) = (&mut self.values[page as usize], random.random());
        match random.random_range(0..10) {
            0..5 => {
                assert_eq!(access(cpu, &self.space, page, Some(new)), *value, "page {page}");
                *value = new;
            }
            5 | 6 => self.child(cpu, page, new),
            7 => {
                cpu.dont_need(&self.space, pages(0, PART)).unwrap();
                self.values[..PART as usize].fill(0);
            }
            8 => {
                cpu.unmap(&self.space, pages(PART, PART)).unwrap();
                self.map_file(cpu);
            }
            _ => {
                while let Err(error) = cpu.write_back(&self.object, self.number * PART, PART) {
                    assert!(matches!(error, SpaceError::Wait(_)), "{error}");
                    yield_now();
                }
                for (index, value) in (self.number * PART..).zip(&self.values[PART as usize..]) {
                    assert_eq!(self.file.page(index), *value, "page {index} of the file");
                }
            }
        }
    }

    /// A child writes a page; a write to a file page also reaches its parent.
    fn child(&mut self, cpu: &TestCpu, page: u64, new: u8) {
        let child = cpu.fork(&self.space).unwrap();
        cpu.activate(&child).unwrap();
        let value = &mut self.values[page as usize];
        assert_eq!(access(cpu, &child, page, Some(new)), *value, "page {page} of the child");
        if page >= PART {
            *value = new;
        }
        cpu.deactivate(&child);
        assert!(cpu.exit(child).is_ok());
        assert_eq!(access(cpu, &self.space, page, None), *value, "page {page}");
    }
}

fn serve(cpu: &TestCpu, stores: &[std::sync::Arc<Store>; 2], running: &AtomicU32) {
    let mut hand = Hand::new(0..FRAMES);
    let finish = || {
        while let Some((transfer, pages)) = stores.iter().find_map(|store| store.next()) {
            cpu.finish(transfer, pages);
        }
    };
    while running.load(SeqCst) > 0 {
        cpu.sweep(&mut hand, 2);
        finish();
        yield_now();
    }
    finish();
}

fn mix(seed: u64) {
    let mut swap = None;
    let (list, mut cpus) = boot_with(has_tables_of_each_cpu(seed), |bytes| {
        swap = Some(std::sync::Arc::new(Store::new(bytes, seed)));
        swap.clone()
    });
    let bytes = cpus[0].memory().machine().bytes().clone();
    let file = std::sync::Arc::new(Store::new(bytes, seed + 1));
    let object = Arc::new(cpus[0].new_paged_object(PROGRAMS * PART, file.clone()).unwrap());
    let running = Arc::new(AtomicU32::new(PROGRAMS as u32));
    let daemon = cpus.pop().unwrap();
    let programs: Vec<_> = (0..)
        .zip(cpus)
        .map(|(number, cpu)| {
            let (object, file, running) = (object.clone(), file.clone(), running.clone());
            shuttle::thread::spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed << 8 | number);
                let space = cpu.new_space().unwrap();
                let mut program = Program { number, space, object, file, values: [0; 2 * PART as usize] };
                cpu.activate(&program.space).unwrap();
                cpu.map(&program.space, pages(0, PART), BOTH).unwrap();
                program.map_file(&cpu);
                (0..STEPS).for_each(|_| program.step(&cpu, &mut random));
                for (page, value) in (0..).zip(program.values) {
                    assert_eq!(access(&cpu, &program.space, page, None), value, "page {page} at the end");
                }
                cpu.deactivate(&program.space);
                assert!(cpu.exit(program.space).is_ok());
                running.fetch_sub(1, SeqCst);
            })
        })
        .collect();
    serve(&daemon, &[file, swap.unwrap()], &running);
    programs.into_iter().for_each(|program| program.join().unwrap());
    daemon.drop_object(Arc::into_inner(object).unwrap());
    assert_eq!((list.free(), daemon.memory().swapped()), (FRAMES, 0), "all is back");
}

#[test]
fn paging_in_random_order() {
    run(RandomScheduler::new_from_seed(0x17, SCHEDULES), mix);
}

#[test]
fn paging_with_few_interruptions() {
    run(PctScheduler::new_from_seed(0x17, 3, SCHEDULES), mix);
}
