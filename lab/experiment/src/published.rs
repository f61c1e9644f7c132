//! Figures from the literature as data sets: `published:NAME` names one in comparisons and exports.

use crate::error::Error;
use faultline_exchange::Files;
use faultline_record::dataset::{Dataset, Series};
use faultline_stats::claims::{Claim, Definition, TestedClaims, test_claims};
use serde::Deserialize;
use std::collections::HashMap;

/// Prefix of the names.
const PREFIX: &str = "published:";

/// The name of the table of claims, in place of two sides.
pub const CLAIMS: &str = "published:claims";

/// Names and texts of the data sets, in the order of publication.
const SETS: [(&str, &str); 8] = [
    ("dragonfly-2011-prepatch", include_str!("../published/dragonfly-2011-prepatch.csv")),
    ("dragonfly-2011-postpatch", include_str!("../published/dragonfly-2011-postpatch.csv")),
    ("dragonfly-4.8", include_str!("../published/dragonfly-4.8.csv")),
    ("dragonfly-5.4", include_str!("../published/dragonfly-5.4.csv")),
    ("dragonfly-5.6", include_str!("../published/dragonfly-5.6.csv")),
    ("openbsd-2019", include_str!("../published/openbsd-2019.csv")),
    ("openbsd-global-mutex", include_str!("../published/openbsd-global-mutex.csv")),
    ("openbsd-percpu-cache-16", include_str!("../published/openbsd-percpu-cache-16.csv")),
];

/// The authors' claims.
const CLAIMS_CSV: &str = include_str!("../published/claims.csv");

/// The names of all data sets, with the prefix.
pub fn names() -> impl Iterator<Item = String> {
    SETS.iter().map(|(name, _)| format!("{PREFIX}{name}"))
}

/// True for names of this kind, known or not.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// The data set that `text` names; `None` if it is not a name of this kind. Fails if the data set
/// is unknown, and lists the known ones.
pub(crate) fn dataset(text: &str) -> Option<Result<Dataset, Error>> {
    let name = text.strip_prefix(PREFIX)?;
    let found = SETS.iter().find(|(known, _)| *known == name);
    Some(found.map(|(name, text)| read(name, text)).ok_or_else(|| {
        let problem = format!("there are no published figures '{name}'");
        Error::usage(
            problem,
            format!("there are {}; {CLAIMS} tests the authors' claims", names().collect::<Vec<_>>().join(", ")),
        )
    }))
}

fn read(name: &str, text: &str) -> Dataset {
    let files = Files::one(format!("{name}.csv"), text.as_bytes().to_vec());
    faultline_exchange::read(&files, None).expect("an embedded file, which the tests read")
}

/// The data set with names like those of own runs: without ` on MACHINE`, unless two benchmarks
/// would get the same name.
pub(crate) fn without_machines(dataset: Dataset) -> Dataset {
    let short = |series: &Series| series.name.split(" on ").next().unwrap_or_default().to_owned();
    let key = |name: String, series: &Series| (name, series.tasks, series.measure.clone());
    let mut count: HashMap<_, usize> = HashMap::new();
    for series in &dataset.series {
        *count.entry(key(short(series), series)).or_default() += 1;
    }
    let renamed = |mut series: Series| {
        let name = short(&series);
        if count[&key(name.clone(), &series)] == 1 {
            series.name = name;
        }
        series
    };
    Dataset { series: dataset.series.into_iter().map(renamed).collect(), ..dataset }
}

#[derive(Deserialize)]
struct ClaimRow {
    before: String,
    after: String,
    benchmark: String,
    tasks: Option<u32>,
    measure: Option<String>,
    claimed_percent: String,
    improvement: String,
    remark: Option<String>,
}

/// The authors' claims, tested against the raw values: one entry per pair of sides.
pub fn claims() -> Vec<TestedClaims> {
    let mut reader = csv::Reader::from_reader(CLAIMS_CSV.as_bytes());
    let rows: Vec<ClaimRow> =
        reader.deserialize().collect::<Result<_, _>>().expect("an embedded file, which the tests read");
    rows.chunk_by(|one, other| one.before == other.before && one.after == other.after).map(pair).collect()
}

fn pair(rows: &[ClaimRow]) -> TestedClaims {
    let claim = |row: &ClaimRow| Claim {
        benchmark: row.benchmark.clone(),
        tasks: row.tasks,
        measure: row.measure.clone(),
        percent: row.claimed_percent.clone(),
        improvement: if row.improvement == Definition::Gain.word() { Definition::Gain } else { Definition::Saved },
        remark: row.remark.clone(),
    };
    let claims: Vec<Claim> = rows.iter().map(claim).collect();
    let names = [&rows[0].before, &rows[0].after].map(|name| format!("{PREFIX}{name}"));
    let sides = names.each_ref().map(|name| dataset(name).and_then(Result::ok).expect("a name in an embedded file"));
    test_claims([&names[0], &names[1]], &claims, [&sides[0], &sides[1]]).expect("sides with benchmarks in common")
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_stats::claims::{Agreement, TestedClaim};
    use faultline_stats::workload_comparison::Answer;

    /// Claims that the raw values do not reproduce: benchmark, tasks, recomputed percent,
    /// agreement.
    const EXCEPTIONS: [(&str, u32, f64, Agreement); 8] = [
        ("buildworld on opteron-48", 40, 13.386, Agreement::Differs),
        ("buildkernel on opteron-48", 48, 34.220, Agreement::Differs),
        ("self_exec:static-distinct on xeon-16c32t", 64, 18.555, Agreement::Truncated),
        ("self_exec:static-shared on xeon-16c32t", 64, 71.975, Agreement::Truncated),
        ("zero_fill:base on xeon-16c32t", 32, 13.498, Agreement::Differs),
        ("native-kernel-build on haswell-2c4t", 8, 5.245, Agreement::Differs),
        ("native-kernel-build on xeon-16c32t", 64, 8.171, Agreement::Truncated),
        ("kernel-build on ampere-80", 16, 16.455, Agreement::Differs),
    ];

    fn all() -> Vec<TestedClaim> {
        claims().into_iter().flat_map(|pair| pair.claims).collect()
    }

    #[test]
    fn every_set_is_read_and_named_in_the_error_for_an_unknown_one() {
        let error = dataset("published:quicksort").unwrap().unwrap_err();
        for name in names() {
            assert!(!dataset(&name).unwrap().unwrap().series.is_empty());
            assert!(error.hint.as_ref().unwrap().contains(&name), "{error:?}");
        }
        assert_eq!(error.problem, "there are no published figures 'quicksort'");
        assert!(dataset("quicksort").is_none());
    }

    #[test]
    fn every_claim_is_reproduced_or_a_known_exception() {
        let count: Vec<usize> = claims().iter().map(|pair| pair.claims.len()).collect();
        assert_eq!(count, [4, 14, 5], "every line of claims.csv has its raw values");
        for tested in all() {
            let (claim, found) = (&tested.claim, (tested.recomputed_percent * 1000.0).round() / 1000.0);
            let exception =
                EXCEPTIONS.iter().find(|(name, tasks, ..)| *name == claim.benchmark && Some(*tasks) == claim.tasks);
            match exception {
                Some((_, _, percent, agreement)) => {
                    assert_eq!((found, tested.agreement), (*percent, *agreement), "{claim:?}");
                }
                None => assert_eq!(tested.agreement, Agreement::Reproduced, "{claim:?}: {found} %"),
            }
            assert_eq!(claim.remark.is_some(), tested.agreement == Agreement::Differs, "{claim:?}");
        }
    }

    /// The numbers in `published/README.md`.
    #[test]
    fn answers_and_intervals_are_those_of_the_documentation() {
        let count = |pair: usize, answer: Answer, alone: Option<Answer>| {
            let claims = &claims()[pair].claims;
            claims.iter().filter(|c| (c.answer, c.answer_alone) == (Some(answer), alone)).count()
        };
        assert_eq!(count(1, Answer::Faster, Some(Answer::Faster)), 10);
        assert_eq!(count(1, Answer::Inconclusive, Some(Answer::Faster)), 3);
        assert_eq!(count(1, Answer::Inconclusive, Some(Answer::Inconclusive)), 1);
        assert_eq!(count(0, Answer::Inconclusive, None), 2);
        for tested in all() {
            let repeated = tested.n.iter().all(|n| *n > 1);
            assert_eq!((tested.interval.is_some(), tested.answer.is_some()), (repeated, repeated), "{tested:?}");
            let holds = |interval: faultline_stats::workload_comparison::Bounded| {
                interval.low < tested.recomputed_percent && tested.recomputed_percent < interval.high
            };
            assert!(tested.interval.is_none_or(holds), "{tested:?}");
        }
        let ranges: Vec<_> =
            claims()[2].ranges.iter().map(|range| (range.recomputed_percent, range.agreements)).collect();
        let rounded: Vec<_> = ranges.iter().map(|(ends, _)| ends.map(|end| (end * 10.0).round() / 10.0)).collect();
        assert_eq!(rounded, [[6.9, 16.5], [18.5, 32.3]]);
        assert!(ranges.iter().all(|(_, agreements)| *agreements == [Agreement::Reproduced, Agreement::Differs]));
    }

    /// The smallest and the largest ratio of a run after the patch to one before, computed from the
    /// printed values.
    #[test]
    fn two_runs_a_side_give_the_range_of_their_ratios() {
        let tested = all().into_iter().find(|tested| tested.claim.benchmark.contains("4 copies")).unwrap();
        let saved = |before: f64, after: f64| (1.0 - after / before) * 100.0;
        let interval = tested.interval.unwrap();
        assert!((interval.low - saved(8302.17, 5800.49)).abs() < 1e-9, "{interval:?}");
        assert!((interval.high - saved(8308.01, 5799.53)).abs() < 1e-9, "{interval:?}");
    }

    #[test]
    fn the_remarks_follow_from_the_values() {
        let saved = |old: f64, new: f64| (1.0 - new / old) * 100.0;
        assert!((saved(2999.20, 2587.42) - 13.7).abs() < 0.05);
        assert!((saved(167.0, 110.0) - 34.1).abs() < 0.05);
        assert!(((18.86 / 16.49 - 1.0) * 100.0_f64 - 14.4).abs() < 0.05, "medians of zero-fill");
        let means = (240.15 / 229.69 - 1.0) * 100.0;
        for value in [means, saved(240.15, 229.69), saved(241.0067, 228.9967), 5.245] {
            assert!((value - 5.1_f64).abs() > 0.05, "{value} would be 5.1");
        }
    }

    #[test]
    fn the_other_definition_reproduces_fewer_claims_about_times() {
        let agreeing = |claims: &[TestedClaim]| {
            let times = claims.iter().filter(|tested| tested.claim.measure.is_some());
            times.filter(|tested| tested.agreement != Agreement::Differs).count()
        };
        for pair in claims() {
            let other = |tested: &TestedClaim| Claim {
                improvement: match tested.claim.improvement {
                    Definition::Gain => Definition::Saved,
                    Definition::Saved => Definition::Gain,
                },
                ..tested.claim.clone()
            };
            let others: Vec<Claim> = pair.claims.iter().map(other).collect();
            let names = [pair.before.as_str(), &pair.after];
            let sides = names.map(|name| dataset(name).unwrap().unwrap());
            let others = test_claims(names, &others, [&sides[0], &sides[1]]).unwrap();
            assert!(agreeing(&pair.claims) > agreeing(&others.claims), "{}", pair.before);
        }
    }

    #[test]
    fn names_of_own_runs_have_no_machine() {
        let names = |set: &str| -> Vec<String> {
            let dataset = without_machines(dataset(set).unwrap().unwrap());
            dataset.series.iter().map(ToString::to_string).collect()
        };
        assert!(names("published:dragonfly-5.6").contains(&"self_exec:static-shared×64".to_owned()));
        let builds = names("published:dragonfly-2011-postpatch");
        assert!(builds.contains(&"buildkernel on phenom-4 real×4".to_owned()), "{builds:?}");
    }
}
