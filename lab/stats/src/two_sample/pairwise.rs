//! Order statistics of differences between values, and of averages of two values, without computing
//! all of them.
//!
//! The k-th is found by bisection over the floating-point numbers: for each, a walk over the sorted
//! lists counts the differences that do not exceed it. This takes at most 64 walks for any number
//! of pairs, and the result is exactly one of the differences.

use statrs::distribution::{ContinuousCDF, Normal};

/// The `k`-th smallest, from 0, of all b − a. Both lists ascend; k is below the number of pairs.
pub(crate) fn difference(a: &[f64], b: &[f64], k: u64) -> f64 {
    least(|limit| {
        // For a larger a, more values b are within the limit above it.
        let mut within = 0;
        let mut count = 0;
        for x in a {
            while within < b.len() && b[within] - x <= limit {
                within += 1;
            }
            count += within as u64;
        }
        count > k
    })
}

/// The median of all b − a.
pub(crate) fn median_difference(a: &[f64], b: &[f64]) -> f64 {
    let pairs = a.len() as u64 * b.len() as u64;
    difference(a, b, (pairs - 1) / 2).midpoint(difference(a, b, pairs / 2))
}

/// The `k`-th smallest, from 0, of the absolute differences between two values of the same list,
/// over all `lists` together. Each list ascends.
pub(crate) fn distance(lists: &[&[f64]], k: u64) -> f64 {
    least(|limit| {
        let count = |list: &&[f64]| {
            let mut first = 0;
            let mut count = 0;
            for (i, x) in list.iter().enumerate() {
                while x - list[first] > limit {
                    first += 1;
                }
                count += (i - first) as u64;
            }
            count
        };
        limit >= 0.0 && lists.iter().map(count).sum::<u64>() > k
    })
}

/// The `k`-th smallest, from 0, of the averages of two values of the list, including each value
/// with itself. The list ascends.
pub(crate) fn average(list: &[f64], k: u64) -> f64 {
    least(|limit| averages_up_to(list, limit) > k)
}

/// Number of averages of two values that are at most `limit`.
fn averages_up_to(list: &[f64], limit: f64) -> u64 {
    // For a larger value, fewer others are within the limit with it.
    let mut others = list.len();
    let mut count = 0;
    for (i, x) in list.iter().enumerate() {
        while others > i && x.midpoint(list[others - 1]) > limit {
            others -= 1;
        }
        count += others.saturating_sub(i) as u64;
    }
    count
}

/// The smallest number for which `enough` is true. It must be true for all larger numbers, and for
/// the largest one.
fn least(enough: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (ordered(f64::MIN), ordered(f64::MAX));
    while low < high {
        let middle = low + ((high as i128 - low as i128) / 2) as i64;
        if enough(number(middle)) { high = middle } else { low = middle + 1 }
    }
    number(high)
}

/// A whole number that increases with `x`.
fn ordered(x: f64) -> i64 {
    let bits = x.to_bits() as i64;
    if bits < 0 { i64::MIN - bits } else { bits }
}

/// The number of [`ordered`].
fn number(ordered: i64) -> f64 {
    f64::from_bits(if ordered < 0 { i64::MIN - ordered } else { ordered } as u64)
}

/// The smallest shift between the sides that the rank test finds at `alpha`, two-sided, with the
/// probability `power`. Both lists ascend. `None` if there is no such shift.
///
/// Source: G. E. Noether, Sample Size Determination for Some Common Nonparametric Tests, Journal of
/// the American Statistical Association 82, 1987: the power depends on the shift through the
/// probability that a value of one side exceeds one of the other. Values of a single side show how
/// that probability grows with a shift, for every shape of the noise.
pub(crate) fn detectable_shift(a: &[f64], b: &[f64], alpha: f64, power: f64) -> Option<f64> {
    let (m, n) = (a.len() as f64, b.len() as f64);
    let normal = Normal::standard();
    let needed = normal.inverse_cdf(1.0 - alpha / 2.0) + normal.inverse_cdf(power);
    // Twice the excess over ½ of the probability that a shifted value is greater. Differences
    // within a side are symmetric around 0, so this is the share of them that are smaller in size
    // than the shift.
    let share = 2.0 * needed * ((m + n + 1.0) / (12.0 * m * n)).sqrt();
    let pairs = (m * (m - 1.0) + n * (n - 1.0)) / 2.0;
    (share < 1.0 && pairs >= 1.0).then(|| distance(&[a, b], ((share * pairs) as u64).min(pairs as u64 - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::median::sorted;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_if_all_differences_were_sorted(
            a in proptest::collection::vec(-1e3f64..1e3, 1..12),
            b in proptest::collection::vec(prop_oneof![-1e3f64..1e3, Just(0.0)], 1..12),
        ) {
            let (a, b) = (sorted(&a), sorted(&b));
            let all = sorted(&a.iter().flat_map(|x| b.iter().map(move |y| y - x)).collect::<Vec<_>>());
            for (k, expected) in all.iter().enumerate() {
                prop_assert_eq!(difference(&a, &b, k as u64), *expected);
            }
        }

        #[test]
        fn averages_too(list in proptest::collection::vec(prop_oneof![-1e3f64..1e3, Just(0.0)], 1..12)) {
            let list = sorted(&list);
            let average = |i: usize, j: usize| list[i].midpoint(list[j]);
            let all: Vec<f64> =
                (0..list.len()).flat_map(|i| (i..list.len()).map(move |j| (i, j))).map(|(i, j)| average(i, j)).collect();
            for (k, expected) in sorted(&all).iter().enumerate() {
                prop_assert_eq!(super::average(&list, k as u64), *expected);
            }
        }

        #[test]
        fn distances_too(a in proptest::collection::vec(-1e3f64..1e3, 2..9), b in proptest::collection::vec(-1e3f64..1e3, 2..9)) {
            let (a, b) = (sorted(&a), sorted(&b));
            let within = |list: &[f64]| {
                let list = list.to_vec();
                (0..list.len()).flat_map(|i| (0..i).map(|j| list[i] - list[j]).collect::<Vec<_>>()).collect::<Vec<_>>()
            };
            let all = sorted(&[within(&a), within(&b)].concat());
            for (k, expected) in all.iter().enumerate() {
                prop_assert_eq!(distance(&[&a, &b], k as u64), *expected);
            }
        }
    }

    #[test]
    fn more_values_see_smaller_shifts() {
        let few: Vec<f64> = (0..8).map(f64::from).collect();
        let many: Vec<f64> = (0..80).map(|i| f64::from(i) / 10.0).collect();
        let [few, many] = [few, many].map(|values| detectable_shift(&values, &values, 0.05, 0.8).unwrap());
        assert!(many < few / 2.0, "{many} {few}");
        assert_eq!(detectable_shift(&[1.0, 2.0], &[1.0, 2.0], 0.05, 0.8), None);
    }
}
