//! Patterns of use: the threads' work in the region of interest, each on its own CPU.

use crate::team::{Line, Team, wait_until};
use crate::{BLOCK_FRAMES, Counters, Cpu, Design, Frame, Memory, RUN_FRAMES};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Amount of work of a pattern.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    pub(super) pattern: Pattern,
    pub(super) threads: usize,
    pub(super) sockets: usize,
    /// Number of operations of each thread.
    pub(super) operations: usize,
    /// For `local`, `huge` and `runs`: maximum number of frames, huge frames or runs held by a
    /// thread. For `pipeline` and `passed`: number of frames passed on at once.
    pub(super) depth: usize,
}

/// A pattern of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Pattern {
    /// Each thread gets `--depth` frames and puts them, over and over, warmed up; an operation is a
    /// get and its put
    Local,
    /// Like `local`, with huge frames
    Huge,
    /// Like `local`, with runs of 8 frames
    Runs,
    /// Each thread gets frames, deals them to the other threads, and puts what it was dealt; an
    /// operation is a frame
    Foreign,
    /// Like `foreign`, with puts in batches of 64
    ForeignBatch,
    /// Like `foreign`, without the puts; subtract it from the two above
    Dealt,
    /// Of each two threads one gets `--depth` frames and passes them to the other, which puts them,
    /// at once if there are several, and then they go on; an operation is a frame, of which each
    /// two threads pass on twice as many as `--ops`
    Pipeline,
    /// Like `pipeline`, without gets and puts; subtract it from `pipeline`
    Passed,
    /// Each thread gets a frame, exchanges it for another in a random slot of a table, and puts
    /// that, so frames are put by random CPUs; an operation is a get and a put
    Random,
    /// Like `random`, without gets and puts; subtract it from `random`
    Exchanged,
}

impl Pattern {
    pub(super) fn has_depth(self) -> bool {
        use Pattern::{Huge, Local, Passed, Pipeline, Runs};
        matches!(self, Local | Huge | Runs | Pipeline | Passed)
    }

    pub(super) fn is_in_pairs(self) -> bool {
        matches!(self, Pattern::Pipeline | Pattern::Passed)
    }
}

/// Rounds before the region, so that caches reach their steady state.
const WARM_UP_ROUNDS: usize = 8;
const BATCH: usize = 64;
/// Frames that a pair of threads passes on before the region: those of eight blocks.
const WARM_UP_FRAMES: usize = 8 * BLOCK_FRAMES;
/// Slots of the table for each thread.
const SLOTS: usize = 64;

/// The frames got by each thread, shuffled: written once, then only read.
type Hands = [OnceLock<Vec<Frame>>];

/// Shared means of passing frames on.
struct Passing {
    hands: Vec<OnceLock<Vec<Frame>>>,
    mail: Vec<Mail>,
    table: FrameSlots,
}

impl Passing {
    fn between(threads: usize) -> Self {
        Passing {
            hands: (0..threads).map(|_| OnceLock::new()).collect(),
            mail: (0..threads.div_ceil(2)).map(|_| Mail::default()).collect(),
            table: FrameSlots::of(threads * SLOTS),
        }
    }
}

/// Runs the threads on a fresh design. Returns the design's counts.
pub(super) fn run<D: Design>(task: &Task, team: &Team) -> Option<Counters> {
    let (each, blocks) = match task.pattern {
        Pattern::Local => (task.depth, task.sockets),
        Pattern::Huge => (task.depth * BLOCK_FRAMES, task.sockets),
        Pattern::Runs => (task.depth * RUN_FRAMES, task.sockets),
        Pattern::Pipeline | Pattern::Passed => (task.depth, task.sockets),
        Pattern::Random | Pattern::Exchanged => (SLOTS, task.sockets),
        _ => (task.operations, task.sockets),
    };
    // Four times the number held, plus some blocks for each thread. A line has the words of 16
    // blocks; of huge frames each thread has some lines to itself.
    let least = if task.pattern == Pattern::Huge { 64 } else { 8 } * BLOCK_FRAMES;
    let frames = (task.threads * (each * 4).max(least)).next_multiple_of(BLOCK_FRAMES * blocks);
    let design = D::new(&Memory { frames, cpus: task.threads, sockets: task.sockets });
    let passing = Passing::between(task.threads);
    std::thread::scope(|scope| {
        for number in 0..task.threads {
            let (design, passing) = (&design, &passing);
            scope.spawn(move || {
                // SAFETY: 1. a number below `threads`; 2. each thread has a different one; 3. the
                // patterns put what they got or were dealt, once.
                let cpu = unsafe { Cpu::new(design, number) };
                match task.pattern {
                    Pattern::Local => local(task, cpu, team, get, Cpu::put),
                    Pattern::Huge => local(task, cpu, team, get_huge, Cpu::put_huge),
                    Pattern::Runs => local(task, cpu, team, get_run, Cpu::put_run),
                    Pattern::Foreign | Pattern::ForeignBatch | Pattern::Dealt => {
                        foreign(task, number, cpu, &passing.hands, team);
                    }
                    Pattern::Pipeline | Pattern::Passed => {
                        pipeline(task, number, cpu, &passing.mail[number / 2], team);
                    }
                    Pattern::Random | Pattern::Exchanged => random(task, number, cpu, &passing.table, team),
                }
            });
        }
        team.start();
    });
    design.counters()
}

fn get<D: Design>(cpu: &mut Cpu<'_, D>) -> Frame {
    cpu.get().expect("there are four times as many frames")
}

fn get_huge<D: Design>(cpu: &mut Cpu<'_, D>) -> Frame {
    cpu.get_huge().expect("there are four times as many frames, and the design has huge ones")
}

fn get_run<D: Design>(cpu: &mut Cpu<'_, D>) -> Frame {
    cpu.get_run().expect("there are four times as many frames, and the design has runs")
}

fn local<'d, D: Design>(
    task: &Task,
    mut cpu: Cpu<'d, D>,
    team: &Team,
    get: fn(&mut Cpu<'d, D>) -> Frame,
    put: fn(&mut Cpu<'d, D>, Frame),
) {
    let mut frames = Stack::of(task.depth);
    let mut rounds = |count: usize| {
        for _ in 0..count {
            (0..task.depth).for_each(|_| frames.push(get(&mut cpu)));
            while let Some(frame) = frames.pop() {
                put(&mut cpu, frame);
            }
        }
    };
    rounds(WARM_UP_ROUNDS);
    team.begin();
    rounds(task.operations / task.depth);
    team.end();
}

fn foreign<D: Design>(task: &Task, number: usize, mut cpu: Cpu<'_, D>, hands: &Hands, team: &Team) {
    let mut order: Vec<usize> = (0..task.operations).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(number as u64));
    let mut frames = Vec::with_capacity(task.operations);
    let mut dealt = Vec::with_capacity(task.operations + task.threads);
    team.begin();
    frames.extend((0..task.operations).map(|_| get(&mut cpu)));
    hands[number].get_or_init(|| order.iter().map(|&place| frames[place]).collect());
    team.meet(1);
    pick_up(task, number, hands, &mut dealt);
    team.meet(2);
    match task.pattern {
        Pattern::Foreign => dealt.iter().for_each(|&frame| cpu.put(frame)),
        Pattern::ForeignBatch => dealt.chunks(BATCH).for_each(|batch| cpu.put_batch(batch)),
        _ => {}
    }
    team.end();
}

/// Each thread deals its frames to the others in turn, one by one, so each receives frames of
/// several owners, mixed.
fn pick_up(task: &Task, number: usize, hands: &Hands, dealt: &mut Vec<Frame>) {
    let others = (task.threads - 1).max(1);
    for first in (0..task.operations).step_by(others) {
        for step in 1..=others {
            let owner = (number + step) % task.threads;
            // From that owner's frames, those of our turn: we are `threads - step` behind it.
            let place = first + (task.threads - step).saturating_sub(1);
            dealt.extend(hands[owner].get().and_then(|hand| hand.get(place)));
        }
    }
}

/// Threads with even numbers get frames; the thread after each puts them.
fn pipeline<D: Design>(task: &Task, number: usize, mut cpu: Cpu<'_, D>, mail: &Mail, team: &Team) {
    let (gets, count) = (task.pattern == Pattern::Pipeline, task.depth);
    let mut pass_on = |frames: usize| {
        let mut passed = [Frame(0); MOST_PASSED];
        for _ in 0..frames / count {
            match (number % 2, gets) {
                (0, true) => passed[..count].iter_mut().for_each(|frame| *frame = get(&mut cpu)),
                (0, false) => {}
                (_, true) if count > 1 => mail.receive(count, |frames| cpu.put_batch(frames)),
                (_, true) => mail.receive(count, |frames| cpu.put(frames[0])),
                (_, false) => mail.receive(count, |_| {}),
            }
            if number.is_multiple_of(2) {
                mail.send(&passed[..count]);
            }
        }
    };
    pass_on(WARM_UP_FRAMES);
    team.begin();
    pass_on(task.operations * 2);
    team.end();
}

fn random<D: Design>(task: &Task, number: usize, mut cpu: Cpu<'_, D>, table: &FrameSlots, team: &Team) {
    let mut random = ChaCha8Rng::seed_from_u64(number as u64);
    for slot in number * SLOTS..(number + 1) * SLOTS {
        let other = table.exchange(slot, get(&mut cpu));
        other.into_iter().for_each(|frame| cpu.put(frame));
    }
    let mut rounds = |count: usize, mut held: Option<Frame>| {
        for _ in 0..count {
            let frame = held.unwrap_or_else(|| get(&mut cpu));
            match (table.exchange(random.random_range(0..table.slots()), frame), held) {
                (Some(other), None) => cpu.put(other),
                (other, Some(_)) => held = other,
                (None, None) => {}
            }
        }
    };
    rounds(WARM_UP_ROUNDS * SLOTS, None);
    team.begin();
    rounds(task.operations, (task.pattern == Pattern::Exchanged).then_some(Frame(0)));
    team.end();
}

/// Maximum number of frames passed on at once.
pub(super) const MOST_PASSED: usize = 32;

/// Frames passed from one thread to another and back, in strict turns.
///
/// Baseline patterns without gets and puts count the cost of passing.
#[derive(Debug, Default)]
pub(super) struct Mail {
    frames: Line<[AtomicU32; MOST_PASSED]>,
    is_full: Line<AtomicBool>,
}

impl Mail {
    /// Hands frames over, and waits until the receiver is done with them.
    pub(super) fn send(&self, frames: &[Frame]) {
        // Relaxed: handed over by the store below, and fetched after the load in `receive`.
        self.frames.0.iter().zip(frames).for_each(|(to, frame)| to.store(frame.0, Ordering::Relaxed));
        // Release: pairs with the load in `receive`.
        self.is_full.0.store(true, Ordering::Release);
        // Acquire: pairs with the store in `receive`; the frames that it has put can be got again.
        wait_until(|| !self.is_full.0.load(Ordering::Acquire));
    }

    /// Waits for frames and processes them.
    pub(super) fn receive(&self, count: usize, act: impl FnOnce(&[Frame])) {
        // Acquire, Release: as in `send`.
        wait_until(|| self.is_full.0.load(Ordering::Acquire));
        let frames: [Frame; MOST_PASSED] = std::array::from_fn(|place| match self.frames.0.get(place) {
            Some(frame) if place < count => Frame(frame.load(Ordering::Relaxed)),
            _ => Frame(0),
        });
        act(&frames[..count]);
        self.is_full.0.store(false, Ordering::Release);
    }
}

/// A table of random slots with a frame each, through which threads pass frames.
#[derive(Debug)]
pub(super) struct FrameSlots(Vec<AtomicU32>);

impl FrameSlots {
    const NOTHING: u32 = u32::MAX;

    /// Empty slots.
    pub(super) fn of(slots: usize) -> Self {
        FrameSlots((0..slots).map(|_| AtomicU32::new(Self::NOTHING)).collect())
    }

    pub(super) fn slots(&self) -> usize {
        self.0.len()
    }

    /// Puts a frame into a slot, and returns the previous one.
    pub(super) fn exchange(&self, slot: usize, frame: Frame) -> Option<Frame> {
        // AcqRel: the next holder of the frame has seen its former holder's actions.
        let before = self.0[slot].swap(frame.0, Ordering::AcqRel);
        (before != Self::NOTHING).then_some(Frame(before))
    }
}

const LINE_FRAMES: usize = 32;

#[derive(Debug, Clone, Copy)]
#[repr(align(128))]
struct FrameLine([Frame; LINE_FRAMES]);

/// A thread's own stack of frames, on separate lines: the small vectors of two threads might share
/// a line.
#[derive(Debug)]
pub(super) struct Stack {
    lines: Vec<FrameLine>,
    length: usize,
}

impl Stack {
    /// An empty stack for up to `most` frames.
    pub(super) fn of(most: usize) -> Self {
        Stack { lines: vec![FrameLine([Frame(0); LINE_FRAMES]); most.div_ceil(LINE_FRAMES)], length: 0 }
    }

    /// # Panics
    /// If there is no room.
    pub(super) fn push(&mut self, frame: Frame) {
        self.lines[self.length / LINE_FRAMES].0[self.length % LINE_FRAMES] = frame;
        self.length += 1;
    }

    pub(super) fn pop(&mut self) -> Option<Frame> {
        self.length = self.length.checked_sub(1)?;
        Some(self.lines[self.length / LINE_FRAMES].0[self.length % LINE_FRAMES])
    }
}
