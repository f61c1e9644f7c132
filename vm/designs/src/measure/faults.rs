//! A mix similar to page faults: a task begins, gets 1 to 64 frames one by one, writes a line of 64 bytes in each when
//! it gets it, and puts all of them when it ends. The figure is per frame: get, write, and its part of the end.

use super::benchmark::{Figures, Metric, Shape};
use super::threads::{Span, per_operation_ns, with_design};
use crate::Design;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const TASK_FRAMES_MOST: usize = 64;

/// Sizes of tasks whose sum is the requested number of frames.
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

pub(super) fn sample<D: Design>(shape: &Shape<'_>) -> Figures {
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
