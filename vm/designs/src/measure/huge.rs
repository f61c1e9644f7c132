//! Benchmarks of huge frames: `bulk`, `repeat` and `rand` with N = frames / threads / 2 / 512, and
//! `get, 2 % free`: all memory is taken, each thread puts 2 % of its huge frames, chosen at random,
//! and gets as many. Each is repeated with one allocator, because N is small.

use super::benchmark::{Figures, Metric, Shape};
use crate::measure::benchmark::{Span, per_operation_ns, with_design};
use crate::{BLOCK_FRAMES, Cpu, Design, Frame};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::hint::black_box;
use std::sync::{Barrier, Mutex, PoisonError};

/// Rounds of a sample.
const ROUNDS: usize = 16;

pub(super) fn sample<D: Design>(shape: &Shape<'_>) -> Figures {
    let count = shape.frames_of_thread() / BLOCK_FRAMES;
    let dealt = Mutex::new(Vec::new());
    let spans = with_design::<D, _>(shape, |mut cpu, barrier| {
        // Once before, so that no round is the first to touch the allocator's records.
        bulk(&mut cpu, count, barrier);
        let bulks: Vec<_> = (0..ROUNDS).map(|_| bulk(&mut cpu, count, barrier)).collect();
        let repeats = repeat(&mut cpu, count, barrier);
        let rands: Vec<_> = (0..ROUNDS).map(|_| rand(&mut cpu, count, barrier, &dealt, shape)).collect();
        let (full, gets) = nearly_full(&mut cpu, barrier, shape);
        let sum = |of: fn(&(Span, Span)) -> Span, all: &[(Span, Span)]| all.iter().map(of).sum::<Span>();
        let (get, put) = (|both: &(Span, Span)| both.0, |both: &(Span, Span)| both.1);
        ([sum(get, &bulks), sum(put, &bulks), repeats, sum(get, &rands), sum(put, &rands), full], gets)
    });
    let of = |metric: usize, operations: usize| {
        per_operation_ns(&spans.iter().map(|(spans, _)| spans[metric]).collect::<Vec<_>>(), operations)
    };
    let gets = spans.iter().map(|(_, gets)| *gets).sum::<usize>() / spans.len();
    let operations = [count * ROUNDS; 5].into_iter().chain([gets]);
    Metric::HUGE.into_iter().zip(operations).enumerate().map(|(place, (metric, n))| (metric, of(place, n))).collect()
}

fn get<D: Design>(cpu: &mut Cpu<'_, D>) -> Frame {
    cpu.get_huge().expect("half of the memory is free, in whole blocks")
}

fn bulk<D: Design>(cpu: &mut Cpu<'_, D>, count: usize, barrier: &Barrier) -> (Span, Span) {
    let mut frames = Vec::with_capacity(count);
    barrier.wait();
    let gets = Span::of(|| frames.extend((0..count).map(|_| get(cpu))));
    barrier.wait();
    let puts = Span::of(|| frames.drain(..).rev().for_each(|frame| cpu.put_huge(frame)));
    (gets, puts)
}

fn repeat<D: Design>(cpu: &mut Cpu<'_, D>, count: usize, barrier: &Barrier) -> Span {
    let held: Vec<Frame> = (0..count).map(|_| get(cpu)).collect();
    barrier.wait();
    let span = Span::of(|| {
        for _ in 0..count * ROUNDS {
            let frame = get(cpu);
            cpu.put_huge(black_box(frame));
        }
    });
    held.into_iter().for_each(|frame| cpu.put_huge(frame));
    span
}

fn rand<D: Design>(
    cpu: &mut Cpu<'_, D>,
    count: usize,
    barrier: &Barrier,
    dealt: &Mutex<Vec<Frame>>,
    shape: &Shape<'_>,
) -> (Span, Span) {
    let table = || dealt.lock().unwrap_or_else(PoisonError::into_inner);
    let mut frames = Vec::with_capacity(count);
    barrier.wait();
    let gets = Span::of(|| frames.extend((0..count).map(|_| get(cpu))));
    table().append(&mut frames);
    if barrier.wait().is_leader() {
        table().shuffle(&mut ChaCha8Rng::seed_from_u64(shape.seed));
    }
    barrier.wait();
    let mut all = table();
    let rest = all.len() - count;
    frames.extend(all.drain(rest..));
    drop(all);
    barrier.wait();
    (gets, Span::of(|| frames.iter().for_each(|&frame| cpu.put_huge(frame))))
}

/// Also returns the number of gets.
fn nearly_full<D: Design>(cpu: &mut Cpu<'_, D>, barrier: &Barrier, shape: &Shape<'_>) -> (Span, usize) {
    let mut random = ChaCha8Rng::seed_from_u64(shape.seed);
    // All threads together take all of the memory, in about equal parts.
    let most = shape.frames / BLOCK_FRAMES / shape.threads;
    let mut frames: Vec<Frame> = std::iter::from_fn(|| cpu.get_huge()).take(most).collect();
    let (mut span, mut gets) = (Vec::new(), 0);
    for _ in 0..ROUNDS {
        frames.shuffle(&mut random);
        let puts = frames.split_off(frames.len() - (frames.len() / 50).max(1).min(frames.len()));
        barrier.wait();
        puts.iter().for_each(|&frame| cpu.put_huge(frame));
        barrier.wait();
        let before = frames.len();
        span.push(Span::of(|| frames.extend(std::iter::from_fn(|| cpu.get_huge()).take(puts.len()))));
        gets += frames.len() - before;
    }
    (span.into_iter().sum(), gets)
}
