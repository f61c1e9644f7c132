//! What the threads do in the region of interest, each on its own CPU.

use crate::stack::Stack;
use crate::team::Team;
use faultline_frame_designs::{BLOCK_FRAMES, Counters, Cpu, Design, Frame, Memory, RUN_FRAMES};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::sync::OnceLock;

/// How often a pattern repeats what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task {
    pub(crate) pattern: Pattern,
    pub(crate) threads: usize,
    pub(crate) sockets: usize,
    /// Number of operations of each thread.
    pub(crate) operations: usize,
    /// For `local`, `huge` and `runs`: maximum number of frames, huge frames or runs that a thread holds.
    pub(crate) depth: usize,
}

/// A pattern of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Pattern {
    /// Each thread gets `--depth` frames and puts them, over and over, warmed up; an operation is a get and its put
    Local,
    /// The same with huge frames
    Huge,
    /// The same with runs of 8 frames
    Runs,
    /// Each thread gets frames, deals them to the other threads, and puts what it was dealt; an operation is a frame
    Foreign,
    /// The same, with what a thread was dealt put in batches of 64
    ForeignBatch,
    /// The same without the puts; subtract it from the two above
    Dealt,
}

/// Rounds before the region, so that caches reach their steady state.
const WARM_UP_ROUNDS: usize = 8;
const BATCH: usize = 64;

/// For each thread, the frames that it got, shuffled: written once, then only read.
type Hands = [OnceLock<Vec<Frame>>];

/// Runs the threads on a fresh design. Returns the design's counts.
pub(crate) fn run<D: Design>(task: &Task, team: &Team) -> Option<Counters> {
    let (each, blocks) = match task.pattern {
        Pattern::Local => (task.depth, task.sockets),
        Pattern::Huge => (task.depth * BLOCK_FRAMES, task.sockets),
        Pattern::Runs => (task.depth * RUN_FRAMES, task.sockets),
        _ => (task.operations, task.sockets),
    };
    // Four times what is held, plus some blocks for each thread. A line has the words of 16 blocks; of huge frames each
    // thread has some lines to itself.
    let least = if task.pattern == Pattern::Huge { 64 } else { 8 } * BLOCK_FRAMES;
    let frames = (task.threads * (each * 4).max(least)).next_multiple_of(BLOCK_FRAMES * blocks);
    let design = D::new(&Memory { frames, cpus: task.threads, sockets: task.sockets });
    let hands: Vec<OnceLock<Vec<Frame>>> = (0..task.threads).map(|_| OnceLock::new()).collect();
    std::thread::scope(|scope| {
        for number in 0..task.threads {
            let (design, hands) = (&design, &hands[..]);
            scope.spawn(move || {
                // SAFETY: 1. a number below `threads`; 2. each thread has a different one; 3. the patterns put what
                // they got or were dealt, once.
                let cpu = unsafe { Cpu::new(design, number) };
                match task.pattern {
                    Pattern::Local => local(task, cpu, team, get, Cpu::put),
                    Pattern::Huge => local(task, cpu, team, get_huge, Cpu::put_huge),
                    Pattern::Runs => local(task, cpu, team, get_run, Cpu::put_run),
                    _ => foreign(task, number, cpu, hands, team),
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
        Pattern::Local | Pattern::Huge | Pattern::Runs | Pattern::Dealt => {}
    }
    team.end();
}

/// Each thread deals its frames to the others in turn, one by one, so each receives frames of several owners, mixed.
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
