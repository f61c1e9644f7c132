//! The threads of a sample, each on its own host CPU, and the CPU time that they take.

use super::benchmark::Shape;
use crate::pinning::{pin_to, usable_cpus};
use crate::{Cpu, Design, Memory};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Barrier;
use std::time::Duration;

/// The CPU time that a thread took for something.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span(Duration);

impl Span {
    /// Times something.
    pub(super) fn of(run: impl FnOnce()) -> Self {
        let begin = cpu_time();
        run();
        Span(cpu_time().saturating_sub(begin))
    }
}

/// The sum of several.
impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        Span(spans.map(|span| span.0).sum())
    }
}

/// The calling thread's, in user mode and in the kernel.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // Neither is negative.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
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
    let usable = usable_cpus().unwrap_or_else(|_| vec![0]);
    let (run, barrier, usable) = (&run, &barrier, &usable);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|number| {
                scope.spawn(move || {
                    // If pinning is not allowed, the scheduler places the thread as it likes.
                    let _ = pin_to(usable[number % usable.len()]);
                    run(number, barrier)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a benchmark's thread doesn't panic")).collect()
    })
}

/// Nanoseconds of CPU time per operation, if each thread did `operations` in its span: the mean of the threads' own times.
/// Time in which a thread sleeps or another thread has its CPU does not count.
pub(super) fn per_operation_ns(spans: &[Span], operations: usize) -> f64 {
    let all: Duration = spans.iter().map(|span| span.0).sum();
    all.as_nanos() as f64 / (spans.len() * operations) as f64
}
