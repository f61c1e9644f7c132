//! Shares of CPU time: the kernel's share of the tasks' own, and where the whole machine's went.

use crate::interval::estimate;
use crate::machine_time::MachineTime;
use crate::median::median;
use crate::repeat::Repeat;
use faultline_model::summary::{Estimate, TimeShares};

/// The kernel's share of the CPU time that the tasks used, 0…1, over the repeats that say how much they used.
pub(crate) fn system_share(repeats: &[Repeat<'_>]) -> Option<Estimate> {
    let share = |repeat: &Repeat<'_>| {
        let usage = repeat.attempt.usage?;
        let total_ns = usage.user_ns as f64 + usage.system_ns as f64;
        (total_ns > 0.0).then(|| usage.system_ns as f64 / total_ns)
    };
    estimate(&repeats.iter().filter_map(share).collect::<Vec<_>>())
}

/// Medians over the repeats of each kind's share of the machine's time, brought to a sum of 1.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use faultline_model::describe::Style;
    use faultline_model::record::Attempt;

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
