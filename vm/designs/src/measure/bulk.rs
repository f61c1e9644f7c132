//! `bulk`: all threads get N frames each. When all are done, each puts its own in reverse order.

use super::benchmark::{Figures, Metric, Shape};
use super::threads::{Span, per_operation_ns, with_design};
use crate::Design;

pub(super) fn sample<D: Design>(shape: &Shape<'_>) -> Figures {
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
