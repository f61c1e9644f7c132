//! Whether a rate that the lens predicts can be trusted. Otherwise none is given.

use crate::lens::cells::overlap;
use crate::thresholds::{LENS_OVERLAP, LENS_UNKNOWN};
use faultline_model::lens::raw::Spent;
use faultline_model::lens::reading::Reading;
use faultline_model::lens::settings::{CostTimes, DelaySettings};
use faultline_model::lens::summary::Withheld;

/// What waking a CPU and an interrupt take at least, in nanoseconds. Decides only whether they may matter where neither was modelled.
const WAKE_NS: f64 = 5000.0;
const INTERRUPT_NS: f64 = 1000.0;

/// Why the rate of a reading of that many tasks is not given; `None` if it is. `times`: those of the run, if it saved them.
pub(crate) fn withheld(reading: &Reading, tasks: u32, times: Option<&CostTimes>) -> Option<Withheld> {
    let Some(spent) = reading.spent else { return Some(Withheld::NotNoted) };
    if tasks >= 2
        && let Some(share) = overlap(reading)
        && share < LENS_OVERLAP
        && asleep(&spent) < share_limit(reading, tasks)
    {
        return Some(Withheld::LittleOverlap { share });
    }
    match times.and_then(|times| times.delays) {
        None => beyond(not_modelled(reading, &spent, tasks)).map(|share| Withheld::NotModelled { share }),
        Some(DelaySettings { is_measured: true, .. }) => {
            beyond(by_chance(reading, &spent, tasks)).map(|share| Withheld::FewDelays { share })
        }
        Some(_) => beyond(not_measured(reading, &spent, tasks)).map(|share| Withheld::NotMeasured { share }),
    }
}

fn beyond(share: f64) -> Option<f64> {
    (share > LENS_UNKNOWN).then_some(share)
}

/// The time of all tasks' CPUs together, in clocks.
fn time(reading: &Reading, tasks: u32) -> f64 {
    reading.predicted_ns * 1000.0 / reading.machine.instruction_ps * f64::from(tasks)
}

/// Clocks that waking takes at least.
fn asleep(spent: &Spent) -> f64 {
    spent.times_woken as f64 * WAKE_NS
}

/// Nanoseconds from which on sleeping explains that CPUs did not work at the same time.
fn share_limit(reading: &Reading, tasks: u32) -> f64 {
    LENS_UNKNOWN * reading.predicted_ns * f64::from(tasks)
}

/// Share of the time that depends on what was not modelled. What was left out would have come on top.
fn not_modelled(reading: &Reading, spent: &Spent, tasks: u32) -> f64 {
    let nanoseconds = asleep(spent) + spent.times_interrupted as f64 * INTERRUPT_NS;
    let left_out = nanoseconds * 1000.0 / reading.machine.instruction_ps;
    let all = time(reading, tasks) + left_out;
    if all <= 0.0 {
        return 0.0;
    }
    // CPUs that wait for the busiest line pay nothing meanwhile.
    let line = spent.busiest_line as f64 / time(reading, 1).max(1.0);
    ((spent.transfers as f64 + left_out) / all).max(line)
}

/// Share of the time that was modelled by times that were not measured.
fn not_measured(reading: &Reading, spent: &Spent, tasks: u32) -> f64 {
    // How often a line moves depends on how long its requests take.
    let Spent { transfers, holds, atomics, wakes, interrupts, entries, .. } = *spent;
    let clocks: u64 = [transfers, holds, atomics, wakes, interrupts, entries].iter().sum();
    let all = time(reading, tasks);
    if all > 0.0 { clocks as f64 / all } else { 0.0 }
}

/// Share of the time that a task loses if it is woken and interrupted as many times more as one standard deviation of these numbers, if they come
/// independently of each other (Poisson). At least one more: a region may begin or end just beside it.
fn by_chance(reading: &Reading, spent: &Spent, tasks: u32) -> f64 {
    let of = |clocks: u64, times: u64| match times {
        0 => 0.0,
        _ => clocks as f64 / times as f64 * (times as f64 / f64::from(tasks)).sqrt().max(1.0),
    };
    let clocks = of(spent.wakes, spent.times_woken) + of(spent.interrupts, spent.times_interrupted);
    let all = time(reading, 1);
    if all > 0.0 { clocks / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::example;
    use faultline_model::lens::reading::Overlap;

    /// A reading of two tasks in 1,000,000 clocks of 0.5 ns each.
    fn reading(spent: Spent) -> Reading {
        let mut record = example::record(&[(2, 1.0)]);
        let mut reading = *record.attempts.remove(0).reading.unwrap();
        (reading.predicted_ns, reading.spent) = (500_000.0, Some(spent));
        reading
    }

    fn times(is_measured: bool) -> CostTimes {
        let delays =
            DelaySettings { is_measured, atomic_ps: 1, request_percent: 1, wake_ns: 1, interrupt_ns: 1, entry_ns: 1 };
        CostTimes {
            instruction_ps: 500,
            same_cache_ns: 20,
            same_socket_ns: 20,
            other_socket_ns: 20,
            memory_ns: 80,
            delays: Some(delays),
        }
    }

    #[test]
    fn without_a_model_of_them_transfers_and_sleep_make_a_rate_unknown() {
        let of = |spent| withheld(&reading(spent), 2, None);
        assert_eq!(of(Spent { transfers: 100_000, ..Spent::default() }), None);
        assert_eq!(of(Spent { transfers: 1_000_000, ..Spent::default() }), Some(Withheld::NotModelled { share: 0.5 }));
        let line = Spent { transfers: 900_000, busiest_line: 900_000, ..Spent::default() };
        assert_eq!(
            withheld(&reading(line), 8, None),
            Some(Withheld::NotModelled { share: 0.9 }),
            "eight that wait for it"
        );
        // A hundred times 5 µs are a million clocks on top of two million.
        let Some(Withheld::NotModelled { share }) = of(Spent { times_woken: 100, ..Spent::default() }) else {
            panic!()
        };
        assert!((share - 1.0 / 3.0).abs() < 1e-9, "{share}");
        assert!(of(Spent { times_interrupted: 900, ..Spent::default() }).is_some());
        assert_eq!(of(Spent { times_woken: 3, times_interrupted: 3, ..Spent::default() }), None);
    }

    #[test]
    fn what_was_modelled_by_times_of_no_machine_makes_a_rate_unknown() {
        let most = Spent { holds: 500_000, wakes: 500_000, ..Spent::default() };
        assert_eq!(withheld(&reading(most), 2, Some(&times(false))), Some(Withheld::NotMeasured { share: 0.5 }));
        assert_eq!(withheld(&reading(most), 2, Some(&times(true))), None);
        let transfers = Spent { transfers: 600_000, ..Spent::default() };
        assert_eq!(withheld(&reading(transfers), 2, Some(&times(false))), Some(Withheld::NotMeasured { share: 0.3 }));
        let few = Spent { transfers: 400_000, ..Spent::default() };
        assert_eq!(withheld(&reading(few), 2, Some(&times(false))), None);
    }

    #[test]
    fn a_wake_up_that_takes_much_of_the_time_makes_a_rate_a_matter_of_chance() {
        let of = |spent| withheld(&reading(spent), 2, Some(&times(true)));
        let once = Spent { wakes: 400_000, times_woken: 1, ..Spent::default() };
        assert_eq!(of(once), Some(Withheld::FewDelays { share: 0.4 }));
        assert_eq!(of(Spent { times_woken: 100, ..once }), None, "a hundred that take as long together");
        assert_eq!(of(Spent { wakes: 40_000, ..once }), None, "a short one");
        let both =
            Spent { wakes: 200_000, times_woken: 1, interrupts: 200_000, times_interrupted: 1, ..Spent::default() };
        assert_eq!(of(both), Some(Withheld::FewDelays { share: 0.4 }));
    }

    #[test]
    fn tasks_that_were_busy_one_after_the_other_for_no_reason_predict_nothing() {
        let overlap = Some(Overlap { busy_time: 1000, overlapping_time: 300 });
        let of = |spent, tasks| withheld(&Reading { overlap, ..reading(spent) }, tasks, Some(&times(true)));
        assert_eq!(of(Spent::default(), 2), Some(Withheld::LittleOverlap { share: 0.3 }));
        assert_eq!(of(Spent::default(), 1), None);
        assert_eq!(of(Spent { times_woken: 200, ..Spent::default() }, 2), None, "they slept");
    }

    #[test]
    fn older_readings_predict_nothing() {
        assert_eq!(withheld(&Reading { spent: None, ..reading(Spent::default()) }, 1, None), Some(Withheld::NotNoted));
    }
}
