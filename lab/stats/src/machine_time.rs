//! Where the whole machine's CPU time went during one attempt's region of interest, from its `stat.*` counters.

use faultline_model::record::Attempt;

/// CPU time of all CPUs, in nanoseconds, by what it was used for. None is negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MachineTime {
    /// User mode.
    pub(crate) user_ns: f64,
    /// Kernel, interrupts aside.
    pub(crate) system_ns: f64,
    /// Interrupts.
    pub(crate) interrupt_ns: f64,
    /// Idle, waiting for I/O included.
    pub(crate) idle_ns: f64,
    /// Taken away by a hypervisor.
    pub(crate) steal_ns: f64,
}

impl MachineTime {
    /// Reads the counters; none when they hold no CPU time. A counter that is not there did not move; one that went
    /// back, as Linux lets its waiting for I/O do, is taken for 0.
    pub(crate) fn of(attempt: &Attempt) -> Option<Self> {
        let counter = |name: &str| attempt.counters.get(name).map_or(0.0, |&delta| delta.max(0) as f64);
        let time = MachineTime {
            user_ns: counter("stat.user_ns"),
            system_ns: counter("stat.system_ns"),
            interrupt_ns: counter("stat.irq_ns"),
            idle_ns: counter("stat.idle_ns") + counter("stat.iowait_ns"),
            steal_ns: counter("stat.steal_ns"),
        };
        (time.total_ns() > 0.0).then_some(time)
    }

    /// All CPUs' time.
    pub(crate) fn total_ns(&self) -> f64 {
        self.user_ns + self.system_ns + self.interrupt_ns + self.idle_ns + self.steal_ns
    }
}
