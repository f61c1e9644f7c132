//! Observed use of the machine by others.

use crate::advice::Advice;
use crate::warnings::Load;
use crate::warnings::{Findings, busy_at_start, most_by_others, most_stolen};
use faultline_record::record::Attempt;

/// Counters of pages swapped in and out, as Linux names them.
const SWAPPED: [&str; 2] = ["vmstat.pswpin", "vmstat.pswpout"];

/// Other processes' work, time withheld by a hypervisor or a control group, and swapping.
pub(super) fn others(findings: &Findings<'_>) -> Vec<Advice> {
    let all = [under_way(findings), at_start(findings), steal(findings), quota(findings), swap(findings)];
    all.into_iter().flatten().collect()
}

fn under_way(findings: &Findings<'_>) -> Option<Advice> {
    most_by_others(findings).map(|(cpus, worst)| Advice::Others { cpus, worst })
}

fn at_start(findings: &Findings<'_>) -> Option<Advice> {
    match busy_at_start(findings.record)? {
        Load::AtStart { busy_cpus: Some(cpus), .. } => Some(Advice::Busy { cpus }),
        Load::AtStart { load_average, .. } => load_average.map(|average| Advice::Load { average }),
        Load::UnderWay { .. } => None,
    }
}

fn steal(findings: &Findings<'_>) -> Option<Advice> {
    most_stolen(findings).map(|(share, worst)| Advice::Steal { share, worst })
}

fn quota(findings: &Findings<'_>) -> Option<Advice> {
    let quota = findings.cpus.quota?;
    let is_less = findings.cpus.at_hand().is_none_or(|cpus| quota < f64::from(cpus));
    is_less.then_some(Advice::CpuQuota { cpus: quota })
}

fn swap(findings: &Findings<'_>) -> Option<Advice> {
    let moved = |attempt: &Attempt| SWAPPED.iter().filter_map(|name| attempt.counters.get(*name)).sum::<i64>();
    let pages: i64 = findings.record.attempts.iter().map(moved).sum();
    (pages > 0).then_some(Advice::Swapped { pages })
}

#[cfg(test)]
mod tests {
    use super::super::advice;
    use super::Advice;
    use crate::comparison::{Settings, compare_sides};
    use crate::example;
    use faultline_record::record::RunRecord;

    const SECOND_NS: i64 = 1_000_000_000;

    /// Advice for a machine compared with itself, after a change of the record.
    fn advice_for(change: impl Fn(&mut RunRecord)) -> Vec<Advice> {
        let rate = |_, block| 1_000_003 + 1_000 * u64::from(block * 7 % 11);
        let other = |_, block| 1_000_033 + 1_000 * u64::from(block * 5 % 11);
        let mut record = example::Run::new(&["load"]).tasks(&[1]).repeats(11).rate(rate).against(other).record();
        change(&mut record);
        let compared = compare_sides(&record, &Settings::default(), None).unwrap();
        advice(&compared, &record, &[])
    }

    #[test]
    fn a_quiet_machine_gives_no_cause_for_advice() {
        assert_eq!(advice_for(|_| ()), []);
    }

    #[test]
    fn what_others_took_comes_first() {
        let told = advice_for(|record| {
            record.head.sessions[0].facts[0].text("cpu.governor", "powersave");
            record.head.sessions[0].facts[0].real("load.one_minute", 2.0);
            record.head.sessions[0].facts[0].real("cgroup.cpu_quota_cpus", 1.5);
            for attempt in &mut record.attempts {
                attempt.usage = Some(example::usage(5_000_000_000, 0));
                let times = [
                    ("stat.user_ns", 10 * SECOND_NS),
                    ("stat.steal_ns", 2 * SECOND_NS),
                    ("stat.idle_ns", 12 * SECOND_NS),
                ];
                attempt.counters = times.map(|(name, ns)| (name.to_owned(), ns)).into();
                attempt.counters.insert("vmstat.pswpin".to_owned(), 2);
            }
        });
        let [
            Advice::Others { cpus, worst: cell },
            Advice::Load { average: 2.0 },
            Advice::Steal { share, worst },
            Advice::CpuQuota { cpus: 1.5 },
            Advice::Swapped { pages: 44 },
            Advice::FrequencyScaling { governor: Some(governor), .. },
        ] = &told[..]
        else {
            panic!("{told:?}")
        };
        assert!((cpus - 0.83).abs() < 0.005 && (share - 2.0 / 24.0).abs() < 1e-9, "{told:?}");
        assert_eq!((cell.to_string().as_str(), worst, governor.as_str()), ("load:base×1", cell, "powersave"));
    }
}
