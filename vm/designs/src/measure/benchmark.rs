//! The benchmarks: parameters and figures of a sample, and its threads, each on its own host CPU,
//! with their CPU time.

use crate::team::{pin_to, usable_cpus};
use crate::{Cpu, Design, Memory};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Barrier;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A figure of the benchmarks, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Metric {
    BulkGet,
    BulkPut,
    Repeat,
    RandGet,
    RandPut,
    Fault,
    NearlyFullGet,
    NearlyFullPut,
    HugeBulkGet,
    HugeBulkPut,
    HugeRepeat,
    HugeRandGet,
    HugeRandPut,
    HugeNearlyFull,
}

impl Metric {
    /// Of single frames.
    pub(super) const SINGLE: [Metric; 8] = [
        Metric::BulkGet,
        Metric::BulkPut,
        Metric::Repeat,
        Metric::RandGet,
        Metric::RandPut,
        Metric::Fault,
        Metric::NearlyFullGet,
        Metric::NearlyFullPut,
    ];

    /// Of huge frames.
    pub(super) const HUGE: [Metric; 6] = [
        Metric::HugeBulkGet,
        Metric::HugeBulkPut,
        Metric::HugeRepeat,
        Metric::HugeRandGet,
        Metric::HugeRandPut,
        Metric::HugeNearlyFull,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Metric::BulkGet => "bulk get",
            Metric::BulkPut => "bulk put",
            Metric::Repeat => "repeat",
            Metric::RandGet => "rand get",
            Metric::RandPut => "rand put",
            Metric::Fault => "fault",
            Metric::NearlyFullGet => "get, 2 % free",
            Metric::NearlyFullPut => "put, 2 % free",
            Metric::HugeBulkGet => "huge bulk get",
            Metric::HugeBulkPut => "huge bulk put",
            Metric::HugeRepeat => "huge repeat",
            Metric::HugeRandGet => "huge rand get",
            Metric::HugeRandPut => "huge rand put",
            Metric::HugeNearlyFull => "huge get, 2 % free",
        }
    }
}

/// A benchmark. It gives one or two figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bench {
    Bulk,
    Repeat,
    Rand,
    Faults,
    NearlyFull,
    Huge,
}

impl Bench {
    pub(super) const ALL: [Bench; 6] =
        [Bench::Bulk, Bench::Repeat, Bench::Rand, Bench::Faults, Bench::NearlyFull, Bench::Huge];
}

/// Figures of one sample.
pub(super) type Figures = Vec<(Metric, f64)>;

/// The parameters of a sample.
pub(super) struct Shape<'p> {
    /// Number of frames of the allocator.
    pub(super) frames: usize,
    pub(super) threads: usize,
    pub(super) pages: &'p Pages,
    pub(super) seed: u64,
}

impl Shape<'_> {
    /// Number of frames that each thread works on.
    pub(super) fn frames_of_thread(&self) -> usize {
        self.frames / self.threads / 2
    }
}

/// The contents of frames, modelled as one line of 64 bytes per frame.
pub(super) struct Pages(Vec<[AtomicU64; 8]>);

impl Pages {
    pub(super) fn of(frames: usize) -> Self {
        Pages((0..frames).map(|_| Default::default()).collect())
    }

    /// Writes a frame's whole line. Relaxed: only the owner of the frame stores to it.
    #[inline]
    pub(super) fn write(&self, frame: crate::Frame, value: u64) {
        self.0[frame.index()].iter().for_each(|word| word.store(value, Relaxed));
    }
}

/// CPU time of a thread's work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span(Duration);

impl Span {
    pub(super) fn of(run: impl FnOnce()) -> Self {
        let begin = cpu_time();
        run();
        Span(cpu_time().saturating_sub(begin))
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        Span(spans.map(|span| span.0).sum())
    }
}

/// CPU time of the calling thread, in user mode and in the kernel.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // Neither is negative.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Makes a fresh design and a thread for each of its CPUs, pinned to the host's CPUs in turn.
/// Returns the threads' results.
pub(super) fn with_design<D: Design, R: Send>(
    shape: &Shape<'_>,
    run: impl Fn(Cpu<'_, D>, &Barrier) -> R + Sync,
) -> Vec<R> {
    let design = D::new(&Memory::of_one_socket(shape.frames, shape.threads));
    pinned(shape.threads, |number, barrier| {
        // SAFETY: 1. numbers are below `threads`, which is the number of CPUs; 2. each thread has a
        // different one; 3. the benchmarks put what they got, once.
        run(unsafe { Cpu::new(&design, number) }, barrier)
    })
}

/// Runs this many threads, pinned to the host's CPUs in turn, with a common barrier.
pub(super) fn pinned<R: Send>(threads: usize, run: impl Fn(usize, &Barrier) -> R + Sync) -> Vec<R> {
    let barrier = Barrier::new(threads);
    let usable = usable_cpus().unwrap_or_else(|_| vec![0]);
    let (run, barrier, usable) = (&run, &barrier, &usable);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|number| {
                scope.spawn(move || {
                    // If pinning is not allowed, the scheduler places the thread.
                    let _ = pin_to(usable[number % usable.len()]);
                    run(number, barrier)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a benchmark's thread doesn't panic")).collect()
    })
}

/// Nanoseconds of CPU time per operation, if each thread did `operations` in its span: the mean of
/// the threads' own times. Excludes time in which a thread sleeps or another thread has its CPU.
pub(super) fn per_operation_ns(spans: &[Span], operations: usize) -> f64 {
    let all: Duration = spans.iter().map(|span| span.0).sum();
    all.as_nanos() as f64 / (spans.len() * operations) as f64
}
