//! Made-up answers of machines compared with themselves. The figures are invented, fixed, and mean nothing.

use crate::comparison_fixture::{stored, typical};
use faultline_model::advice::Advice;
use faultline_model::cell::{Case, Cell, TaskMode};
use faultline_model::comparison::{ComparedWorkload, Comparison, Ended, Fit, Fitness, Sequential};
use faultline_model::workload_comparison::Answer;

/// Both sides alike in all their workloads, and none of them found to differ.
fn alike() -> Comparison {
    let mut compared = stored();
    for ComparedWorkload { comparison: workload, details } in &mut compared.workloads {
        workload.answer = Answer::Equal;
        workload.b = workload.a;
        workload.cautions.clear();
        details.values[1] = details.values[0].clone();
    }
    compared
}

/// Found to differ from itself in one workload, not in another, and undecided about the third.
fn differing() -> Comparison {
    let mut compared = typical();
    for index in [2, 0] {
        compared.workloads.remove(index);
    }
    compared.unmatched.clear();
    compared
}

/// A machine against itself.
pub fn checked(fit: Fit) -> Fitness {
    let mut compared = match fit {
        Fit::Fit | Fit::Coarse => alike(),
        Fit::Unfit => differing(),
    };
    if fit == Fit::Coarse {
        compared.workloads[0].comparison.detectable = Some(1.182);
        compared.workloads[0].details.values[1].iter_mut().step_by(3).for_each(|value| *value *= 1.2);
    }
    compared.b = compared.a.clone();
    let looks = typical().sequential.map(|sequential| sequential.looks).unwrap_or_default();
    let taken = looks.len() as u32;
    compared.sequential = Some(Sequential { level: 0.95, looks, taken, ended: Ended::Budget });
    let advice = match fit {
        Fit::Fit => Vec::new(),
        Fit::Coarse | Fit::Unfit => {
            let case = Case { workload: "path_stat".into(), variant: "shared-dir".into(), mode: TaskMode::Process };
            vec![
                Advice::Others { cpus: 0.31, worst: Cell { case, tasks: 4 } },
                Advice::FrequencyScaling { governor: Some("ondemand".into()), steady: "performance".into() },
            ]
        }
    };
    Fitness { format: Fitness::FORMAT.into(), fit, compared, advice }
}
