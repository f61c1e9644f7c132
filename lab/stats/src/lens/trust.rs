//! Trustworthiness of a rate predicted by the lens: an untrustworthy rate is withheld, and another
//! has a range.

use crate::lens::cells::{instructions, overlap};
use crate::lens::summary::{Span, Withheld};
use crate::thresholds::{LENS_OVERLAP, LENS_UNKNOWN};
use faultline_lens_format::{ByDistance, LensMode, Spent};
use faultline_record::lens::reading::Reading;
use faultline_record::lens::settings::{DelaySettings, Precision, Quartiles};

/// Minimum cost of waking a CPU and of an interrupt, in nanoseconds. Used only to decide whether
/// they may matter if neither was modelled.
const WAKE_NS: f64 = 5000.0;
const INTERRUPT_NS: f64 = 1000.0;

/// Number of CPUs that a calibration lets contend for a line.
const CALIBRATED_CPUS: u32 = 2;

/// Reason to withhold the rate of a reading with this number of tasks; `None` if it is given.
/// `delays`: those of the run, if rates are predicted. `one`: a reading of one CPU, if any.
///
/// Only what lies in the range of the calibration is predicted: two CPUs that contend for a line
/// all the time or take turns, over the distances of the machine, and threads that sleep.
pub(crate) fn withheld(
    reading: &Reading,
    tasks: u32,
    delays: Option<&DelaySettings>,
    one: Option<&Reading>,
) -> Option<Withheld> {
    let spent = reading.spent;
    if tasks >= 2
        && let Some(share) = beyond(of_time(reading, spent.waits, tasks))
    {
        return Some(Withheld::Spinning { share: share.min(1.0) });
    }
    if tasks >= 2
        && let Some(share) = overlap(reading)
        && share < LENS_OVERLAP
        && asleep(&spent) < share_limit(reading, tasks)
    {
        return Some(Withheld::LittleOverlap { share });
    }
    let by_delays = match delays {
        None => beyond(not_modelled(reading, &spent, tasks)).map(|share| Withheld::NotModelled { share }),
        Some(DelaySettings { is_measured: true, precision, .. }) => beyond(queues(reading, &spent, tasks))
            .map(|share| Withheld::Queues { share })
            .or_else(|| {
                let share = beyond(other_distance(reading, precision.as_ref()?, tasks))?;
                Some(Withheld::OtherDistance { share })
            })
            .or_else(|| beyond(by_chance(reading, &spent, tasks)).map(|share| Withheld::FewDelays { share })),
        Some(_) => beyond(not_measured(reading, &spent, tasks)).map(|share| Withheld::NotMeasured { share }),
    };
    by_delays.or_else(|| {
        let share = beyond(retries(reading, one?, tasks))?;
        Some(Withheld::Retries { share })
    })
}

/// Share of the time for which more CPUs than calibrated waited for lines in use.
fn queues(reading: &Reading, spent: &Spent, tasks: u32) -> f64 {
    if tasks > CALIBRATED_CPUS { of_time(reading, spent.holds, tasks) } else { 0.0 }
}

/// Share of the time of transfers over distances that were not calibrated.
fn other_distance(reading: &Reading, precision: &Precision, tasks: u32) -> f64 {
    let (machine, times) = (&reading.machine, &reading.machine.times);
    let ByDistance { mut same_socket, mut other_socket, several, .. } = reading.totals.by_distance;
    // Several CPUs cost as much as the farthest.
    match (machine.sockets > 1, machine.cpus_per_cache < machine.cpus) {
        (true, _) => other_socket += several,
        (false, true) => same_socket += several,
        (false, false) => {}
    }
    let of = |transfers: u64, ns: u32, is_known: bool| if is_known { 0.0 } else { transfers as f64 * f64::from(ns) };
    let nanoseconds = of(same_socket, times.same_socket_ns, precision.has_same_socket)
        + of(other_socket, times.other_socket_ns, precision.has_other_socket);
    let all = reading.predicted_ns * f64::from(tasks);
    if all > 0.0 { nanoseconds / all } else { 0.0 }
}

/// Share of a program's instructions beyond those of one CPU, less the share of time in which CPUs
/// slept: waiting threads that are put to sleep take longer paths, but these cost little beside the
/// sleep. A kernel's longer paths are work, and not distinguished.
fn retries(reading: &Reading, one: &Reading, tasks: u32) -> f64 {
    let (all, alone) = (instructions(reading), instructions(one));
    if tasks < 2 || reading.mode != LensMode::Program || all <= 0.0 {
        return 0.0;
    }
    1.0 - alone / all - of_time(reading, reading.spent.wakes, tasks)
}

/// Clocks as a share of the total time of all tasks' CPUs.
fn of_time(reading: &Reading, clocks: u64, tasks: u32) -> f64 {
    let all = time(reading, tasks);
    if all > 0.0 { clocks as f64 / all } else { 0.0 }
}

/// A reading's rate by the quartiles of the calibrated times, as factors of the rate: the lower and
/// the upper end. Times add up, so the error of each counts by its share. `tasks`: CPUs with tasks.
pub(crate) fn range(reading: &Reading, tasks: u32, precision: &Precision) -> Span {
    let Spent { transfers, holds, atomics, wakes, interrupts, entries, .. } = reading.spent;
    let parts = [
        (transfers + holds, precision.transfers),
        (atomics, precision.atomics),
        (wakes, precision.wakes),
        (interrupts, precision.interrupts),
        (entries, precision.entries),
    ];
    let longer = |of: fn(&Quartiles) -> u32| -> f64 {
        let error = |(clocks, quartiles): &(u64, Quartiles)| {
            of_time(reading, *clocks, tasks) * (f64::from(of(quartiles)) / 1000.0 - 1.0)
        };
        1.0 + parts.iter().map(error).sum::<f64>()
    };
    // A shorter time by more than all of it would be no time.
    Span { low: 1.0 / longer(|of| of.high), high: 1.0 / longer(|of| of.low).max(f64::EPSILON) }
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
        DelaySettings { is_measured, times: DelayTimes::USUAL, precision: None }
    }

    /// As [`super::withheld`], without a reading of one CPU.
    fn withheld(reading: &Reading, tasks: u32, delays: Option<&DelaySettings>) -> Option<Withheld> {
        super::withheld(reading, tasks, delays, None)
    }

    /// Ranges of ± 50 % of transfers, and + 100 % of wake-ups, on a machine of one socket.
    fn precision() -> Precision {
        let exact = Quartiles { low: 1000, high: 1000 };
        Precision {
            transfers: Quartiles { low: 500, high: 1500 },
            atomics: exact,
            wakes: Quartiles { low: 1000, high: 2000 },
            interrupts: exact,
            entries: exact,
            has_same_socket: false,
            has_other_socket: false,
        }
    }

    #[test]
    fn threads_that_wait_by_spinning_predict_nothing_with_or_without_a_model() {
        let of = |waits, tasks, delays: Option<&DelaySettings>| {
            withheld(&reading(Spent { waits, ..Spent::default() }), tasks, delays)
        };
        for delays in [None, Some(&delays(true)), Some(&delays(false))] {
            assert_eq!(of(600_000, 2, delays), Some(Withheld::Spinning { share: 0.3 }));
            assert_eq!((of(400_000, 2, delays), of(600_000, 1, delays)), (None, None));
        }
    }

    #[test]
    fn more_cpus_than_calibrated_that_queue_for_a_line_predict_nothing() {
        let of = |tasks| withheld(&reading(Spent { holds: 1_200_000, ..Spent::default() }), tasks, Some(&delays(true)));
        assert_eq!((of(2), of(4)), (None, Some(Withheld::Queues { share: 0.3 })));
    }

    #[test]
    fn a_distance_that_the_calibrated_machine_lacks_predicts_nothing() {
        let mut far = reading(Spent::default());
        // 2000 transfers of 150 ns are 300 of 1000 µs.
        far.totals.by_distance = ByDistance { other_socket: 2000, ..ByDistance::default() };
        let measured = |has_other_socket| {
            let precision = Some(Precision { has_other_socket, ..precision() });
            DelaySettings { precision, ..delays(true) }
        };
        assert_eq!(withheld(&far, 2, Some(&measured(false))), Some(Withheld::OtherDistance { share: 0.3 }));
        assert_eq!((withheld(&far, 2, Some(&measured(true))), withheld(&far, 2, Some(&delays(true)))), (None, None));
    }

    #[test]
    fn instructions_that_one_cpu_does_not_execute_predict_nothing() {
        let one = reading(Spent::default());
        let of = |instructions, spent, mode| {
            let mut reading = Reading { mode, ..reading(spent) };
            reading.totals.instructions = instructions;
            super::withheld(&reading, 2, Some(&delays(true)), Some(&one))
        };
        let awake = Spent::default();
        assert_eq!(one.totals.instructions, 100_000);
        assert_eq!(of(200_000, awake, LensMode::Program), Some(Withheld::Retries { share: 0.5 }));
        assert_eq!(of(120_000, awake, LensMode::Program), None);
        assert_eq!(of(200_000, awake, LensMode::Kernel), None, "longer paths of a kernel are work");
        let asleep = Spent { wakes: 800_000, times_woken: 400, ..awake };
        assert_eq!(of(200_000, asleep, LensMode::Program), None, "asleep for two fifths of the time");
    }

    #[test]
    fn each_calibrated_time_widens_the_range_by_its_share() {
        let of = |spent| range(&reading(spent), 2, &precision());
        assert_eq!(of(Spent { atomics: 1_000_000, ..Spent::default() }), Span { low: 1.0, high: 1.0 });
        let half = of(Spent { transfers: 600_000, holds: 400_000, ..Spent::default() });
        assert_eq!(half, Span { low: 1.0 / 1.25, high: 1.0 / 0.75 });
        assert_eq!(of(Spent { wakes: 1_000_000, ..Spent::default() }), Span { low: 1.0 / 1.5, high: 1.0 });
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
