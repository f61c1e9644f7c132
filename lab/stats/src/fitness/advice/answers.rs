//! What the comparison of a machine with itself says.

use super::told;
use crate::thresholds::COARSE_DETECTABLE;
use crate::warnings::percent;
use faultline_model::compared::{Advice, Compared};
use faultline_model::comparison::{Answer, CautionCode, Comparison};

/// Workloads that differ where nothing does.
pub(super) fn differences(compared: &Compared) -> Vec<Advice> {
    let differing = named(compared).filter(|(_, workload)| matches!(workload.answer, Answer::Faster | Answer::Slower));
    let advice = |(name, workload): (String, &Comparison)| {
        let ratio = workload.ratio.map_or(1.0, |ratio| ratio.value);
        told(
            format!("{name} differs from itself by {}", percent(ratio.max(1.0 / ratio) - 1.0)),
            "check again: chance does that once in twenty times; if it comes back, look for work that goes by the clock (timers, backups, \
             another benchmark)",
        )
    };
    differing.map(advice).collect()
}

/// Values that drift, or fall into two groups.
pub(super) fn shapes(compared: &Compared) -> Vec<Advice> {
    let shapes = [
        (
            CautionCode::Bimodal,
            "fall into two groups",
            "there are two states: find what has them (frequency, huge pages, NUMA nodes, a neighbour) and hold it to one",
        ),
        (
            CautionCode::Drift,
            "rise or fall from run to run",
            "let the machine reach its temperature, and its memory and caches a steady state, before measuring",
        ),
    ];
    let shape = |(code, what, remedy): (CautionCode, &str, &str)| {
        let cautioned = |workload: &Comparison| workload.cautions.iter().any(|caution| caution.code == code);
        let names: Vec<String> =
            named(compared).filter(|(_, workload)| cautioned(workload)).map(|(name, _)| name).collect();
        (!names.is_empty()).then(|| told(format!("values of {} {what}", names.join(", ")), remedy))
    };
    shapes.into_iter().filter_map(shape).collect()
}

/// The least that would have been seen, where that is much.
pub(super) fn blind(compared: &Compared) -> Option<Advice> {
    if let Some((name, _)) = named(compared).find(|(_, workload)| workload.answer == Answer::Undecided) {
        return Some(told(format!("{name} has too few values to tell anything"), "give it more time"));
    }
    let judged = named(compared).filter(|(_, workload)| workload.answer == Answer::NoDifference);
    let smallest = |(_, workload): &(String, &Comparison)| workload.detectable.unwrap_or(f64::INFINITY);
    let worst = judged.max_by(|x, y| smallest(x).total_cmp(&smallest(y)))?;
    let ratio = smallest(&worst);
    let finding = match ratio.is_finite() {
        true => format!("of {}, no difference below {} would be seen", worst.0, percent(ratio - 1.0)),
        false => format!("of {}, no difference would be seen", worst.0),
    };
    (ratio > 1.0 + COARSE_DETECTABLE)
        .then(|| told(finding, "quieten the machine, or give it more time: four times the blocks see half of that"))
}

/// The workloads, each with its number of tasks.
fn named(compared: &Compared) -> impl Iterator<Item = (String, &Comparison)> {
    let tasks = compared.details.iter().map(|details| details.tasks);
    compared.suite.workloads.iter().zip(tasks).map(|(workload, tasks)| match tasks {
        Some(tasks) => (format!("{}×{tasks}", workload.name), workload),
        None => (workload.name.clone(), workload),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compared::{Settings, compared};
    use faultline_model::dataset::{DataPoint, Dataset, Measured, Series};
    use faultline_model::direction::Direction;

    /// A workload whose sides have these values, in the order of time.
    fn of(a: &[f64], b: &[f64]) -> Compared {
        let [a, b] = [a, b].map(|values| {
            let point = |(order, &value): (usize, &f64)| DataPoint {
                order: Some(order as u64),
                ..DataPoint::of(Measured::Values(vec![value]))
            };
            let points = values.iter().enumerate().map(point).collect();
            let (unit, direction) = ("s".to_owned(), Some(Direction::Lower));
            Dataset::of(vec![Series {
                name: "load".to_owned(),
                tasks: Some(2),
                measure: None,
                unit,
                direction,
                points,
            }])
        });
        compared(["a", "b"], &a, &b, &Settings::default()).unwrap()
    }

    const CALM: [f64; 8] = [1.05, 1.03, 1.06, 1.04, 1.055, 1.035, 1.045, 1.065];

    #[test]
    fn calm_values_give_no_advice() {
        let compared = of(&CALM, &CALM);
        assert_eq!((differences(&compared), shapes(&compared), blind(&compared)), (vec![], vec![], None));
    }

    #[test]
    fn each_answer_has_its_words() {
        let found = |advice: Vec<Advice>| advice.into_iter().map(|advice| advice.finding).collect::<Vec<_>>();
        let slower = of(&CALM, &CALM.map(|value| 1.1 * value));
        assert_eq!(found(differences(&slower)), ["load×2 differs from itself by 10.0 %"]);
        let two = of(&[1.0, 2.0, 1.01, 2.01, 2.02, 1.02, 1.03, 2.03], &CALM);
        assert_eq!(found(shapes(&two)), ["values of load×2 fall into two groups"]);
        let rising: Vec<f64> = (0..9).map(|i| 1.0 + 0.01 * f64::from(i)).collect();
        assert_eq!(found(shapes(&of(&rising, &CALM))), ["values of load×2 rise or fall from run to run"]);
        let wide = CALM.map(|value| value * value * value);
        let [finding] = found(blind(&of(&wide, &wide)).into_iter().collect()).try_into().unwrap();
        assert!(finding.starts_with("of load×2, no difference below "), "{finding}");
        assert!(blind(&of(&CALM[..2], &CALM[..2])).unwrap().finding.contains("too few values"));
    }
}
