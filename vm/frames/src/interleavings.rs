//! All interleavings of two or three CPUs with few preemptions, on memory of one or two blocks,
//! explored by `loom`.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p faultline-frames --lib interleavings`
//!
//! Here magazines hold 2 frames and blocks 64. The tests' memory has only a few frames of each
//! block; the rest is a hole. The tests check that a frame has one user, that of two conflicting
//! calls one gets an error, and that at the end each free frame can be found through the index.

use crate::config::{Config, MemoryArea, Policy};
use crate::counters::Event;
use crate::cpu::FixedCpu;
use crate::error::{GetError, PutError};
use crate::frame::{BLOCK_FRAMES, Block};
use crate::frames::Frames;
use crate::index::Index;
use crate::layers::Urgency;
use crate::primitive::{AtomicU32, AtomicU64};
use crate::search::Search;
use crate::stock::Zeroed;
use core::mem::MaybeUninit;
use faultline_numbers::{CpuNumber, DomainId, FrameNumber, HugeFrame, Order};
use loom::thread;
use std::collections::BTreeSet;
use std::vec::Vec;

/// Maximum number of preemptions.
const MOST_INTERRUPTIONS: usize = 3;

type Cpu = Frames<'static, FixedCpu>;
type Result = std::result::Result<(), PutError>;

/// A machine with `cpus` CPUs. Of each block, only the given number of frames exists, from its
/// start.
fn boot(blocks: &[u64], cpus: usize, stock_most: u8) -> Vec<Cpu> {
    let area = |(block, frames): (u64, &u64)| MemoryArea {
        first: FrameNumber(block * BLOCK_FRAMES),
        frames: *frames,
        domain: DomainId(0),
    };
    let memory: Vec<_> = (0..).zip(blocks).map(area).collect();
    let cpus: Vec<_> = (0..cpus).map(|_| DomainId(0)).collect();
    let policy = Policy::default().with_stock_most(stock_most);
    let config = Config::new(&memory, &cpus).with_policy(policy);
    let mut metadata = Vec::new();
    metadata.resize(Frames::layout(&config).unwrap().size() + 127, MaybeUninit::uninit());
    // SAFETY: each number has one handle, which only one thread has at a time.
    let cpu = |number: usize| unsafe { FixedCpu::new(CpuNumber(number as u32)) };
    let first = Frames::new(&config, metadata.leak(), cpu(0)).unwrap();
    (0..cpus.len()).map(|number| first.on(cpu(number))).collect()
}

/// Explores `run` in all orders.
fn explore(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(MOST_INTERRUPTIONS);
    builder.max_branches = 100_000;
    builder.check(run);
}

/// Runs one CPU's part in a thread, and hands the CPU back.
fn start<T: 'static>(cpu: Cpu, part: impl FnOnce(&Cpu) -> T + 'static) -> thread::JoinHandle<(Cpu, T)> {
    thread::spawn(move || {
        let done = part(&cpu);
        (cpu, done)
    })
}

/// Runs the last CPU's part in a thread beside the first CPU's part. Returns both results.
fn both<A, B: 'static>(
    cpus: &mut Vec<Cpu>,
    last: impl FnOnce(&Cpu) -> B + 'static,
    first: impl FnOnce(&Cpu) -> A,
) -> (A, B) {
    let last = start(cpus.pop().unwrap(), last);
    let mine = first(&cpus[0]);
    let (cpu, its) = last.join().unwrap();
    cpus.push(cpu);
    (mine, its)
}

/// At the end, with no call under way: CPU 0 can get every free frame without a scan of all memory.
fn all_found(cpus: &[Cpu], taken: u64) {
    cpus.iter().for_each(|cpu| _ = cpu.drain_own());
    let census = cpus[0].census();
    assert_eq!((census.parked, census.taken + census.huge), (0, taken));
    assert_eq!(cpus[0].free(), census.free, "counts have kept up");
    let scans = cpus[0].counters().of(Event::Scan);
    let mut found = BTreeSet::new();
    while (found.len() as u64) < census.free {
        assert!(found.insert(cpus[0].get().unwrap()), "a frame is given out twice");
    }
    assert_eq!(cpus[0].counters().of(Event::Scan), scans, "a free frame was lost to the index");
}

/// Two CPUs put one frame concurrently: it is taken back once.
#[test]
fn a_double_put() {
    explore(|| {
        let mut cpus = boot(&[3], 2, 0);
        let frame = cpus[0].get().unwrap();
        let (mine, its) = both(&mut cpus, move |cpu| cpu.put(frame), |cpu| cpu.put(frame));
        let results: [Result; 2] = [mine, its];
        assert!(results.contains(&Ok(())) && results.contains(&Err(PutError::AlreadyFree)), "{results:?}");
        all_found(&cpus, 0);
    });
}

/// A foreign frame comes back to a block without free frames while its home leaves the block: one
/// of the two updates the index.
#[test]
fn a_foreign_put_and_a_leave() {
    explore(|| {
        let mut cpus = boot(&[2], 2, 0);
        let frames = [cpus[0].get().unwrap(), cpus[0].get().unwrap()];
        let (_, its) = both(&mut cpus, move |cpu| cpu.put(frames[0]), |cpu| cpu.drain_own());
        assert_eq!(its, Ok(()));
        all_found(&cpus, 1);
    });
}

/// A foreign frame comes back to a block without free frames, which was left and is being reserved
/// through an old bit or a new one.
#[test]
fn a_foreign_put_and_a_reservation() {
    explore(|| {
        let mut cpus = boot(&[4], 3, 0);
        let frames: Vec<_> = (0..3).map(|_| cpus[0].get().unwrap()).collect();
        cpus[0].drain_own();
        let (one, two) = (frames[0], frames[1]);
        let third = start(cpus.pop().unwrap(), move |cpu| cpu.put(one));
        let second = start(cpus.pop().unwrap(), move |cpu| cpu.get());
        assert_eq!(cpus[0].put(two), Ok(()));
        let (third, its) = third.join().unwrap();
        let (second, got) = second.join().unwrap();
        assert_eq!(its, Ok(()));
        assert!(got.is_ok_and(|got| got != frames[2]));
        all_found(&[cpus.remove(0), second, third], 2);
    });
}

/// A CPU leaves a block whose bit a slow CPU has already set, while another CPU follows that bit:
/// either the second CPU reserves the block, or the bit is set again.
#[test]
fn a_leave_and_a_late_bit() {
    explore(|| {
        let mut cpus = boot(&[4], 2, 0);
        let frame = cpus[0].get().unwrap();
        cpus[0].inside(|layers, _| layers.range.open.insert(Block(0)));
        let (_, _) = both(
            &mut cpus,
            |cpu| cpu.inside(|layers, local| layers.refill(local, Urgency::Normal, &mut Search::default())),
            |cpu| cpu.drain_own(),
        );
        assert!(frame < FrameNumber(4));
        all_found(&cpus, 1);
    });
}

/// A CPU moves magazines into its stock and out of it while another drains it.
#[test]
fn a_stock_and_a_drain() {
    explore(|| {
        let mut cpus = boot(&[4], 2, 1);
        let frames: Vec<_> = (0..4).map(|_| cpus[0].get().unwrap()).collect();
        cpus[0].put(frames[0]).unwrap();
        cpus[0].put(frames[1]).unwrap();
        let drainer = start(cpus.pop().unwrap(), |cpu| cpu.drain());
        // The first put finds the magazine full.
        cpus[0].put(frames[2]).unwrap();
        let mut taken = BTreeSet::from([frames[3]]);
        for _ in 0..3 {
            match cpus[0].get() {
                Ok(frame) => assert!(taken.insert(frame), "a frame is given out twice"),
                // Frames that the drain is moving are in neither place.
                Err(error) => assert_eq!(error, GetError::Exhausted),
            }
        }
        let (drainer, freed) = drainer.join().unwrap();
        assert!(freed > 0 || taken.len() == 4);
        all_found(&[cpus.remove(0), drainer], taken.len() as u64);
    });
}

/// Two CPUs drain a third CPU's magazine: it is freed once.
#[test]
fn two_drains() {
    explore(|| {
        let mut cpus = boot(&[4], 3, 1);
        let frames: Vec<_> = (0..3).map(|_| cpus[0].get().unwrap()).collect();
        frames.iter().for_each(|frame| cpus[0].put(*frame).unwrap());
        let third = start(cpus.pop().unwrap(), |cpu| cpu.drain());
        let freed = cpus[1].drain();
        let (third, its) = third.join().unwrap();
        assert_eq!(freed + its, 2);
        cpus.push(third);
        all_found(&cpus, 0);
    });
}

/// Two CPUs refill from the same block: one reserves it, the other takes what is left, wherever it
/// is.
#[test]
fn two_refills() {
    explore(|| {
        let mut cpus = boot(&[4], 2, 0);
        let (mine, its) = both(&mut cpus, |cpu| cpu.get(), |cpu| cpu.get());
        assert!(mine.is_ok() && its.is_ok() && mine != its);
        cpus.iter().for_each(|cpu| _ = cpu.drain_own());
        let census = cpus[0].census();
        assert_eq!((census.free, census.parked, census.taken), (2, 0, 2));
    });
}

/// A CPU refills from a word whose frames it assumes to be all free, while another takes a range
/// there.
#[test]
fn a_refill_that_guesses_and_a_range() {
    explore(|| {
        // All frames of the first word exist, but not all of the block, so it is never whole.
        let mut cpus = boot(&[40], 2, 0);
        cpus[0].inside(|_, local| local.cache.note_filled(true));
        let (single, range) = both(
            &mut cpus,
            |cpu| cpu.try_get_range(&crate::RangeRequest::of(20), Urgency::Normal),
            |cpu| cpu.try_get(Urgency::Normal),
        );
        let in_range = |frame: FrameNumber| range.is_ok_and(|first| (first.0..first.0 + 20).contains(&frame.0));
        assert!(single.is_err() || !in_range(single.unwrap()));
        all_found(&cpus, u64::from(single.is_ok()) + if range.is_ok() { 20 } else { 0 });
    });
}

/// A CPU claims a huge frame while another refills from the same block: one of them gets it.
#[test]
fn a_huge_get_and_a_refill() {
    explore(|| {
        let mut cpus = boot(&[BLOCK_FRAMES], 2, 0);
        let (huge, single) = both(&mut cpus, |cpu| cpu.get(), |cpu| cpu.get_huge());
        // Each may meet the other half-way, and then both get nothing: a failed claim of a block is
        // undone.
        assert!(huge.is_err() || single.is_err());
        if huge == Ok(HugeFrame(0)) {
            assert_eq!(cpus[0].put_huge(HugeFrame(0)), Ok(()));
        }
        all_found(&cpus, u64::from(single.is_ok()));
    });
}

/// Two CPUs put the same huge frame, and one of them also puts one of its frames, by mistake.
#[test]
fn a_double_put_of_a_huge_frame() {
    explore(|| {
        let mut cpus = boot(&[BLOCK_FRAMES], 2, 0);
        let huge = cpus[0].get_huge().unwrap();
        let (mine, (its, single)) =
            both(&mut cpus, move |cpu| (cpu.put_huge(huge), cpu.put(FrameNumber(1))), |cpu| cpu.put_huge(huge));
        let results: [Result; 2] = [mine, its];
        assert!(results.contains(&Ok(())) && results.contains(&Err(PutError::AlreadyFree)), "{results:?}");
        assert!(matches!(single, Err(PutError::WrongOrder | PutError::AlreadyFree)), "{single:?}");
        all_found(&cpus, 0);
    });
}

/// A huge frame comes back while another CPU searches for frames: no frame is lost, whichever CPU
/// updates the index.
#[test]
fn a_huge_put_and_a_get() {
    explore(|| {
        let mut cpus = boot(&[BLOCK_FRAMES], 2, 0);
        let huge = cpus[0].get_huge().unwrap();
        let (mine, got) = both(&mut cpus, move |cpu| cpu.get(), |cpu| cpu.put_huge(huge));
        assert_eq!(mine, Ok(()));
        assert!(matches!(got, Ok(_) | Err(GetError::Exhausted)));
        all_found(&cpus, u64::from(got.is_ok()));
    });
}

/// Two overlapping ranges: at most one of them is taken; frames parked in vain are free again.
#[test]
fn two_ranges_that_overlap() {
    explore(|| {
        let mut cpus = boot(&[40], 2, 0);
        let request = crate::RangeRequest { low: FrameNumber(20), ..crate::RangeRequest::of(20) };
        let (mine, its) = both(
            &mut cpus,
            move |cpu| cpu.get_range(&request),
            |cpu| cpu.get_range(&crate::RangeRequest { low: FrameNumber(16), ..request }),
        );
        assert!(mine.is_err() || its.is_err());
        let taken = u64::from(mine.is_ok()) * 20 + u64::from(its.is_ok()) * 20;
        all_found(&cpus, taken);
    });
}

/// The last two frames of a block come back, from two CPUs, while a third searches for a huge
/// frame: in the end the block is whole or its user has it, whichever CPU makes it whole.
#[test]
fn two_puts_that_make_a_block_whole() {
    explore(|| {
        let mut cpus = boot(&[BLOCK_FRAMES], 3, 0);
        let frames = [cpus[0].get().unwrap(), cpus[0].get().unwrap()];
        cpus[0].drain_own();
        let third = start(cpus.pop().unwrap(), move |cpu| cpu.put_batch(&frames[1..]));
        let second = start(cpus.pop().unwrap(), |cpu| cpu.try_get_huge(Urgency::Normal));
        cpus[0].put_batch(&frames[..1]).unwrap();
        let (third, its) = third.join().unwrap();
        let (second, huge) = second.join().unwrap();
        assert_eq!(its, Ok(()));
        match huge {
            Ok(first) => assert_eq!(second.put_huge(first), Ok(())),
            Err(error) => assert_eq!(error, GetError::NotAtHand),
        }
        assert_eq!(cpus[0].try_get_huge(Urgency::Normal), Ok(HugeFrame(0)), "a whole block was lost to the index");
        assert_eq!(cpus[0].put_huge(HugeFrame(0)), Ok(()));
        all_found(&[cpus.remove(0), second, third], 0);
    });
}

/// Two CPUs open whole memory at once, by a refill and by a range: a frame has one user.
#[test]
fn a_refill_and_a_range_of_a_whole_block() {
    explore(|| {
        let mut cpus = boot(&[BLOCK_FRAMES], 2, 0);
        let (range, single) = both(
            &mut cpus,
            |cpu| cpu.try_get(Urgency::Normal),
            |cpu| cpu.try_get_range(&crate::RangeRequest::of(40), Urgency::Normal),
        );
        let in_range = |frame: FrameNumber| range.is_ok_and(|first| (first.0..first.0 + 40).contains(&frame.0));
        assert!(single.is_err() || !in_range(single.unwrap()));
        all_found(&cpus, u64::from(single.is_ok()) + if range.is_ok() { 40 } else { 0 });
    });
}

/// A huge frame is split while another CPU puts it, by mistake: one of them is refused.
#[test]
fn a_split_and_a_put_of_a_huge_frame() {
    explore(|| {
        let mut cpus = boot(&[BLOCK_FRAMES], 2, 0);
        let huge = cpus[0].get_huge().unwrap();
        let (split, put) = both(&mut cpus, move |cpu| cpu.put_huge(huge), |cpu| cpu.split_huge(huge));
        assert!(split.is_ok() != put.is_ok(), "{split:?}, {put:?}");
        all_found(&cpus, if split.is_ok() { BLOCK_FRAMES } else { 0 });
    });
}

/// Two CPUs put the first frames of a split block: one of them makes all its frames taken, before
/// the other's is taken back.
#[test]
fn two_first_puts_into_a_split_block() {
    explore(|| {
        let mut cpus = boot(&[BLOCK_FRAMES], 2, 0);
        let huge = cpus[0].get_huge().unwrap();
        cpus[0].split_huge(huge).unwrap();
        let [one, two] = [1, BLOCK_FRAMES - 1].map(|frame| FrameNumber(huge.first().0 + frame));
        let (mine, its) = both(&mut cpus, move |cpu| cpu.put(two), |cpu| cpu.put(one));
        assert_eq!([mine, its], [Ok(()); 2]);
        all_found(&cpus, BLOCK_FRAMES - 2);
    });
}

/// A split block is put as a range while another CPU puts a frame of it, by mistake: the frame is
/// taken back once.
#[test]
fn a_put_of_all_and_of_one_of_a_split_block() {
    explore(|| {
        let mut cpus = boot(&[BLOCK_FRAMES], 2, 0);
        let huge = cpus[0].get_huge().unwrap();
        cpus[0].split_huge(huge).unwrap();
        let first = huge.first();
        let (all, one) = both(&mut cpus, move |cpu| cpu.put(first), |cpu| cpu.put_range(first, BLOCK_FRAMES));
        assert!(all.is_ok() != one.is_ok(), "{all:?}, {one:?}");
        assert!(all.map_or_else(|error| error.refused == 1, |()| true));
        all_found(&cpus, 0);
    });
}

/// A CPU takes a run of its reserved block and leaves the block, while another puts a frame of it.
#[test]
fn a_run_and_a_foreign_put() {
    explore(|| {
        let mut cpus = boot(&[4], 2, 0);
        let frames = [cpus[0].get().unwrap(), cpus[0].get().unwrap()];
        cpus[0].drain_own();
        let (run, its) =
            both(&mut cpus, move |cpu| cpu.put(frames[0]), |cpu| cpu.try_get_run(Order(1), Urgency::Normal));
        assert_eq!((its, run), (Ok(()), Ok(FrameNumber(2))));
        all_found(&cpus, 3);
    });
}

/// Two CPUs want the only run, which one of them has to break out of a whole block.
#[test]
fn two_runs() {
    explore(|| {
        let mut cpus = boot(&[BLOCK_FRAMES], 2, 0);
        let (mine, its) = both(&mut cpus, |cpu| cpu.get_run(Order(6)), |cpu| cpu.get_run(Order(6)));
        assert!(mine.is_ok() != its.is_ok(), "{mine:?} {its:?}");
        all_found(&cpus, BLOCK_FRAMES);
    });
}

/// A block comes online while another CPU, which has put it last, searches for a huge frame and
/// then for a frame.
#[test]
fn a_block_that_comes_online() {
    explore(|| {
        let mut cpus = boot(&[BLOCK_FRAMES], 2, 0);
        let huge = cpus[1].get_huge().unwrap();
        cpus[1].put_huge(huge).unwrap();
        assert_eq!(cpus[0].get_huge(), Ok(huge));
        cpus[0].put_offline(huge).unwrap();
        let (mine, (whole, single)) = both(
            &mut cpus,
            |cpu| (cpu.try_get_huge(Urgency::Normal), cpu.try_get(Urgency::Normal)),
            |cpu| cpu.put_online(huge),
        );
        assert_eq!(mine, Ok(()));
        assert!(whole.is_err() || single.is_err());
        let taken = if whole.is_ok() { BLOCK_FRAMES } else { u64::from(single.is_ok()) };
        all_found(&cpus, taken);
    });
}

/// A block is inserted into a word that a search has just found empty and removes from the summary:
/// later searches find it.
#[test]
fn an_insertion_and_a_search_that_passes_over_its_word() {
    explore(|| {
        let arrays: [&'static [AtomicU64]; 2] = [0, 1].map(|first| &*Vec::from([AtomicU64::new(first)]).leak());
        let index = Index { words: arrays[0], summary: arrays[1] };
        let other = thread::spawn(move || index.insert(Block(3)));
        let third = thread::spawn(move || index.skip_empty(0..64));
        index.skip_empty_back(0..64);
        other.join().unwrap();
        third.join().unwrap();
        assert_eq!((index.skip_empty(0..64), index.skip_empty_back(0..64)), (0, 64));
    });
}

#[test]
fn two_takes_of_a_zeroed_frame() {
    explore(|| {
        let slots: &'static [AtomicU32] = Vec::from([AtomicU32::new(0)]).leak();
        let zeroed = Zeroed { slots, each: 1 };
        assert!(zeroed.keep(DomainId(0), 7));
        let other = thread::spawn(move || zeroed.take(DomainId(0)));
        let taken = [zeroed.take(DomainId(0)), other.join().unwrap()];
        assert!(matches!(taken, [Some(7), None] | [None, Some(7)]), "{taken:?}");
    });
}
