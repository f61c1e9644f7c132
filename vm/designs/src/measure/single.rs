//! Benchmarks of single frames.

use crate::measure::benchmark::{Figures, Metric, Shape, Span, per_operation_ns, with_design};
use crate::{Cpu, Design, Frame};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::hint::black_box;
use std::sync::{Barrier, Mutex, PoisonError};

/// `bulk`: all threads get N frames each. When all are done, each puts its own in reverse order.
pub(super) fn bulk<D: Design>(shape: &Shape<'_>) -> Figures {
    let count = shape.frames_of_thread();
    let spans = with_design::<D, _>(shape, |mut cpu, barrier| {
        let mut frames = Vec::with_capacity(count);
        barrier.wait();
        let get = Span::of(|| frames.extend((0..count).map(|_| cpu.get().expect("half of the frames are free"))));
        barrier.wait();
        let put = Span::of(|| {
            while let Some(frame) = frames.pop() {
                cpu.put(frame);
            }
        });
        (get, put)
    });
    let (gets, puts): (Vec<_>, Vec<_>) = spans.into_iter().unzip();
    vec![(Metric::BulkGet, per_operation_ns(&gets, count)), (Metric::BulkPut, per_operation_ns(&puts, count))]
}

/// `repeat`: each thread holds N frames, then gets and puts one frame N times. The figure is per
/// pair.
pub(super) fn repeat<D: Design>(shape: &Shape<'_>) -> Figures {
    let count = shape.frames_of_thread();
    let spans = with_design::<D, _>(shape, |mut cpu, barrier| {
        for _ in 0..count {
            cpu.get().expect("half of the frames are free");
        }
        barrier.wait();
        Span::of(|| {
            for _ in 0..count {
                let frame = cpu.get().expect("half of the frames are free");
                cpu.put(black_box(frame));
            }
        })
    });
    vec![(Metric::Repeat, per_operation_ns(&spans, count))]
}

/// `rand`: each thread gets N frames; one thread shuffles all of them and deals them out; each puts
/// its share. With several threads, nearly all frames that a thread puts came from another CPU.
pub(super) fn random<D: Design>(shape: &Shape<'_>) -> Figures {
    let count = shape.frames_of_thread();
    let table = Mutex::new(Vec::with_capacity(count * shape.threads));
    let table = || table.lock().unwrap_or_else(PoisonError::into_inner);
    let spans = with_design::<D, _>(shape, |mut cpu, barrier| {
        let mut frames: Vec<Frame> = Vec::with_capacity(count);
        barrier.wait();
        let get = Span::of(|| frames.extend((0..count).map(|_| cpu.get().expect("half of the frames are free"))));
        table().append(&mut frames);
        if barrier.wait().is_leader() {
            table().shuffle(&mut ChaCha8Rng::seed_from_u64(shape.seed));
        }
        barrier.wait();
        let mut all = table();
        let from = all.len() - count;
        frames.extend(all.drain(from..));
        drop(all);
        barrier.wait();
        let put = Span::of(|| frames.iter().for_each(|&frame| cpu.put(frame)));
        (get, put)
    });
    let (gets, puts): (Vec<_>, Vec<_>) = spans.into_iter().unzip();
    vec![(Metric::RandGet, per_operation_ns(&gets, count)), (Metric::RandPut, per_operation_ns(&puts, count))]
}

const TASK_FRAMES_MOST: usize = 64;

/// Sizes of tasks that add up to the requested number of frames.
fn tasks(frames: usize, seed: u64) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut left = frames;
    std::iter::from_fn(|| {
        let size = random.random_range(1..=TASK_FRAMES_MOST).min(left);
        left -= size;
        (size > 0).then_some(size)
    })
    .collect()
}

/// A mix similar to page faults: a task gets 1 to 64 frames one by one, writes a line of 64 bytes
/// in each, and puts all of them when it ends. The figure is per frame: get, write, and its part of
/// the end.
pub(super) fn faults<D: Design>(shape: &Shape<'_>) -> Figures {
    let count = shape.frames_of_thread();
    let tasks = tasks(count, shape.seed);
    let spans = with_design::<D, _>(shape, |mut cpu, barrier| {
        let mut frames = Vec::with_capacity(TASK_FRAMES_MOST);
        barrier.wait();
        Span::of(|| {
            for &size in &tasks {
                for value in 0..size {
                    let frame = cpu.get().expect("half of the frames are free");
                    shape.pages.write(frame, value as u64);
                    frames.push(frame);
                }
                cpu.put_batch(&frames);
                frames.clear();
            }
        })
    });
    vec![(Metric::Fault, per_operation_ns(&spans, count))]
}

/// Measured rounds of a sample, after a warm-up round.
const ROUNDS: usize = 4;

/// Work of a thread.
struct Done {
    gets: Span,
    puts: Span,
    /// Number of gets, and of puts.
    operations: usize,
}

/// `2 % free`: all memory is taken as single frames, each thread puts 2 % of its frames, chosen at
/// random, and gets as many. Repeated with one allocator.
pub(super) fn nearly_full<D: Design>(shape: &Shape<'_>) -> Figures {
    let done = with_design::<D, _>(shape, |mut cpu, barrier| thread(&mut cpu, barrier, shape));
    // The mean, because a thread's last gets may fail while another thread's cache has the frames.
    let operations = done.iter().map(|done| done.operations).sum::<usize>() / done.len();
    let (gets, puts): (Vec<_>, Vec<_>) = done.into_iter().map(|done| (done.gets, done.puts)).unzip();
    vec![
        (Metric::NearlyFullGet, per_operation_ns(&gets, operations)),
        (Metric::NearlyFullPut, per_operation_ns(&puts, operations)),
    ]
}

fn thread<D: Design>(cpu: &mut Cpu<'_, D>, barrier: &Barrier, shape: &Shape<'_>) -> Done {
    let mut random = ChaCha8Rng::seed_from_u64(shape.seed);
    // All threads together take all of the memory, in about equal parts.
    let most = shape.frames / shape.threads;
    let mut frames: Vec<Frame> = std::iter::from_fn(|| cpu.get()).take(most).collect();
    let count = frames.len() / 50;
    let (mut gets, mut puts, mut operations) = (Vec::new(), Vec::new(), 0);
    for round in 0..=ROUNDS {
        let chosen: Vec<Frame> =
            (0..count.min(frames.len())).map(|_| frames.swap_remove(random.random_range(0..frames.len()))).collect();
        barrier.wait();
        let put = Span::of(|| chosen.iter().for_each(|&frame| cpu.put(frame)));
        barrier.wait();
        let before = frames.len();
        let get = Span::of(|| frames.extend(std::iter::from_fn(|| cpu.get()).take(chosen.len())));
        if round > 0 {
            operations += frames.len() - before;
            gets.push(get);
            puts.push(put);
        }
    }
    Done { gets: gets.into_iter().sum(), puts: puts.into_iter().sum(), operations }
}
