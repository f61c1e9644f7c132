//! The largest effect of disturbances (stolen time, other processes, shared cores) on a curve's
//! base and on the point that its verdict rests on, and the possible range of the undisturbed
//! efficiency (docs/METHODOLOGY.md §6).

use crate::estimate::estimate;
use crate::gather::{CaseCells, CellRepeats};
use crate::machine::Cpus;
use crate::repeat::{Repeat, length_ns};
use crate::shares::MachineTime;
use crate::speedup::ratios;
use crate::thresholds::SIBLING_SHARE;
use crate::verdict::{Disturbance, DisturbanceCause, EfficiencyRange};
use crate::warnings::{others_cpus, region_ns, stolen_share, tasks_ns};
use faultline_record::describe::Style;
use faultline_record::protocol::UsageScope;
use std::collections::BTreeMap;

/// The disturbances of an efficiency, and their largest effect.
#[derive(Debug)]
pub(crate) struct Doubt {
    /// Causes of lost CPU time, at the base and at the point.
    pub(crate) by: Vec<Disturbance>,
    /// Possible range of the undisturbed efficiency; `None` if it is unbounded.
    pub(crate) could_be: Option<EfficiencyRange>,
}

/// The doubt about the efficiency of `cell` relative to `base`; `None` if neither was disturbed.
pub(crate) fn doubt(
    case: &CaseCells<'_>,
    base: &CellRepeats<'_>,
    cell: &CellRepeats<'_>,
    cpus: &Cpus,
) -> Option<Doubt> {
    let [at_base, at_point] = [base, cell].map(|cell| Slowing::of(case.about.style, cell, cpus));
    let by: Vec<Disturbance> = at_base.disturbances().chain(at_point.disturbances()).collect();
    let efficiencies = |moved: &dyn Fn(u32, f64) -> f64| {
        let per_task = f64::from(base.tasks) / f64::from(cell.tasks);
        let ratios = ratios(case.about.direction, base, cell).into_iter();
        estimate(&ratios.map(|(block, ratio)| moved(block, ratio) * per_task).collect::<Vec<_>>())
    };
    let lowest = efficiencies(&|block, ratio| ratio / at_base.factor(block));
    let highest = efficiencies(&|block, ratio| ratio * at_point.factor(block));
    let could_be = lowest.zip(highest).map(|(low, high)| EfficiencyRange { low: low.low, high: high.high });
    (!by.is_empty()).then_some(Doubt { by, could_be })
}

/// The disturbances of a cell, with the largest slowdown of each of its repeats.
struct Slowing {
    tasks: u32,
    causes: Vec<DisturbanceCause>,
    /// By block: the largest possible speed-up of the undisturbed tasks, as a factor.
    factors: BTreeMap<u32, f64>,
}

impl Slowing {
    fn of(style: Style, cell: &CellRepeats<'_>, cpus: &Cpus) -> Self {
        let tasks = cell.tasks;
        let seen = Seen {
            style,
            tasks,
            cpus,
            others_cpus: others_cpus(style, cell, cpus.logical),
            stolen_share: stolen_share(cell),
            quota_cpus: cpus.quota_for(tasks),
        };
        let factors = cell.repeats.iter().map(|repeat| (repeat.block, seen.factor(repeat))).collect();
        Slowing { tasks, causes: seen.causes(), factors }
    }

    fn factor(&self, block: u32) -> f64 {
        self.factors.get(&block).copied().unwrap_or(1.0)
    }

    /// The causes that cost time in at least one repeat.
    fn disturbances(&self) -> impl Iterator<Item = Disturbance> {
        let is_slowed = self.factors.values().any(|factor| *factor > 1.0);
        let causes = self.causes.iter().filter(move |_| is_slowed);
        causes.map(|cause| Disturbance { tasks: self.tasks, cause: cause.clone() })
    }
}

/// The disturbances seen in a cell.
struct Seen<'a> {
    style: Style,
    tasks: u32,
    cpus: &'a Cpus,
    others_cpus: Option<f64>,
    stolen_share: Option<f64>,
    quota_cpus: Option<f64>,
}

impl Seen<'_> {
    fn causes(&self) -> Vec<DisturbanceCause> {
        let shared = self.cpus.shared_cores().filter(|cores| self.tasks > *cores);
        let causes = [
            self.others_cpus.map(|cpus| DisturbanceCause::Others { cpus }),
            self.stolen_share.map(|share| DisturbanceCause::Steal { share }),
            self.quota_cpus.map(|cpus| DisturbanceCause::Quota { cpus }),
            shared.map(|cores| DisturbanceCause::SharedCores { cores }),
        ];
        causes.into_iter().flatten().collect()
    }

    /// The largest possible speed-up of an undisturbed repeat, as a factor: at least 1, and
    /// infinite if its tasks may have had no CPU time.
    fn factor(&self, repeat: &Repeat<'_>) -> f64 {
        self.lost_time(repeat).unwrap_or(1.0) * self.own_siblings()
    }

    /// The factor for CPU time that the tasks lost and for cores that other processes kept busy.
    fn lost_time(&self, repeat: &Repeat<'_>) -> Option<f64> {
        let most_ns = f64::from(self.tasks) * region_ns(self.style, repeat, self.cpus.logical)?;
        let stolen_ns = self.stolen_share.and_then(|_| Some(MachineTime::of(repeat.attempt)?.steal_ns)).unwrap_or(0.0);
        // Some kernels count stolen time as the tasks' own time.
        let unstolen = (most_ns / (most_ns - stolen_ns).max(0.0)).max(1.0);
        let Some(own_ns) = own_ns(repeat) else { return Some(unstolen) };
        let others_ns = self.others_cpus.and_then(|_| others_ns(repeat, own_ns)).unwrap_or(0.0).max(0.0);
        let could_ns = if self.quota_cpus.is_some() { most_ns } else { most_ns.min(own_ns + others_ns + stolen_ns) };
        let regained = (could_ns / own_ns).max(1.0);
        let beside_ns = (others_ns - (could_ns - own_ns).max(0.0)).max(0.0);
        Some(regained.max(unstolen) * self.others_siblings(beside_ns / own_ns))
    }

    /// The factor for other processes on the sibling threads of the tasks' cores. `part`: how much
    /// of the tasks' time the siblings were busy.
    fn others_siblings(&self, part: f64) -> f64 {
        match self.cpus.shared_cores() {
            Some(_) => 1.0 / (1.0 - SIBLING_SHARE * part.min(1.0)),
            None => 1.0,
        }
    }

    /// The factor for tasks that share cores with each other.
    fn own_siblings(&self) -> f64 {
        let cores = self.cpus.shared_cores().filter(|cores| self.tasks > *cores);
        cores.map_or(1.0, |cores| (f64::from(self.tasks) / f64::from(cores)).min(1.0 / (1.0 - SIBLING_SHARE)))
    }
}

/// CPU time of the tasks in the region of interest. If only the usage of a task's whole life is
/// known, it is scaled by the region's share of warm-up and region.
fn own_ns(repeat: &Repeat<'_>) -> Option<f64> {
    let used_ns = tasks_ns(repeat)?;
    let [warmup_ns, window_ns] = [&repeat.attempt.warmup, &repeat.attempt.window].map(|part| length_ns(part) as f64);
    let is_life = repeat.attempt.usage.is_some_and(|usage| usage.scope == UsageScope::Life);
    let part = if is_life && window_ns > 0.0 { window_ns / (warmup_ns + window_ns) } else { 1.0 };
    Some(used_ns * part)
}

/// CPU time of other processes in the region of interest, given the tasks' time `own_ns`.
fn others_ns(repeat: &Repeat<'_>, own_ns: f64) -> Option<f64> {
    let machine = MachineTime::of(repeat.attempt)?;
    Some(machine.user_ns + machine.system_ns - own_ns)
}

#[cfg(test)]
mod tests {
    use crate::verdict::{CurveVerdict, Disturbance, DisturbanceCause, InconclusiveVerdict, Verdict};
    use crate::{example, summarise};
    use faultline_record::protocol::UsageScope;
    use faultline_record::record::RunRecord;

    /// CPU time that the tasks and others used on two CPUs in a repeat, and stolen time, in CPUs.
    #[derive(Clone, Copy)]
    struct Use {
        own: f64,
        others: f64,
        stolen: f64,
    }

    const ALONE: Use = Use { own: 1.0, others: 0.0, stolen: 0.0 };
    const BOTH: Use = Use { own: 2.0, others: 0.0, stolen: 0.0 };

    /// A run on two CPUs at a million operations per second of CPU time, with the given use in each
    /// repeat and number of tasks.
    fn run(used: impl Fn(u32, u32) -> Use) -> RunRecord {
        let mut record = example::Run::new(&["load"]).record();
        for facts in record.head.sessions.iter_mut().flat_map(|session| &mut session.facts) {
            for key in ["cpu.logical", "cpu.usable", "cpu.cores"] {
                facts.count(key, 2);
            }
        }
        let plan = record.plan.clone();
        for attempt in &mut record.attempts {
            let item = &plan[attempt.ordinal as usize];
            let used = used(item.cell.tasks, item.block);
            let ns = |cpus: f64| (cpus * example::INTERVALS as f64 * 1e9) as u64;
            attempt.usage = Some(example::usage(0, ns(used.own)));
            let idle = 2.0 - used.own - used.others - used.stolen;
            let counters = [("user", used.others), ("system", used.own), ("steal", used.stolen), ("idle", idle)];
            attempt.counters = counters.map(|(name, cpus)| (format!("stat.{name}_ns"), ns(cpus) as i64)).into();
            for interval in &mut attempt.window {
                let per_task = used.own * 1e6 / f64::from(item.cell.tasks);
                interval.operations.fill(per_task as u64);
            }
        }
        record
    }

    fn verdict(record: &RunRecord) -> CurveVerdict {
        summarise(record).curves.remove(0).verdict
    }

    /// The verdict as measured, the possible efficiencies in percent, and the causes.
    fn withheld(record: &RunRecord) -> (Verdict, Option<(i64, i64)>, Vec<Disturbance>) {
        match verdict(record).reason.map(|reason| reason.what) {
            Some(InconclusiveVerdict::Disturbed { as_measured, could_be, by }) => {
                let percent = |share: f64| (share * 100.0).round() as i64;
                (as_measured, could_be.map(|range| (percent(range.low), percent(range.high))), by)
            }
            other => panic!("not disturbed: {other:?}"),
        }
    }

    fn at(tasks: u32, point: Use, base: Use) -> Use {
        if tasks == 1 { base } else { point }
    }

    #[test]
    fn time_that_others_took_withholds_a_loss_that_it_explains() {
        let squeezed = Use { own: 1.1, others: 0.9, stolen: 0.0 };
        let record = run(|tasks, _| at(tasks, squeezed, ALONE));
        let by = vec![Disturbance { tasks: 2, cause: DisturbanceCause::Others { cpus: 0.9 } }];
        assert_eq!(withheld(&record), (Verdict::DoesNotScale, Some((55, 100)), by));
    }

    #[test]
    fn time_that_others_took_from_no_task_leaves_the_verdict() {
        // A single task has its CPU to itself while others use the second. Two tasks wait for each
        // other three quarters of the time.
        let beside = Use { own: 1.0, others: 0.9, stolen: 0.0 };
        let waiting = Use { own: 0.5, others: 0.2, stolen: 0.0 };
        assert_eq!(verdict(&run(|tasks, _| at(tasks, waiting, beside))).verdict, Verdict::DoesNotScale);
        assert_eq!(verdict(&run(|tasks, _| at(tasks, BOTH, beside))).verdict, Verdict::Scales);
    }

    #[test]
    fn a_base_that_others_slowed_is_no_proof_of_scaling() {
        let slowed = Use { own: 0.7, others: 1.2, stolen: 0.0 };
        let shared = Use { own: 1.4, others: 0.04, stolen: 0.0 };
        let (seen, could_be, by) = withheld(&run(|tasks, _| at(tasks, shared, slowed)));
        assert_eq!((seen, could_be, by.len(), by[0].tasks), (Verdict::Scales, Some((70, 100)), 1, 1));
    }

    #[test]
    fn others_in_half_of_the_repeats_count_where_they_were() {
        let squeezed = Use { own: 1.0, others: 1.0, stolen: 0.0 };
        let half = run(|tasks, block| if tasks == 2 && block < 3 { squeezed } else { at(tasks, BOTH, ALONE) });
        let reason = verdict(&half).reason.map(|reason| reason.what);
        assert_eq!(reason, Some(InconclusiveVerdict::AcrossLimit { limits: vec![0.75, 0.9] }));
        let all_but_one =
            run(|tasks, block| if tasks == 2 && block < 5 { squeezed } else { at(tasks, squeezed, ALONE) });
        assert_eq!(withheld(&all_but_one).1, Some((50, 100)));
    }

    #[test]
    fn stolen_time_counts_whether_or_not_it_is_among_the_tasks_own() {
        let apart = Use { own: 1.4, others: 0.0, stolen: 0.6 };
        assert_eq!(withheld(&run(|tasks, _| at(tasks, apart, ALONE))).1, Some((70, 100)));
        let mut among = run(|tasks, _| at(tasks, apart, ALONE));
        for attempt in among.attempts.iter_mut().filter(|attempt| attempt.ordinal % 2 == 1) {
            attempt.usage = Some(example::usage(0, 12_000_000_000));
        }
        assert_eq!(withheld(&among).1, Some((70, 100)));
        let DisturbanceCause::Steal { share } = withheld(&among).2[0].cause else { panic!("{among:?}") };
        assert!((share - 0.3).abs() < 1e-6, "{share}");
    }

    #[test]
    fn a_quota_may_have_taken_all_that_tasks_did_not_use() {
        let capped = |own: f64| {
            let mut record = run(|tasks, _| at(tasks, Use { own, ..BOTH }, ALONE));
            for facts in record.head.sessions.iter_mut().flat_map(|session| &mut session.facts) {
                facts.count("cpu.logical", 4);
                facts.count("cpu.usable", 4);
                facts.real("cgroup.cpu_quota_cpus", 2.0);
            }
            record
        };
        assert_eq!(withheld(&capped(1.6)).1, Some((80, 100)));
        assert_eq!(verdict(&capped(1.99)).verdict, Verdict::Scales);
    }

    #[test]
    fn of_a_whole_lifes_usage_the_regions_part_is_taken() {
        let squeezed = Use { own: 1.2, others: 0.6, stolen: 0.0 };
        let mut record = run(|tasks, _| at(tasks, squeezed, ALONE));
        for attempt in &mut record.attempts {
            // The usage includes a warm-up of one second.
            let usage = attempt.usage.as_mut().unwrap();
            (usage.scope, usage.system_ns) = (UsageScope::Life, usage.system_ns / 6 * 7);
            attempt.warmup = vec![example::interval(0, &[1])];
        }
        let (seen, could_be, by) = withheld(&record);
        assert_eq!((seen, could_be, by.len(), by[0].tasks), (Verdict::DoesNotScale, Some((60, 90)), 1, 2));
    }

    #[test]
    fn tasks_on_two_threads_of_a_core_may_have_had_half_of_it() {
        let with_cores = |own: f64| {
            let mut record = run(|tasks, _| at(tasks, Use { own, ..BOTH }, ALONE));
            record.head.sessions[0].facts[0].count("cpu.cores", 1);
            record
        };
        let by = vec![Disturbance { tasks: 2, cause: DisturbanceCause::SharedCores { cores: 1 } }];
        assert_eq!(withheld(&with_cores(1.2)), (Verdict::DoesNotScale, Some((60, 120)), by));
        assert_eq!(verdict(&with_cores(0.7)).verdict, Verdict::DoesNotScale, "twice 35 % is still no scaling");
        assert_eq!(verdict(&with_cores(1.9)).verdict, Verdict::Scales);
    }

    #[test]
    fn others_on_the_second_thread_of_a_core_may_take_half_of_it() {
        // Two cores with four threads. Two tasks have a thread each, others use the rest.
        let mut record = run(|tasks, _| at(tasks, Use { own: 2.0, others: 1.0, stolen: 0.0 }, ALONE));
        let facts = &mut record.head.sessions[0].facts[0];
        facts.count("cpu.logical", 4);
        facts.count("cpu.usable", 4);
        for attempt in record.attempts.iter_mut().filter(|attempt| attempt.ordinal % 2 == 1) {
            attempt.window.iter_mut().for_each(|interval| interval.operations.fill(700_000));
        }
        assert_eq!(withheld(&record).1, Some((70, 93)), "a third more, as half of each task's time was beside others");
    }

    #[test]
    fn tasks_without_any_cpu_time_leave_everything_open() {
        let starved = Use { own: 0.0, others: 2.0, stolen: 0.0 };
        let record = run(|tasks, _| at(tasks, starved, ALONE));
        assert_eq!(withheld(&record).1, None);
    }
}
