//! Cautions about misleading comparisons, as data: one function for each kind of cause.

use super::interleaving::are_interleaved;
use super::samples::{Conditions, Workload, not_quiet};
use super::signed_rank;
use super::units::{Boots, Pairing, Placed, Units};
use crate::machine::lasting_differences;
use crate::median::sorted;
use crate::thresholds::{BIMODAL_SHARE, DRIFT_LEVEL, SHAPE_VALUES};
use crate::workload_comparison::{Caution, Drift, FewUnits, Groups, Method, OneBoot};
use faultline_record::facts::Facts;
use statrs::distribution::{ContinuousCDF, Normal};

/// Minimum share of the values in the smaller of two groups.
const SMALLER_GROUP: f64 = 0.15;

/// All cautions, in the order of the codes. `alpha` is the significance level of the workload.
pub(crate) fn cautions(workload: &Workload, units: &Units, method: Method, alpha: f64) -> Vec<Caution> {
    let found = [
        few_units(units, method, alpha).map(Caution::FewUnits),
        one_boot(units).map(|boots| Caution::OneBoot { boots }),
        not_interleaved(units).then(|| Caution::NotInterleaved {
            not_quiet: not_quiet([&workload.a.conditions, &workload.b.conditions]),
        }),
        of_conditions(workload, |conditions| conditions.others_cpus).map(|[a, b]| Caution::Load { a, b }),
        of_conditions(workload, |conditions| conditions.steal_share).map(|[a, b]| Caution::Steal { a, b }),
        either(units, drift).map(|(a, b)| Caution::Drift { a, b }),
        either(units, bimodal).map(|(a, b)| Caution::Bimodal { a, b }),
        different_facts(&workload.a.facts, &workload.b.facts).map(|keys| Caution::DifferentFacts { keys }),
    ];
    found.into_iter().flatten().collect()
}

fn few_units(units: &Units, method: Method, alpha: f64) -> Option<FewUnits> {
    let unit = units.unit;
    let (a, b) = (units.a.len() as u32, units.b.len() as u32);
    match method {
        Method::Ranks | Method::SignedRanks => None,
        Method::None if units.pairing != Pairing::Unblocked => {
            let pairs = if units.pairing == Pairing::Pairs { a } else { 0 };
            Some(FewUnits::Pairs { pairs, needed: signed_rank::fewest(alpha) as u32 })
        }
        Method::Welch => Some(FewUnits::ForRanks { unit, a, b }),
        Method::None => Some(FewUnits::ForAnyTest { unit, a, b }),
    }
}

fn one_boot(units: &Units) -> Option<OneBoot> {
    match units.boots {
        Boots::Several | Boots::Blocks => None,
        Boots::Shared => Some(OneBoot::Shared),
        Boots::Unknown => Some(OneBoot::Unknown),
        Boots::Confounded => Some(OneBoot::Confounded),
    }
}

/// Independent boots may have any order, unless all of one side come before the other.
fn not_interleaved(units: &Units) -> bool {
    let is_one_after_the_other = match units.boots {
        Boots::Several => is_in_sequence(units),
        _ => !are_interleaved(units),
    };
    units.a.len().min(units.b.len()) > 1 && is_one_after_the_other
}

/// True if all values of a side are known to come before those of the other.
fn is_in_sequence(units: &Units) -> bool {
    let (Some((first_a, last_a)), Some((first_b, last_b))) = (ends(&units.a), ends(&units.b)) else { return false };
    last_a < first_b || last_b < first_a
}

/// The first and last place in time; `None` if a place is unknown.
fn ends(side: &[Placed]) -> Option<(u64, u64)> {
    let orders: Vec<u64> = side.iter().map(|placed| placed.order).collect::<Option<_>>()?;
    Some((*orders.iter().min()?, *orders.iter().max()?))
}

/// The recorded condition of both sides; `None` if neither has it.
fn of_conditions(workload: &Workload, figure: fn(&Conditions) -> Option<f64>) -> Option<[Option<f64>; 2]> {
    let sides = [&workload.a, &workload.b].map(|side| figure(&side.conditions));
    sides.iter().any(Option::is_some).then_some(sides)
}

/// The finding for each side; `None` if there is none for either.
fn either<T>(units: &Units, finding: fn(&[Placed]) -> Option<T>) -> Option<(Option<T>, Option<T>)> {
    let of = |side: &[Placed]| (side.len() >= SHAPE_VALUES).then(|| finding(side)).flatten();
    let (a, b) = (of(&units.a), of(&units.b));
    (a.is_some() || b.is_some()).then_some((a, b))
}

/// The Mann-Kendall test: more pairs rise or fall with time than chance explains.
///
/// Source: H. B. Mann, Nonparametric Tests Against Trend, Econometrica 13, 1945.
fn drift(side: &[Placed]) -> Option<Drift> {
    let mut in_time: Vec<(u64, f64)> =
        side.iter().map(|placed| Some((placed.order?, placed.value))).collect::<Option<_>>()?;
    in_time.sort_by_key(|&(order, _)| order);
    let n = in_time.len();
    let mut score: i64 = 0;
    for (i, (_, later)) in in_time.iter().enumerate() {
        score += in_time[..i]
            .iter()
            .map(|(_, earlier)| i64::from(later > earlier) - i64::from(later < earlier))
            .sum::<i64>();
    }
    let variance = (n * (n - 1) * (2 * n + 5)) as f64 / 18.0;
    let excess = (score.abs() - 1).max(0) as f64 / variance.sqrt();
    let chance = 2.0 * Normal::standard().sf(excess);
    (chance < DRIFT_LEVEL).then_some(if score > 0 { Drift::Rise } else { Drift::Fall })
}

/// Two groups, if the best division into two leaves hardly any variance within them.
///
/// Source: N. Otsu, A Threshold Selection Method from Gray-Level Histograms, IEEE Transactions on
/// Systems, Man, and Cybernetics 9, 1979.
fn bimodal(side: &[Placed]) -> Option<Groups> {
    let logarithms = sorted(&side.iter().map(|placed| placed.value.ln()).collect::<Vec<_>>());
    let n = logarithms.len() as f64;
    let mean = logarithms.iter().sum::<f64>() / n;
    let total: f64 = logarithms.iter().map(|value| (value - mean).powi(2)).sum();
    let least = (SMALLER_GROUP * n).ceil().max(2.0);
    let mut below = 0.0;
    let mut best = (0.0, 0);
    for (i, value) in logarithms.iter().enumerate() {
        let count = i as f64 + 1.0;
        below += value - mean;
        if count >= least && n - count >= least {
            let between = below * below * n / (count * (n - count));
            best = if between > best.0 { (between, i) } else { best };
        }
    }
    let (between, last) = best;
    (between > BIMODAL_SHARE * total)
        .then(|| Groups { up_to: logarithms[last].exp(), from: logarithms[last + 1].exp() })
}

fn different_facts(a: &Facts, b: &Facts) -> Option<Vec<String>> {
    let keys: Vec<String> = lasting_differences(a, b).into_iter().map(|difference| difference.key).collect();
    (!keys.is_empty()).then_some(keys)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{Boot, Run, Samples};
    use super::super::units::units;
    use super::*;
    use crate::workload_comparison::CautionCode;
    use faultline_record::direction::Direction;

    fn side(boot: Option<&str>, values: &[(u64, f64)]) -> Samples {
        let run = |&(order, value)| Run { order: Some(order), block: None, intervals: vec![value] };
        let boot = Boot { id: boot.map(str::to_owned), runs: values.iter().map(run).collect() };
        Samples { boots: vec![boot], ..Samples::default() }
    }

    fn codes(a: Samples, b: Samples, method: Method) -> Vec<CautionCode> {
        let workload = Workload { name: "w".to_owned(), unit: "s".to_owned(), direction: Direction::Lower, a, b };
        let units = units(&workload.a, &workload.b);
        cautions(&workload, &units, method, 0.05).into_iter().map(|caution| caution.code()).collect()
    }

    /// Values without a trend, in an order that starts at `from` and proceeds in steps of two.
    fn calm(from: u64) -> Vec<(u64, f64)> {
        [5.0, 3.0, 6.0, 4.0, 5.5, 3.5, 4.5, 6.5]
            .iter()
            .enumerate()
            .map(|(i, &value)| (from + 2 * i as u64, value))
            .collect()
    }

    #[test]
    fn calm_values_of_one_boot_give_that_warning_alone() {
        assert_eq!(codes(side(Some("1"), &calm(0)), side(Some("1"), &calm(1)), Method::Ranks), [CautionCode::OneBoot]);
    }

    #[test]
    fn each_reason_is_reported() {
        let rising: Vec<(u64, f64)> = (0..9).map(|i| (2 * i, i as f64 + 1.0)).collect();
        assert!(codes(side(None, &rising), side(None, &calm(1)), Method::Ranks).contains(&CautionCode::Drift));
        let halves: Vec<(u64, f64)> =
            calm(0).iter().map(|&(i, value)| (i, if value > 4.75 { value + 30.0 } else { value })).collect();
        assert!(codes(side(None, &halves), side(None, &calm(1)), Method::Ranks).contains(&CautionCode::Bimodal));
        assert!(
            codes(side(None, &calm(0)), side(None, &calm(90)), Method::Ranks).contains(&CautionCode::NotInterleaved)
        );
        assert!(codes(side(None, &calm(0)), side(None, &calm(1)), Method::Welch).contains(&CautionCode::FewUnits));
        let mut loaded = side(None, &calm(1));
        loaded.conditions = Conditions { others_cpus: Some(0.7), steal_share: Some(0.05), ..Conditions::default() };
        let told = codes(side(None, &calm(0)), loaded, Method::Ranks);
        assert!(told.contains(&CautionCode::Load) && told.contains(&CautionCode::Steal), "{told:?}");
        let mut other = side(None, &calm(1));
        other.facts.text("kernel.release", "6.1");
        other.facts.text("boot.id", "x");
        assert!(codes(side(None, &calm(0)), other, Method::Ranks).contains(&CautionCode::DifferentFacts));
    }

    #[test]
    fn an_outlier_is_no_second_group() {
        let mut values = calm(0);
        values[3].1 = 400.0;
        assert!(!codes(side(None, &values), side(None, &calm(1)), Method::Ranks).contains(&CautionCode::Bimodal));
    }
}
