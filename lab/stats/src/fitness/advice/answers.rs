//! What the comparison of a machine with itself says.

use super::super::unmeasured::Unmeasured;
use super::{percent, told};
use crate::thresholds::COARSE_DETECTABLE;
use faultline_model::comparison::{Advice, ComparedWorkload, Comparison, Details};
use faultline_model::failure::Failure;
use faultline_model::workload_comparison::{Answer, CautionCode, WorkloadComparison};

/// What to do about a workload that fails.
const MAKE_IT_RUN: &str = "see why, make it run here, or check with other workloads";

/// Workloads without an answer.
pub(super) fn missing(compared: &Comparison, unmeasured: &[Unmeasured]) -> Vec<Advice> {
    let unmeasured = unmeasured
        .iter()
        .map(|Unmeasured { name, reason }| told(format!("{name} could not be measured: {reason}"), MAKE_IT_RUN));
    let undecided = of_answer(compared, |answer| answer == Answer::Undecided).map(|named| match named.failures() {
        Some(failures) => told(
            format!("{} failed {} and could not be answered: {}", named.name, failures.times, failures.first),
            MAKE_IT_RUN,
        ),
        None => told(format!("{} has too few values to tell anything", named.name), "give it more time"),
    });
    unmeasured.chain(undecided).collect()
}

/// Workloads that failed, but not so often that they have no answer.
pub(super) fn failures(compared: &Comparison) -> Vec<Advice> {
    let answered = of_answer(compared, |answer| answer != Answer::Undecided);
    let advice = |named: Named<'_>| {
        let failures = named.failures()?;
        Some(told(format!("{} failed {}: {}", named.name, failures.times, failures.first), MAKE_IT_RUN))
    };
    answered.filter_map(advice).collect()
}

/// Workloads that differ where nothing does.
pub(super) fn differences(compared: &Comparison) -> Vec<Advice> {
    let differing = of_answer(compared, |answer| matches!(answer, Answer::Faster | Answer::Slower));
    let advice = |Named { name, workload, .. }: Named<'_>| {
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
pub(super) fn shapes(compared: &Comparison) -> Vec<Advice> {
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
        let cautioned = |workload: &WorkloadComparison| workload.cautions.iter().any(|caution| caution.code() == code);
        let names: Vec<String> =
            named(compared).filter(|named| cautioned(named.workload)).map(|named| named.name).collect();
        (!names.is_empty()).then(|| told(format!("values of {} {what}", names.join(", ")), remedy))
    };
    shapes.into_iter().filter_map(shape).collect()
}

/// The least that would have been seen, where that is much.
pub(super) fn blind(compared: &Comparison) -> Option<Advice> {
    let judged = of_answer(compared, |answer| answer == Answer::NoDifference);
    let smallest = |named: &Named<'_>| named.workload.detectable.unwrap_or(f64::INFINITY);
    let worst = judged.max_by(|x, y| smallest(x).total_cmp(&smallest(y)))?;
    let ratio = smallest(&worst);
    let finding = match ratio.is_finite() {
        true => format!("of {}, no difference below {} would be seen", worst.name, percent(ratio - 1.0)),
        false => format!("of {}, no difference would be seen", worst.name),
    };
    (ratio > 1.0 + COARSE_DETECTABLE)
        .then(|| told(finding, "quieten the machine, or give it more time: four times the blocks see half of that"))
}

/// A workload under its name with its number of tasks.
struct Named<'a> {
    name: String,
    workload: &'a WorkloadComparison,
    details: &'a Details,
}

/// What failed of a workload.
struct Failures<'a> {
    /// `twice`, `4 times`.
    times: String,
    first: &'a Failure,
}

impl<'a> Named<'a> {
    /// None if nothing failed.
    fn failures(&self) -> Option<Failures<'a>> {
        let [a, b] = &self.details.failures;
        let first = a.iter().chain(b).next()?;
        let times = match a.len() + b.len() {
            1 => "once".to_owned(),
            2 => "twice".to_owned(),
            more => format!("{more} times"),
        };
        Some(Failures { times, first })
    }
}

/// All workloads.
fn named(compared: &Comparison) -> impl Iterator<Item = Named<'_>> {
    compared.workloads.iter().map(|ComparedWorkload { comparison: workload, details }| {
        let tasks = details.tasks.map_or_else(String::new, |tasks| format!("×{tasks}"));
        Named { name: format!("{}{tasks}", workload.name), workload, details }
    })
}

/// Those whose answer is one of the `chosen`.
fn of_answer(compared: &Comparison, chosen: fn(Answer) -> bool) -> impl Iterator<Item = Named<'_>> {
    named(compared).filter(move |named| chosen(named.workload.answer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Settings, compare_datasets};
    use faultline_model::dataset::{DataPoint, Dataset, Measured, Series};
    use faultline_model::direction::Direction;

    /// A workload whose sides have these values, in the order of time.
    fn of(a: &[f64], b: &[f64]) -> Comparison {
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
        compare_datasets(["a", "b"], &a, &b, &Settings::default()).unwrap()
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
        let few = missing(&of(&CALM[..2], &CALM[..2]), &[]);
        assert_eq!(found(few), ["load×2 has too few values to tell anything"]);
    }
}
