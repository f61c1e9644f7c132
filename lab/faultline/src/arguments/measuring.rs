//! Arguments of whatever measures time: what, how long, how often, in which order.

use super::{count, duration, seed, size};
use clap::{Args, ValueEnum};
use faultline_model::cell::TaskMode;
use faultline_model::plan::PinPolicy;
use faultline_runner::Suite;
use std::time::Duration;

/// How workloads are measured.
#[derive(Debug, Default, Args)]
pub(crate) struct Measuring {
    /// Suite to run; for chosen workloads, the suite whose timing to use
    #[arg(long, value_enum, value_name = "SUITE")]
    pub(crate) suite: Option<SuiteName>,

    /// Numbers of tasks to run at once, each on a CPU of its own [default: powers of two up to all CPUs]
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', value_parser = count, allow_negative_numbers = true)]
    pub(crate) cpus: Option<Vec<u32>>,

    /// Repeats of each workload at each number of CPUs [default: 6 for quick, 10 for full, up to 60 in a comparison]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) repeats: Option<u32>,

    /// Run as many repeats as fit in this time; start nothing after it
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) time: Option<Duration>,

    /// Warm-up before each window [default: 100 ms for quick, 500 ms for full]
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) warmup: Option<Duration>,

    /// Time over which a rate is counted [default: 300 ms for quick, 2 s for full; longer for slow operations]
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) window: Option<Duration>,

    /// Part of the window that makes one sample [default: 50 ms for quick, 100 ms for full]
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) interval: Option<Duration>,

    /// Seed of the random order [default: random, and saved]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,

    /// Whether to bind each task to a CPU of its own [default: each, where the system can]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub(crate) pin: Option<Pin>,

    /// What tasks are, for workloads that can be either
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,

    /// Allow more tasks than CPUs
    #[arg(long)]
    pub(crate) oversubscribe: bool,

    /// Size parameter of the workloads: 64MiB, 200 (`faultline workloads` shows what it means for each)
    #[arg(long, value_name = "SIZE", value_parser = size, allow_hyphen_values = true)]
    pub(crate) size: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SuiteName {
    /// The loops of the literature, about two minutes on two CPUs
    Quick,
    /// Every workload in every variant
    Full,
}

impl From<SuiteName> for Suite {
    fn from(name: SuiteName) -> Self {
        match name {
            SuiteName::Quick => Suite::Quick,
            SuiteName::Full => Suite::Full,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Pin {
    /// A CPU of its own for each task, cores before hardware threads
    Each,
    /// The scheduler decides
    None,
}

impl From<Pin> for PinPolicy {
    fn from(pin: Pin) -> Self {
        match pin {
            Pin::Each => PinPolicy::Each,
            Pin::None => PinPolicy::None,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Mode {
    /// Processes, each with its own address space
    Process,
    /// Threads of one process
    Thread,
}

impl From<Mode> for TaskMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Process => TaskMode::Process,
            Mode::Thread => TaskMode::Thread,
        }
    }
}
