//! Mixes of all operations on one space by a few CPUs, in random schedules of `shuttle`. The seed
//! determines a run. A failure also prints the schedule, which `shuttle::replay` repeats.
//!
//! Each CPU has pages of its own, in the same leaf as the others' and in others, with known
//! contents. All share common pages, to which they write only the page's mark: a different mark
//! there means that a frame or a stale translation was misused.
//!
//! `RUSTFLAGS="--cfg shuttle" cargo test --release -p faultline-memory --lib mixes`

mod paging;

use crate::address::{PageRange, Rights, VirtualPage};
use crate::error::FaultError;
use crate::hosted::{FrameBytes, Hosted, Outcome};
use crate::memory::{Cpu, Memory};
use crate::memory_object::MemoryObject;
use crate::object::pager::Pager;
use crate::space::Space;
use crate::test_frames::List;
use faultline_numbers::{CpuNumber, FrameNumber};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::Arc;
use std::boxed::Box;
use std::vec::Vec;

const CPUS: u64 = 3;
const SCHEDULES: usize = 100;
const STEPS: usize = 30;
const FRAMES: u32 = 64;
/// Common pages; then each CPU's own.
const COMMON: u64 = 4;
const OWN: u64 = 3;
const BOTH: Rights = Rights::from_bits(3);

type TestCpu = Cpu<'static, Hosted, List>;
type TestSpace = Space<'static, Hosted>;

fn pages(first: u64, pages: u64) -> PageRange {
    PageRange::new(VirtualPage(first), pages).unwrap()
}

fn access(cpu: &TestCpu, space: &TestSpace, page: u64, write: Option<u8>) -> Result<u8, FaultError> {
    let rights = if write.is_some() { Rights::WRITE } else { Rights::READ };
    loop {
        match cpu.memory().machine().access(cpu.number(), space, VirtualPage(page), 0, write) {
            Outcome::Done(before) => return Ok(before),
            Outcome::Fault => cpu.fault(space, VirtualPage(page), rights)?,
        }
    }
}

/// A CPU's own pages, and the last byte written to each: `None` if unmapped.
struct Own {
    first: u64,
    values: [Option<u8>; OWN as usize],
}

impl Own {
    fn check(&self, cpu: &TestCpu, space: &TestSpace) {
        for (page, value) in (self.first..).zip(self.values) {
            assert_eq!(access(cpu, space, page, None), value.ok_or(FaultError::NotMapped), "own page {page}");
        }
    }
}

fn step(
    cpu: &TestCpu,
    space: &TestSpace,
    object: &MemoryObject<'static, Hosted>,
    own: &mut Own,
    random: &mut SmallRng,
) {
    let place = random.random_range(0..OWN);
    let (page, value) = (own.first + place, &mut own.values[place as usize]);
    let common = random.random_range(0..COMMON);
    let range = pages(common, random.random_range(1..=COMMON - common));
    match random.random_range(0..16) {
        0 | 1 => {
            if let Some(value) = value {
                let new = random.random();
                assert_eq!(access(cpu, space, page, Some(new)), Ok(*value));
                *value = new;
            }
        }
        2 => {
            cpu.map(space, pages(page, 1), BOTH).unwrap();
            *value = Some(0);
        }
        3 => {
            cpu.unmap(space, pages(page, 1)).unwrap();
            *value = None;
        }
        4 => {
            cpu.dont_need(space, pages(own.first, OWN)).unwrap();
            own.values.iter_mut().flatten().for_each(|value| *value = 0);
        }
        5 => {
            let child = cpu.fork(space).unwrap();
            cpu.activate(&child).unwrap();
            own.check(cpu, &child);
            // Writes of other CPUs to their own pages do not reach the child's.
            for page in COMMON..COMMON + CPUS * OWN {
                let before = access(cpu, &child, page, None);
                (0..4).for_each(|_| shuttle::thread::yield_now());
                assert_eq!(access(cpu, &child, page, None), before, "a page of the child");
            }
            let _ = access(cpu, &child, page, Some(99));
            cpu.deactivate(&child);
            assert!(cpu.exit(child).is_ok());
            own.check(cpu, space);
        }
        6 => cpu.map(space, range, BOTH).unwrap(),
        7 => cpu.map_object(space, range, BOTH, object, common).unwrap(),
        // The whole leaf's common part, so that nodes are retired.
        8 => cpu.unmap(space, if random.random() { range } else { pages(1 << 12, 1 << 12) }).unwrap(),
        9 => {
            let _ = cpu.protect(space, range, if random.random() { Rights::READ } else { BOTH });
        }
        _ => {
            // Those far away are alone in their leaf.
            let far = if random.random() { 0 } else { 1 << 12 };
            if far > 0 && random.random() {
                cpu.map(space, pages(far + common, 1), BOTH).unwrap();
            }
            let mark = 100 + common as u8 + if far > 0 { 10 } else { 0 };
            for write in [Some(mark), None] {
                if let Ok(found) = access(cpu, space, far + common, write) {
                    assert!(found == 0 || found == mark, "common page {common}: {found}");
                }
            }
        }
    }
    own.check(cpu, space);
}

/// CPUs with frames of one list; no TLB may translate to a freed frame. Leaks a few hundred bytes.
fn boot(has_tables_of_each_cpu: bool) -> (List, Vec<TestCpu>) {
    boot_with(has_tables_of_each_cpu, |_| None::<std::sync::Arc<paging::Store>>)
}

/// Like `boot`, with a swap area.
fn boot_with<P: Pager + 'static>(
    has_tables_of_each_cpu: bool,
    swap: impl FnOnce(FrameBytes) -> Option<std::sync::Arc<P>>,
) -> (List, Vec<TestCpu>) {
    let list = List::of(FRAMES);
    let mut machine = Hosted::new(CPUS as u32, FrameNumber(0), FRAMES.into(), 1).unwrap();
    if has_tables_of_each_cpu {
        machine = machine.with_tables_of_each_cpu();
    }
    let swap = swap(machine.bytes().clone());
    let mut memory = Memory::new(machine, CPUS as u32, FRAMES).unwrap();
    if let Some(swap) = swap {
        memory = memory.with_swap(swap, 64).unwrap();
    }
    let memory: &'static Memory<Hosted> = Box::leak(Box::new(memory));
    list.watch(memory);
    // SAFETY: each number has one handle; the frames are one list's.
    let cpu = |number| unsafe { memory.cpu(CpuNumber(number), list.clone()) }.unwrap();
    let cpus = (0..CPUS as u32).map(cpu).collect();
    (list, cpus)
}

/// One thread drives two CPUs: a translation cached before a fork or a copy is not used afterwards.
#[test]
fn a_fork_and_a_copy_reach_other_tlbs() {
    run(RandomScheduler::new_from_seed(1, 2), |seed| {
        let (list, cpus) = boot(has_tables_of_each_cpu(seed));
        let parent = cpus[0].new_space().unwrap();
        cpus.iter().for_each(|cpu| cpu.activate(&parent).unwrap());
        cpus[0].map(&parent, pages(5, 1), BOTH).unwrap();
        assert_eq!(access(&cpus[1], &parent, 5, Some(1)), Ok(0));
        let child = cpus[0].fork(&parent).unwrap();
        assert_eq!(access(&cpus[1], &parent, 5, Some(2)), Ok(1));
        cpus[2].activate(&child).unwrap();
        assert_eq!(access(&cpus[2], &child, 5, None), Ok(1), "a write after the fork is the parent's alone");
        let second = cpus[0].fork(&parent).unwrap();
        assert_eq!(access(&cpus[1], &parent, 5, None), Ok(2));
        assert_eq!(access(&cpus[0], &parent, 5, Some(3)), Ok(2));
        assert_eq!(access(&cpus[1], &parent, 5, None), Ok(3), "the copy, not the old page");
        cpus[2].deactivate(&child);
        cpus.iter().for_each(|cpu| cpu.deactivate(&parent));
        assert!([parent, child, second].into_iter().all(|space| cpus[0].exit(space).is_ok()));
        assert_eq!(list.free(), FRAMES);
    });
}

/// Every second run.
fn has_tables_of_each_cpu(seed: u64) -> bool {
    seed.is_multiple_of(2)
}

fn mix(seed: u64) {
    let (list, cpus) = boot(has_tables_of_each_cpu(seed));
    let (space, object) = (Arc::new(cpus[0].new_space().unwrap()), Arc::new(cpus[0].new_object(COMMON).unwrap()));
    let threads: Vec<_> = (0..)
        .zip(cpus)
        .map(|(number, cpu)| {
            let (space, object) = (space.clone(), object.clone());
            shuttle::thread::spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed << 8 | number);
                let mut own = Own { first: COMMON + number * OWN, values: [None; OWN as usize] };
                cpu.activate(&space).unwrap();
                for _ in 0..STEPS {
                    step(&cpu, &space, &object, &mut own, &mut random);
                    if random.random_range(0..8) == 0 {
                        cpu.deactivate(&space);
                        cpu.activate(&space).unwrap();
                    }
                }
                cpu.deactivate(&space);
                cpu
            })
        })
        .collect();
    let cpus: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    cpus[0].activate(&space).unwrap();
    cpus[0].unmap(&space, space.pages()).unwrap();
    assert!(cpus.iter().filter_map(|cpu| space.pmap(cpu.number())).all(|pmap| pmap.tables() == 0));
    cpus[0].deactivate(&space);
    assert!(cpus[0].exit(Arc::into_inner(space).unwrap()).is_ok());
    cpus[0].drop_object(Arc::into_inner(object).unwrap());
    assert_eq!(list.free(), FRAMES, "all frames are back");
}

fn run(scheduler: impl Scheduler + 'static, mix: impl Fn(u64) + Send + Sync + 'static) {
    let seed = core::sync::atomic::AtomicU64::new(1);
    let mut config = shuttle::Config::new();
    // Spaces lie on the stack.
    config.stack_size = 1 << 18;
    config.max_steps = shuttle::MaxSteps::FailAfter(10_000_000);
    // Relaxed: schedules run one after the other.
    shuttle::Runner::new(scheduler, config).run(move || mix(seed.fetch_add(1, core::sync::atomic::Ordering::Relaxed)));
}

#[test]
fn mixes_in_random_order() {
    run(RandomScheduler::new_from_seed(0x0f0a_3e55, SCHEDULES), mix);
}

#[test]
fn mixes_with_few_interruptions() {
    run(PctScheduler::new_from_seed(0x0f0a_3e55, 3, SCHEDULES), mix);
}
