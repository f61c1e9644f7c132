//! Why a curve has no verdict: what was seen, what it leaves open, and what to do.

use super::{number, percent};
use crate::style::Signs;
use faultline_model::verdict::{Disturbance, DisturbanceCause, InconclusiveVerdict};

/// A few short sentences.
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
            "More than {} is not plausible: the base was probably slowed down. Measure again on a quiet machine.",
            percent(*limit)
        ),
    }
}

/// What took time from whom.
fn disturbance(disturbance: &Disturbance) -> String {
    let tasks = number(disturbance.tasks as usize, "task");
    match &disturbance.cause {
        DisturbanceCause::Others { cpus } => format!("others used {cpus:.2} CPUs beside {tasks}"),
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
        "Also measure a number of tasks that have cores of their own."
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
    use faultline_model::verdict::{EfficiencyRange, Verdict};

    fn disturbed(by: Vec<(u32, DisturbanceCause)>, could_be: Option<(f64, f64)>) -> InconclusiveVerdict {
        let by = by.into_iter().map(|(tasks, cause)| Disturbance { tasks, cause }).collect();
        let could_be = could_be.map(|(low, high)| EfficiencyRange { low, high });
        InconclusiveVerdict::Disturbed { as_measured: Verdict::DoesNotScale, could_be, by }
    }

    #[test]
    fn each_cause_is_told_with_its_figure_and_a_remedy() {
        let others = |cpus| DisturbanceCause::Others { cpus };
        let reason = disturbed(vec![(1, others(1.334)), (2, others(0.5))], Some((0.31, 0.912)));
        assert_eq!(
            inconclusive(&reason, &UNICODE),
            "The verdict “does not scale” is withheld: others used 1.33 CPUs beside 1 task; others used 0.50 CPUs beside 2 tasks. \
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
    fn one_limit_and_two_are_told() {
        let words =
            |limits: &[f64]| inconclusive(&InconclusiveVerdict::AcrossLimit { limits: limits.to_vec() }, &UNICODE);
        assert!(words(&[0.9]).starts_with("The interval contains the limit at 90.0 %."));
        assert!(words(&[0.75, 0.9]).starts_with("The interval contains the limits at 75.0 % and 90.0 %."));
    }
}
