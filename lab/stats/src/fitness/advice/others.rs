//! Who or what else was seen to take from the machine.

use super::{percent, told};
use crate::thresholds::LOAD_AVERAGE;
use crate::warnings::{Findings, most_by_others, most_stolen};
use faultline_model::comparison::Advice;
use faultline_model::record::Attempt;

/// Pages that went to swap or came from it, as Linux counts them.
const SWAPPED: [&str; 2] = ["vmstat.pswpin", "vmstat.pswpout"];

/// Others' work, time that a hypervisor or a control group took, and swapping.
pub(super) fn others(findings: &Findings<'_>) -> Vec<Advice> {
    let all = [under_way(findings), at_start(findings), steal(findings), quota(findings), swap(findings)];
    all.into_iter().flatten().collect()
}

fn under_way(findings: &Findings<'_>) -> Option<Advice> {
    let (cpus, cell) = most_by_others(findings)?;
    Some(told(
        format!("other processes or kernel threads used up to {cpus:.2} of a CPU while {cell} was measured"),
        "stop them: `top` shows which they are",
    ))
}

fn at_start(findings: &Findings<'_>) -> Option<Advice> {
    let loads = findings.record.all_facts().filter_map(|facts| facts.get_real("load.one_minute"));
    let load = loads.filter(|load| load.is_finite()).max_by(f64::total_cmp).filter(|&load| load > LOAD_AVERAGE)?;
    Some(told(
        format!("the load average of the last minute was {load:.2} at the start"),
        "stop other work, and wait a minute",
    ))
}

fn steal(findings: &Findings<'_>) -> Option<Advice> {
    let (share, cell) = most_stolen(findings)?;
    Some(told(
        format!("a hypervisor took up to {} of the CPU time away while {cell} was measured", percent(share)),
        "measure on a host of your own, or give the machine CPUs that no other guest may use",
    ))
}

fn quota(findings: &Findings<'_>) -> Option<Advice> {
    let quota = findings.cpus.quota?;
    findings.cpus.at_hand().is_none_or(|cpus| quota < f64::from(cpus)).then(|| {
        told(
            format!("a control group allows the CPU time of {quota:.2} CPUs"),
            "lift the limit (`cpu.max`), or measure with fewer tasks than that",
        )
    })
}

fn swap(findings: &Findings<'_>) -> Option<Advice> {
    let moved = |attempt: &Attempt| SWAPPED.iter().filter_map(|name| attempt.counters.get(*name)).sum::<i64>();
    let pages: i64 = findings.record.attempts.iter().map(moved).sum();
    (pages > 0).then(|| {
        told(
            format!("{pages} pages were swapped while tasks were measured"),
            "free memory, or turn swapping off: `swapoff -a`",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::advice;
    use crate::comparison::{Settings, compare_sides};
    use crate::example;
    use faultline_model::record::RunRecord;

    const SECOND_NS: i64 = 1_000_000_000;

    /// What is said of a machine against itself, whose record is changed so.
    fn findings(change: impl Fn(&mut RunRecord)) -> Vec<String> {
        let rate = |_, block| 1_000_003 + 1_000 * u64::from(block * 7 % 11);
        let other = |_, block| 1_000_033 + 1_000 * u64::from(block * 5 % 11);
        let mut record = example::Run::new(&["load"]).tasks(&[1]).repeats(11).rate(rate).against(other).record();
        change(&mut record);
        let compared = compare_sides(&record, &Settings::default(), None).unwrap();
        advice(&compared, &record, &[]).into_iter().map(|advice| advice.finding).collect()
    }

    #[test]
    fn a_quiet_machine_gives_no_cause_for_advice() {
        assert_eq!(findings(|_| ()), Vec::<String>::new());
    }

    #[test]
    fn what_others_took_comes_first() {
        let told = findings(|record| {
            record.sessions[0].facts[0].text("cpu.governor", "powersave");
            record.sessions[0].facts[0].real("load.one_minute", 2.0);
            record.sessions[0].facts[0].real("cgroup.cpu_quota_cpus", 1.5);
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
        let beginnings = [
            "other processes or kernel threads used up to 0.83 of a CPU while load:base×1",
            "the load average of the last minute was 2.00",
            "a hypervisor took up to 8.3 % of the CPU time away while load:base×1",
            "a control group allows the CPU time of 1.50 CPUs",
            "44 pages were swapped",
            "the governor is 'powersave'",
        ];
        assert_eq!(told.len(), beginnings.len(), "{told:?}");
        for (finding, beginning) in told.iter().zip(beginnings) {
            assert!(finding.starts_with(beginning), "{finding}");
        }
    }
}
