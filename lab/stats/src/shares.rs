//! Shares of CPU time: the kernel's share of the tasks' own time, and the use of the whole
//! machine's time.

use crate::estimate::{Estimate, estimate};
use crate::figures::TimeShares;
use crate::median::median;
use crate::repeat::Repeat;
use faultline_record::record::Attempt;

/// The kernel's share of the CPU time that the tasks used, 0…1, over the repeats that report their
/// usage.
pub(crate) fn system_share(repeats: &[Repeat<'_>]) -> Option<Estimate> {
    let share = |repeat: &Repeat<'_>| {
        let usage = repeat.attempt.usage?;
        let total_ns = usage.user_ns as f64 + usage.system_ns as f64;
        (total_ns > 0.0).then(|| usage.system_ns as f64 / total_ns)
    };
    estimate(&repeats.iter().filter_map(share).collect::<Vec<_>>())
}

/// Medians over the repeats of each kind's share of the machine's time, scaled to a sum of 1.
pub(crate) fn time_shares(repeats: &[Repeat<'_>]) -> Option<TimeShares> {
    let times: Vec<MachineTime> = repeats.iter().filter_map(|repeat| MachineTime::of(repeat.attempt)).collect();
    let share = |part_ns: fn(&MachineTime) -> f64| {
        median(&times.iter().map(|time| part_ns(time) / time.total_ns()).collect::<Vec<_>>())
    };
    let user = share(|time| time.user_ns)?;
    let system = share(|time| time.system_ns + time.interrupt_ns)?;
    let idle = share(|time| time.idle_ns)?;
    let steal = share(|time| time.steal_ns)?;
    let sum = user + system + idle + steal;
    (sum > 0.0).then(|| TimeShares { user: user / sum, system: system / sum, idle: idle / sum, steal: steal / sum })
}

/// CPU time of all CPUs, in nanoseconds, by use. None is negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MachineTime {
    /// User mode.
    pub(crate) user_ns: f64,
    /// Kernel, without interrupts.
    pub(crate) system_ns: f64,
    /// Interrupts.
    pub(crate) interrupt_ns: f64,
    /// Idle, including waiting for I/O.
    pub(crate) idle_ns: f64,
    /// Taken away by a hypervisor.
    pub(crate) steal_ns: f64,
}

impl MachineTime {
    /// Reads the counters; `None` if they hold no CPU time. A missing counter did not change. One
    /// that decreased counts as 0; Linux's time of waiting for I/O can do so.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use faultline_record::describe::Style;

    fn repeats(attempts: &[Attempt]) -> Vec<Repeat<'_>> {
        attempts.iter().filter_map(|attempt| Repeat::of(Style::Loop, attempt.ordinal, attempt)).collect()
    }

    #[test]
    fn the_systems_share_is_of_the_tasks_own_time() {
        let mut attempt = example::attempt(2, 50);
        attempt.usage = Some(example::usage(1_000_000, 3_000_000));
        let idle = Attempt { usage: Some(example::usage(0, 0)), ..attempt.clone() };
        assert_eq!(system_share(&repeats(&[attempt, idle])).map(|share| (share.median, share.n)), Some((0.75, 1)));
        assert_eq!(system_share(&[]), None);
    }

    #[test]
    fn shares_add_up_to_one_with_interrupts_in_the_kernel_and_waiting_in_idle() {
        let mut attempt = example::attempt(2, 50);
        let counters = [("user", 40), ("system", 20), ("irq", 10), ("idle", 15), ("iowait", 10), ("steal", 5)];
        attempt.counters = counters.map(|(name, ns)| (format!("stat.{name}_ns"), ns)).into();
        let shares = time_shares(&repeats(std::slice::from_ref(&attempt))).unwrap();
        assert_eq!(shares, TimeShares { user: 0.4, system: 0.3, idle: 0.25, steal: 0.05 });
        attempt.counters = [("stat.iowait_ns".to_owned(), -5)].into();
        assert_eq!(time_shares(&repeats(&[attempt])), None);
    }
}
