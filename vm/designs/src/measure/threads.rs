//! The threads of a sample, each on its own host CPU, and their timing.

use super::benchmark::Shape;
use crate::{Cpu, Design, Memory};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// The start and end of what a thread did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    begin: Instant,
    end: Instant,
}

impl Span {
    /// Times something.
    pub(super) fn of(run: impl FnOnce()) -> Self {
        let begin = Instant::now();
        run();
        Span { begin, end: Instant::now() }
    }
}

/// Host CPUs that this process may use. Call it before threads are pinned.
pub(super) fn usable_cpus() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| {
        let mut one = CpuSet::new();
        one.set(0);
        one
    });
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Makes a fresh design and a thread for each of its CPUs, pinned to the host's CPUs in turn. Returns the results of
/// the threads.
pub(super) fn with_design<D: Design, R: Send>(
    shape: &Shape<'_>,
    run: impl Fn(Cpu<'_, D>, &Barrier) -> R + Sync,
) -> Vec<R> {
    let design = D::new(&Memory::of_one_socket(shape.frames, shape.threads));
    pinned(shape.threads, |number, barrier| {
        // SAFETY: 1. numbers are below `threads`, which is the number of CPUs; 2. each thread has a different one; 3.
        // the benchmarks put what they got, once.
        run(unsafe { Cpu::new(&design, number) }, barrier)
    })
}

/// Runs that many threads, pinned to the host's CPUs in turn, with a barrier for all of them.
pub(super) fn pinned<R: Send>(threads: usize, run: impl Fn(usize, &Barrier) -> R + Sync) -> Vec<R> {
    let barrier = Barrier::new(threads);
    let usable = usable_cpus();
    let (run, barrier, usable) = (&run, &barrier, &usable);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|number| {
                scope.spawn(move || {
                    let mut set = CpuSet::new();
                    set.set(usable[number % usable.len()]);
                    // If pinning is not allowed, the scheduler places the thread as it likes.
                    let _ = sched_setaffinity(None, &set);
                    run(number, barrier)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a benchmark's thread doesn't panic")).collect()
    })
}

/// Nanoseconds per operation, if each thread did `operations` in its span.
///
/// With a host CPU for each thread, this is the mean of the threads' own times, as in LLFree's evaluation. With more
/// threads than CPUs, a thread's own time mostly depends on when the others ran. Then it is the CPU time of all CPUs,
/// from the first start to the last end, divided by all operations.
pub(super) fn per_operation_ns(spans: &[Span], operations: usize) -> f64 {
    let cpus = usable_cpus().len();
    let nanoseconds = if spans.len() <= cpus {
        spans.iter().map(|span| span.end - span.begin).sum::<Duration>().as_nanos() as f64
    } else {
        let first = spans.iter().map(|span| span.begin).min();
        let last = spans.iter().map(|span| span.end).max();
        let whole = last.zip(first).map_or(Duration::ZERO, |(last, first)| last - first);
        whole.as_nanos() as f64 * cpus as f64
    };
    nanoseconds / (spans.len() * operations) as f64
}
