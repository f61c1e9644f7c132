//! `2 % free`: all memory is taken as single frames, each thread puts 2 % of its frames, chosen at random, and gets as
//! many. Done several times with the same allocator.

use super::benchmark::{Figures, Metric, Shape};
use super::threads::{Span, per_operation_ns, with_design};
use crate::{Cpu, Design, Frame};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Barrier;

/// Rounds of a sample, after one that is not measured.
const ROUNDS: usize = 4;

/// What a thread did.
struct Done {
    gets: Span,
    puts: Span,
    /// Number of gets, and of puts.
    operations: usize,
}

pub(super) fn sample<D: Design>(shape: &Shape<'_>) -> Figures {
    let done = with_design::<D, _>(shape, |mut cpu, barrier| thread(&mut cpu, barrier, shape));
    // The mean, because a thread's last gets may find nothing while another thread's cache has the frames.
    let operations = done.iter().map(|done| done.operations).sum::<usize>() / done.len();
    let (gets, puts): (Vec<_>, Vec<_>) = done.into_iter().map(|done| (done.gets, done.puts)).unzip();
    vec![
        (Metric::NearlyFullGet, per_operation_ns(&gets, operations)),
        (Metric::NearlyFullPut, per_operation_ns(&puts, operations)),
    ]
}

fn thread<D: Design>(cpu: &mut Cpu<'_, D>, barrier: &Barrier, shape: &Shape<'_>) -> Done {
    let mut random = ChaCha8Rng::seed_from_u64(shape.seed);
    // All threads' together are all of the memory, and each has about the same.
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
