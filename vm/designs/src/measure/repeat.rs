//! `repeat`: each thread holds N frames, then gets and puts one frame N times. The figure is per pair.

use super::benchmark::{Figures, Metric, Shape};
use super::threads::{Span, per_operation_ns, with_design};
use crate::Design;
use std::hint::black_box;

pub(super) fn sample<D: Design>(shape: &Shape<'_>) -> Figures {
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
