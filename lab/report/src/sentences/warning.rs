//! Warnings about a run: what was seen, and what to do.

use super::{named, number, percent};
use faultline_model::warning::{FrequencyReason, Load, Virtualisation, Warning, WarningKind};

/// One or two sentences.
pub(crate) fn warning(warning: &Warning) -> String {
    let cells = warning.cells.len();
    match &warning.kind {
        WarningKind::Load(load) => self::load(load),
        WarningKind::Steal { share, worst } => format!(
            "A hypervisor took up to {} of the machine's CPU time away ({worst}). Measure on a host of your own, or when \
             its other guests are quiet.",
            percent(*share)
        ),
        WarningKind::FrequencyScaling { reasons } => format!(
            "The CPUs' frequency may change during the run: {}. One task may run at a higher frequency than many, which makes scaling look worse. Fix the frequency, and run again.",
            reasons.iter().map(frequency_reason).collect::<Vec<_>>().join(", ")
        ),
        WarningKind::Virtualised(how) => virtualised(how),
        WarningKind::CpuQuota { cpus } => format!(
            "A control group allows the CPU time of {cpus:.2} CPUs; {} with as many tasks or more may have been throttled. Lift the limit.",
            number(cells, "cell")
        ),
        WarningKind::OneCpu => "There is one CPU to run on: nothing can be said about scaling. Allow more CPUs, or \
             measure on a machine that has them."
            .to_owned(),
        WarningKind::Oversubscribed { most_tasks, cpus } => format!(
            "Up to {most_tasks} tasks ran on {}: they took turns, so an efficiency below 1 is expected. Judge scaling by the points with at most {cpus} tasks.",
            number(*cpus as usize, "CPU")
        ),
        WarningKind::SharedCores { most_tasks, cores } => format!(
            "Up to {most_tasks} tasks ran on {}: some shared a core, which slows them down on any system. Judge scaling by the points with at most {cores} tasks.",
            number(*cores as usize, "physical core")
        ),
        WarningKind::UnsettledWarmUp { curves, change, worst } => format!(
            "The rate of {} still moved when the region of interest began: its first third was up to {} {} than \
             the rest ({worst}). Use a longer warm-up.",
            number(*curves as usize, "curve"),
            percent(change.abs()),
            if *change < 0.0 { "slower" } else { "faster" },
        ),
        WarningKind::FewRepeats { fewest, coverage, enough, wanted } => format!(
            "{} {} fewer than {enough} repeats; the interval of {fewest} repeats has a coverage of only {}. Use {enough} repeats or more for {}.",
            number(cells, "point"),
            if cells == 1 { "has" } else { "have" },
            percent(*coverage),
            percent(*wanted)
        ),
        WarningKind::CoarseCount { step_share, worst } => {
            let figure = match step_share {
                Some(share) => {
                    format!("one step of a task's count is up to {} of a repeat's operations", percent(*share))
                }
                None => "some repeats counted no operation".to_owned(),
            };
            format!("Few operations were counted: {figure} ({worst}). Use a longer window.")
        }
        WarningKind::Noisy { limit, half_width, worst } => {
            let figure = match half_width {
                Some(half_width) => format!("the widest ±{}", percent(*half_width)),
                None => "in one without a percentage, because the median is almost 0".to_owned(),
            };
            format!(
                "Repeats differ: the interval of {} is wider than ±{} of its median, {figure} ({worst}). \
                 Quieten the machine, or use more repeats or a longer window.",
                number(cells, "point"),
                percent(*limit),
            )
        }
        WarningKind::Incomplete { planned, failed, unsupported, skipped, open, resumable } => {
            let parts = [
                (failed, "failed"),
                (unsupported, "unsupported here"),
                (skipped, "skipped because the time was used up"),
                (open, "not ended"),
            ];
            let parts = parts.iter().filter(|(count, _)| **count > 0).map(|(count, what)| format!("{count} {what}"));
            let advice = match (*open > 0, *resumable) {
                (true, false) => "This run cannot be resumed: start a new one for the rest.",
                (true, true) => "Resume the run to complete it.",
                (false, _) => "Their points have fewer repeats, or are missing; the reasons are next to them.",
            };
            format!("Of {planned} planned executions: {}. {advice}", parts.collect::<Vec<_>>().join("; "))
        }
        WarningKind::LittleOverlap { share, worst, limit } => format!(
            "In {}, two or more CPUs were busy in less than {} of the time, at least in {} ({worst}): tasks ran one after the \
             other, so there are fewer transfers than where they run at once. Use more operations (`--ops`), unless they wait for each other.",
            number(cells, "cell"),
            percent(*limit),
            percent(*share)
        ),
        WarningKind::ChangedSurroundings { sessions, keys } => {
            let (named, more) = named(keys);
            let more = if more > 0 { format!(", {more} more") } else { String::new() };
            format!(
                "The run's {sessions} sessions differ in {named}{more}: its figures mix them. Measure again in one session."
            )
        }
    }
}

fn load(load: &Load) -> String {
    match load {
        Load::AtStart { busy_cpus, load_average, runnable_others } => {
            // An average falls only with time.
            let wait = if busy_cpus.is_some() { "" } else { ", wait a minute" };
            let busy = busy_cpus.map(|busy| format!("other programs used {busy:.2} CPUs"));
            let average = load_average.map(|load| format!("the load average of the last minute was {load:.2}"));
            let others = runnable_others.map(|others| match others {
                1 => "1 other task was ready to run".to_owned(),
                _ => format!("{others} other tasks were ready to run"),
            });
            let seen: Vec<String> = [busy, average, others].into_iter().flatten().collect();
            format!("At the start {}. Stop other work{wait} and run again.", seen.join(" and "))
        }
        Load::UnderWay { others_cpus, worst } => format!(
            "Other processes or kernel threads used CPU time while tasks were measured, up to {others_cpus:.2} of a CPU \
             ({worst}). Stop them, or measure on a machine that does nothing else."
        ),
    }
}

fn frequency_reason(reason: &FrequencyReason) -> String {
    match reason {
        FrequencyReason::Governor { name, steady } => format!("the governor is '{name}', not '{steady}'"),
        FrequencyReason::Scaling => "frequency scaling is on".to_owned(),
        FrequencyReason::Boost => "boost is on".to_owned(),
    }
}

fn virtualised(how: &Virtualisation) -> String {
    match how {
        Virtualisation::Emulated => "The machine is emulated: its rates, and how they scale, are the emulator's on this host's CPUs, \
             not those of any hardware. Compare them only with runs on the same host; `faultline lens kernel` counts what \
             does not depend on the host."
            .to_owned(),
        Virtualisation::Container => "The run is in a container: others may share its CPUs, and the machine's counters and time shares include them. Measure outside a container if that matters."
            .to_owned(),
        Virtualisation::Hypervisor { names } => format!(
            "The machine is virtual ({}): its CPUs may be shared or moved, and page faults and messages between CPUs cost more \
             than on bare metal. Compare them only with runs on this machine, or measure on bare metal.",
            names.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::cell::{Case, Cell, TaskMode};

    fn words(kind: WarningKind, cells: u32) -> String {
        let cells = (1..=cells).map(|tasks| Cell { case: case(), tasks }).collect();
        warning(&Warning { kind, cells })
    }

    fn case() -> Case {
        Case { workload: "load".into(), variant: "base".into(), mode: TaskMode::Process }
    }

    fn worst() -> Cell {
        Cell { case: case(), tasks: 2 }
    }

    #[test]
    fn figures_and_cells_stand_in_the_sentences() {
        let load = Load::AtStart { busy_cpus: None, load_average: Some(1.84), runnable_others: Some(1) };
        assert_eq!(
            words(WarningKind::Load(load), 0),
            "At the start the load average of the last minute was 1.84 and 1 other task was ready to run. Stop other work, wait a \
             minute and run again."
        );
        let busy = Load::AtStart { busy_cpus: Some(0.97), load_average: None, runnable_others: None };
        assert_eq!(
            words(WarningKind::Load(busy), 0),
            "At the start other programs used 0.97 CPUs. Stop other work and run again."
        );
        let under_way = Load::UnderWay { others_cpus: 0.5, worst: worst() };
        assert!(words(WarningKind::Load(under_way), 1).contains("up to 0.50 of a CPU (load:base×2). Stop them"));
        assert!(words(WarningKind::CpuQuota { cpus: 2.5 }, 2).contains("of 2.50 CPUs; 2 cells with as many"));
        let few = WarningKind::FewRepeats { fewest: 5, coverage: 0.9375, enough: 6, wanted: 0.95 };
        assert_eq!(
            words(few, 1),
            "1 point has fewer than 6 repeats; the interval of 5 repeats has a coverage of only 93.8 %. Use 6 repeats or more for 95.0 %."
        );
        let slower = WarningKind::UnsettledWarmUp { curves: 1, change: -0.25, worst: case() };
        assert!(words(slower, 2).contains("The rate of 1 curve still moved"));
        let slower = WarningKind::UnsettledWarmUp { curves: 2, change: -0.25, worst: case() };
        assert!(words(slower, 2).contains("was up to 25.0 % slower than the rest (load:base)."));
    }

    #[test]
    fn what_has_no_figure_is_told_without_one() {
        let nothing = WarningKind::CoarseCount { step_share: None, worst: worst() };
        assert!(words(nothing, 1).contains("counted no operation (load:base×2)"));
        let beyond = WarningKind::Noisy { limit: 0.05, half_width: None, worst: worst() };
        assert!(
            words(beyond, 1).contains("of 1 point is wider than ±5.0 % of its median, in one without a percentage")
        );
    }

    #[test]
    fn what_is_missing_is_told_by_reason_with_what_to_do() {
        let told = |open, resumable| {
            let (planned, failed, unsupported, skipped) = (12, 1, 0, 1);
            words(WarningKind::Incomplete { planned, failed, unsupported, skipped, open, resumable }, 1)
        };
        assert_eq!(
            told(1, true),
            "Of 12 planned executions: 1 failed; 1 skipped because the time was used up; 1 not ended. Resume the run to complete it."
        );
        assert!(told(1, false).ends_with("This run cannot be resumed: start a new one for the rest."));
        assert!(told(0, false).ends_with("the reasons are next to them."));
    }

    #[test]
    fn many_keys_are_counted() {
        let keys = |count: usize| (0..count).map(|index| format!("key.{index}")).collect();
        let changed = WarningKind::ChangedSurroundings { sessions: 2, keys: keys(9) };
        assert!(
            words(changed, 0).contains("2 sessions differ in key 0, key 1, key 2, key 3, key 4, key 5, 3 more: its")
        );
        let changed =
            WarningKind::ChangedSurroundings { sessions: 2, keys: vec!["boot.id".into(), "kernel.release".into()] };
        assert!(words(changed, 0).contains("differ in boot identifier, kernel release: its"));
    }

    #[test]
    fn a_virtual_machine_is_named() {
        let names = ["hypervisor", "KVM"].map(str::to_owned).into();
        assert!(
            words(WarningKind::Virtualised(Virtualisation::Hypervisor { names }), 0)
                .contains("is virtual (hypervisor, KVM):")
        );
    }
}
