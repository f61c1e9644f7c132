//! `rand`: each thread gets N frames; one thread shuffles all of them and deals them out; each puts what it was dealt.
//! With several threads, nearly all frames that a thread puts came from another CPU.

use super::benchmark::{Figures, Metric, Shape};
use super::threads::{Span, per_operation_ns, with_design};
use crate::{Design, Frame};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::sync::{Mutex, PoisonError};

pub(super) fn sample<D: Design>(shape: &Shape<'_>) -> Figures {
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
