//! The common tests of all page-frame allocators.

mod steps;

use faultline_frame_designs::trial::{Step, beside_bitmap, exactly_once, whole_again};
use faultline_frame_designs::{
    Array16, ColourQueues, Design, Frame, GlobalMutex, Magazines, Memory, Ours, SpinBuddy, SpinList,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use steps::{MEMORY, step};

fn any_sequence_agrees_with_the_bitmap<D: Design>() {
    let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) };
    proptest!(cases, |(steps in vec(step(), 1..120))| {
        beside_bitmap::<D>(&MEMORY, &steps).map_err(|error| TestCaseError::fail(format!("{}: {error}", D::NAME)))?;
    });
}

fn no_frame_is_lost_or_given_twice_between_threads<D: Design>() {
    // Three threads for every two host CPUs, so that threads are preempted in the middle of
    // operations.
    exactly_once::<D>(&MEMORY, 20, 10_000, 0x5eed).unwrap_or_else(|error| panic!("{}: {error}", D::NAME));
}

/// Every test for one design.
macro_rules! alike {
    ($($module:ident: $design:ty),* $(,)?) => {$(
        mod $module {
            use super::*;

            #[test]
            fn any_sequence_agrees_with_the_bitmap() {
                super::any_sequence_agrees_with_the_bitmap::<$design>();
            }

            #[test]
            fn no_frame_is_lost_or_given_twice_between_threads() {
                super::no_frame_is_lost_or_given_twice_between_threads::<$design>();
            }

            #[test]
            fn all_blocks_are_whole_again() {
                whole_again::<$design>(&MEMORY).unwrap();
            }
        }
    )*};
}

alike! {
    array_16: Array16,
    colour_queues: ColourQueues,
    global_mutex: GlobalMutex,
    magazines: Magazines,
    ours: Ours,
    spin_buddy: SpinBuddy,
    spin_list: SpinList,
}

/// A faulty design that gives every frame out twice.
struct Twice(SpinList, AtomicU64);

impl Design for Twice {
    const NAME: &'static str = "twice";

    fn new(memory: &Memory) -> Self {
        Twice(SpinList::new(memory), AtomicU64::new(u64::MAX))
    }

    unsafe fn get(&self, cpu: usize) -> Option<Frame> {
        let again = self.1.swap(u64::MAX, Relaxed);
        if again != u64::MAX {
            return Some(Frame(again as u32));
        }
        // SAFETY: the caller's promise.
        let frame = unsafe { self.0.get(cpu) }?;
        self.1.store(frame.0.into(), Relaxed);
        Some(frame)
    }

    unsafe fn put(&self, _cpu: usize, _frame: Frame) {}
}

#[test]
fn the_trials_find_a_design_that_gives_frames_out_twice() {
    let error = beside_bitmap::<Twice>(&MEMORY, &[Step::Get { cpu: 0, count: 2 }]).unwrap_err();
    assert!(error.ends_with("frame 0 was given out twice"), "{error}");
    assert!(exactly_once::<Twice>(&MEMORY, 1, 100, 1).is_err());
}

#[test]
fn the_trials_find_a_design_that_loses_frames() {
    let steps = [Step::Get { cpu: 0, count: 9 }, Step::Put { cpu: 0, pick: 0, count: 9, batch: false }];
    let error = beside_bitmap::<Loser>(&MEMORY, &steps).unwrap_err();
    assert_eq!(error, "9 frames are lost");
}

/// A faulty design that drops every frame that is put.
struct Loser(SpinList);

impl Design for Loser {
    const NAME: &'static str = "loser";

    fn new(memory: &Memory) -> Self {
        Loser(SpinList::new(memory))
    }

    unsafe fn get(&self, cpu: usize) -> Option<Frame> {
        // SAFETY: the caller's promise.
        unsafe { self.0.get(cpu) }
    }

    unsafe fn put(&self, _cpu: usize, _frame: Frame) {}
}

/// The rules of the caches over the global mutex, as observed through their counters.
mod rules {
    use super::*;
    use faultline_frame_designs::{Counters, Cpu};

    fn with<D: Design>(run: impl FnOnce(&D, &mut Cpu<'_, D>)) {
        let design = D::new(&MEMORY);
        // SAFETY: CPU 0, used once; the frames put below were got.
        let mut cpu = unsafe { Cpu::new(&design, 0) };
        run(&design, &mut cpu);
    }

    fn get<D: Design>(cpu: &mut Cpu<'_, D>, count: usize) -> Vec<Frame> {
        (0..count).map(|_| cpu.get().unwrap()).collect()
    }

    #[test]
    fn the_array_is_refilled_to_15_and_drained_whole() {
        with::<Array16>(|design, cpu| {
            let mut frames = get(cpu, 1);
            assert_eq!(design.counters(), Some(Counters { hits: 0, misses: 1, held: 14 }));
            frames.append(&mut get(cpu, 14));
            assert_eq!(design.counters(), Some(Counters { hits: 14, misses: 1, held: 0 }));
            frames.append(&mut get(cpu, 2));
            assert_eq!(design.counters(), Some(Counters { hits: 15, misses: 2, held: 13 }));
            frames.drain(..3).for_each(|frame| cpu.put(frame));
            assert_eq!(design.counters().unwrap().held, 16);
            frames.drain(..1).for_each(|frame| cpu.put(frame));
            assert_eq!(design.counters().unwrap().held, 1);
            cpu.drain();
            assert_eq!(design.counters().unwrap().held, 0);
        });
    }

    #[test]
    fn magazines_are_refilled_by_8_and_one_is_freed_whole() {
        with::<Magazines>(|design, cpu| {
            let mut frames = get(cpu, 1);
            assert_eq!(design.counters(), Some(Counters { hits: 0, misses: 1, held: 7 }));
            frames.append(&mut get(cpu, 8));
            assert_eq!(design.counters(), Some(Counters { hits: 7, misses: 2, held: 7 }));
            // The active magazine is full after the first put, the other one after 9 puts.
            frames.drain(..9).for_each(|frame| cpu.put(frame));
            assert_eq!(design.counters().unwrap().held, 16);
            // The active magazine is full again: the other one is freed completely.
            let mut more = get(cpu, 16);
            assert_eq!(design.counters(), Some(Counters { hits: 7 + 15, misses: 2, held: 0 }));
            more.append(&mut get(cpu, 1));
            more.drain(..).for_each(|frame| cpu.put(frame));
            assert_eq!(design.counters().unwrap().held, 16);
        });
    }

    #[test]
    fn the_last_frames_come_past_the_magazines() {
        with::<Magazines>(|design, cpu| {
            // SAFETY: CPU 1, used once; it puts nothing.
            let mut other = unsafe { Cpu::new(design, 1) };
            get(&mut other, 1);
            other.drain();
            get(cpu, MEMORY.frames - 8);
            let Counters { misses, held, .. } = design.counters().unwrap();
            assert_eq!((misses, held), (1 + (MEMORY.frames as u64 - 8) / 8, 0));
            get(cpu, 7);
            assert_eq!(design.counters().unwrap().misses, misses + 7);
            assert_eq!(cpu.get(), None);
        });
    }
}
