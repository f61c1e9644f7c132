//! Trustworthiness of a rate predicted by the lens. An untrustworthy rate is withheld.

use crate::lens::cells::overlap;
use crate::lens::summary::Withheld;
use crate::thresholds::{LENS_OVERLAP, LENS_UNKNOWN};
use faultline_lens_format::Spent;
use faultline_record::lens::reading::Reading;
use faultline_record::lens::settings::DelaySettings;

/// Minimum cost of waking a CPU and of an interrupt, in nanoseconds. Used only to decide whether
/// they may matter if neither was modelled.
const WAKE_NS: f64 = 5000.0;
const INTERRUPT_NS: f64 = 1000.0;

/// Reason to withhold the rate of a reading with this number of tasks; `None` if it is given.
/// `delays`: those of the run, if rates are predicted.
pub(crate) fn withheld(reading: &Reading, tasks: u32, delays: Option<&DelaySettings>) -> Option<Withheld> {
    let spent = reading.spent;
    if tasks >= 2
        && let Some(share) = overlap(reading)
        && share < LENS_OVERLAP
        && asleep(&spent) < share_limit(reading, tasks)
    {
        return Some(Withheld::LittleOverlap { share });
    }
    match delays {
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

/// Total time of all tasks' CPUs, in clocks.
fn time(reading: &Reading, tasks: u32) -> f64 {
    reading.predicted_ns * 1000.0 / f64::from(reading.machine.times.instruction_ps) * f64::from(tasks)
}

/// Minimum time for wake-ups, in nanoseconds.
fn asleep(spent: &Spent) -> f64 {
    spent.times_woken as f64 * WAKE_NS
}

/// Nanoseconds of sleep above which sleeping explains that CPUs did not work at the same time.
fn share_limit(reading: &Reading, tasks: u32) -> f64 {
    LENS_UNKNOWN * reading.predicted_ns * f64::from(tasks)
}

/// Share of the time that depends on unmodelled delays. Delays that were left out would have been
/// added.
fn not_modelled(reading: &Reading, spent: &Spent, tasks: u32) -> f64 {
    let nanoseconds = asleep(spent) + spent.times_interrupted as f64 * INTERRUPT_NS;
    let left_out = nanoseconds * 1000.0 / f64::from(reading.machine.times.instruction_ps);
    let all = time(reading, tasks) + left_out;
    if all <= 0.0 {
        return 0.0;
    }
    // CPUs that wait for the busiest line pay nothing meanwhile.
    let line = spent.busiest_line as f64 / time(reading, 1).max(1.0);
    ((spent.transfers as f64 + left_out) / all).max(line)
}

/// Share of the time from modelled delays that were not measured.
fn not_measured(reading: &Reading, spent: &Spent, tasks: u32) -> f64 {
    // The number of a line's moves depends on how long its requests take.
    let Spent { transfers, holds, atomics, wakes, interrupts, entries, .. } = *spent;
    let clocks: u64 = [transfers, holds, atomics, wakes, interrupts, entries].iter().sum();
    let all = time(reading, tasks);
    if all > 0.0 { clocks as f64 / all } else { 0.0 }
}

/// Share of the time that a task loses if it is woken and interrupted more often by one standard
/// deviation of these numbers, assuming independent events (Poisson). At least one more, because a
/// region may begin or end just beside an event.
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
    use faultline_lens_format::DelayTimes;
    use faultline_record::lens::reading::Overlap;

    /// A reading of two tasks in 1,000,000 clocks of 0.5 ns each.
    fn reading(spent: Spent) -> Reading {
        let mut record = example::record(&[(2, 1.0)]);
        let mut reading = *record.attempts.remove(0).reading.unwrap();
        (reading.predicted_ns, reading.spent) = (500_000.0, spent);
        reading
    }

    fn delays(is_measured: bool) -> DelaySettings {
        DelaySettings { is_measured, times: DelayTimes::USUAL }
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
        // 100 wake-ups of 5 µs are a million clocks on top of two million.
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
        assert_eq!(withheld(&reading(most), 2, Some(&delays(false))), Some(Withheld::NotMeasured { share: 0.5 }));
        assert_eq!(withheld(&reading(most), 2, Some(&delays(true))), None);
        let transfers = Spent { transfers: 600_000, ..Spent::default() };
        assert_eq!(withheld(&reading(transfers), 2, Some(&delays(false))), Some(Withheld::NotMeasured { share: 0.3 }));
        let few = Spent { transfers: 400_000, ..Spent::default() };
        assert_eq!(withheld(&reading(few), 2, Some(&delays(false))), None);
    }

    #[test]
    fn a_wake_up_that_takes_much_of_the_time_makes_a_rate_a_matter_of_chance() {
        let of = |spent| withheld(&reading(spent), 2, Some(&delays(true)));
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
        let overlap = Overlap { busy_time: 1000, overlapping_time: 300 };
        let of = |spent, tasks| withheld(&Reading { overlap, ..reading(spent) }, tasks, Some(&delays(true)));
        assert_eq!(of(Spent::default(), 2), Some(Withheld::LittleOverlap { share: 0.3 }));
        assert_eq!(of(Spent::default(), 1), None);
        assert_eq!(of(Spent { times_woken: 200, ..Spent::default() }, 2), None, "they slept");
    }
}
