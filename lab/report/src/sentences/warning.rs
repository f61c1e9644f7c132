//! Warnings about a run, and the reasons for withheld verdicts: what was seen, and what to do.

use super::{named, number, percent};
use crate::style::Signs;
use faultline_stats::verdict::{Disturbance, DisturbanceCause, InconclusiveVerdict};
use faultline_stats::warnings::{FrequencyReason, Load, Virtualisation, Warning, WarningKind};

/// A warning in one or two sentences.
pub(crate) fn warning(warning: &Warning) -> String {
    let cells = warning.cells.len();
    match &warning.kind {
        WarningKind::Load(load) => self::load(load),
        WarningKind::Steal { share, worst } => format!(
            "A hypervisor took away up to {} of the machine's CPU time ({worst}). Measure on a dedicated host, or while \
             its other guests are idle.",
            percent(*share)
        ),
        WarningKind::FrequencyScaling { reasons } => format!(
            "The CPUs' frequency may change during the run: {}. One task may run at a higher frequency than many, which makes \
             scaling look worse. Fix the frequency and run again.",
            reasons.iter().map(frequency_reason).collect::<Vec<_>>().join(", ")
        ),
        WarningKind::Virtualised(how) => virtualised(how),
        WarningKind::CpuQuota { cpus } => format!(
            "A control group allows the CPU time of {cpus:.2} CPUs; {} with as many tasks or more may have been throttled. Lift \
             the limit.",
            number(cells, "cell")
        ),
        WarningKind::OneCpu => {
            "Only one CPU is available: scaling cannot be measured. Allow more CPUs, or use a machine \
             with more."
                .to_owned()
        }
        WarningKind::Oversubscribed { most_tasks, cpus } => format!(
            "Up to {most_tasks} tasks ran on {}: they took turns, so an efficiency below 1 is expected. Judge scaling by the \
             points with at most {cpus} tasks.",
            number(*cpus as usize, "CPU")
        ),
        WarningKind::SharedCores { most_tasks, cores } => format!(
            "Up to {most_tasks} tasks ran on {}: some shared a core, which slows them down on any system. Judge scaling by the \
             points with at most {cores} tasks.",
            number(*cores as usize, "physical core")
        ),
        WarningKind::UnsettledWarmUp { curves, change, worst } => format!(
            "The rate of {} still changed when the region of interest began: its first third was up to {} {} than \
             the rest ({worst}). Use a longer warm-up.",
            number(*curves as usize, "curve"),
            percent(change.abs()),
            if *change < 0.0 { "slower" } else { "faster" },
        ),
        WarningKind::FewRepeats { fewest, coverage, enough, wanted } => format!(
            "{} {} fewer than {enough} repeats; the interval of {} has a coverage of only {}. Use {enough} repeats \
             or more for {}.",
            number(cells, "point"),
            if cells == 1 { "has" } else { "have" },
            number(*fewest as usize, "repeat"),
            percent(*coverage),
            percent(*wanted)
        ),
        WarningKind::CoarseCount { step_share, worst } => {
            let figure = match step_share {
                Some(share) => {
                    format!("one increment of a task's count is up to {} of a repeat's operations", percent(*share))
                }
                None => "some repeats counted no operation".to_owned(),
            };
            format!("Few operations were counted: {figure} ({worst}). Use a longer window.")
        }
        WarningKind::Noisy { limit, half_width, worst } => {
            let figure = match half_width {
                Some(half_width) => format!("the widest ±{}", percent(*half_width)),
                None => "without a percentage in one of them, whose median is almost 0".to_owned(),
            };
            format!(
                "Repeats differ: the interval of {} is wider than ±{} of its median, {figure} ({worst}). \
                 Use a quieter machine, more repeats or a longer window.",
                number(cells, "point"),
                percent(*limit),
            )
        }
        WarningKind::Incomplete { planned, failed, unsupported, skipped, open } => {
            let why_skipped = match *failed > 0 {
                true => "skipped because an execution failed or the time was used up",
                false => "skipped because the time was used up",
            };
            let parts =
                [(failed, "failed"), (unsupported, "unsupported here"), (skipped, why_skipped), (open, "not finished")];
            let parts = parts.iter().filter(|(count, _)| **count > 0).map(|(count, what)| format!("{count} {what}"));
            let advice = match *open > 0 {
                true => "Resume the run to complete it.",
                false => "Their points have fewer repeats, or are missing; the reasons are next to them.",
            };
            format!("Of {planned} planned executions: {}. {advice}", parts.collect::<Vec<_>>().join("; "))
        }
        WarningKind::LittleOverlap { share, worst, limit } => format!(
            "In {}, two or more CPUs were busy in less than {} of the time, at worst in {} ({worst}): in the rest of it the \
             tasks ran one after another, so there are fewer transfers than if they run in parallel. Unless the tasks wait for \
             each other, let each do more: a kernel's workloads by `--ops`, a program by its own arguments.",
            number(cells, "cell"),
            percent(*limit),
            percent(*share)
        ),
        WarningKind::ChangedEnvironment { sessions, keys } => {
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
            // A load average falls only with time.
            let wait = if busy_cpus.is_some() { "" } else { ", wait a minute" };
            let busy = busy_cpus.map(|busy| format!("other programs used {busy:.2} CPUs"));
            let average = load_average.map(|load| format!("the load average of the last minute was {load:.2}"));
            let others = runnable_others.map(|others| match others {
                1 => "1 other task was runnable".to_owned(),
                _ => format!("{others} other tasks were runnable"),
            });
            let seen: Vec<String> = [busy, average, others].into_iter().flatten().collect();
            format!("At the start {}. Stop other work{wait} and run again.", seen.join(" and "))
        }
        Load::UnderWay { others_cpus, worst } => format!(
            "Other processes or kernel threads used CPU time while tasks were measured, up to {others_cpus:.2} of a CPU \
             ({worst}). Stop them, or measure on an otherwise idle machine."
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
        Virtualisation::Emulated => "The machine is emulated: its rates and their scaling are those of the emulator on this \
             host, not of any hardware. Compare them only with runs on the same host. `faultline lens kernel` counts events \
             that do not depend on the host."
            .to_owned(),
        Virtualisation::Container => "The run is in a container: others may share its CPUs, and the machine's counters and time \
             shares include them. Measure outside the container if that matters."
            .to_owned(),
        Virtualisation::Hypervisor { names } => format!(
            "The machine is virtual ({}): its CPUs may be shared or moved, and page faults and inter-processor interrupts cost \
             more than on bare metal. Compare only with runs on this VM, or measure on bare metal.",
            names.join(", ")
        ),
    }
}

/// The reason for an inconclusive verdict, in a few short sentences.
pub(crate) fn inconclusive(reason: &InconclusiveVerdict, signs: &Signs) -> String {
    match reason {
        InconclusiveVerdict::FewRepeats { needed } => {
            format!("A verdict needs at least {needed} blocks with a value at both numbers of tasks. Use more repeats.")
        }
        InconclusiveVerdict::AcrossLimit { limits } => {
            let shown: Vec<String> = limits.iter().map(|limit| percent(*limit)).collect();
            let word = if shown.len() == 1 { "limit" } else { "limits" };
            format!(
                "The interval contains the {word} at {}. Use more repeats or a quieter machine.",
                shown.join(" and ")
            )
        }
        InconclusiveVerdict::Disturbed { as_measured, could_be, by } => {
            let possible = match could_be {
                Some(range) => format!("could be {:.1} {} {}", range.low * 100.0, signs.to, percent(range.high)),
                None => "is unknown".to_owned(),
            };
            format!(
                "The verdict {}{}{} is withheld: {}. Without this, the efficiency {possible}. {}",
                signs.quotes.0,
                as_measured.words(),
                signs.quotes.1,
                by.iter().map(disturbance).collect::<Vec<_>>().join("; "),
                remedy(by)
            )
        }
        InconclusiveVerdict::SuperLinear { limit } => format!(
            "More than {} is not plausible: the base was probably disturbed. Measure again on a quiet machine.",
            percent(*limit)
        ),
    }
}

/// A disturbance: cause, figure, and the tasks concerned.
fn disturbance(disturbance: &Disturbance) -> String {
    let tasks = number(disturbance.tasks as usize, "task");
    match &disturbance.cause {
        DisturbanceCause::Others { cpus } => format!("other processes used {cpus:.2} CPUs beside {tasks}"),
        DisturbanceCause::Steal { share } => {
            format!("a hypervisor took {} of the machine's CPU time from {tasks}", percent(*share))
        }
        DisturbanceCause::Quota { cpus } => format!("a control group allows {cpus:.2} CPUs to {tasks}"),
        DisturbanceCause::SharedCores { cores } => {
            format!("{tasks} shared {}", number(*cores as usize, "physical core"))
        }
    }
}

fn remedy(by: &[Disturbance]) -> &'static str {
    let is_shared = |one: &Disturbance| matches!(one.cause, DisturbanceCause::SharedCores { .. });
    let is_quota = |one: &Disturbance| matches!(one.cause, DisturbanceCause::Quota { .. });
    if by.iter().all(is_shared) {
        "Also measure with no more tasks than cores."
    } else if by.iter().all(is_quota) {
        "Lift the limit and measure again."
    } else {
        "Measure again on a quiet machine."
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{ASCII, UNICODE};
    use faultline_record::cell::{Case, Cell, TaskMode};
    use faultline_stats::verdict::{EfficiencyRange, Verdict};

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
            "At the start the load average of the last minute was 1.84 and 1 other task was runnable. Stop other work, wait a \
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
        assert!(words(slower, 2).contains("The rate of 1 curve still changed"));
        let slower = WarningKind::UnsettledWarmUp { curves: 2, change: -0.25, worst: case() };
        assert!(words(slower, 2).contains("was up to 25.0 % slower than the rest (load:base)."));
    }

    #[test]
    fn warnings_without_a_figure_have_a_text() {
        let nothing = WarningKind::CoarseCount { step_share: None, worst: worst() };
        assert!(words(nothing, 1).contains("counted no operation (load:base×2)"));
        let beyond = WarningKind::Noisy { limit: 0.05, half_width: None, worst: worst() };
        assert!(
            words(beyond, 1).contains("of 1 point is wider than ±5.0 % of its median, without a percentage in one")
        );
    }

    #[test]
    fn missing_executions_are_reported_by_reason_with_advice() {
        let told = |open| {
            let (planned, failed, unsupported, skipped) = (12, 1, 0, 1);
            words(WarningKind::Incomplete { planned, failed, unsupported, skipped, open }, 1)
        };
        assert_eq!(
            told(1),
            "Of 12 planned executions: 1 failed; 1 skipped because an execution failed or the time was used up; 1 not finished. Resume the run to complete it."
        );
        assert!(told(0).ends_with("the reasons are next to them."));
    }

    #[test]
    fn many_keys_are_counted() {
        let keys = |count: usize| (0..count).map(|index| format!("key.{index}")).collect();
        let changed = WarningKind::ChangedEnvironment { sessions: 2, keys: keys(9) };
        assert!(
            words(changed, 0).contains("2 sessions differ in key 0, key 1, key 2, key 3, key 4, key 5, 3 more: its")
        );
        let changed =
            WarningKind::ChangedEnvironment { sessions: 2, keys: vec!["boot.id".into(), "kernel.release".into()] };
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

    fn disturbed(by: Vec<(u32, DisturbanceCause)>, could_be: Option<(f64, f64)>) -> InconclusiveVerdict {
        let by = by.into_iter().map(|(tasks, cause)| Disturbance { tasks, cause }).collect();
        let could_be = could_be.map(|(low, high)| EfficiencyRange { low, high });
        InconclusiveVerdict::Disturbed { as_measured: Verdict::DoesNotScale, could_be, by }
    }

    #[test]
    fn each_cause_is_reported_with_its_figure_and_a_remedy() {
        let others = |cpus| DisturbanceCause::Others { cpus };
        let reason = disturbed(vec![(1, others(1.334)), (2, others(0.5))], Some((0.31, 0.912)));
        assert_eq!(
            inconclusive(&reason, &UNICODE),
            "The verdict “does not scale” is withheld: other processes used 1.33 CPUs beside 1 task; other processes used 0.50 CPUs beside 2 tasks. \
             Without this, the efficiency could be 31.0 … 91.2 %. Measure again on a quiet machine."
        );
        assert!(inconclusive(&reason, &ASCII).is_ascii());
        let quota = disturbed(vec![(1, DisturbanceCause::Quota { cpus: 0.5 })], None);
        assert_eq!(
            inconclusive(&quota, &ASCII),
            "The verdict \"does not scale\" is withheld: a control group allows 0.50 CPUs to 1 task. Without this, the efficiency is unknown. Lift the limit and measure again."
        );
        let cores = disturbed(vec![(4, DisturbanceCause::SharedCores { cores: 2 })], Some((0.5, 1.0)));
        assert!(inconclusive(&cores, &UNICODE).contains("4 tasks shared 2 physical cores."));
    }

    #[test]
    fn one_limit_and_two_are_reported() {
        let words =
            |limits: &[f64]| inconclusive(&InconclusiveVerdict::AcrossLimit { limits: limits.to_vec() }, &UNICODE);
        assert!(words(&[0.9]).starts_with("The interval contains the limit at 90.0 %."));
        assert!(words(&[0.75, 0.9]).starts_with("The interval contains the limits at 75.0 % and 90.0 %."));
    }
}
