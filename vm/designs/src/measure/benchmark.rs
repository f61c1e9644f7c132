//! The benchmarks: the parameters of a sample, and the figures that it gives.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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
    /// Frames that the allocator has.
    pub(super) frames: usize,
    pub(super) threads: usize,
    pub(super) pages: &'p Pages,
    pub(super) seed: u64,
}

impl Shape<'_> {
    /// Frames that each thread works on.
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

    /// Writes all of a frame's line. Relaxed: only the owner of the frame stores to it.
    #[inline]
    pub(super) fn write(&self, frame: crate::Frame, value: u64) {
        self.0[frame.index()].iter().for_each(|word| word.store(value, Relaxed));
    }
}
